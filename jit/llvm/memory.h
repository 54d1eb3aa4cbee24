// Memory that LLVM needs, and what happens when there is none.
//
// LLVM ends the process when it gets no memory, and when it meets what it cannot compile. So what a module will need is
// estimated before it is begun (`check_memory`), against what the machine, the process's limits and its control group
// leave. Where the estimate fails LLVM's own handlers throw (`throw_from_llvm`): its functions have no clean-up code,
// so what they were working on is in an unknown state and must be left where it is, not destroyed
// (`abandon_if_thrown`).
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "absl/status/status.h"

namespace ct::jit {

// Bytes that this process can still get; INT64_MAX if nobody says.
int64_t memory_left();

// How many of `modules` modules, the largest of `weight` statements (outline.h), may be compiled at a time; an error
// that says what to do if it is none.
absl::Status check_memory(int64_t weight, uint32_t& at_a_time);

// What a user reads who runs out of memory while compiling.
absl::Status out_of_memory();

// Makes LLVM throw std::bad_alloc and Error(kInternal) instead of ending the process. Once.
void throw_from_llvm();

// Calls `body`. If it throws, the objects stay allocated for good.
template <class Body, class... Owners>
auto abandon_if_thrown(const Body& body, Owners&... owners) {
  try {
    return body();
  } catch (...) {
    (static_cast<void>(owners.release()), ...);
    throw;
  }
}

}  // namespace ct::jit
