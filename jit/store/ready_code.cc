#include "jit/store/ready_code.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace ct {
namespace {

struct Known {
  std::weak_ptr<const Graph> graph;
  LoadedPtr loaded;
};
struct AllKnown {
  std::mutex mutex;
  std::map<const Graph*, Known> by_graph;

  static AllKnown& instance() {
    static auto& all = *new AllKnown;
    return all;
  }
};

}  // namespace

void set_ready_code(const GraphPtr& graph, LoadedPtr loaded) {
  AllKnown& all = AllKnown::instance();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.by_graph, [](const auto& known) { return known.second.graph.expired(); });
  all.by_graph[graph.get()] = {graph, std::move(loaded)};
}

LoadedPtr ready_code(const GraphPtr& graph) {
  AllKnown& all = AllKnown::instance();
  std::lock_guard lock(all.mutex);
  const auto known = all.by_graph.find(graph.get());
  if (known == all.by_graph.end() || known->second.graph.lock() != graph) return nullptr;
  return known->second.loaded;
}

}  // namespace ct
