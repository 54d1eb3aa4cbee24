// A plan of the host's functions that both a processor and a GPU can play: doubles a number until it is at least 10 and
// three times more; from 100 on it is negated.
#pragma once

#include <vector>

#include "device/device.h"

namespace ct {

class DoublingFunctions final : public HostTable {
 public:
  std::vector<std::string> texts() const override { return {"double", "below 10", "above 100", "negate"}; }
  void call(uint32_t function, const void* const* inputs, void* const* outputs) const override {
    const float value = *static_cast<const float*>(inputs[0]);
    if (function == 0) *static_cast<float*>(outputs[0]) = 2 * value;
    if (function == 1) *static_cast<bool*>(outputs[0]) = value < 10;
    if (function == 2) *static_cast<int32_t*>(outputs[0]) = value > 100;
    if (function == 3) *static_cast<float*>(outputs[0]) = -value;
  }
};

// Its buffers: the number given, the result, and in the arena the number and what is asked of it.
inline Plan doubling_without_steps() {
  const Aval number(DType::kFloat32, {});
  Plan plan;
  plan.name = "doubling";
  plan.inputs = {number};
  plan.outputs = {number};
  plan.donations = {-1};
  plan.arena_bytes = 128;
  plan.buffers = {{.kind = PlanBuffer::Kind::kInput, .position = 0, .offset = 0, .bytes = 4},
                  {.kind = PlanBuffer::Kind::kOutput, .position = 0, .offset = 0, .bytes = 4},
                  {.kind = PlanBuffer::Kind::kArena, .position = 0, .offset = 0, .bytes = 4},
                  {.kind = PlanBuffer::Kind::kArena, .position = 0, .offset = 64, .bytes = 8}};
  plan.host_functions = DoublingFunctions().texts();
  return plan;
}

}  // namespace ct
