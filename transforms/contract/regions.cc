#include "transforms/contract/regions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "ir/primitive.h"
#include "ir/terms_parts.h"

namespace ct::contraction {
namespace {

constexpr int kMostRounds = 64;

// The square of one term, which is a sum: what each of its halves sums up is to be made before it is multiplied.
// Factors that have no index of a sum in common, nor with the same others, are sums of their own, or none.
void make_halves_whole(terms::Term& square, const terms::Term& half) {
  const size_t count = half.factors.size();
  const auto is_summed = [&](terms::Index index) {
    return std::ranges::none_of(half.axes, [&](const terms::Indices& axis) { return terms::contains(axis, index); });
  };
  const auto has_common_sum = [&](const terms::Factor& x, const terms::Factor& y) {
    return std::ranges::any_of(
        x.indices, [&](terms::Index index) { return is_summed(index) && terms::contains(y.indices, index); });
  };
  uint32_t done = 0;
  for (size_t first = 0; first < count; ++first) {
    if ((done >> first & 1) != 0) continue;
    uint32_t set = uint32_t{1} << first, before = 0;
    while (set != before) {
      before = set;
      for (size_t k = 0; k < count; ++k) {
        for (size_t other = 0; other < count; ++other) {
          if ((set >> other & 1) != 0 && has_common_sum(half.factors[k], half.factors[other])) set |= uint32_t{1} << k;
        }
      }
    }
    done |= set;
    if (std::has_single_bit(set)) continue;
    square.whole.push_back(set);
    square.whole.push_back(set << count);
  }
}

size_t most_factors(const terms::Sum& sum) {
  size_t most = 0;
  for (const terms::Term& term : sum.terms) most = std::max(most, term.factors.size());
  return most;
}

// Whether the result of a rule has operands multiplied with each other, as sums have not.
bool multiplies(const terms::Sum& result, const terms::Sum& x, const terms::Sum& y) {
  return most_factors(result) > std::max(most_factors(x), most_factors(y));
}

}  // namespace

Regions::Regions(const Graph& graph, const Growth& growth, Products products)
    : graph_(graph),
      growth_(growth),
      products_(products),
      uses_(graph.num_vars()),
      is_output_(graph.num_vars(), false) {
  for (uint32_t i = 0; i < graph.equations().size(); ++i) {
    for (const Var var : graph.operands(graph.equations()[i])) uses_[var].push_back(i);
  }
  for (const Var var : graph.outputs()) is_output_[var] = true;
  if (!settle()) {
    grown_.clear();
    leaving_.clear();
  }
  exits_.reserve(leaving_.size());
  for (const auto& [_, exit] : leaving_) exits_.push_back(exit);
  std::ranges::sort(exits_, {}, &Exit::equation);
}

// Whether somebody needs a grown value who is not made of products himself.
bool Regions::is_needed(Var var) const {
  return is_output_[var] || std::ranges::any_of(uses_[var], [&](uint32_t use) {
           const Equation& equation = graph_.equations()[use];
           return equation.output_count != 1 ||
                  !(grown_.contains(equation.first_output) || leaving_.contains(equation.first_output));
         });
}

// What is grown and what exits, given what has to be kept: in rounds, until that changes no more, each of which looks
// only at what the last one may have changed. False where there is no end to it.
bool Regions::settle() {
  for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
    if (growth_.of(graph_.equations()[i]) > 0) changed_.insert(i);
  }
  for (int round = 0; round <= kMostRounds; ++round) {
    while (!changed_.empty()) {
      const uint32_t first = *changed_.begin();
      changed_.erase(changed_.begin());
      visit(first);
    }
    if (collapsed_.empty() && ended_.empty()) {
      if (!keep_what_is_needed()) return true;
      continue;
    }
    forced_.insert(ended_.begin(), ended_.end());
    for (const Var var : ended_) revisit(var);
    ended_.clear();
    kept_.insert(collapsed_.begin(), collapsed_.end());
    for (const Var var : collapsed_) revisit(var);
    collapsed_.clear();
  }
  return false;
}

// Whether there was something to keep.
bool Regions::keep_what_is_needed() {
  std::vector<Var> needed;
  for (const auto& [var, _] : grown_) {
    if (is_needed(var)) needed.push_back(var);
  }
  for (const Var var : needed) {
    int64_t largest = 0;
    for (const Var operand : graph_.operands(*growth_.producer(var))) {
      if (grown_.contains(operand)) largest = std::max(largest, size(operand));
    }
    // What is smaller than the grown value that it is made of may be made anew itself.
    const bool may_exit = !forced_.contains(var) && 2 * size(var) <= largest;
    (may_exit ? forced_ : kept_).insert(var);
    revisit(var);
  }
  return !needed.empty();
}

void Regions::revisit(Var var) {
  changed_.insert(static_cast<uint32_t>(growth_.producer(var) - graph_.equations().data()));
}

void Regions::visit(uint32_t number) {
  const Var result = graph_.equations()[number].first_output;
  const bool had_grown = grown_.erase(result) > 0;
  leaving_.erase(result);
  make(number);
  if (had_grown || grown_.contains(result)) changed_.insert(uses_[result].begin(), uses_[result].end());
}

// Growth of what has grown: its operands are wanted in memory, from where they became smaller on, or else all of them.
void Regions::end_before_growth(const Grown& grown) {
  const bool is_tried = std::ranges::all_of(grown.smaller, [&](Var var) { return forced_.contains(var); });
  if (is_tried) {
    collapsed_.insert(grown.roots.begin(), grown.roots.end());
  } else {
    ended_.insert(grown.smaller.begin(), grown.smaller.end());
  }
}

// Whether it scatters outer products, or what each place adds up by itself: sums of products with one factor more, and
// no more terms. What places have in common is multiplied with before: a product with weights, say.
bool Regions::scatters_grown(const Equation& equation) {
  if (!equation.primitive->is<structures::Scatter>()) return false;
  const auto update = grown_.find(graph_.operands(equation)[2]);
  if (update == grown_.end() || !update->second.smaller.empty()) return false;
  const auto sum = apply(equation);
  if (!sum) return false;
  return std::ranges::all_of(sum->terms, [](const terms::Term& term) {
    const terms::Indices& places = term.factors.back().indices;  // and the values
    return std::ranges::all_of(term.factors, [&](const terms::Factor& factor) {
      const bool has_places = std::all_of(places.begin(), places.end() - 1,
                                          [&](terms::Index index) { return terms::contains(factor.indices, index); });
      return has_places || std::ranges::all_of(factor.indices, [&](terms::Index index) {
               return terms::contains(places, index) || std::ranges::any_of(term.axes, [&](const terms::Indices& axis) {
                        return terms::contains(axis, index);
                      });
             });
    });
  });
}

void Regions::make(uint32_t number) {
  const Equation& equation = graph_.equations()[number];
  const Var result = equation.first_output;
  if (!equation.primitive->terms || equation.output_count != 1 || !may_grow(graph_.aval(result).dtype())) return;
  const int64_t factors = growth_.of(equation);
  const bool grows = factors > 0 && !scatters_grown(equation);
  Grown made{.sum = {}, .factors = grows ? factors : 0};
  int64_t largest = 0;
  for (const Var operand : graph_.operands(equation)) {
    const auto found = grown_.find(operand);
    if (found == grown_.end()) continue;
    if (grows) end_before_growth(found->second);
    largest = std::max(largest, size(operand));
    made.factors = std::max(made.factors, found->second.factors);
    made.roots.insert(found->second.roots.begin(), found->second.roots.end());
    made.smaller.insert(found->second.smaller.begin(), found->second.smaller.end());
    made.in_double = made.in_double || found->second.in_double;
    made.degree = std::max(made.degree, found->second.degree);
  }
  if (kept_.contains(result) || (!grows && largest == 0)) return;
  if (made.roots.empty()) made.roots.insert(result);
  if (2 * size(result) <= largest) made.smaller = {result};
  std::optional<terms::Sum> sum = made_of(equation, made);
  if (!sum || sum->terms.empty()) return;
  made.sum = *std::move(sum);
  const bool is_small = size(result) <= made.factors || forced_.contains(result);
  if (largest > 0 && is_small && 2 * size(result) <= largest) {
    leaving_.insert({result, Exit{number, result, std::move(made.sum), made.in_double, made.degree}});
  } else {
    grown_.insert({result, std::move(made)});
  }
}

// An operand: what it has been made of, if it has grown; a number; what was broadcast or transposed; else a leaf.
terms::Sum Regions::sum_of(Var var) {
  if (const auto found = grown_.find(var); found != grown_.end()) return found->second.sum;
  const Aval& aval = graph_.aval(var);
  const Equation* equation = growth_.producer(var);
  if (equation != nullptr && equation->primitive->arrangement == Arrangement::kUniform && may_grow(aval.dtype())) {
    return context_.of_constant(graph_.attrs(*equation).real("value"), aval.shape());
  }
  if (equation != nullptr && equation->primitive->terms) {
    const Arrangement arrangement = equation->primitive->arrangement;
    const bool repeats = arrangement == Arrangement::kBroadcast && size(graph_.operands(*equation)[0]) < aval.size();
    if (repeats || arrangement == Arrangement::kTranspose) {
      if (auto sum = apply(*equation)) return *std::move(sum);
    }
  }
  return context_.of_leaf(context_.variable(var), aval.shape());
}

// Whether its elements were single precision, or less, when they were added up.
bool Regions::is_of_single_precision(Var var) {
  if (dtype_size(graph_.aval(var).dtype()) <= dtype_size(DType::kFloat32)) return true;
  const auto was_single = [&](const auto& self, terms::LeafId id) -> bool {
    const terms::Leaf& leaf = context_.leaf(id);
    if (leaf.kind == terms::Leaf::Kind::kConverted) return true;
    const auto is_single = [&](const terms::Part& part) { return self(self, part.leaf); };
    if (leaf.kind == terms::Leaf::Kind::kConcatenation) return std::ranges::all_of(leaf.parts, is_single);
    return leaf.kind != terms::Leaf::Kind::kVariable && is_single(leaf.parts[0]);
  };
  return std::ranges::all_of(sum_of(var).terms, [&](const terms::Term& term) {
    return std::ranges::all_of(term.factors, [&](const terms::Factor& factor) {
      return factor.one_hot || was_single(was_single, factor.leaf);
    });
  });
}

std::optional<terms::Sum> Regions::apply(const Equation& equation) {
  std::vector<terms::Sum> operands;
  for (const Var operand : graph_.operands(equation)) operands.push_back(sum_of(operand));
  return apply(equation, operands);
}

std::optional<terms::Sum> Regions::apply(const Equation& equation, absl::Span<const terms::Sum> operands) {
  std::vector<Aval> avals;
  for (const Var operand : graph_.operands(equation)) avals.push_back(graph_.aval(operand));
  return equation.primitive->terms({context_, operands, avals, graph_.operands(equation), graph_.attrs(equation),
                                    graph_.aval(equation.first_output)});
}

// What a rule makes of operands. The square of one term that is a sum is that of its whole. Several terms are
// multiplied with each other, in double precision where they were single precision: what cancels has an error below
// theirs then. Once, that is: that of a cube would be above.
std::optional<terms::Sum> Regions::made_of(const Equation& equation, Grown& made) {
  const auto vars = graph_.operands(equation);
  const bool are_grown = std::ranges::all_of(vars, [&](Var var) { return grown_.contains(var); });
  if (!sums_before_squares() || vars.size() != 2 || !are_grown) return apply(equation);
  std::vector<terms::Sum> operands = {sum_of(vars[0]), sum_of(vars[1])};
  const bool is_single = operands[0].terms.size() == 1 && operands[1].terms.size() == 1;
  const bool may_cancel = !is_single && is_of_single_precision(vars[0]) && is_of_single_precision(vars[1]);
  if (may_cancel) operands[0].mixed = operands[1].mixed = false;
  auto result = apply(equation, operands);
  if (!result) return result;
  if (!multiplies(*result, operands[0], operands[1])) return may_cancel ? apply(equation) : result;
  made.degree = grown_.at(vars[0]).degree + grown_.at(vars[1]).degree;
  if (made.in_double) return std::nullopt;
  made.in_double = may_cancel;
  if (vars[0] != vars[1]) return result;
  if (!is_single && !may_cancel) return std::nullopt;
  if (is_single) make_halves_whole(result->terms[0], operands[0].terms[0]);
  return result;
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
    if (!grown_.contains(result) && !leaving_.contains(result)) continue;
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
    if (!leaving_.contains(result)) continue;
    region.exits.push_back(std::ranges::lower_bound(exits_, i, {}, &Exit::equation) - exits_.begin());
  }
  std::vector<Region> result;
  for (auto& [_, region] : found) {
    if (!region.exits.empty()) result.push_back(std::move(region));
  }
  return result;
}

}  // namespace ct::contraction
