#include "jit/runtime/executable.h"

#include <cstring>

#include "device/cpu/cpu.h"
#include "interpreter/evaluate.h"
#include "ir/error.h"
#include "ir/interrupt.h"
#include "ir/process.h"
#include "ir/text.h"

namespace ct {

Executable::Executable(Plan plan, GraphPtr graph, std::shared_ptr<const loop::Program> program,
                       jit::HostFunctions host_functions)
    : plan_(std::move(plan)),
      graph_(std::move(graph)),
      program_(std::move(program)),
      host_functions_(std::move(host_functions)) {}

void Executable::run(void* const* inputs, void* const* outputs) const {
  if (plan_.nanoseconds < kMayBeLong) return run_to_the_end(inputs, outputs);
  const Interruptible scope;
  run_to_the_end(inputs, outputs);
  scope.rethrow();
}

void Executable::run_to_the_end(void* const* inputs, void* const* outputs) const {
  if (!host_functions_.empty()) {
    // Scratch memory of its own: what is called may run programs on this thread, with the thread's arena.
    const auto arena = Buffer::allocate(static_cast<size_t>(plan_.arena_bytes));
    const jit::HostScope scope(host_functions_);
    plan_.entry(inputs, outputs, arena->data());
    return scope.rethrow();
  }
  if (plan_.entry != nullptr) {
    plan_.entry(inputs, outputs, plan_.arena_bytes == 0 ? nullptr : cpu_arena(plan_.arena_bytes));
    return;
  }
  const Working computes(Work::kCompute);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(plan_.inputs[i].bytes());
    tensors.emplace_back(plan_.inputs[i], Buffer::borrow(inputs[i], bytes, [] {}));
  }
  const std::vector<Tensor> results = evaluate(*graph_, tensors);
  for (size_t i = 0; i < results.size(); ++i) {
    std::memcpy(outputs[i], results[i].data(), static_cast<size_t>(plan_.outputs[i].bytes()));
  }
}

std::vector<Tensor> Executable::operator()(absl::Span<const Tensor> inputs) const {
  if (inputs.size() != plan_.inputs.size()) {
    throw Error(ErrorKind::kType,
                concat("compiled for ", plan_.inputs.size(), " arguments, called with ", inputs.size()));
  }
  absl::InlinedVector<void*, 16> input_pointers, output_pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!same_type(inputs[i].aval(), plan_.inputs[i])) {
      throw Error(ErrorKind::kType, concat("argument ", i, " was compiled for ", plan_.inputs[i].to_string(),
                                           ", called with ", inputs[i].aval().to_string()));
    }
    input_pointers.push_back(inputs[i].data());
  }
  std::vector<Tensor> outputs;
  for (const Aval& aval : plan_.outputs) {
    outputs.emplace_back(aval);
    output_pointers.push_back(outputs.back().data());
  }
  run(input_pointers.data(), output_pointers.data());
  return outputs;
}

}  // namespace ct
