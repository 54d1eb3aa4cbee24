// What a product reads is made where it is used. A convolution is a product with what its windows see, which a nest
// copies from the input into an array that is many times as large. That array goes through memory twice, although
// nobody wants it but the product: so it is made a block of places at a time, in a cache, and each block is multiplied
// at once.
//
//   for every place, every element of its window: seen[place, element] = x[...]      for each block of places:
//   c = seen @ filters                                                       ->        block = x[...]
//                                                                                      c[places] = block @ filters
//
// Where places are what the product sums over, as in the derivative by the filters, blocks add up; then each chunk of
// blocks has sums of its own, which are added in order. Chunks follow from the sizes, and threads share them.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

inline constexpr int64_t kLeastGathered = int64_t{1} << 21;      // bytes of the array: caches of one core hold less
inline constexpr int64_t kMostGatheredBlock = int64_t{1} << 19;  // bytes of a block, which stays in the second cache
inline constexpr int64_t kMostGatheredChunks = 32;

void gather_in_blocks(loop::Program& program);

}  // namespace ct::jit
