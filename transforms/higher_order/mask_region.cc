// mask: a program on exact-size arrays, to be run on padded ones. Operands: the lengths that ragged axes share, then
// the arrays; results: the program's, padded with zeros, then the lengths of their ragged axes.
//
// Derivatives are pushed inside: the derivative of a masked program is the derivative program, masked. So the padding
// of what differentiation adds (a sum that a broadcast turns into, say) is taken care of like any other, and nothing
// leaks through 0 * NaN. The region expands after all derivatives are taken.
//
// Where a length enters (when a region is expanded, and where a derived region is given one that its arrays need not
// bound any more), it is held to the sizes of its axes: elements, sizes and what is computed from these then agree.
//
// A length inside is an input of the graph or computed from inputs (n + 1, 2 * n). When a derived region needs an axis
// to have a computed length, its graph says so with set_length; then the mask rules find that it equals what they
// compute.
#include <algorithm>
#include <limits>

#include "ir/combinators.h"
#include "ir/length_form.h"
#include "ir/length_range.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

using LengthMap = absl::flat_hash_map<Var, Value>;

MaskAttrs mask_attrs(const Attrs& attrs) {
  return {attrs.graph("graph"), attrs.integer("num_lengths"), attrs.ints("in_ragged"),
          attrs.has("bounds") ? attrs.ints("bounds") : Ints()};
}

// A triple of the attributes: how long an axis of an array is. Arrays are operands without the lengths, or outputs.
struct RaggedAxis {
  size_t array, axis, length;
};

std::vector<RaggedAxis> axes_in(const Ints& ragged) {
  std::vector<RaggedAxis> result;
  for (size_t t = 0; t + 2 < ragged.size(); t += 3) {
    result.push_back(
        {static_cast<size_t>(ragged[t]), static_cast<size_t>(ragged[t + 1]), static_cast<size_t>(ragged[t + 2])});
  }
  return result;
}

void add_axis(Ints& ragged, const RaggedAxis& axis) {
  for (size_t each : {axis.array, axis.axis, axis.length}) ragged.push_back(static_cast<int64_t>(each));
}

size_t num_positions(const Ints& out_ragged) {
  size_t positions = 0;
  for (const RaggedAxis& each : axes_in(out_ragged)) positions = std::max(positions, each.length + 1);
  return positions;
}

// The ragged axes of array `from`, as those of array `to`.
void copy_axes(const Ints& ragged, size_t from, size_t to, Ints& result) {
  for (const RaggedAxis& each : axes_in(ragged)) {
    if (each.array == from) add_axis(result, {to, each.axis, each.length});
  }
}

void check_triples(const Ints& ragged, absl::Span<const Aval> avals, int64_t num_lengths, std::string_view what) {
  if (ragged.size() % 3 != 0) {
    throw Error(ErrorKind::kValue, concat("ragged axes of ", what, " come in triples"))
        .hint("write the array, the axis and the length of each, counted from 0: in_ragged=[0, 0, 0]");
  }
  for (size_t t = 0; t < ragged.size(); t += 3) {
    const int64_t index = ragged[t], axis = ragged[t + 1], length = ragged[t + 2];
    if (index >= 0 && index < static_cast<int64_t>(avals.size()) && axis >= 0 &&
        axis < avals[static_cast<size_t>(index)].rank() && length >= 0 && length < num_lengths) {
      continue;
    }
    throw Error(ErrorKind::kIndex,
                concat("there is no axis ", axis, " of ", what, " ", index, ", or no length ", length))
        .hint("write the array, the axis and the length of each, counted from 0: in_ragged=[0, 0, 0]");
  }
}

Avals mask_type(absl::Span<const Aval> operands, const Attrs& attributes) {
  const MaskAttrs attrs = mask_attrs(attributes);
  if (attrs.num_lengths < 0 || attrs.num_lengths > static_cast<int64_t>(operands.size())) {
    throw Error(ErrorKind::kType,
                concat("got ", operands.size(), " operands, fewer than ", attrs.num_lengths, " lengths"))
        .hint("num_lengths counts the first operands, which are lengths");
  }
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  for (const Aval& aval : operands.subspan(0, num_lengths)) {
    if (same_type(aval, Aval(DType::kInt32, {}))) continue;
    throw Error(ErrorKind::kType, concat("a length must be an int32 scalar, got ", aval.to_string()))
        .hint("num_lengths counts the first operands, which are lengths");
  }
  check_graph_inputs(*attrs.graph, operands, "the masked function");
  if (!attrs.bounds.empty() && attrs.bounds.size() != num_lengths) {
    throw Error(ErrorKind::kValue, concat("got ", attrs.bounds.size(), " bounds of ", num_lengths, " lengths"))
        .hint("give a bound for each length, or leave bounds out");
  }
  check_triples(attrs.in_ragged, operands.subspan(num_lengths), attrs.num_lengths, "operand");
  Avals outputs = attrs.graph->output_avals();
  const Ints& out_ragged = attributes.ints("out_ragged");
  const int64_t most = out_ragged.empty() ? 0 : *std::ranges::max_element(out_ragged) + 1;
  check_triples(out_ragged, outputs, most, "output");
  outputs.resize(outputs.size() + num_positions(out_ragged), Aval(DType::kInt32, {}));
  return outputs;
}

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// By length: the smallest axis that it is of.
Ints bounds_of(const MaskAttrs& attrs) {
  Ints bounds(static_cast<size_t>(attrs.num_lengths), kUnbounded);
  for (const auto& [array, axis, length] : axes_in(attrs.in_ragged)) {
    const Aval& aval = attrs.graph->aval(static_cast<Var>(bounds.size() + array));
    bounds[length] = std::min(bounds[length], aval.shape()[axis]);
  }
  return bounds;
}

// Of a derived region the arrays that tell may be gone; what is known all the same is an attribute.
Ints known_bounds(const MaskAttrs& attrs) {
  Ints bounds = bounds_of(attrs);
  for (size_t i = 0; i < attrs.bounds.size(); ++i) bounds[i] = std::min(bounds[i], attrs.bounds[i]);
  return bounds;
}

// A length that is of no axis has been held before, and so has one that lies within the bound: loops that end at one
// length must be seen to do so.
Value held_length(Value length, int64_t bound) {
  if (bound == kUnbounded) return length;
  const std::optional<Range> range = range_of(length);
  const bool within = length.dtype() == DType::kInt32 && range && range->least >= 0 && range->most <= bound;
  return within ? length : clamp_length(length, bound);
}

std::vector<Masked> masked_inputs(const MaskAttrs& attrs, absl::Span<const Value> operands) {
  std::vector<Masked> inputs;
  for (const Value& operand : operands) inputs.push_back(exact(operand));
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  for (const auto& [array, axis, length] : axes_in(attrs.in_ragged)) {
    inputs[num_lengths + array].lengths[axis] = operands[length];
  }
  return inputs;
}

// The mask rules, run only for the lengths that they find.
struct Trial {
  Builder builder;
  Values inputs;
  std::vector<Masked> outputs;

  explicit Trial(const MaskAttrs& attrs) {
    inputs = inputs_like(builder, *attrs.graph);
    const Ints bounds = known_bounds(attrs);
    for (size_t i = 0; i < bounds.size(); ++i) builder.bound_length(inputs[i], bounds[i]);
    outputs = mask_inline(builder, *attrs.graph, masked_inputs(attrs, inputs));
  }
  // The lengths (and whatever else) of this trial's inputs are those values.
  LengthMap base(absl::Span<const Value> values) const {
    LengthMap result;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i]) result.emplace(inputs[i].var, values[i]);
    }
    return result;
  }
};

// Which length result is that of an axis of an output. It has to be ragged.
size_t position_of(const Ints& out_ragged, size_t output, size_t axis) {
  for (const RaggedAxis& each : axes_in(out_ragged)) {
    if (each.array == output && each.axis == axis) return each.length;
  }
  CT_CHECK(false);
  return 0;
}

// ---- jvp -----------------------------------------------------------------------------------------------------------

JvpResult mask_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attributes) {
  const KeepLengths lengths_kept;
  const MaskAttrs attrs = mask_attrs(*attributes);
  const Ints& out_ragged = attributes->ints("out_ragged");
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  const JvpGraph derivative = jvp_of(attrs.graph, present(tangents));
  MaskAttrs moved{derivative.graph, attrs.num_lengths, attrs.in_ragged, attrs.bounds};
  Values operands(primals.begin(), primals.end());
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i]) continue;
    copy_axes(attrs.in_ragged, i - num_lengths, operands.size() - num_lengths, moved.in_ragged);
    operands.push_back(tangents[i]);
  }
  const Values results = mask_region(builder, moved, operands);
  const size_t num_results = derivative.graph->outputs().size();
  JvpResult unpacked = unpack_jvp(absl::MakeConstSpan(results).subspan(0, num_results), derivative.nonzero_out);
  // The lengths are still those of the primal outputs.
  const Ints found = ragged_outputs(moved);
  Values lengths(num_positions(out_ragged));
  for (const auto& [output, axis, length] : axes_in(out_ragged)) {
    lengths[length] = results[num_results + position_of(found, output, axis)];
  }
  append(unpacked.outputs, lengths);
  unpacked.tangents.resize(unpacked.outputs.size());
  return unpacked;
}

// ---- split ---------------------------------------------------------------------------------------------------------

// A region on each sheet. The unknown one has as inputs the lengths, further lengths that only the known region can
// compute, and as arrays the residuals and the unknown operands.
class MaskSplit {
 public:
  MaskSplit(SplitContext& context, absl::Span<const SplitValue> operands, const AttrsPtr& attributes)
      : context_(context),
        operands_(operands),
        attrs_(mask_attrs(*attributes)),
        out_ragged_(attributes->ints("out_ragged")),
        num_lengths_(static_cast<size_t>(attrs_.num_lengths)),
        sheets_(split_of(attrs_.graph, unknown_mask(operands))),
        bounds_(known_bounds(attrs_)),
        known_{sheets_.known, attrs_.num_lengths, {}, bounds_} {}

  std::vector<SplitValue> run() {
    make_known();
    const Trial trial(known_);
    make_unknown(trial);
    std::vector<SplitValue> results = merge_sheets(sheets_.out_known, known_results_, unknown_results_);
    results.resize(sheets_.out_known.size() + num_positions(out_ragged_));
    find_lengths(true, results);
    find_lengths(false, results);
    return results;
  }

 private:
  void make_known() {
    const Ints bounds = bounds_of(attrs_);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Value operand = operands_[i].known;
      if (!operands_[i].is_known()) continue;
      if (i >= num_lengths_) {
        copy_axes(attrs_.in_ragged, i - num_lengths_, known_operands_.size() - num_lengths_, known_.in_ragged);
      }
      known_operands_.push_back(i < num_lengths_ ? held_length(operand, bounds[i]) : operand);
    }
    known_ragged_ = ragged_outputs(known_);
    known_results_ = mask_region(context_.known(), known_, known_operands_);
  }

  void make_unknown(const Trial& trial) {
    for (size_t i = 0; i < num_lengths_; ++i) {
      length_operands_.push_back(context_.residual(known_operands_[i]));
      lengths_.push_back(builder_.input(Aval(DType::kInt32, {})));
    }
    LengthMap base = trial.base(lengths_);
    Values arguments;
    const size_t first_residual = count(sheets_.out_known);
    for (size_t r = 0; r < sheets_.num_residuals; ++r) {
      arguments.push_back(residual(r, first_residual + r, trial.outputs[first_residual + r], base));
    }
    MaskAttrs unknown{nullptr, static_cast<int64_t>(lengths_.size()), in_ragged_, bounds_};
    for (size_t i = num_lengths_; i < operands_.size(); ++i) {
      if (operands_[i].is_known()) continue;
      copy_axes(attrs_.in_ragged, i - num_lengths_, arrays_.size(), unknown.in_ragged);
      arguments.push_back(add_array(operands_[i].unknown));
    }
    const Values outputs = builder_.inline_graph(*sheets_.unknown, arguments);
    append(lengths_, arrays_);
    append(length_operands_, array_operands_);
    builder_.arrange_inputs(lengths_);
    unknown.graph = builder_.finish(outputs);
    unknown_results_ = mask_region(context_.unknown(), unknown, length_operands_);
    unknown_ragged_ = ragged_outputs(unknown);
    num_unknown_ = outputs.size();
  }

  // Of a value in the trial.
  Value add_length(Value operand, Value made, LengthMap& base) {
    length_operands_.push_back(operand);
    const std::optional<Range> range = range_of_integer(made);
    bounds_.push_back(range ? range->most : kUnbounded);
    lengths_.push_back(builder_.input(Aval(DType::kInt32, {})));
    const Value length = lengths_.back();
    return base.emplace(made.var, held_to_counted(made, length, base)).first->second;
  }
  Value add_array(Value operand) {
    array_operands_.push_back(operand);
    arrays_.push_back(builder_.input(operand.aval()));
    return arrays_.back();
  }

  // A length of the known region in the unknown one: made of what is there, or one that is there and equal, however it
  // was worked out.
  Value known_as(Value length, LengthMap& base) {
    if (const Value same = rebuild_length(length, builder_, base)) return same;
    Value found;  // of several the first that was made, so that programs are the same each time
    for (const auto& [var, value] : base) {
      if (!same_type(value.aval(), length.aval()) || (found && found.var < value.var)) continue;
      if (same_length({length.builder, var}, length)) found = value;
    }
    return found;
  }
  static bool is_length(Value value) { return same_type(value.aval(), Aval(DType::kInt32, {})); }

  // A residual inside of the unknown region. `base` has what the known region's lengths are there.
  Value residual(size_t index, size_t output, const Masked& made, LengthMap& base) {
    const bool is_length = MaskSplit::is_length(made.value);
    // A residual that is a length stays one: equal lengths must be the same value inside.
    if (is_length_type(made.value.aval())) {
      if (const Value same = known_as(made.value, base)) return same;
    }
    const int input = sheets_.residual_input[index];
    const Value known = input >= 0 ? known_operands_[static_cast<size_t>(input)] : known_results_[output];
    // Where arrays of that length are not there, all that is known of it is that it is one.
    const bool stays_length = is_length && never_negative(made.value);
    if (stays_length) return add_length(context_.residual(known), made.value, base);
    Value array = add_array(context_.residual(known));
    if (is_length) base.emplace(made.value.var, array);
    const size_t position = arrays_.size() - 1;
    for (size_t axis = 0; axis < made.lengths.size(); ++axis) {
      if (!made.lengths[axis]) continue;
      Value length = known_as(made.lengths[axis], base);
      if (!length) {
        length = add_length(context_.residual(known_length(output, axis)), made.lengths[axis], base);
      }
      const auto at = std::find(lengths_.begin(), lengths_.end(), length);
      if (at != lengths_.end()) {
        add_axis(in_ragged_, {position, axis, static_cast<size_t>(at - lengths_.begin())});
      } else {
        array = set_length(array, length, static_cast<int>(axis));
      }
    }
    return array;
  }

  Value known_length(size_t output, size_t axis) const {
    return length_of(known_ragged_, output, axis, known_results_, sheets_.known->outputs().size());
  }
  // Results are a region's outputs and then the lengths that these have.
  static Value length_of(const Ints& ragged, size_t output, size_t axis, const Values& results, size_t num_outputs) {
    return results[num_outputs + position_of(ragged, output, axis)];
  }

  // Lengths are known when any output that has them is.
  void find_lengths(bool of_known, std::vector<SplitValue>& results) const {
    size_t next = 0;  // among the outputs of the sheet
    for (size_t k = 0; k < sheets_.out_known.size(); ++k) {
      if (sheets_.out_known[k] != of_known) continue;
      const size_t own = next++;
      for (const auto& [output, axis, position] : axes_in(out_ragged_)) {
        if (output != k) continue;
        SplitValue& length = results[sheets_.out_known.size() + position];
        if (length.known || length.unknown) continue;
        length = of_known
                     ? SplitValue::on_known(known_length(own, axis))
                     : SplitValue::on_unknown(length_of(unknown_ragged_, own, axis, unknown_results_, num_unknown_));
      }
    }
  }

  SplitContext& context_;
  const absl::Span<const SplitValue> operands_;
  const MaskAttrs attrs_;
  const Ints& out_ragged_;
  const size_t num_lengths_;
  const SplitGraph sheets_;

  Ints bounds_;  // of lengths_
  MaskAttrs known_;
  Values known_operands_, known_results_;
  Ints known_ragged_;

  Builder builder_;                          // of the unknown region
  Values lengths_, arrays_;                  // its inputs,
  Values length_operands_, array_operands_;  // what they are given,
  Ints in_ragged_;                           // and which axes of residuals are ragged
  Values unknown_results_;
  Ints unknown_ragged_;
  size_t num_unknown_ = 0;
};

std::vector<SplitValue> mask_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                   const AttrsPtr& attributes) {
  const KeepLengths lengths_kept;
  for (const SplitValue& length : operands.subspan(0, static_cast<size_t>(mask_attrs(*attributes).num_lengths))) {
    if (!length.is_known()) return split_whole(context, kMask, operands, attributes);
  }
  return MaskSplit(context, operands, attributes).run();
}

// ---- transpose -----------------------------------------------------------------------------------------------------

// Cotangents are as ragged as what they belong to.
Values mask_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const KeepLengths lengths_kept;
  const MaskAttrs attrs = mask_attrs(*attributes);
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  const size_t num_outputs = attrs.graph->outputs().size();
  const absl::Span<const Value> cotangents = input.cotangents.subspan(0, num_outputs);
  const BackwardGraph backward = backward_of(attrs.graph, linear_operands(input), present(cotangents));
  const Trial trial(attrs);

  MaskAttrs back{nullptr, attrs.num_lengths, {}, known_bounds(attrs)};
  const Ints bounds = bounds_of(attrs);
  Builder inner;
  Values inside(input.operands.size());
  Values arguments, operands;
  for (size_t i = 0; i < input.operands.size(); ++i) {
    if (!input.operands[i]) continue;
    inside[i] = inner.input(input.avals[i]);
    if (i >= num_lengths) copy_axes(attrs.in_ragged, i - num_lengths, operands.size() - num_lengths, back.in_ragged);
    arguments.push_back(inside[i]);
    operands.push_back(i < num_lengths ? held_length(input.operands[i], bounds[i]) : input.operands[i]);
  }
  LengthMap base = trial.base(inside);
  for (size_t k = 0; k < num_outputs; ++k) {
    if (!cotangents[k]) continue;
    Value cotangent = inner.input(cotangents[k].aval());
    for (size_t axis = 0; axis < trial.outputs[k].lengths.size(); ++axis) {
      const Value length = trial.outputs[k].lengths[axis];
      if (!length) continue;
      const Value own = rebuild_length(length, inner, base);
      CT_CHECK(own);  // of linear inputs no length can be made: transposing the body has refused that
      const auto own_lengths = absl::MakeConstSpan(inside).first(num_lengths);
      const auto position = static_cast<size_t>(std::ranges::find(own_lengths, own) - own_lengths.begin());
      if (position < num_lengths) {
        add_axis(back.in_ragged, {operands.size() - num_lengths, axis, position});
      } else {
        cotangent = first_elements(cotangent, own, static_cast<int>(axis));
      }
    }
    arguments.push_back(cotangent);
    operands.push_back(cotangents[k]);
  }
  Values outputs = spread(inner.inline_graph(*backward.graph, arguments), backward.nonzero);
  for (const auto& [array, axis, length] : axes_in(attrs.in_ragged)) {
    Value& output = outputs[num_lengths + array];
    if (output) output = set_length(output, inside[length], static_cast<int>(axis));
  }
  const Values found = only_present(outputs);
  back.graph = inner.finish(found);
  const Values results = mask_region(builder, back, operands);
  return spread(absl::MakeConstSpan(results).subspan(0, found.size()), backward.nonzero);
}

// ---- expand --------------------------------------------------------------------------------------------------------

// On inputs of their own, where the rules find what they found when the region was made: in `builder` a length may be a
// constant by now, and an axis as long as its bound exact.
Values mask_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attributes) {
  const Ints& out_ragged = attributes->ints("out_ragged");
  const MaskAttrs attrs = mask_attrs(*attributes);
  Trial trial(attrs);
  Values results;
  for (const Masked& output : trial.outputs) {
    Masked clean = output;
    for (int axis = 0; axis < clean.value.rank(); ++axis) clean.value = fill_padded(clean, axis, 0);
    results.push_back(clean.value);
  }
  Values lengths(num_positions(out_ragged));
  for (const auto& [output, axis, position] : axes_in(out_ragged)) {
    lengths[position] = trial.outputs[output].lengths[axis];
    CT_CHECK(lengths[position]);
  }
  append(results, lengths);
  Values held(operands.begin(), operands.end());
  const Ints bounds = bounds_of(attrs);
  for (size_t i = 0; i < bounds.size(); ++i) held[i] = held_length(held[i], bounds[i]);
  return builder.inline_graph(*trial.builder.finish(results), held);
}

// Inside of another mask an array ends at its length there.
std::vector<Masked> mask_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attributes) {
  const MaskAttrs attrs = mask_attrs(*attributes);
  std::vector<Masked> held(operands.begin(), operands.end());
  for (const auto& [array, axis, position] : axes_in(attrs.in_ragged)) {
    const Value size = operands[static_cast<size_t>(attrs.num_lengths) + array].lengths[axis];
    Value& length = held[position].value;
    if (size && size != length) length = clamp_length(length, size);
  }
  return mask_expansion(builder, kMask, held, attributes);
}

Primitive mask_primitive() {
  Primitive result = expanding("mask", mask_expand);
  result.attributes = {{"bounds", AttributeKind::kIntegers, kOptional},
                       {"graph", AttributeKind::kGraph},
                       {"in_ragged", AttributeKind::kIntegers},
                       {"num_lengths", AttributeKind::kInteger},
                       {"out_ragged", AttributeKind::kIntegers}};
  result.several_results = true;
  result.type = mask_type;
  result.jvp = mask_jvp;
  result.split = mask_split;
  result.transpose = mask_transpose;
  result.mask = mask_mask;
  result.batch = [](Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                    const AttrsPtr& attrs) { return batch_later(builder, kMask, operands, axis, attrs); };
  result.region = Region::kRagged;
  return result;
}
}  // namespace

const Primitive& kMask = define(mask_primitive());

Ints ragged_outputs(const MaskAttrs& attrs) {
  LocationScope nowhere(kNoLocation);
  const Trial trial(attrs);
  Values distinct;
  Ints result;
  for (size_t k = 0; k < trial.outputs.size(); ++k) {
    const Values& lengths = trial.outputs[k].lengths;
    for (size_t axis = 0; axis < lengths.size(); ++axis) {
      if (!lengths[axis]) continue;
      const auto position = static_cast<size_t>(std::ranges::find(distinct, lengths[axis]) - distinct.begin());
      if (position == distinct.size()) distinct.push_back(lengths[axis]);
      add_axis(result, {k, axis, position});
    }
  }
  return result;
}

Values mask_region(Builder& builder, const MaskAttrs& attrs, absl::Span<const Value> operands) {
  std::vector<std::pair<std::string, AttrValue>> entries = {{"graph", attrs.graph},
                                                            {"in_ragged", attrs.in_ragged},
                                                            {"num_lengths", attrs.num_lengths},
                                                            {"out_ragged", ragged_outputs(attrs)}};
  const Ints bounds = known_bounds(attrs);
  if (bounds != bounds_of(attrs)) entries.emplace_back("bounds", bounds);
  return builder.bind(kMask, operands, Attrs::make(std::move(entries)));
}

}  // namespace ct
