// A function of a library as the program that all of its forms, machine code and C source, are made from.
#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "jit/export/library.h"
#include "jit/loop/loop.h"

namespace ct {

struct LoweredFunction {
  loop::Program program;
  jit::CFunction function;  // without entries, arena_bytes
};
// Constants of up to so many bytes are part of the program. Throws Error.
LoweredFunction lower_function(const GraphPtr& graph, const LibraryFunction& function, int64_t most_bytes);

}  // namespace ct
