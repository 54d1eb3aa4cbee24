// Executables by what they were compiled from. In memory: a bounded table, least recently used out first. On disk
// (store/disk_cache.h): object code, so that a new process links instead of compiling.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime/executable.h"

namespace ct {

struct CompileOptions {
  std::string backend = "llvm";    // or "interpreter"
  std::vector<bool> donated = {};  // by input: the caller gives its memory up; may be shorter
  std::string cpu = "";            // empty: this machine's
  bool use_disk_cache = true;
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

namespace ct::jit {

struct Made {
  std::shared_ptr<const Executable> executable;
  bool from_disk = false;
};

// Calls `make` unless an equal graph with equal options was compiled before.
absl::StatusOr<std::shared_ptr<const Executable>> cached(const GraphPtr& graph, const CompileOptions& options,
                                                         const std::function<absl::StatusOr<Made>()>& make);

}  // namespace ct::jit
