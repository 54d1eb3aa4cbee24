// A back end of its own, "toy": one host function for each equation, which runs the primitive's reference rule, on a
// device whose queue writes down what it is told. Nothing outside of this file knows of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/cpu/cpu.h"
#include "jit/backend.h"
#include "jit/compile.h"
#include "runtime/error.h"

namespace ct {

// One host function for each equation, and copies of what is an output.
inline absl::StatusOr<Plan> plan_equations(const GraphPtr& graph, const CompileOptions&,
                                           jit::HostFunctions& host_functions) {
  Plan plan;
  plan.name = "equations";
  plan.target = "toy";
  std::vector<Step>& steps = plan.blocks.emplace_back();
  for (Var var = 0; var < graph->num_vars(); ++var) {
    const int64_t bytes = graph->aval(var).bytes();
    if (var < graph->num_inputs()) {
      plan.buffers.push_back(
          {.kind = PlanBuffer::Kind::kInput, .position = static_cast<int32_t>(var), .offset = 0, .bytes = bytes});
    } else {
      plan.buffers.push_back(
          {.kind = PlanBuffer::Kind::kArena, .position = 0, .offset = plan.arena_bytes, .bytes = bytes});
      plan.arena_bytes += (bytes + 63) / 64 * 64;
    }
  }
  for (const Equation& equation : graph->equations()) {
    jit::HostFunction function;
    HostStep step;
    for (Var var : graph->operands(equation)) {
      function.inputs.push_back(graph->aval(var));
      step.inputs.push_back({{var, 0}, graph->aval(var).bytes()});
    }
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      function.outputs.push_back(graph->aval(equation.first_output + k));
      step.outputs.push_back({{equation.first_output + k, 0}, function.outputs.back().bytes()});
    }
    if (equation.primitive->reference) {
      function.primitive = equation.primitive;
      function.attrs = graph->attrs_ptr(equation);
    } else {
      function.graph = build_graph(function.inputs, [&](Builder& b, const Values& operands) {
        return b.bind(*equation.primitive, operands, graph->attrs_ptr(equation));
      });
    }
    step.function = host_functions.add(std::move(function));
    steps.push_back(std::move(step));
  }
  for (size_t i = 0; i < graph->outputs().size(); ++i) {
    const Var var = graph->outputs()[i];
    const int64_t bytes = graph->aval(var).bytes();
    plan.buffers.push_back(
        {.kind = PlanBuffer::Kind::kOutput, .position = static_cast<int32_t>(i), .offset = 0, .bytes = bytes});
    steps.push_back(CopyStep{{static_cast<uint32_t>(plan.buffers.size() - 1), 0}, {var, 0}, bytes});
  }
  plan.donations.assign(graph->outputs().size(), -1);
  plan.outputs = graph->output_avals();
  return plan;
}

class Toy final : public Device {
 public:
  std::shared_ptr<Buffer> allocate(size_t bytes) override { return Buffer::allocate(bytes); }
  absl::StatusOr<LoadedPtr> load(const Plan& plan, std::shared_ptr<const HostTable> host_table) override {
    if (const std::string problem = check_plan(plan); !problem.empty()) return absl::InternalError(problem);
    return std::make_shared<const Loaded>(plan, *this, std::move(host_table));
  }
  Queue& queue() override { return queue_; }

  std::vector<std::string> take_log() { return std::exchange(queue_.log, {}); }

 private:
  class Logger final : public HostQueue {
   public:
    void copy(void* to, const void* from, int64_t bytes) override {
      log.push_back("copy " + std::to_string(bytes));
      HostQueue::copy(to, from, bytes);
    }
    void host(const Loaded& loaded, const HostStep& step, absl::Span<const void* const> inputs,
              absl::Span<void* const> outputs) override {
      log.push_back(loaded.plan().host_functions[step.function]);
      HostQueue::host(loaded, step, inputs, outputs);
    }
    std::vector<std::string> log;
  };
  Logger queue_;
};

inline Toy& toy() {
  static auto& device = *new Toy;
  return device;
}

[[maybe_unused]] inline const bool kToyIsRegistered =
    (register_backend({.name = "toy", .device = &toy(), .make_plan = plan_equations}), true);

}  // namespace ct
