// Which loops become loops over vectors, and how.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/cost/cost.h"
#include "jit/loop/loop.h"
#include "jit/machine/target_facts.h"

namespace ct::jit {

// Where vectors begin must not depend on where threads' pieces of a loop do, which are multiples of this: no vector has
// more lanes.
inline constexpr int64_t kVectorMultiple = 64;

// How a loop is vectorised on a target.
struct Vectorization {
  unsigned width = 0;  // 0: the loop stays scalar
  unsigned unroll = 1;
  bool masked_tail = false;
  bool one_body = false;  // with masked_tail: every vector is masked
};
// Whether `width` elements this far apart are better loaded with what lies between them than gathered one by one.
bool is_near(const TargetFacts& facts, int64_t width, int64_t stride);
Vectorization choose_vectorization(const loop::Program& program, const TargetFacts& facts, const loop::For& loop);
// Of an elementwise loop, all that the emitter does differently for other extents. Empty: it is no such loop, or so
// long that threads' pieces, questions and caches count.
std::vector<uint64_t> decided_by_extent(const loop::Program& program, const TargetFacts& facts, CostModel& cost,
                                        const loop::For& loop);

}  // namespace ct::jit
