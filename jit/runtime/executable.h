// Compiled code that can be called: a Plan with what it was compiled from and the host functions that it calls.
#pragma once

#include <memory>
#include <vector>

#include "device/plan.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "jit/loop/loop.h"
#include "jit/runtime/host_call.h"

namespace ct {

// Programs that take less are not asked whether to go on (jit/llvm/emit_polls.cc).
inline constexpr int64_t kMayBeLong = 10'000;  // nanoseconds

// Compiled code with its types. Immutable and safe to use from many threads at once.
class Executable {
 public:
  Executable(Plan plan, GraphPtr graph, std::shared_ptr<const loop::Program> program,
             jit::HostFunctions host_functions = {});

  absl::Span<const Aval> input_avals() const { return plan_.inputs; }
  absl::Span<const Aval> output_avals() const { return plan_.outputs; }
  // By output: the donated input whose pointer may be passed for it, or -1.
  absl::Span<const int> donations() const { return plan_.donations; }

  // Pointers to row-major elements; outputs are preallocated. Allocates nothing, except that the first call of a thread
  // may get scratch memory: Error(kMemory) if there is none. Throws what a host call throws; outputs are then
  // undefined. So they are when the front end interrupts a long program (ir/interrupt.h), whose reason it then throws.
  void run(void* const* inputs, void* const* outputs) const;
  // Checks types, allocates the results.
  std::vector<Tensor> operator()(absl::Span<const Tensor> inputs) const;

  int64_t arena_bytes() const { return plan_.arena_bytes; }
  int64_t nanoseconds() const { return plan_.nanoseconds; }
  const Plan& plan() const { return plan_; }
  const GraphPtr& graph() const { return graph_; }                 // what it was compiled from
  const loop::Program* program() const { return program_.get(); }  // null when the code came from disk

 private:
  void run_to_the_end(void* const* inputs, void* const* outputs) const;

  Plan plan_;
  GraphPtr graph_;  // what is interpreted, when there is no code; else what was compiled
  std::shared_ptr<const loop::Program> program_;
  jit::HostFunctions host_functions_;
};

}  // namespace ct
