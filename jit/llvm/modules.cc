#include "jit/llvm/modules.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace ct::jit {

namespace {

constexpr int64_t kLargestModule = 4 * kChunkWeight;

}  // namespace

// Many small modules use many cores; each costs more than a small function does.
void bundle_modules(Outline& outline) {
  int64_t total = 0;
  for (const OutlinedFunction& f : outline.functions) total += f.weight;
  const int64_t most = std::clamp(total / 32, kChunkWeight, kLargestModule);
  int64_t weight = 0;
  std::vector<int64_t> effort = {0};
  for (OutlinedFunction& f : outline.functions) {
    if (weight > 0 && weight + f.weight > most) {
      effort.push_back(0);
      weight = 0;
    }
    f.module = static_cast<uint32_t>(effort.size() - 1);
    weight += f.weight;
    effort.back() += f.weight;
  }
  outline.modules = static_cast<uint32_t>(effort.size());
  outline.longest_first.resize(effort.size());
  std::iota(outline.longest_first.begin(), outline.longest_first.end(), 0);
  std::ranges::stable_sort(outline.longest_first, std::greater<>(), [&](uint32_t module) { return effort[module]; });
}

}  // namespace ct::jit
