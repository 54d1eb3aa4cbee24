#include "jit/large_graphs.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace ct {
namespace {

// Measured on one core, of programs in which operations follow each other at random: what is alike is one piece of
// code.
constexpr double kSecondsOfNumber = 20e-6;
constexpr double kSecondsOfArray = 300e-6;

thread_local BeforeCompiling* current = nullptr;

class Counter {
 public:
  const GraphSize& size_of(const GraphPtr& graph) {
    const auto [at, is_new] = known_.emplace(graph, nullptr);
    if (is_new) {
      auto size = std::make_unique<GraphSize>();
      add(*graph, *size);
      return *(known_[graph] = std::move(size));
    }
    return *at->second;
  }

  void add(const Graph& graph, GraphSize& size) {
    for (const Equation& equation : graph.equations()) {
      ++size.equations;
      if (equation.operand_count > 0) size.seconds += seconds_of(graph, equation);
      ++size.by_location[equation.location];
      for (const auto& [key, value] : graph.attrs(equation).items()) {
        if (const auto* inner = std::get_if<GraphPtr>(&value)) add(size_of(*inner), size);
        if (const auto* inner = std::get_if<std::vector<GraphPtr>>(&value)) {
          for (const GraphPtr& branch : *inner) add(size_of(branch), size);
        }
      }
    }
  }

 private:
  static double seconds_of(const Graph& graph, const Equation& equation) {
    double seconds = kSecondsOfNumber;
    for (uint32_t i = 0; i < equation.output_count; ++i) {
      if (graph.aval(equation.first_output + i).size() != 1) seconds = kSecondsOfArray;
    }
    return seconds;
  }

  static void add(const GraphSize& inner, GraphSize& size) {
    size.equations += inner.equations;
    size.seconds += inner.seconds;
    for (const auto& [location, count] : inner.by_location) size.by_location[location] += count;
  }

  absl::flat_hash_map<GraphPtr, std::unique_ptr<GraphSize>> known_;
};

}  // namespace

GraphSize size_of(const Graph& graph) {
  GraphSize size;
  Counter().add(graph, size);
  return size;
}

BeforeCompiling::BeforeCompiling(std::function<void(const Graph&)> look) : look_(std::move(look)), enclosing_(current) {
  current = this;
}
BeforeCompiling::~BeforeCompiling() { current = enclosing_; }

void BeforeCompiling::tell(const Graph& graph) {
  if (current != nullptr) current->look_(graph);
}

}  // namespace ct
