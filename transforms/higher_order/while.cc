// while: the body is applied to the carries as long as the condition holds. Operands: the condition's constants, the
// body's, first carries; results: last carries.
//
// How many steps there will be is unknown, so nothing of a step can be kept for later: forward mode puts tangents into
// the same loop; reverse mode makes the carries of earlier steps again (while_reverse.h).
#include <algorithm>

#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/dead_rows.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"
#include "transforms/higher_order/while_reverse.h"

namespace ct {
namespace {

WhileAttrs read(const Attrs& attrs) {
  return {attrs.graph("condition"), attrs.graph("body"), attrs.integer("num_condition_constants"),
          attrs.integer("num_body_constants")};
}

AttrsPtr to_attrs(const WhileAttrs& attrs) {
  return Attrs::make({{"body", attrs.body},
                      {"condition", attrs.condition},
                      {"num_body_constants", attrs.num_body_constants},
                      {"num_condition_constants", attrs.num_condition_constants}});
}

// Operands: [0, body_constants) the condition's constants, [body_constants, carries) the body's, then carries.
struct Layout {
  size_t body_constants, carries, operands, num_carries;
};

Layout layout_of(const WhileAttrs& attrs) {
  const auto first = static_cast<size_t>(attrs.num_condition_constants);
  const size_t carries = first + static_cast<size_t>(attrs.num_body_constants);
  const size_t num_carries = attrs.body->outputs().size();
  return {first, carries, carries + num_carries, num_carries};
}

Avals while_type(absl::Span<const Aval> operands, const Attrs& attributes) {
  const WhileAttrs attrs = read(attributes);
  const Graph& condition = *attrs.condition;
  const Graph& body = *attrs.body;
  const Layout layout = layout_of(attrs);
  if (attrs.num_condition_constants < 0 || attrs.num_body_constants < 0 || operands.size() != layout.operands) {
    throw Error(ErrorKind::kType, concat("got ", operands.size(), " values for ", attrs.num_condition_constants,
                                         " constants of the condition, ", attrs.num_body_constants, " of the body and ",
                                         layout.num_carries, " carries"));
  }
  Avals inputs(operands.begin() + static_cast<ptrdiff_t>(layout.body_constants), operands.end());
  if (body.num_inputs() == inputs.size()) {
    for (size_t k = 0; k < layout.num_carries; ++k) {
      const size_t input = layout.carries - layout.body_constants + k;
      check_carry(k, operands[layout.carries + k], body.aval(body.outputs()[k]));
      if (!same_type(body.aval(static_cast<Var>(input)), inputs[input])) {
        check_carry(k, inputs[input], body.aval(static_cast<Var>(input)));
      }
    }
  }
  check_graph_inputs(body, inputs, "the body");
  inputs.assign(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(layout.body_constants));
  inputs.insert(inputs.end(), operands.begin() + static_cast<ptrdiff_t>(layout.carries), operands.end());
  check_graph_inputs(condition, inputs, "the condition");
  if (condition.outputs().size() != 1 || !same_type(condition.output_avals()[0], Aval(DType::kBool, {}))) {
    throw Error(ErrorKind::kType, concat("the condition must return one bool scalar, got ",
                                         join(
                                             [&] {
                                               std::vector<std::string> names;
                                               for (const Aval& aval : condition.output_avals()) {
                                                 names.push_back(aval.to_string());
                                               }
                                               return names;
                                             }(),
                                             ", ")))
        .hint("compare something, or reduce with all() or any()");
  }
  Avals outputs;
  for (const Aval& aval : body.output_avals()) outputs.push_back(aval.strong());
  return outputs;
}

// The same condition, with carries that it does not read after those it does.
GraphPtr with_more_carries(const Graph& condition, absl::Span<const Aval> more) {
  Builder builder;
  const Values inputs = inputs_like(builder, condition);
  for (const Aval& aval : more) builder.input(aval);
  return builder.finish(builder.inline_graph(condition, inputs));
}

JvpResult while_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                    const AttrsPtr& attributes) {
  const WhileAttrs attrs = read(*attributes);
  const Layout layout = layout_of(attrs);
  const Flags in = present(tangents);
  const Flags constants = slice_of(in, layout.body_constants, layout.carries);
  Flags carries = slice_of(in, layout.carries, layout.operands);
  JvpGraph step;
  do {
    step = jvp_of(attrs.body, joined({constants, carries}), carries);
  } while (unite(carries, step.nonzero_out));

  // Constants, their tangents, carries, their tangents.
  const size_t num_constants = layout.carries - layout.body_constants;
  const size_t n = attrs.body->num_inputs();
  const size_t c = count(constants);
  std::vector<size_t> inputs = range(0, num_constants);
  append(inputs, range(n, n + c));
  append(inputs, range(num_constants, n));
  append(inputs, range(n + c, step.graph->num_inputs()));
  Values operands(primals.begin(), primals.begin() + static_cast<ptrdiff_t>(layout.carries));
  append(operands, only_present(tangents.subspan(layout.body_constants, num_constants)));
  append(operands, primals.subspan(layout.carries));
  Avals more;
  for (size_t k = 0; k < layout.num_carries; ++k) {
    if (!carries[k]) continue;
    more.push_back(primals[layout.carries + k].aval());
    operands.push_back(instantiate(builder, tangents[layout.carries + k], more.back()));
  }
  const Values results = while_loop(
      builder,
      {with_more_carries(*attrs.condition, more), rewire(*step.graph, inputs, range(0, step.graph->outputs().size())),
       attrs.num_condition_constants, attrs.num_body_constants + static_cast<int64_t>(c)},
      operands);
  return unpack_jvp(results, step.nonzero_out);
}

// The loop in a known part and one that depends on what is marked.
struct Divided {
  Flags constants, carries;  // of the body, marked
  SplitGraph step, test;     // test.known is null when the number of steps is not known

  Divided(const WhileAttrs& attrs, const Flags& in) {
    const Layout layout = layout_of(attrs);
    constants = slice_of(in, layout.body_constants, layout.carries);
    carries = slice_of(in, layout.carries, layout.operands);
    Flags found;
    do {
      step = split_of(attrs.body, joined({constants, carries}), carries);
      found = step.out_known;
      found.flip();
    } while (unite(carries, found));
    test = split_of(attrs.condition, joined({slice_of(in, 0, layout.body_constants), carries}));
    if (!test.out_known[0]) test.known = nullptr;
  }
  // One step of the known carries; with residuals or without.
  GraphPtr known_step(bool residuals, Builder::Keep keep) const {
    const size_t results = count(step.out_known) + (residuals ? step.num_residuals : 0);
    return rewire(*step.known, range(0, step.known->num_inputs()), range(0, results), keep);
  }
};

// The known part alone. Operands: the known ones. Results: the number of steps, then the known carries.
//
// Every division of a loop makes this very program, so a backward pass that is compiled together with its forward pass
// shares it, if steps act on nothing else. When they do, that happens in the forward pass.
Values counted_loop(Builder& builder, const Divided& divided, size_t num_condition_constants,
                    absl::Span<const Value> operands, Builder::Keep keep) {
  const auto with_count = [keep](const Graph& graph, size_t num_constants, const auto& results) {
    Builder inner;
    Values inputs;
    Value steps;
    for (uint32_t i = 0; i <= graph.num_inputs(); ++i) {
      if (i == num_constants) steps = inner.input(Aval(DType::kInt64, {}));
      if (i < graph.num_inputs()) inputs.push_back(inner.input(graph.aval(i)));
    }
    return inner.finish(results(steps, inner.inline_graph(graph, inputs)), keep);
  };
  const size_t num_carries = count(divided.step.out_known);
  const size_t num_body_constants = operands.size() - num_condition_constants - num_carries;
  const GraphPtr condition = with_count(*divided.test.known, num_condition_constants,
                                        [](Value, const Values& results) { return Values{results[0]}; });
  const GraphPtr body =
      with_count(*divided.known_step(false, keep), num_body_constants, [](Value steps, const Values& results) {
        Values all{add(steps, full_integer(*steps.builder, steps.aval(), 1))};
        append(all, results);
        return all;
      });
  Values all(operands.begin(), operands.end());
  all.insert(all.end() - static_cast<ptrdiff_t>(num_carries), full_integer(builder, Aval(DType::kInt64, {}), 0));
  return while_loop(
      builder,
      {condition, body, static_cast<int64_t>(num_condition_constants), static_cast<int64_t>(num_body_constants)}, all);
}

// The known carries loop alone on the known sheet. The unknown ones need them in every step: the whole loop runs again
// on the unknown sheet.
std::vector<SplitValue> while_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                    const AttrsPtr& attributes) {
  const WhileAttrs attrs = read(*attributes);
  const Layout layout = layout_of(attrs);
  const Flags in = unknown_mask(operands);
  const Divided divided(attrs, in);
  if (!divided.test.known || count(divided.step.out_known) == 0) {
    return split_whole(context, kWhile, operands, attributes);
  }
  Values known_operands;
  size_t num_condition = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i < layout.carries ? in[i] : divided.carries[i - layout.carries]) continue;
    known_operands.push_back(operands[i].known);
    if (i < layout.body_constants) ++num_condition;
  }
  const Values known = counted_loop(context.known(), divided, num_condition, known_operands, Builder::Keep::kNeeded);
  const Values whole = context.unknown().bind(kWhile, context.on_unknown(operands), attributes);
  std::vector<SplitValue> results;
  size_t next = 1;
  for (size_t k = 0; k < layout.num_carries; ++k) {
    results.push_back(divided.carries[k] ? SplitValue::on_unknown(whole[k]) : SplitValue::on_known(known[next++]));
  }
  return results;
}

// Of steps that are made again: what they do to the world, they have done.
constexpr Builder::Keep kAgain = Builder::Keep::kOutputs;

// Reverse mode: the known part runs forward to count the steps, then the steps are taken back one by one.
Values while_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const WhileAttrs attrs = read(*attributes);
  const Layout layout = layout_of(attrs);
  const Flags in = linear_operands(input);
  const Divided divided(attrs, in);
  if (!divided.test.known) {
    throw Error(ErrorKind::kNotDifferentiable, "the condition depends on what the loop should be linear in")
        .op("while_loop");
  }
  Values known, constants, carries;
  for (size_t i = 0; i < layout.operands; ++i) {
    if (in[i] || (i >= layout.carries && divided.carries[i - layout.carries])) continue;
    known.push_back(input.operands[i]);
    if (i >= layout.body_constants) (i < layout.carries ? constants : carries).push_back(input.operands[i]);
  }
  const size_t num_condition = known.size() - constants.size() - carries.size();

  // The cotangents of which carries are not zero. Inputs of the step's unknown part: residuals, constants, carries.
  const SplitGraph& step = divided.step;
  const size_t num_constants = count(divided.constants);
  Flags linear(step.num_residuals, false);
  linear.resize(step.unknown->num_inputs(), true);
  const size_t first_carry = step.num_residuals + num_constants;
  Flags moving;
  for (size_t k = 0; k < layout.num_carries; ++k) {
    if (divided.carries[k]) moving.push_back(static_cast<bool>(input.cotangents[k]));
  }
  BackwardGraph back;
  do {
    Flags force(first_carry, false);
    force.insert(force.end(), moving.begin(), moving.end());
    back = backward_of(step.unknown, linear, moving, force);
  } while (unite(moving, slice_of(back.nonzero, first_carry, back.nonzero.size())));
  const Flags sums = slice_of(back.nonzero, step.num_residuals, first_carry);

  // Results in the order of the operands; null where they vanish.
  Values cotangents;
  Flags places(layout.body_constants, false);
  size_t next = 0;
  for (size_t i = layout.body_constants; i < layout.carries; ++i) {
    places.push_back(in[i] && sums[next]);
    if (in[i] && sums[next++]) cotangents.push_back(zeros(builder, input.avals[i]));
  }
  next = 0;
  for (size_t k = 0; k < layout.num_carries; ++k) {
    places.push_back(divided.carries[k] && moving[next]);
    if (divided.carries[k] && moving[next++]) {
      cotangents.push_back(instantiate(builder, input.cotangents[k], input.avals[layout.carries + k]));
    }
  }
  const size_t num_sums = count(sums);
  if (cotangents.size() == num_sums) return Values(layout.operands);

  Avals inputs = avals_of(constants);
  for (const Aval& aval : avals_of(carries)) inputs.push_back(aval);
  for (size_t i = num_sums; i < cotangents.size(); ++i) inputs.push_back(cotangents[i].aval());
  const GraphPtr backward = build_graph(inputs, [&](Builder& inner, const Values& values) {
    const absl::Span<const Value> all(values);
    const size_t num_known = constants.size() + carries.size();
    const Values results = inner.inline_graph(*divided.known_step(true, kAgain), all.subspan(0, num_known));
    Values operands(results.end() - static_cast<ptrdiff_t>(step.num_residuals), results.end());
    append(operands, all.subspan(num_known));
    return inner.inline_graph(*back.graph, operands);
  });
  const Value number = counted_loop(builder, divided, num_condition, known, kAgain)[0];
  const Values found = steps_back(builder, {divided.known_step(false, kAgain), backward, num_sums}, number, constants,
                                  carries, cotangents);
  Values results = spread(found, places);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!in[i]) results[i] = {};
  }
  return results;
}

// The loop when each example stops by itself: while any of them goes on. Which ones do is carried along; those that are
// done keep their carries. `values`: the operands, the carries batched at axis 0; `axes`: of the body's inputs.
Values loop_by_example(Builder& builder, const WhileAttrs& attrs, const Graph& test, const Graph& step,
                       const BatchAxis& axis, const Values& values, const std::vector<int>& axes) {
  const Layout layout = layout_of(attrs);
  const absl::Span<const Value> all(values);
  const absl::Span<const Value> test_constants = all.subspan(0, layout.body_constants);
  const absl::Span<const Value> first_carries = all.subspan(layout.carries);
  Values tested(test_constants.begin(), test_constants.end());
  append(tested, first_carries);
  const Value first_active = builder.inline_graph(test, tested)[0];

  Builder condition;
  const Value going_on = any_row(condition.input(first_active.aval()));
  for (const Value& carry : first_carries) condition.input(carry.aval());

  Builder body;
  const auto inputs = [&](absl::Span<const Value> like) {
    Values result;
    for (const Value& value : like) result.push_back(body.input(value.aval()));
    return result;
  };
  const Values constants = inputs(all.subspan(layout.body_constants, layout.carries - layout.body_constants));
  tested = inputs(test_constants);
  const Value active = body.input(first_active.aval());
  const Values before = inputs(first_carries);
  std::vector<Batched> operands;
  for (size_t i = 0; i < axes.size(); ++i) {
    operands.push_back({i < constants.size() ? constants[i] : before[i - constants.size()], axes[i]});
  }
  if (!meets(*attrs.body, axis)) {
    operands = operands_of_rows(active, operands, may_not_end(*attrs.body) || reads_shared(attrs.body, operands));
  }
  Values after = body.inline_graph(step, values_of(operands));
  for (size_t k = 0; k < after.size(); ++k) {
    after[k] = select(broadcast(active, after[k].shape(), {0}), after[k], before[k]);
  }
  append(tested, after);
  after.insert(after.begin(), bit_and(active, body.inline_graph(test, tested)[0]));

  Values arguments(all.begin() + static_cast<ptrdiff_t>(layout.body_constants),
                   all.begin() + static_cast<ptrdiff_t>(layout.carries));
  append(arguments, test_constants);
  arguments.push_back(first_active);
  append(arguments, first_carries);
  Values results = while_loop(
      builder, {condition.finish({going_on}), body.finish(after), 0, static_cast<int64_t>(layout.carries)}, arguments);
  results.erase(results.begin());
  return results;
}

std::vector<Batched> while_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                 const AttrsPtr& attributes) {
  const WhileAttrs attrs = read(*attributes);
  const Layout layout = layout_of(attrs);
  const std::vector<int> in = axes_of(operands);
  const std::vector<int> condition_constants(in.begin(), in.begin() + static_cast<ptrdiff_t>(layout.body_constants));
  const std::vector<int> body_constants(in.begin() + static_cast<ptrdiff_t>(layout.body_constants),
                                        in.begin() + static_cast<ptrdiff_t>(layout.carries));
  std::vector<int> carries;
  for (size_t i = layout.carries; i < layout.operands; ++i) carries.push_back(in[i] < 0 ? -1 : 0);
  const auto with = [&](std::vector<int> axes) {
    axes.insert(axes.end(), carries.begin(), carries.end());
    return axes;
  };
  BatchGraph step, test;
  bool by_example = false;  // the examples stop at different steps
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<int> out;
    for (int carry : carries) out.push_back(carry == 0 ? 0 : kAnyAxis);
    step = batch_of(attrs.body, with(body_constants), axis, out);
    test = batch_of(attrs.condition, with(condition_constants), axis, {kAnyAxis});
    by_example = by_example || test.out_axes[0] >= 0;
    for (size_t k = 0; k < carries.size(); ++k) {
      if (carries[k] == 0 || (step.out_axes[k] < 0 && !by_example)) continue;
      carries[k] = 0;
      changed = true;
    }
  }

  Values values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool carry = i >= layout.carries && carries[i - layout.carries] == 0;
    values.push_back(carry ? materialize_batch(builder, operands[i], 0, axis) : operands[i].value);
  }
  std::vector<Batched> outputs;
  if (!by_example) {
    WhileAttrs batched = attrs;
    batched.condition = test.graph;
    batched.body = step.graph;
    const Values results = while_loop(builder, batched, values);
    for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], carries[k]});
    return outputs;
  }
  return batched_in_front(
      loop_by_example(builder, attrs, *test.graph, *step.graph, axis, values, with(body_constants)));
}

// The condition decides how often everything runs, so what it reads is needed.
Pruned while_prune(const Flags& used, const AttrsPtr& attributes) {
  const WhileAttrs attrs = read(*attributes);
  const Layout layout = layout_of(attrs);
  const size_t body_constants = layout.carries - layout.body_constants;
  const PrunedGraph test = pruned_of(attrs.condition, {true});
  Flags carries = used;
  unite(carries, slice_of(test.inputs, layout.body_constants, test.inputs.size()));
  PrunedGraph step;
  do {
    step = pruned_of(attrs.body, carries);
  } while (unite(carries, slice_of(step.inputs, body_constants, step.inputs.size())));
  const Flags of_condition = slice_of(test.inputs, 0, layout.body_constants);
  const Flags of_body = slice_of(step.inputs, 0, body_constants);
  const WhileAttrs left{with_inputs(test.graph, joined({of_condition, carries})),
                        with_inputs(step.graph, joined({of_body, carries})), static_cast<int64_t>(count(of_condition)),
                        static_cast<int64_t>(count(of_body))};
  return {joined({of_condition, of_body, carries}), carries, to_attrs(left)};
}

std::vector<Masked> while_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attributes) {
  const WhileAttrs attrs = read(*attributes);
  const Layout layout = layout_of(attrs);
  std::vector<Values> lengths;
  for (const Masked& operand : operands) lengths.push_back(operand.lengths);
  const auto inputs_of = [&](MaskedSubGraph& inside, bool condition) {
    std::vector<Masked> inputs;
    for (size_t i = 0; i < layout.operands; ++i) {
      const bool taken = i >= layout.carries || (i < layout.body_constants) == condition;
      if (!taken) continue;
      if (i < layout.carries) {
        inputs.push_back(inside.constant(operands[i]));
      } else {
        inputs.push_back({inside.inner().input(operands[i].value.aval()), inside.lengths_inside(lengths[i])});
      }
    }
    return inputs;
  };
  WhileAttrs masked = attrs;
  Values base;
  for (bool changed = true; changed;) {
    changed = false;
    MaskedSubGraph step(builder, operands);
    const std::vector<Masked> results = mask_inline(step.inner(), *attrs.body, inputs_of(step, false));
    Values outputs;
    for (size_t k = 0; k < results.size(); ++k) {
      outputs.push_back(results[k].value);
      const Values found = step.lengths_outside(results[k].lengths, "a carry");
      changed = unite_lengths(lengths[layout.carries + k], found, "carry", k) || changed;
    }
    base = step.base_lengths();
    if (!changed) masked.body = step.inner().finish(outputs);
  }
  MaskedSubGraph test(builder, operands);
  masked.condition = test.inner().finish({mask_inline(test.inner(), *attrs.condition, inputs_of(test, true))[0].value});

  const auto extra = static_cast<int64_t>(base.size());
  masked.num_condition_constants += extra;
  masked.num_body_constants += extra;
  Values values = base;
  for (size_t i = 0; i < layout.operands; ++i) {
    if (i == layout.body_constants) append(values, base);
    values.push_back(operands[i].value);
  }
  if (layout.operands == layout.body_constants) append(values, base);
  const Values results = while_loop(builder, masked, values);
  std::vector<Masked> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], lengths[layout.carries + k]});
  return outputs;
}

std::vector<Tensor> while_reference(const ReferenceInput& input) {
  const WhileAttrs attrs = read(input.attrs);
  const Layout layout = layout_of(attrs);
  std::vector<Tensor> tested(input.operands.begin(), input.operands.begin() + layout.body_constants);
  std::vector<Tensor> stepped(input.operands.begin() + layout.body_constants, input.operands.end());
  tested.insert(tested.end(), input.operands.begin() + layout.carries, input.operands.end());
  const size_t first_tested = layout.body_constants, first_stepped = layout.carries - layout.body_constants;
  while (load_integer(input.run_graph(*attrs.condition, tested)[0], 0) != 0) {
    const std::vector<Tensor> carries = input.run_graph(*attrs.body, stepped);
    std::copy(carries.begin(), carries.end(), tested.begin() + static_cast<ptrdiff_t>(first_tested));
    std::copy(carries.begin(), carries.end(), stepped.begin() + static_cast<ptrdiff_t>(first_stepped));
  }
  return {stepped.begin() + static_cast<ptrdiff_t>(first_stepped), stepped.end()};
}

Primitive while_primitive() {
  Primitive result;
  result.name = "while";
  result.attributes = {{"body", AttributeKind::kGraph},
                       {"condition", AttributeKind::kGraph},
                       {"num_body_constants", AttributeKind::kInteger},
                       {"num_condition_constants", AttributeKind::kInteger}};
  result.several_results = true;
  result.type = while_type;
  result.jvp = while_jvp;
  result.split = while_split;
  result.transpose = while_transpose;
  result.batch = while_batch;
  result.prune = while_prune;
  result.mask = while_mask;
  result.reference = while_reference;
  result.lowering = Lowering::kWhile;
  result.absent["element"] = "a loop over its sub-graph";
  result.absent["expand"] = "the compiler lowers it to a loop";
  return result;
}
}  // namespace

const Primitive& kWhile = define(while_primitive());

Values while_loop(Builder& builder, const WhileAttrs& attrs, absl::Span<const Value> operands) {
  return builder.bind(kWhile, operands, to_attrs(attrs));
}

}  // namespace ct
