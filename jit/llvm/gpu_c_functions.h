// The object of an exported GPU program: its kernels and steps as constants, and the functions that C programs call.
// What they call is device/cuda/exported/runtime.cc.
//
//   int NAME(const void* input0, ..., void* output0, ..., CUstream stream)
//   int NAME_with_workspace(const void* input0, ..., void* output0, ..., void* workspace, CUstream stream)
//   int NAME_load(CUstream stream), int NAME_unload(CUstream stream)
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/cuda/exported/program.h"
#include "jit/llvm/compiler.h"

namespace ct::jit {

// As device/cuda/exported/program.h explains.
struct GpuProgram {
  std::string ptx;
  std::vector<std::string> symbols;
  std::vector<int64_t> shared_bytes;
  std::vector<cuda::exported::Product> products;
  std::vector<int64_t> steps;
  std::string constants;
  std::vector<int64_t> constant_offsets;
  int64_t arguments = 0;
  int64_t workspace_bytes = 0;
  int64_t most_of_launch = 0;  // arguments
};

absl::StatusOr<std::string> emit_gpu_object(const GpuProgram& program, const std::string& name,
                                            const TargetOptions& options);

}  // namespace ct::jit
