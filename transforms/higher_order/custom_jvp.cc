// custom_jvp: a function with a forward derivative of the user's own. The rule is a second sub-graph, "jvp", or makes
// one when a derivative asks for it ("rule", custom_rule.h); it is used in place of the derivative of the first. Both
// are batched alike, so the rule survives vmap. An equation without either is an error to differentiate.
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

// Those, then those of the tangents.
Avals with_tangents(absl::Span<const Aval> avals) {
  Avals result(avals.begin(), avals.end());
  for (const Aval& aval : marked(avals, inexact_flags(avals))) result.push_back(aval);
  return result;
}

void check_rule(const Graph& graph, const Graph& rule, absl::Span<const Aval> operands) {
  check_graph_inputs(rule, with_tangents(operands), "the jvp rule");
  const Avals expected = with_tangents(graph.output_avals());
  const Avals found = rule.output_avals();
  if (found.size() != expected.size()) {
    throw Error(ErrorKind::kType, concat("the jvp rule returns ", found.size(), " values, expected ", expected.size(),
                                         ": the outputs, then the tangents of those with float or complex dtype"))
        .hint("the rule takes operands and their tangents, and returns outputs and theirs: (c, d)");
  }
  const size_t num_outputs = graph.outputs().size();
  for (size_t k = 0; k < found.size(); ++k) {
    if (same_type(found[k], expected[k])) continue;
    throw Error(ErrorKind::kType, concat("the jvp rule returns ", found[k].to_string(), " for ",
                                         k < num_outputs ? concat("output ", k) : concat("tangent ", k - num_outputs),
                                         ", expected ", expected[k].to_string()))
        .hint("the rule returns what the function returns, and tangents of the same shapes and dtypes");
  }
}

Avals custom_jvp_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Graph& graph = *attrs.graph("graph");
  check_graph_inputs(graph, operands, "the function");
  if (attrs.has("rule")) rule_maker_of(attrs.opaque("rule"));
  const int64_t closed = attrs.has("closed") ? attrs.integer("closed") : 0;
  if (closed < 0 || closed > static_cast<int64_t>(operands.size())) {
    throw Error(ErrorKind::kType, concat("got ", operands.size(), " operands, ", closed, " of them closed over"))
        .hint("closed counts the last operands, those that the function closes over");
  }
  if (attrs.has("jvp")) check_rule(graph, *attrs.graph("jvp"), operands);
  return graph.output_avals();
}

// What the user has called the function.
std::string kind_of(const Graph& rule) { return is_custom_vjp_rule(rule) ? "custom_vjp" : "custom_jvp"; }

bool uses_input(const Graph& graph, size_t input) {
  const auto var = static_cast<Var>(input);
  const auto is = [var](Var other) { return other == var; };
  for (const Equation& equation : graph.equations()) {
    const auto operands = graph.operands(equation);
    if (equation.primitive != &kCustomJvp) {
      if (std::any_of(operands.begin(), operands.end(), is)) return true;
      continue;
    }
    // Its operands are all that its rule might close over.
    const Attrs& attrs = graph.attrs(equation);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != var) continue;
      if (uses_input(*attrs.graph("graph"), i) || (attrs.has("jvp") && uses_input(*attrs.graph("jvp"), i))) return true;
    }
  }
  return std::any_of(graph.outputs().begin(), graph.outputs().end(), is);
}

GraphPtr rule_for(absl::Span<const Value> primals, absl::Span<const Value> tangents, const AttrsPtr& attrs) {
  if (attrs->has("jvp")) return attrs->graph("jvp");
  if (!attrs->has("rule")) {
    throw Error(ErrorKind::kNotDifferentiable,
                "the derivative of a function with a rule of its own, whose rule is not in this program")
        .op("custom_jvp")
        .hint(
            "saved programs hold the rules that could be captured, those that call their own function to depth 4; "
            "differentiate first, and save the result");
  }
  Flags moving;
  for (size_t i = 0; i < primals.size(); ++i) moving.push_back(tangents[i] && is_inexact(primals[i].dtype()));
  GraphPtr rule = rule_maker_of(attrs->opaque("rule")).make(moving);
  check_rule(*attrs->graph("graph"), *rule, avals_of(primals));
  return rule;
}

JvpResult custom_jvp_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                         const AttrsPtr& attrs) {
  const GraphPtr rule = rule_for(primals, tangents, attrs);
  const size_t closed = attrs->has("closed") ? static_cast<size_t>(attrs->integer("closed")) : 0;
  for (size_t i = primals.size() - closed; i < primals.size(); ++i) {
    if (!tangents[i] || !is_inexact(primals[i].dtype())) continue;
    // What a rule might have closed over is an operand, too.
    if (!uses_input(*attrs->graph("graph"), i) && !uses_input(*rule, i)) continue;
    throw Error(
        ErrorKind::kNotDifferentiable,
        "the function closes over a value that is differentiated, but its rule gives derivatives of arguments only")
        .op(kind_of(*rule))
        .hint("pass the value as an argument, or close over ct.lax.stop_gradient of it");
  }
  Values operands(primals.begin(), primals.end());
  for (size_t i = 0; i < primals.size(); ++i) {
    const Aval aval = primals[i].aval();
    if (!is_inexact(aval.dtype())) continue;
    // A rule may ask for the size of a tangent, also of one that is zero.
    operands.push_back(tangents[i] ? tangents[i] : with_lengths_of(zeros(builder, aval), primals[i]));
  }
  const Values results = builder.inline_graph(*rule, operands);
  return unpack_jvp(results, inexact_flags(attrs->graph("graph")->output_avals()));
}

std::vector<Batched> custom_jvp_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                      const AttrsPtr& attrs) {
  const GraphPtr& graph = attrs->graph("graph");
  std::vector<int> axes = axes_of(operands);
  const GraphPtr batched = batch_of(graph, axes, axis, std::vector<int>(graph->outputs().size(), 0)).graph;
  AttrsPtr batched_attrs = attrs->with("graph", batched);
  for (int of_tangent : marked(axes, inexact_flags(graph->input_avals()))) axes.push_back(of_tangent);
  if (attrs->has("jvp")) {
    const GraphPtr& rule = attrs->graph("jvp");
    batched_attrs =
        batched_attrs->with("jvp", batch_of(rule, axes, axis, std::vector<int>(rule->outputs().size(), 0)).graph);
  }
  if (attrs->has("rule")) batched_attrs = batched_attrs->with("rule", batched_rule(attrs->opaque("rule"), axes, axis));
  return batched_in_front(builder.bind(kCustomJvp, values_of(operands), batched_attrs));
}

Primitive custom_jvp_primitive() {
  Primitive result = applied("custom_jvp");
  result.attributes = {{"closed", AttributeKind::kInteger, kOptional},
                       {"graph", AttributeKind::kGraph},
                       {"jvp", AttributeKind::kGraph, kOptional},
                       {"rule", AttributeKind::kOpaque, kOptional}};
  result.several_results = true;
  result.type = custom_jvp_type;
  result.jvp = custom_jvp_jvp;
  result.batch = custom_jvp_batch;
  result.absent["transpose"] = "jvp replaces it by its rule before anything is transposed";
  result.absent["split"] = "known or unknown as a whole; jvp replaces it by its rule";
  return result;
}
}  // namespace

const Primitive& kCustomJvp = define(custom_jvp_primitive());

Values custom_jvp_call(Builder& builder, const CustomJvpAttrs& attrs, absl::Span<const Value> operands) {
  std::vector<Attrs::Item> items{{"graph", attrs.graph}, {"jvp", attrs.jvp}};
  if (attrs.closed > 0) items.emplace_back("closed", attrs.closed);
  return builder.bind(kCustomJvp, operands, Attrs::make(std::move(items)));
}

}  // namespace ct
