// Programs that multiply arrays into larger ones and sum these up again, evaluated in a cheaper order: per-example
// gradients [b,m,n] of a layer are products of a[b,t,m] and d[b,t,n], and their norms, weighted sums, second moments
// and Gram matrices are larger products of the same factors. No layer and no quantity is known by name: what is
// multilinear is a sum of products (ir/terms.h), and its order is searched for.
//
//   growth.h          where something is made that is larger than what it is made of
//   concatenations.h  what is put together from such values, in pieces
//   regions.h         which values are grown, and what becomes of them
//   distinct.h        one-hot arrays over the values that an example names
//   zeros.h           products in which zeros win over infinity and NaN
//   plan.h            the cheapest order of one sum of products
//   as_written.h      how long the equations take that it would replace
//   emit.h            plans as equations
//
// Here each region is made anew where that takes less time, by shapes alone. docs/design/034-contract.md has the
// reasons, and what is measured.
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "ir/ops.h"
#include "ir/primitive.h"
#include "ir/terms_parts.h"
#include "ir/terms_ranges.h"
#include "runtime/processor.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/contract/as_written.h"
#include "transforms/contract/concatenations.h"
#include "transforms/contract/cost.h"
#include "transforms/contract/distinct.h"
#include "transforms/contract/emit.h"
#include "transforms/contract/growth.h"
#include "transforms/contract/plan.h"
#include "transforms/contract/regions.h"
#include "transforms/contract/report.h"
#include "transforms/contract/zeros.h"
#include "transforms/transforms.h"

namespace ct {
namespace contraction {
namespace {

// What is not clearly faster stays as it is, unless it saves much memory. It may even be slower where it is in place of
// something that is too large.
constexpr double kGain = 0.9, kMadeAgain = 0.7, kSlower = 1.25;
constexpr double kComparison = 4;         // of integers, in multiply-adds
constexpr double kBlock = 500;            // nanoseconds: of each operation in a step of a loop over blocks
constexpr int64_t kMostBytes = 64 << 20;  // of an intermediate result

struct PlannedTerm {
  Plan plan;
  double coefficient;
  int exponent;  // of a power of two that it is to be multiplied with
  std::optional<Blocks> blocks{};
  double nanoseconds = 0;
  std::vector<terms::Range> ranges{};  // where its elements go, by index; none: everywhere
};

struct PlannedExit {
  std::vector<PlannedTerm> terms;
  Precision precision;
  std::vector<Plan> not_finite{};  // zeros.h
  int64_t bytes_avoided = 0;

  double nanoseconds() const {
    double sum = 0;
    for (const PlannedTerm& term : terms) sum += term.nanoseconds;
    return sum;
  }
};

// An index along which all large intermediate results can be made piece by piece, and how many pieces fit the cache.
// `plan`: one that makes all of it, as each step of the loop does. `always`: where all of them can, in the smallest
// pieces.
void choose_blocks(const terms::Context& context, PlannedTerm& term, Plan plan, int64_t element_bytes, bool always) {
  term.nanoseconds = term.plan.nanoseconds();
  std::vector<Subset> large;
  double bytes = 0;  // that are stored in memory, and read where no product of matrices is made of them
  int64_t largest = 0;
  const auto is_large = [&](Subset subset) {
    if (subset == plan.all() || plan.step(subset).first == 0) return false;
    return always || plan.elements(subset) * element_bytes > kProcessor.second_cache;
  };
  for (const Subset subset : plan.products()) {
    const Step& step = plan.step(subset);
    for (const Subset half : {step.first, step.second}) {
      if (!is_large(half) || step.is_matrix_product || (step.is_twice && half == step.second)) continue;
      bytes += static_cast<double>(plan.elements(half) * element_bytes);
    }
    // Equal to the first half, and yet not piece by piece along the same index.
    if (step.is_twice && is_large(step.second)) large.push_back(step.second);
    if (!is_large(subset)) continue;
    const int64_t size = plan.elements(subset) * element_bytes;
    large.push_back(subset);
    bytes += static_cast<double>(size);
    largest = std::max(largest, size);
  }
  if (large.empty()) return;
  const auto factors_with = [&](terms::Index index) {
    return std::ranges::count_if(plan.term().factors, [&](const terms::Factor& factor) {
      return std::ranges::find(factor.indices, index) != factor.indices.end();
    });
  };
  const auto is_value = [&](terms::Index index) {
    return std::ranges::any_of(plan.term().factors, [&](const terms::Factor& factor) {
      return factor.one_hot && factor.indices.back() == index;
    });
  };
  std::optional<terms::Index> best;
  for (const terms::Index index : plan.result(large[0])) {
    const bool everywhere = std::ranges::all_of(large, [&](Subset subset) { return plan.has(index, subset); });
    if (!everywhere || is_value(index)) continue;
    if (!best || factors_with(index) > factors_with(*best)) best = index;
  }
  if (!best) return;
  const int64_t size = context.size(*best);
  const bool is_summed = !plan.has(*best, plan.all());
  int64_t blocks = 2;
  while (blocks < size && (size % blocks != 0 || largest / blocks > kProcessor.second_cache)) ++blocks;
  if (always) blocks = size;
  if (blocks < 2 || blocks > size) return;
  // A sum over the blocks is read and stored in each step.
  const int64_t sum = is_summed ? plan.elements(plan.all()) * element_bytes : 0;
  const double carried =
      2 * static_cast<double>(sum) * (sum <= kProcessor.second_cache ? kProcessor.byte_in_cache : kByte);
  double taken_out = 0;
  for (const terms::Factor& factor : plan.term().factors) {
    if (std::ranges::count(factor.indices, *best) == 0 || (blocks == size && factor.indices[0] == *best)) continue;
    taken_out += static_cast<double>(num_elements(factor.shape) * element_bytes);
  }
  const double in_blocks =
      plan.nanoseconds() + 2 * taken_out * kProcessor.byte_in_cache - bytes * (kByte - kProcessor.byte_in_cache) +
      static_cast<double>(blocks) * (static_cast<double>(plan.products().size()) * kBlock + carried);
  if (in_blocks >= term.nanoseconds && largest <= kMostBytes && !always) return;
  term.plan = std::move(plan);
  term.blocks = {*best, blocks};
  term.nanoseconds = in_blocks;
}

// Squares of single precision that take no product of matrices: in double precision they neither overflow nor
// underflow, and cost next to nothing.
bool is_made_in_double(const PlannedExit& planned, const Exit& exit, DType dtype) {
  if (dtype_size(dtype) > dtype_size(DType::kFloat32) || !exit.sum.square) return false;
  return std::ranges::all_of(planned.terms, [](const PlannedTerm& term) {
    double elements = 0;
    for (size_t k = 0; k < term.plan.term().factors.size(); ++k) {
      elements += static_cast<double>(term.plan.elements(Subset{1} << k));
    }
    return !term.blocks && term.plan.step(term.plan.all()).multiply_adds <= 4 * elements;
  });
}

// Of two floating dtypes; what is none does not count.
DType wider(DType a, DType b) { return is_float(b) && dtype_size(b) > dtype_size(a) ? b : a; }

class Planner {
 public:
  Planner(const Graph& graph, Regions& regions, Products products)
      : graph_(graph), regions_(regions), products_(products) {
    for (const Regions::Region& region : regions.regions()) consider(region);
  }

  const std::map<Var, PlannedExit>& planned() const { return planned_; }

 private:
  using Made = std::map<Precision, std::set<std::string>>;  // keys of products, that cost nothing any more

  bool is_forced() const { return products_ == Products::kAlways || products_ == Products::kBlocks; }

  struct Candidate {
    std::map<Var, PlannedExit> exits{};
    Made made{};
    double nanoseconds = 0;
    bool is_made_again = false;  // in blocks, for one exit, and for another one: nothing is left of blocks
  };

  std::optional<Candidate> made_anew(const std::vector<size_t>& exits) {
    Candidate result{.made = made_};
    for (const size_t i : exits) {
      const Exit& exit = regions_.exits()[i];
      auto terms = plan(exit, result.made);
      if (!terms) return std::nullopt;
      auto& made = result.made[terms->precision];
      result.nanoseconds += terms->nanoseconds();
      for (const PlannedTerm& term : terms->terms) {
        result.is_made_again |= term.blocks && exits.size() > 1;
        if (term.blocks) continue;
        for (const Subset subset : term.plan.products()) made.insert(term.plan.key(subset).text);
      }
      result.exits.insert({exit.var, *std::move(terms)});
    }
    return result;
  }

  // All exits but the folds, which loops over outer products make as the program has them when nothing else needs these
  // any more.
  std::optional<Candidate> with_folds_as_written(const Regions::Region& region, int64_t most) {
    std::vector<size_t> others;
    std::set<Var> needed;
    for (const size_t i : region.exits) {
      const Equation& equation = graph_.equations()[regions_.exits()[i].equation];
      if (equation.primitive->is<structures::Fold>()) {
        needed.insert(equation.first_output);
      } else {
        others.push_back(i);
      }
    }
    if (others.empty() || needed.empty()) return std::nullopt;
    std::vector<uint32_t> before;
    for (const uint32_t i : std::views::reverse(region.equations)) {
      const Equation& equation = graph_.equations()[i];
      if (!needed.contains(equation.first_output)) continue;
      before.push_back(i);
      const auto operands = graph_.operands(equation);
      needed.insert(operands.begin(), operands.end());
    }
    std::ranges::reverse(before);
    const AsWritten written(graph_, before, most);
    for (const uint32_t i : before) {
      const Equation& equation = graph_.equations()[i];
      if (!equation.primitive->is<structures::Fold>() && written.is_stored(equation.first_output)) return std::nullopt;
    }
    auto result = made_anew(others);
    if (result) result->nanoseconds += written.nanoseconds();
    return result;
  }

  void consider(const Regions::Region& region) {
    int64_t most = dtype_size(DType::kFloat64);  // bytes of an element that is stored
    for (const size_t i : region.exits) {
      most = std::min<int64_t>(most, dtype_size(precision_before(regions_.exits()[i]).narrow));
    }
    const AsWritten written(graph_, region.equations, most);
    auto best = made_anew(region.exits);
    const auto some = with_folds_as_written(region, most);
    if (some && !is_forced() && (!best || some->nanoseconds < best->nanoseconds)) best = some;
    if (!best) return;
    int64_t avoided = 0, stored = 0, largest = 0;
    for (const uint32_t i : region.equations) {
      const Var var = graph_.equations()[i].first_output;
      if (best->exits.contains(var)) continue;
      const Aval& aval = graph_.aval(var);
      const int64_t bytes = aval.size() * std::min<int64_t>(dtype_size(aval.dtype()), most);
      avoided += bytes;
      if (!written.is_stored(var)) continue;
      stored += bytes;
      largest = std::max(largest, bytes);
    }
    double gain = stored < kProcessor.past_caches ? kGain : 1;
    if (best->is_made_again) gain = kMadeAgain;
    if (largest > kMostBytes) gain = kSlower;
    if (best->nanoseconds > gain * written.nanoseconds() && !is_forced()) return;
    best->exits.begin()->second.bytes_avoided = avoided;
    made_ = std::move(best->made);
    planned_.merge(best->exits);
  }

  // The widest of what a leaf is made of.
  DType dtype_of(terms::LeafId id) const {
    const terms::Leaf& leaf = regions_.context().leaf(id);
    if (leaf.kind == terms::Leaf::Kind::kVariable) return graph_.aval(leaf.var).dtype();
    if (leaf.kind == terms::Leaf::Kind::kConverted) return leaf.dtype;
    DType widest = dtype_of(leaf.parts[0].leaf);
    for (const terms::Part& part : leaf.parts) widest = wider(widest, dtype_of(part.leaf));
    return widest;
  }

  // At least float32, and what the factors are: conversions to a narrower dtype on the way to the result are left out.
  DType wide_enough(const Exit& exit) const {
    DType widest = wider(graph_.aval(exit.var).dtype(), DType::kFloat32);
    for (const terms::Term& term : exit.sum.terms) {
      for (const terms::Factor& factor : term.factors) {
        if (!factor.one_hot) widest = wider(widest, dtype_of(factor.leaf));
      }
    }
    return widest;
  }

  // Squares of what was converted to double precision before. The program has made the sums that are squared in single
  // precision, and wants that their squares neither overflow nor underflow.
  Precision precision_before(const Exit& exit) const {
    const DType dtype = wide_enough(exit);
    if (graph_.aval(exit.var).dtype() != DType::kFloat64 || !exit.sum.square) return {dtype, dtype};
    for (const terms::Term& term : exit.sum.terms) {
      for (const terms::Factor& factor : term.factors) {
        const terms::Leaf& leaf = regions_.context().leaf(factor.leaf);
        if (factor.one_hot || leaf.kind != terms::Leaf::Kind::kConverted) continue;
        if (dtype_size(dtype_of(leaf.parts[0].leaf)) <= dtype_size(DType::kFloat32)) return {DType::kFloat32, dtype};
      }
    }
    return {dtype, dtype};
  }

  std::optional<PlannedTerm> planned(const terms::Term& term, const Precision& precision,
                                     const std::set<std::string>& made) {
    const DType dtype = precision.wide, in = precision.narrow;
    auto found = Plan::of(regions_.context(), term, in, made), alone = Plan::of(regions_.context(), term, in, {});
    if (!found || !alone) return std::nullopt;
    // What is large, or tiny, is given to the factors.
    const int size = terms::exponent_of(term.coefficient), most = dtype == DType::kFloat64 ? 250 : 30;
    const int exponent = std::abs(size) > most ? size : 0;
    if (std::abs(exponent) > 2 * (dtype == DType::kFloat64 ? 1000 : 120)) return std::nullopt;
    const auto coefficient = static_cast<double>(std::ldexp(term.coefficient, -exponent));
    PlannedTerm result{.plan = *std::move(found), .coefficient = coefficient, .exponent = exponent};
    choose_blocks(regions_.context(), result, *std::move(alone), dtype_size(in), products_ == Products::kBlocks);
    return result;
  }

  // Of factors of single precision, which are stored in double precision, each of them once.
  double conversion_time(const Exit& exit, std::set<std::string>& made) const {
    double bytes = 0;
    for (const terms::Term& term : exit.sum.terms) {
      for (const terms::Factor& factor : term.factors) {
        if (factor.one_hot || !made.insert(concat("converted ", factor.leaf)).second) continue;
        const int64_t each = dtype_size(DType::kFloat32) + 2 * dtype_size(DType::kFloat64);  // read, stored and read
        bytes += static_cast<double>(num_elements(factor.shape) * each);
      }
    }
    return bytes * kByte;
  }

  // Equal terms of a sum as one: the product of two sums has them in another order. Zeros are left out.
  std::vector<terms::Narrowed> different_terms(const terms::Sum& sum) {
    std::map<std::string, size_t> places;
    std::vector<terms::Term> different;
    for (const terms::Term& term : sum.terms) {
      const auto [at, is_new] = places.insert({text_of(term), different.size()});
      if (is_new) {
        different.push_back(term);
      } else {
        different[at->second].coefficient += term.coefficient;
      }
    }
    std::vector<terms::Narrowed> result;
    for (const terms::Term& term : different) {
      if (auto left = terms::narrowed(regions_.context(), term)) result.push_back(*std::move(left));
    }
    if (result.empty()) result.push_back({.term = different[0]});
    return result;
  }

  std::optional<PlannedExit> plan_in(const Precision& precision, const Exit& exit,
                                     const std::vector<terms::Narrowed>& terms, const std::set<std::string>& known) {
    PlannedExit result{.terms = {}, .precision = precision};
    for (const auto& [term, ranges] : terms) {
      std::optional<PlannedTerm> best = planned(term, precision, known);
      if (const auto over = over_distinct(regions_.context(), term)) {
        const double each = kComparison * kProcessor.multiply_add(precision.narrow);
        std::optional<PlannedTerm> other = planned(over->term, precision, known);
        if (other) other->nanoseconds += over->comparisons * each;
        if (other && (!best || other->nanoseconds < best->nanoseconds)) best = std::move(other);
      }
      if (!best) return std::nullopt;
      best->ranges = ranges;
      result.terms.push_back(*std::move(best));
    }
    auto not_finite = plans_of_not_finite(regions_.context(), exit.sum, precision.narrow);
    if (!not_finite) return std::nullopt;
    result.not_finite = *std::move(not_finite);
    return result;
  }

  // Sums that were made in single precision before they were multiplied with each other, once: what is multiplied out
  // in double precision has an error below theirs.
  bool may_be_multiplied_out(const Exit& exit, const Precision& precision) const {
    return products_ == Products::kDirect && !exit.in_double && exit.degree == 2 &&
           precision.narrow == DType::kFloat32 &&
           std::ranges::any_of(exit.sum.terms, [](const terms::Term& term) { return !term.whole.empty(); });
  }

  std::optional<PlannedExit> plan(const Exit& exit, Made& made) {
    constexpr Precision kDouble{DType::kFloat64, DType::kFloat64};
    std::vector<terms::Narrowed> terms = different_terms(exit.sum);
    const Precision precision = exit.in_double ? kDouble : precision_before(exit);
    auto result = plan_in(precision, exit, terms, made[precision]);
    if (result && exit.in_double) result->terms[0].nanoseconds += conversion_time(exit, made[kDouble]);
    if (may_be_multiplied_out(exit, precision)) {
      for (terms::Narrowed& each : terms) each.term.whole.clear();
      std::set<std::string> known = made[kDouble];
      auto other = plan_in(kDouble, exit, terms, known);
      if (other) other->terms[0].nanoseconds += conversion_time(exit, known);
      if (other && (!result || other->nanoseconds() < result->nanoseconds())) {
        made[kDouble] = std::move(known);
        return other;
      }
    }
    if (result && is_made_in_double(*result, exit, graph_.aval(exit.var).dtype())) result->precision = kDouble;
    return result;
  }

  const Graph& graph_;
  Regions& regions_;
  const Products products_;
  Made made_;
  std::map<Var, PlannedExit> planned_;
};

Value emit(Emitter& emitter, const PlannedExit& planned, const Exit& exit, const Aval& type) {
  Value total;
  for (const PlannedTerm& term : planned.terms) {
    Value value = emitter.term(term.plan, term.blocks, term.exponent);
    if (!term.ranges.empty()) {
      Shape left;
      for (const terms::Range& range : term.ranges) left.push_back(range.count);
      value = spread_out(reshape(value, left), term.ranges);
    }
    value = reshape(value, type.shape());
    if (term.coefficient != 1) value = value * full_like(value, term.coefficient);
    total = total ? total + value : value;
  }
  // What is no square of a sum any more may come out below zero, by rounding.
  return exit.sum.square ? max(total, zeros_like(total)) : total;
}

std::string formula_of(const terms::Term& term) {
  std::map<terms::Index, char> names;
  const auto named = [&](const terms::Indices& indices) {
    std::string text;
    for (const terms::Index index : indices) {
      text += names.insert({index, static_cast<char>('a' + names.size() % 26)}).first->second;
    }
    return text;
  };
  std::string axes, factors;
  for (const terms::Indices& axis : term.axes) axes += named(axis);
  for (const terms::Factor& factor : term.factors) {
    const std::string indices = named(factor.indices);
    factors += concat(factors.empty() ? "" : ",", factor.one_hot ? concat("1[", indices, "]") : indices);
  }
  return concat(factors, "->", axes);
}

void report(Contractions& contractions, const Graph& graph, const Equation& equation, const PlannedExit& planned) {
  const std::string location = location_string(equation.location);
  Contraction made;
  made.name = concat(equation.primitive->name, " -> ", graph.aval(equation.first_output).to_string(),
                     location.empty() ? "" : "  ", location);
  made.bytes_avoided = planned.bytes_avoided;
  double most = -1;
  for (const PlannedTerm& term : planned.terms) {
    made.operations += 2 * term.plan.step(term.plan.all()).multiply_adds;
    if (term.nanoseconds <= most) continue;
    most = term.nanoseconds;
    made.formula = formula_of(term.plan.term());
    made.blocks = term.blocks ? term.blocks->blocks : 1;
  }
  contractions.found.push_back(std::move(made));
}

thread_local Contractions* contractions = nullptr;

}  // namespace
}  // namespace contraction

Contractions::Contractions() : enclosing_(contraction::contractions) { contraction::contractions = this; }
Contractions::~Contractions() { contraction::contractions = enclosing_; }
Contractions* Contractions::current() { return contraction::contractions; }

namespace {

// An exit with its axes in another order: what has been turned for it is not turned back.
Value turned(Value exit, const Ints& permutation) {
  const auto inner = made_by(exit, Arrangement::kTranspose);
  if (!inner) return transpose(exit, permutation);
  Ints composed;
  composed.reserve(permutation.size());
  for (const int64_t axis : permutation) composed.push_back(exit.builder->attrs(*inner).ints("permutation")[axis]);
  return transpose(Value{exit.builder, exit.builder->operands(*inner)[0]}, composed);
}

GraphPtr made_anew(const Graph& graph, const contraction::Growth& growth, Products products) {
  contraction::Regions regions(graph, growth, products);
  const contraction::Planner planner(graph, regions, products);
  std::map<Var, const contraction::Exit*> exits;
  for (const contraction::Exit& exit : regions.exits()) {
    if (planner.planned().contains(exit.var)) exits.insert({exit.var, &exit});
  }
  const auto in_sub_graphs = [&](const Graph& inner) { return contract(inner, products); };
  Builder builder;
  Values values = inputs_like(builder, graph);
  values.resize(graph.num_vars());
  std::map<contraction::Precision, contraction::Emitter> emitters;
  for (const Equation& equation : graph.equations()) {
    const LocationScope scope(location_of(equation));
    if (const auto exit = exits.find(equation.first_output); exit != exits.end()) {
      const Aval& type = graph.aval(equation.first_output);
      const auto variable = [&](Var var) { return values[var]; };
      const auto& plan = planner.planned().at(equation.first_output);
      contraction::Emitter& emitter =
          emitters.try_emplace(plan.precision, builder, regions.context(), variable, plan.precision).first->second;
      if (auto* wanted = Contractions::current()) {
        report(*wanted, graph, equation, plan);
      }
      const Value finite = emit(emitter, plan, *exit->second, type.with_dtype(plan.precision.wide));
      const Value made = with_not_finite(finite, plan.not_finite, exit->second->sum.square, regions.context(),
                                         plan.precision, variable);
      values[equation.first_output] = convert(made, type.dtype());
      continue;
    }
    Values operands;
    for (const Var var : graph.operands(equation)) operands.push_back(values[var]);
    if (equation.primitive->arrangement == Arrangement::kTranspose && exits.contains(graph.operands(equation)[0])) {
      values[equation.first_output] = turned(operands[0], graph.attrs(equation).ints("permutation"));
      continue;
    }
    const AttrsPtr attrs = map_graphs(graph.attrs_ptr(equation), in_sub_graphs);
    const Values results = builder.bind(*equation.primitive, operands, attrs);
    std::copy(results.begin(), results.end(), values.begin() + equation.first_output);
  }
  Values outputs;
  for (const Var var : graph.outputs()) outputs.push_back(values[var]);
  const GraphPtr result = builder.finish(outputs);
  // Equal factors are converted, and cleared, once.
  return exits.empty() ? result : eliminate_common_subexpressions(*eliminate_dead_code(*result));
}

}  // namespace

GraphPtr contract(const Graph& graph, Products products) {
  const contraction::Growth growth(graph);
  const GraphPtr in_pieces = growth.any() ? contraction::in_pieces(graph, growth) : nullptr;
  if (in_pieces != nullptr) return made_anew(*in_pieces, contraction::Growth(*in_pieces), products);
  return made_anew(graph, growth, products);
}

}  // namespace ct
