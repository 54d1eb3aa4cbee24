// Graphs so large that compiling them takes long: what a loop of the user's language was written out to.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "ir/graph.h"
#include "runtime/location.h"

namespace ct {

// Of a graph and of those inside of it, each as often as it stands there.
struct GraphSize {
  int64_t equations = 0;
  double seconds = 0;  // to compile it, if nothing in it is alike: about the most
  absl::flat_hash_map<LocationId, int64_t> by_location;
};
GraphSize size_of(const Graph& graph);

// While one lives, what this thread is about to compile, as it is in no cache, is shown to `look` before: that may
// throw.
class BeforeCompiling {
 public:
  explicit BeforeCompiling(std::function<void(const Graph&)> look);
  ~BeforeCompiling();
  BeforeCompiling(const BeforeCompiling&) = delete;
  BeforeCompiling& operator=(const BeforeCompiling&) = delete;

  static void tell(const Graph& graph);

 private:
  const std::function<void(const Graph&)> look_;
  BeforeCompiling* const enclosing_;
};

}  // namespace ct
