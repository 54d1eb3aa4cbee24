// Reading for the last time as early as possible. Lowering writes loops in the order of the graph, where a result of
// the program that reads a temporary may stand behind the loop that could have taken the temporary's memory.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// Loops and products that write results of the program, and are the last to read some temporary, go up to behind what
// they need. No temporary lives longer for that: what they read is there, and what they write is not in the arena. With
// them go those right before them that make what only they read, where that is no more than what is dead then.
void read_early(loop::Program& program);

}  // namespace ct::jit
