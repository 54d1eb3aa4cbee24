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
#include "ir/error.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

using LengthMap = absl::flat_hash_map<Var, Value>;

MaskAttrs read(const Attrs& attrs) {
  return {attrs.graph("graph"), attrs.integer("num_lengths"), attrs.ints("in_ragged")};
}

size_t num_triples(const Ints& ragged) { return ragged.size() / 3; }

int64_t num_positions(const Ints& out_ragged) {
  int64_t positions = 0;
  for (size_t t = 0; t < num_triples(out_ragged); ++t) positions = std::max(positions, out_ragged[3 * t + 2] + 1);
  return positions;
}

// The triples of operand `from`, as those of operand `to`.
void copy_triples(const Ints& ragged, size_t from, size_t to, Ints& result) {
  for (size_t t = 0; t < num_triples(ragged); ++t) {
    if (ragged[3 * t] != static_cast<int64_t>(from)) continue;
    result.insert(result.end(), {static_cast<int64_t>(to), ragged[3 * t + 1], ragged[3 * t + 2]});
  }
}

void check_triples(const Ints& ragged, absl::Span<const Aval> avals, int64_t num_lengths, std::string_view what) {
  if (ragged.size() % 3 != 0) throw Error(ErrorKind::kValue, concat("ragged axes of ", what, " come in triples"));
  for (size_t t = 0; t < num_triples(ragged); ++t) {
    const int64_t index = ragged[3 * t], axis = ragged[3 * t + 1], length = ragged[3 * t + 2];
    if (index >= 0 && index < static_cast<int64_t>(avals.size()) && axis >= 0 &&
        axis < avals[static_cast<size_t>(index)].rank() && length >= 0 && length < num_lengths) {
      continue;
    }
    throw Error(ErrorKind::kIndex,
                concat("there is no axis ", axis, " of ", what, " ", index, ", or no length ", length));
  }
}

Avals mask_type(absl::Span<const Aval> operands, const Attrs& attributes) {
  const MaskAttrs attrs = read(attributes);
  if (attrs.num_lengths < 0 || attrs.num_lengths > static_cast<int64_t>(operands.size())) {
    throw Error(ErrorKind::kType,
                concat("got ", operands.size(), " operands, fewer than ", attrs.num_lengths, " lengths"));
  }
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  for (const Aval& aval : operands.subspan(0, num_lengths)) {
    if (same_type(aval, Aval(DType::kInt32, {}))) continue;
    throw Error(ErrorKind::kType, concat("a length must be an int32 scalar, got ", aval.to_string()));
  }
  check_graph_inputs(*attrs.graph, operands, "the masked function");
  check_triples(attrs.in_ragged, operands.subspan(num_lengths), attrs.num_lengths, "operand");
  Avals outputs = attrs.graph->output_avals();
  const Ints& out_ragged = attributes.ints("out_ragged");
  const int64_t positions = num_positions(out_ragged);
  check_triples(out_ragged, outputs, positions, "output");
  outputs.resize(outputs.size() + static_cast<size_t>(positions), Aval(DType::kInt32, {}));
  return outputs;
}

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// By length: the smallest axis that it is of.
Ints bounds_of(const MaskAttrs& attrs) {
  Ints bounds(static_cast<size_t>(attrs.num_lengths), kUnbounded);
  for (size_t t = 0; t < num_triples(attrs.in_ragged); ++t) {
    const Aval& array = attrs.graph->aval(static_cast<Var>(attrs.num_lengths + attrs.in_ragged[3 * t]));
    int64_t& bound = bounds[static_cast<size_t>(attrs.in_ragged[3 * t + 2])];
    bound = std::min(bound, array.shape()[static_cast<size_t>(attrs.in_ragged[3 * t + 1])]);
  }
  return bounds;
}

// A length that is of no axis has been held before.
Value held_length(Value length, int64_t bound) { return bound == kUnbounded ? length : clamp_length(length, bound); }

std::vector<Masked> masked_inputs(const MaskAttrs& attrs, absl::Span<const Value> operands) {
  std::vector<Masked> inputs;
  for (const Value& operand : operands) inputs.push_back(exact(operand));
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  for (size_t t = 0; t < num_triples(attrs.in_ragged); ++t) {
    const auto operand = static_cast<size_t>(attrs.in_ragged[3 * t]);
    const auto axis = static_cast<size_t>(attrs.in_ragged[3 * t + 1]);
    inputs[num_lengths + operand].lengths[axis] = operands[static_cast<size_t>(attrs.in_ragged[3 * t + 2])];
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

// The length results that belong to the ragged axes of an output: axis -> position, -1 for exact axes.
std::vector<int64_t> positions_of(const Ints& out_ragged, size_t output, int rank) {
  std::vector<int64_t> result(static_cast<size_t>(rank), -1);
  for (size_t t = 0; t < num_triples(out_ragged); ++t) {
    if (out_ragged[3 * t] == static_cast<int64_t>(output)) {
      result[static_cast<size_t>(out_ragged[3 * t + 1])] = out_ragged[3 * t + 2];
    }
  }
  return result;
}

// ---- jvp -----------------------------------------------------------------------------------------------------------

JvpResult mask_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attributes) {
  const KeepLengths lengths_kept;
  const MaskAttrs attrs = read(*attributes);
  const Ints& out_ragged = attributes->ints("out_ragged");
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  const JvpGraph derivative = jvp_of(attrs.graph, present(tangents));
  MaskAttrs moved{derivative.graph, attrs.num_lengths, attrs.in_ragged};
  Values operands(primals.begin(), primals.end());
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i]) continue;
    copy_triples(attrs.in_ragged, i - num_lengths, operands.size() - num_lengths, moved.in_ragged);
    operands.push_back(tangents[i]);
  }
  const Values results = mask_region(builder, moved, operands);
  const size_t num_results = derivative.graph->outputs().size();
  JvpResult unpacked = unpack_jvp(absl::MakeConstSpan(results).subspan(0, num_results), derivative.nonzero_out);
  // The lengths are still those of the primal outputs.
  const Ints found = ragged_outputs(moved);
  Values lengths(static_cast<size_t>(num_positions(out_ragged)));
  for (size_t t = 0; t < num_triples(out_ragged); ++t) {
    const auto output = static_cast<size_t>(out_ragged[3 * t]);
    const int64_t position =
        positions_of(found, output, unpacked.outputs[output].rank())[static_cast<size_t>(out_ragged[3 * t + 1])];
    CT_CHECK(position >= 0);
    lengths[static_cast<size_t>(out_ragged[3 * t + 2])] = results[num_results + static_cast<size_t>(position)];
  }
  append(unpacked.outputs, lengths);
  unpacked.tangents.resize(unpacked.outputs.size());
  return unpacked;
}

// ---- split ---------------------------------------------------------------------------------------------------------

std::vector<SplitValue> mask_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                   const AttrsPtr& attributes) {
  const KeepLengths lengths_kept;
  const MaskAttrs attrs = read(*attributes);
  const Ints& out_ragged = attributes->ints("out_ragged");
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  for (const SplitValue& length : operands.subspan(0, num_lengths)) {
    if (!length.is_known()) return split_whole(context, kMask, operands, attributes);
  }
  const SplitGraph sheets = split_of(attrs.graph, unknown_mask(operands));
  const size_t num_known = count(sheets.out_known);

  MaskAttrs known{sheets.known, attrs.num_lengths, {}};
  const Ints bounds = bounds_of(attrs);
  Values known_operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_known()) continue;
    if (i >= num_lengths) {
      copy_triples(attrs.in_ragged, i - num_lengths, known_operands.size() - num_lengths, known.in_ragged);
    }
    known_operands.push_back(i < num_lengths ? held_length(operands[i].known, bounds[i]) : operands[i].known);
  }
  const Trial trial(known);
  const Ints known_ragged = ragged_outputs(known);
  const Values known_results = mask_region(context.known(), known, known_operands);
  const size_t num_known_results = sheets.known->outputs().size();
  const auto known_length = [&](size_t output, size_t axis) {
    const int64_t position = positions_of(known_ragged, output, trial.outputs[output].value.rank())[axis];
    CT_CHECK(position >= 0);
    return known_results[num_known_results + static_cast<size_t>(position)];
  };

  // The unknown region: lengths, further lengths that only the known region can compute, residuals, unknown operands.
  Builder builder;
  Values lengths, more_lengths, arrays;
  for (size_t i = 0; i < num_lengths; ++i) lengths.push_back(builder.input(Aval(DType::kInt32, {})));
  LengthMap base = trial.base(lengths);
  struct Ragged {
    size_t array, axis;
    Value length;  // an input of the unknown region
  };
  std::vector<Ragged> ragged;
  Values unknown_lengths, unknown_arrays;  // operands, on the unknown sheet
  for (size_t i = 0; i < num_lengths; ++i) unknown_lengths.push_back(context.residual(known_operands[i]));
  Values arguments;
  for (size_t r = 0; r < sheets.num_residuals; ++r) {
    const size_t output = num_known + r;
    const Masked& residual = trial.outputs[output];
    // A residual that is a length stays one: equal lengths must be the same value inside.
    if (same_type(residual.value.aval(), Aval(DType::kInt32, {}))) {
      if (const Value same = rebuild_length(residual.value, builder, base)) {
        arguments.push_back(same);
        continue;
      }
    }
    Value array = builder.input(residual.value.aval());
    if (same_type(array.aval(), Aval(DType::kInt32, {}))) base.emplace(residual.value.var, array);
    const int input = sheets.residual_input[r];
    unknown_arrays.push_back(
        context.residual(input >= 0 ? known_operands[static_cast<size_t>(input)] : known_results[output]));
    arrays.push_back(array);
    for (size_t axis = 0; axis < residual.lengths.size(); ++axis) {
      const Value length = residual.lengths[axis];
      if (!length) continue;
      Value inside = rebuild_length(length, builder, base);
      if (!inside) {
        inside = builder.input(Aval(DType::kInt32, {}));
        more_lengths.push_back(inside);
        unknown_lengths.push_back(context.residual(known_length(output, axis)));
        base.emplace(length.var, inside);
      }
      const bool is_input = std::find(lengths.begin(), lengths.end(), inside) != lengths.end() ||
                            std::find(more_lengths.begin(), more_lengths.end(), inside) != more_lengths.end();
      if (is_input) {
        ragged.push_back({arrays.size() - 1, axis, inside});
      } else {
        array = set_length(array, inside, static_cast<int>(axis));
      }
    }
    arguments.push_back(array);
  }
  append(lengths, more_lengths);
  MaskAttrs unknown{nullptr, static_cast<int64_t>(lengths.size()), {}};
  for (const Ragged& axis : ragged) {
    const auto length = std::find(lengths.begin(), lengths.end(), axis.length) - lengths.begin();
    unknown.in_ragged.insert(unknown.in_ragged.end(),
                             {static_cast<int64_t>(axis.array), static_cast<int64_t>(axis.axis), length});
  }
  for (size_t i = num_lengths; i < operands.size(); ++i) {
    if (operands[i].is_known()) continue;
    copy_triples(attrs.in_ragged, i - num_lengths, arrays.size(), unknown.in_ragged);
    arrays.push_back(builder.input(operands[i].aval()));
    arguments.push_back(arrays.back());
    unknown_arrays.push_back(operands[i].unknown);
  }
  const Values outputs = builder.inline_graph(*sheets.unknown, arguments);
  Values order = lengths;
  append(order, arrays);
  builder.arrange_inputs(order);
  unknown.graph = builder.finish(outputs);
  Values unknown_operands = unknown_lengths;
  append(unknown_operands, unknown_arrays);
  const Values unknown_results = mask_region(context.unknown(), unknown, unknown_operands);
  const Ints unknown_ragged = ragged_outputs(unknown);

  std::vector<SplitValue> results = merge_sheets(sheets.out_known, known_results, unknown_results);
  results.resize(sheets.out_known.size() + static_cast<size_t>(num_positions(out_ragged)));
  // Lengths are known when any output that has them is.
  for (const bool from_known : {true, false}) {
    size_t next = 0;  // among the outputs of the sheet
    for (size_t k = 0; k < sheets.out_known.size(); ++k) {
      if (sheets.out_known[k] != from_known) continue;
      const size_t own = next++;
      for (size_t t = 0; t < num_triples(out_ragged); ++t) {
        if (out_ragged[3 * t] != static_cast<int64_t>(k)) continue;
        const auto axis = static_cast<size_t>(out_ragged[3 * t + 1]);
        SplitValue& length = results[sheets.out_known.size() + static_cast<size_t>(out_ragged[3 * t + 2])];
        if (length.known || length.unknown) continue;
        if (from_known) {
          length = SplitValue::on_known(known_length(own, axis));
          continue;
        }
        const int64_t position = positions_of(unknown_ragged, own, unknown_results[own].rank())[axis];
        CT_CHECK(position >= 0);
        length = SplitValue::on_unknown(unknown_results[outputs.size() + static_cast<size_t>(position)]);
      }
    }
  }
  return results;
}

// ---- transpose -----------------------------------------------------------------------------------------------------

// Cotangents are as ragged as what they belong to.
Values mask_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const KeepLengths lengths_kept;
  const MaskAttrs attrs = read(*attributes);
  const auto num_lengths = static_cast<size_t>(attrs.num_lengths);
  const size_t num_outputs = attrs.graph->outputs().size();
  const absl::Span<const Value> cotangents = input.cotangents.subspan(0, num_outputs);
  const BackwardGraph backward = backward_of(attrs.graph, linear_operands(input), present(cotangents));
  const Trial trial(attrs);

  MaskAttrs back{nullptr, attrs.num_lengths, {}};
  const Ints bounds = bounds_of(attrs);
  Builder inner;
  Values inside(input.operands.size());
  Values arguments, operands;
  for (size_t i = 0; i < input.operands.size(); ++i) {
    if (!input.operands[i]) continue;
    inside[i] = inner.input(input.avals[i]);
    if (i >= num_lengths) copy_triples(attrs.in_ragged, i - num_lengths, operands.size() - num_lengths, back.in_ragged);
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
      if (!own) {
        throw Error(ErrorKind::kUnsupported, concat("the length of axis ", axis, " of output ", k,
                                                    " of a masked function depends on what it is linear in"));
      }
      const auto position = std::find(inside.begin(), inside.begin() + attrs.num_lengths, own) - inside.begin();
      if (position < attrs.num_lengths) {
        back.in_ragged.insert(back.in_ragged.end(), {static_cast<int64_t>(operands.size() - num_lengths),
                                                     static_cast<int64_t>(axis), position});
      } else {
        cotangent = first_elements(cotangent, own, static_cast<int>(axis));
      }
    }
    arguments.push_back(cotangent);
    operands.push_back(cotangents[k]);
  }
  Values outputs = spread(inner.inline_graph(*backward.graph, arguments), backward.nonzero);
  for (size_t t = 0; t < num_triples(attrs.in_ragged); ++t) {
    Value& output = outputs[num_lengths + static_cast<size_t>(attrs.in_ragged[3 * t])];
    if (!output) continue;
    output = set_length(output, inside[static_cast<size_t>(attrs.in_ragged[3 * t + 2])],
                        static_cast<int>(attrs.in_ragged[3 * t + 1]));
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
  const MaskAttrs attrs = read(*attributes);
  Trial trial(attrs);
  Values results;
  for (const Masked& output : trial.outputs) {
    Masked clean = output;
    for (int axis = 0; axis < clean.value.rank(); ++axis) clean.value = fill_padded(clean, axis, 0);
    results.push_back(clean.value);
  }
  Values lengths(static_cast<size_t>(num_positions(out_ragged)));
  for (size_t t = 0; t < num_triples(out_ragged); ++t) {
    const Value length =
        trial.outputs[static_cast<size_t>(out_ragged[3 * t])].lengths[static_cast<size_t>(out_ragged[3 * t + 1])];
    CT_CHECK(length);
    lengths[static_cast<size_t>(out_ragged[3 * t + 2])] = length;
  }
  append(results, lengths);
  Values held(operands.begin(), operands.end());
  const Ints bounds = bounds_of(attrs);
  for (size_t i = 0; i < bounds.size(); ++i) held[i] = held_length(held[i], bounds[i]);
  return builder.inline_graph(*trial.builder.finish(results), held);
}

// Inside of another mask an array ends at its length there.
std::vector<Masked> mask_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attributes) {
  const MaskAttrs attrs = read(*attributes);
  std::vector<Masked> held(operands.begin(), operands.end());
  for (size_t t = 0; t < num_triples(attrs.in_ragged); ++t) {
    const Masked& array = operands[static_cast<size_t>(attrs.num_lengths + attrs.in_ragged[3 * t])];
    const Value size = array.lengths[static_cast<size_t>(attrs.in_ragged[3 * t + 1])];
    Value& length = held[static_cast<size_t>(attrs.in_ragged[3 * t + 2])].value;
    if (size && size != length) length = clamp_length(length, size);
  }
  return mask_expansion(builder, kMask, held, attributes);
}

Primitive mask_primitive() {
  Primitive result = expanding("mask", mask_expand);
  result.attributes = {{"graph", AttributeKind::kGraph},
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
      const auto position = std::find(distinct.begin(), distinct.end(), lengths[axis]) - distinct.begin();
      if (position == static_cast<int64_t>(distinct.size())) distinct.push_back(lengths[axis]);
      result.insert(result.end(), {static_cast<int64_t>(k), static_cast<int64_t>(axis), position});
    }
  }
  return result;
}

Values mask_region(Builder& builder, const MaskAttrs& attrs, absl::Span<const Value> operands) {
  return builder.bind(kMask, operands,
                      Attrs::make({{"graph", attrs.graph},
                                   {"in_ragged", attrs.in_ragged},
                                   {"num_lengths", attrs.num_lengths},
                                   {"out_ragged", ragged_outputs(attrs)}}));
}

}  // namespace ct
