// Loops whose steps follow each other, while the rows of a step have nothing to do with each other: a recurrent network
// over a batch. A step is too short to be shared by threads; all steps of some rows are not.
#pragma once

#include "jit/loop/loop.h"

namespace ct::jit {

// for step { for row { ... } }  ->  parallel for rows { for step { for row of rows { ... } } }
// Of loops outside of all others, with a product in each step, where nothing that a step writes is read in another row.
void split_rows(loop::Program& program);

}  // namespace ct::jit
