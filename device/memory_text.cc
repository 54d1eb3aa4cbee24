#include "device/memory_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/text.h"

namespace ct {

std::string largest_arrays(const Plan& plan) {
  constexpr size_t kShown = 3;
  std::vector<std::pair<int64_t, std::string>> all;
  if (plan.arena_bytes > 0) {
    all.emplace_back(plan.arena_bytes, "intermediate results, which ct.explain(f)(...) lists by your lines");
  }
  std::vector<bool> is_used(plan.inputs.size());
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.kind == PlanBuffer::Kind::kInput) is_used[static_cast<size_t>(buffer.position)] = true;
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (!is_used[i]) continue;
    all.emplace_back(plan.inputs[i].bytes(), concat("input ", i, ", ", plan.inputs[i].to_string()));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    all.emplace_back(plan.outputs[i].bytes(), concat("result ", i, ", ", plan.outputs[i].to_string()));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "the program's largest arrays:";
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
    text += concat("\n    ", all[i].first, " bytes: ", all[i].second);
  }
  return text;
}

}  // namespace ct
