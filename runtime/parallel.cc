#include "runtime/parallel.h"

#include <atomic>
#include <exception>

namespace ct {
namespace {

int one_thread() { return 1; }
void run_alone(int64_t count, int64_t, int64_t, ParallelBody body) {
  for (int64_t i = 0; i < count; ++i) body(i);
}

constinit ParallelRunner registered = {one_thread, run_alone};

}  // namespace

void set_parallel_runner(const ParallelRunner& runner) { registered = runner; }

int parallel_threads() { return registered.threads(); }

void parallel_for(int64_t count, int64_t nanoseconds, int64_t in_all, ParallelBody body) {
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  registered.run(count, nanoseconds, in_all, [&](int64_t i) {
    try {
      body(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ct
