// From a graph to something that can be called: compile.cc lists every pass in order. In the environment, CT_DUMP=1
// prints the program after each pass that changed it, and CT_CHECK_PASSES=1 checks it, as debug builds always do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/loaded.h"
#include "device/machine.h"
#include "ir/graph.h"
#include "jit/loop/loop.h"
#include "jit/runtime/host_functions.h"
#include "jit/schedule/buffers.h"
#include "jit/store/cache.h"

namespace ct {

// Through the caches, by the back end that the options name, on its device. Errors name the primitive and the user's
// line.
absl::StatusOr<LoadedPtr> compile(const GraphPtr& graph, const CompileOptions& options = {});

// Without any cache.
absl::StatusOr<LoadedPtr> compile_anew(const GraphPtr& graph, const CompileOptions& options);

// What was compiled as loops, for people; what the interpreter runs is the graph.
std::string loop_text(const GraphPtr& graph, const Loaded& loaded, Products products);

// Kernels of a GPU's architecture ("sm_80", "sm_90", ..., or jit::kEmulated), by the same lowering and emitter as on
// the host. Programs that call the host are kUnimplemented.
absl::StatusOr<Plan> compile_kernels(const GraphPtr& graph, std::string_view architecture,
                                     const Machine& machine = kGpu);

// What this process runs programs on: its processor, with its libraries.
const Machine& this_process();

// The stages by themselves, for export, `explain` and tests.
// All graph passes.
GraphPtr prepare(const GraphPtr& graph, const Machine& machine = kThisProcess, Products products = Products::kGram);
// Loops and buffers. `host_functions` is as in LoweringOptions, `donated` as of `assign_buffers`.
loop::Program lower_prepared(const Graph& graph, std::string_view name, const Machine& machine = kThisProcess,
                             jit::HostFunctions* host_functions = nullptr, const jit::Donated* donated = nullptr);

// While one lives, the passes that this thread runs add their times to it.
class StageTimes {
 public:
  struct Stage {
    std::string name;
    double seconds;
  };
  StageTimes();
  ~StageTimes();
  StageTimes(const StageTimes&) = delete;
  StageTimes& operator=(const StageTimes&) = delete;
  std::vector<Stage> stages;

 private:
  StageTimes* enclosing_;
};

}  // namespace ct
