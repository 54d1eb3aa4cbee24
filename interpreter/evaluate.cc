#include "interpreter/evaluate.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/reference.h"
#include "ir/primitive.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/interrupt.h"
#include "runtime/process.h"
#include "runtime/subnormals.h"
#include "runtime/text.h"

namespace ct {
namespace {

enum class Mode : uint8_t { kKernels, kReference };

using Operands = absl::InlinedVector<Tensor, 4>;

// ---- expansions -----------------------------------------------------------------------------------------------------

// What `expand` makes of an equation depends on the primitive, its attributes and the operand types only.
struct ExpansionKey {
  const Primitive* primitive;
  AttrsPtr attrs;
  std::vector<Aval> avals;

  bool operator==(const ExpansionKey& other) const {
    return primitive == other.primitive && avals == other.avals && *attrs == *other.attrs;
  }
  template <class H>
  friend H AbslHashValue(H state, const ExpansionKey& key) {
    uint64_t hash = hash_combine(reinterpret_cast<uintptr_t>(key.primitive), key.attrs->hash());
    for (const Aval& aval : key.avals) hash = hash_combine(hash, aval.hash());
    return H::combine(std::move(state), hash);
  }
};

constexpr size_t kMaxExpansions = 1024;

GraphPtr expansion(const Primitive& primitive, absl::Span<const Tensor> operands, const AttrsPtr& attrs) {
  using Expansions = absl::flat_hash_map<ExpansionKey, GraphPtr>;
  static auto* mutex = new ProcessMutex;
  static auto* cache = new Expansions;
  ExpansionKey key{&primitive, attrs, {}};
  for (const Tensor& operand : operands) key.avals.push_back(operand.aval());
  {
    std::lock_guard lock(*mutex);
    const auto it = cache->find(key);
    if (it != cache->end()) return it->second;
  }
  // Not under the lock: a rule may evaluate. Without a location: the graph serves equations of many lines, and errors
  // take the line of the equation that was expanded.
  LocationScope nowhere(kNoLocation);
  GraphPtr graph = build_graph(
      key.avals, [&](Builder& builder, const Values& inputs) { return primitive.expand(builder, inputs, attrs); });
  Expansions discarded;  // after the lock is given back: callbacks may be among the attributes
  std::lock_guard lock(*mutex);
  if (cache->size() >= kMaxExpansions) cache->swap(discarded);
  cache->emplace(std::move(key), graph);
  return graph;
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

std::vector<Tensor> run_graph(const Graph& graph, absl::Span<const Tensor> inputs, Mode mode);

const RunGraph& graph_runner(Mode mode) {
  static const RunGraph* with_kernels = new RunGraph(
      [](const Graph& graph, absl::Span<const Tensor> inputs) { return run_graph(graph, inputs, Mode::kKernels); });
  static const RunGraph* with_reference = new RunGraph(
      [](const Graph& graph, absl::Span<const Tensor> inputs) { return run_graph(graph, inputs, Mode::kReference); });
  return mode == Mode::kKernels ? *with_kernels : *with_reference;
}

// Results without elements need no work. Rules need not look out for them: going over the axes of (2**62, 0) takes for
// ever.
bool is_nothing(const Primitive& primitive, const Attrs& attrs, absl::Span<const Aval> output_avals) {
  if (output_avals.empty() || output_avals[0].size() != 0) return false;
  return std::all_of(output_avals.begin(), output_avals.end(), [](const Aval& aval) { return aval.size() == 0; }) &&
         !has_side_effects(primitive, attrs);
}

std::vector<Tensor> run_primitive(const Primitive& primitive, absl::Span<const Tensor> operands, const AttrsPtr& attrs,
                                  absl::Span<const Aval> output_avals, Kernel kernel, Mode mode, bool may_overwrite) {
  if (is_nothing(primitive, *attrs, output_avals)) return {output_avals.begin(), output_avals.end()};
  if (kernel != nullptr) {
    std::vector<Tensor> results(output_avals.size());
    if (kernel({primitive, operands, *attrs, output_avals, may_overwrite}, absl::MakeSpan(results))) return results;
  }
  std::vector<Tensor> results =
      primitive.stands_for_others()
          ? run_graph(*expansion(primitive, operands, attrs), operands, mode)
          : reference_primitive(primitive, operands, *attrs, output_avals, graph_runner(mode));
  // A loop without a step hands on what it was given, which may be weakly typed.
  CT_CHECK(results.size() == output_avals.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CT_CHECK(same_type(results[i].aval(), output_avals[i]));
    results[i] = results[i].reinterpret(output_avals[i]);
  }
  return results;
}

void check_inputs(const Graph& graph, absl::Span<const Tensor> inputs) {
  if (inputs.size() != graph.num_inputs()) {
    throw Error(ErrorKind::kType,
                concat("the graph takes ", graph.num_inputs(), " inputs, but ", inputs.size(), " were given"))
        .hint("give a value for each input, in their order");
  }
  for (Var var = 0; var < graph.num_inputs(); ++var) {
    const Tensor& input = inputs[var];
    if (input && same_type(input.aval(), graph.aval(var))) continue;
    std::string name = concat("input ", var);
    if (var < graph.input_names().size() && !graph.input_names()[var].empty()) {
      name += concat(" ('", graph.input_names()[var], "')");
    }
    if (!input) {
      throw Error(ErrorKind::kValue, concat(name, " of the graph has no value")).hint("give a tensor for each input");
    }
    throw Error(input.dtype() == graph.aval(var).dtype() ? ErrorKind::kShape : ErrorKind::kDType,
                concat(name, " of the graph is ", graph.aval(var).to_string(), ", but the value given is ",
                       input.aval().to_string()))
        .hint("a graph runs on the types it was captured with; capture again for other types");
  }
}

constexpr uint32_t kNeverUsed = ~uint32_t{0};

// For each variable the index of the last equation that reads it; equations().size() for outputs.
std::vector<uint32_t> last_uses(const Graph& graph) {
  std::vector<uint32_t> result(graph.num_vars(), kNeverUsed);
  const auto equations = graph.equations();
  for (uint32_t i = 0; i < equations.size(); ++i) {
    for (Var var : graph.operands(equations[i])) result[var] = i;
  }
  for (Var var : graph.outputs()) result[var] = static_cast<uint32_t>(equations.size());
  return result;
}

std::vector<Tensor> run_graph(const Graph& graph, absl::Span<const Tensor> inputs, Mode mode) {
  check_inputs(graph, inputs);
  const std::vector<uint32_t> last_use = last_uses(graph);
  std::vector<Tensor> environment(graph.num_vars());
  // Inputs take the graph's own avals: weak types are part of what the equations were built from.
  for (Var var = 0; var < graph.num_inputs(); ++var) environment[var] = inputs[var].reinterpret(graph.aval(var));

  Operands operands;
  absl::InlinedVector<Aval, 2> output_avals;
  for (uint32_t i = 0; i < graph.equations().size(); ++i) {
    const Equation& equation = graph.equations()[i];
    const auto vars = graph.operands(equation);
    operands.clear();
    for (Var var : vars) operands.push_back(environment[var]);
    for (Var var : vars) {
      if (last_use[var] == i) environment[var] = Tensor();
    }
    output_avals.clear();
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      output_avals.push_back(graph.aval(equation.first_output + k));
    }
    int64_t elements = 0;
    for (const Aval& aval : output_avals) elements += aval.size();
    for (const Tensor& operand : operands) elements += operand.size();
    spend(1000 + elements);
    LocationScope location(equation.location);
    try {
      const Kernel kernel = mode == Mode::kKernels ? find_kernel(*equation.primitive) : nullptr;
      std::vector<Tensor> results = run_primitive(*equation.primitive, operands, graph.attrs_ptr(equation),
                                                  output_avals, kernel, mode, /*may_overwrite=*/true);
      CT_CHECK(results.size() == equation.output_count);
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        const Var var = equation.first_output + k;
        if (last_use[var] != kNeverUsed) environment[var] = std::move(results[k]);
      }
    } catch (Error& error) {
      error.op(equation.primitive->name).at(equation.location);
      throw;
    }
  }
  std::vector<Tensor> outputs;
  outputs.reserve(graph.outputs().size());
  for (Var var : graph.outputs()) outputs.push_back(environment[var]);
  return outputs;
}

}  // namespace

std::vector<Tensor> evaluate(const Graph& graph, absl::Span<const Tensor> inputs) {
  const SubnormalScope subnormals;
  return run_graph(graph, inputs, Mode::kKernels);
}

std::vector<Tensor> evaluate_reference(const Graph& graph, absl::Span<const Tensor> inputs) {
  const SubnormalScope subnormals;
  return run_graph(graph, inputs, Mode::kReference);
}

namespace {

// Fills `result` if a kernel makes the one result; else returns all of them.
std::vector<Tensor> evaluate_typed(const Primitive& primitive, absl::Span<const Tensor> operands, const AttrsPtr& attrs,
                                   Tensor* result) {
  const SubnormalScope subnormals;
  absl::InlinedVector<Aval, 4> avals;
  for (const Tensor& operand : operands) avals.push_back(operand.aval());
  try {
    const Avals output_avals = primitive.type(avals, *attrs);
    Kernel kernel = is_nothing(primitive, *attrs, output_avals) ? nullptr : find_kernel(primitive);
    if (result != nullptr && kernel != nullptr) {
      CT_CHECK(output_avals.size() == 1);
      if (kernel({primitive, operands, *attrs, output_avals, /*may_overwrite=*/false}, {result, 1})) return {};
      kernel = nullptr;
    }
    return run_primitive(primitive, operands, attrs, output_avals, kernel, Mode::kKernels, /*may_overwrite=*/false);
  } catch (Error& error) {
    error.op(primitive.name).at(LocationScope::current());
    throw;
  }
}

}  // namespace

std::vector<Tensor> evaluate_primitive(const Primitive& primitive, absl::Span<const Tensor> operands,
                                       const AttrsPtr& attrs) {
  return evaluate_typed(primitive, operands, attrs, nullptr);
}

Tensor evaluate_primitive1(const Primitive& primitive, absl::Span<const Tensor> operands, const AttrsPtr& attrs) {
  Tensor result;
  std::vector<Tensor> results = evaluate_typed(primitive, operands, attrs, &result);
  return result ? std::move(result) : std::move(results.at(0));
}

}  // namespace ct
