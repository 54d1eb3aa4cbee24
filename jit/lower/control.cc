// Loops and branches: sub-graphs are lowered in place, by frames of their own. Carried scalars live in registers;
// carried arrays in two buffers that change places (schedule/buffers.h makes them one where the body updates in place).
#include "jit/lower/frame.h"
#include "runtime/error.h"
#include "transforms/higher_order/higher_order.h"

namespace ct::jit {
namespace {

// An array carried around a loop: `current` for the body to read, `next` for it to write, exchanged at its end.
struct CarriedArray {
  Place current, next;
};
// How one carried variable is held: not at all (the body hands it on unchanged), in a register, or as an array.
struct Carried {
  bool unchanged = false;
  bool in_register = false;
  std::optional<CarriedArray> array;
};

std::vector<Carried> begin_carries(Frame& frame, const Graph& body, uint32_t first_input,
                                   absl::Span<const Var> operands, loop::Scalars& registers) {
  std::vector<Carried> carried(operands.size());
  for (uint32_t i = 0; i < operands.size(); ++i) {
    const Aval& aval = frame.aval(operands[i]);
    if (body.outputs()[i] == first_input + i) {
      carried[i].unchanged = true;
    } else if (aval.size() == 1) {
      carried[i].in_register = true;
      registers.push_back(frame.scalar(operands[i]));
    } else {
      carried[i].array = CarriedArray{frame.new_temporary(aval), frame.new_temporary(aval)};
      frame.copy_to(frame.source(operands[i]), aval, carried[i].array->current);
    }
  }
  return carried;
}

std::vector<Source> carry_sources(const Frame& frame, const std::vector<Carried>& carried,
                                  absl::Span<const Var> operands, absl::Span<const loop::Scalar> arguments) {
  std::vector<Source> sources;
  size_t next_argument = 0;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].unchanged) {
      sources.push_back(frame.source(operands[i]));
    } else if (carried[i].in_register) {
      sources.push_back({std::nullopt, arguments[next_argument++]});
    } else {
      sources.push_back({carried[i].array->current, std::nullopt});
    }
  }
  return sources;
}

std::vector<std::optional<Place>> carry_places(const std::vector<Carried>& carried) {
  std::vector<std::optional<Place>> places;
  for (const Carried& carry : carried) {
    places.push_back(carry.array ? std::optional<Place>(carry.array->next) : std::nullopt);
  }
  return places;
}

loop::Scalars end_body(Frame& frame, const std::vector<Carried>& carried, const std::vector<Source>& outputs) {
  loop::Scalars registers;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].in_register) registers.push_back(frame.value_of(outputs[i]));
  }
  for (const Carried& carry : carried) {
    if (carry.array) frame.builder().swap(carry.array->current.buffer, carry.array->next.buffer);
  }
  return registers;
}

void set_carries(Frame& frame, const std::vector<Carried>& carried, absl::Span<const Var> operands, Var first_output,
                 absl::Span<const loop::Scalar> results) {
  size_t next_result = 0;
  for (size_t i = 0; i < carried.size(); ++i) {
    const Var var = first_output + static_cast<Var>(i);
    if (carried[i].unchanged) {
      frame.set_source(var, frame.source(operands[i]));
    } else if (carried[i].in_register) {
      frame.set_result(var, results[next_result++]);
    } else {
      frame.set_source(var, {carried[i].array->current, std::nullopt});
    }
  }
}

void emit_scan(Frame& frame, const Equation& equation) {
  loop::Builder& b = frame.builder();
  const ScanAttrs attrs = ScanAttrs::from(frame.attrs(equation));
  const Graph& body = *attrs.graph;
  const auto num_constants = static_cast<size_t>(attrs.num_constants);
  const auto num_carries = static_cast<size_t>(attrs.num_carries);
  const int64_t length = attrs.length;
  absl::Span<const Var> operands = frame.operands(equation);
  loop::Index steps = length;
  if (attrs.counted) {
    const DType dtype = DType::kInt64;
    const loop::Scalar given = b.convert(frame.scalar(operands.back()), dtype);
    const loop::Scalar positive = b.apply(ScalarOp::kMax, given, b.constant(dtype, 0));
    steps = b.to_index(b.apply(ScalarOp::kMin, positive, b.constant(dtype, length)));
    operands.remove_suffix(1);
  }
  absl::Span<const Var> carry_operands = operands.subspan(num_constants, num_carries);
  absl::Span<const Var> sequences = operands.subspan(num_constants + num_carries);

  loop::Scalars registers;
  const std::vector<Carried> carried =
      begin_carries(frame, body, static_cast<uint32_t>(num_constants), carry_operands, registers);
  std::vector<Place> sequence_places;
  for (Var var : sequences) sequence_places.push_back(frame.strided(var).place);
  std::vector<Place> stacked;
  for (size_t i = num_carries; i < equation.output_count; ++i) {
    const Var var = equation.first_output + static_cast<Var>(i);
    stacked.push_back(frame.place(var));
  }

  std::vector<loop::Builder::CarrySpec> specs;
  for (const loop::Scalar& value : registers) specs.push_back({value});
  if (attrs.counted) {
    for (size_t i = 0; i < stacked.size(); ++i) {
      const Aval slice = body.aval(body.outputs()[num_carries + i]);
      const loop::Index made = steps * slice.size();
      b.fill(stacked[i].buffer, stacked[i].offset + made, loop::Index(length * slice.size()) - made,
             b.constant(slice.dtype(), 0));
    }
  }
  const auto [step, arguments] = b.begin_for(steps, {}, specs);
  const loop::Index at = attrs.reverse ? steps - loop::Index(1) - step : step;
  std::vector<Source> inputs;
  for (Var var : operands.subspan(0, num_constants)) inputs.push_back(frame.in_order(var));
  for (const Source& carry : carry_sources(frame, carried, carry_operands, arguments)) inputs.push_back(carry);
  for (size_t i = 0; i < sequences.size(); ++i) {
    const int64_t size = body.aval(static_cast<Var>(inputs.size())).size();
    inputs.push_back({Place{sequence_places[i].buffer, sequence_places[i].offset + at * size}, std::nullopt});
  }
  std::vector<std::optional<Place>> wanted = carry_places(carried);
  for (size_t i = 0; i < stacked.size(); ++i) {
    const int64_t size = body.aval(body.outputs()[num_carries + i]).size();
    wanted.push_back(Place{stacked[i].buffer, stacked[i].offset + at * size});
  }
  const std::vector<Source> outputs = Frame(b, body, std::move(inputs), std::move(wanted), frame.options()).run();
  const loop::Scalars results = b.end_for(end_body(frame, carried, outputs));
  set_carries(frame, carried, carry_operands, equation.first_output, results);
}

// Of sequences and of stacked results of a counted loop: what there is of the steps.
std::optional<Limit> steps_taken(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  if (!graph.attrs(equation).has("counted")) return std::nullopt;
  const ElementForm count = limits.form(graph, graph.operands(equation).back());
  if (count.source == kNoVar) return std::nullopt;
  return Limit{0, count.source, 0, count.source_axes};
}

class ScanLowering final : public Lowering {
 public:
  ElementForm form(const ElementLimits& limits, const Graph& graph, const Equation& equation,
                   int output) const override {
    ElementForm result;
    if (output < graph.attrs(equation).integer("num_carries")) return result;
    if (auto steps = steps_taken(limits, graph, equation)) result.fillings.push_back({*std::move(steps), 0});
    return result;
  }
  bool has_length(const Graph& graph, const Equation& equation) const override {
    return graph.attrs(equation).has("counted");
  }
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    OperandLimits result(equation.operand_count, Limits{});
    const std::optional<Limit> steps = steps_taken(limits, graph, equation);
    const ScanAttrs attrs = ScanAttrs::from(graph.attrs(equation));
    for (auto k = static_cast<size_t>(attrs.num_constants + attrs.num_carries); steps && k + 1 < result.size(); ++k) {
      result[k] = Limits{*steps};
    }
    return result;
  }
  // What the steps only read stays where it lies: a batch that is cut into chunks is not copied first.
  OperandReading reading(const Graph& graph, const Equation& equation, int operand) const override {
    OperandReading reading = Lowering::reading(graph, equation, operand);
    const ScanAttrs attrs = ScanAttrs::from(graph.attrs(equation));
    const int64_t first_sequence = attrs.num_constants + attrs.num_carries;
    const bool is_count = attrs.counted && operand + 1 == static_cast<int>(equation.operand_count);
    if ((operand < attrs.num_constants || operand >= first_sequence) && !is_count) {
      reading.form = OperandReading::Form::kDense;
    }
    return reading;
  }
  void emit(Frame& frame, const Equation& equation) const override { emit_scan(frame, equation); }
};
const LoweringFor<structures::Scan, ScanLowering> kScanLowering;

void emit_while(Frame& frame, const Equation& equation) {
  loop::Builder& b = frame.builder();
  const Attrs& attrs = frame.attrs(equation);
  const Graph& condition = *attrs.graph("condition");
  const Graph& body = *attrs.graph("body");
  const auto num_condition = static_cast<size_t>(attrs.integer("num_condition_constants"));
  const auto num_body = static_cast<size_t>(attrs.integer("num_body_constants"));
  absl::Span<const Var> operands = frame.operands(equation);
  absl::Span<const Var> carry_operands = operands.subspan(num_condition + num_body);

  loop::Scalars registers;
  const std::vector<Carried> carried =
      begin_carries(frame, body, static_cast<uint32_t>(num_body), carry_operands, registers);
  auto inputs = [&](absl::Span<const Var> constants, absl::Span<const loop::Scalar> arguments) {
    std::vector<Source> sources;
    for (Var var : constants) sources.push_back(frame.in_order(var));
    for (const Source& carry : carry_sources(frame, carried, carry_operands, arguments)) sources.push_back(carry);
    return sources;
  };
  const loop::Scalars results = b.while_loop(
      registers,
      [&](absl::Span<const loop::Scalar> arguments) {
        const std::vector<Source> outputs =
            Frame(b, condition, inputs(operands.subspan(0, num_condition), arguments), {}, frame.options()).run();
        return frame.value_of(outputs[0]);
      },
      [&](absl::Span<const loop::Scalar> arguments) {
        const std::vector<Source> outputs = Frame(b, body, inputs(operands.subspan(num_condition, num_body), arguments),
                                                  carry_places(carried), frame.options())
                                                .run();
        return end_body(frame, carried, outputs);
      });
  set_carries(frame, carried, carry_operands, equation.first_output, results);
}

class WhileLowering final : public Lowering {
 public:
  OperandReading reading(const Graph& graph, const Equation& equation, int operand) const override {
    OperandReading reading = Lowering::reading(graph, equation, operand);
    const Attrs& attrs = graph.attrs(equation);
    const int64_t constants = attrs.integer("num_condition_constants") + attrs.integer("num_body_constants");
    if (operand < constants) reading.form = OperandReading::Form::kDense;
    return reading;
  }
  void emit(Frame& frame, const Equation& equation) const override { emit_while(frame, equation); }
};
const LoweringFor<structures::While, WhileLowering> kWhileLowering;

void emit_cond(Frame& frame, const Equation& equation) {
  loop::Builder& b = frame.builder();
  const std::vector<GraphPtr>& branches = frame.attrs(equation).graphs("branches");
  absl::Span<const Var> operands = frame.operands(equation);
  CT_CHECK(!branches.empty());
  std::vector<std::optional<Place>> wanted;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    if (frame.aval(var).size() == 1) {
      wanted.push_back(std::nullopt);
    } else {
      wanted.push_back(frame.place(var));
    }
  }
  const loop::Scalar index = frame.scalar(operands[0]);
  auto run_branch = [&](size_t branch) {
    std::vector<Source> inputs;
    for (Var var : operands.subspan(1)) inputs.push_back(frame.source(var));
    const std::vector<Source> outputs = Frame(b, *branches[branch], std::move(inputs), wanted, frame.options()).run();
    loop::Scalars values;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      if (!wanted[k]) values.push_back(frame.value_of(outputs[k]));
    }
    return values;
  };
  // Indices below 0 are branch 0, those past the end the last.
  std::function<loop::Scalars(size_t)> choose = [&](size_t branch) {
    if (branch + 1 == branches.size()) return run_branch(branch);
    const loop::Scalar chosen = b.apply(ScalarOp::kLe, index, b.constant(index.dtype, static_cast<int64_t>(branch)));
    return b.if_else(chosen, [&] { return run_branch(branch); }, [&] { return choose(branch + 1); });
  };
  const loop::Scalars values = choose(0);
  size_t next = 0;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    if (!wanted[k]) frame.set_result(equation.first_output + k, values[next++]);
  }
}

class BranchesLowering final : public Lowering {
 public:
  void emit(Frame& frame, const Equation& equation) const override { emit_cond(frame, equation); }
};
const LoweringFor<structures::Branches, BranchesLowering> kBranchesLowering;

}  // namespace
}  // namespace ct::jit
