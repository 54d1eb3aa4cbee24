// Loops of ours for what libraries compute.
#pragma once

#include "jit/lower/frame.h"

namespace ct::jit {

// What libraries do not read behind lengths, and the attributes with which they are told what nobody reads there.
OperandLimits library_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation);
AttrsPtr library_attrs(const ElementLimits& limits, const Graph& graph, const Equation& equation);

// Both say whether they could.
bool emit_library_loops(Frame& frame, const Equation& equation);
bool emit_fourier(Frame& frame, const Equation& equation);

}  // namespace ct::jit
