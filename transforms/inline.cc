// Calls replaced by the equations of what they call, here and in sub-graphs.
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {

GraphPtr inline_calls(const Graph& graph) {
  return rewrite(
      graph, [](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        if (equation.primitive->region == Region::kCall) {
          return builder.inline_graph(*inline_calls(*attrs->graph("graph")), operands);
        }
        return builder.bind(*equation.primitive, operands, map_graphs(attrs, inline_calls));
      });
}

}  // namespace ct
