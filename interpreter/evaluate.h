// Runs a graph on concrete tensors, equation by equation.
//
// `evaluate` uses the prebuilt kernels (kernels/) where there is one, else the reference evaluation.
// `evaluate_reference` uses only reference rules (reference.h): the slow, readable oracle. Both expand primitives that
// have an `expand` rule.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "runtime/tensor.h"

namespace ct {

// Throws Error when inputs do not match the graph's input avals. Values are freed after their last use.
std::vector<Tensor> evaluate(const Graph& graph, absl::Span<const Tensor> inputs);
std::vector<Tensor> evaluate_reference(const Graph& graph, absl::Span<const Tensor> inputs);

// One primitive, eagerly.
std::vector<Tensor> evaluate_primitive(const Primitive& primitive, absl::Span<const Tensor> operands,
                                       const AttrsPtr& attrs);
// The same for a primitive with one result.
Tensor evaluate_primitive1(const Primitive& primitive, absl::Span<const Tensor> operands, const AttrsPtr& attrs);

}  // namespace ct
