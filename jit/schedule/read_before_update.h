// Reading an array before it is overwritten. A loop that carries an array writes the next one beside it, and exchanges
// the two; where nothing reads the old one any more once the new one is written, both are one (assign_buffers), and a
// step that changes one element costs one element. Lowering writes loops in the order of the graph, where a reader of
// the old array may stand behind the update.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// Within each block: what reads an array goes up to in front of the first statement that writes the one which takes its
// place, with what it needs, if all readers can, and what they store is smaller than the array.
void read_before_update(loop::Program& program);

}  // namespace ct::jit
