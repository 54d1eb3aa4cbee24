// call: a function by name, applied. What jit leaves in an enclosing program: transforms derive the called graph once
// for each way in which it is used, and the compiler inlines it. One with a "rule" is a custom_vmap function.
#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/ops.h"
#include "transforms/higher_order/custom_vmap.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"
#include "transforms/higher_order/subgraphs.h"
#include "transforms/split.h"

namespace ct {
namespace {

Avals call_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  attrs.text("name");
  if (attrs.has("rule")) maker_of(attrs.opaque("rule"));
  check_graph_inputs(*attrs.graph("graph"), operands, "the called function");
  return attrs.graph("graph")->output_avals();
}

JvpResult call_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attrs) {
  const JvpGraph derivative = jvp_of(attrs->graph("graph"), present(tangents));
  Values operands(primals.begin(), primals.end());
  append(operands, only_present(tangents));
  AttrsPtr called = attrs->with("graph", derivative.graph);
  if (attrs->has("rule")) {
    called = called->with("rule", derived_rule(attrs->opaque("rule"), present(tangents), derivative.nonzero_out));
  }
  return unpack_jvp(builder.bind(kCall, operands, called), derivative.nonzero_out);
}

std::vector<SplitValue> call_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                   const AttrsPtr& attrs) {
  const SplitGraph sheets = split_of(attrs->graph("graph"), unknown_mask(operands));
  const std::string& name = attrs->text("name");
  Values known, unknown;
  for (const SplitValue& operand : operands) (operand.is_known() ? known : unknown).push_back(on_its_sheet(operand));
  const Values results = call(context.known(), sheets.known, name, known);
  const size_t num_known = count(sheets.out_known);
  Values unknown_operands;
  for (uint32_t r = 0; r < sheets.num_residuals; ++r) {
    const int input = sheets.residual_input[r];
    unknown_operands.push_back(context.residual(input >= 0 ? known[input] : results[num_known + r]));
  }
  append(unknown_operands, unknown);
  return merge_sheets(sheets.out_known, results, call(context.unknown(), sheets.unknown, name, unknown_operands));
}

Values call_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const BackwardGraph backward = backward_of(attrs->graph("graph"), linear_operands(input), present(input.cotangents));
  Values operands = only_present(input.operands);
  append(operands, only_present(input.cotangents));
  return spread(call(builder, backward.graph, attrs->text("name"), operands), backward.nonzero);
}

std::vector<Batched> call_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                const AttrsPtr& attrs) {
  if (attrs->has("rule")) return batch_by_rule(builder, attrs->opaque("rule"), operands, axis);
  const GraphPtr& graph = attrs->graph("graph");
  const BatchGraph batched =
      batch_of(graph, axes_of(operands), axis, std::vector<int>(graph->outputs().size(), kAnyAxis));
  const Values results = call(builder, batched.graph, attrs->text("name"), values_of(operands));
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], batched.out_axes[k]});
  return outputs;
}

// A rule wants all operands, and makes all results.
Pruned call_prune(const Flags& used, const AttrsPtr& attrs) {
  if (!attrs->has("rule")) return prune_called(used, attrs);
  return {Flags(attrs->graph("graph")->num_inputs(), true), Flags(used.size(), true), attrs};
}

Primitive call_primitive() {
  Primitive result = applied("call");
  result.attributes = {
      {"graph", AttributeKind::kGraph}, {"name", AttributeKind::kText}, {"rule", AttributeKind::kOpaque, kOptional}};
  result.several_results = true;
  result.type = call_type;
  result.jvp = call_jvp;
  result.split = call_split;
  result.transpose = call_transpose;
  result.batch = call_batch;
  result.prune = call_prune;
  result.region = Region::kCall;
  return result;
}
}  // namespace

const Primitive& kCall = define(call_primitive());

Values call(Builder& builder, GraphPtr graph, std::string name, absl::Span<const Value> operands) {
  return builder.bind(kCall, operands, Attrs::make({{"graph", std::move(graph)}, {"name", std::move(name)}}));
}

}  // namespace ct
