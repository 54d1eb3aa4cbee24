// The reverse walk that transpose_graph and value_and_grad share: over a frozen graph, or over equations that the
// builder itself has recorded (so that a gradient needs no intermediate graph).
#pragma once

#include <vector>

#include "ir/builder.h"
#include "transforms/split.h"

namespace ct {

// Transposes equations [first, last) of `source` (a Graph or the Builder itself) from the last to the first. By
// variable of the source: `linear` marks those that depend linearly on what is differentiated; `values` holds the
// others; `cotangents` is read for the equations' outputs and added to for their operands, null being zero.
template <class Source>
void walk_back(Builder& builder, const Source& source, size_t first, size_t last, const std::vector<bool>& linear,
               absl::Span<const Value> values, Values& cotangents);

// A graph whose work on linear inputs is taken apart from the rest, for graphs with equations that hold both (a scan
// that carries a counter and a tangent): what is known is recorded in the builder, the rest is a graph to run backward.
struct LinearSheet {
  std::vector<SplitValue> outputs;  // one an output of the graph; known ones are values of the builder
  GraphPtr graph;                   // linear inputs..., residuals... -> the outputs that are not known
  Values residuals;
};
// `operands` are null where linear.
LinearSheet separate_linear(Builder& builder, const Graph& graph, absl::Span<const Value> operands);
// `cotangents`: one for each output of the graph, null for zero. Returns one for each linear input, in order.
Values transpose_sheet(Builder& builder, const LinearSheet& sheet, absl::Span<const Value> cotangents);

}  // namespace ct
