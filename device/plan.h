// The Plan: what compiling produces, whatever becomes of it. It is called in this process, kept on disk by the cache,
// or written out as a library by export; all three hold the same code behind the same entry point.
//
// On the CPU the steps of a program are one native function, so a Plan is that function with what a caller must know:
// the types of inputs and outputs, how much scratch memory to bring, and which donated inputs an output may overwrite.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/aval.h"

namespace ct {

// inputs[i], outputs[i]: row-major elements, aligned to their element type. `arena`: at least arena_bytes, aligned to
// kArenaAlignment, private to the call; may be null when arena_bytes is 0. Reentrant; never fails.
using PlanEntry = void (*)(void* const* inputs, void* const* outputs, void* arena);
inline constexpr int64_t kArenaAlignment = 64;

struct Plan {
  std::string name;
  std::vector<Aval> inputs;
  std::vector<Aval> outputs;
  int64_t arena_bytes = 0;
  int64_t nanoseconds = 0;  // that one thread takes for it, about
  // By output: the input whose memory it may be given by passing the same pointer twice, or -1. Only inputs that were
  // donated when compiling occur.
  std::vector<int> donations;
  PlanEntry entry = nullptr;
  std::shared_ptr<const void> code;  // keeps what `entry` points into
};

}  // namespace ct
