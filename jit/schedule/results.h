// Results have memory from the beginning, and are mostly written at the end: gradients of single examples are large,
// and what they are made of is dead before the last of them is written.
#pragma once

#include <vector>

#include "jit/loop/loop.h"
#include "jit/schedule/arena.h"
#include "jit/schedule/timeline.h"

namespace ct::jit {

// A buffer, and its memory: that of another which is dead once it is written, or its own.
struct ArenaPiece {
  loop::BufferId buffer;
  Interval lifetime;
  int64_t bytes;
  size_t place = 0;
  int shared_until = -1;  // when whatever had this place before is dead
};

// Moves places of the arena, with all pieces that have them, into results of the same dtype that nothing has touched
// until then; the pieces are gone from the list, and their places are empty. A result that is made by one nest of what
// is read for the last time there may hold that, too. `donations`: of results that lie where an input does, and
// hold nothing else.
void keep_in_results(loop::Program& program, Timeline& timeline, const std::vector<int>& donations,
                     std::vector<ArenaPiece>& pieces, std::vector<ArenaPlace>& places);

}  // namespace ct::jit
