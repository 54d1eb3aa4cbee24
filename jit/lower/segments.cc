#include "jit/lower/segments.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace ct::jit {

const Segment* segment_of(const Segments& segments, int axis) {
  const auto at = absl::c_find_if(segments, [&](const Segment& each) { return each.axis == axis; });
  return at == segments.end() ? nullptr : &*at;
}

std::optional<Segments> parts_between(const std::vector<Split>& splits, const Shape& shape, int axis,
                                      const Segments& others) {
  constexpr int64_t kLongRun = 128;
  constexpr size_t kMostSegments = 5;
  const int64_t size = shape[axis];
  std::vector<int64_t> limits = {0, size};
  for (const Split& split : splits) {
    if (split.axis == axis && split.at > 0 && split.at < size) limits.push_back(split.at);
  }
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  if (limits.size() < 3 || limits.size() > kMostSegments + 1) return {};
  int64_t inner = num_elements(absl::MakeConstSpan(shape).subspan(axis + 1));
  for (const Segment& each : others) inner = inner / shape[each.axis] * each.size();
  int64_t in_long_runs = 0;
  Segments segments;
  for (size_t i = 0; i + 1 < limits.size(); ++i) {
    segments.push_back({axis, limits[i], limits[i + 1]});
    if (segments.back().size() * inner >= kLongRun) in_long_runs += segments.back().size();
  }
  if (in_long_runs * 4 < size * 3) return {};
  return segments;
}

std::optional<Segments> parts_by_phase(const std::vector<Phases>& phases, const Shape& shape, int axis) {
  constexpr int64_t kMostPhases = 4, kLeastOfPhase = 4;
  int64_t count = 1;
  for (const Phases& each : phases) {
    if (each.axis != axis) continue;
    if (count != 1 && each.count != count) return {};
    count = each.count;
  }
  if (count == 1 || count > kMostPhases || shape[axis] < count * kLeastOfPhase) return {};
  Segments segments;
  for (int64_t phase = 0; phase < count; ++phase) segments.push_back({axis, phase, shape[axis], count});
  return segments;
}

}  // namespace ct::jit
