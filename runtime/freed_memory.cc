#include "runtime/freed_memory.h"

#include <malloc.h>

#include <atomic>

namespace ct {

namespace {
std::atomic<bool> was_freed{false};
}

void note_freed_memory() { was_freed.store(true, std::memory_order_relaxed); }

void return_freed_memory() {
  // Only looked at, as a rule: large buffers are made much more often than programs.
  if (!was_freed.load(std::memory_order_relaxed) || !was_freed.exchange(false)) return;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace ct
