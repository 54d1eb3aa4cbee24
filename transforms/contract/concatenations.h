// What is put together from gradients of several parameters (one vector an example, say) and then multiplied, scaled
// and summed up: done with the pieces, so that these need not be in memory next to each other, nor at all.
#pragma once

#include "ir/graph.h"
#include "transforms/contract/growth.h"

namespace ct::contraction {

// The program with each concatenation of something grown taken apart as far as that reaches, if nobody needs it whole;
// null where there is none.
GraphPtr in_pieces(const Graph& graph, const Growth& growth);

}  // namespace ct::contraction
