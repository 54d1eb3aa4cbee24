// Programs as functions of one C library for processors. Needs no compiler or linker on this machine, and the library
// needs nothing but memcpy, memmove and memset. What C sees is decided by who writes the header (the front end): where
// in which parameter each array is. Start at compile_function, then make_library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "jit/llvm/c_functions.h"
#include "jit/llvm/compiler.h"
#include "runtime/tensor.h"

namespace ct {

// Machines that libraries are made for, by the names that users write.
struct LibraryTarget {
  std::string name;
  std::string triple;             // empty: this machine's
  std::vector<std::string> cpus;  // a level each, the best last. One that is empty: this machine's
  std::string least_cpu;          // what asks for the level runs on it
  std::string features;           // besides those of the cpu, by LLVM's names
  enum class Kind : uint8_t {
    kLinux,  // a static and a shared library
    kBare,   // without an operating system: a static one
    kWasm,   // a module
  } kind = Kind::kLinux;
  bool portable = false;  // every target computes the same bits

  jit::TargetOptions options(const std::string& cpu) const {
    return {.triple = triple,
            .cpu = cpu,
            .vector_bits = 0,
            .features = features,
            .portable = portable,
            .emulates_kernels = false,
            .tells_stack = true};
  }
};
std::vector<std::string> library_target_names();
// "x86-64", for all from x86-64-v2 on, "aarch64", "native", ...; an error lists them.
absl::StatusOr<LibraryTarget> library_target(std::string_view name, bool portable = false);

absl::StatusOr<unsigned> pointer_bits(const LibraryTarget& target);

std::string_view library_version();  // of cotangent

struct LibraryFunction {
  std::string symbol;
  std::vector<jit::CParameter> parameters;
  std::vector<jit::CLeaf> inputs, outputs;  // of the graph, without the constants
  std::vector<int> pairs;                   // by output: the input whose place it has, or -1
  std::vector<Tensor> constants;            // values of the graph's last inputs
};

struct CompiledFunction {
  jit::CFunction function;
  std::vector<std::string> objects;  // one for each level
  int64_t nanoseconds = 0;           // that a call takes, about
  bool bounded = true;               // no loop goes on by what is computed
  int64_t stack_bytes = 0;           // that a call takes, at most
};
// Errors name the operation and the user's line.
absl::StatusOr<CompiledFunction> compile_function(const GraphPtr& graph, const LibraryFunction& function,
                                                  const LibraryTarget& target);

struct LibraryFiles {
  std::string archive;
  std::string linked;  // the shared library, or NAME.wasm
};
absl::StatusOr<LibraryFiles> make_library(const std::string& name, const std::vector<CompiledFunction>& functions,
                                          const std::string& description, uint64_t signature, bool checks,
                                          const LibraryTarget& target);

}  // namespace ct
