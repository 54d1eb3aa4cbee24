// Back ends, by the names that users give: `jit(f, backend="llvm")`. A back end says how a graph becomes a Plan, and on
// which device its plans run; compile (jit/compile.h) does the rest, caches among it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "ir/graph.h"
#include "jit/runtime/host_functions.h"
#include "jit/store/cache.h"

namespace ct {

struct Backend {
  std::string name;
  std::string kind = name;  // "cuda" of "cuda:1": whose plans are for any device of the kind that has the same target
  Device* device = nullptr;
  // `host_functions`, empty at first, gets those that the plan calls.
  std::function<absl::StatusOr<Plan>(const GraphPtr& graph, const CompileOptions& options,
                                     jit::HostFunctions& host_functions)>
      make_plan;
  // The same functions again, for a plan from the disk. Without it plans are not kept there.
  std::function<void(const GraphPtr& graph, const CompileOptions& options, jit::HostFunctions& host_functions)>
      find_host_functions = nullptr;
  // What a graph's plan is for, where that depends on what this machine has: a part of what finds it on the disk.
  std::function<std::string(const Graph& graph)> target = nullptr;
};

// Before anything is compiled: there is no lock. Names are taken once.
void register_backend(Backend backend);
const Backend* find_backend(std::string_view name);  // null if there is none
std::vector<std::string> backend_names();            // of the first of each kind
// The first one whose device's memory is that; the processor's compiler for the host; empty where there is none, or
// where it is that of several devices.
std::string backend_at(int place);

}  // namespace ct
