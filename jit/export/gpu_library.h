// A program for GPUs of NVIDIA as a C library: header, static and shared library, and the saved graph. Needs no
// compiler or linker on this machine, and at run time the driver, and cuBLASLt if it has large products. What runs in
// this process only (structures::HostCall: Python callbacks) is expanded into other primitives, and where there is no
// `expand` rule it is an error that names it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "runtime/tensor.h"

namespace ct {

struct GpuLibraryOptions {
  std::string name = "program";                // a C identifier: the function, and the files' names
  std::vector<std::string> input_names = {};   // of parameters; may be shorter than the inputs: theirs, or x0, x1, ...
  std::vector<std::string> output_names = {};  // out0, out1, ...
  std::vector<Tensor> constants = {};          // values of the last inputs, built into the library
  std::string target = "cuda";                 // or "cuda:sm_90"
  bool product_library = true;                 // large products are left to cuBLASLt
};

struct ExportedFile {
  std::string name;
  std::string bytes;
};

// The header NAME.h, the libraries libNAME.a and libNAME.so, and the graph with the constants NAME.ctir.
absl::StatusOr<std::vector<ExportedFile>> gpu_library(const GraphPtr& graph, const GpuLibraryOptions& options);

}  // namespace ct
