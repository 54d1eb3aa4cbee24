// custom_vjp: a function with a reverse derivative of the user's own. It is a custom_jvp whose rule runs the forward
// graph and leaves `custom_vjp_linear`, a linear function known only by its transpose: the backward graph. Reverse mode
// transposes it away; evaluating one, or differentiating it by its residuals, is forward mode through a custom_vjp
// function, which does not exist.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/custom_rule.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

Avals inexact(absl::Span<const Aval> avals) { return marked(avals, inexact_flags(avals)); }

// The types of the rules of a function: whoever captured them has told the user what is wrong.
void check_rules(const Graph& graph, const Graph& forward, const Graph& backward) {
  const Avals operands(graph.input_avals().begin(), graph.input_avals().end());
  check_graph_inputs(forward, operands, "the forward rule");
  const Avals outputs = graph.output_avals();
  const Avals found = forward.output_avals();
  CT_CHECK(found.size() >= outputs.size());
  CT_CHECK(std::ranges::equal(outputs, absl::MakeConstSpan(found).first(outputs.size()), same_type));
  Avals incoming(found.begin() + static_cast<ptrdiff_t>(outputs.size()), found.end());
  for (const Aval& aval : inexact(outputs)) incoming.push_back(aval);
  check_graph_inputs(backward, incoming, "the backward rule");
  CT_CHECK(std::ranges::equal(inexact(operands), backward.output_avals(), same_type));
}

Values linear_call(Builder& builder, GraphPtr backward, int64_t num_residuals, absl::Span<const Value> operands) {
  return builder.bind(kCustomVjpLinear, operands,
                      Attrs::make({{"backward", std::move(backward)}, {"num_residuals", num_residuals}}));
}

// The backward graph of a batch. Cotangents arrive with the batch at axis 0; those of operands that all examples share
// are summed over it: over as many examples as there are cotangents of.
GraphPtr batch_backward(const GraphPtr& backward, const std::vector<int>& residual_axes,
                        const std::vector<int>& operand_axes, const BatchAxis& axis) {
  std::vector<int> in = residual_axes;
  in.resize(backward->num_inputs(), 0);
  std::vector<int> out;
  for (int axis : operand_axes) out.push_back(axis < 0 ? 0 : axis);
  const BatchGraph batched = batch_of(backward, in, axis, out);
  Builder builder;
  const Values inputs = inputs_like(builder, *batched.graph);
  Values results = builder.inline_graph(*batched.graph, inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (operand_axes[i] < 0) results[i] = reduce_sum(with_lengths_of(results[i], inputs.back(), {0}), {0});
  }
  return builder.finish(results);
}

// ---- custom_vjp_linear ---------------------------------------------------------------------------------------------

[[noreturn]] void no_forward_mode() {
  throw Error(ErrorKind::kNotDifferentiable, "forward-mode differentiation through a custom_vjp function")
      .op("custom_vjp")
      .hint("a custom_vjp rule serves reverse mode only (grad, vjp, jacrev): use custom_jvp, which serves both")
      .see("forward-mode-of-custom-vjp");
}

// The backward graph's signature, read the other way round.
Avals custom_vjp_linear_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Graph& backward = *attrs.graph("backward");
  const int64_t num_residuals = attrs.integer("num_residuals");
  const Avals tangents = backward.output_avals();
  if (num_residuals < 0 || num_residuals > static_cast<int64_t>(backward.num_inputs()) ||
      operands.size() != static_cast<size_t>(num_residuals) + tangents.size()) {
    throw Error(ErrorKind::kType, concat("got ", operands.size(), " operands for ", num_residuals, " residuals and ",
                                         tangents.size(), " tangents"))
        .hint("give the residuals, then a tangent for each result of the backward graph");
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto r = static_cast<size_t>(num_residuals);
    const Aval expected = i < r ? backward.aval(static_cast<Var>(i)) : tangents[i - r];
    if (same_type(expected, operands[i])) continue;
    throw Error(ErrorKind::kType,
                concat("operand ", i, " must be ", expected.to_string(), ", got ", operands[i].to_string()))
        .hint("residuals have the types of the backward graph's inputs, tangents those of its results");
  }
  const absl::Span<const Aval> inputs = backward.input_avals();
  return {inputs.begin() + num_residuals, inputs.end()};
}

// Linear in the tangents, so their tangents are fine; the residuals' are not.
JvpResult custom_vjp_linear_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                                const AttrsPtr& attrs) {
  const auto num_residuals = static_cast<size_t>(attrs->integer("num_residuals"));
  Values operands(primals.begin(), primals.begin() + static_cast<ptrdiff_t>(num_residuals));
  for (size_t i = 0; i < primals.size(); ++i) {
    if (i >= num_residuals) {
      operands.push_back(instantiate(builder, tangents[i], primals[i].aval()));
    } else if (tangents[i]) {
      no_forward_mode();
    }
  }
  return {builder.bind(kCustomVjpLinear, primals, attrs), builder.bind(kCustomVjpLinear, operands, attrs)};
}

Values custom_vjp_linear_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const auto num_residuals = static_cast<size_t>(attrs->integer("num_residuals"));
  const GraphPtr& backward = attrs->graph("backward");
  Values operands;
  for (size_t i = 0; i < num_residuals; ++i) {
    if (input.linear(static_cast<int>(i))) no_forward_mode();
    operands.push_back(input.operands[i]);
  }
  for (size_t k = 0; k < input.cotangents.size(); ++k) {
    operands.push_back(instantiate(builder, input.cotangents[k], backward->aval(static_cast<Var>(num_residuals + k))));
  }
  const Values cotangents = builder.inline_graph(*backward, operands);
  Values results(num_residuals);
  for (size_t i = 0; i < cotangents.size(); ++i) {
    results.push_back(input.linear(static_cast<int>(num_residuals + i)) ? cotangents[i] : Value());
  }
  return results;
}

std::vector<Batched> custom_vjp_linear_batch(Builder& builder, absl::Span<const Batched> operands,
                                             const BatchAxis& axis, const AttrsPtr& attrs) {
  const int64_t num_residuals = attrs->integer("num_residuals");
  const std::vector<int> axes = axes_of(operands);
  const GraphPtr backward = batch_backward(attrs->graph("backward"), {axes.begin(), axes.begin() + num_residuals},
                                           {axes.begin() + num_residuals, axes.end()}, axis);
  return batched_in_front(linear_call(builder, backward, num_residuals, values_of(operands)));
}

Primitive custom_vjp_linear_primitive() {
  Primitive result;
  result.name = "custom_vjp_linear";
  result.attributes = {{"backward", AttributeKind::kGraph}, {"num_residuals", AttributeKind::kInteger}};
  result.several_results = true;
  result.type = custom_vjp_linear_type;
  result.jvp = custom_vjp_linear_jvp;
  result.transpose = custom_vjp_linear_transpose;
  result.batch = custom_vjp_linear_batch;
  // Asked for lengths while a region is transposed; jvp has put set_length after it.
  result.mask = [](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    Values values;
    for (const Masked& operand : operands) values.push_back(operand.value);
    std::vector<Masked> outputs;
    for (const Value& result : builder.bind(kCustomVjpLinear, values, attrs)) {
      outputs.push_back(exact(result));
    }
    return outputs;
  };
  result.reference = [](const ReferenceInput&) -> std::vector<Tensor> { no_forward_mode(); };
  result.expand = [](Builder&, absl::Span<const Value>, const AttrsPtr&) -> Values { no_forward_mode(); };
  result.absent["split"] = "linear in what is unknown; a whole on the unknown sheet";
  result.absent["element"] = "exists only to be transposed";
  return result;
}
}  // namespace

const Primitive& kCustomVjpLinear = define(custom_vjp_linear_primitive());

bool is_custom_vjp_rule(const Graph& rule) {
  return any_equation(rule, [](const Equation& equation) { return equation.primitive == &kCustomVjpLinear; });
}

GraphPtr custom_vjp_rule(const GraphPtr& graph, const GraphPtr& forward, const GraphPtr& backward) {
  check_rules(*graph, *forward, *backward);
  Builder builder;
  const Values primals = inputs_like(builder, *graph);
  const Avals outputs = graph->output_avals();
  const Values found = builder.inline_graph(*forward, primals);
  const auto num_outputs = static_cast<ptrdiff_t>(outputs.size());
  Values operands(found.begin() + num_outputs, found.end());
  const auto num_residuals = static_cast<int64_t>(operands.size());
  for (const Aval& aval : inexact(graph->input_avals())) operands.push_back(builder.input(aval));
  Values results(found.begin(), found.begin() + num_outputs);
  const Flags moving = inexact_flags(outputs);
  const Values tangents = spread(linear_call(builder, backward, num_residuals, operands), moving);
  // Its mask rule cannot know the lengths of what it returns.
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (moving[k]) results.push_back(with_lengths_of(tangents[k], found[k]));
  }
  return builder.finish(results);
}

Values custom_vjp_call(Builder& builder, const CustomVjpAttrs& attrs, absl::Span<const Value> operands) {
  const GraphPtr rule = custom_vjp_rule(attrs.graph, attrs.forward, attrs.backward);
  return custom_jvp_call(builder, {attrs.graph, rule, attrs.closed}, operands);
}

}  // namespace ct
