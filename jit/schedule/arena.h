// Where places that are wanted for a stretch of time lie in one block of memory.
#pragma once

#include <cstdint>
#include <vector>

namespace ct::jit {

struct ArenaPlace {
  int first, last;  // times at which it is wanted, both included
  int64_t bytes;
  int64_t offset = 0;
};

// Sets the offsets, such that places wanted at the same time have no byte in common, and returns the size of the block.
// Of three layouts the smallest: first come, first served; the largest first; and what takes most first, bytes times
// time.
int64_t lay_out(std::vector<ArenaPlace>& places);

}  // namespace ct::jit
