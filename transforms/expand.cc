// Primitives with an `expand` rule replaced by what it emits, until none is left. Outermost first: a region's rule
// sees its sub-graph as it was written.
#include "ir/error.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// Regions nest about as deep as users stack transforms; a rule that emits itself never ends.
constexpr int kDeepestExpansion = 1000;

bool has_regions(const Graph& graph) {
  for (const Equation& equation : graph.equations()) {
    if (equation.primitive->expand) return true;
  }
  return false;
}

GraphPtr expand_once(const Graph& graph) {
  return rewrite(
      graph, [](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        if (!primitive.expand) return builder.bind(primitive, operands, map_graphs(attrs, expand_regions));
        try {
          return primitive.expand(builder, operands, attrs);
        } catch (Error& error) {
          error.op(primitive.name).at(location_of(equation));
          throw;
        }
      });
}

}  // namespace

GraphPtr expand_regions(const Graph& graph) {
  GraphPtr result = expand_once(graph);
  for (int depth = 0; has_regions(*result); ++depth) {
    if (depth == kDeepestExpansion) {
      throw Error(ErrorKind::kValue, concat("expand rules still emit regions after ", kDeepestExpansion, " rounds"))
          .hint("an expand rule must not emit its own primitive");
    }
    result = expand_once(*result);
  }
  return result;
}

}  // namespace ct
