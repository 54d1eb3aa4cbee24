#include "transforms/contract/regions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ir/primitive.h"

namespace ct::contraction {
namespace {

constexpr uint32_t kInput = ~0u;
constexpr int kMostRounds = 64;

bool is_computed(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }
// Half precision may grow, and exit when it has been converted.
bool may_grow(DType dtype) { return is_float(dtype) && dtype_size(dtype) >= 2; }

// Whether nothing can cancel before it is squared: one term, each of whose indices the result of the square still had,
// so that its elements are single products. `axes` are those before a sum.
bool is_of_single_products(const terms::Sum& square) {
  if (square.terms.size() != 1) return false;
  const terms::Term& term = square.terms[0];
  return std::ranges::all_of(term.factors, [&](const terms::Factor& factor) {
    return !factor.one_hot && std::ranges::all_of(factor.indices, [&](terms::Index index) {
      return std::ranges::any_of(
          term.axes, [&](const terms::Indices& axis) { return std::ranges::find(axis, index) != axis.end(); });
    });
  });
}

}  // namespace

Regions::Regions(const Graph& graph, Products products)
    : graph_(graph),
      products_(products),
      definition_(graph.num_vars(), kInput),
      uses_(graph.num_vars()),
      is_output_(graph.num_vars(), false) {
  for (uint32_t i = 0; i < graph.equations().size(); ++i) {
    const Equation& equation = graph.equations()[i];
    for (uint32_t k = 0; k < equation.output_count; ++k) definition_[equation.first_output + k] = i;
  }
  if (!seeds()) return;
  for (uint32_t i = 0; i < graph.equations().size(); ++i) {
    for (const Var var : graph.operands(graph.equations()[i])) uses_[var].push_back(i);
  }
  for (const Var var : graph.outputs()) is_output_[var] = true;
  for (int round = 0; !settle(); ++round) {
    if (round < kMostRounds) continue;
    exits_.clear();
    grown_.clear();
    exit_of_.clear();
    return;
  }
}

const Equation* Regions::producer(Var var) const {
  return definition_[var] == kInput ? nullptr : &graph_.equations()[definition_[var]];
}

bool Regions::is_zero(Var var) const {
  const Equation* equation = producer(var);
  if (equation == nullptr || equation->primitive->arrangement != Arrangement::kUniform) return false;
  return is_float(graph_.aval(var).dtype()) && graph_.attrs(*equation).real("value") == 0;
}

// How many elements an equation's factors have, when its result is larger than they are; else 0.
int64_t Regions::growth(const Equation& equation) const {
  const auto operands = graph_.operands(equation);
  int64_t factors = 0;
  if (equation.primitive->is<structures::Product>()) {
    factors = size(operands[0]) + size(operands[1]);
  } else if (const auto* scatter = equation.primitive->structure_as<structures::Scatter>();
             scatter != nullptr && scatter->combine == ScalarOp::kAdd && is_zero(operands[0])) {
    factors = size(operands[2]);
  } else {
    return 0;
  }
  return size(equation.first_output) > factors ? factors : 0;
}

bool Regions::seeds() const {
  return std::ranges::any_of(graph_.equations(), [&](const Equation& equation) {
    return equation.primitive->terms && may_grow(graph_.aval(equation.first_output).dtype()) && growth(equation) > 0;
  });
}

// Whether somebody needs a grown value who is not made of products himself.
bool Regions::is_needed(Var var) const {
  return is_output_[var] || std::ranges::any_of(uses_[var], [&](uint32_t use) {
           const Equation& equation = graph_.equations()[use];
           return equation.output_count != 1 ||
                  !(grown_.contains(equation.first_output) || exit_of_.contains(equation.first_output));
         });
}

// One round: what is grown and what exits, given what has to be kept. False when that has changed.
bool Regions::settle() {
  grown_.clear();
  exit_of_.clear();
  exits_.clear();
  collapsed_.clear();
  context_ = terms::Context();
  for (uint32_t i = 0; i < graph_.equations().size(); ++i) visit(i);
  if (!collapsed_.empty()) {
    kept_.insert(collapsed_.begin(), collapsed_.end());
    return false;
  }
  bool settled = true;
  std::vector<Var> kept;
  for (const auto& [var, _] : grown_) {
    if (!is_needed(var)) continue;
    settled = false;
    int64_t largest = 0;
    for (const Var operand : graph_.operands(*producer(var))) {
      if (grown_.contains(operand)) largest = std::max(largest, size(operand));
    }
    // What is smaller than the grown value that it is made of may be made anew itself.
    if (!forced_.contains(var) && 2 * size(var) <= largest) {
      forced_.insert(var);
    } else {
      kept.push_back(var);
    }
  }
  kept_.insert(kept.begin(), kept.end());
  return settled;
}

void Regions::visit(uint32_t number) {
  const Equation& equation = graph_.equations()[number];
  const Var result = equation.first_output;
  if (!equation.primitive->terms || equation.output_count != 1 || !may_grow(graph_.aval(result).dtype())) return;
  Grown made{.sum = {}, .factors = growth(equation)};
  const bool grows = made.factors > 0;
  int64_t largest = 0;
  for (const Var operand : graph_.operands(equation)) {
    const auto found = grown_.find(operand);
    if (found == grown_.end()) continue;
    // Growth of what has grown: its operands are wanted in memory.
    if (grows) collapsed_.insert(found->second.roots.begin(), found->second.roots.end());
    largest = std::max(largest, size(operand));
    made.factors = std::max(made.factors, found->second.factors);
    made.roots.insert(found->second.roots.begin(), found->second.roots.end());
  }
  if (kept_.contains(result) || (!grows && largest == 0)) return;
  if (made.roots.empty()) made.roots.insert(result);
  std::optional<terms::Sum> sum = apply(equation);
  if (!sum || sum->terms.empty()) return;
  // Here the square is made; what is made of it later keeps the flag.
  const auto operands = graph_.operands(equation);
  const bool is_squared = operands.size() == 2 && operands[0] == operands[1];
  if (products_ == Products::kDirect && is_squared && !is_of_single_products(*sum)) return;
  made.sum = *std::move(sum);
  const bool is_small = size(result) <= made.factors || forced_.contains(result);
  if (largest > 0 && is_small && 2 * size(result) <= largest) {
    if (!is_computed(graph_.aval(result).dtype())) return;
    exit_of_.insert({result, exits_.size()});
    exits_.push_back({number, result, std::move(made.sum)});
  } else {
    grown_.insert({result, std::move(made)});
  }
}

// An operand: what it has been made of, if it has grown; a number; what was broadcast; else a leaf.
terms::Sum Regions::sum_of(Var var) {
  if (const auto found = grown_.find(var); found != grown_.end()) return found->second.sum;
  const Aval& aval = graph_.aval(var);
  const Equation* equation = producer(var);
  if (equation != nullptr && equation->primitive->arrangement == Arrangement::kUniform && may_grow(aval.dtype())) {
    return context_.of_constant(graph_.attrs(*equation).real("value"), aval.shape());
  }
  if (equation != nullptr && equation->primitive->arrangement == Arrangement::kBroadcast &&
      equation->primitive->terms && size(graph_.operands(*equation)[0]) < aval.size()) {
    if (auto sum = apply(*equation)) return *std::move(sum);
  }
  return context_.of_leaf(context_.variable(var), aval.shape());
}

std::optional<terms::Sum> Regions::apply(const Equation& equation) {
  std::vector<terms::Sum> operands;
  std::vector<Aval> avals;
  for (const Var operand : graph_.operands(equation)) {
    operands.push_back(sum_of(operand));
    avals.push_back(graph_.aval(operand));
  }
  return equation.primitive->terms({context_, operands, avals, graph_.operands(equation), graph_.attrs(equation),
                                    graph_.aval(equation.first_output)});
}

std::vector<Regions::Region> Regions::regions() const {
  std::map<Var, Var> parents;
  const auto find = [&](Var var) {
    while (parents.contains(var)) var = parents.at(var);
    return var;
  };
  std::vector<uint32_t> inside;
  for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
    const Var result = graph_.equations()[i].first_output;
    if (!grown_.contains(result) && !exit_of_.contains(result)) continue;
    inside.push_back(i);
    for (const Var operand : graph_.operands(graph_.equations()[i])) {
      if (!grown_.contains(operand)) continue;
      const Var a = find(operand), b = find(result);
      if (a != b) parents.insert({a, b});
    }
  }
  std::map<Var, Region> found;
  for (const uint32_t i : inside) {
    const Var result = graph_.equations()[i].first_output;
    Region& region = found[find(result)];
    region.equations.push_back(i);
    if (const auto exit = exit_of_.find(result); exit != exit_of_.end()) region.exits.push_back(exit->second);
  }
  std::vector<Region> result;
  for (auto& [_, region] : found) {
    if (!region.exits.empty()) result.push_back(std::move(region));
  }
  return result;
}

}  // namespace ct::contraction
