// Compiled programs by what they were compiled from. In memory: a bounded table, least recently used out first. On disk
// (store/disk_cache.h): plans, so that a new process links instead of compiling.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "device/loaded.h"
#include "ir/graph.h"
#include "transforms/transforms.h"

namespace ct {

struct CompileOptions {
  std::string backend = "llvm";    // jit/backend.h
  std::vector<bool> donated = {};  // by input: the caller gives its memory up; may be shorter
  std::string cpu = "";            // empty: this machine's
  bool use_disk_cache = true;
  Products products = Products::kGram;
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

// Calls `make` unless an equal graph with equal options was compiled before. It sets `from_disk` to whether it only had
// to load the program.
absl::StatusOr<LoadedPtr> cached(const GraphPtr& graph, const CompileOptions& options,
                                 const std::function<absl::StatusOr<LoadedPtr>(bool& from_disk)>& make);

}  // namespace ct::jit
