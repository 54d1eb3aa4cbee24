// Inputs of a program that are lengths of ragged axes, which a caller may get wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "jit/llvm/c_functions.h"

namespace ct::jit {

// Every element of the input must be from 0 to `bound`, the size of the axis.
struct LengthInput {
  uint32_t input;
  int64_t bound;
};

// By input. Lengths that the program computes, other than by holding them to a size or by conversion to another integer
// type, are its own affair.
std::vector<LengthInput> find_length_inputs(const Graph& graph);
// Those among the first `count` inputs, as C functions look at them.
std::vector<BoundedInput> bounded_inputs(const Graph& graph, size_t count);

}  // namespace ct::jit
