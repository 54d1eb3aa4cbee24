// Calls replaced by the equations of what they call, here and in sub-graphs.
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {

GraphPtr inline_calls(const Graph& graph) {
  const Primitive* const call = find_primitive("call");
  return rewrite(graph, [call](Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                               const AttrsPtr& attrs) {
    if (equation.primitive == call) return builder.inline_graph(*inline_calls(*attrs->graph("graph")), operands);
    return builder.bind(*equation.primitive, operands, map_graphs(attrs, inline_calls));
  });
}

}  // namespace ct
