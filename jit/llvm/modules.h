// Which functions of a program are one module, and in which order modules are compiled.
#pragma once

#include <cstdint>

#include "jit/llvm/outline.h"

namespace ct::jit {

// In statements (outline.cc).
inline constexpr int64_t kChunkWeight = 300;  // of a function, about

// Sets each function's module, and the order of the modules.
void bundle_modules(Outline& outline);

}  // namespace ct::jit
