// In which order large nests go through memory. Lowering writes a nest for each result: kept axes outside, reduced axes
// inside. Two shapes of nests then stride through memory that is far larger than the caches:
//
//   folds over rows  A sum along the first axis becomes a loop over rows around a loop over columns that keeps its
//                    accumulators in a row of memory, in the order of additions that they had (fold_rows.cc).
//   transposes       Both loops are cut into tiles, so that lines of the strided array are used whole while they are in
//                    the cache (transposes.cc).
//
// Small nests stay: they hold in registers what these keep in memory.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

void order_loops(loop::Program& program);

}  // namespace ct::jit
