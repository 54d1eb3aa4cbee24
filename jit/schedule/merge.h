// Merges neighbouring loops over the same rows of large arrays, so that a row is still in the cache when the next one
// of them wants it: softmax reads its input from memory once instead of three times, the gradient of a normalisation
// once instead of five times.
//
// Fusion (fuse/fuse.h) decides on variables and nests of one shape; this works on loops, whatever they were made from.
// Two loops may become one when each of their iterations has, of every array that one of them writes, a part of its
// own.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

void merge_loops(loop::Program& program);

}  // namespace ct::jit
