// Iterations that are lanes and have loops inside, as sums of columns: some iterations go through the inner loop side
// by side, one step of all after the other, which compilers make vectors of:
//
//   float sum[64];
//   for (lane = 0; lane < 64; ++lane) sum[lane] = 0;
//   for (j = 0; j < rows; ++j)
//     for (lane = 0; lane < 64; ++lane) sum[lane] = sum[lane] + x[columns * j + i + lane];
//   for (lane = 0; lane < 64; ++lane) y[i + lane] = sum[lane];
//
// What a lane has from one of the innermost loops to the next is an array.
#pragma once

#include <string>

#include "jit/loop/loop.h"

namespace ct::jit::c {

class Emission;

bool runs_side_by_side(const Emission& e, const loop::For& loop);
// The iterations before `end`.
void write_side_by_side(Emission& e, const loop::For& loop, const std::string& end);

}  // namespace ct::jit::c
