// Which functions of a program are one module, and in which order modules are compiled.
#pragma once

#include <cstdint>

#include "jit/llvm/outline.h"
#include "jit/loop/loop.h"

namespace ct::jit {

// In statements (outline.cc).
inline constexpr int64_t kChunkWeight = 400;    // of a function, about
inline constexpr int64_t kProductWeight = 250;  // of a product of matrices that brings its own tiles

// Sets each function's module, and the order of the modules.
void bundle_modules(const loop::Program& program, Outline& outline);

}  // namespace ct::jit
