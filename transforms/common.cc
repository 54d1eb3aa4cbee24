#include "transforms/common.h"

#include <limits>

#include "ir/ops.h"
#include "runtime/text.h"

namespace ct {

Values inputs_like(Builder& builder, const Graph& graph) {
  Values inputs;
  inputs.reserve(graph.num_inputs());
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    inputs.push_back(
        builder.input(graph.aval(i), i < graph.input_names().size() ? graph.input_names()[i] : std::string()));
  }
  return inputs;
}

std::string input_name(const Graph& graph, uint32_t input) {
  if (input < graph.input_names().size() && !graph.input_names()[input].empty()) {
    return concat("'", graph.input_names()[input], "'");
  }
  return concat("input ", input);
}

Avals avals_of(absl::Span<const Value> values) {
  Avals avals;
  avals.reserve(values.size());
  for (const Value& value : values) avals.push_back(value.aval());
  return avals;
}

void check_differentiable_inputs(const Graph& graph, const std::vector<bool>& wrt, std::string_view transform) {
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (!wrt[i] || is_inexact(graph.aval(i).dtype())) continue;
    throw Error(ErrorKind::kDType, concat(transform, " needs inputs of float or complex dtype; ", input_name(graph, i),
                                          " is ", graph.aval(i).to_string()))
        .hint("convert it to a float dtype, or differentiate with respect to other inputs (grad: allow_int=True)");
  }
}

AttrsPtr map_graphs(const AttrsPtr& attrs, const std::function<GraphPtr(const Graph&)>& pass) {
  AttrsPtr result = attrs;
  for (const auto& [key, value] : attrs->items()) {
    if (const auto* graph = std::get_if<GraphPtr>(&value)) {
      result = result->with(key, pass(**graph));
    } else if (const auto* graphs = std::get_if<std::vector<GraphPtr>>(&value)) {
      std::vector<GraphPtr> mapped;
      for (const GraphPtr& graph : *graphs) mapped.push_back(pass(*graph));
      result = result->with(key, std::move(mapped));
    }
  }
  return result;
}

bool any_sub_graph(const Attrs& attrs, const std::function<bool(const Graph&)>& predicate) {
  for (const auto& [key, value] : attrs.items()) {
    if (const auto* graph = std::get_if<GraphPtr>(&value)) {
      if (predicate(**graph)) return true;
    } else if (const auto* graphs = std::get_if<std::vector<GraphPtr>>(&value)) {
      for (const GraphPtr& graph : *graphs) {
        if (predicate(*graph)) return true;
      }
    }
  }
  return false;
}

bool any_equation(const Graph& graph, const std::function<bool(const Equation&)>& predicate) {
  for (const Equation& equation : graph.equations()) {
    if (predicate(equation)) return true;
    const auto inside = [&](const Graph& sub_graph) { return any_equation(sub_graph, predicate); };
    if (any_sub_graph(graph.attrs(equation), inside)) return true;
  }
  return false;
}

std::optional<Equation> made_by(Value value) {
  const Equation* equation = value.builder->producer(value.var);
  return equation == nullptr ? std::nullopt : std::optional(*equation);
}

std::optional<Equation> made_by(Value value, Arrangement arrangement) {
  const auto equation = made_by(value);
  return equation && equation->primitive->arrangement == arrangement ? equation : std::nullopt;
}

Value is_inside(Value indices, int64_t size) {
  if (indices.dtype() != DType::kInt32 || size > std::numeric_limits<int32_t>::max()) {
    indices = convert(indices, DType::kInt64);
  }
  const Value is_below = lt(indices, full_integer(*indices.builder, indices.aval(), size));
  return bit_and(ge(indices, zeros_like(indices)), is_below);
}

int same_axis(const Shape& from, const Shape& to, int axis) {
  const auto before = [](const Shape& shape, int end) { return num_elements(absl::MakeConstSpan(shape).first(end)); };
  for (int at = 0; at < static_cast<int>(to.size()); ++at) {
    if (to[at] == from[axis] && before(to, at) == before(from, axis)) return at;
  }
  return -1;
}

void copy_equations(Builder& builder, const Graph& graph, Values& values, Var last) {
  for (const Equation& equation : graph.equations()) {
    if (equation.first_output > last) return;
    if (values[equation.first_output]) continue;
    const LocationScope scope(location_of(equation));
    Values operands;
    for (Var var : graph.operands(equation)) operands.push_back(values[var]);
    const Values results = builder.bind(*equation.primitive, operands, graph.attrs_ptr(equation));
    std::copy(results.begin(), results.end(), values.begin() + equation.first_output);
  }
}

GraphPtr rewrite(const Graph& graph, const Visit& visit) {
  Builder builder;
  Values values = inputs_like(builder, graph);
  values.resize(graph.num_vars());
  Values operands;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(location_of(equation));
    operands.clear();
    for (Var var : graph.operands(equation)) operands.push_back(values[var]);
    const Values outputs = visit(builder, equation, operands, graph.attrs_ptr(equation));
    CT_CHECK(outputs.size() == equation.output_count);
    for (uint32_t k = 0; k < outputs.size(); ++k) {
      CT_CHECK(same_type(outputs[k].aval(), graph.aval(equation.first_output + k)));
      values[equation.first_output + k] = outputs[k];
    }
  }
  Values outputs;
  for (Var var : graph.outputs()) outputs.push_back(values[var]);
  return builder.finish(outputs);
}

}  // namespace ct
