// Derived sub-graphs of the higher-order primitives, remembered.
//
// A rule of a loop asks for the derivative of its body several times (until the set of carries with tangents stops
// growing), and so does every loop around it: without memory the work would double with each level of nesting. The
// memory is one bounded table from (what, graph, options) to the result. Graphs count as equal when their structure and
// the user's lines are.
//
// Start with `jvp_of`; the others are the same thing for the other transforms. `rewire` puts inputs and outputs into
// the order that a primitive wants.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"
#include "transforms/transforms.h"

namespace ct {

using Flags = std::vector<bool>;

JvpGraph jvp_of(const GraphPtr& graph, const Flags& nonzero_in, const Flags& force_out = {});
SplitGraph split_of(const GraphPtr& graph, const Flags& in_unknown, const Flags& instantiate = {});
// Of a step of a loop, which hands residuals on for every step: as few as may be.
SplitGraph split_of_step(const GraphPtr& graph, const Flags& in_unknown, const Flags& instantiate);
// Slices of the marked known inputs are taken again by the unknown graph.
SplitGraph split_slicing(const GraphPtr& graph, const Flags& in_unknown, const Flags& instantiate, const Flags& sliced);
// The unknown graph makes again what the checkpoint policy does not save; calls are inlined, so that it sees into them.
SplitGraph split_by_policy(const GraphPtr& graph, const Flags& in_unknown, const std::string& policy);

// Inputs: those of `graph` that are not linear, then the cotangents of the outputs marked in `cotangents`. Outputs: the
// cotangents of the linear inputs marked in `nonzero`, which are those that do not vanish and those that are forced.
struct BackwardGraph {
  GraphPtr graph;
  Flags nonzero;  // one an input of the original graph
};
BackwardGraph backward_of(const GraphPtr& graph, const Flags& linear, const Flags& cotangents, const Flags& force = {});

inline constexpr int kAnyAxis = -2;
struct BatchGraph {
  GraphPtr graph;
  std::vector<int> out_axes;  // -1: not batched
};
// `out_axes`: where each output's batch dimension must be; kAnyAxis leaves it where the rules put it, if anywhere.
BatchGraph batch_of(const GraphPtr& graph, const std::vector<int>& in_axes, const BatchAxis& axis,
                    const std::vector<int>& out_axes);

// Dead code elimination for outputs that nothing uses; see transforms.h.
PrunedGraph pruned_of(const GraphPtr& graph, const Flags& outputs);

// Everything with an `expand` rule expanded, to the bottom.
GraphPtr expanded(const GraphPtr& graph);

// The same graph with its inputs in the order `inputs` (indices of the original ones) and the outputs `outputs`.
GraphPtr rewire(const Graph& graph, absl::Span<const size_t> inputs, absl::Span<const size_t> outputs,
                Builder::Keep keep = Builder::Keep::kNeeded);

// Which outputs depend on the marked inputs: an equation with a marked operand has marked results. The sizes of an
// array may be known where the array is not.
enum class Sizes : uint8_t { kOfTheirArrays, kKnown };
Flags depends_on(const Graph& graph, const Flags& inputs, Sizes sizes = Sizes::kOfTheirArrays);

// ---- Small tools of rules ------------------------------------------------------------------------------------------
std::vector<size_t> range(size_t begin, size_t end);
size_t count(const Flags& flags);
Flags present(absl::Span<const Value> values);        // which are not null
Values only_present(absl::Span<const Value> values);  // those that are not null
// Those that are marked.
template <class Items>
auto marked(const Items& items, const Flags& flags) {
  std::vector<typename Items::value_type> result;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) result.push_back(items[i]);
  }
  return result;
}
void append(Values& values, absl::Span<const Value> more);
Flags slice_of(const Flags& flags, size_t begin, size_t end);
Flags joined(std::initializer_list<Flags> parts);
bool unite(Flags& flags, const Flags& more);  // or; whether anything changed
Flags negated(Flags flags);

}  // namespace ct
