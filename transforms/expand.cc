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

using Pass = GraphPtr (*)(const Graph&);

bool is_region(const Primitive& primitive) { return primitive.expand && primitive.lowering != Lowering::kHost; }
bool is_expandable(const Primitive& primitive) { return static_cast<bool>(primitive.expand); }
using Which = bool (*)(const Primitive&);

// In sub-graphs too: what is expanded may emit a loop with a region inside.
bool has_any(const Graph& graph, Which which) {
  return any_equation(graph, [which](const Equation& equation) { return which(*equation.primitive); });
}

GraphPtr expand_once(const Graph& graph, Which which, Pass inside) {
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        if (!which(primitive)) return builder.bind(primitive, operands, map_graphs(attrs, inside));
        try {
          return primitive.expand(builder, operands, attrs);
        } catch (Error& error) {
          error.op(primitive.name).at(location_of(equation));
          throw;
        }
      });
}

GraphPtr expand_all(const Graph& graph, Which which, Pass inside) {
  GraphPtr result = expand_once(graph, which, inside);
  for (int depth = 0; has_any(*result, which); ++depth) {
    if (depth == kDeepestExpansion) {
      throw Error(ErrorKind::kValue, concat("expand rules still emit regions after ", kDeepestExpansion, " rounds"))
          .hint("an expand rule must not emit its own primitive");
    }
    result = expand_once(*result, which, inside);
  }
  return result;
}

}  // namespace

GraphPtr expand_regions(const Graph& graph) { return expand_all(graph, is_region, expand_regions); }
GraphPtr expand_host_calls(const Graph& graph) { return expand_all(graph, is_expandable, expand_host_calls); }

}  // namespace ct
