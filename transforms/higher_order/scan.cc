// scan: a loop of known length over the leading axis of its sequences, carrying state. Operands: constants, first
// carries, sequences; results: last carries, stacked slices. One step is the graph: constants, carries, slices ->
// carries, slices.
//
// Every rule derives the step's graph and loops over the result, with each of its inputs in its group (groups.h). Which
// carries take part (have a tangent, are unknown, are batched, are ragged) is found by repeating the derivation until
// no step adds another.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/length_form.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"
#include "transforms/higher_order/step.h"

namespace ct {
namespace {

AttrsPtr to_attrs(const ScanAttrs& attrs) {
  std::vector<std::pair<std::string, AttrValue>> entries{{"graph", attrs.graph},
                                                         {"length", attrs.length},
                                                         {"num_carries", attrs.num_carries},
                                                         {"num_constants", attrs.num_constants},
                                                         {"reverse", attrs.reverse}};
  if (attrs.counted) entries.emplace_back("counted", true);
  if (attrs.pieces) entries.emplace_back("pieces", true);
  return Attrs::make(std::move(entries));
}

// The count of a counted loop is none of these operands.
struct Loop : Step {
  ScanAttrs attrs;

  explicit Loop(const ScanAttrs& scan)
      : Step(scan.graph, static_cast<size_t>(scan.num_constants), static_cast<size_t>(scan.num_carries)), attrs(scan) {}
  explicit Loop(const Attrs& scan) : Loop(ScanAttrs::from(scan)) {}

  size_t first_carry() const { return inputs.first(kCarries); }

  // Of another step, whose inputs belong to these groups.
  ScanAttrs over(GraphPtr step, const Groups& in) const {
    ScanAttrs result = attrs;
    result.graph = std::move(step);
    result.num_constants = static_cast<int64_t>(in.count(kConstants));
    result.num_carries = static_cast<int64_t>(in.count(kCarries));
    return result;
  }
  // The loop over a step whose inputs and outputs belong to these groups. Operands and results are in their order;
  // `steps` is null when all steps are taken.
  Values run(Builder& builder, const Graph& step, const Groups& in, const Groups& out, absl::Span<const Value> operands,
             Value steps) const {
    ScanAttrs over_step = over(rewire(step, in.order(), out.order()), in);
    over_step.counted = static_cast<bool>(steps);
    Values sorted = in.sorted(operands);
    if (steps) sorted.push_back(steps);
    return out.restored(scan(builder, over_step, sorted));
  }
};

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
                       attrs.num_constants, " constants and ", attrs.num_carries, " carries"))
        .hint(
            "num_constants and num_carries count the first inputs of the body, and its first results are the carries");
  }
  if (attrs.length < 0)
    throw Error(ErrorKind::kValue, concat("the length must not be negative, got ", attrs.length))
        .hint("write length=0 for no steps");
  const Loop loop(attrs);
  const Groups& groups = loop.inputs;
  if (operands.size() != groups.size() + (attrs.counted ? 1 : 0)) {
    throw Error(ErrorKind::kType, concat("the body takes ", inputs, " values, got ", operands.size()))
        .hint("give an operand for each input of the body: constants, carries and sequences");
  }
  if (attrs.counted && !same_type(operands.back(), Aval(DType::kInt32, {}))) {
    throw Error(ErrorKind::kType, concat("the number of steps must be int32[], got ", operands.back().to_string()))
        .hint("give the number of steps behind the other operands, as an int32 scalar");
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const Aval expected = graph.aval(static_cast<Var>(i));
    const size_t position = i - groups.first(groups[i]);
    if (groups[i] != Loop::kSlices) {
      if (same_type(expected, operands[i])) continue;
      throw Error(ErrorKind::kType,
                  concat(groups[i] == Loop::kConstants ? "constant " : "carry ", position, " has type ",
                         operands[i].to_string(), " on entry but the body takes ", expected.to_string()))
          .hint("the first carry must have the type that the body takes and returns");
    }
    if (same_type(stacked(expected, attrs.length), operands[i])) continue;
    throw Error(ErrorKind::kShape, concat("sequence ", position, " has type ", operands[i].to_string(), "; ",
                                          attrs.length, " steps of a body that takes ", expected.to_string(), " need ",
                                          stacked(expected, attrs.length).to_string()))
        .hint("all sequences must have the same leading size, the number of steps");
  }
  const Avals results = graph.output_avals();
  Avals outputs;
  for (size_t k = 0; k < results.size(); ++k) {
    if (loop.outputs[k] == Loop::kCarries) {
      check_carry(k, graph.aval(static_cast<Var>(loop.first_carry() + k)), results[k]);
      outputs.push_back(results[k]);
    } else {
      outputs.push_back(stacked(results[k], attrs.length));
    }
  }
  return outputs;
}

// ---- jvp -----------------------------------------------------------------------------------------------------------

JvpResult scan_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  Flags moving = present(tangents.first(loop.inputs.size()));
  const JvpGraph step = loop.jvp(moving);
  const Values operands = primals_and_tangents(builder, primals.first(moving.size()), tangents, moving);
  const Values results = loop.run(builder, *step.graph, loop.inputs.then(loop.inputs.where(moving)),
                                  loop.outputs.then(loop.outputs.where(step.nonzero_out)), operands,
                                  loop.attrs.counted ? primals.back() : Value());
  return unpack_jvp(results, step.nonzero_out);
}

// ---- split ---------------------------------------------------------------------------------------------------------

// One slice of a sequence of at least one, of the lengths that all slices have.
Value any_slice(Value sequence) {
  if (keeps_lengths()) sequence = fill_padding(sequence, {0}, 0);
  return squeeze(slice_axis(sequence, 0, 0, 1), 0);
}

// The marked results of a step that are the same in every step, computed once, before the loop. Of the operands that
// vary only the sizes matter.
Values computed_once(Builder& builder, const Graph& step, const Groups& inputs, absl::Span<const Value> operands,
                     const Flags& wanted) {
  if (count(wanted) == 0) return Values(wanted.size());
  Builder once;
  Values given;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value operand = once.input(operands[i].aval());
    const Aval aval = step.aval(static_cast<Var>(i));
    const bool slice = inputs[i] == Step::kSlices;
    given.push_back(!slice ? operand : operand.shape()[0] > 0 ? any_slice(operand) : zeros(once, aval));
  }
  const Values results = once.inline_graph(step, given);
  // The step's effects happen in the loop.
  const GraphPtr graph = once.finish(marked(results, wanted), Builder::Keep::kOutputs);
  return spread(builder.inline_graph(*graph, operands), wanted);
}

struct Residuals {
  Values values;  // on the known sheet; null for those that the known loop has to stack
  Groups groups;  // how the unknown loop takes them
};

// Residuals that depend on constants alone are the same in every step. So are sizes, of whatever.
Residuals residuals_of(Builder& known, const SplitGraph& step, const Groups& inputs, absl::Span<const Value> operands) {
  const Flags varying = depends_on(*step.known, negated(inputs.among(Step::kConstants)), Sizes::kKnown);
  const size_t first = count(step.out_known);
  Residuals result;
  Flags once(first, false);
  for (size_t r = 0; r < step.num_residuals; ++r) {
    const bool same = !varying[first + r];
    const auto input = static_cast<size_t>(step.residual_input[r]);
    const bool is_operand = step.residual_input[r] >= 0 && inputs[input] != Step::kCarries;
    result.values.push_back(is_operand ? operands[input] : Value());
    result.groups.add(same ? Step::kConstants : Step::kSlices);
    once.push_back(same && !is_operand);
  }
  const Values computed = computed_once(known, *step.known, inputs, operands, once);
  for (size_t r = 0; r < step.num_residuals; ++r) {
    if (once[first + r]) result.values[r] = computed[first + r];
  }
  return result;
}

// A loop on each sheet. What the unknown step needs of the known one is a constant of the unknown loop, where every
// step has the same, or one of its sequences.
std::vector<SplitValue> scan_split(SplitContext& context, absl::Span<const SplitValue> all,
                                   const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  if (loop.attrs.counted && !all.back().is_known()) return split_whole(context, kScan, all, attributes);
  const absl::Span<const SplitValue> operands = all.first(loop.inputs.size());
  Flags unknown = unknown_mask(operands);
  const SplitGraph step = loop.split(unknown);
  const Values known_operands = known_values(marked(operands, negated(unknown)));
  const Groups known_inputs = loop.inputs.where(negated(unknown));
  const Residuals residuals = residuals_of(context.known(), step, known_inputs, known_operands);
  Groups known_outputs = loop.outputs.where(step.out_known);
  const size_t first_residual = known_outputs.size();
  for (const Value& value : residuals.values) known_outputs.add(value ? Groups::kNone : Loop::kSlices);
  // The unknown loop takes as many steps as the known one. In a mask region that is the length of the sequences, and
  // where none of them is known any more, nothing else tells it.
  const Value known_steps = loop.attrs.counted ? all.back().known : Value();
  const bool tells = residuals.groups.count(Loop::kSlices) > 0 || known_inputs.count(Loop::kSlices) == 0;
  const bool measures = !known_steps && keeps_lengths() && !tells;
  const Value steps = measures ? dimension_size(known_operands.back(), 0) : known_steps;
  const Values known = loop.run(context.known(), *step.known, known_inputs, known_outputs, known_operands, known_steps);

  std::vector<SplitValue> given;
  for (size_t r = 0; r < step.num_residuals; ++r) {
    const Value value = residuals.values[r] ? residuals.values[r] : known[first_residual + r];
    given.push_back(SplitValue::on_known(value));
  }
  for (const SplitValue& operand : marked(operands, unknown)) given.push_back(operand);
  const Groups inputs = residuals.groups.then(loop.inputs.where(unknown));
  Values carried(given.size());
  for (size_t i : inputs.order()) carried[i] = context.on_unknown(given[i]);
  const Values results = loop.run(context.unknown(), *step.unknown, inputs, loop.outputs.where(negated(step.out_known)),
                                  carried, steps ? context.residual(steps) : Value());
  return merge_sheets(step.out_known, known, results);
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
  const Values cotangents = marked(input.cotangents, negated(sheets.out_known));
  const Values found = backward_pass(builder, *sheets.unknown, operands, cotangents);
  return spread(absl::MakeSpan(found).subspan(sheets.num_residuals), linear_operands(input));
}

Values scan_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  Flags linear = linear_operands(input);
  linear.resize(loop.inputs.size());
  const Flags wanted = linear;
  loop.spread_linear(linear);
  if (count(loop.inputs.of(Loop::kCarries, linear)) < loop.inputs.count(Loop::kCarries)) {
    return divide_and_transpose(builder, input, attributes);
  }

  // One step back: cotangents of the carries and of this step's slices give those of everything linear.
  Flags cotangents = present(input.cotangents);
  const BackwardGraph step = loop.backward(linear, cotangents);

  // Carries of the new loop: sums of the constants' cotangents, then cotangents of carries.
  const Groups nonzero = loop.inputs.where(step.nonzero);
  const size_t num_sums = nonzero.count(Loop::kConstants);
  const Groups inputs =
      Groups{0, num_sums}.then(loop.inputs.where(negated(linear))).then(loop.outputs.where(cotangents));
  const Groups outputs{0, num_sums + nonzero.count(Loop::kCarries), nonzero.count(Loop::kSlices)};
  Values operands;
  for (const Aval& aval : nonzero.of(Loop::kConstants, marked(input.avals, step.nonzero))) {
    operands.push_back(zeros(builder, aval));
  }
  append(operands, marked(input.operands, negated(linear)));
  for (size_t k = 0; k < cotangents.size(); ++k) {
    if (!cotangents[k]) continue;
    const bool carry = loop.outputs[k] == Loop::kCarries;
    operands.push_back(carry ? instantiate(builder, input.cotangents[k], input.avals[loop.first_carry() + k])
                             : input.cotangents[k]);
  }
  Avals avals = avals_of(operands);
  for (size_t i = 0; i < avals.size(); ++i) {
    if (inputs[i] == Loop::kSlices) avals[i] = avals[i].with_shape(absl::MakeConstSpan(avals[i].shape()).subspan(1));
  }
  const GraphPtr body = build_graph(avals, [&](Builder& inner, const Values& values) {
    const absl::Span<const Value> given(values);
    Values results = inner.inline_graph(*step.graph, given.subspan(num_sums));
    for (size_t i = 0; i < num_sums; ++i) results[i] = add_tangents(given[i], results[i]);
    return results;
  });
  Loop back = loop;
  back.attrs.reverse = !loop.attrs.reverse;
  const Value steps = loop.attrs.counted ? known_operand(input, static_cast<int>(loop.inputs.size())) : Value();
  const Values found = spread(back.run(builder, *body, inputs, outputs, operands, steps), step.nonzero);
  Values results(input.operands.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (wanted[i]) results[i] = found[i];
  }
  return results;
}

// ---- batch ---------------------------------------------------------------------------------------------------------

std::vector<Batched> scan_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  const size_t first_carry = loop.first_carry(), num_inputs = loop.inputs.size();
  std::vector<int> axes = axes_of(operands.first(num_inputs));
  for (size_t i = first_carry; i < num_inputs; ++i) {
    if (axes[i] < 0) continue;
    axes[i] = loop.inputs[i] == Loop::kCarries ? 0 : std::max(axes[i] - 1, 0);  // of a slice
  }
  const BatchGraph step = loop.batch(axes, axis);
  Values values;
  for (size_t i = 0; i < num_inputs; ++i) {
    const Batched& x = operands[i];
    if (axes[i] < 0 || loop.inputs[i] == Loop::kConstants) {
      values.push_back(x.value);
    } else if (loop.inputs[i] == Loop::kCarries) {
      values.push_back(materialize_batch(builder, x, 0, axis));
    } else {
      values.push_back(x.axis == 0 ? move_axis(x.value, 0, 1) : x.value);
    }
  }
  if (loop.attrs.counted) {
    // As many steps as the longest row needs; the body leaves rows alone that have ended.
    const Batched& steps = operands.back();
    values.push_back(steps.batched() ? reduce_max(steps.value, {0}) : steps.value);
  }
  ScanAttrs batched = loop.attrs;
  batched.graph = step.graph;
  const Values results = scan(builder, batched, values);
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) {
    const int at = step.out_axes[k];
    outputs.push_back({results[k], loop.outputs[k] == Loop::kCarries || at < 0 ? at : at + 1});
  }
  return outputs;
}

// ---- prune ---------------------------------------------------------------------------------------------------------

// Where lengths are values, a loop that is not counted takes as many steps as its sequences are long, whether its steps
// look at them or not.
void keep_a_sequence(const Loop& loop, Flags& operands) {
  if (count(loop.inputs.of(Loop::kSlices, operands)) > 0 || loop.inputs.count(Loop::kSlices) == 0) return;
  operands[loop.inputs.first(Loop::kSlices)] = true;
}

// A carry is needed when it is used in the end, or when a step makes something needed of it.
Pruned scan_prune(const Flags& used, const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  Flags outputs = used;
  const PrunedGraph step = loop.prune(outputs);
  Flags operands = step.inputs;
  if (!loop.attrs.counted && keeps_lengths()) keep_a_sequence(loop, operands);
  const ScanAttrs left = loop.over(with_inputs(step.graph, operands), loop.inputs.where(operands));
  if (loop.attrs.counted) operands.push_back(true);
  return {operands, outputs, to_attrs(left)};
}

// ---- mask ----------------------------------------------------------------------------------------------------------

// A ragged leading axis runs all the steps that there could be, but those past its length leave the carries alone;
// what they stack is padding.
std::vector<Masked> scan_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  const size_t first_carry = loop.first_carry(), num_inputs = loop.inputs.size(), num_outputs = loop.outputs.size();
  const auto is_carry = [&](size_t output) { return loop.outputs[output] == Loop::kCarries; };
  Value steps;                  // null: all of them
  std::vector<Values> lengths;  // of constants, carries and slices, in the outer builder
  for (size_t i = 0; i < num_inputs; ++i) {
    Values own = operands[i].lengths;
    if (loop.inputs[i] == Loop::kSlices) {
      steps = merge_lengths(steps, own[0], "scan", 0);
      own.erase(own.begin());
    }
    lengths.push_back(std::move(own));
  }
  // A counted loop is as ragged as one over sequences of that length.
  if (loop.attrs.counted && known_length(operands.back().value) != loop.attrs.length) {
    const Value count = operands.back().value;
    steps = steps && !same_length(steps, count) ? smaller_length(steps, count) : count;
  }

  // Inside it is a length like those of the operands.
  std::vector<Masked> with_steps(operands.begin(), operands.end());
  if (steps) with_steps.push_back({steps, {steps}});

  std::vector<Values> found(num_outputs);  // of carries and slices, in the outer builder
  ScanAttrs masked = loop.attrs;
  Values base;
  for (bool changed = true; changed;) {
    changed = false;
    MaskedSubGraph step(builder, with_steps);
    Builder& inner = step.inner();
    std::vector<Masked> inputs;
    for (size_t i = 0; i < first_carry; ++i) inputs.push_back(step.constant(operands[i]));
    for (size_t i = first_carry; i < num_inputs; ++i) {
      inputs.push_back({inner.input(loop.graph->aval(static_cast<Var>(i))), step.lengths_inside(lengths[i])});
    }
    const std::vector<Masked> results = mask_inline(inner, *loop.graph, inputs);
    Values outputs;
    // All loops of a batch take as many steps, so each says which are its own.
    const Value at = steps ? inner.input(Aval(DType::kInt32, {})) : Value();
    const Value active = steps ? lt(at, step.length_inside(steps)) : Value();
    for (size_t k = 0; k < num_outputs; ++k) {
      Value result = results[k].value;
      found[k] = step.lengths_outside(results[k].lengths, is_carry(k) ? "a carry" : "a stacked result");
      if (is_carry(k)) {
        changed = unite_lengths(lengths[first_carry + k], found[k], "carry", k) || changed;
        if (active) result = select(broadcast_scalar(active, result.shape()), result, inputs[first_carry + k].value);
      }
      outputs.push_back(result);
    }
    base = step.base_lengths();
    if (!changed) masked.graph = inner.finish(outputs);
  }

  Values values = base;
  for (const Masked& operand : operands.first(num_inputs)) values.push_back(operand.value);
  if (steps) {
    values.push_back(iota(builder, Aval(DType::kInt32, {loop.attrs.length}), 0));
    values.push_back(steps);
  }
  masked.num_constants += static_cast<int64_t>(base.size());
  masked.counted = static_cast<bool>(steps);
  const Values results = scan(builder, masked, values);
  std::vector<Masked> outputs;
  for (size_t k = 0; k < num_outputs; ++k) {
    Values own = is_carry(k) ? lengths[first_carry + k] : found[k];
    if (!is_carry(k)) own.insert(own.begin(), steps);
    outputs.push_back({results[k], std::move(own)});
  }
  return outputs;
}

// ---- reference -----------------------------------------------------------------------------------------------------

std::vector<Tensor> scan_reference(const ReferenceInput& input) {
  const Loop loop(input.attrs);
  const size_t first_carry = loop.first_carry(), num_carries = loop.outputs.count(Loop::kCarries);
  const size_t first_slice = first_carry + num_carries;
  std::vector<Tensor> step(input.operands.begin(), input.operands.begin() + static_cast<ptrdiff_t>(first_slice));
  step.resize(loop.inputs.size());
  std::vector<Tensor> results = loop.inputs.of(Loop::kCarries, input.operands.first(loop.inputs.size()));
  for (const Aval& aval : input.output_avals.subspan(num_carries)) results.emplace_back(aval);
  const absl::Span<Tensor> stacked = absl::MakeSpan(results).subspan(num_carries);
  int64_t steps = loop.attrs.length;
  if (loop.attrs.counted) {
    steps = std::clamp<int64_t>(*input.operands.back().as<int32_t>(), 0, loop.attrs.length);
    for (Tensor& result : stacked) std::fill_n(result.as<char>(), result.aval().bytes(), '\0');
  }
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = loop.attrs.reverse ? steps - 1 - t : t;
    for (size_t i = first_slice; i < step.size(); ++i) {
      Tensor slice(loop.graph->aval(static_cast<Var>(i)));
      const int64_t bytes = slice.aval().bytes();
      std::copy_n(input.operands[i].as<char>() + at * bytes, bytes, slice.as<char>());
      step[i] = slice;
    }
    const std::vector<Tensor> outputs = input.run_graph(*loop.graph, step);
    for (size_t k = 0; k < num_carries; ++k) step[first_carry + k] = results[k] = outputs[k];
    for (size_t k = 0; k < stacked.size(); ++k) {
      const Tensor& slice = outputs[num_carries + k];
      const int64_t bytes = slice.aval().bytes();
      std::copy_n(slice.as<char>(), bytes, stacked[k].as<char>() + at * bytes);
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
  result.attributes = {{"counted", AttributeKind::kFlag, kOptional},
                       {"graph", AttributeKind::kGraph},
                       {"length", AttributeKind::kInteger},
                       {"num_carries", AttributeKind::kInteger},
                       {"num_constants", AttributeKind::kInteger},
                       {"pieces", AttributeKind::kFlag, kOptional},
                       {"reverse", AttributeKind::kFlag}};
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
  result.structure = std::make_shared<structures::Scan>();
  result.absent["element"] = "a loop over its sub-graph";
  result.absent["expand"] = "the compiler lowers it to a loop";
  return result;
}
}  // namespace

const Primitive& kScan = define(scan_primitive());

ScanAttrs ScanAttrs::from(const Attrs& attrs) {
  return {attrs.graph("graph"),  attrs.integer("num_constants"), attrs.integer("num_carries"), attrs.integer("length"),
          attrs.flag("reverse"), attrs.has("counted"),           attrs.has("pieces")};
}

Values scan(Builder& builder, const ScanAttrs& attrs, absl::Span<const Value> operands) {
  return builder.bind(kScan, operands, to_attrs(attrs));
}

}  // namespace ct
