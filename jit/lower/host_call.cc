// What the host computes: a call out of the program, or loops of ours where there are some.
#include "jit/lower/frame.h"
#include "jit/lower/library_calls.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

void emit_call(Frame& frame, const Equation& equation) {
  const Primitive& primitive = *equation.primitive;
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(ErrorKind::kUnsupported, what).op(primitive.name).at(equation.location).hint(hint);
  };
  if (!primitive.reference) refuse("runs outside of generated code, but has no reference rule", "give it one");
  if (frame.options().host_functions == nullptr) {
    refuse("runs in this process (in a library or in Python), which the compiled program must do without",
           "leave it out of the function, or give the primitive an expand rule");
  }
  HostFunction function{.primitive = &primitive,
                        .attrs = library_attrs(frame.limits().known(), frame.graph(), equation),
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
    call.outputs.push_back(array(frame.place(var), aval));
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
    return library_operand_limits(limits, graph, equation);
  }
  void emit(Frame& frame, const Equation& equation) const override {
    if (!emit_library_loops(frame, equation)) emit_call(frame, equation);
  }
};
const LoweringFor<structures::HostCall, HostCallLowering> kHostCallLowering;

}  // namespace
}  // namespace ct::jit
