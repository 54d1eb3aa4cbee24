// A program and its derivative at the point where it was run, as two programs.
#include "runtime/error.h"
#include "transforms/transforms.h"

namespace ct {

Linearized linearize(const Graph& graph, const std::vector<bool>& wrt) {
  const size_t num_outputs = graph.outputs().size();
  const JvpGraph derivative = jvp(graph, wrt, std::vector<bool>(num_outputs, true));

  // Inputs of the derivative: all primals, then tangents; outputs: all primals, then tangents.
  const size_t num_primals = graph.num_inputs();
  std::vector<bool> in_unknown(derivative.graph->num_inputs(), true);
  std::fill(in_unknown.begin(), in_unknown.begin() + num_primals, false);
  std::vector<bool> instantiate(derivative.graph->outputs().size(), true);
  std::fill(instantiate.begin(), instantiate.begin() + num_outputs, false);
  SplitGraph sheets = split(*derivative.graph, in_unknown, instantiate);
  for (size_t k = 0; k < num_outputs; ++k) CT_CHECK(sheets.out_known[k]);
  return {std::move(sheets.known), std::move(sheets.unknown), sheets.num_residuals};
}

}  // namespace ct
