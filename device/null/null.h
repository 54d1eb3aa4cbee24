// A device that computes nothing and counts what it is asked to do: tests of scheduling and caching need no hardware.
#pragma once

#include "device/device.h"

namespace ct {

struct NullCounts {
  int64_t allocations = 0;
  int64_t allocated_bytes = 0;
  int64_t copies = 0;
  int64_t launches = 0;
};

Device& null_device();
NullCounts null_counts();  // since the last reset
void reset_null_counts();

}  // namespace ct
