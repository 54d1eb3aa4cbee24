// Arrays that are filled behind a length, in the memory of what they are filled from.
//
// What a product, a sort or a loop results in leaves a program as select(i < n, result, 0). Who reads the result wants
// nothing of it behind n: so it may as well be written where the select is, and only the zeros are left to write.
#include <algorithm>
#include <set>
#include <utility>

#include "jit/fuse/fuse.h"

namespace ct::jit {

Limits filled_limits(const ElementLimits& limits, Var var) {
  Limits result;
  for (const Filling& each : limits.known(var).fillings) result.push_back(each.limit);
  return result;
}

namespace {

// Whether an element of a step reads a stored variable at another place than its own, through what is not stored: as a
// transpose does. Then other items have its elements, which the one that fills may write at the same time.
bool reads_elsewhere(const GraphFacts& facts, const Fusion& fusion, const Step& step, Var source) {
  const Graph& graph = facts.graph;
  std::set<std::pair<Var, bool>> seen;
  std::vector<std::pair<Var, bool>> left;
  for (Var var : step.elements) left.emplace_back(var, false);
  while (!left.empty()) {
    const auto [var, moved] = left.back();
    left.pop_back();
    if (facts.is_input(var) || !seen.insert({var, moved}).second) continue;
    const Equation& equation = facts.equation_of(var);
    const bool moves = moved || !equation.primitive->elementwise;
    for (Var operand : graph.operands(equation)) {
      if (operand == source && moves) return true;
      if (operand != source && !facts.is_input(operand) && !fusion.stored[operand]) left.emplace_back(operand, moves);
    }
  }
  return false;
}

}  // namespace

std::vector<Var> find_filled(const GraphFacts& facts, const Fusion& fusion) {
  const Graph& graph = facts.graph;
  std::vector<Var> filled(graph.num_vars(), kNoVar);
  if (!fusion.limits.any()) return filled;
  // Those that are where somebody has asked for them, or share their memory already.
  std::vector<bool> taken(graph.num_vars(), false);
  for (Var var : graph.outputs()) taken[alias_base(graph, facts.definition, var)] = true;
  for (Var var : fusion.transposed) {
    if (var != kNoVar) taken[var] = true;
  }
  for (const Step& step : fusion.steps) {
    for (Var var : step.elements) {
      const Limits limits = filled_limits(fusion.limits, var);
      if (limits.empty() || facts.size_of(var) <= 1) continue;
      // An axis at a time, through selects that are not in memory.
      Var source = var;
      do {
        const Equation& equation = facts.equation_of(source);
        const auto output = static_cast<int>(source - equation.first_output);
        const Lowering& lowering = *facts.lowering[facts.definition[source]];
        source = lowering.shown(fusion.limits, graph, equation, output, limits);
      } while (source != kNoVar && !facts.is_input(source) && !fusion.stored[source]);
      if (source == kNoVar || facts.is_input(source) || !fusion.stored[source] || taken[source]) continue;
      if (fusion.transposed[source] != kNoVar || reads_elsewhere(facts, fusion, step, source)) continue;
      const Limits& wanted = fusion.limits.wanted(source);
      if (!std::ranges::all_of(limits, [&](const Limit& limit) { return contains(wanted, limit); })) continue;
      filled[var] = source;
      taken[source] = true;
    }
  }
  return filled;
}

}  // namespace ct::jit
