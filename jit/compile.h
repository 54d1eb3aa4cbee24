// From a graph to something that can be called. `compile` is the narrated driver: compile.cc lists every pass in order.
// CT_DUMP=1 in the environment prints the program to standard error after each pass that changed it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/plan.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "jit/host_call.h"
#include "jit/loop.h"

namespace ct {

struct CompileOptions {
  std::string backend = "llvm";    // or "interpreter"
  std::vector<bool> donated = {};  // by input: the caller gives its memory up; may be shorter
  std::string cpu = "";            // empty: this machine's
  bool use_disk_cache = true;
};

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
  // The program as loops, for people; what the interpreter runs is the graph.
  std::string loop_text() const;

 private:
  void run_to_the_end(void* const* inputs, void* const* outputs) const;

  Plan plan_;
  GraphPtr graph_;                                // what is interpreted, when there is no code; else what was compiled
  std::shared_ptr<const loop::Program> program_;  // null when the code came from disk
  jit::HostFunctions host_functions_;
};

// Through the cache. Errors name the primitive and the user's line.
absl::StatusOr<std::shared_ptr<const Executable>> compile(const GraphPtr& graph, const CompileOptions& options = {});

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

struct CacheStatistics {
  int64_t hits = 0;       // found in memory
  int64_t disk_hits = 0;  // found on disk
  int64_t misses = 0;     // compiled
  int64_t evictions = 0;
  int64_t entries = 0;  // in memory now
};
CacheStatistics cache_statistics();
void clear_cache();  // in memory; the directory on disk stays

}  // namespace ct
