// Which buffers may lie where another one does that is read for the last time while they are written.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// Elements of one size, which are single numbers in both or pairs.
bool same_layout(const loop::Program& program, loop::BufferId a, loop::BufferId b);

// Whether the statement writes every element of `to` after all reads of that element of `from`.
bool updates_in_place(const loop::Program& program, const loop::Statement& statement, loop::BufferId from,
                      loop::BufferId to);

// The copy of all of one buffer to another of its size.
bool copies_whole(const loop::Program& program, const loop::Statement& s, loop::BufferId from, loop::BufferId to);

// Whether `to` may lie where `from` does, as far as the statements of `block` go: nothing in it reads an element of
// `from` once that element of `to` is written, but by copying it whole.
bool can_overwrite(const loop::Program& program, loop::BlockId block, loop::BufferId from, loop::BufferId to);

}  // namespace ct::jit
