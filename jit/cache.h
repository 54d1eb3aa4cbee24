// Executables by what they were compiled from. In memory: a bounded table, least recently used out first. On disk
// (disk_cache.h): object code, so that a new process links instead of compiling.
#pragma once

#include <functional>

#include "jit/compile.h"

namespace ct::jit {

struct Made {
  std::shared_ptr<const Executable> executable;
  bool from_disk = false;
};

// Calls `make` unless an equal graph with equal options was compiled before.
absl::StatusOr<std::shared_ptr<const Executable>> cached(const GraphPtr& graph, const CompileOptions& options,
                                                         const std::function<absl::StatusOr<Made>()>& make);

}  // namespace ct::jit
