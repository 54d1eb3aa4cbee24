#include "jit/export/lower_function.h"

#include <utility>

#include "jit/compile.h"
#include "jit/export/lengths.h"
#include "jit/schedule/buffers.h"
#include "runtime/error.h"

namespace ct {
namespace {

// Inputs whose values are known, of up to so many bytes, become constants of the program; the others' bytes are
// returned.
std::vector<std::string> build_in(loop::Program& program, uint32_t num_inputs, const std::vector<Tensor>& constants,
                                  int64_t most_bytes) {
  CT_CHECK(constants.size() <= num_inputs);
  const auto first = static_cast<int64_t>(num_inputs - constants.size());
  std::vector<std::string> large(constants.size());
  for (loop::Buffer& buffer : program.buffers) {
    if (buffer.kind != loop::BufferKind::kInput || buffer.position < first) continue;
    const auto number = static_cast<size_t>(buffer.position - first);
    const Tensor& value = constants[number];
    std::string bytes(value.as<char>(), static_cast<size_t>(value.aval().bytes()));
    if (value.aval().bytes() > most_bytes) {
      large[number] = std::move(bytes);
      continue;
    }
    buffer.kind = loop::BufferKind::kConstant;
    buffer.position = 0;
    buffer.bytes = std::move(bytes);
  }
  return large;
}

}  // namespace

LoweredFunction lower_function(const GraphPtr& graph, const LibraryFunction& function, int64_t most_bytes) {
  const auto num_arguments = static_cast<uint32_t>(graph->num_inputs() - function.constants.size());
  CT_CHECK(function.inputs.size() == num_arguments && function.outputs.size() == graph->outputs().size());
  LoweredFunction made;
  jit::CFunction& c = made.function;
  c.name = function.symbol;
  c.parameters = function.parameters;
  c.inputs = function.inputs;
  c.outputs = function.outputs;
  c.pairs = function.pairs;
  for (uint32_t i = 0; i < num_arguments; ++i) c.input_avals.push_back(graph->aval(i));
  c.output_avals = graph->output_avals();
  c.lengths = jit::bounded_inputs(*graph, num_arguments);
  jit::Donated donated{std::vector<bool>(graph->num_inputs()), function.pairs};
  for (const int input : function.pairs) {
    if (input >= 0) donated.inputs[static_cast<size_t>(input)] = true;
  }
  made.program =
      lower_prepared(*prepare(graph, kAnyHost, Products::kDirect), function.symbol, kAnyHost, nullptr, &donated);
  c.donations = jit::donations(made.program, donated);
  c.constants = build_in(made.program, graph->num_inputs(), function.constants, most_bytes);
  c.may_stop = jit::may_take_long(made.program);
  return made;
}

}  // namespace ct
