// Forward derivatives: every equation is replaced by its primitive's jvp rule, which emits the value and its tangent.
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

// Rules may be a user's: what they return is checked before anything is built on it.
void check_tangents(const Primitive& primitive, JvpResult& result) {
  if (result.outputs.size() != result.tangents.size()) {
    throw Error(ErrorKind::kType, concat("the jvp rule returned ", result.outputs.size(), " outputs and ",
                                         result.tangents.size(), " tangents"))
        .op(primitive.name)
        .hint("return one tangent for each output");
  }
  for (size_t k = 0; k < result.outputs.size(); ++k) {
    Value& tangent = result.tangents[k];
    if (!tangent) continue;
    const Aval& aval = result.outputs[k].aval();
    if (!is_inexact(aval.dtype())) {
      tangent = {};
    } else if (!same_type(tangent.aval(), aval)) {
      throw Error(ErrorKind::kType, concat("the jvp rule returned a tangent of type ", tangent.aval().to_string(),
                                           " for an output of type ", aval.to_string()))
          .op(primitive.name)
          .hint("a tangent has the shape and dtype of its output");
    }
  }
}

JvpResult apply_rule(Builder& builder, const Primitive& primitive, absl::Span<const Value> primals,
                     absl::Span<const Value> tangents, const AttrsPtr& attrs) {
  if (primitive.jvp) return primitive.jvp(builder, primals, tangents, attrs);
  if (!primitive.differentiable) {
    Values outputs = builder.bind(primitive, primals, attrs);
    Values zeros(outputs.size());
    return {std::move(outputs), std::move(zeros)};
  }
  // What is declared to have none has none, whatever it expands to.
  if (primitive.expand && !primitive.absent.contains("jvp")) {
    return jvp_inline(builder, *expansion(primitive, avals_of(primals), attrs), primals, tangents);
  }
  throw missing_rule(primitive, "jvp", ErrorKind::kNotDifferentiable);
}

}  // namespace

JvpResult jvp_inline(Builder& builder, const Graph& graph, absl::Span<const Value> primals,
                     absl::Span<const Value> tangents) {
  CT_CHECK(primals.size() == graph.num_inputs() && tangents.size() == graph.num_inputs());
  Values values(graph.num_vars());
  Values derivatives(graph.num_vars());
  std::copy(primals.begin(), primals.end(), values.begin());
  std::copy(tangents.begin(), tangents.end(), derivatives.begin());

  Values operands;
  Values operand_tangents;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(location_of(equation));
    operands.clear();
    operand_tangents.clear();
    bool moving = false;
    for (Var var : graph.operands(equation)) {
      operands.push_back(values[var]);
      operand_tangents.push_back(derivatives[var]);
      moving |= static_cast<bool>(derivatives[var]);
    }
    if (!moving) {
      const Values outputs = builder.bind(*equation.primitive, operands, graph.attrs_ptr(equation));
      std::copy(outputs.begin(), outputs.end(), values.begin() + equation.first_output);
      continue;
    }
    try {
      JvpResult result =
          apply_rule(builder, *equation.primitive, operands, operand_tangents, graph.attrs_ptr(equation));
      CT_CHECK(result.outputs.size() == equation.output_count);
      check_tangents(*equation.primitive, result);
      std::copy(result.outputs.begin(), result.outputs.end(), values.begin() + equation.first_output);
      std::copy(result.tangents.begin(), result.tangents.end(), derivatives.begin() + equation.first_output);
    } catch (Error& error) {
      error.op(equation.primitive->name).at(location_of(equation));
      throw;
    }
  }

  JvpResult result;
  for (Var var : graph.outputs()) {
    result.outputs.push_back(values[var]);
    result.tangents.push_back(derivatives[var]);
  }
  return result;
}

JvpGraph jvp(const Graph& graph, const std::vector<bool>& nonzero_in, const std::vector<bool>& force_out) {
  CT_CHECK(nonzero_in.size() == graph.num_inputs());
  check_differentiable_inputs(graph, nonzero_in, "jvp");
  Builder builder;
  const Values primals = inputs_like(builder, graph);
  Values tangents(primals.size());
  for (size_t i = 0; i < primals.size(); ++i) {
    if (nonzero_in[i]) tangents[i] = builder.input(primals[i].aval());
  }
  const JvpResult result = jvp_inline(builder, graph, primals, tangents);

  JvpGraph out;
  Values outputs = result.outputs;
  for (size_t k = 0; k < result.outputs.size(); ++k) {
    const Aval aval = result.outputs[k].aval();
    const bool forced = !force_out.empty() && force_out[k] && is_inexact(aval.dtype());
    const bool present = forced || static_cast<bool>(result.tangents[k]);
    out.nonzero_out.push_back(present);
    if (present) outputs.push_back(instantiate(builder, result.tangents[k], aval));
  }
  out.graph = builder.finish(outputs);
  return out;
}

}  // namespace ct
