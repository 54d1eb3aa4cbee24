#include "transforms/contract/growth.h"

#include <algorithm>

#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct::contraction {
namespace {

constexpr uint32_t kInput = ~0u;

}  // namespace

Growth::Growth(const Graph& graph) : graph_(graph), definition_(graph.num_vars(), kInput) {
  for (uint32_t i = 0; i < graph.equations().size(); ++i) {
    const Equation& equation = graph.equations()[i];
    for (uint32_t k = 0; k < equation.output_count; ++k) definition_[equation.first_output + k] = i;
  }
}

const Equation* Growth::producer(Var var) const {
  return definition_[var] == kInput ? nullptr : &graph_.equations()[definition_[var]];
}

bool Growth::is_zero(Var var) const {
  const Equation* equation = producer(var);
  if (equation == nullptr || equation->primitive->arrangement != Arrangement::kUniform) return false;
  return is_float(graph_.aval(var).dtype()) && graph_.attrs(*equation).real("value") == 0;
}

// Elements of what a value repeats.
int64_t Growth::source_size(Var var) const {
  const Equation* equation = producer(var);
  while (equation != nullptr && equation->primitive->arrangement == Arrangement::kBroadcast) {
    var = graph_.operands(*equation)[0];
    equation = producer(var);
  }
  return size(var);
}

int64_t Growth::of(const Equation& equation) const {
  if (!equation.primitive->terms || !may_grow(graph_.aval(equation.first_output).dtype())) return 0;
  const auto operands = graph_.operands(equation);
  int64_t factors = 0;
  if (equation.primitive->is<structures::Product>()) {
    factors = size(operands[0]) + size(operands[1]);
  } else if (equation.primitive->linear == Linear::kInEach) {
    // Of two broadcasts: an outer product.
    factors = source_size(operands[0]) + source_size(operands[1]);
  } else if (const auto* scatter = equation.primitive->structure_as<structures::Scatter>();
             scatter != nullptr && scatter->combine == ScalarOp::kAdd && is_zero(operands[0])) {
    factors = size(operands[2]);
  } else {
    return 0;
  }
  return size(equation.first_output) > factors ? factors : 0;
}

bool Growth::any() const {
  return std::ranges::any_of(graph_.equations(), [&](const Equation& equation) { return of(equation) > 0; });
}

std::vector<bool> Growth::grown() const {
  std::vector<bool> result(graph_.num_vars(), false);
  for (const Equation& equation : graph_.equations()) {
    const Var made = equation.first_output;
    const auto is_kept = [&](Var var) { return result[var] && size(made) >= size(var); };
    if (of(equation) > 0 || (equation.primitive->terms && std::ranges::any_of(graph_.operands(equation), is_kept))) {
      result[made] = true;
    }
  }
  return result;
}

}  // namespace ct::contraction

namespace ct {

GraphPtr expand_but_grown(const Graph& graph) {
  const std::vector<bool> grown = contraction::Growth(graph).grown();
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        const Primitive& primitive = *equation.primitive;
        const bool is_expanded = primitive.stands_for_others() && primitive.terms && !grown[equation.first_output];
        if (is_expanded) return primitive.expand(builder, operands, attrs);
        return builder.bind(primitive, operands, map_graphs(attrs, expand_but_grown));
      });
}

}  // namespace ct
