#include "jit/fuse/crossings.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "runtime/dtype.h"

namespace ct::jit {
namespace {

constexpr size_t kMostBehind = 64;  // variables that are looked at for one crossing

bool is_among(Var var, const std::vector<Var>& vars) { return std::ranges::find(vars, var) != vars.end(); }

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
        wanted_late_(graph_.num_vars()) {}

  bool run() {
    find_levels();
    find_wanted();
    find_crossings();
    return require_smaller();
  }

 private:
  // A variable that only later loops want, and what earlier ones store for it if it is not stored itself.
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

  // Which variables are wanted on their own level, and which on a later one.
  void find_wanted() {
    for (const Var var : graph_.outputs()) wanted_early_[var] = true;
    for (size_t i = graph_.equations().size(); i-- > 0;) {
      const Equation& equation = graph_.equations()[i];
      const absl::Span<const Var> operands = graph_.operands(equation);
      for (size_t j = 0; j < operands.size(); ++j) {
        if (!facts_.by_elements[i]) {
          wanted_early_[operands[j]] = true;
          continue;
        }
        for (uint32_t k = 0; k < equation.output_count; ++k) {
          const Var result = equation.first_output + k;
          if (!is_read(result, j)) continue;
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
    std::vector<double> rest(graph_.num_vars(), 0);
    for (Var var = graph_.num_inputs(); var < graph_.num_vars(); ++var) {
      if (is_free(var)) continue;
      rest[var] = facts_.facts[var].cost;
      const absl::Span<const Var> operands = graph_.operands(facts_.equation_of(var));
      for (size_t k = 0; k < operands.size(); ++k) {
        if (is_read(var, k) && !is_smaller(operands[k], var)) rest[var] += rest[operands[k]];
      }
      if (!wanted_late_[var] || wanted_early_[var] || rest[var] <= cheap_) continue;
      rest[var] = 0;
      look_behind(var);
    }
  }

  bool is_free(Var var) const { return !facts_.has_elements(var) || storage_.required[var] || cost_[var] <= cheap_; }
  // What is broadcast has memory, or a register.
  bool is_smaller(Var operand, Var var) const { return facts_.size_of(operand) * 2 <= facts_.size_of(var); }

  void look_behind(Var var) {
    Crossing crossing{var, {}};
    std::vector<Var> behind = {var};
    for (size_t next = 0; next < behind.size(); ++next) {
      if (behind.size() > kMostBehind) return;
      const absl::Span<const Var> operands = graph_.operands(facts_.equation_of(behind[next]));
      for (size_t k = 0; k < operands.size(); ++k) {
        const Var operand = operands[k];
        if (!is_read(behind[next], k) || is_free(operand) || is_smaller(operand, var)) continue;
        if (is_among(operand, behind)) continue;
        if (!facts_.facts[behind[next]].operands[k].same) return;
        if (!wanted_early_[operand]) {
          behind.push_back(operand);
        } else if (!is_among(operand, crossing.sources)) {
          crossing.sources.push_back(operand);
        }
      }
    }
    if (!crossing.sources.empty()) crossings_.push_back(std::move(crossing));
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
        if (is_new && !wanted_late_[source]) saved[i] += bytes_of(source);
        if (is_new || root(at->second) == root(i)) continue;
        saved[root(at->second)] += saved[root(i)];
        group[root(i)] = root(at->second);
      }
    }
    bool any = false;
    for (size_t i = 0; i < crossings_.size(); ++i) {
      if (saved[root(i)] <= 0) continue;
      storage_.require(crossings_[i].var, "a later loop wants it, and it is smaller than what it is made of");
      any = true;
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
  std::vector<Crossing> crossings_;
};

}  // namespace

bool require_crossings(const GraphFacts& facts, const std::vector<double>& cost, double cheap, Storage& storage) {
  return Crossings(facts, cost, cheap, storage).run();
}

}  // namespace ct::jit
