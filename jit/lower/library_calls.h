// Loops of ours for what libraries compute. Both say whether they could.
#pragma once

#include "jit/lower/frame.h"

namespace ct::jit {

bool emit_library_loops(Frame& frame, const Equation& equation);
bool emit_fourier(Frame& frame, const Equation& equation);

}  // namespace ct::jit
