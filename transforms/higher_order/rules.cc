#include "transforms/higher_order/rules.h"

#include <algorithm>
#include <limits>

#include "ir/combinators.h"
#include "ir/length_counts.h"
#include "ir/length_form.h"
#include "ir/length_range.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"

namespace ct {

// ---- types ---------------------------------------------------------------------------------------------------------

void check_graph_inputs(const Graph& graph, absl::Span<const Aval> operands, std::string_view whose) {
  if (operands.size() != graph.num_inputs()) {
    throw Error(ErrorKind::kType, concat(whose, " takes ", graph.num_inputs(), " values, got ", operands.size()))
        .hint("give a value for each input of the graph within");
  }
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (same_type(graph.aval(i), operands[i])) continue;
    throw Error(ErrorKind::kType, concat(whose, " takes ", graph.aval(i).to_string(), " for ", input_name(graph, i),
                                         ", got ", operands[i].to_string()))
        .hint("convert the value, or write the graph within for values of its type");
  }
}

void check_carry(size_t index, const Aval& entry, const Aval& result) {
  if (same_type(entry, result)) return;
  throw Error(ErrorKind::kType, concat("carry ", index, " has type ", entry.to_string(),
                                       " on entry but the body returns ", result.to_string()))
      .hint(
          "the carry must keep its shape and dtype from step to step: convert the first carry or what the body "
          "returns")
      .see("scan-carry");
}

void check_same_outputs(const Avals& expected, const Avals& found, std::string_view whose) {
  if (expected.size() != found.size()) {
    throw Error(ErrorKind::kType,
                concat(whose, " returns ", found.size(), " values, the first one returns ", expected.size()))
        .hint("all branches must return as many values, of the same shapes and dtypes");
  }
  for (size_t k = 0; k < expected.size(); ++k) {
    if (same_type(expected[k], found[k])) continue;
    throw Error(ErrorKind::kType, concat(whose, " returns ", found[k].to_string(), " as output ", k,
                                         ", the first one returns ", expected[k].to_string()))
        .hint("all branches must return the same shapes and dtypes");
  }
}

Flags inexact_flags(absl::Span<const Aval> avals) {
  Flags result;
  for (const Aval& aval : avals) result.push_back(is_inexact(aval.dtype()));
  return result;
}

// ---- jvp, split, transpose, batch ----------------------------------------------------------------------------------

JvpResult unpack_jvp(absl::Span<const Value> results, const Flags& nonzero_out) {
  const size_t num_outputs = nonzero_out.size();
  return {Values(results.begin(), results.begin() + num_outputs), spread(results.subspan(num_outputs), nonzero_out)};
}

Values primals_and_tangents(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                            const Flags& moving) {
  Values result(primals.begin(), primals.end());
  for (size_t i = 0; i < moving.size(); ++i) {
    if (moving[i]) result.push_back(instantiate(builder, tangents[i], primals[i].aval()));
  }
  return result;
}

std::vector<SplitValue> merge_sheets(const Flags& out_known, absl::Span<const Value> known,
                                     absl::Span<const Value> unknown) {
  std::vector<SplitValue> result;
  size_t next_known = 0, next_unknown = 0;
  for (bool on_known : out_known) {
    result.push_back(on_known ? SplitValue::on_known(known[next_known++])
                              : SplitValue::on_unknown(unknown[next_unknown++]));
  }
  return result;
}

Values known_values(absl::Span<const SplitValue> values) {
  Values result;
  for (const SplitValue& value : values) result.push_back(value.known);
  return result;
}

Flags linear_operands(const TransposeInput& input) { return negated(present(input.operands)); }

Values spread(absl::Span<const Value> values, const Flags& places) {
  Values result(places.size());
  size_t next = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i]) result[i] = values[next++];
  }
  return result;
}

Flags spread(const Flags& marks, const Flags& places) {
  Flags result = places;
  size_t next = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i]) result[i] = marks[next++];
  }
  return result;
}

std::vector<int> axes_of(absl::Span<const Batched> operands) {
  std::vector<int> result;
  for (const Batched& operand : operands) result.push_back(operand.axis);
  return result;
}

Values values_of(absl::Span<const Batched> operands) {
  Values result;
  for (const Batched& operand : operands) result.push_back(operand.value);
  return result;
}

std::vector<Batched> batched_in_front(absl::Span<const Value> results) {
  std::vector<Batched> outputs;
  for (const Value& result : results) outputs.push_back({result, 0});
  return outputs;
}

// ---- mask ----------------------------------------------------------------------------------------------------------

namespace {

void collect_base(Value length, Values& base) {
  const Equation* equation = length.builder->producer(length.var);
  if (equation != nullptr && computes_length(*length.builder, *equation)) {
    for (Var var : length.builder->operands(*equation)) collect_base({length.builder, var}, base);
    return;
  }
  if (std::find(base.begin(), base.end(), length) == base.end()) base.push_back(length);
}

// What is known of a value, where it is an input.
void keep_bound(Value from, Value to) {
  if (!never_negative(from)) return;
  const std::optional<Range> range = range_of_integer(from);
  to.builder->bound_length(to, range ? range->most : std::numeric_limits<int64_t>::max());
}

}  // namespace

Value rebuild_length(Value length, Builder& to, absl::flat_hash_map<Var, Value>& base) {
  if (const auto found = base.find(length.var); found != base.end()) return found->second;
  const Builder& from = *length.builder;
  const Equation* found = from.producer(length.var);
  if (found == nullptr || !computes_length(from, *found)) return {};
  const Equation equation = *found;
  Values operands;
  for (Var var : from.operands(equation)) {
    operands.push_back(rebuild_length({length.builder, var}, to, base));
    if (!operands.back()) return {};
  }
  // As add_lengths orders them.
  if (equation.primitive->computes(ScalarOp::kAdd) && operands[0].var > operands[1].var)
    std::swap(operands[0], operands[1]);
  const Value result = to.bind_shared(*equation.primitive, operands, from.attrs_ptr(equation))[0];
  base.emplace(length.var, result);
  return result;
}

Value held_to_counted(Value count, Value elsewhere, absl::flat_hash_map<Var, Value>& base) {
  const Value counted = counted_length(count);
  if (!counted || count.dtype() != DType::kInt32) return elsewhere;
  const Value most = rebuild_length(counted, *elsewhere.builder, base);
  return most ? smaller_length(elsewhere, most) : elsewhere;
}

MaskedSubGraph::MaskedSubGraph(Builder& outer, absl::Span<const Masked> operands) : outer_(&outer) {
  for (const Masked& operand : operands) {
    for (const Value& length : operand.lengths) {
      if (length) collect_base(length, outer_base_);
    }
  }
  for (const Value& length : outer_base_) {
    const Value inside = inner_.input(length.aval());
    keep_bound(length, inside);
    inward_.emplace(length.var, inside);
    outward_.emplace(inside.var, length);
  }
  for (const Value& length : outer_base_) {
    const Value held = held_to_counted(length, inward_.at(length.var), inward_);
    inward_.at(length.var) = held;
  }
}

Masked MaskedSubGraph::constant(const Masked& operand) {
  const Value input = inner_.input(operand.value.aval());
  if (!is_length_type(operand.value.aval())) return {input, lengths_inside(operand.lengths)};
  if (const Value same = rebuild_length(operand.value, inner_, inward_)) return {same, {}};
  // What declares a length inside may be all that knows it: set_length(broadcast(x), n), the transpose of a sum.
  keep_bound(operand.value, input);
  inward_.emplace(operand.value.var, input);
  outward_.emplace(input.var, operand.value);
  return {input, {}};
}

Values MaskedSubGraph::lengths_inside(absl::Span<const Value> lengths) {
  Values result;
  for (const Value& length : lengths) result.push_back(length_inside(length));
  return result;
}

Values MaskedSubGraph::lengths_outside(absl::Span<const Value> lengths, std::string_view whose) {
  Values result;
  for (size_t axis = 0; axis < lengths.size(); ++axis) {
    result.emplace_back();
    if (!lengths[axis]) continue;
    result.back() = rebuild_length(lengths[axis], *outer_, outward_);
    if (result.back()) continue;
    throw Error(ErrorKind::kUnsupported,
                concat("the length of axis ", axis, " of ", whose, " depends on values computed inside of it"))
        .hint("inside control flow, lengths may only be made of the lengths of its operands");
  }
  return result;
}

bool unite_lengths(Values& carried, absl::Span<const Value> found, std::string_view what, size_t index) {
  bool changed = false;
  for (size_t axis = 0; axis < carried.size(); ++axis) {
    if (!found[axis]) continue;
    if (carried[axis]) {
      if (same_length(found[axis], carried[axis])) continue;
      throw Error(ErrorKind::kShape, concat("axis ", axis, " of ", what, " ", index,
                                            " has one ragged length on entry and another after a step"))
          .hint("the carry must keep its lengths from step to step");
    }
    carried[axis] = found[axis];
    changed = true;
  }
  return changed;
}

// ---- whole records -------------------------------------------------------------------------------------------------

Primitive expanding(std::string name, ExpandRule expand) {
  Primitive result;
  result.mask = [self = PrimitiveRef(name)](Builder& builder, absl::Span<const Masked> operands,
                                            const AttrsPtr& attrs) {
    return mask_expansion(builder, *self, operands, attrs);
  };
  result.name = std::move(name);
  result.expand = std::move(expand);
  result.absent["element"] = "expands to other equations";
  result.absent["reference"] = "expands to other equations";
  return result;
}

Primitive applied(std::string name) {
  Primitive result =
      expanding(std::move(name), [](Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        return builder.inline_graph(*attrs->graph("graph"), operands);
      });
  result.mask = [](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    return mask_inline(builder, *attrs->graph("graph"), operands);
  };
  result.region = Region::kApplied;
  return result;
}

}  // namespace ct
