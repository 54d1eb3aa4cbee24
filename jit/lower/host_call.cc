// What the host computes: a call out of the program, or loops of ours where there are some.
#include <algorithm>

#include "jit/lower/frame.h"
#include "jit/lower/library_calls.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

using SizedAxes = structures::HostCall::SizedAxes;

// What the equation is told about.
SizedAxes sized_axes(const Graph& graph, const Equation& equation) {
  const auto* call = equation.primitive->structure_as<structures::HostCall>();
  if (!call->sized_axes) return {};
  SizedAxes axes = call->sized_axes(graph.attrs(equation));
  std::erase_if(axes, [&](const auto& axis) {
    return axis.size >= equation.operand_count || (axis.of_result && axis.index >= equation.output_count);
  });
  return axes;
}

std::optional<Limit> limit_of(const structures::HostCall::SizedAxis& axis, const ElementLimits& limits,
                              const Graph& graph, const Equation& equation) {
  const Var var =
      axis.of_result ? equation.first_output + static_cast<Var>(axis.index) : graph.operands(equation)[axis.index];
  const ElementForm size = limits.form(graph, graph.operands(equation)[axis.size]);
  if (size.source == kNoVar) return std::nullopt;
  return Limit{graph.aval(var).rank() - 1 - axis.from_last, size.source, 0, size.source_axes};
}

// The axes of results, if none of them is read behind any.
SizedAxes unread_axes(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  SizedAxes axes = sized_axes(graph, equation);
  std::erase_if(axes, [](const auto& axis) { return !axis.of_result; });
  if (!limits.any()) return {};
  for (const auto& axis : axes) {
    const Var var = equation.first_output + static_cast<Var>(axis.index);
    if (!limits.is_wanted(var)) continue;
    const bool known = std::ranges::any_of(axes, [&](const auto& other) {
      if (other.index != axis.index || other.from_last != axis.from_last) return false;
      const std::optional<Limit> limit = limit_of(other, limits, graph, equation);
      return limit && contains(limits.wanted(var), *limit);
    });
    if (!known) return {};
  }
  return axes;
}

void emit_call(Frame& frame, const Equation& equation) {
  const Primitive& primitive = *equation.primitive;
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(ErrorKind::kUnsupported, what)
        .op(primitive.name)
        .at(equation.location)
        .hint(hint)
        .see("export-without-a-form");
  };
  if (!primitive.reference) refuse("runs outside of generated code, but has no reference rule", "give it one");
  if (frame.options().host_functions == nullptr) {
    refuse("runs in this process (in a library or in Python), which the compiled program must do without",
           "leave it out of the function: checks are results by ct.checkify.checkify(f), and a primitive of your own "
           "needs an expand rule");
  }
  HostFunction function{.primitive = &primitive,
                        .attrs = library_attrs(frame.limits().known(), frame.graph(), equation),
                        .unread = unread_axes(frame.limits().known(), frame.graph(), equation),
                        .location = equation.location};
  loop::HostCall call{0, primitive.name, {}, {}};
  const auto array = [](const Place& place, const Aval& aval) {
    return loop::HostCall::Array{place.buffer, place.offset, aval.size()};
  };
  for (Var var : frame.operands(equation)) {
    const Aval& aval = frame.aval(var);
    call.inputs.push_back(array(frame.stored_place(var), aval));
    function.inputs.push_back(aval);
  }
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    const Aval& aval = frame.aval(var);
    const Place place = frame.place(var);
    if (!function.unread.empty()) spoil_if_checked(frame.builder(), place.buffer, place.offset, aval);
    call.outputs.push_back(array(place, aval));
    function.outputs.push_back(aval);
  }
  call.function = frame.options().host_functions->add(std::move(function));
  frame.builder().host_call(std::move(call));
  frame.reload(equation);
}

class HostCallLowering final : public Lowering {
 public:
  OperandReading reading(const Graph&, const Equation&, int) const override {
    return {.form = OperandReading::Form::kFlat, .reason = "a function outside of the program reads it"};
  }
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    OperandLimits result = library_operand_limits(limits, graph, equation);
    for (const auto& axis : sized_axes(graph, equation)) {
      if (axis.of_result) continue;
      if (auto limit = limit_of(axis, limits, graph, equation)) result[axis.index]->push_back(*std::move(limit));
    }
    return result;
  }
  ElementForm form(const ElementLimits& limits, const Graph& graph, const Equation& equation,
                   int output) const override {
    ElementForm result;
    for (const auto& axis : sized_axes(graph, equation)) {
      if (!axis.of_result || axis.index != static_cast<size_t>(output)) continue;
      if (auto limit = limit_of(axis, limits, graph, equation)) result.fillings.push_back({*std::move(limit), 0});
    }
    return result;
  }
  void emit(Frame& frame, const Equation& equation) const override {
    if (!emit_library_loops(frame, equation)) emit_call(frame, equation);
  }
};
const LoweringFor<structures::HostCall, HostCallLowering> kHostCallLowering;

}  // namespace
}  // namespace ct::jit
