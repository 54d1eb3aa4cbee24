// Setting up the code generator takes 2 ms, a compiled function of two lines a quarter of that. So whoever loads the
// library may have it set up meanwhile by a thread that is gone afterwards.
#pragma once

namespace ct::jit {

// Starts the thread, which makes a target for each of two modules compiled at a time, unless there is one core to use
// or CT_THREADS=1 asks for one thread. At most once in a process.
void start_warm_up();

// Returns when no such thread is busy with the first target; at once in the thread itself. What needs the code
// generator calls it first: the thread is nearly done, a second set-up would begin anew.
void await_warm_up();

}  // namespace ct::jit
