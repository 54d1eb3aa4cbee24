// The steps are taken back in an outer loop, the last one that is left at a time. It returns to the nearest kept
// carries, those on top of a stack; an inner loop runs forward from there to the step that is wanted; the step runs
// backward. Cotangents stay out of the inner loop: those of a loop's constants may be much larger than its carries.
//
// The inner loop pushes carries on the stack where the binomial schedule says (Griewank and Walther's "revolve"). With
// `slots` places, of which the bottom of the segment takes one, and each step run forward at most `repeats` times, at
// most C(slots + repeats, repeats) steps can be taken back. The part behind the next kept carries has one place less;
// the part before it is run once more, so it has one repetition less. Dividing the segment as repeats : slots keeps
// both parts within their bounds.
#include "transforms/higher_order/while_reverse.h"

#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/subgraphs.h"

namespace ct {
namespace {

const Aval& index_aval() {
  static const Aval* const kAval = new Aval(DType::kInt64, {});
  return *kAval;
}

Value index(Builder& builder, int64_t value) { return full_integer(builder, index_aval(), value); }
Value operator+(Value x, int64_t y) { return add(x, index(*x.builder, y)); }

// The rows of an array that holds a value for each slot.
Values starts(const Value& rows, Value slot) {
  Values result{slot};
  result.resize(static_cast<size_t>(rows.rank()), index(*slot.builder, 0));
  return result;
}
Value row(Value rows, Value slot) {
  Shape sizes = rows.shape();
  sizes[0] = 1;
  return squeeze(dynamic_slice(rows, starts(rows, slot), sizes), 0);
}
Value with_row(Value rows, Value slot, Value x) {
  return dynamic_update_slice(rows, expand_dims(x, 0), starts(rows, slot));
}

// The least number of repetitions that is enough for so many steps.
Value least_repeats(Builder& builder, Value number) {
  const Avals state{index_aval(), index_aval(), index_aval()};  // number, repeats, the steps that these are enough for
  const GraphPtr condition =
      build_graph(state, [](Builder&, const Values& values) { return Values{lt(values[2], values[0])}; });
  const GraphPtr body = build_graph(state, [](Builder&, const Values& values) {
    const Value repeats = values[1] + 1;
    return Values{values[0], repeats, div(mul(values[2], repeats + kKeptCarries), repeats)};
  });
  return while_loop(builder, {condition, body, 0, 0}, {number, index(builder, 1), index(builder, kKeptCarries + 1)})[1];
}

// The stack, as both loops carry it: kept carries by slot, then
struct Stack {
  Value top;      // the highest slot in use
  Value places;   // by slot: which step its carries precede
  Value repeats;  // by slot: how often the steps from there on to the next kept carries may be run forward
  Values kept;

  static constexpr size_t kScalars = 3;
  explicit Stack(absl::Span<const Value> values)
      : top(values[0]), places(values[1]), repeats(values[2]), kept(values.begin() + kScalars, values.end()) {}
  Values values() const {
    Values result{top, places, repeats};
    append(result, kept);
    return result;
  }

  // The stack before step `at` is run forward on the way to `last`: with the carries before it on top, or as it was.
  Stack visited(Value at, Value last, absl::Span<const Value> carries) const {
    const Value bottom = row(places, top), runs = row(repeats, top);
    const Value slots = sub(index(*at.builder, kKeptCarries), top);
    const Value length = sub(last, bottom) + 1;
    const Value parts = add(slots, runs);
    const Value before = div(add(mul(length, runs), parts) + -1, parts);
    const Value keep = bit_and(gt(slots, index(*at.builder, 1)), eq(at, add(bottom, before)));
    // The slot above the top is written in any case; it counts when the carries are to be kept.
    const Value above = top + 1;
    Stack result = *this;
    result.top = select(keep, above, top);
    result.places = with_row(places, above, at);
    result.repeats = with_row(repeats, above, runs);
    for (size_t k = 0; k < kept.size(); ++k) result.kept[k] = with_row(kept[k], above, carries[k]);
    return result;
  }
};

// Runs forward to before step `last`, from the top of the stack. Returns the stack, then the carries there.
Values advance(Builder& builder, const StepsBack& steps, Value last, absl::Span<const Value> constants,
               const Stack& stack) {
  Values first{row(stack.places, stack.top)};
  append(first, stack.values());
  const size_t first_carry = first.size();
  for (const Value& rows : stack.kept) first.push_back(row(rows, stack.top));
  Values tested{last};
  append(tested, first);
  const GraphPtr condition =
      build_graph(avals_of(tested), [](Builder&, const Values& values) { return Values{lt(values[1], values[0])}; });
  Values stepped{last};
  append(stepped, constants);
  const size_t num_constants = stepped.size();
  append(stepped, first);
  const GraphPtr body = build_graph(avals_of(stepped), [&](Builder& inner, const Values& values) {
    const absl::Span<const Value> all(values);
    const Value at = all[num_constants];
    const absl::Span<const Value> carries = all.subspan(num_constants + first_carry);
    const Stack before(all.subspan(num_constants + 1, first_carry - 1));
    Values inputs(all.begin() + 1, all.begin() + static_cast<ptrdiff_t>(num_constants));
    append(inputs, carries);
    Values results{at + 1};
    append(results, before.visited(at, all[0], carries).values());
    append(results, inner.inline_graph(*steps.forward, inputs));
    return results;
  });
  Values operands{last, last};
  append(operands, constants);
  append(operands, first);
  Values results = while_loop(builder, {condition, body, 1, static_cast<int64_t>(num_constants)}, operands);
  results.erase(results.begin());
  return results;
}

// One step back. `state`: the number of the step, the stack, the cotangents behind it.
Values step_back(Builder& builder, const StepsBack& steps, absl::Span<const Value> constants,
                 absl::Span<const Value> state, size_t num_carries) {
  const Value last = state[0];
  const size_t stack_size = Stack::kScalars + num_carries;
  const absl::Span<const Value> cotangents = state.subspan(1 + stack_size);
  const Values advanced = advance(builder, steps, last, constants, Stack(state.subspan(1, stack_size)));
  Stack stack(absl::MakeConstSpan(advanced).subspan(0, stack_size));
  Values inputs(constants.begin(), constants.end());
  append(inputs, absl::MakeConstSpan(advanced).subspan(stack_size));
  append(inputs, cotangents.subspan(steps.num_sums));
  Values found = builder.inline_graph(*steps.backward, inputs);
  for (size_t i = 0; i < steps.num_sums; ++i) found[i] = add(cotangents[i], found[i]);

  // The steps below carries that are used up are run forward once more.
  const Value used_up = eq(row(stack.places, stack.top), last);
  stack.top = select(used_up, max(stack.top + -1, index(builder, 0)), stack.top);
  const Value runs = row(stack.repeats, stack.top);
  stack.repeats = with_row(stack.repeats, stack.top, select(used_up, max(runs + -1, index(builder, 1)), runs));
  Values results{last + -1};
  append(results, stack.values());
  append(results, found);
  return results;
}

}  // namespace

Values steps_back(Builder& builder, const StepsBack& steps, Value number, absl::Span<const Value> constants,
                  absl::Span<const Value> carries, absl::Span<const Value> cotangents) {
  const int64_t rows = kKeptCarries + 1;
  Values first{number + -1, index(builder, 0), full_integer(builder, Aval(DType::kInt64, {rows}), 0),
               broadcast_scalar(least_repeats(builder, number), {rows})};
  for (const Value& carry : carries) first.push_back(broadcast_axis(carry, 0, rows));
  append(first, cotangents);

  const GraphPtr condition = build_graph(
      avals_of(first), [](Builder& inner, const Values& values) { return Values{ge(values[0], index(inner, 0))}; });
  Values operands(constants.begin(), constants.end());
  append(operands, first);
  const GraphPtr body = build_graph(avals_of(operands), [&](Builder& inner, const Values& values) {
    const absl::Span<const Value> all(values);
    return step_back(inner, steps, all.subspan(0, constants.size()), all.subspan(constants.size()), carries.size());
  });
  const Values results = while_loop(builder, {condition, body, 0, static_cast<int64_t>(constants.size())}, operands);
  return Values(results.end() - static_cast<ptrdiff_t>(cotangents.size()), results.end());
}

}  // namespace ct
