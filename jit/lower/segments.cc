#include "jit/lower/segments.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace ct::jit {
namespace {

int64_t floor_divide(int64_t a, int64_t positive) { return a / positive - (a % positive < 0 ? 1 : 0); }

}  // namespace

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
  if (limits.size() > kMostSegments + 1) {
    // The longest part, and what is on either side of it.
    size_t longest = 0;
    for (size_t i = 0; i + 1 < limits.size(); ++i) {
      if (limits[i + 1] - limits[i] > limits[longest + 1] - limits[longest]) longest = i;
    }
    limits = {0, limits[longest], limits[longest + 1], size};
    limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  }
  if (limits.size() < 3) return {};
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

// `index` is going to be divided by `stride`. If that would fall between two axes of a loop over several, they had
// better be two loops.
void OpenNest::request_cut(const loop::Index& index, int64_t stride) {
  if (shape == nullptr) return;
  for (const loop::Index::Term& term : index.terms()) {
    for (const Loop& loop : loops) {
      if (loop.variable != term.value) continue;
      int64_t inner = term.coefficient;
      for (int axis = loop.last; axis > loop.first; --axis) {
        inner *= (*shape)[axis];
        if (inner == stride) {
          cuts |= Cuts{1} << (axis - 1);
          break;
        }
      }
    }
  }
}

// It is asked whether `index` is below `limit`, which depends on the iteration. Where that is one kept loop's, and of
// loops that fold if at all, it is so in all of these before one place of the kept loop, and in none behind another:
// there the loop could be cut.
void OpenNest::request_split(const loop::Builder& builder, const loop::Index& index, int64_t limit) {
  if (shape == nullptr) return;
  for (const Loop& loop : loops) {
    const int64_t step = index.coefficient_of(loop.variable);
    if (step == 0 || loop.first != loop.last) continue;
    if (loop.reduced) {
      decided_by_folds |= Axes{1} << loop.first;
      continue;
    }
    const loop::Index rest = index - loop::Index::of(loop.variable, step);
    const bool others_kept = std::any_of(loops.begin(), loops.end(), [&](const Loop& other) {
      return !other.reduced && rest.coefficient_of(other.variable) != 0;
    });
    const loop::Range range = builder.range_of(rest);
    if (others_kept || !range.known()) continue;
    const int64_t size = (*shape)[loop.first];
    if (range.high - range.low > size * std::abs(step) / 4) continue;
    for (const int64_t least : {range.high, range.low}) {
      // step * variable + least < limit, up to the place or from it on
      const int64_t place = step > 0 ? -floor_divide(least - limit, step) : floor_divide(least - limit, -step) + 1;
      splits.push_back({loop.first, place});
    }
  }
}

// What is done depends on the remainder of `index` by `divisor`: loops could be one for each.
void OpenNest::request_phases(const loop::Index& index, int64_t divisor) {
  if (shape == nullptr) return;
  for (const Loop& loop : loops) {
    const int64_t step = index.coefficient_of(loop.variable);
    if (step % divisor == 0 || loop.first != loop.last) continue;
    if (loop.reduced) {
      decided_by_folds |= Axes{1} << loop.first;
    } else {
      phases.push_back({loop.first, divisor / std::gcd(step, divisor)});
    }
  }
}

}  // namespace ct::jit
