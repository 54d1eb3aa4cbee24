// Which process this is, for what shares pages with those that it came from.
#pragma once

#include <cstdint>

namespace ct {

// How many forks there were from the first process to this one, and by this one. It stays while a ProcessMutex is held
// (runtime/process.h).
int64_t forks();

}  // namespace ct
