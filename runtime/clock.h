// The time of a clock that never goes back.
#pragma once

#include <chrono>
#include <cstdint>

namespace ct {

inline int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace ct
