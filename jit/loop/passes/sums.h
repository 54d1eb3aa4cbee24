// Long sums of floats in blocks. A running sum loses what is small beside it: float32 stops counting at 2^24. So a loop
// that adds up more numbers than a block has becomes one over blocks, each summed by itself. Which blocks follows from
// the length alone.
//
// Loops that keep their sums in memory, row by row, are made in blocks where they are made (schedule/fold_rows.cc,
// lower/nest.cc).
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// Rows that are added up in memory, of one block.
inline constexpr int64_t kRowsOfBlock = 256;

// How many iterations a block of a sum over `length` has: a number near `most` that leaves nothing over, if there is
// one, and preferably a multiple of `multiple`; `length` itself if it is short.
int64_t block_of(int64_t length, int64_t most, int64_t multiple);

void split_long_sums(loop::Program& program);

}  // namespace ct::jit
