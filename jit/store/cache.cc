#include "jit/store/cache.h"

#include <pthread.h>

#include <atomic>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "runtime/hash.h"
#include "runtime/process.h"

namespace ct {
namespace {

constexpr size_t kCapacity = 4096;

struct Entry {
  uint64_t key;
  GraphPtr graph;
  CompileOptions options;
  LoadedPtr loaded;
};

bool same_options(const CompileOptions& a, const CompileOptions& b) {
  return a.backend == b.backend && a.donated == b.donated && a.cpu == b.cpu && a.products == b.products;
}

// A program that a thread compiles right now, which others wait for.
struct Underway {
  uint64_t key;
  GraphPtr graph;
  const CompileOptions* options;
  pthread_t thread;
  std::atomic<bool> done = false;
};
using UnderwayPtr = std::shared_ptr<Underway>;

// Rules written in Python may compile while a compilation runs them: those wait for nobody, who may wait for them.
thread_local int compiling = 0;

// What is destroyed, is destroyed after the lock was given back: Python objects may be among the attributes of graphs.
class Cache {
 public:
  static Cache& instance() {
    static Cache* cache = [] {
      auto* made = new Cache;
      // What other threads were compiling nobody compiles any more. After the mutex, whose handlers unlock it.
      pthread_atfork(nullptr, nullptr, [] { instance().forget_other_threads(); });
      return made;
    }();
    return *cache;
  }

  static uint64_t key_of(const Graph& graph, const CompileOptions& options) {
    uint64_t key = hash_combine(graph.hash(), hash_bytes(options.backend));
    key = hash_combine(key, hash_bytes(options.cpu));
    key = hash_combine(key, static_cast<uint64_t>(options.products));
    for (bool donated : options.donated) key = hash_combine(key, donated);
    return key;
  }

  // Or null, and then either what another thread is compiling, or what this one is to.
  LoadedPtr find(uint64_t key, const GraphPtr& graph_ptr, const CompileOptions& options, UnderwayPtr& theirs,
                 UnderwayPtr& own) {
    const Graph& graph = *graph_ptr;
    std::lock_guard lock(mutex_);
    if (LoadedPtr found = known(key, graph, options)) return found;
    for (const UnderwayPtr& other : underway_) {
      if (compiling == 0 && other->key == key && same_graph(*other->graph, graph) &&
          same_options(*other->options, options)) {
        theirs = other;
        return nullptr;
      }
    }
    own = std::make_shared<Underway>(key, graph_ptr, &options, pthread_self());
    underway_.push_back(own);
    return nullptr;
  }

  void finish(const UnderwayPtr& own) {
    {
      std::lock_guard lock(mutex_);
      std::erase(underway_, own);
    }
    own->done = true;
    own->done.notify_all();
  }

  // The entry that is there already, if another thread was faster.
  LoadedPtr insert(Entry entry) {
    std::list<Entry> evicted;
    std::lock_guard lock(mutex_);
    auto& bucket = table_[entry.key];
    for (auto other : bucket) {
      if (same_graph(*other->graph, *entry.graph) && same_options(other->options, entry.options)) {
        return other->loaded;
      }
    }
    order_.push_front(std::move(entry));
    bucket.push_back(order_.begin());
    const LoadedPtr result = order_.front().loaded;
    while (order_.size() > kCapacity) {
      auto last = std::prev(order_.end());
      auto& old = table_[last->key];
      std::erase(old, last);
      if (old.empty()) table_.erase(last->key);
      evicted.splice(evicted.end(), order_, last);
      ++statistics_.evictions;
    }
    return result;
  }

  void clear() {
    std::list<Entry> cleared;
    std::lock_guard lock(mutex_);
    table_.clear();
    order_.swap(cleared);
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
  LoadedPtr known(uint64_t key, const Graph& graph, const CompileOptions& options) {
    auto at = table_.find(key);
    if (at == table_.end()) return nullptr;
    for (auto entry : at->second) {
      if (!same_graph(*entry->graph, graph) || !same_options(entry->options, options)) continue;
      order_.splice(order_.begin(), order_, entry);
      ++statistics_.hits;
      return entry->loaded;
    }
    return nullptr;
  }

  void forget_other_threads() {
    const pthread_t self = pthread_self();
    std::erase_if(underway_, [self](const UnderwayPtr& other) {
      if (pthread_equal(other->thread, self) != 0) return false;
      new UnderwayPtr(other);  // kept for good: this is no place to run Python code
      return true;
    });
  }

  ProcessMutex mutex_;
  std::list<Entry> order_;  // most recently used first
  std::vector<UnderwayPtr> underway_;
  absl::flat_hash_map<uint64_t, std::vector<std::list<Entry>::iterator>> table_;
  CacheStatistics statistics_;
};

}  // namespace

namespace jit {

absl::StatusOr<LoadedPtr> cached(const GraphPtr& graph, const CompileOptions& options,
                                 const std::function<absl::StatusOr<LoadedPtr>(bool& from_disk)>& make) {
  Cache& cache = Cache::instance();
  const uint64_t key = Cache::key_of(*graph, options);
  UnderwayPtr own;
  for (UnderwayPtr theirs; own == nullptr; theirs = nullptr) {
    if (auto found = cache.find(key, graph, options, theirs, own)) return found;
    if (theirs != nullptr) theirs->done.wait(false);  // and look again: what failed there, fails here with its own line
  }
  struct Finish {
    Cache& cache;
    const UnderwayPtr& own;
    ~Finish() {
      --compiling;
      cache.finish(own);
    }
  };
  const Finish finish{cache, own};
  ++compiling;
  const Working compiles(Work::kCompile);
  bool from_disk = false;
  absl::StatusOr<LoadedPtr> made = make(from_disk);
  if (!made.ok()) return made;
  cache.count(from_disk ? &CacheStatistics::disk_hits : &CacheStatistics::misses);
  return cache.insert({key, graph, options, *std::move(made)});
}

}  // namespace jit

CacheStatistics cache_statistics() { return Cache::instance().statistics(); }
void clear_cache() { Cache::instance().clear(); }

}  // namespace ct
