#include "transforms/higher_order/subgraphs.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/process.h"
#include "transforms/common.h"
#include "transforms/higher_order/checkpoint.h"
#include "transforms/split.h"

namespace ct {
namespace {

enum class Kind : uint8_t { kJvp, kSplit, kSplitOfStep, kSplitByPolicy, kBackward, kBatch, kPrune, kExpand };

struct Key {
  Kind kind;
  GraphPtr graph;
  std::vector<int64_t> options;

  bool operator==(const Key& other) const {
    if (kind != other.kind || options != other.options) return false;
    if (graph == other.graph) return true;
    if (!same_graph(*graph, *other.graph)) return false;
    for (size_t i = 0; i < graph->equations().size(); ++i) {
      if (graph->equations()[i].location != other.graph->equations()[i].location) return false;
    }
    return true;
  }
  template <class H>
  friend H AbslHashValue(H state, const Key& key) {
    uint64_t hash = hash_combine(key.graph->hash(), static_cast<uint64_t>(key.kind));
    for (int64_t option : key.options) hash = hash_combine(hash, static_cast<uint64_t>(option));
    return H::combine(std::move(state), hash);
  }
};

constexpr size_t kMaxRemembered = 4096;

template <class Result, class Make>
Result remembered(Kind kind, const GraphPtr& graph, std::vector<int64_t> options, const Make& make) {
  using Table = absl::flat_hash_map<Key, Result>;
  static auto* mutex = new ProcessMutex;
  static auto* table = new Table;
  options.push_back(keeps_lengths());
  Key key{kind, graph, std::move(options)};
  {
    std::lock_guard lock(*mutex);
    const auto found = table->find(key);
    if (found != table->end()) return found->second;
  }
  // Not under the lock: the rules come back here for the graphs inside. Without a location: the result serves equations
  // of many lines.
  LocationScope nowhere(kNoLocation);
  Result result = make();
  Table discarded;  // after the lock is given back: callbacks may be among the attributes
  std::lock_guard lock(*mutex);
  if (table->size() >= kMaxRemembered) table->swap(discarded);
  table->emplace(std::move(key), result);
  return result;
}

void add_options(std::vector<int64_t>& options, const Flags& flags) {
  options.push_back(static_cast<int64_t>(flags.size()));
  for (bool flag : flags) options.push_back(flag);
}

}  // namespace

JvpGraph jvp_of(const GraphPtr& graph, const Flags& nonzero_in, const Flags& force_out) {
  std::vector<int64_t> options;
  add_options(options, nonzero_in);
  add_options(options, force_out);
  return remembered<JvpGraph>(Kind::kJvp, graph, std::move(options),
                              [&] { return jvp(*graph, nonzero_in, force_out); });
}

SplitGraph split_of(const GraphPtr& graph, const Flags& in_unknown, const Flags& instantiate) {
  std::vector<int64_t> options;
  add_options(options, in_unknown);
  add_options(options, instantiate);
  return remembered<SplitGraph>(Kind::kSplit, graph, std::move(options),
                                [&] { return split(*graph, in_unknown, instantiate); });
}

SplitGraph split_of_step(const GraphPtr& graph, const Flags& in_unknown, const Flags& instantiate) {
  std::vector<int64_t> options;
  add_options(options, in_unknown);
  add_options(options, instantiate);
  return remembered<SplitGraph>(Kind::kSplitOfStep, graph, std::move(options),
                                [&] { return with_joined_factors(split(*graph, in_unknown, instantiate)); });
}

SplitGraph split_slicing(const GraphPtr& graph, const Flags& in_unknown, const Flags& instantiate,
                         const Flags& sliced) {
  std::vector<int64_t> options;
  add_options(options, in_unknown);
  add_options(options, instantiate);
  add_options(options, sliced);
  const Remake& free = remake_what_is_free();
  const auto is_made_again = [&](const Builder& known, const Equation& equation) {
    if (free.equation(known, equation)) return true;
    if (equation.primitive->arrangement != Arrangement::kSlice) return false;
    const Var source = known.operands(equation)[0];  // inputs come first
    return source < sliced.size() && known.producer(source) == nullptr && sliced[source];
  };
  return remembered<SplitGraph>(Kind::kSplit, graph, std::move(options), [&] {
    return split(*graph, in_unknown, instantiate, {is_made_again, free.longest_chain});
  });
}

SplitGraph split_by_policy(const GraphPtr& graph, const Flags& in_unknown, const std::string& policy) {
  std::vector<int64_t> options;
  add_options(options, in_unknown);
  options.insert(options.end(), policy.begin(), policy.end());
  return remembered<SplitGraph>(Kind::kSplitByPolicy, graph, std::move(options),
                                [&] { return split(*inline_calls(*graph), in_unknown, {}, remake_by_policy(policy)); });
}

BackwardGraph backward_of(const GraphPtr& graph, const Flags& linear, const Flags& cotangents, const Flags& force) {
  std::vector<int64_t> options;
  add_options(options, linear);
  add_options(options, cotangents);
  add_options(options, force);
  return remembered<BackwardGraph>(Kind::kBackward, graph, std::move(options), [&] {
    Builder builder;
    Values operands(graph->num_inputs());
    for (uint32_t i = 0; i < graph->num_inputs(); ++i) {
      if (!linear[i]) operands[i] = builder.input(graph->aval(i));
    }
    Values incoming(graph->outputs().size());
    for (size_t k = 0; k < incoming.size(); ++k) {
      if (cotangents[k]) incoming[k] = builder.input(graph->aval(graph->outputs()[k]));
    }
    const Values found = backward_pass(builder, *graph, operands, incoming);
    BackwardGraph result;
    Values outputs;
    for (uint32_t i = 0; i < graph->num_inputs(); ++i) {
      const bool forced = !force.empty() && force[i];
      result.nonzero.push_back(linear[i] && (forced || found[i]));
      if (result.nonzero.back()) outputs.push_back(instantiate(builder, found[i], graph->aval(i)));
    }
    result.graph = builder.finish(outputs);
    return result;
  });
}

BatchGraph batch_of(const GraphPtr& graph, const std::vector<int>& in_axes, const BatchAxis& axis,
                    const std::vector<int>& out_axes) {
  CT_CHECK(in_axes.size() == graph->num_inputs() && out_axes.size() == graph->outputs().size());
  const int64_t size = axis.size;
  std::vector<int64_t> options{size};
  options.insert(options.end(), in_axes.begin(), in_axes.end());
  options.insert(options.end(), out_axes.begin(), out_axes.end());
  options.insert(options.end(), axis.name.begin(), axis.name.end());
  return remembered<BatchGraph>(Kind::kBatch, graph, std::move(options), [&] {
    Builder builder;
    std::vector<Batched> inputs;
    for (uint32_t i = 0; i < graph->num_inputs(); ++i) {
      Aval aval = graph->aval(i);
      if (in_axes[i] >= 0) {
        Shape shape = aval.shape();
        shape.insert(shape.begin() + in_axes[i], size);
        aval = aval.with_shape(shape);
      }
      inputs.push_back({builder.input(aval), in_axes[i]});
    }
    BatchGraph result;
    Values outputs;
    const std::vector<Batched> results = batch_inline(builder, *graph, inputs, axis);
    for (size_t k = 0; k < results.size(); ++k) {
      const bool any = out_axes[k] == kAnyAxis;
      result.out_axes.push_back(any ? results[k].axis : out_axes[k]);
      outputs.push_back(any ? results[k].value : materialize_batch(builder, results[k], out_axes[k], size));
    }
    result.graph = builder.finish(outputs);
    return result;
  });
}

PrunedGraph pruned_of(const GraphPtr& graph, const Flags& outputs) {
  std::vector<int64_t> options;
  add_options(options, outputs);
  return remembered<PrunedGraph>(Kind::kPrune, graph, std::move(options), [&] { return prune(*graph, outputs); });
}

GraphPtr expanded(const GraphPtr& graph) {
  return remembered<GraphPtr>(Kind::kExpand, graph, {}, [&] { return expand_regions(*graph); });
}

GraphPtr rewire(const Graph& graph, absl::Span<const size_t> inputs, absl::Span<const size_t> outputs,
                Builder::Keep keep) {
  CT_CHECK(inputs.size() == graph.num_inputs());
  Builder builder;
  Values values(inputs.size());
  for (size_t from : inputs) values[from] = builder.input(graph.aval(static_cast<Var>(from)));
  const Values results = builder.inline_graph(graph, values);
  Values chosen;
  for (size_t from : outputs) chosen.push_back(results[from]);
  return builder.finish(chosen, keep);
}

Flags depends_on(const Graph& graph, const Flags& inputs, Sizes sizes) {
  Flags marked = inputs;
  marked.resize(graph.num_vars(), false);
  for (const Equation& equation : graph.equations()) {
    bool depends = false;
    if (sizes != Sizes::kKnown || equation.primitive->length_role != LengthRole::kSize) {
      for (Var var : graph.operands(equation)) depends = depends || marked[var];
    }
    for (uint32_t k = 0; k < equation.output_count; ++k) marked[equation.first_output + k] = depends;
  }
  Flags result;
  for (Var var : graph.outputs()) result.push_back(marked[var]);
  return result;
}

std::vector<size_t> range(size_t begin, size_t end) {
  std::vector<size_t> result;
  for (size_t i = begin; i < end; ++i) result.push_back(i);
  return result;
}

size_t count(const Flags& flags) { return static_cast<size_t>(std::count(flags.begin(), flags.end(), true)); }

Flags present(absl::Span<const Value> values) {
  Flags result;
  for (const Value& value : values) result.push_back(static_cast<bool>(value));
  return result;
}

Values only_present(absl::Span<const Value> values) { return marked(values, present(values)); }

void append(Values& values, absl::Span<const Value> more) { values.insert(values.end(), more.begin(), more.end()); }

Flags slice_of(const Flags& flags, size_t begin, size_t end) {
  return Flags(flags.begin() + static_cast<ptrdiff_t>(begin), flags.begin() + static_cast<ptrdiff_t>(end));
}

Flags joined(std::initializer_list<Flags> parts) {
  Flags result;
  for (const Flags& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

Flags negated(Flags flags) {
  flags.flip();
  return flags;
}

bool unite(Flags& flags, const Flags& more) {
  bool changed = false;
  for (size_t i = 0; i < flags.size(); ++i) {
    changed = changed || (more[i] && !flags[i]);
    flags[i] = flags[i] || more[i];
  }
  return changed;
}

}  // namespace ct
