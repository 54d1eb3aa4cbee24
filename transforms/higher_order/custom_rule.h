// Derivative rules that are captured when a derivative asks for them: what the attribute "rule" of a custom_jvp holds.
//
// A rule that raises, is expensive or calls its own function so costs nothing where nothing is differentiated, and it
// is told what is. docs/design/022-rules-on-demand.md has the reasons.
#pragma once

#include "ir/primitive.h"
#include "transforms/higher_order/subgraphs.h"

namespace ct {

class RuleMaker {
 public:
  virtual ~RuleMaker() = default;
  // The derivative when the marked operands have tangents: operands, then tangents of all operands of a floating or
  // complex dtype -> results, then tangents of those of such a dtype.
  virtual GraphPtr make(const Flags& moving) const = 0;
};

// The rule as a maker; an Error when it is none.
const RuleMaker& rule_maker_of(const OpaquePtr& rule);
// The rule of the function's batch; `axes` are those of the operands and of all tangents, results have theirs in front.
OpaquePtr batched_rule(const OpaquePtr& rule, const std::vector<int>& axes, const BatchAxis& axis);

// Whether a derivative was made of a custom_vjp function's rule, which need not be linear backwards: custom_vjp.cc.
bool is_custom_vjp_rule(const Graph& rule);

// The program to run: functions with rules of their own without them. Programs that were captured at different times
// are equal then.
GraphPtr without_rules(const GraphPtr& graph);
// The program to save: rules are captured and become sub-graphs, those inside rules to depth 4. A function whose rule
// cannot be captured has none.
GraphPtr with_rules_captured(const GraphPtr& graph);

}  // namespace ct
