// Reading for the last time as early as possible. Lowering writes loops in the order of the graph, where a result of
// the program that reads a temporary may stand behind the loop that could have taken the temporary's memory.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// Loops and products that are the last to read some temporary, and store less in others, if any, go up to behind what
// they need: what they read is there, and is dead earlier. With them go those right before them that make what only
// they read, where that is no more than what is dead then, and results that are smaller than theirs.
void read_early(loop::Program& program);

}  // namespace ct::jit
