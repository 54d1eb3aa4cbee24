// Work that primitives share among threads, in the pool that programs use (pool.h), whose `threads()` says on how many.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace ct {

using ParallelBody = absl::FunctionRef<void(int64_t)>;

// Calls of body(i) for i < count, on several threads at once; what one of them throws is thrown from here.
// `nanoseconds` is what one thread would take for all of them, about, and `in_all` the same for all the loops that the
// caller runs one after the other.
void parallel_for(int64_t count, int64_t nanoseconds, int64_t in_all, ParallelBody body);

}  // namespace ct
