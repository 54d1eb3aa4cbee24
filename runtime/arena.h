// Scratch memory of programs on the host.
#pragma once

#include <cstdint>

namespace ct {

inline constexpr int64_t kArenaAlignment = 64;

// For one call on this thread: at least `bytes`, aligned to kArenaAlignment. It stays with the thread, for the next
// call. Throws ErrorKind::kMemory.
void* cpu_arena(int64_t bytes);

}  // namespace ct
