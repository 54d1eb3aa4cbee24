// Memory for the temporaries of a program: which live when, what can share, where each lies in the arena.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/loop/loop.h"

namespace ct::jit {

// Inputs whose memory results may be given.
struct Donated {
  std::vector<bool> inputs;     // by position; shorter: the others are not
  std::vector<int> pairs = {};  // by output: the one input that it may be given, or -1. Empty: whichever fits
  bool may_give(size_t input, size_t output) const {
    return input < inputs.size() && inputs[input] && (pairs.empty() || pairs[output] == static_cast<int>(input));
  }
};

// Exchanges of two carried buffers at the end of a loop's body disappear where the body can update one of them in
// place.
void remove_swaps(loop::Program& program);

// In this order:
//   1. stores that nothing reads disappear; copies of a whole temporary into another buffer that could have been
//      written at once disappear; so do exchanges (remove_swaps), and copies that are changed and copied back;
//   2. every temporary gets an offset in the arena. Two share bytes when their lifetimes do not overlap, or when one
//      is last read by the loop nest that writes the other at exactly the elements it has just read;
//      What is dead before a result is written may lie in the memory of the result (results.h);
//   3. copies that are left and long become loops, for threads to share.
// `donated` null: memory of results holds results only.
void assign_buffers(loop::Program& program, const Donated* donated = nullptr);

// For each output, the donated input (by position) whose memory it may be given: same type, and no element of the
// input is read once that element of the output has been written. -1: none. Each input is given at most once.
std::vector<int> donations(const loop::Program& program, const Donated& donated);

}  // namespace ct::jit
