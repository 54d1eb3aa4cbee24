// What fusion knows about a graph before it decides anything.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "jit/fuse/lowering.h"

namespace ct::jit {

struct GraphFacts {
  explicit GraphFacts(const Graph& graph);

  struct Use {
    uint32_t equation;
    int operand;
  };
  static constexpr uint32_t kInput = ~0u;

  bool is_input(Var var) const { return definition[var] == kInput; }
  const Equation& equation_of(Var var) const { return graph.equations()[definition[var]]; }
  bool has_elements(Var var) const { return !is_input(var) && by_elements[definition[var]]; }
  int64_t size_of(Var var) const { return graph.aval(var).size(); }

  const Graph& graph;
  std::vector<const Lowering*> lowering;  // by equation
  std::vector<bool> by_elements;          // by equation: its elements can be computed where they are used
  std::vector<uint32_t> definition;       // by variable: its equation, or kInput
  std::vector<std::vector<Use>> uses;     // by variable
  std::vector<ElementFacts> facts;        // by variable, of equations with elements
  std::vector<bool> is_output;            // by variable
};

}  // namespace ct::jit
