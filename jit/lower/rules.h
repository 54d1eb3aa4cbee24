// The lowering of primitives with an element rule, and a base for those that can be computed in another way besides.
#pragma once

#include "jit/fuse/lowering.h"

namespace ct::jit {

class ElementRuleLowering : public Lowering {
 public:
  bool has_elements(const Graph& graph, const Equation& equation) const override;
  ElementFacts element_facts(const Graph& graph, const Equation& equation, int output) const override;
  std::optional<View> view(const Graph& graph, const Equation& equation, const ViewOf& view_of) const override;
  ElementForm form(const ElementLimits& limits, const Graph& graph, const Equation& equation,
                   int output) const override {
    return rule_form(limits, graph, equation, output);
  }
  Var shown(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output,
            const Limits& within) const override {
    return rule_shown(limits, graph, equation, output, within);
  }
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    return rule_operand_limits(limits, graph, equation);
  }
  loop::Scalar element(Frame& frame, const Equation& equation, Var var, const Position& position) const override;
};

}  // namespace ct::jit
