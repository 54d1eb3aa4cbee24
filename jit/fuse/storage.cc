// Which variables get memory: walked backwards, from consumers to producers.
#include "jit/fuse/storage.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "jit/fuse/later_loops.h"
#include "jit/fuse/fuse.h"
#include "jit/fuse/products.h"

namespace ct::jit {
namespace {

// Recomputing this many additions per element is cheaper than a buffer.
constexpr double kCheap = 4;
// An exponential, say.
constexpr double kDear = 16;
// As scalars in a scatter's loop, so many additions are hidden behind its memory traffic.
constexpr double kMostScalar = 16;
// Bounds on what one nest computes, for the sake of registers, compile time and recursion in lowering.
constexpr int kDeepest = 256;
constexpr int kLargest = 400;
constexpr int64_t kSmallArray = 1 << 12;  // elements: to store them and read them again costs next to nothing
// Where no array has more elements than this, so that no loop is worth threads, a loop ends with the operation that
// brings those of many statements each (an exponential has 21, a sine 139) to so many statements: loops of few of them
// are alike more often, and then one function.
constexpr int64_t kFewElements = 512;
constexpr int kLongOperation = 20, kEnoughLong = 150;
constexpr size_t kMostDemands = 6;
constexpr int kMostUpdates = 8;
// Of a concatenation: pieces, and neighbouring elements of each.
constexpr size_t kMostSegments = 5;
constexpr int64_t kLongRun = 128;
constexpr int kFarthestFeed = 128;

// A nest wants a variable's elements: the one that ends in stored variable `root`.
struct Demand {
  Var root;
  double moved = 0;   // evaluations per element at other positions than the nest's own
  bool same = false;  // wanted at the nest's own position, however often: computed once
  double evaluations() const { return moved + (same ? 1 : 0); }
};

// Of a variable: by nest, in the order in which they were found. A number that a thousand equations of an unrolled loop
// read is wanted by as many nests, and what is computed from it, too.
class Demands {
 public:
  void add(Var root, bool same, double evaluations) {
    Demand& demand = demands_[place_of(root)];
    if (same) {
      demand.same = true;
    } else {
      demand.moved += evaluations;
    }
  }
  absl::Span<const Demand> all() const { return demands_; }

 private:
  static constexpr size_t kFew = 16;  // are found by looking at each

  size_t place_of(Var root) {
    if (demands_.size() <= kFew) {
      const auto at = std::ranges::find(demands_, root, &Demand::root);
      if (at != demands_.end()) return static_cast<size_t>(at - demands_.begin());
    } else {
      if (places_.empty()) {
        for (size_t i = 0; i < demands_.size(); ++i) places_.emplace(demands_[i].root, i);
      }
      const auto [at, is_new] = places_.emplace(root, demands_.size());
      if (!is_new) return at->second;
    }
    demands_.push_back({root});
    return demands_.size() - 1;
  }

  std::vector<Demand> demands_;
  absl::flat_hash_map<Var, size_t> places_;  // of more than a few
};

class StorageDecision {
 public:
  StorageDecision(const GraphFacts& facts, Storage& storage, ProductViews& products)
      : facts_(facts), graph_(facts.graph), storage_(storage), products_(products), demands_(graph_.num_vars()) {}

  void run() {
    require_operands();
    // A reshaped output shares memory with what it reshapes, which is then written to the output at once.
    for (Var var : graph_.outputs()) storage_.require(alias_base(graph_, facts_.definition, var), "it is a result");
    products_.transpose_results();
    bound_chains();
    if (require_for_later_loops(facts_, cost_, kCheap, storage_)) bound_chains();
    for (size_t i = graph_.equations().size(); i-- > 0;) {
      const Equation& equation = graph_.equations()[i];
      for (uint32_t k = 0; k < equation.output_count; ++k) place(equation, equation.first_output + k);
    }
    for (Var var = 0; var < graph_.num_inputs(); ++var) storage_.stored[var] = true;
  }

 private:
  // Equations with loops of their own may read memory.
  void require_operands() {
    std::vector<int> updates(graph_.num_vars(), 0);  // that a variable is made by, one after the other
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      const Equation& equation = graph_.equations()[i];
      const absl::Span<const Var> operands = graph_.operands(equation);
      if (facts_.lowering[i]->written_operand() >= 0) updates_.push_back(i);
      if (facts_.by_elements[i]) {
        if (facts_.lowering[i]->written_operand() < 0) continue;
        const Var var = equation.first_output;
        updates[var] = updates[operands[0]] + 1;
        if (updates[var] > kMostUpdates) storage_.require(var, "each element would look at many updates");
        continue;
      }
      for (int k = 0; k < static_cast<int>(operands.size()); ++k) {
        const OperandReading reading = facts_.lowering[i]->reading(graph_, equation, k);
        switch (reading.form) {
          case OperandReading::Form::kComputed:
            break;
          case OperandReading::Form::kArray:
            storage_.require(operands[k], reading.reason);
            break;
          case OperandReading::Form::kFlat:
            storage_.require(alias_base(graph_, facts_.definition, operands[k]), reading.reason);
            break;
          case OperandReading::Form::kDense:
            products_.require_dense(operands[k], reading.reason);
            break;
          case OperandReading::Form::kView:
            products_.require_view(equation, k, reading.reason);
            break;
        }
      }
    }
  }

  // The cost of each variable's elements if everything before it that can be were recomputed; chains that become too
  // long are cut.
  void bound_chains() {
    cost_.assign(graph_.num_vars(), 0);
    std::vector<int> depth(graph_.num_vars(), 0);
    // By variable: all that would be recomputed with it, until nothing asks any more; each once, however often it is
    // used.
    std::vector<std::vector<Var>> behind(graph_.num_vars());
    bool all_small = true;
    for (Var var = 0; var < graph_.num_vars(); ++var) all_small = all_small && facts_.size_of(var) <= kFewElements;
    // Of large arrays memory counts, of small ones the time to compile.
    auto work = [&](Var var) {
      return 1 + (facts_.size_of(var) <= kSmallArray ? facts_.facts[var].statements : facts_.facts[var].cost) / 4;
    };
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      if (!facts_.by_elements[i]) continue;
      const Equation& equation = graph_.equations()[i];
      absl::Span<const Var> operands = graph_.operands(equation);
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        const Var var = equation.first_output + k;
        double cost = facts_.facts[var].cost;
        int read = 0;
        std::vector<Var> all = {var};
        for (size_t j = 0; j < operands.size(); ++j) {
          if (facts_.facts[var].operands[j].reads == 0) continue;
          const Var operand = operands[j];
          const bool chained = !facts_.is_input(operand) && !storage_.required[operand];
          if (chained) {
            // What is broadcast is not computed again for each element: it has memory, or a register, or costs nothing.
            if (facts_.size_of(operand) * 2 > facts_.size_of(var)) {
              cost += cost_[operand];
            } else if (facts_.size_of(operand) > 1) {
              cost += std::min(cost_[operand], 1.0);
            }
            depth[var] = std::max(depth[var], depth[operand] + 1);
            std::vector<Var> both;
            std::set_union(all.begin(), all.end(), behind[operand].begin(), behind[operand].end(),
                           std::back_inserter(both));
            all = std::move(both);
          }
          if (!chained || !facts_.has_elements(operand) || !facts_.facts[operand].operands.empty()) ++read;
        }
        cost_[var] = std::min(cost + std::max(0, read - 1), 1e6);
        int size = 0, in_long = 0;
        for (Var each : all) {
          size += work(each);
          if (facts_.facts[each].statements >= kLongOperation) in_long += facts_.facts[each].statements;
        }
        const bool holds_enough = all_small && in_long >= kEnoughLong;
        if (depth[var] >= kDeepest || size >= kLargest || holds_enough) {
          storage_.require(var, "what it is computed from is as much as one loop may hold");
          storage_.cut[var] = facts_.size_of(var) <= kSmallArray;
          cost_[var] = depth[var] = 0;
        } else if (!facts_.uses[var].empty()) {
          behind[var] = std::move(all);
        }
      }
      for (const Var operand : operands) {
        if (facts_.uses[operand].back().equation == i) behind[operand] = {};
      }
    }
  }

  // Decides whether `var` is stored, all its consumers having been decided.
  void place(const Equation& equation, Var var) {
    if (!facts_.has_elements(var) || storage_.required[var]) {
      storage_.store(var, "it is what a fold, a product, a loop or a call out of the program results in");
      return;
    }
    if (facts_.size_of(var) == 1) {
      // A scalar lives in a register unless it is free.
      if (cost_[var] > 0 || equation.output_count > 1) return storage_.store(var, "it is one number: a register");
    }
    if (feeds_back(var)) return storage_.store(var, "an array is updated with it in place");
    if (outlives_source(var)) return storage_.store(var, "what it is read from is updated in place before it is used");
    Demands demands;
    for (const GraphFacts::Use& use : facts_.uses[var]) {
      if (const char* reason = add_demands(var, use, demands)) return storage_.store(var, reason);
    }
    double evaluations = 0;
    for (const Demand& demand : demands.all()) evaluations += demand.evaluations();
    // Which side of a length an element is on, loops that end there know.
    if (demands.all().size() > kMostDemands && !costs_nothing(equation, var) && !is_known_by_loops(var)) {
      return storage_.store(var, "many loops want it");
    }
    if ((evaluations - 1) * cost_[var] > kCheap && !is_known_by_loops(var)) {
      const Var source = is_updated_in_memory(var) ? kNoVar : moved_from(equation, var, evaluations);
      if (source == kNoVar) return storage_.store(var, "computing it again where it is wanted costs more");
      storage_.require(source, "several show its elements at other places");
    }
    if (is_updated_in_memory(var)) return storage_.store(var, "it is updated in place");
    demands_[var] = std::move(demands);
  }

  // Whether all elements are computed from constants, positions and numbers in registers, for nothing.
  bool costs_nothing(const Equation& equation, Var var) const {
    if (cost_[var] > 0) return false;
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < facts_.facts[var].operands.size(); ++k) {
      if (facts_.facts[var].operands[k].reads > 0 && facts_.size_of(operands[k]) > 1) return false;
    }
    return true;
  }

  // Positions, lengths, and on which side of a length a position is; and what is another variable's element wherever it
  // is wanted.
  bool is_known_by_loops(Var var) const {
    if (products_.limits().shown(var) != kNoVar) return true;
    const ElementForm& form = products_.limits().known(var);
    const bool is_length = form.source != kNoVar && form.source != var;
    return form.exact || !form.when_false.empty() || form.index_axis >= 0 || is_length;
  }

  // Adds what one use wants of the elements of `var`. The reason why it has to be stored instead, if there is one.
  const char* add_demands(Var var, const GraphFacts::Use& use, Demands& demands) const {
    const Equation& consumer = graph_.equations()[use.equation];
    const double size = static_cast<double>(std::max<int64_t>(facts_.size_of(var), 1));
    if (!facts_.by_elements[use.equation]) {
      const OperandReading reading = facts_.lowering[use.equation]->reading(graph_, consumer, use.operand);
      // Else what is stored is a view of it, or the same under another shape.
      if (reading.form != OperandReading::Form::kComputed) return nullptr;
      if (reading.one_by_one && cost_[var] > kMostScalar) {
        return "a scatter goes one element after the other, this can be computed as vectors";
      }
      demands.add(consumer.first_output, reading.same, reading.evaluations);
      return nullptr;
    }
    for (uint32_t k = 0; k < consumer.output_count; ++k) {
      const Var result = consumer.first_output + k;
      const OperandAccess& access = facts_.facts[result].operands[use.operand];
      if (access.reads == 0) continue;
      if (is_written_into_memory(facts_, storage_, use.equation)) {
        demands.add(result, false, 1);  // by a step of its own
        continue;
      }
      const double evaluations = access.same || is_segment(consumer, result, var)
                                     ? 1
                                     : access.reads * static_cast<double>(facts_.size_of(result)) / size;
      if (storage_.stored[result]) {
        demands.add(result, access.same, evaluations);
        continue;
      }
      for (const Demand& demand : demands_[result].all()) {
        if (access.same && demand.same) demands.add(demand.root, true, 1);
        const double moved = access.same ? demand.moved : demand.evaluations() * evaluations;
        if (moved > 0) demands.add(demand.root, false, moved);
      }
    }
    return nullptr;
  }

  // Where `var` is dear only by what it is made of, and shows elements of an array at other positions, as several
  // variables do: that array, to be stored instead of all of them. kNoVar otherwise.
  Var moved_from(const Equation& equation, Var var, double evaluations) const {
    if ((evaluations - 1) * facts_.facts[var].cost > kCheap) return kNoVar;
    Var source = kNoVar;
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (facts_.facts[var].operands[k].reads == 0) continue;
      if (source != kNoVar || facts_.facts[var].operands[k].same) return kNoVar;
      source = operands[k];
    }
    if (source == kNoVar || facts_.is_input(source) || facts_.uses[source].size() < 2 ||
        facts_.size_of(source) > facts_.size_of(var) * static_cast<int64_t>(facts_.uses[source].size())) {
      return kNoVar;
    }
    return source;
  }

  // Whether `var` is a piece of a concatenation whose nest is cut where its pieces meet (Frame::choose_segments), so
  // that its elements are computed once. Not of dear ones, as no nest is cut that also folds.
  bool is_segment(const Equation& consumer, Var result, Var var) const {
    if (consumer.primitive->arrangement != Arrangement::kConcatenate) return false;
    if (!storage_.stored[result] || cost_[var] >= kDear) return false;
    if (consumer.operand_count > kMostSegments || facts_.size_of(result) < kSmallArray) return false;
    const Shape& shape = graph_.aval(var).shape();
    const auto axis = static_cast<size_t>(graph_.attrs(consumer).integer("axis"));
    return num_elements(absl::MakeConstSpan(shape).subspan(axis)) >= kLongRun;
  }

  // Whether `var` is what an array is updated with, and computed from that array: first, then, so that the update can
  // be made in the array's own memory.
  bool feeds_back(Var var) const {
    return std::ranges::any_of(facts_.uses[var], [&](const GraphFacts::Use& use) {
      if (!is_written_into_memory(facts_, storage_, use.equation)) return false;
      if (use.operand != facts_.lowering[use.equation]->written_operand()) return false;
      int budget = kFarthestFeed;
      return is_behind(updated_by(use.equation), var, budget);
    });
  }

  // Whether `var` is a small part of an array, which is updated in memory after `var` could be computed and before it
  // is used: read first, then, so that the update can be made in the array's own memory.
  bool outlives_source(Var var) const {
    const auto& uses = facts_.uses[var];
    if (uses.empty()) return false;
    const auto first = std::ranges::upper_bound(updates_, facts_.definition[var]);
    const auto last = std::ranges::lower_bound(updates_, uses.back().equation);
    if (last - first > kMostUpdates) return false;
    return std::any_of(first, last, [&](uint32_t update) {
      if (!is_written_into_memory(facts_, storage_, update)) return false;
      const Var array = updated_by(update);
      if (facts_.size_of(var) * 2 > facts_.size_of(array)) return false;
      int budget = kFarthestFeed;
      return is_behind(array, var, budget);
    });
  }

  // The array that an update writes into.
  Var updated_by(uint32_t equation) const {
    return alias_base(graph_, facts_.definition, graph_.operands(graph_.equations()[equation])[0]);
  }

  // Whether elements of `var` are computed, within its nest, from `base`. Says yes when it would take long to find out.
  bool is_behind(Var base, Var var, int& budget) const {
    if (var == base || --budget < 0) return true;
    if (!facts_.has_elements(var) || storage_.required[var]) return false;
    const Equation& equation = facts_.equation_of(var);
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (facts_.facts[var].operands[k].reads > 0 && is_behind(base, operands[k], budget)) return true;
    }
    return false;
  }

  // Updates of updates are made one after the other in the same memory.
  bool is_updated_in_memory(Var var) const {
    if (facts_.lowering[facts_.definition[var]]->written_operand() < 0) return false;
    return std::ranges::any_of(facts_.uses[var], [&](const GraphFacts::Use& use) {
      return use.operand == 0 && is_written_into_memory(facts_, storage_, use.equation);
    });
  }

  const GraphFacts& facts_;
  const Graph& graph_;
  Storage& storage_;
  ProductViews& products_;
  std::vector<uint32_t> updates_;  // the equations that can be made in the memory of an operand
  std::vector<double> cost_;       // by variable, of an element, if what can be is computed anew
  std::vector<Demands> demands_;   // by variable
};

}  // namespace

bool is_written_into_memory(const GraphFacts& facts, const Storage& storage, uint32_t equation) {
  if (facts.lowering[equation]->written_operand() < 0) return false;
  const Var result = facts.graph.equations()[equation].first_output;
  return !facts.by_elements[equation] || (storage.stored[result] && facts.size_of(result) > 1);
}

void decide_storage(const GraphFacts& facts, Storage& storage, ProductViews& products) {
  StorageDecision(facts, storage, products).run();
}

}  // namespace ct::jit
