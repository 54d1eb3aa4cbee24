#include "ir/builder.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/primitive.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct {

// The equations that bind_shared may return, by hash; those of one hash are chained, so a collision costs a comparison
// and nothing else. Of equal ones only the first is here.
class Builder::Shared {
 public:
  static uint64_t hash(const Primitive& primitive, absl::Span<const Var> operands, const Attrs& attrs) {
    uint64_t hash = hash_combine(reinterpret_cast<uintptr_t>(&primitive), attrs.hash());
    for (Var operand : operands) hash = hash_combine(hash, operand);
    return hash;
  }

  const Equation* find(const Graph& graph, uint64_t hash, const Primitive& primitive, absl::Span<const Var> operands,
                       const Attrs& attrs) const {
    const auto latest = latest_.find(hash);
    for (uint32_t i = latest == latest_.end() ? kNone : latest->second; i != kNone; i = entries_[i].before) {
      const Equation& candidate = graph.equations()[entries_[i].equation];
      if (candidate.primitive == &primitive && graph.operands(candidate) == operands &&
          graph.attrs(candidate) == attrs) {
        return &candidate;
      }
    }
    return nullptr;
  }

  // Takes in what has been bound since the last time.
  void update(const Graph& graph) {
    const absl::Span<const Equation> equations = graph.equations();
    for (; seen_ < equations.size(); ++seen_) {
      const Equation& equation = equations[seen_];
      const Attrs& attrs = graph.attrs(equation);
      const absl::Span<const Var> operands = graph.operands(equation);
      const uint64_t key = hash(*equation.primitive, operands, attrs);
      if (find(graph, key, *equation.primitive, operands, attrs) == nullptr) add(key);
    }
  }

  // Takes in the equation that has been bound last.
  void add_last(const Graph& graph, uint64_t hash) {
    if (seen_ + 1 != graph.equations().size()) return;  // its type rule has bound others: update() comes to them
    add(hash);
    ++seen_;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Entry {
    uint32_t equation;
    uint32_t before;  // the entry before it with the same hash
  };

  void add(uint64_t hash) {
    uint32_t& latest = latest_.try_emplace(hash, kNone).first->second;
    entries_.push_back({static_cast<uint32_t>(seen_), latest});
    latest = static_cast<uint32_t>(entries_.size() - 1);
  }

  std::vector<Entry> entries_;
  absl::flat_hash_map<uint64_t, uint32_t> latest_;
  size_t seen_ = 0;
};

Builder::Builder() = default;
Builder::~Builder() = default;

Value Builder::input(Aval aval, std::string name) {
  const Var var = num_vars();
  graph_.avals_.push_back(aval);
  inputs_.push_back(var);
  graph_.input_names_.push_back(std::move(name));
  return {this, var};
}

void Builder::arrange_inputs(absl::Span<const Value> order) {
  absl::flat_hash_map<Var, size_t> position;
  for (size_t i = 0; i < inputs_.size(); ++i) position.emplace(inputs_[i], i);
  std::vector<Var> inputs;
  std::vector<std::string> names;
  for (const Value& value : order) {
    CT_CHECK(value.builder == this && position.contains(value.var));
    inputs.push_back(value.var);
    names.push_back(graph_.input_names_[position.at(value.var)]);
  }
  inputs_ = std::move(inputs);
  graph_.input_names_ = std::move(names);
}

Values Builder::bind(const Primitive& primitive, absl::Span<const Value> operands, AttrsPtr attrs) {
  return shares_ ? bind_shared(primitive, operands, attrs) : append(primitive, operands, std::move(attrs));
}

Values Builder::append(const Primitive& primitive, absl::Span<const Value> operands, AttrsPtr attrs) {
  absl::InlinedVector<Aval, 6> avals;
  avals.reserve(operands.size());
  for (const Value& operand : operands) {
    CT_CHECK(operand.builder == this);
    avals.push_back(aval(operand.var));
  }
  Avals results;
  try {
    results = primitive.type(avals, *attrs);
  } catch (Error& error) {
    throw error.op(primitive.name).at(LocationScope::current());
  }
  Equation equation;
  equation.primitive = &primitive;
  equation.operands_begin = static_cast<uint32_t>(graph_.operands_.size());
  equation.operand_count = static_cast<uint32_t>(operands.size());
  equation.first_output = num_vars();
  equation.output_count = static_cast<uint32_t>(results.size());
  // Runs of attribute-free equations share one slot.
  if (graph_.attributes_.empty() || graph_.attributes_.back() != attrs) graph_.attributes_.push_back(std::move(attrs));
  equation.attrs = static_cast<uint32_t>(graph_.attributes_.size() - 1);
  equation.location = LocationScope::current();
  for (const Value& operand : operands) graph_.operands_.push_back(operand.var);
  Values outputs;
  outputs.reserve(results.size());
  for (const Aval& result : results) {
    outputs.push_back({this, num_vars()});
    graph_.avals_.push_back(result);
  }
  graph_.equations_.push_back(equation);
  return outputs;
}

Value Builder::bind1(const Primitive& primitive, absl::Span<const Value> operands, AttrsPtr attrs) {
  Values outputs = bind(primitive, operands, std::move(attrs));
  CT_CHECK(outputs.size() == 1);
  return outputs[0];
}

Values Builder::bind_shared(const Primitive& primitive, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  if (has_side_effects(primitive, *attrs)) return append(primitive, operands, attrs);
  if (shared_ == nullptr) shared_ = std::make_unique<Shared>();
  shared_->update(graph_);
  absl::InlinedVector<Var, 6> vars;
  for (const Value& operand : operands) {
    CT_CHECK(operand.builder == this);
    vars.push_back(operand.var);
  }
  const uint64_t hash = Shared::hash(primitive, vars, *attrs);
  const Equation* equation = shared_->find(graph_, hash, primitive, vars, *attrs);
  if (equation == nullptr) {
    Values outputs = append(primitive, operands, attrs);
    shared_->add_last(graph_, hash);
    return outputs;
  }
  Values outputs;
  for (uint32_t k = 0; k < equation->output_count; ++k) outputs.push_back({this, equation->first_output + k});
  return outputs;
}

void Builder::bound_length(Value length, int64_t most) {
  CT_CHECK(length.builder == this);
  int64_t& known = length_bounds_.try_emplace(length.var, most).first->second;
  known = std::min(known, most);
}

std::optional<int64_t> Builder::bound_of_length(Var input) const {
  const auto found = length_bounds_.find(input);
  return found == length_bounds_.end() ? std::nullopt : std::optional(found->second);
}

const Equation* Builder::producer(Var var) const {
  constexpr uint32_t kNoEquation = ~uint32_t{0};
  const absl::Span<const Equation> equations = this->equations();
  producers_.resize(num_vars(), kNoEquation);
  for (; equations_seen_ < equations.size(); ++equations_seen_) {
    const Equation& equation = equations[equations_seen_];
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      producers_[equation.first_output + k] = static_cast<uint32_t>(equations_seen_);
    }
  }
  return producers_[var] == kNoEquation ? nullptr : &equations[producers_[var]];
}

Values Builder::inline_graph(const Graph& graph, absl::Span<const Value> inputs) {
  CT_CHECK(inputs.size() == graph.num_inputs());
  std::vector<Value> environment(graph.num_vars());
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) environment[i] = inputs[i];
  Values operands;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(equation.location != kNoLocation ? equation.location : LocationScope::current());
    operands.clear();
    for (Var var : graph.operands(equation)) operands.push_back(environment[var]);
    const Values outputs = bind(*equation.primitive, operands, graph.attrs_ptr(equation));
    for (uint32_t k = 0; k < equation.output_count; ++k) environment[equation.first_output + k] = outputs[k];
  }
  Values outputs;
  for (Var var : graph.outputs()) outputs.push_back(environment[var]);
  return outputs;
}

namespace {

// Marks what the outputs, and the side effects, need.
std::vector<bool> live_equations(absl::Span<const Equation> equations, const Graph& graph, uint32_t num_vars,
                                 absl::Span<const Value> outputs, Builder::Keep keep) {
  if (keep == Builder::Keep::kAll) return std::vector<bool>(equations.size(), true);
  std::vector<bool> needed(num_vars, false);
  for (const Value& output : outputs) needed[output.var] = true;
  std::vector<bool> live(equations.size(), false);
  for (size_t i = equations.size(); i-- > 0;) {
    const Equation& equation = equations[i];
    bool used = keep == Builder::Keep::kNeeded && has_side_effects(*equation.primitive, graph.attrs(equation));
    for (uint32_t k = 0; k < equation.output_count; ++k) used |= needed[equation.first_output + k];
    if (!used) continue;
    live[i] = true;
    for (Var var : graph.operands(equation)) needed[var] = true;
  }
  return live;
}

}  // namespace

namespace {

// Hashes of primitives' names: a program uses few primitives, many times.
class NameHashes {
 public:
  uint64_t hash(const Primitive* primitive) {
    Slot& slot = slots_[reinterpret_cast<uintptr_t>(primitive) / alignof(Primitive) % std::size(slots_)];
    if (slot.primitive != primitive) slot = {primitive, hash_bytes(primitive->name)};
    return slot.hash;
  }

 private:
  struct Slot {
    const Primitive* primitive = nullptr;
    uint64_t hash = 0;
  };
  Slot slots_[127];
};

}  // namespace

GraphPtr Builder::finish(absl::Span<const Value> outputs, Keep keep) {
  for (const Value& output : outputs) CT_CHECK(output.builder == this);
  auto result = std::make_shared<Graph>();
  Graph& graph = *result;
  const std::vector<bool> live = live_equations(graph_.equations_, graph_, num_vars(), outputs, keep);

  std::vector<Var> renumbered(num_vars(), kNoVar);
  graph.num_inputs_ = static_cast<uint32_t>(inputs_.size());
  graph.avals_.reserve(num_vars());
  graph.operands_.reserve(graph_.operands_.size());
  graph.equations_.reserve(graph_.equations_.size());
  graph.input_names_ = std::move(graph_.input_names_);
  NameHashes names;
  uint64_t hash = hash_combine(0x6374, inputs_.size());
  for (Var var : inputs_) {
    renumbered[var] = static_cast<Var>(graph.avals_.size());
    graph.avals_.push_back(graph_.avals_[var]);
    hash = hash_combine(hash, graph_.avals_[var].hash());
  }
  std::vector<uint32_t> attribute_slots(graph_.attributes_.size(), ~0u);
  for (size_t i = 0; i < graph_.equations_.size(); ++i) {
    if (!live[i]) continue;
    Equation equation = graph_.equations_[i];
    hash = hash_combine(hash, names.hash(equation.primitive));
    const uint32_t begin = static_cast<uint32_t>(graph.operands_.size());
    for (Var var : graph_.operands(equation)) {
      CT_CHECK(renumbered[var] != kNoVar);
      graph.operands_.push_back(renumbered[var]);
      hash = hash_combine(hash, renumbered[var]);
    }
    equation.operands_begin = begin;
    const Var first = static_cast<Var>(graph.avals_.size());
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      renumbered[var] = static_cast<Var>(graph.avals_.size());
      graph.avals_.push_back(graph_.avals_[var]);
    }
    equation.first_output = first;
    uint32_t& slot = attribute_slots[equation.attrs];
    if (slot == ~0u) {
      slot = static_cast<uint32_t>(graph.attributes_.size());
      graph.attributes_.push_back(graph_.attributes_[equation.attrs]);
    }
    equation.attrs = slot;
    hash = hash_combine(hash, graph.attributes_[slot]->hash());
    graph.has_side_effects_ |= has_side_effects(*equation.primitive, *graph.attributes_[slot]);
    graph.equations_.push_back(equation);
  }
  for (const Value& output : outputs) {
    graph.outputs_.push_back(renumbered[output.var]);
    hash = hash_combine(hash, renumbered[output.var]);
  }
  graph.hash_ = hash;
  graph_ = Graph();
  inputs_.clear();
  producers_.clear();
  shared_.reset();
  return result;
}

GraphPtr build_graph(absl::Span<const Aval> inputs, const std::function<Values(Builder&, const Values&)>& body) {
  Builder builder;
  Values values;
  for (const Aval& aval : inputs) values.push_back(builder.input(aval));
  return builder.finish(body(builder, values));
}

}  // namespace ct
