// The walker: plays a plan's steps on a queue.
#pragma once

#include "device/queue.h"

namespace ct {

// Returns when the queue has been told all of it. The arena is given back then: a device whose queues return before the
// work is done gives memory to nobody but its own queue.
void queue_plan(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs);
// Returns when the queue has done it.
void run_plan(const Loaded& loaded, Queue& queue, void* const* inputs, void* const* outputs);

}  // namespace ct
