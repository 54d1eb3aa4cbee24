// while: the body is applied to the carries as long as the condition holds. Operands: the condition's constants, the
// body's, first carries; results: last carries.
//
// How many steps there will be is unknown, so nothing of a step can be kept for later: forward mode puts tangents into
// the same loop; reverse mode makes the carries of earlier steps again (while_reverse.h).
#include <algorithm>

#include "ir/combinators.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/inactive_rows.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"
#include "transforms/higher_order/step.h"
#include "transforms/higher_order/while_reverse.h"

namespace ct {
namespace {

AttrsPtr to_attrs(const WhileAttrs& attrs) {
  return Attrs::make({{"body", attrs.body},
                      {"condition", attrs.condition},
                      {"num_body_constants", attrs.num_body_constants},
                      {"num_condition_constants", attrs.num_condition_constants}});
}

struct Loop : WhileAttrs {
  static constexpr size_t kOfCondition = 0, kOfBody = 1, kCarries = 2;  // groups of operands
  Groups operands;
  Step step;

  explicit Loop(const WhileAttrs& attrs)
      : WhileAttrs(attrs),
        operands{static_cast<size_t>(num_condition_constants), static_cast<size_t>(num_body_constants),
                 body->outputs().size()},
        step(body, operands.count(kOfBody), operands.count(kCarries)) {}
  explicit Loop(const Attrs& attrs)
      : Loop(WhileAttrs{attrs.graph("condition"), attrs.graph("body"), attrs.integer("num_condition_constants"),
                        attrs.integer("num_body_constants")}) {}

  size_t first_carry() const { return operands.first(kCarries); }
  // Of something given for each operand, that of the constants of one graph, then that of the carries: its inputs.
  template <class Items>
  auto inputs_of(size_t constants, const Items& items) const {
    return operands.of(constants, kCarries, items);
  }
};

std::string types_of(const Avals& avals) {
  std::vector<std::string> names;
  for (const Aval& aval : avals) names.push_back(aval.to_string());
  return join(names, ", ");
}

Avals while_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Graph& condition = *attrs.graph("condition");
  const Graph& body = *attrs.graph("body");
  const int64_t of_condition = attrs.integer("num_condition_constants"), of_body = attrs.integer("num_body_constants");
  const size_t num_carries = body.outputs().size();
  if (of_condition < 0 || of_body < 0 ||
      operands.size() != static_cast<size_t>(of_condition) + static_cast<size_t>(of_body) + num_carries) {
    throw Error(ErrorKind::kType,
                concat("got ", operands.size(), " values for ", of_condition, " constants of the condition, ", of_body,
                       " of the body and ", num_carries, " carries"))
        .hint("give the constants of the condition, those of the body, and a carry for each result of the body");
  }
  const absl::Span<const Aval> inputs = operands.subspan(static_cast<size_t>(of_condition));
  if (body.num_inputs() == inputs.size()) {
    for (size_t k = 0; k < num_carries; ++k) {
      const size_t input = inputs.size() - num_carries + k;
      check_carry(k, inputs[input], body.aval(body.outputs()[k]));
      check_carry(k, inputs[input], body.aval(static_cast<Var>(input)));
    }
  }
  check_graph_inputs(body, inputs, "the body");
  check_graph_inputs(condition, Loop(attrs).inputs_of(Loop::kOfCondition, operands), "the condition");
  if (condition.outputs().size() != 1 || !same_type(condition.output_avals()[0], Aval(DType::kBool, {}))) {
    throw Error(ErrorKind::kType,
                concat("the condition must return one bool scalar, got ", types_of(condition.output_avals())))
        .hint("compare something, or reduce with all() or any()");
  }
  return body.output_avals();
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
  const Loop loop(*attributes);
  Flags moving = loop.inputs_of(Loop::kOfBody, present(tangents));
  const JvpGraph step = loop.step.jvp(moving);
  const Groups inputs = loop.step.inputs.then(loop.step.inputs.where(moving));
  const Values given = loop.inputs_of(Loop::kOfBody, primals);
  Values operands = loop.operands.of(Loop::kOfCondition, primals);
  append(operands,
         inputs.sorted(primals_and_tangents(builder, given, loop.inputs_of(Loop::kOfBody, tangents), moving)));
  const Avals more = avals_of(loop.step.inputs.where(moving).of(Step::kCarries, marked(given, moving)));
  const Values results =
      while_loop(builder,
                 {with_more_carries(*loop.condition, more),
                  rewire(*step.graph, inputs.order(), range(0, step.graph->outputs().size())),
                  loop.num_condition_constants, static_cast<int64_t>(inputs.count(Step::kConstants))},
                 operands);
  return unpack_jvp(results, step.nonzero_out);
}

// The loop in a known part and one that depends on what is marked.
struct Divided {
  Flags unknown;          // operands, those carries included that depend on others
  SplitGraph step, test;  // test.known is null when the number of steps is not known

  Divided(const Loop& loop, const Flags& varying) {
    Flags of_step = loop.inputs_of(Loop::kOfBody, varying);
    step = loop.step.split(of_step);
    unknown = joined({loop.operands.of(Loop::kOfCondition, varying), of_step});
    test = split_of(loop.condition, loop.inputs_of(Loop::kOfCondition, unknown));
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
Values counted_loop(Builder& builder, const Divided& divided, const Groups& groups, absl::Span<const Value> operands,
                    Builder::Keep keep) {
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
  const size_t num_condition_constants = groups.count(Loop::kOfCondition);
  const size_t num_body_constants = groups.count(Loop::kOfBody);
  const GraphPtr condition = with_count(*divided.test.known, num_condition_constants,
                                        [](Value, const Values& results) { return Values{results[0]}; });
  const GraphPtr body =
      with_count(*divided.known_step(false, keep), num_body_constants, [](Value steps, const Values& results) {
        Values all{add(steps, full_integer(*steps.builder, steps.aval(), 1))};
        append(all, results);
        return all;
      });
  Values all(operands.begin(), operands.end());
  all.insert(all.begin() + static_cast<ptrdiff_t>(groups.first(Loop::kCarries)),
             full_integer(builder, Aval(DType::kInt64, {}), 0));
  return while_loop(
      builder,
      {condition, body, static_cast<int64_t>(num_condition_constants), static_cast<int64_t>(num_body_constants)}, all);
}

// The known carries loop alone on the known sheet. The unknown ones need them in every step: the whole loop runs again
// on the unknown sheet.
std::vector<SplitValue> while_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                    const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  const Divided divided(loop, unknown_mask(operands));
  if (!divided.test.known || count(divided.step.out_known) == 0) {
    return split_whole(context, kWhile, operands, attributes);
  }
  const Values known_operands = known_values(marked(operands, negated(divided.unknown)));
  const Groups groups = loop.operands.where(negated(divided.unknown));
  Values known = counted_loop(context.known(), divided, groups, known_operands, Builder::Keep::kNeeded);
  known.erase(known.begin());
  const Values whole = context.unknown().bind(kWhile, context.on_unknown(operands), attributes);
  return merge_sheets(divided.step.out_known, known, marked(whole, negated(divided.step.out_known)));
}

// Of steps that are made again: what they do to the world, they have done.
constexpr Builder::Keep kAgain = Builder::Keep::kOutputs;

// Reverse mode: the known part runs forward to count the steps, then the steps are taken back one by one.
Values while_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  const Flags in = linear_operands(input);
  const Divided divided(loop, in);
  if (!divided.test.known) {
    throw Error(ErrorKind::kNotDifferentiable, "the condition depends on what the loop should be linear in")
        .op("while_loop")
        .hint("let the condition ask for what is not differentiated: ct.lax.stop_gradient(x)");
  }
  const Groups groups = loop.operands.where(negated(divided.unknown));
  const Values known = marked(input.operands, negated(divided.unknown));
  const Values constants = groups.of(Loop::kOfBody, known), carries = groups.of(Loop::kCarries, known);

  // The cotangents of which unknown carries are not zero. To the step's unknown part residuals are constants, too.
  const SplitGraph& split = divided.step;
  const Groups unknown = loop.operands.where(divided.unknown);
  const Step step(split.unknown, split.num_residuals + unknown.count(Loop::kOfBody), unknown.count(Loop::kCarries));
  Flags linear(split.num_residuals, false);
  linear.resize(step.inputs.size(), true);
  Flags moving = present(marked(input.cotangents, negated(split.out_known)));
  const BackwardGraph back = step.backward(linear, moving);

  // Results in the order of the operands; null where they vanish.
  const Flags found_places = joined({Flags(unknown.count(Loop::kOfCondition), false),
                                     slice_of(back.nonzero, split.num_residuals, back.nonzero.size())});
  const Flags places = spread(found_places, divided.unknown);
  const Groups found_groups = loop.operands.where(places);
  const size_t num_sums = found_groups.count(Loop::kOfBody);
  if (found_groups.size() == num_sums) return Values(in.size());
  Values cotangents;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    const Value given = i < loop.first_carry() ? Value() : input.cotangents[i - loop.first_carry()];
    cotangents.push_back(instantiate(builder, given, input.avals[i]));
  }

  Avals inputs = avals_of(constants);
  for (const Aval& aval : avals_of(carries)) inputs.push_back(aval);
  for (size_t i = num_sums; i < cotangents.size(); ++i) inputs.push_back(cotangents[i].aval());
  const GraphPtr backward = build_graph(inputs, [&](Builder& inner, const Values& values) {
    const absl::Span<const Value> all(values);
    const size_t num_known = constants.size() + carries.size();
    const Values results = inner.inline_graph(*divided.known_step(true, kAgain), all.first(num_known));
    Values operands(results.end() - static_cast<ptrdiff_t>(split.num_residuals), results.end());
    append(operands, all.subspan(num_known));
    return inner.inline_graph(*back.graph, operands);
  });
  const Value number = counted_loop(builder, divided, groups, known, kAgain)[0];
  const Values found = steps_back(builder, {divided.known_step(false, kAgain), backward, num_sums}, number, constants,
                                  carries, cotangents);
  Values results = spread(found, places);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!in[i]) results[i] = {};
  }
  return results;
}

// The loop when each example stops by itself: while any of them goes on. Which ones do is carried along; those that are
// done keep their carries. `values`: the operands, the carries batched at axis 0, but for those that the body hands on
// as they are; `axes`: of the body's inputs.
Values loop_by_example(Builder& builder, const Loop& loop, const Graph& test, const Graph& step, const BatchAxis& axis,
                       const Values& values, const std::vector<int>& axes) {
  const Values test_constants = loop.operands.of(Loop::kOfCondition, values);
  const Values first_carries = loop.operands.of(Loop::kCarries, values);
  Values arguments = loop.operands.of(Loop::kOfBody, values);
  const Value first_active = builder.inline_graph(test, loop.inputs_of(Loop::kOfCondition, values))[0];

  Builder condition;
  const Value going_on = any_row(condition.input(first_active.aval()));
  for (const Value& carry : first_carries) condition.input(carry.aval());

  Builder body;
  const auto inputs = [&](absl::Span<const Value> like) {
    Values result;
    for (const Value& value : like) result.push_back(body.input(value.aval()));
    return result;
  };
  const Values constants = inputs(arguments);
  Values tested = inputs(test_constants);
  const Value active = body.input(first_active.aval());
  const Values before = inputs(first_carries);
  std::vector<Batched> operands;
  for (size_t i = 0; i < axes.size(); ++i) {
    operands.push_back({i < constants.size() ? constants[i] : before[i - constants.size()], axes[i]});
  }
  if (!meets(*loop.body, axis)) {
    operands = operands_of_rows(active, operands, may_not_end(*loop.body) || reads_shared(loop.body, operands));
  }
  Values after = body.inline_graph(step, values_of(operands));
  for (size_t k = 0; k < after.size(); ++k) {
    if (axes[constants.size() + k] < 0) continue;  // handed on as it is
    after[k] = select(broadcast(active, after[k].shape(), {0}), after[k], before[k]);
  }
  append(tested, after);
  after.insert(after.begin(), bit_and(active, body.inline_graph(test, tested)[0]));

  append(arguments, test_constants);
  const auto num_constants = static_cast<int64_t>(arguments.size());
  arguments.push_back(first_active);
  append(arguments, first_carries);
  Values results = while_loop(builder, {condition.finish({going_on}), body.finish(after), 0, num_constants}, arguments);
  results.erase(results.begin());
  return results;
}

std::vector<Batched> while_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                                 const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  std::vector<int> axes = axes_of(operands);
  for (size_t i = loop.first_carry(); i < axes.size(); ++i) axes[i] = std::min(axes[i], 0);
  std::vector<int> step_axes = loop.inputs_of(Loop::kOfBody, axes);
  BatchGraph step, test;
  bool by_example = false;  // the examples stop at different steps
  while (true) {
    step = loop.step.batch(step_axes, axis);
    std::copy(step_axes.begin(), step_axes.end(),
              axes.begin() + static_cast<ptrdiff_t>(loop.operands.first(Loop::kOfBody)));
    test = batch_of(loop.condition, loop.inputs_of(Loop::kOfCondition, axes), axis, {kAnyAxis});
    if (by_example || test.out_axes[0] < 0) break;
    by_example = true;
    const size_t first = step_axes.size() - loop.operands.count(Loop::kCarries);
    const std::vector<Batched> inputs =
        loop.inputs_of(Loop::kOfBody, std::vector<Batched>(operands.begin(), operands.end()));
    for (size_t i = first; i < step_axes.size(); ++i) {
      // What the body hands on as it is, is the same for all examples, whenever they stop; so is a constant of the body
      // that the carry is from the start.
      const Var from = loop.body->outputs()[i - first];
      const bool constant = from < first && !inputs[from].batched() && inputs[from].value == inputs[i].value;
      if (from != static_cast<Var>(i) && !constant) step_axes[i] = 0;
    }
  }

  Values values = values_of(operands);
  for (size_t i = loop.first_carry(); i < values.size(); ++i) {
    if (axes[i] == 0) values[i] = materialize_batch(builder, operands[i], 0, axis);
  }
  Values results;
  if (by_example) {
    results = loop_by_example(builder, loop, *test.graph, *step.graph, axis, values, step_axes);
  } else {
    WhileAttrs batched = loop;
    batched.condition = test.graph;
    batched.body = step.graph;
    results = while_loop(builder, batched, values);
  }
  std::vector<Batched> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], axes[loop.first_carry() + k]});
  return outputs;
}

// The condition decides how often everything runs, so what it reads is needed.
Pruned while_prune(const Flags& used, const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  const PrunedGraph test = pruned_of(loop.condition, {true});
  const Groups tested{loop.operands.count(Loop::kOfCondition), 0, used.size()};
  Flags carries = used;
  unite(carries, tested.of(Loop::kCarries, test.inputs));
  const PrunedGraph step = loop.step.prune(carries);
  const Flags operands = joined({tested.of(Loop::kOfCondition, test.inputs), step.inputs});
  const Groups left = loop.operands.where(operands);
  const WhileAttrs attrs{with_inputs(test.graph, loop.inputs_of(Loop::kOfCondition, operands)),
                         with_inputs(step.graph, step.inputs), static_cast<int64_t>(left.count(Loop::kOfCondition)),
                         static_cast<int64_t>(left.count(Loop::kOfBody))};
  return {operands, carries, to_attrs(attrs)};
}

std::vector<Masked> while_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attributes) {
  const Loop loop(*attributes);
  std::vector<Values> lengths;
  for (const Masked& operand : operands) lengths.push_back(operand.lengths);
  const auto inputs_of = [&](MaskedSubGraph& inside, size_t group) {
    std::vector<Masked> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (loop.operands[i] == group) {
        inputs.push_back(inside.constant(operands[i]));
      } else if (loop.operands[i] == Loop::kCarries) {
        inputs.push_back({inside.inner().input(operands[i].value.aval()), inside.lengths_inside(lengths[i])});
      }
    }
    return inputs;
  };
  WhileAttrs masked = loop;
  Values base;
  for (bool changed = true; changed;) {
    changed = false;
    MaskedSubGraph step(builder, operands);
    const std::vector<Masked> results = mask_inline(step.inner(), *loop.body, inputs_of(step, Loop::kOfBody));
    Values outputs;
    for (size_t k = 0; k < results.size(); ++k) {
      outputs.push_back(results[k].value);
      const Values found = step.lengths_outside(results[k].lengths, "a carry");
      changed = unite_lengths(lengths[loop.first_carry() + k], found, "carry", k) || changed;
    }
    base = step.base_lengths();
    if (!changed) masked.body = step.inner().finish(outputs);
  }
  MaskedSubGraph test(builder, operands);
  const std::vector<Masked> tested = inputs_of(test, Loop::kOfCondition);
  masked.condition = test.inner().finish({mask_inline(test.inner(), *loop.condition, tested)[0].value});

  const auto extra = static_cast<int64_t>(base.size());
  masked.num_condition_constants += extra;
  masked.num_body_constants += extra;
  Values given;
  for (const Masked& operand : operands) given.push_back(operand.value);
  Values values = base;
  append(values, loop.operands.of(Loop::kOfCondition, given));
  append(values, base);
  append(values, loop.inputs_of(Loop::kOfBody, given));
  const Values results = while_loop(builder, masked, values);
  std::vector<Masked> outputs;
  for (size_t k = 0; k < results.size(); ++k) outputs.push_back({results[k], lengths[loop.first_carry() + k]});
  return outputs;
}

std::vector<Tensor> while_reference(const ReferenceInput& input) {
  const Loop loop(input.attrs);
  std::vector<Tensor> tested = loop.inputs_of(Loop::kOfCondition, input.operands);
  std::vector<Tensor> stepped = loop.inputs_of(Loop::kOfBody, input.operands);
  const auto num_carries = static_cast<ptrdiff_t>(loop.operands.count(Loop::kCarries));
  while (load_integer(input.run_graph(*loop.condition, tested)[0], 0) != 0) {
    const std::vector<Tensor> carries = input.run_graph(*loop.body, stepped);
    std::copy(carries.begin(), carries.end(), tested.end() - num_carries);
    std::copy(carries.begin(), carries.end(), stepped.end() - num_carries);
  }
  return {stepped.end() - num_carries, stepped.end()};
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
  result.structure = std::make_shared<structures::While>();
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
