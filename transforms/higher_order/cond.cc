// cond: one of several sub-graphs, chosen by an int32 scalar that is clamped to those there are. Operands: the index,
// then what every branch takes; results: what every branch returns.
//
// Rules treat the branches alike: whatever one needs (a tangent of an output, an unknown output, a batched one) all
// get, with zeros or copies where a branch has nothing to say.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/length_form.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/applied.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/inactive_rows.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

using Branches = std::vector<GraphPtr>;

Avals cond_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Branches& branches = attrs.graphs("branches");
  if (branches.empty())
    throw Error(ErrorKind::kValue, "there must be at least one branch").hint("write branches=<graph ..., graph ...>");
  if (operands.empty() || !same_type(operands[0], Aval(DType::kInt32, {}))) {
    throw Error(ErrorKind::kType, concat("the index must be an int32 scalar, got ",
                                         operands.empty() ? "nothing" : operands[0].to_string()))
        .hint("convert the predicate or index with .astype('int32')");
  }
  Avals outputs = branches[0]->output_avals();
  for (size_t b = 0; b < branches.size(); ++b) {
    const std::string whose = concat("branch ", b);
    check_graph_inputs(*branches[b], operands.subspan(1), whose);
    const Avals found = branches[b]->output_avals();
    check_same_outputs(outputs, found, whose);
    for (size_t k = 0; k < found.size(); ++k) {
      if (!found[k].weak()) outputs[k] = outputs[k].strong();
    }
  }
  return outputs;
}

AttrsPtr cond_derived(const AttrsPtr& attrs, const Derived& derived) { return attrs->with("branches", derived.graphs); }

// The residuals of all branches in shared places: a place is an operand of the branches handed on unchanged, a size
// that does not depend on which branch is taken, or a result of the known branches, zeros in those that have no
// residual there.
struct Places {
  std::vector<int> operand;  // by place: the known operand it is, kResult, or kSize minus an index of `sizes`
  std::vector<Aval> avals;   // by place
  std::vector<std::vector<size_t>> of;  // by branch and residual: its place
  Values sizes;                         // on the known sheet
};
constexpr int kResult = -1;
constexpr int kSize = -2;

// Which outputs are integers made of sizes and of other integers, by the arithmetic that lengths are made with.
Flags lengths_of_sizes(const Graph& graph) {
  const auto is_scalar = [&](Var var) { return is_length_type(graph.aval(var)); };
  Flags found(graph.num_vars(), false);
  for (Var var = 0; var < graph.num_inputs(); ++var) found[var] = is_scalar(var);
  for (const Equation& equation : graph.equations()) {
    const absl::Span<const Var> operands = graph.operands(equation);
    const auto of_lengths = [&] { return std::ranges::all_of(operands, [&](Var var) -> bool { return found[var]; }); };
    const bool made =
        equation.primitive->length_role == LengthRole::kSize || (computes_lengths(*equation.primitive) && of_lengths());
    if (made) found[equation.first_output] = is_scalar(equation.first_output);
  }
  Flags result;
  for (Var var : graph.outputs()) result.push_back(found[var]);
  return result;
}

// The residuals of one branch that are made of sizes alone, computed outside of it: a length that only the branch knew
// could not be compared with others. Null for the others.
Values size_residuals(Builder& known, const SplitGraph& sheet, absl::Span<const Value> operands) {
  const Flags varies = depends_on(*sheet.known, Flags(operands.size(), true), Sizes::kKnown);
  const Flags lengths = lengths_of_sizes(*sheet.known);
  std::vector<size_t> chosen;
  Flags places;
  for (size_t k = varies.size() - sheet.num_residuals; k < varies.size(); ++k) {
    const bool scalar = same_type(sheet.known->aval(sheet.known->outputs()[k]), Aval(DType::kInt32, {}));
    places.push_back(lengths[k] || (!varies[k] && scalar));
    if (places.back()) chosen.push_back(k);
  }
  if (chosen.empty()) return Values(sheet.num_residuals);
  // Its effects happen in the branch.
  const GraphPtr graph = rewire(*sheet.known, range(0, operands.size()), chosen, Builder::Keep::kOutputs);
  return spread(known.inline_graph(*graph, operands), places);
}

Places share_residuals(Builder& known, const std::vector<SplitGraph>& sheets, absl::Span<const Value> operands) {
  Places places;
  for (const SplitGraph& sheet : sheets) {
    std::vector<size_t> of;
    Flags taken(places.avals.size(), false);
    const size_t num_known = sheet.known->outputs().size() - sheet.num_residuals;
    const Values sizes = size_residuals(known, sheet, operands);
    for (size_t r = 0; r < sheet.num_residuals; ++r) {
      int operand = sheet.residual_input[r] >= 0 ? sheet.residual_input[r] : kResult;
      if (operand == kResult && sizes[r]) {
        operand = kSize - static_cast<int>(places.sizes.size());
        places.sizes.push_back(sizes[r]);
      }
      const Aval aval = sheet.known->aval(sheet.known->outputs()[num_known + r]);
      size_t place = 0;
      while (place < taken.size() &&
             (taken[place] || places.operand[place] != operand || !same_type(places.avals[place], aval))) {
        ++place;
      }
      if (place == taken.size()) {
        taken.push_back(false);
        places.operand.push_back(operand);
        places.avals.push_back(aval);
      }
      taken[place] = true;
      of.push_back(place);
    }
    places.of.push_back(std::move(of));
  }
  return places;
}

std::vector<SplitValue> cond_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                   const AttrsPtr& attrs) {
  if (!operands[0].is_known()) return split_whole(context, kCond, operands, attrs);
  const Branches& branches = attrs->graphs("branches");
  const Flags in = unknown_mask(operands.subspan(1));
  Flags unknown(branches[0]->outputs().size(), false);
  for (const GraphPtr& branch : branches) {
    unite(unknown, negated(split_of(branch, in).out_known));
  }
  Values known_operands{operands[0].known};
  append(known_operands, known_values(marked(operands.subspan(1), negated(in))));
  // What somebody else keeps anyway, a weight of many branches say, is handed on, and not a part of it from each
  // branch: for a batch of examples that take different ones, each of them would have its own.
  Flags kept;
  for (const Value& operand : absl::MakeConstSpan(known_operands).subspan(1)) {
    kept.push_back(context.known().producer(operand.var) == nullptr);
  }
  std::vector<SplitGraph> sheets;
  for (const GraphPtr& branch : branches) sheets.push_back(split_slicing(branch, in, unknown, kept));
  const Flags out_known = negated(unknown);
  const size_t num_known_out = count(out_known);
  const Places places = share_residuals(context.known(), sheets, absl::MakeConstSpan(known_operands).subspan(1));

  Branches known_branches, unknown_branches;
  for (size_t b = 0; b < sheets.size(); ++b) {
    Builder known;
    const Values results = known.inline_graph(*sheets[b].known, inputs_like(known, *sheets[b].known));
    Values outputs(results.begin(), results.begin() + static_cast<ptrdiff_t>(num_known_out));
    Values residuals(places.avals.size());
    for (size_t r = 0; r < sheets[b].num_residuals; ++r) residuals[places.of[b][r]] = results[num_known_out + r];
    for (size_t p = 0; p < residuals.size(); ++p) {
      if (places.operand[p] == kResult) outputs.push_back(instantiate(known, residuals[p], places.avals[p]));
    }
    known_branches.push_back(known.finish(outputs));

    Builder unknown_builder;
    Values inputs(places.avals.size());
    for (size_t p = 0; p < inputs.size(); ++p) inputs[p] = unknown_builder.input(places.avals[p]);
    Values arguments;
    for (size_t place : places.of[b]) arguments.push_back(inputs[place]);
    for (const SplitValue& operand : marked(operands.subspan(1), in)) {
      arguments.push_back(unknown_builder.input(operand.aval()));
    }
    unknown_branches.push_back(unknown_builder.finish(unknown_builder.inline_graph(*sheets[b].unknown, arguments)));
  }

  const Values known_results = cond(context.known(), std::move(known_branches), known_operands);
  Values unknown_operands{context.residual(operands[0].known)};
  size_t next = num_known_out;
  for (int operand : places.operand) {
    unknown_operands.push_back(context.residual(operand >= 0 ? known_operands[static_cast<size_t>(operand) + 1]
                                                : operand == kResult
                                                    ? known_results[next++]
                                                    : places.sizes[static_cast<size_t>(kSize - operand)]));
  }
  for (const SplitValue& operand : marked(operands.subspan(1), in)) unknown_operands.push_back(operand.unknown);
  return merge_sheets(out_known, known_results, cond(context.unknown(), std::move(unknown_branches), unknown_operands));
}

// One branch on the whole batch, for the rows that take it: skipped when there are none, unless it costs too little for
// that to pay. The other rows' results mean nothing.
std::vector<Batched> batch_branch(Builder& builder, Value rows, absl::Span<const Batched> operands,
                                  const BatchAxis& axis, const GraphPtr& branch) {
  if (meets(*branch, axis)) return batch_inline(builder, *branch, operands, axis);
  if (is_cheap(*branch) && !reads_shared(branch, operands)) {
    return batch_inline(builder, *branch, operands_of_rows(rows, operands, /*borrow=*/false), axis);
  }
  Builder skip, run;
  Values arguments{convert(any_row(rows), DType::kInt32), rows};
  const Value inner_rows = run.input(rows.aval());
  skip.input(rows.aval());
  std::vector<Batched> inputs;
  for (const Batched& operand : operands) {
    arguments.push_back(operand.value);
    skip.input(operand.value.aval());
    inputs.push_back({run.input(operand.value.aval()), operand.axis});
  }
  Values nothing, results;
  for (const Batched& result :
       batch_inline(run, *branch, operands_of_rows(inner_rows, inputs, /*borrow=*/true), axis)) {
    results.push_back(materialize_batch(run, result, 0, axis));
    nothing.push_back(zeros(skip, results.back().aval()));
  }
  return batched_in_front(cond(builder, {skip.finish(nothing), run.finish(results)}, arguments));
}

// What all branches return alike as this output, where it is the same for all examples: an operand that each hands on
// as it is, or what each makes in the same way of unbatched operands, at little cost. Its value is null where they
// differ. `varies`: which outputs of each branch depend on what is batched.
Batched common_output(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                      const Branches& branches, const std::vector<Flags>& varies, size_t output) {
  Batched handed_on;
  GraphPtr made;
  std::vector<Batched> made_of;
  for (size_t b = 0; b < branches.size(); ++b) {
    const Graph& branch = *branches[b];
    if (const Var var = branch.outputs()[output]; var < branch.num_inputs()) {
      const Batched& found = operands[var];
      if (b > 0 && (found.value != handed_on.value || found.axis != handed_on.axis)) return {};
      handed_on = found;
      continue;
    }
    if (handed_on.value || varies[b][output] || branch.has_side_effects() || meets(branch, axis)) return {};
    Flags wanted(branch.outputs().size(), false);
    wanted[output] = true;
    const PrunedGraph found = pruned_of(branches[b], wanted);
    const GraphPtr graph = with_inputs(found.graph, found.inputs);
    const std::vector<Batched> of = marked(operands, found.inputs);
    const auto same = [](const Batched& x, const Batched& y) { return x.value == y.value; };
    if (b == 0 ? !is_cheap(*graph) : !made || !same_graph(*graph, *made) || !std::ranges::equal(of, made_of, same)) {
      return {};
    }
    made = graph;
    made_of = of;
  }
  return made ? batch_inline(builder, *made, made_of, axis)[0] : handed_on;
}

// Examples that take different branches: each branch that some example takes is computed, then chosen from.
std::vector<Batched> batch_all_branches(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                        const Branches& branches) {
  const auto constant = [&](size_t b) {
    return full_integer(builder, operands[0].value.aval(), static_cast<int64_t>(b));
  };
  const Value index = max(constant(0), min(operands[0].value, constant(branches.size() - 1)));
  std::vector<Batched> results;
  for (size_t b = branches.size(); b-- > 0;) {
    const Value rows = eq(index, constant(b));
    const std::vector<Batched> found = batch_branch(builder, rows, operands.subspan(1), axis, branches[b]);
    if (b + 1 == branches.size()) {
      results = found;
      continue;
    }
    for (size_t k = 0; k < found.size(); ++k) {
      if (found[k].value == results[k].value && found[k].axis == results[k].axis) continue;
      const Value chosen = materialize_batch(builder, found[k], 0, axis);
      const Value other = materialize_batch(builder, results[k], 0, axis);
      results[k] = {select(broadcast(rows, chosen.shape(), {0}), chosen, other), 0};
    }
  }
  Flags batched;
  for (const Batched& operand : operands.subspan(1)) batched.push_back(operand.batched());
  std::vector<Flags> varies;
  for (const GraphPtr& branch : branches) varies.push_back(depends_on(*branch, batched));
  for (size_t k = 0; k < results.size(); ++k) {
    const Batched common = common_output(builder, operands.subspan(1), axis, branches, varies, k);
    if (common.value) results[k] = common;
  }
  return results;
}

std::vector<Masked> cond_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Branches masked;
  std::vector<Values> lengths;
  Values values{operands[0].value};
  for (const GraphPtr& branch : attrs->graphs("branches")) {
    MaskedSubGraph inside(builder, operands);
    std::vector<Masked> inputs;
    for (const Masked& operand : operands.subspan(1)) {
      inputs.push_back(inside.constant(operand));
    }
    const std::vector<Masked> results = mask_inline(inside.inner(), *branch, inputs);
    Values outputs;
    for (size_t k = 0; k < results.size(); ++k) {
      outputs.push_back(results[k].value);
      const Values found = inside.lengths_outside(results[k].lengths, "a branch's output");
      if (masked.empty()) {
        lengths.push_back(found);
        continue;
      }
      for (size_t axis = 0; axis < found.size(); ++axis) {
        lengths[k][axis] = merge_lengths(lengths[k][axis], found[axis], "cond", static_cast<int>(axis));
      }
    }
    if (masked.empty()) append(values, inside.base_lengths());
    masked.push_back(inside.inner().finish(outputs));
  }
  for (const Masked& operand : operands.subspan(1)) values.push_back(operand.value);
  const Values results = cond(builder, std::move(masked), values);
  std::vector<Masked> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], lengths[k]});
  return outputs;
}

std::vector<Tensor> cond_reference(const ReferenceInput& input) {
  const Branches& branches = input.attrs.graphs("branches");
  const int64_t last = static_cast<int64_t>(branches.size()) - 1;
  const int64_t index = std::clamp<int64_t>(load_integer(input.operands[0], 0), 0, last);
  return input.run_graph(*branches[static_cast<size_t>(index)], input.operands.subspan(1));
}

Primitive cond_primitive() {
  Primitive result;
  result.name = "cond";
  result.attributes = {{"branches", AttributeKind::kGraphs}};
  result.several_results = true;
  result.type = cond_type;
  const AppliedRules rules(result.name, cond_derived, /*leading=*/1);
  rules.fill(result);
  result.split = cond_split;
  result.batch = [rules](Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                         const AttrsPtr& attrs) {
    return operands[0].batched() ? batch_all_branches(builder, operands, axis, attrs->graphs("branches"))
                                 : rules.batch(builder, operands, axis, attrs);
  };
  result.mask = cond_mask;
  result.reference = cond_reference;
  result.structure = std::make_shared<structures::Branches>();
  result.absent["element"] = "a choice of sub-graphs";
  result.absent["expand"] = "the compiler lowers it to a branch";
  return result;
}
}  // namespace

const Primitive& kCond = define(cond_primitive());

Values cond(Builder& builder, std::vector<GraphPtr> branches, absl::Span<const Value> operands) {
  return builder.bind(kCond, operands, Attrs::make({{"branches", std::move(branches)}}));
}

}  // namespace ct
