// Loops and branches: sub-graphs are lowered in place, by frames of their own. Carried scalars live in registers;
// carried arrays in two buffers that change places (schedule/buffers.h makes them one where the body updates in place).
// Host calls are here as well: like loops, they work on whole arrays in memory.
#include "ir/error.h"
#include "ir/text.h"
#include "jit/lower/frame.h"
#include "transforms/higher_order/higher_order.h"

namespace ct::jit {

loop::Scalar Frame::value_of(const Source& source) {
  return source.value ? *source.value : b_.load(source.place->buffer, source.place->offset);
}

loop::Scalar Frame::scalar(Var var) { return value_of(source(var)); }

Place Frame::stored_place(Var var) {
  const Source from = source(var);
  if (from.place) return *from.place;
  const Place place = new_temporary(graph_.aval(var));
  b_.store(place.buffer, place.offset, *from.value);
  places_[var] = place;
  return place;
}

void Frame::set_source(Var var, const Source& source) {
  const Aval& aval = graph_.aval(var);
  if (aval.size() == 1) return set_result(var, value_of(source));
  if (places_[var]) {
    copy_to(source, aval, *places_[var]);
  } else {
    places_[var] = source.place;
  }
}

void Frame::emit_control(const Equation& equation) {
  switch (equation.primitive->lowering) {
    case Lowering::kScan:
      return emit_scan(equation);
    case Lowering::kWhile:
      return emit_while(equation);
    case Lowering::kCond:
      return emit_cond(equation);
    default:
      throw Error(ErrorKind::kUnsupported, "the compiler has no way to compute this primitive")
          .op(equation.primitive->name)
          .at(equation.location)
          .hint("give it an element or expand rule, or use backend=\"interpreter\"");
  }
}

std::vector<Frame::Carried> Frame::begin_carries(const Graph& body, uint32_t first_input,
                                                 absl::Span<const Var> operands, loop::Scalars& registers) {
  std::vector<Carried> carried(operands.size());
  for (uint32_t i = 0; i < operands.size(); ++i) {
    const Aval& aval = graph_.aval(operands[i]);
    if (body.outputs()[i] == first_input + i) {
      carried[i].unchanged = true;
    } else if (aval.size() == 1) {
      carried[i].in_register = true;
      registers.push_back(scalar(operands[i]));
    } else {
      carried[i].array = CarriedArray{new_temporary(aval), new_temporary(aval)};
      copy_to(source(operands[i]), aval, carried[i].array->current);
    }
  }
  return carried;
}

std::vector<Source> Frame::carry_sources(const std::vector<Carried>& carried, absl::Span<const Var> operands,
                                         absl::Span<const loop::Scalar> arguments) const {
  std::vector<Source> sources;
  size_t next_argument = 0;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].unchanged) {
      sources.push_back(source(operands[i]));
    } else if (carried[i].in_register) {
      sources.push_back({std::nullopt, arguments[next_argument++]});
    } else {
      sources.push_back({carried[i].array->current, std::nullopt});
    }
  }
  return sources;
}

std::vector<std::optional<Place>> Frame::carry_places(const std::vector<Carried>& carried) const {
  std::vector<std::optional<Place>> places;
  for (const Carried& carry : carried) {
    places.push_back(carry.array ? std::optional<Place>(carry.array->next) : std::nullopt);
  }
  return places;
}

loop::Scalars Frame::end_body(const std::vector<Carried>& carried, const std::vector<Source>& outputs) {
  loop::Scalars registers;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].in_register) registers.push_back(value_of(outputs[i]));
  }
  for (const Carried& carry : carried) {
    if (carry.array) b_.swap(carry.array->current.buffer, carry.array->next.buffer);
  }
  return registers;
}

void Frame::set_carries(const std::vector<Carried>& carried, absl::Span<const Var> operands, Var first_output,
                        absl::Span<const loop::Scalar> results) {
  size_t next_result = 0;
  for (size_t i = 0; i < carried.size(); ++i) {
    const Var var = first_output + static_cast<Var>(i);
    if (carried[i].unchanged) {
      set_source(var, source(operands[i]));
    } else if (carried[i].in_register) {
      set_result(var, results[next_result++]);
    } else {
      set_source(var, {carried[i].array->current, std::nullopt});
    }
  }
}

void Frame::emit_scan(const Equation& equation) {
  const ScanAttrs attrs = ScanAttrs::from(graph_.attrs(equation));
  const Graph& body = *attrs.graph;
  const auto num_constants = static_cast<size_t>(attrs.num_constants);
  const auto num_carries = static_cast<size_t>(attrs.num_carries);
  const int64_t length = attrs.length;
  absl::Span<const Var> operands = graph_.operands(equation);
  loop::Index steps = length;
  if (attrs.counted) {
    const DType dtype = DType::kInt64;
    const loop::Scalar given = b_.convert(scalar(operands.back()), dtype);
    const loop::Scalar positive = b_.apply(ScalarOp::kMax, given, b_.constant(dtype, 0));
    steps = b_.to_index(b_.apply(ScalarOp::kMin, positive, b_.constant(dtype, length)));
    operands.remove_suffix(1);
  }
  absl::Span<const Var> carry_operands = operands.subspan(num_constants, num_carries);
  absl::Span<const Var> sequences = operands.subspan(num_constants + num_carries);

  loop::Scalars registers;
  const std::vector<Carried> carried =
      begin_carries(body, static_cast<uint32_t>(num_constants), carry_operands, registers);
  std::vector<Place> sequence_places;
  for (Var var : sequences) sequence_places.push_back(stored_place(var));
  std::vector<Place> stacked;
  for (size_t i = num_carries; i < equation.output_count; ++i) {
    const Var var = equation.first_output + static_cast<Var>(i);
    ensure_place(var);
    stacked.push_back(*places_[var]);
  }

  std::vector<loop::Builder::CarrySpec> specs;
  for (const loop::Scalar& value : registers) specs.push_back({value});
  if (attrs.counted) {
    for (size_t i = 0; i < stacked.size(); ++i) {
      const Aval slice = body.aval(body.outputs()[num_carries + i]);
      const loop::Index made = steps * slice.size();
      b_.fill(stacked[i].buffer, stacked[i].offset + made, loop::Index(length * slice.size()) - made,
              b_.constant(slice.dtype(), 0));
    }
  }
  const auto [step, arguments] = b_.begin_for(steps, {}, specs);
  const loop::Index at = attrs.reverse ? steps - loop::Index(1) - step : step;
  std::vector<Source> inputs;
  for (Var var : operands.subspan(0, num_constants)) inputs.push_back(source(var));
  for (const Source& carry : carry_sources(carried, carry_operands, arguments)) inputs.push_back(carry);
  for (size_t i = 0; i < sequences.size(); ++i) {
    const int64_t size = body.aval(static_cast<Var>(inputs.size())).size();
    inputs.push_back({Place{sequence_places[i].buffer, sequence_places[i].offset + at * size}, std::nullopt});
  }
  std::vector<std::optional<Place>> wanted = carry_places(carried);
  for (size_t i = 0; i < stacked.size(); ++i) {
    const int64_t size = body.aval(body.outputs()[num_carries + i]).size();
    wanted.push_back(Place{stacked[i].buffer, stacked[i].offset + at * size});
  }
  const std::vector<Source> outputs = Frame(b_, body, std::move(inputs), std::move(wanted), options_).run();
  const loop::Scalars results = b_.end_for(end_body(carried, outputs));
  set_carries(carried, carry_operands, equation.first_output, results);
}

void Frame::emit_while(const Equation& equation) {
  const Attrs& attrs = graph_.attrs(equation);
  const Graph& condition = *attrs.graph("condition");
  const Graph& body = *attrs.graph("body");
  const auto num_condition = static_cast<size_t>(attrs.integer("num_condition_constants"));
  const auto num_body = static_cast<size_t>(attrs.integer("num_body_constants"));
  absl::Span<const Var> operands = graph_.operands(equation);
  absl::Span<const Var> carry_operands = operands.subspan(num_condition + num_body);

  loop::Scalars registers;
  const std::vector<Carried> carried = begin_carries(body, static_cast<uint32_t>(num_body), carry_operands, registers);
  auto inputs = [&](absl::Span<const Var> constants, absl::Span<const loop::Scalar> arguments) {
    std::vector<Source> sources;
    for (Var var : constants) sources.push_back(source(var));
    for (const Source& carry : carry_sources(carried, carry_operands, arguments)) sources.push_back(carry);
    return sources;
  };
  const loop::Scalars results = b_.while_loop(
      registers,
      [&](absl::Span<const loop::Scalar> arguments) {
        const std::vector<Source> outputs =
            Frame(b_, condition, inputs(operands.subspan(0, num_condition), arguments), {}, options_).run();
        return value_of(outputs[0]);
      },
      [&](absl::Span<const loop::Scalar> arguments) {
        const std::vector<Source> outputs =
            Frame(b_, body, inputs(operands.subspan(num_condition, num_body), arguments), carry_places(carried),
                  options_)
                .run();
        return end_body(carried, outputs);
      });
  set_carries(carried, carry_operands, equation.first_output, results);
}

void Frame::emit_cond(const Equation& equation) {
  const std::vector<GraphPtr>& branches = graph_.attrs(equation).graphs("branches");
  absl::Span<const Var> operands = graph_.operands(equation);
  CT_CHECK(!branches.empty());
  std::vector<std::optional<Place>> wanted;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    if (graph_.aval(var).size() == 1) {
      wanted.push_back(std::nullopt);
    } else {
      ensure_place(var);
      wanted.push_back(places_[var]);
    }
  }
  const loop::Scalar index = scalar(operands[0]);
  auto run_branch = [&](size_t branch) {
    std::vector<Source> inputs;
    for (Var var : operands.subspan(1)) inputs.push_back(source(var));
    const std::vector<Source> outputs = Frame(b_, *branches[branch], std::move(inputs), wanted, options_).run();
    loop::Scalars values;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      if (!wanted[k]) values.push_back(value_of(outputs[k]));
    }
    return values;
  };
  // Indices below 0 are branch 0, those past the end the last.
  std::function<loop::Scalars(size_t)> choose = [&](size_t branch) {
    if (branch + 1 == branches.size()) return run_branch(branch);
    const loop::Scalar chosen = b_.apply(ScalarOp::kLe, index, b_.constant(index.dtype, static_cast<int64_t>(branch)));
    return b_.if_else(chosen, [&] { return run_branch(branch); }, [&] { return choose(branch + 1); });
  };
  const loop::Scalars values = choose(0);
  size_t next = 0;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    if (!wanted[k]) set_result(equation.first_output + k, values[next++]);
  }
}

void Frame::emit_host(const Equation& equation) {
  const Primitive& primitive = *equation.primitive;
  if (emit_kernel(equation)) return;
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(ErrorKind::kUnsupported, what).op(primitive.name).at(equation.location).hint(hint);
  };
  if (!primitive.reference) refuse("runs outside of generated code, but has no reference rule", "give it one");
  if (options_.host_functions == nullptr) {
    refuse("runs in this process (in a library or in Python), which the compiled program must do without",
           "leave it out of the function, or give the primitive an expand rule");
  }
  HostFunction function{.primitive = &primitive, .attrs = graph_.attrs_ptr(equation), .location = equation.location};
  loop::HostCall call{0, primitive.name, {}, {}};
  const auto array = [](const Place& place, const Aval& aval) {
    return loop::HostCall::Array{place.buffer, place.offset, aval.size()};
  };
  for (Var var : graph_.operands(equation)) {
    const Aval& aval = graph_.aval(var);
    call.inputs.push_back(array(stored_place(var), aval));
    function.inputs.push_back(aval);
  }
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    const Aval& aval = graph_.aval(var);
    ensure_place(var);
    call.outputs.push_back(array(*places_[var], aval));
    function.outputs.push_back(aval);
  }
  call.function = options_.host_functions->add(std::move(function));
  b_.host_call(std::move(call));
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    if (graph_.aval(var).size() == 1) registers_[var] = b_.load(places_[var]->buffer, places_[var]->offset);
  }
}

}  // namespace ct::jit
