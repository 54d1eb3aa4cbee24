// A program on exact-size arrays made one on padded arrays: every equation with a ragged operand is replaced by its
// primitive's mask rule, which says which axes of the results are ragged and fills padding only where elements mix.
//
// The one walk of all that masks: of mask regions, of loops and branches in them, and of capture, which runs it
// alongside the user's function to know what is ragged. So all of them find the same lengths.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/primitive.h"

namespace ct {

// The results of one equation, of the types `expected`. Without a mask rule they are those of the primitive's
// expansion.
std::vector<Masked> mask_equation(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                                  const AttrsPtr& attrs, absl::Span<const Aval> expected);

// Those of a graph.
std::vector<Masked> mask_inline(Builder& builder, const Graph& graph, absl::Span<const Masked> inputs);

// Those of a primitive's expansion, which is masked in its place.
std::vector<Masked> mask_expansion(Builder& builder, const Primitive& primitive, absl::Span<const Masked> operands,
                                   const AttrsPtr& attrs);

}  // namespace ct
