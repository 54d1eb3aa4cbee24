// The legality check of a graph for each stage: run after every pass in debug builds and in tests, and on everything
// that is loaded from outside.
#pragma once

#include <string>

#include "ir/graph.h"

namespace ct {

enum class Stage : uint8_t {
  kCaptured,     // any primitive
  kTransformed,  // the same; no custom_vjp_linear left over from a transpose
  kLowerable,    // only primitives the compiler lowers: no equation with an `expand` rule, no ragged sizes
};

// Empty when the graph is legal, else what is wrong and in which equation: variables defined before use, operand
// ranges, output types equal to what the type rule says, sub-graphs legal.
std::string check(const Graph& graph, Stage stage = Stage::kCaptured);

}  // namespace ct
