// The walker: plays a plan's steps on a queue.
#pragma once

#include "device/queue.h"

namespace ct {

// Returns when the queue has done it.
void run_plan(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs);

}  // namespace ct
