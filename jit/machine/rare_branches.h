// Which branches lanes rarely take, as the reduction of a huge angle: machine code of vectors keeps them aside, and C
// source asks for many iterations at once whether any takes one.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// A long one that reads nothing but tables.
bool is_rare(const loop::Program& program, loop::BlockId block);

}  // namespace ct::jit
