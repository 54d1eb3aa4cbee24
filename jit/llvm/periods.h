// Finding what repeats back to back in a list: the layers of a network, the steps of an unrolled loop, among the
// statements of a block.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ct::jit {

// Items [begin, begin + count * period) are `count` copies of the first `period` ones.
struct PeriodicRun {
  uint32_t begin, period, count;
  bool operator==(const PeriodicRun&) const = default;
};

// Runs that do not overlap, in order; the ones whose copies weigh most were chosen. Equal tokens stand for equal items;
// token 0 for one that is like no other. Takes time proportional to the length of the list.
std::vector<PeriodicRun> find_periodic_runs(absl::Span<const uint64_t> tokens, absl::Span<const int64_t> weights);

}  // namespace ct::jit
