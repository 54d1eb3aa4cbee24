// A program on exact-size arrays made one on padded arrays: every equation with a ragged operand is replaced by its
// primitive's mask rule, which says which axes of the results are ragged and fills padding only where elements mix.
//
// The one walk of all that masks: of mask regions, of loops and branches in them, and of capture, which runs it
// alongside the user's function to know what is ragged. So all of them find the same lengths.
#pragma once

#include <utility>
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

// Which axes have to be of one size, asked of the mask rule: `sizes` has for each axis of each operand the number of
// its size, 0 where that is none's business. Of sizes that differ, `met` has those that should be equal; `results` has
// the numbers of what the size of each result's axis is made of. Where the rule refuses such operands, there are no
// results, and what has met is what the rule has found by then.
struct Meetings {
  std::vector<std::pair<int, int>> met;
  std::vector<std::vector<std::vector<int>>> results;
};
Meetings meetings_of(const Primitive& primitive, absl::Span<const Aval> operands,
                     absl::Span<const std::vector<int>> sizes, const AttrsPtr& attrs);
// For merge_lengths: whether it is being asked, and does not mind that these differ.
bool note_meeting(Value a, Value b);

}  // namespace ct
