#include "jit/cache.h"

#include <list>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "ir/hash.h"

namespace ct {
namespace {

constexpr size_t kCapacity = 4096;

struct Entry {
  uint64_t key;
  GraphPtr graph;
  CompileOptions options;
  std::shared_ptr<const Executable> executable;
};

bool same_options(const CompileOptions& a, const CompileOptions& b) {
  return a.backend == b.backend && a.donated == b.donated && a.cpu == b.cpu;
}

class Cache {
 public:
  static Cache& instance() {
    static Cache* cache = new Cache;
    return *cache;
  }

  static uint64_t key_of(const Graph& graph, const CompileOptions& options) {
    uint64_t key = hash_combine(graph.hash(), hash_bytes(options.backend));
    key = hash_combine(key, hash_bytes(options.cpu));
    for (bool donated : options.donated) key = hash_combine(key, donated);
    return key;
  }

  std::shared_ptr<const Executable> find(uint64_t key, const Graph& graph, const CompileOptions& options) {
    std::lock_guard lock(mutex_);
    auto at = table_.find(key);
    if (at == table_.end()) return nullptr;
    for (auto entry : at->second) {
      if (!same_graph(*entry->graph, graph) || !same_options(entry->options, options)) continue;
      order_.splice(order_.begin(), order_, entry);
      ++statistics_.hits;
      return entry->executable;
    }
    return nullptr;
  }

  // The entry that is there already, if another thread was faster.
  std::shared_ptr<const Executable> insert(Entry entry) {
    std::lock_guard lock(mutex_);
    auto& bucket = table_[entry.key];
    for (auto other : bucket) {
      if (same_graph(*other->graph, *entry.graph) && same_options(other->options, entry.options)) {
        return other->executable;
      }
    }
    order_.push_front(std::move(entry));
    bucket.push_back(order_.begin());
    const std::shared_ptr<const Executable> result = order_.front().executable;
    while (order_.size() > kCapacity) {
      auto last = std::prev(order_.end());
      auto& old = table_[last->key];
      std::erase(old, last);
      if (old.empty()) table_.erase(last->key);
      order_.pop_back();
      ++statistics_.evictions;
    }
    return result;
  }

  void clear() {
    std::lock_guard lock(mutex_);
    table_.clear();
    order_.clear();
    statistics_ = {};
  }
  CacheStatistics statistics() {
    std::lock_guard lock(mutex_);
    CacheStatistics result = statistics_;
    result.entries = static_cast<int64_t>(order_.size());
    return result;
  }
  void count(int64_t CacheStatistics::* what) {
    std::lock_guard lock(mutex_);
    ++(statistics_.*what);
  }

 private:
  std::mutex mutex_;
  std::list<Entry> order_;  // most recently used first
  absl::flat_hash_map<uint64_t, std::vector<std::list<Entry>::iterator>> table_;
  CacheStatistics statistics_;
};

}  // namespace

namespace jit {

absl::StatusOr<std::shared_ptr<const Executable>> cached(const GraphPtr& graph, const CompileOptions& options,
                                                         const std::function<absl::StatusOr<Made>()>& make) {
  Cache& cache = Cache::instance();
  const uint64_t key = Cache::key_of(*graph, options);
  if (auto found = cache.find(key, *graph, options)) return found;
  absl::StatusOr<Made> made = make();
  if (!made.ok()) return made.status();
  cache.count(made->from_disk ? &CacheStatistics::disk_hits : &CacheStatistics::misses);
  return cache.insert({key, graph, options, std::move(made->executable)});
}

}  // namespace jit

CacheStatistics cache_statistics() { return Cache::instance().statistics(); }
void clear_cache() { Cache::instance().clear(); }

}  // namespace ct
