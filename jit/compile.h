// From a graph to something that can be called: compile.cc lists every pass in order. In the environment, CT_DUMP=1
// prints the program after each pass that changed it, and CT_CHECK_PASSES=1 checks it, as debug builds always do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "jit/loop/loop.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/host_call.h"
#include "jit/store/cache.h"

namespace ct {

// Through the cache. Errors name the primitive and the user's line.
absl::StatusOr<std::shared_ptr<const Executable>> compile(const GraphPtr& graph, const CompileOptions& options = {});

// The program as loops, for people; what the interpreter runs is the graph.
std::string loop_text(const Executable& executable);

std::vector<std::string> backend_names();

// The stages by themselves, for export, PTX, `explain` and tests.
enum class Home : uint8_t {
  kProcess,  // runs here, and may call back
  kLibrary,  // leaves this process: what would be a host call is expanded where there is a rule for it
  kDevice,   // the same, for a GPU
};
GraphPtr prepare(const GraphPtr& graph, Home home = Home::kProcess);  // all graph passes
// Loops and buffers. `host_functions` is as in LoweringOptions.
loop::Program lower_prepared(const Graph& graph, std::string_view name, bool kernels = false,
                             jit::HostFunctions* host_functions = nullptr);

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
