// checkpoint: a function whose intermediate results are not kept for reverse mode, but computed again when it runs
// backward. Operands and results are those of its graph.
//
// Forward mode goes inside. The known part of a differentiated function hands on its operands, and of what it computes
// only what the policy lets it save; the unknown part makes the rest again, in an equation that `recomputes`. When such
// an equation expands, its operands are tagged, so that nothing in it is found to equal what the forward pass has
// computed (unless the program asks for that with prevent_cse=False).
#include "transforms/higher_order/checkpoint.h"

#include <algorithm>
#include <limits>

#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/primitives.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool clause_saves(std::string_view clause, const Primitive& primitive, const Attrs& attrs) {
  const size_t colon = std::min(clause.find(':'), clause.size());
  const std::string_view kind = clause.substr(0, colon);
  const std::string_view names = clause.substr(std::min(colon + 1, clause.size()));
  const bool tagged = &primitive == &kTag && !attrs.text("name").empty();
  const auto among_names = [&](std::string_view name) {
    const std::vector<std::string_view> all = parts_of(names, ',');
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  const auto named = [&] { return among_names(attrs.text("name")); };
  if (kind == "everything") return true;
  if (kind == "dots") return primitive.lowering == Lowering::kDot;
  if (kind == "dots_without_batch") return primitive.lowering == Lowering::kDot && attrs.ints("lhs_batch").empty();
  if (kind == "primitives") return among_names(primitive.name);
  if (kind == "names") return tagged && named();
  if (kind == "other_names") return tagged && !named();
  if (kind == "all_but_names") return !tagged || !named();
  throw Error(ErrorKind::kValue, concat("there is no checkpoint policy '", kind, "'"))
      .hint("policies are made by ct.checkpoint_policies");
}

// What acts on the world does so once.
bool saves(const std::string& policy, const Builder& builder, const Equation& equation) {
  const Attrs& attrs = builder.attrs(equation);
  if (has_side_effects(*equation.primitive, attrs)) return true;
  for (std::string_view clause : parts_of(policy, '|')) {
    if (clause_saves(clause, *equation.primitive, attrs)) return true;
  }
  return false;
}

Values checkpointed(Builder& builder, GraphPtr graph, const Attrs& attrs, bool recomputes,
                    absl::Span<const Value> operands) {
  return builder.bind(kCheckpoint, operands, attrs.with("graph", std::move(graph))->with("recomputes", recomputes));
}

Avals checkpoint_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  for (std::string_view clause : parts_of(attrs.text("policy"), '|')) {
    clause_saves(clause, kCheckpoint, attrs);
  }
  attrs.flag("prevent_cse");
  attrs.flag("recomputes");
  check_graph_inputs(*attrs.graph("graph"), operands, "the checkpointed function");
  return attrs.graph("graph")->output_avals();
}

JvpResult checkpoint_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                         const AttrsPtr& attrs) {
  const JvpGraph derivative = jvp_of(attrs->graph("graph"), present(tangents));
  Values operands(primals.begin(), primals.end());
  append(operands, only_present(tangents));
  return unpack_jvp(checkpointed(builder, derivative.graph, *attrs, attrs->flag("recomputes"), operands),
                    derivative.nonzero_out);
}

std::vector<SplitValue> checkpoint_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                         const AttrsPtr& attrs) {
  const SplitGraph sheets = split_by_policy(attrs->graph("graph"), unknown_mask(operands), attrs->text("policy"));
  Values known, unknown;
  for (const SplitValue& operand : operands) (operand.is_known() ? known : unknown).push_back(on_its_sheet(operand));
  const Values results = checkpointed(context.known(), sheets.known, *attrs, attrs->flag("recomputes"), known);
  const size_t num_known = count(sheets.out_known);
  Values unknown_operands;
  for (uint32_t r = 0; r < sheets.num_residuals; ++r) {
    const int input = sheets.residual_input[r];
    unknown_operands.push_back(
        context.residual(input >= 0 ? known[static_cast<size_t>(input)] : results[num_known + r]));
  }
  append(unknown_operands, unknown);
  return merge_sheets(sheets.out_known, results,
                      checkpointed(context.unknown(), sheets.unknown, *attrs, true, unknown_operands));
}

Values checkpoint_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const BackwardGraph backward = backward_of(attrs->graph("graph"), linear_operands(input), present(input.cotangents));
  Values operands = only_present(input.operands);
  append(operands, only_present(input.cotangents));
  return spread(checkpointed(builder, backward.graph, *attrs, true, operands), backward.nonzero);
}

std::vector<Batched> checkpoint_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                      const AttrsPtr& attrs) {
  const GraphPtr& graph = attrs->graph("graph");
  const BatchGraph batched =
      batch_of(graph, axes_of(operands), axis, std::vector<int>(graph->outputs().size(), kAnyAxis));
  const Values results = checkpointed(builder, batched.graph, *attrs, attrs->flag("recomputes"), values_of(operands));
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], batched.out_axes[k]});
  return outputs;
}

// Integers are not tagged: lengths of ragged axes must stay the same values.
Values checkpoint_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  static const AttrsPtr* const kNameless = new AttrsPtr(Attrs::make({{"name", std::string()}}));
  Values inputs(operands.begin(), operands.end());
  if (attrs->flag("recomputes") && attrs->flag("prevent_cse")) {
    for (Value& input : inputs) {
      if (is_inexact(input.dtype())) input = builder.bind1(kTag, {input}, *kNameless);
    }
  }
  return builder.inline_graph(*attrs->graph("graph"), inputs);
}

Primitive checkpoint_primitive() {
  Primitive result = expanding("checkpoint", checkpoint_expand);
  result.attributes = {{"graph", AttributeKind::kGraph},
                       {"policy", AttributeKind::kText},
                       {"prevent_cse", AttributeKind::kFlag},
                       {"recomputes", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = checkpoint_type;
  result.jvp = checkpoint_jvp;
  result.split = checkpoint_split;
  result.transpose = checkpoint_transpose;
  result.batch = checkpoint_batch;
  result.prune = prune_called;
  result.region = Region::kApplied;
  return result;
}
}  // namespace

const Primitive& kCheckpoint = define(checkpoint_primitive());

Remake remake_by_policy(std::string policy) {
  return {[policy = std::move(policy)](const Builder& builder, const Equation& equation) {
            return !saves(policy, builder, equation);
          },
          std::numeric_limits<int>::max()};
}

}  // namespace ct
