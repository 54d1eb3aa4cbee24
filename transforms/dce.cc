// Dead code elimination: equations whose results nothing needs, here and in sub-graphs. An equation with sub-graphs
// keeps its signature.
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {

GraphPtr eliminate_dead_code(const Graph& graph) {
  return rewrite(
      graph, [](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        return builder.bind(*equation.primitive, operands, map_graphs(attrs, eliminate_dead_code));
      });
}

}  // namespace ct
