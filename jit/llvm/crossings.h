// Values that cross from one function of an outline into another.
#pragma once

#include "absl/types/span.h"
#include "jit/llvm/outline.h"

namespace ct::jit {

// Gives a slot in the arena to each value that crosses, and to the pointers of buffers that swap, and notes what every
// function uses from outside and gives back. `constants`, by value, has the statements that make constants, which are
// made again instead; it is empty where the program is one function.
void find_crossings(const loop::Program& program, absl::Span<const loop::Statement* const> constants, Outline& outline);

}  // namespace ct::jit
