#include "runtime/parallel.h"

#include <atomic>
#include <exception>

#include "runtime/pool.h"

namespace ct {

void parallel_for(int64_t count, int64_t nanoseconds, int64_t in_all, ParallelBody body) {
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  auto range = [&](int64_t begin, int64_t end) {
    try {
      for (int64_t i = begin; i < end; ++i) body(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  const ParallelLoop loop{
      .body = [](void* context, int64_t begin, int64_t end,
                 void*) { (*static_cast<decltype(range)*>(context))(begin, end); },
      .context = &range,
      .extent = count,
      .multiple = 1,
      .scratch_bytes = 0,
      .scratch = nullptr,
      .nanoseconds = nanoseconds,
      .in_program = in_all,
  };
  run_parallel(&loop);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ct
