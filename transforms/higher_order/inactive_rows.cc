#include "transforms/higher_order/inactive_rows.h"

#include <algorithm>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "transforms/common.h"

namespace ct {
Value any_row(Value rows) {
  const Value most = reduce_max(convert(rows, DType::kInt32), {0});
  return gt(most, zeros_like(most));  // of no rows, none
}

std::vector<Batched> operands_of_rows(Value rows, absl::Span<const Batched> operands, bool borrow) {
  Value row;  // one that counts
  std::vector<Batched> result(operands.begin(), operands.end());
  for (Batched& operand : result) {
    const Value x = operand.value;
    if (!operand.batched() || x.aval().size() == 0 || (!borrow && !is_inexact(x.dtype()))) continue;
    Value other = x;
    if (borrow) {
      if (!row) {
        const Aval numbers(DType::kInt32, rows.shape());
        row = reduce_max(select(rows, iota(*rows.builder, numbers, 0), zeros(*rows.builder, numbers)), {0});
      }
      other = broadcast_axis(gather(x, row, operand.axis, 0), operand.axis, rows.shape()[0]);
    }
    operand.value = select(broadcast(rows, x.shape(), {operand.axis}), x, stop_gradient(other));
  }
  return result;
}

bool reads_shared(const GraphPtr& graph, absl::Span<const Batched> operands) {
  const Flags read = pruned_of(graph, Flags(graph->outputs().size(), true)).inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (read[i] && !operands[i].batched() && is_inexact(operands[i].value.dtype())) return true;
  }
  return false;
}

bool may_not_end(const Graph& graph) {
  return any_equation(graph, [](const Equation& equation) { return equation.primitive->is<structures::While>(); });
}

bool is_cheap(const Graph& graph) {
  return !any_equation(graph, [](const Equation& equation) {
    const Primitive& primitive = *equation.primitive;
    const bool one_pass = primitive.is<structures::SameBytes>() || primitive.is<structures::Fold>();
    return (primitive.structure != nullptr && !one_pass) || primitive.loops;
  });
}

bool meets(const Graph& graph, const BatchAxis& axis) {
  if (axis.name.empty()) return false;
  return std::any_of(graph.equations().begin(), graph.equations().end(),
                     [&](const Equation& equation) { return names_axis(graph.attrs(equation), axis.name); });
}

}  // namespace ct
