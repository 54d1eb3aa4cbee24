#include "jit/fuse/later_loops.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/dtype.h"

namespace ct::jit {
namespace {

constexpr int kMostRounds = 4;       // of which each leaves out what the ones before did not find worth it
constexpr size_t kMostBehind = 400;  // variables that are looked at for one crossing

class Crossings {
 public:
  Crossings(const GraphFacts& facts, const std::vector<double>& cost, double cheap, Storage& storage)
      : facts_(facts),
        graph_(facts.graph),
        cost_(cost),
        cheap_(cheap),
        storage_(storage),
        level_(graph_.num_vars(), 0),
        wanted_early_(graph_.num_vars()),
        wanted_late_(graph_.num_vars()),
        until_(graph_.num_vars(), 0),
        decided_(graph_.num_vars()) {}

  bool run() {
    find_levels();
    find_wanted();
    bool any = false;
    for (int round = 0; round < kMostRounds; ++round) {
      find_crossings();
      if (crossings_.empty()) break;
      any = require_smaller() || any;
    }
    return any;
  }

 private:
  // A variable that only later loops want, and the memory that is kept for it if it has none itself.
  struct Crossing {
    Var var;
    std::vector<Var> sources;
  };

  bool is_read(Var result, size_t operand) const { return facts_.facts[result].operands[operand].reads > 0; }

  // How many folds, products and other loops of their own there are on the way to each variable.
  void find_levels() {
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      const Equation& equation = graph_.equations()[i];
      const absl::Span<const Var> operands = graph_.operands(equation);
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        const Var var = equation.first_output + k;
        for (size_t j = 0; j < operands.size(); ++j) {
          if (!facts_.by_elements[i]) {
            level_[var] = std::max(level_[var], level_[operands[j]] + 1);
          } else if (is_read(var, j)) {
            level_[var] = std::max(level_[var], level_[operands[j]]);
          }
        }
      }
    }
  }

  // Which variables are wanted on their own level, which on a later one, and until when.
  void find_wanted() {
    for (const Var var : graph_.outputs()) {
      wanted_early_[var] = true;
      until_[var] = std::numeric_limits<int>::max();
    }
    for (size_t i = graph_.equations().size(); i-- > 0;) {
      const Equation& equation = graph_.equations()[i];
      const absl::Span<const Var> operands = graph_.operands(equation);
      for (size_t j = 0; j < operands.size(); ++j) {
        for (uint32_t k = 0; k < equation.output_count; ++k) {
          const Var result = equation.first_output + k;
          if (!facts_.by_elements[i]) {
            wanted_early_[operands[j]] = true;
            until_[operands[j]] = std::max(until_[operands[j]], level_[result]);
            continue;
          }
          if (!is_read(result, j)) continue;
          // What is cheap is computed again where it is wanted.
          until_[operands[j]] = std::max(until_[operands[j]], is_cheap(result) ? until_[result] : level_[result]);
          if (level_[operands[j]] < level_[result]) {
            wanted_late_[operands[j]] = true;
          } else if (wanted_early_[result] || storage_.required[result]) {
            wanted_early_[operands[j]] = true;
          }
        }
      }
    }
  }

  // Variables that only later loops want, and that cost something even where other such variables are stored.
  void find_crossings() {
    crossings_.clear();
    std::vector<double> rest(graph_.num_vars(), 0);
    for (Var var = graph_.num_inputs(); var < graph_.num_vars(); ++var) {
      if (has_memory(var) || facts_.size_of(var) == 1) continue;  // numbers are in registers
      rest[var] = facts_.facts[var].cost;
      const absl::Span<const Var> operands = graph_.operands(facts_.equation_of(var));
      for (size_t k = 0; k < operands.size(); ++k) {
        if (is_read(var, k) && !is_smaller(operands[k], var)) rest[var] += rest[operands[k]];
      }
      if (!wanted_late_[var] || wanted_early_[var] || decided_[var] || rest[var] <= cheap_) continue;
      if (wanted_on(var) <= level_[var] + 1) continue;  // right behind a fold of it: nothing is kept for long
      rest[var] = 0;
      look_behind(var);
    }
  }

  bool has_memory(Var var) const { return !facts_.has_elements(var) || storage_.required[var]; }
  bool is_cheap(Var var) const { return !has_memory(var) && cost_[var] <= cheap_; }
  // What is broadcast has memory, or a register.
  bool is_smaller(Var operand, Var var) const { return facts_.size_of(operand) * 2 <= facts_.size_of(var); }

  void look_behind(Var var) {
    Crossing crossing{var, {}};
    std::vector<Var> behind = {var};
    absl::flat_hash_set<Var> seen;
    for (size_t next = 0; next < behind.size(); ++next) {
      if (behind.size() > kMostBehind) return;
      const absl::Span<const Var> operands = graph_.operands(facts_.equation_of(behind[next]));
      for (size_t k = 0; k < operands.size(); ++k) {
        const Var operand = operands[k];
        if (!is_read(behind[next], k) || facts_.is_input(operand) || is_smaller(operand, var)) continue;
        std::vector<Var>& found =
            has_memory(operand) || (wanted_early_[operand] && !is_cheap(operand)) ? crossing.sources : behind;
        if (!facts_.facts[behind[next]].operands[k].same) return;
        if (seen.insert(operand).second) found.push_back(operand);
      }
    }
    crossings_.push_back(std::move(crossing));
  }

  // The first level behind its own on which the variable is wanted.
  int wanted_on(Var var) const {
    int first = std::numeric_limits<int>::max();
    for (const GraphFacts::Use& use : facts_.uses[var]) {
      const Var result = graph_.equations()[use.equation].first_output;
      if (level_[result] > level_[var]) first = std::min(first, level_[result]);
    }
    return first;
  }

  int64_t bytes_of(Var var) const { return facts_.size_of(var) * dtype_size(graph_.aval(var).dtype()); }

  // Those that share sources are decided together.
  bool require_smaller() {
    std::vector<size_t> group(crossings_.size());
    std::iota(group.begin(), group.end(), 0);
    const auto root = [&](size_t each) {
      while (group[each] != each) each = group[each] = group[group[each]];
      return each;
    };
    absl::flat_hash_map<Var, size_t> first_of;
    std::vector<int64_t> saved(crossings_.size(), 0);
    for (size_t i = 0; i < crossings_.size(); ++i) {
      saved[i] -= bytes_of(crossings_[i].var);
      for (const Var source : crossings_[i].sources) {
        const auto [at, is_new] = first_of.emplace(source, i);
        if (is_new && until_[source] <= level_[crossings_[i].var]) saved[i] += bytes_of(source);
        if (is_new || root(at->second) == root(i)) continue;
        saved[root(at->second)] += saved[root(i)];
        group[root(i)] = root(at->second);
      }
    }
    bool any = false;
    for (size_t i = 0; i < crossings_.size(); ++i) {
      const auto& [var, sources] = crossings_[i];
      decided_[var] = true;
      if (saved[root(i)] > 0) {
        storage_.require(var, "a later loop wants it, and it is smaller than what it is made of");
        any = true;
      } else {
        for (const Var source : sources) until_[source] = std::max(until_[source], wanted_on(var));
      }
    }
    return any;
  }

  const GraphFacts& facts_;
  const Graph& graph_;
  const std::vector<double>& cost_;
  const double cheap_;
  Storage& storage_;
  std::vector<int> level_;          // by variable
  std::vector<bool> wanted_early_;  // by variable: on its own level
  std::vector<bool> wanted_late_;   // by variable: right behind it, on a later level
  std::vector<int> until_;          // by variable: the last level that wants it
  std::vector<bool> decided_;       // by variable
  std::vector<Crossing> crossings_;
};

}  // namespace

bool require_for_later_loops(const GraphFacts& facts, const std::vector<double>& cost, double cheap, Storage& storage) {
  return Crossings(facts, cost, cheap, storage).run();
}

}  // namespace ct::jit
