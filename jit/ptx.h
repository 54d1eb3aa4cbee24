// Graphs made of element-wise equations and reductions as CUDA kernels: text of one PTX module. The same lowering and
// emitter as on the CPU; a GPU back end launches the kernels in order.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "jit/llvm/compiler.h"

namespace ct {

// `sm`: "sm_80", "sm_90", ... Products, scans and branches are kUnimplemented.
absl::StatusOr<jit::PtxModule> compile_to_ptx_module(const GraphPtr& graph, std::string_view sm);
absl::StatusOr<std::string> compile_to_ptx(const GraphPtr& graph, std::string_view sm);  // its text alone

}  // namespace ct
