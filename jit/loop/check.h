// Is this Program well formed? The compiler asks after every pass, in debug builds and where CT_CHECK_PASSES is set, as
// the C++ tests do.
#pragma once

#include <string>

#include "jit/loop/loop.h"

namespace ct::loop {

// "" if the program is legal; otherwise what is wrong. Verifies that
//  - values are defined once, before their uses, in a block that encloses them;
//  - operands have the dtypes their operation needs, and stores, loads and copies those of their buffers;
//  - buffers that are temporaries are aligned and inside the arena; constants have their bytes;
//  - indices stay inside their buffers as far as the ranges of their terms are known; one with unknown terms (a loaded
//    gather index) is trusted;
//  - carries of vectorised and parallel loops have a `combine`, and swapped buffers are of one size.
std::string check(const Program& program);

}  // namespace ct::loop
