#include "jit/fuse/graph_facts.h"

namespace ct::jit {

GraphFacts::GraphFacts(const Graph& graph)
    : graph(graph),
      definition(graph.num_vars(), kInput),
      uses(graph.num_vars()),
      facts(graph.num_vars()),
      is_output(graph.num_vars()) {
  for (Var var : graph.outputs()) is_output[var] = true;
  const absl::Span<const Equation> equations = graph.equations();
  for (uint32_t i = 0; i < equations.size(); ++i) {
    const Equation& equation = equations[i];
    try {
      lowering.push_back(&lowering_of(*equation.primitive));
    } catch (Error& error) {
      throw error.at(equation.location);
    }
    by_elements.push_back(lowering[i]->has_elements(graph, equation));
    const absl::Span<const Var> operands = graph.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) uses[operands[k]].push_back({i, static_cast<int>(k)});
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      definition[var] = i;
      if (by_elements[i]) facts[var] = lowering[i]->element_facts(graph, equation, static_cast<int>(k));
    }
  }
}

}  // namespace ct::jit
