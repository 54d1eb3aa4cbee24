// A plan for a GPU as what an exported library plays (device/cuda/exported/program.h). Steps that need the host, and
// loops and branches that it would have to decide, are kUnimplemented: a library enqueues, and waits for nothing.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "device/plan.h"
#include "jit/llvm/gpu_c_functions.h"
#include "runtime/tensor.h"

namespace ct {

// `constants`: values of the last inputs.
absl::StatusOr<jit::GpuProgram> gpu_program(const Plan& plan, const std::vector<Tensor>& constants);

}  // namespace ct
