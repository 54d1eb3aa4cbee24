// Primitives with an `expand` rule replaced by what it emits, until none is left. Outermost first: a region's rule
// sees its sub-graph as it was written.
#include <algorithm>
#include <functional>

#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// Regions nest about as deep as users stack transforms; a rule that emits itself never ends.
constexpr int kDeepestExpansion = 1000;

using Which = std::function<bool(const Primitive&, const Attrs&, absl::Span<const Aval>)>;

// In sub-graphs too: what is expanded may emit a loop with a region inside.
bool has_any(const Graph& graph, const Which& which) {
  return std::ranges::any_of(graph.equations(), [&](const Equation& equation) {
    const Attrs& attrs = graph.attrs(equation);
    Avals operands;
    for (Var var : graph.operands(equation)) operands.push_back(graph.aval(var));
    return which(*equation.primitive, attrs, operands) ||
           any_sub_graph(attrs, [&](const Graph& inner) { return has_any(inner, which); });
  });
}

GraphPtr expand_all(const Graph& graph, const Which& which);

GraphPtr expand_once(const Graph& graph, const Which& which) {
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        Avals avals;
        for (const Value& operand : operands) avals.push_back(operand.aval());
        if (!which(primitive, *attrs, avals)) {
          return builder.bind(primitive, operands,
                              map_graphs(attrs, [&](const Graph& inner) { return expand_all(inner, which); }));
        }
        try {
          return primitive.expand(builder, operands, attrs);
        } catch (Error& error) {
          error.op(primitive.name).at(location_of(equation));
          throw;
        }
      });
}

GraphPtr expand_all(const Graph& graph, const Which& which) {
  GraphPtr result = expand_once(graph, which);
  for (int depth = 0; has_any(*result, which); ++depth) {
    CT_CHECK(depth < kDeepestExpansion);  // no region's rule emits its own primitive
    result = expand_once(*result, which);
  }
  return result;
}

}  // namespace

GraphPtr expand_regions(const Graph& graph) {
  return expand_all(graph, [](const Primitive& primitive, const Attrs&, absl::Span<const Aval>) {
    return primitive.stands_for_others();
  });
}

bool any_with_terms(const Graph& graph) {
  return has_any(graph, [](const Primitive& primitive, const Attrs&, absl::Span<const Aval>) {
    return primitive.stands_for_others() && primitive.terms;
  });
}

GraphPtr expand_all_but_terms(const Graph& graph) {
  return expand_all(graph, [](const Primitive& primitive, const Attrs&, absl::Span<const Aval>) {
    return primitive.stands_for_others() && !primitive.terms;
  });
}

GraphPtr expand_host_calls(const Graph& graph, KeepEquation keep) {
  return expand_all(graph, [keep](const Primitive& primitive, const Attrs& attrs, absl::Span<const Aval> operands) {
    return primitive.expand && !primitive.terms && !keep(primitive, attrs, operands);
  });
}

}  // namespace ct
