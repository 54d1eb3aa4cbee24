// The host's processor: its memory is the host's, and launching is calling.
#pragma once

#include "device/device.h"

namespace ct {

Device& cpu_device();

// Scratch memory for one call on this thread: at least `bytes`, aligned to kArenaAlignment. It stays with the thread,
// for the next call. Throws ErrorKind::kMemory.
void* cpu_arena(int64_t bytes);

}  // namespace ct
