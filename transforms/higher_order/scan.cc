// scan: a loop of known length over the leading axis of its sequences, carrying state. Operands: constants, first
// carries, sequences; results: last carries, stacked slices. One step is the graph: constants, carries, slices ->
// carries, slices.
//
// Every rule derives the step's graph and loops over the result. Which carries take part (have a tangent, are unknown,
// are batched, are ragged) is found by repeating the derivation until no step adds another.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/length_form.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "ir/simplify.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

// Where constants, carries and sequences lie among the operands (and the graph's inputs).
struct Layout {
  size_t constants, carries, sequences, outputs, stacked;

  size_t first_sequence() const { return constants + carries; }
  size_t operands() const { return constants + carries + sequences; }  // without the count of a counted loop
};

AttrsPtr to_attrs(const ScanAttrs& attrs) {
  std::vector<std::pair<std::string, AttrValue>> entries{{"graph", attrs.graph},
                                                         {"length", attrs.length},
                                                         {"num_carries", attrs.num_carries},
                                                         {"num_constants", attrs.num_constants},
                                                         {"reverse", attrs.reverse}};
  if (attrs.counted) entries.emplace_back("counted", true);
  return Attrs::make(std::move(entries));
}

Layout layout_of(const ScanAttrs& attrs) {
  Layout layout;
  layout.constants = static_cast<size_t>(attrs.num_constants);
  layout.carries = static_cast<size_t>(attrs.num_carries);
  layout.sequences = attrs.graph->num_inputs() - layout.constants - layout.carries;
  layout.outputs = attrs.graph->outputs().size();
  layout.stacked = layout.outputs - layout.carries;
  return layout;
}

Aval stacked(const Aval& slice, int64_t length) {
  Shape shape = slice.shape();
  shape.insert(shape.begin(), length);
  return slice.with_shape(shape);
}

Avals scan_type(absl::Span<const Aval> operands, const Attrs& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(attributes);
  const Graph& graph = *attrs.graph;
  const int64_t inputs = graph.num_inputs();
  if (attrs.num_constants < 0 || attrs.num_carries < 0 || attrs.num_constants + attrs.num_carries > inputs ||
      attrs.num_carries > static_cast<int64_t>(graph.outputs().size())) {
    throw Error(ErrorKind::kType,
                concat("the body takes ", inputs, " values and returns ", graph.outputs().size(), ", too few for ",
                       attrs.num_constants, " constants and ", attrs.num_carries, " carries"));
  }
  if (attrs.length < 0) throw Error(ErrorKind::kValue, concat("the length must not be negative, got ", attrs.length));
  const Layout layout = layout_of(attrs);
  if (operands.size() != layout.operands() + (attrs.counted ? 1 : 0)) {
    throw Error(ErrorKind::kType, concat("the body takes ", inputs, " values, got ", operands.size()));
  }
  if (attrs.counted && !same_type(operands.back(), Aval(DType::kInt32, {}))) {
    throw Error(ErrorKind::kType, concat("the number of steps must be int32[], got ", operands.back().to_string()));
  }
  for (size_t i = 0; i < layout.operands(); ++i) {
    const Aval expected = graph.aval(static_cast<Var>(i));
    if (i < layout.first_sequence()) {
      if (same_type(expected, operands[i])) continue;
      const bool constant = i < layout.constants;
      throw Error(ErrorKind::kType,
                  concat(constant ? "constant " : "carry ", constant ? i : i - layout.constants, " has type ",
                         operands[i].to_string(), " on entry but the body takes ", expected.to_string()))
          .hint("the first carry must have the type that the body takes and returns");
    }
    if (same_type(stacked(expected, attrs.length), operands[i])) continue;
    throw Error(ErrorKind::kShape, concat("sequence ", i - layout.first_sequence(), " has type ",
                                          operands[i].to_string(), "; ", attrs.length, " steps of a body that takes ",
                                          expected.to_string(), " need ", stacked(expected, attrs.length).to_string()))
        .hint("all sequences must have the same leading size, the number of steps");
  }
  const Avals results = graph.output_avals();
  Avals outputs;
  for (size_t k = 0; k < results.size(); ++k) {
    if (k < layout.carries) {
      check_carry(k, graph.aval(static_cast<Var>(layout.constants + k)), results[k]);
      outputs.push_back(results[k].strong());
    } else {
      outputs.push_back(stacked(results[k], attrs.length));
    }
  }
  return outputs;
}

// ---- jvp -----------------------------------------------------------------------------------------------------------

JvpResult scan_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(*attributes);
  const Layout layout = layout_of(attrs);
  const Flags in = present(tangents.subspan(0, layout.operands()));
  Flags carries = slice_of(in, layout.constants, layout.first_sequence());
  const Flags constants = slice_of(in, 0, layout.constants);
  const Flags sequences = slice_of(in, layout.first_sequence(), layout.operands());
  JvpGraph step;
  do {
    step =
        jvp_of(attrs.graph, joined({constants, carries, sequences}), joined({carries, Flags(layout.stacked, false)}));
  } while (unite(carries, slice_of(step.nonzero_out, 0, layout.carries)));

  // From primals, tangents to constants, their tangents, carries, theirs, slices, theirs.
  const size_t n = layout.operands();
  const size_t c = count(constants), k = count(carries), s = count(sequences);
  std::vector<size_t> inputs = range(0, layout.constants);
  append(inputs, range(n, n + c));
  append(inputs, range(layout.constants, layout.first_sequence()));
  append(inputs, range(n + c, n + c + k));
  append(inputs, range(layout.first_sequence(), n));
  append(inputs, range(n + c + k, n + c + k + s));
  const size_t m = layout.outputs;
  std::vector<size_t> outputs = range(0, layout.carries);
  append(outputs, range(m, m + k));
  append(outputs, range(layout.carries, m));
  append(outputs, range(m + k, step.graph->outputs().size()));

  Values operands;
  const auto add_group = [&](size_t begin, size_t end, const Flags& moving) {
    append(operands, primals.subspan(begin, end - begin));
    for (size_t i = begin; i < end; ++i) {
      if (moving[i - begin]) operands.push_back(instantiate(builder, tangents[i], primals[i].aval()));
    }
  };
  add_group(0, layout.constants, constants);
  add_group(layout.constants, layout.first_sequence(), carries);
  add_group(layout.first_sequence(), n, sequences);
  if (attrs.counted) operands.push_back(primals.back());
  const Values results = scan(builder,
                              {rewire(*step.graph, inputs, outputs), attrs.num_constants + static_cast<int64_t>(c),
                               attrs.num_carries + static_cast<int64_t>(k), attrs.length, attrs.reverse, attrs.counted},
                              operands);
  Values ordered(results.size());
  for (size_t i = 0; i < outputs.size(); ++i) ordered[outputs[i]] = results[i];
  return unpack_jvp(ordered, step.nonzero_out);
}

// ---- split ---------------------------------------------------------------------------------------------------------

// Residuals that depend on constants alone are the same in every step: computed once, outside. So are sizes, of
// whatever.
Flags invariant_outputs(const Graph& graph, const Flags& varying) {
  Flags result = depends_on(graph, varying, Sizes::kKnown);
  result.flip();
  return result;
}

// One slice of a sequence of at least one, of the lengths that all slices have.
Value any_slice(Value sequence) {
  if (keeps_lengths()) sequence = fill_padding(sequence, {0}, 0);
  return squeeze(slice_axis(sequence, 0, 0, 1), 0);
}

// A loop on each sheet. What the unknown step needs of the known one is a constant of the unknown loop, where every
// step has the same, or one of its sequences.
class ScanSplit {
 public:
  ScanSplit(SplitContext& context, absl::Span<const SplitValue> operands, const ScanAttrs& attrs)
      : context_(context),
        attrs_(attrs),
        layout_(layout_of(attrs)),
        operands_(operands.subspan(0, layout_.operands())),
        steps_(attrs.counted ? operands.back().known : Value{}) {}

  std::vector<SplitValue> run() {
    find_unknown();
    sort_residuals();
    residual_.resize(step_.num_residuals);
    hoist_invariants();
    const Values known_results = make_known();
    for (size_t r = 0; r < step_.num_residuals; ++r) {
      if (!residual_[r]) residual_[r] = known_operands_[static_cast<size_t>(step_.residual_input[r])];
    }
    return merge_sheets(step_.out_known, known_results, make_unknown());
  }

 private:
  // A carry that is unknown in one step is in the next.
  void find_unknown() {
    const Flags in = unknown_mask(operands_);
    const Flags constants = slice_of(in, 0, layout_.constants);
    const Flags sequences = slice_of(in, layout_.first_sequence(), layout_.operands());
    Flags carries = slice_of(in, layout_.constants, layout_.first_sequence());
    Flags unknown_carries;
    do {
      step_ = split_of(attrs_.graph, joined({constants, carries, sequences}),
                       joined({carries, Flags(layout_.stacked, false)}));
      unknown_carries = slice_of(step_.out_known, 0, layout_.carries);
      unknown_carries.flip();
    } while (unite(carries, unknown_carries));
    unknown_in_ = joined({constants, carries, sequences});
    unknown_constants_ = count(constants);
    unknown_carries_ = count(carries);
    known_constants_ = layout_.constants - unknown_constants_;
    known_carries_ = layout_.carries - unknown_carries_;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!unknown_in_[i]) known_operands_.push_back(operands_[i].known);
    }
    num_known_out_ = count(step_.out_known);
  }

  size_t first_known_sequence() const { return known_constants_ + known_carries_; }

  void sort_residuals() {
    Flags varying(known_operands_.size(), true);
    std::fill(varying.begin(), varying.begin() + static_cast<ptrdiff_t>(known_constants_), false);
    const Flags invariant = invariant_outputs(*step_.known, varying);
    for (size_t r = 0; r < step_.num_residuals; ++r) {
      const int input = step_.residual_input[r];
      const bool is_sequence = input >= static_cast<int>(first_known_sequence());
      const size_t result = num_known_out_ + r;
      (invariant[result] ? constant_residuals_ : sequence_residuals_).push_back(r);
      if (input >= 0 && (is_sequence || input < static_cast<int>(known_constants_))) continue;
      (invariant[result] ? invariant_results_ : stacked_results_).push_back(result);
    }
  }

  // What is the same in every step is computed once, before the loop. Of the inputs that vary only the sizes matter.
  void hoist_invariants() {
    if (invariant_results_.empty()) return;
    Builder hoisted;
    Values inputs;
    for (size_t i = 0; i < known_operands_.size(); ++i) {
      const Value operand = hoisted.input(known_operands_[i].aval());
      const bool slice = i >= first_known_sequence();
      inputs.push_back(!slice              ? operand
                       : attrs_.length > 0 ? any_slice(operand)
                                           : zeros(hoisted, step_.known->aval(static_cast<Var>(i))));
    }
    const Values results = hoisted.inline_graph(*step_.known, inputs);
    Values chosen;
    for (size_t k : invariant_results_) chosen.push_back(results[k]);
    // The step's effects happen in the loop.
    const GraphPtr graph = hoisted.finish(chosen, Builder::Keep::kOutputs);
    const Values values = context_.known().inline_graph(*graph, known_operands_);
    for (size_t i = 0; i < values.size(); ++i) residual_[invariant_results_[i] - num_known_out_] = values[i];
  }

  Values make_known() {
    std::vector<size_t> outputs = range(0, num_known_out_);
    append(outputs, stacked_results_);
    // The unknown loop takes as many steps as the known one. In a mask region that is the length of the sequences, and
    // where none of them is known any more, nothing else tells it.
    if (!attrs_.counted && keeps_lengths() && sequence_residuals_.empty() &&
        known_operands_.size() > first_known_sequence()) {
      steps_ = dimension_size(known_operands_.back(), 0);
    }
    Values operands = known_operands_;
    if (attrs_.counted) operands.push_back(steps_);
    const Values results =
        scan(context_.known(),
             {rewire(*step_.known, range(0, known_operands_.size()), outputs), static_cast<int64_t>(known_constants_),
              static_cast<int64_t>(known_carries_), attrs_.length, attrs_.reverse, attrs_.counted},
             operands);
    for (size_t i = 0; i < stacked_results_.size(); ++i) {
      residual_[stacked_results_[i] - num_known_out_] = results[num_known_out_ + i];
    }
    return results;
  }

  // Inputs of its step: residuals, unknown constants, carries, slices.
  Values make_unknown() {
    const size_t first = step_.num_residuals, first_slice = first + unknown_constants_ + unknown_carries_;
    std::vector<size_t> inputs = constant_residuals_;
    append(inputs, range(first, first_slice));
    append(inputs, sequence_residuals_);
    append(inputs, range(first_slice, step_.unknown->num_inputs()));
    Values operands;
    add_residuals(constant_residuals_, operands);
    add_unknown(0, layout_.first_sequence(), operands);
    add_residuals(sequence_residuals_, operands);
    add_unknown(layout_.first_sequence(), layout_.operands(), operands);
    if (steps_) operands.push_back(context_.residual(steps_));
    return scan(context_.unknown(),
                {rewire(*step_.unknown, inputs, range(0, step_.unknown->outputs().size())),
                 static_cast<int64_t>(constant_residuals_.size() + unknown_constants_),
                 static_cast<int64_t>(unknown_carries_), attrs_.length, attrs_.reverse, static_cast<bool>(steps_)},
                operands);
  }
  void add_residuals(const std::vector<size_t>& residuals, Values& operands) {
    for (size_t r : residuals) operands.push_back(context_.residual(residual_[r]));
  }
  void add_unknown(size_t begin, size_t end, Values& operands) {
    for (size_t i = begin; i < end; ++i) {
      if (unknown_in_[i]) operands.push_back(context_.on_unknown(operands_[i]));
    }
  }

  SplitContext& context_;
  const ScanAttrs& attrs_;
  const Layout layout_;
  const absl::Span<const SplitValue> operands_;
  Value steps_;  // null where the length says it

  SplitGraph step_;
  Flags unknown_in_;
  size_t unknown_constants_ = 0, unknown_carries_ = 0, known_constants_ = 0, known_carries_ = 0;
  Values known_operands_;
  size_t num_known_out_ = 0;
  std::vector<size_t> constant_residuals_, sequence_residuals_;  // by their number
  // Results of the known step that are residuals and no inputs of it: the same in every step, and others.
  std::vector<size_t> invariant_results_, stacked_results_;
  Values residual_;  // on the known sheet
};

std::vector<SplitValue> scan_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                   const AttrsPtr& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(*attributes);
  if (attrs.counted && !operands.back().is_known()) return split_whole(context, kScan, operands, attributes);
  return ScanSplit(context, operands, attrs).run();
}

// ---- transpose -----------------------------------------------------------------------------------------------------

// Carries that are not linear have to be run forward first: the loop is divided, and its linear part transposed.
Values divide_and_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const GraphPtr whole =
      build_graph(Avals(input.avals.begin(), input.avals.end()),
                  [&](Builder& inner, const Values& operands) { return inner.bind(kScan, operands, attributes); });
  const SplitGraph sheets = split_of(whole, linear_operands(input), Flags(whole->outputs().size(), false));
  const Values known = builder.inline_graph(*sheets.known, only_present(input.operands));
  Values operands(known.end() - sheets.num_residuals, known.end());
  operands.resize(sheets.unknown->num_inputs());
  Values cotangents;
  for (size_t k = 0; k < input.cotangents.size(); ++k) {
    if (!sheets.out_known[k]) cotangents.push_back(input.cotangents[k]);
  }
  const Values found = backward_pass(builder, *sheets.unknown, operands, cotangents);
  return spread(absl::MakeSpan(found).subspan(sheets.num_residuals), linear_operands(input));
}

Values scan_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(*attributes);
  const Layout layout = layout_of(attrs);
  const Graph& graph = *attrs.graph;
  Flags linear = linear_operands(input);
  linear.resize(layout.operands());
  const Flags wanted = linear;
  for (Flags more;;) {
    more = linear;
    const Flags depends = depends_on(graph, linear);
    for (size_t k = 0; k < layout.carries; ++k) more[layout.constants + k] = linear[layout.constants + k] || depends[k];
    if (!unite(linear, more)) break;
  }
  for (size_t k = 0; k < layout.carries; ++k) {
    if (!linear[layout.constants + k]) return divide_and_transpose(builder, input, attributes);
  }

  // One step back: cotangents of the carries and of this step's slices give those of everything linear.
  Flags carries = slice_of(present(input.cotangents), 0, layout.carries);
  const Flags slices = slice_of(present(input.cotangents), layout.carries, layout.outputs);
  BackwardGraph step;
  Flags found;
  do {
    Flags force(layout.operands(), false);
    for (size_t k = 0; k < layout.carries; ++k) force[layout.constants + k] = carries[k];
    step = backward_of(attrs.graph, linear, joined({carries, slices}), force);
    found = slice_of(step.nonzero, layout.constants, layout.first_sequence());
  } while (unite(carries, found));

  const Flags constants = slice_of(step.nonzero, 0, layout.constants);
  const Flags sequences = slice_of(step.nonzero, layout.first_sequence(), layout.operands());
  const size_t num_accumulated = count(constants), num_carries = count(carries);
  Values residual_constants, residual_sequences, first_carries, cotangent_sequences;
  for (size_t i = 0; i < layout.operands(); ++i) {
    if (linear[i]) continue;
    (i < layout.constants ? residual_constants : residual_sequences).push_back(input.operands[i]);
  }
  for (size_t i = 0; i < layout.constants; ++i) {
    if (constants[i]) first_carries.push_back(zeros(builder, input.avals[i]));
  }
  for (size_t k = 0; k < layout.carries; ++k) {
    if (carries[k]) {
      first_carries.push_back(instantiate(builder, input.cotangents[k], input.avals[layout.constants + k]));
    }
  }
  cotangent_sequences = only_present(input.cotangents.subspan(layout.carries));

  // Inputs of the step's backward graph: residual constants, residual slices, cotangents of carries and slices;
  // outputs: cotangents of constants, carries, slices.
  Builder body;
  Values body_constants, body_accumulated, body_carries, body_residuals, body_cotangents;
  const auto inputs = [&](Values& group, const Values& like, bool slice) {
    for (const Value& value : like) {
      const Shape& shape = value.shape();
      group.push_back(
          body.input(slice ? value.aval().with_shape(absl::MakeConstSpan(shape).subspan(1)) : value.aval()));
    }
  };
  inputs(body_constants, residual_constants, false);
  inputs(body_carries, first_carries, false);
  inputs(body_residuals, residual_sequences, true);
  inputs(body_cotangents, cotangent_sequences, true);
  body_accumulated.assign(body_carries.begin(), body_carries.begin() + static_cast<ptrdiff_t>(num_accumulated));
  Values step_operands = body_constants;
  append(step_operands, body_residuals);
  append(step_operands, absl::MakeSpan(body_carries).subspan(num_accumulated));
  append(step_operands, body_cotangents);
  Values results = body.inline_graph(*step.graph, step_operands);
  for (size_t i = 0; i < num_accumulated; ++i) results[i] = add_tangents(body_accumulated[i], results[i]);

  Values operands = residual_constants;
  append(operands, first_carries);
  append(operands, residual_sequences);
  append(operands, cotangent_sequences);
  if (attrs.counted) operands.push_back(known_operand(input, static_cast<int>(layout.operands())));
  const Values outputs =
      scan(builder,
           {body.finish(results), static_cast<int64_t>(residual_constants.size()),
            static_cast<int64_t>(num_accumulated + num_carries), attrs.length, !attrs.reverse, attrs.counted},
           operands);
  Values cotangents = spread(outputs, joined({constants, carries, sequences}));
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (!wanted[i]) cotangents[i] = {};
  }
  cotangents.resize(input.operands.size());
  return cotangents;
}

// ---- batch ---------------------------------------------------------------------------------------------------------

std::vector<Batched> scan_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                const AttrsPtr& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(*attributes);
  const Layout layout = layout_of(attrs);
  std::vector<int> axes = axes_of(operands.subspan(0, layout.operands()));
  for (size_t i = layout.constants; i < layout.operands(); ++i) {
    if (axes[i] < 0) continue;
    axes[i] = i < layout.first_sequence() ? 0 : std::max(axes[i] - 1, 0);  // of a slice
  }
  BatchGraph step;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<int> out(layout.outputs, kAnyAxis);
    for (size_t k = 0; k < layout.carries; ++k) {
      if (axes[layout.constants + k] == 0) out[k] = 0;
    }
    step = batch_of(attrs.graph, axes, axis, out);
    for (size_t k = 0; k < layout.carries; ++k) {
      if (step.out_axes[k] < 0 || axes[layout.constants + k] == 0) continue;
      axes[layout.constants + k] = 0;
      changed = true;
    }
  }
  Values values;
  for (size_t i = 0; i < layout.operands(); ++i) {
    const Batched& x = operands[i];
    if (axes[i] < 0 || i < layout.constants) {
      values.push_back(x.value);
    } else if (i < layout.first_sequence()) {
      values.push_back(materialize_batch(builder, x, 0, axis));
    } else {
      values.push_back(x.axis == 0 ? move_axis(x.value, 0, 1) : x.value);
    }
  }
  if (attrs.counted) {
    // As many steps as the longest row needs; the body leaves rows alone that have ended.
    const Batched& steps = operands.back();
    values.push_back(steps.batched() ? reduce_max(steps.value, {0}) : steps.value);
  }
  ScanAttrs batched = attrs;
  batched.graph = step.graph;
  const Values results = scan(builder, batched, values);
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) {
    const int at = step.out_axes[k];
    outputs.push_back({results[k], k < layout.carries || at < 0 ? at : at + 1});
  }
  return outputs;
}

// ---- prune ---------------------------------------------------------------------------------------------------------

// A carry is needed when it is used in the end, or when a step makes something needed of it.
Pruned scan_prune(const Flags& used, const AttrsPtr& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(*attributes);
  const Layout layout = layout_of(attrs);
  Flags outputs = used;
  PrunedGraph step;
  Flags more(layout.outputs, false);
  do {
    step = pruned_of(attrs.graph, outputs);
    for (size_t k = 0; k < layout.carries; ++k) more[k] = step.inputs[layout.constants + k];
  } while (unite(outputs, more));
  Flags operands = step.inputs;
  for (size_t k = 0; k < layout.carries; ++k) operands[layout.constants + k] = outputs[k];
  const auto constants = static_cast<int64_t>(count(slice_of(operands, 0, layout.constants)));
  const auto carries = static_cast<int64_t>(count(slice_of(outputs, 0, layout.carries)));
  const GraphPtr graph = with_inputs(step.graph, operands);
  if (attrs.counted) operands.push_back(true);
  return {operands, outputs, to_attrs({graph, constants, carries, attrs.length, attrs.reverse, attrs.counted})};
}

// ---- mask ----------------------------------------------------------------------------------------------------------

// A ragged leading axis runs all the steps that there could be, but those past its length leave the carries alone;
// what they stack is padding.
std::vector<Masked> scan_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attributes) {
  const ScanAttrs attrs = ScanAttrs::from(*attributes);
  const Layout layout = layout_of(attrs);
  Value steps;                  // null: all of them
  std::vector<Values> lengths;  // of constants, carries and slices, in the outer builder
  for (size_t i = 0; i < layout.operands(); ++i) {
    Values own = operands[i].lengths;
    if (i >= layout.first_sequence()) {
      steps = merge_lengths(steps, own[0], "scan", 0);
      own.erase(own.begin());
    }
    lengths.push_back(std::move(own));
  }
  // A counted loop is as ragged as one over sequences of that length.
  if (attrs.counted && known_length(operands.back().value) != attrs.length) {
    const Value count = operands.back().value;
    steps = steps && !same_length(steps, count) ? smaller_length(steps, count) : count;
  }

  // Inside it is a length like those of the operands.
  std::vector<Masked> with_steps(operands.begin(), operands.end());
  if (steps) with_steps.push_back({steps, {steps}});

  std::vector<Values> found(layout.outputs);  // of carries and slices, in the outer builder
  GraphPtr graph;
  Values base;
  for (bool changed = true; changed;) {
    changed = false;
    MaskedSubGraph step(builder, with_steps);
    Builder& inner = step.inner();
    std::vector<Masked> inputs;
    for (size_t i = 0; i < layout.constants; ++i) {
      inputs.push_back(step.constant(operands[i]));
    }
    for (size_t i = layout.constants; i < layout.operands(); ++i) {
      inputs.push_back({inner.input(attrs.graph->aval(static_cast<Var>(i))), step.lengths_inside(lengths[i])});
    }
    const std::vector<Masked> results = mask_inline(inner, *attrs.graph, inputs);
    Values outputs;
    // All loops of a batch take as many steps, so each says which are its own.
    const Value at = steps ? inner.input(Aval(DType::kInt32, {})) : Value();
    const Value active = steps ? lt(at, step.length_inside(steps)) : Value();
    for (size_t k = 0; k < layout.outputs; ++k) {
      Value result = results[k].value;
      found[k] = step.lengths_outside(results[k].lengths, k < layout.carries ? "a carry" : "a stacked result");
      if (k < layout.carries) {
        const size_t i = layout.constants + k;
        changed = unite_lengths(lengths[i], found[k], "carry", k) || changed;
        if (active) result = select(broadcast_scalar(active, result.shape()), result, inputs[i].value);
      }
      outputs.push_back(result);
    }
    base = step.base_lengths();
    if (!changed) graph = inner.finish(outputs);
  }

  Values values = base;
  for (size_t i = 0; i < layout.operands(); ++i) values.push_back(operands[i].value);
  if (steps) {
    values.push_back(iota(builder, Aval(DType::kInt32, {attrs.length}), 0));
    values.push_back(steps);
  }
  const Values results = scan(builder,
                              {graph, attrs.num_constants + static_cast<int64_t>(base.size()), attrs.num_carries,
                               attrs.length, attrs.reverse, static_cast<bool>(steps)},
                              values);
  std::vector<Masked> outputs;
  for (size_t k = 0; k < layout.outputs; ++k) {
    Values own = k < layout.carries ? lengths[layout.constants + k] : found[k];
    if (k >= layout.carries) own.insert(own.begin(), steps);
    outputs.push_back({results[k], std::move(own)});
  }
  return outputs;
}

// ---- reference -----------------------------------------------------------------------------------------------------

std::vector<Tensor> scan_reference(const ReferenceInput& input) {
  const ScanAttrs attrs = ScanAttrs::from(input.attrs);
  const Layout layout = layout_of(attrs);
  std::vector<Tensor> step(input.operands.begin(), input.operands.begin() + layout.first_sequence());
  step.resize(layout.operands());
  std::vector<Tensor> results(input.operands.begin() + layout.constants,
                              input.operands.begin() + layout.first_sequence());
  for (size_t k = layout.carries; k < layout.outputs; ++k) results.emplace_back(input.output_avals[k]);
  int64_t steps = attrs.length;
  if (attrs.counted) {
    steps = std::clamp<int64_t>(*input.operands.back().as<int32_t>(), 0, attrs.length);
    for (size_t k = layout.carries; k < layout.outputs; ++k) {
      std::fill_n(results[k].as<char>(), results[k].aval().bytes(), '\0');
    }
  }
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = attrs.reverse ? steps - 1 - t : t;
    for (size_t i = layout.first_sequence(); i < layout.operands(); ++i) {
      Tensor slice(attrs.graph->aval(static_cast<Var>(i)));
      const auto bytes = static_cast<size_t>(slice.aval().bytes());
      const char* from = input.operands[i].as<char>() + at * static_cast<int64_t>(bytes);
      std::copy(from, from + bytes, slice.as<char>());
      step[i] = slice;
    }
    std::vector<Tensor> outputs = input.run_graph(*attrs.graph, step);
    for (size_t k = 0; k < layout.outputs; ++k) {
      if (k < layout.carries) {
        step[layout.constants + k] = results[k] = outputs[k];
      } else {
        const auto bytes = outputs[k].aval().bytes();
        std::copy(outputs[k].as<char>(), outputs[k].as<char>() + bytes, results[k].as<char>() + at * bytes);
      }
    }
  }
  return results;
}

// ---- simplify ------------------------------------------------------------------------------------------------------

// A counted scan that takes all its steps is one that is not counted: outside of masks the size of a sequence is known.
Values scan_simplify(const SimplifyInput& m) {
  ScanAttrs attrs = ScanAttrs::from(*m.attrs);
  if (!attrs.counted) return {};
  const Equation* count = m.made_by(m.operands.back(), Arrangement::kUniform);
  if (count == nullptr || m.builder.attrs(*count).integer("value") < attrs.length) return {};
  attrs.counted = false;
  return scan(m.builder, attrs, m.operands.first(m.operands.size() - 1));
}

Primitive scan_primitive() {
  Primitive result;
  result.name = "scan";
  result.attributes = {{"counted", AttributeKind::kFlag, kOptional}, {"graph", AttributeKind::kGraph},
                       {"length", AttributeKind::kInteger},          {"num_carries", AttributeKind::kInteger},
                       {"num_constants", AttributeKind::kInteger},   {"reverse", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = scan_type;
  result.jvp = scan_jvp;
  result.split = scan_split;
  result.transpose = scan_transpose;
  result.batch = scan_batch;
  result.prune = scan_prune;
  result.mask = scan_mask;
  result.reference = scan_reference;
  result.simplify = scan_simplify;
  result.lowering = Lowering::kScan;
  result.absent["element"] = "a loop over its sub-graph";
  result.absent["expand"] = "the compiler lowers it to a loop";
  return result;
}
}  // namespace

const Primitive& kScan = define(scan_primitive());

ScanAttrs ScanAttrs::from(const Attrs& attrs) {
  return {attrs.graph("graph"),    attrs.integer("num_constants"), attrs.integer("num_carries"),
          attrs.integer("length"), attrs.flag("reverse"),          attrs.has("counted")};
}

Values scan(Builder& builder, const ScanAttrs& attrs, absl::Span<const Value> operands) {
  return builder.bind(kScan, operands, to_attrs(attrs));
}

}  // namespace ct
