// Common subexpressions: equations with the same primitive, operands and attributes become one.
#include <algorithm>

#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// max and min are not: they may tell 0 from -0.
bool is_commutative(const Primitive& primitive) {
  if (!primitive.scalar) return false;
  switch (primitive.scalar_op) {
    case ScalarOp::kAdd:
    case ScalarOp::kMul:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
      return true;
    default:
      return false;
  }
}

}  // namespace

GraphPtr eliminate_common_subexpressions(const Graph& graph) {
  Values ordered;
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        const AttrsPtr inside = map_graphs(attrs, eliminate_common_subexpressions);
        ordered.assign(operands.begin(), operands.end());
        if (is_commutative(primitive)) {
          std::sort(ordered.begin(), ordered.end(), [](const Value& a, const Value& b) { return a.var < b.var; });
        }
        return builder.bind_shared(primitive, ordered, inside);
      });
}

}  // namespace ct
