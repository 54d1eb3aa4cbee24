// Work that threads share, for code that knows no threads: whoever has a pool of them registers it
// (jit/runtime/host_functions.cc). Without one, everything runs on the caller's thread.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace ct {

using ParallelBody = absl::FunctionRef<void(int64_t)>;

// How many threads a loop may use; at least 1.
int parallel_threads();

// Calls of body(i) for i < count, on several threads at once; what one of them throws is thrown from here.
// `nanoseconds` is what one thread would take for all of them, about, and `in_all` the same for all the loops that the
// caller runs one after the other.
void parallel_for(int64_t count, int64_t nanoseconds, int64_t in_all, ParallelBody body);

// The body that `run` gets does not throw.
struct ParallelRunner {
  int (*threads)();
  void (*run)(int64_t count, int64_t nanoseconds, int64_t in_all, ParallelBody body);
};
void set_parallel_runner(const ParallelRunner& runner);

}  // namespace ct
