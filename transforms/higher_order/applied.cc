#include "transforms/higher_order/applied.h"

#include "runtime/error.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

std::vector<GraphPtr> graphs_of(const Attrs& attrs) {
  return attrs.has("graph") ? std::vector<GraphPtr>{attrs.graph("graph")} : attrs.graphs("branches");
}

void add_origins(std::vector<int>& origins, const Flags& marked) {
  for (size_t i = 0; i < marked.size(); ++i) {
    if (marked[i]) origins.push_back(static_cast<int>(i));
  }
}

Flags all_of(size_t size) { return Flags(size, true); }

}  // namespace

JvpResult AppliedRules::jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                            const AttrsPtr& attrs) const {
  const std::vector<GraphPtr> graphs = graphs_of(*attrs);
  const Flags moving = present(tangents.subspan(leading_));
  Flags nonzero(graphs[0]->outputs().size(), false);
  for (const GraphPtr& graph : graphs) unite(nonzero, jvp_of(graph, moving).nonzero_out);
  Derived derived{Derived::kTangents, {}, {}};
  const Flags force = graphs.size() > 1 ? nonzero : Flags();
  for (const GraphPtr& graph : graphs) derived.graphs.push_back(jvp_of(graph, moving, force).graph);
  Values operands(primals.begin(), primals.end());
  append(operands, only_present(tangents));
  add_origins(derived.origins, all_of(primals.size()));
  add_origins(derived.origins, present(tangents));
  return unpack_jvp(bind(builder, operands, attrs, derived), nonzero);
}

std::vector<SplitValue> AppliedRules::split(SplitContext& context, absl::Span<const SplitValue> operands,
                                            const AttrsPtr& attrs, const SplitGraph& sheets) const {
  Derived known{Derived::kKnown, {sheets.known}, {}}, unknown{Derived::kUnknown, {sheets.unknown}, {}};
  const Flags is_unknown = unknown_mask(operands);
  add_origins(known.origins, negated(is_unknown));
  const Values known_operands = known_values(marked(operands, negated(is_unknown)));
  const Values results = bind(context.known(), known_operands, attrs, known);
  const size_t num_known = count(sheets.out_known);
  Values unknown_operands;
  for (size_t r = 0; r < sheets.num_residuals; ++r) {
    const int input = sheets.residual_input[r];
    const auto operand = static_cast<size_t>(input);
    unknown_operands.push_back(context.residual(input >= 0 ? known_operands[operand] : results[num_known + r]));
    unknown.origins.push_back(input >= 0 ? known.origins[operand] : Derived::kNew);
  }
  add_origins(unknown.origins, is_unknown);
  for (const SplitValue& operand : marked(operands, is_unknown)) unknown_operands.push_back(operand.unknown);
  return merge_sheets(sheets.out_known, results, bind(context.unknown(), unknown_operands, attrs, unknown));
}

Values AppliedRules::transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) const {
  const std::vector<GraphPtr> graphs = graphs_of(*attrs);
  const Flags is_linear = linear_operands(input);
  const Flags linear = slice_of(is_linear, leading_, is_linear.size());
  CT_CHECK(count(linear) == count(is_linear));
  const Flags cotangents = present(input.cotangents);
  Flags nonzero(linear.size(), false);
  for (const GraphPtr& graph : graphs) unite(nonzero, backward_of(graph, linear, cotangents).nonzero);
  Derived derived{Derived::kBackward, {}, {}};
  const Flags force = graphs.size() > 1 ? nonzero : Flags();
  for (const GraphPtr& graph : graphs) {
    derived.graphs.push_back(backward_of(graph, linear, cotangents, force).graph);
  }
  Values operands = only_present(input.operands);
  append(operands, only_present(input.cotangents));
  add_origins(derived.origins, negated(is_linear));
  derived.origins.resize(operands.size(), Derived::kNew);
  return spread(bind(builder, operands, attrs, derived), joined({Flags(leading_, false), nonzero}));
}

std::vector<Batched> AppliedRules::batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                         const AttrsPtr& attrs) const {
  const std::vector<GraphPtr> graphs = graphs_of(*attrs);
  const std::vector<int> in = axes_of(operands.subspan(leading_));
  const std::vector<int> any(graphs[0]->outputs().size(), kAnyAxis);
  std::vector<int> out = any;
  if (graphs.size() > 1) {
    for (const GraphPtr& graph : graphs) {
      const std::vector<int> found = batch_of(graph, in, axis, any).out_axes;
      for (size_t k = 0; k < out.size(); ++k) {
        if (found[k] >= 0) out[k] = 0;
      }
    }
  }
  Derived derived{Derived::kBatch, {}, {}};
  std::vector<int> axes;
  for (const GraphPtr& graph : graphs) {
    BatchGraph batched = batch_of(graph, in, axis, out);
    derived.graphs.push_back(std::move(batched.graph));
    axes = std::move(batched.out_axes);
  }
  add_origins(derived.origins, all_of(operands.size()));
  const Values results = bind(builder, values_of(operands), attrs, derived);
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], axes[k]});
  return outputs;
}

Pruned AppliedRules::prune(const Flags& used, const AttrsPtr& attrs) const {
  const std::vector<GraphPtr> graphs = graphs_of(*attrs);
  Flags inputs(graphs[0]->num_inputs(), false);
  for (const GraphPtr& graph : graphs) unite(inputs, pruned_of(graph, used).inputs);
  Derived derived{Derived::kPruned, {}, {}};
  for (const GraphPtr& graph : graphs) derived.graphs.push_back(with_inputs(pruned_of(graph, used).graph, inputs));
  const Flags operands = joined({all_of(leading_), inputs});
  add_origins(derived.origins, operands);
  return {operands, used, derive_(attrs, derived)};
}

void AppliedRules::fill(Primitive& record) const {
  record.jvp = [rules = *this](auto&&... given) { return rules.jvp(given...); };
  record.split = [rules = *this](SplitContext& context, absl::Span<const SplitValue> operands, const AttrsPtr& attrs) {
    return rules.split(context, operands, attrs, split_of(attrs->graph("graph"), unknown_mask(operands)));
  };
  record.transpose = [rules = *this](auto&&... given) { return rules.transpose(given...); };
  record.batch = [rules = *this](auto&&... given) { return rules.batch(given...); };
  record.prune = [rules = *this](auto&&... given) { return rules.prune(given...); };
}

}  // namespace ct
