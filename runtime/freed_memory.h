// What compiling has allocated and freed stays with the allocator. It goes back to the system before a large buffer
// takes memory from there, so that what a process holds at its peak is the one or the other.
#pragma once

namespace ct {

void note_freed_memory();    // some megabytes
void return_freed_memory();  // if there was some since the last time

}  // namespace ct
