#include "runtime/arena.h"

#include <cstdlib>

#include "runtime/error.h"
#include "runtime/memory_advice.h"
#include "runtime/size.h"
#include "runtime/tensor.h"
#include "runtime/text.h"

namespace ct {
namespace {

constexpr int64_t kManyPages = int64_t{4} << 20;

struct ThreadArena {
  void* data = nullptr;
  int64_t bytes = 0;
  ~ThreadArena() { std::free(data); }
};

}  // namespace

void* cpu_arena(int64_t bytes) {
  thread_local ThreadArena arena;
  if (bytes <= arena.bytes) return arena.data;
  std::free(arena.data);
  arena.data = nullptr;
  arena.bytes = 0;
  const int64_t rounded = checked_add(bytes, kArenaAlignment - 1, "the memory for intermediate results") /
                          kArenaAlignment * kArenaAlignment;
  arena.data = std::aligned_alloc(kArenaAlignment, static_cast<size_t>(rounded));
  if (arena.data == nullptr) {
    throw Error(ErrorKind::kMemory, concat("no memory for ", rounded, " bytes of intermediate results"))
        .hint(concat(kMemoryAdvice, "; ct.explain(f)(...) lists these results by your lines"));
  }
  if (rounded >= kManyPages) advise_huge_pages(arena.data, static_cast<size_t>(rounded));
  arena.bytes = rounded;
  return arena.data;
}

}  // namespace ct
