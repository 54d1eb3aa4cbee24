#include "transforms/higher_order/custom_rule.h"

#include <exception>
#include <optional>

#include "ir/lengths.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/rules.h"

namespace ct {

const RuleMaker& rule_maker_of(const OpaquePtr& rule) {
  const auto* maker = dynamic_cast<const RuleMaker*>(rule.get());
  if (maker != nullptr) return *maker;
  throw Error(ErrorKind::kInternal, concat("the rule ", rule->to_string(), " does not make derivatives"));
}

namespace {

class BatchedRule final : public Opaque, public RuleMaker {
 public:
  BatchedRule(OpaquePtr rule, std::vector<int> axes, BatchAxis axis)
      : rule_(std::move(rule)), axes_(std::move(axes)), axis_(std::move(axis)) {}

  std::string to_string() const override { return concat("batch of ", rule_->to_string()); }

  GraphPtr make(const Flags& moving) const override {
    const GraphPtr rule = rule_maker_of(rule_).make(moving);
    return batch_of(rule, axes_, axis_, std::vector<int>(rule->outputs().size(), 0)).graph;
  }

 private:
  OpaquePtr rule_;
  std::vector<int> axes_;
  BatchAxis axis_;
};

bool has_rule(const Primitive& primitive, const Attrs& attrs) {
  return primitive.region == Region::kApplied && attrs.has("rule");
}

bool any_rule(const Graph& graph) {
  for (const Equation& equation : graph.equations()) {
    if (has_rule(*equation.primitive, graph.attrs(equation)) || any_sub_graph(graph.attrs(equation), any_rule))
      return true;
  }
  return false;
}

// The equation with other rules: `captured` gives the sub-graph, or null for none.
Values rebind(Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs,
              const std::function<GraphPtr(const Graph&)>& inside, const std::function<GraphPtr()>& captured) {
  if (!has_rule(*equation.primitive, *attrs)) {
    return builder.bind(*equation.primitive, operands, map_graphs(attrs, inside));
  }
  std::vector<Attrs::Item> items{{"graph", inside(*attrs->graph("graph"))}};
  if (const GraphPtr rule = captured()) {
    items.emplace_back("jvp", rule);
    if (attrs->has("closed")) items.emplace_back("closed", attrs->integer("closed"));
  }
  return builder.bind(*equation.primitive, operands, Attrs::make(std::move(items)));
}

GraphPtr stripped(const Graph& graph) {
  return rewrite(
      graph, [](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        return rebind(builder, equation, operands, attrs, stripped, [] { return GraphPtr(); });
      });
}

constexpr int kDeepestRule = 4;

GraphPtr captured_to(const Graph& graph, int depth) {
  return rewrite(graph, [depth](Builder& builder, const Equation& equation, absl::Span<const Value> operands,
                                const AttrsPtr& attrs) {
    std::optional<KeepLengths> lengths;
    if (equation.primitive->region == Region::kRagged) lengths.emplace();
    const auto inside = [depth](const Graph& inner) { return captured_to(inner, depth); };
    return rebind(builder, equation, operands, attrs, inside, [&]() -> GraphPtr {
      if (depth >= kDeepestRule) return nullptr;
      const Flags moving = inexact_flags(avals_of(operands));
      try {
        return captured_to(*rule_maker_of(attrs->opaque("rule")).make(moving), depth + 1);
      } catch (const std::exception& error) {
        rethrow_stop(error);
        return nullptr;  // the program runs all the same, and has no derivative here
      }
    });
  });
}

}  // namespace

OpaquePtr batched_rule(const OpaquePtr& rule, const std::vector<int>& axes, const BatchAxis& axis) {
  return std::make_shared<BatchedRule>(rule, axes, axis);
}

GraphPtr without_rules(const GraphPtr& graph) { return any_rule(*graph) ? stripped(*graph) : graph; }

GraphPtr with_rules_captured(const GraphPtr& graph) { return any_rule(*graph) ? captured_to(*graph, 0) : graph; }

}  // namespace ct
