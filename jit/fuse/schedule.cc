// In which order stored variables are computed, and which of them share a nest.
#include <algorithm>
#include <map>
#include <set>

#include "jit/fuse/fuse.h"
#include "jit/fuse/storage.h"

namespace ct::jit {
namespace {

constexpr size_t kMostMembers = 16;
constexpr int kFarthestJoin = 64;
constexpr int kCostly = 8;  // additions

class Schedule {
 public:
  Schedule(const GraphFacts& facts, const Storage& storage, absl::Span<const Var> transposed,
           const FusionOptions& options)
      : facts_(facts),
        graph_(facts.graph),
        storage_(storage),
        transposed_(transposed),
        options_(options),
        step_of_(graph_.num_vars(), -1) {}

  std::vector<Step> run(const ElementLimits& limits) {
    add_lengths(limits);
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      const Equation& equation = graph_.equations()[i];
      if (facts_.by_elements[i] && !is_written_into_memory(facts_, storage_, i)) {
        add_elements(equation);
      } else if (equation.primitive->is<structures::Fold>()) {
        add_fold(equation);
      } else {
        add_equation(i);
      }
    }
    return std::move(steps_);
  }

 private:
  // Lengths that are computed of lengths come first: a loop can end at those only that are there.
  void add_lengths(const ElementLimits& limits) {
    if (!limits.any()) return;
    const absl::Span<const Equation> equations = graph_.equations();
    std::vector<bool> wanted(graph_.num_vars(), false), ready(graph_.num_vars(), false);
    for (Var var = 0; var < graph_.num_vars(); ++var) {
      for (const Limit& limit : limits.wanted(var)) wanted[limit.source] = true;
      for (const Filling& filling : limits.known(var).fillings) wanted[filling.limit.source] = true;
      ready[var] = facts_.is_input(var);
    }
    for (size_t i = equations.size(); i-- > 0;) {
      if (!wanted[equations[i].first_output]) continue;
      for (Var operand : graph_.operands(equations[i])) wanted[operand] = true;
    }
    for (uint32_t i = 0; i < equations.size(); ++i) {
      const Equation& equation = equations[i];
      const Var var = equation.first_output;
      const bool computes = equation.output_count == 1 && facts_.by_elements[i] &&
                            (is_integer(graph_.aval(var).dtype()) || is_bool(graph_.aval(var).dtype())) &&
                            !is_written_into_memory(facts_, storage_, i);
      const auto is_ready = [&](Var operand) { return ready[operand]; };
      if (!wanted[var] || !computes || !std::ranges::all_of(graph_.operands(equation), is_ready)) continue;
      ready[var] = true;
      add_elements(equation);
    }
  }

  // What a nest computing `var` reads from memory; `same`: only at its own position.
  using Reads = std::map<Var, bool>;
  void collect_reads(Var var, bool same, Reads& reads, std::map<Var, bool>& seen) {
    if (storage_.stored[var]) {
      auto [at, inserted] = reads.insert({var, same});
      if (!inserted) at->second = at->second && same;
      return;
    }
    auto [at, inserted] = seen.insert({var, same});
    if (!inserted) {
      if (same || !at->second) return;
      at->second = false;
    }
    collect_operand_reads(var, same, reads, seen);
  }
  void collect_operand_reads(Var var, bool same, Reads& reads, std::map<Var, bool>& seen) {
    const Equation& equation = facts_.equation_of(var);
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      const OperandAccess& access = facts_.facts[var].operands[k];
      if (access.reads > 0) collect_reads(operands[k], same && access.same, reads, seen);
    }
  }

  // The first step that may read these, and whether step `step` may, with members of its own among them.
  bool fits(const Reads& reads, int step, const std::vector<Var>& members, const std::vector<Var>& more = {}) const {
    auto contains = [](const std::vector<Var>& vars, Var var) {
      return std::find(vars.begin(), vars.end(), var) != vars.end();
    };
    for (const auto& [var, same] : reads) {
      if (step_of_[var] < step) continue;
      if (step_of_[var] > step || !same || storage_.cut[var] || !(contains(members, var) || contains(more, var)))
        return false;
    }
    return true;
  }
  // The first step to consider for joining.
  int join_from(const Reads& reads) const {
    int step = std::max(0, last_step() - kFarthestJoin);
    for (const auto& [var, _] : reads) step = std::max(step, step_of_[var]);
    return step;
  }

  // Another sweep over the same space, for a nest that has one already.
  bool join_elements(Var var, const Reads& reads) {
    if (!options_.share_nests) return false;
    const Shape& shape = graph_.aval(var).shape();
    for (int j = last_step(), end = join_from(reads); j >= end; --j) {
      Step& step = steps_[j];
      if (step.kind != StepKind::kNest || members(step) >= kMostMembers) continue;
      if (step.shape == shape && fits(reads, j, step.elements)) {
        step.elements.push_back(var);
        step_of_[var] = j;
        return true;
      }
      if (!step.reductions.empty() && kept_shape(step.shape, step.reduced) == shape &&
          fits(reads, j, step.reductions, step.epilogues)) {
        step.epilogues.push_back(var);
        step_of_[var] = j;
        return true;
      }
    }
    return false;
  }

  bool join_reduction(Var var, const Shape& shape, const Ints& axes, const Reads& reads) {
    if (!options_.share_nests) return false;
    // The first one, which often makes what is reduced: that need not live on for this.
    for (int j = join_from(reads), end = last_step(); j <= end; ++j) {
      Step& step = steps_[j];
      if (step.kind != StepKind::kNest || step.shape != shape || members(step) >= kMostMembers) continue;
      if (!(step.reductions.empty() || step.reduced == axes) || !fits(reads, j, step.elements)) continue;
      if (narrows(step, var)) continue;
      step.reduced = axes;
      step.reductions.push_back(var);
      step_of_[var] = j;
      return true;
    }
    return false;
  }

  // Whether costly elements of the nest would be computed in vectors of as few as the reduction has in one, and not in
  // as many as they have themselves.
  bool narrows(const Step& step, Var reduction) const {
    const auto size = [&](Var var) { return dtype_size(graph_.aval(var).dtype()); };
    std::set<Var> seen;
    return std::ranges::any_of(step.elements, [&](Var var) { return size(var) < size(reduction) && costs(var, seen); });
  }
  // Whether an element of the variable takes long, with what is computed for it only.
  bool costs(Var var, std::set<Var>& seen) const {
    if (!seen.insert(var).second) return false;
    if (facts_.facts[var].cost > kCostly) return true;
    const absl::Span<const Var> operands = graph_.operands(facts_.equation_of(var));
    for (size_t k = 0; k < operands.size(); ++k) {
      const bool is_inside = facts_.facts[var].operands[k].reads > 0 && !storage_.stored[operands[k]];
      if (is_inside && costs(operands[k], seen)) return true;
    }
    return false;
  }

  static size_t members(const Step& step) {
    return step.elements.size() + step.reductions.size() + step.epilogues.size();
  }
  int last_step() const { return static_cast<int>(steps_.size()) - 1; }

  void append_nest(Step nest, Var var) {
    nest.kind = StepKind::kNest;
    steps_.push_back(std::move(nest));
    step_of_[var] = last_step();
  }

  void add_elements(const Equation& equation) {
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      if (!storage_.stored[var] || step_of_[var] >= 0) continue;
      Reads reads;
      std::map<Var, bool> seen;
      collect_operand_reads(var, true, reads, seen);
      if (facts_.size_of(var) > 1 && join_elements(var, reads)) continue;
      Step nest;
      nest.shape = graph_.aval(var).shape();
      nest.elements = {var};
      append_nest(std::move(nest), var);
    }
  }

  void add_fold(const Equation& equation) {
    const Var var = equation.first_output, operand = graph_.operands(equation)[0];
    const Shape& shape = graph_.aval(operand).shape();
    const Ints& axes = graph_.attrs(equation).ints("axes");
    Reads reads;
    std::map<Var, bool> seen;
    collect_reads(operand, true, reads, seen);
    if (facts_.size_of(operand) > 1 && join_reduction(var, shape, axes, reads)) return;
    Step nest;
    nest.shape = shape;
    nest.reduced = axes;
    nest.reductions = {var};
    append_nest(std::move(nest), var);
  }

  void add_equation(uint32_t i) {
    Step step;
    step.equation = i;
    steps_.push_back(std::move(step));
    const Equation& equation = graph_.equations()[i];
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      step_of_[var] = last_step();
      if (transposed_[var] != kNoVar) step_of_[transposed_[var]] = last_step();
    }
  }

  const GraphFacts& facts_;
  const Graph& graph_;
  const Storage& storage_;
  absl::Span<const Var> transposed_;
  const FusionOptions options_;
  std::vector<Step> steps_;
  std::vector<int> step_of_;  // by variable
};

}  // namespace

std::vector<Step> schedule(const GraphFacts& facts, const Storage& storage, absl::Span<const Var> transposed,
                           const ElementLimits& limits, const FusionOptions& options) {
  return Schedule(facts, storage, transposed, options).run(limits);
}

}  // namespace ct::jit
