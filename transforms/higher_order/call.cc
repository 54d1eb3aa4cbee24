// call: a function by name, applied. What jit leaves in an enclosing program: transforms derive the called graph once
// for each way in which it is used, and the compiler inlines it. One with a "rule" is a custom_vmap function; one with
// a "backend" was jitted for the device of that, on which the enclosing program is to run.
#include "ir/ops.h"
#include "runtime/error.h"
#include "transforms/higher_order/applied.h"
#include "transforms/higher_order/custom_vmap.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

Avals call_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  attrs.text("name");
  if (attrs.has("rule")) maker_of(attrs.opaque("rule"));
  check_graph_inputs(*attrs.graph("graph"), operands, "the called function");
  return attrs.graph("graph")->output_avals();
}

AttrsPtr call_derived(const AttrsPtr& attrs, const Derived& derived) {
  const AttrsPtr called = Attrs::make({{"graph", derived.graphs[0]}, {"name", attrs->text("name")}});
  return attrs->has("backend") ? called->with("backend", attrs->text("backend")) : called;
}

// With the derivative of the rule.
JvpResult jvp_with_rule(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                        const AttrsPtr& attrs) {
  const JvpGraph derivative = jvp_of(attrs->graph("graph"), present(tangents));
  const OpaquePtr rule = derived_rule(attrs->opaque("rule"), present(tangents), derivative.nonzero_out);
  const AttrsPtr called = attrs->with("graph", derivative.graph)->with("rule", rule);
  const Values operands = primals_and_tangents(builder, primals, tangents, present(tangents));
  return unpack_jvp(builder.bind(kCall, operands, called), derivative.nonzero_out);
}

Primitive call_primitive() {
  Primitive result = applied("call");
  result.attributes = {{"graph", AttributeKind::kGraph},
                       {"name", AttributeKind::kText},
                       {"rule", AttributeKind::kOpaque, kOptional},
                       {"backend", AttributeKind::kText, kOptional}};
  result.several_results = true;
  result.type = call_type;
  const AppliedRules rules(result.name, call_derived);
  rules.fill(result);
  result.jvp = [rules](Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                       const AttrsPtr& attrs) {
    return attrs->has("rule") ? jvp_with_rule(builder, primals, tangents, attrs)
                              : rules.jvp(builder, primals, tangents, attrs);
  };
  result.batch = [rules](Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                         const AttrsPtr& attrs) {
    return attrs->has("rule") ? batch_by_rule(builder, attrs->opaque("rule"), operands, axis)
                              : rules.batch(builder, operands, axis, attrs);
  };
  // A rule wants all operands, and makes all results.
  result.prune = [rules](const Flags& used, const AttrsPtr& attrs) -> Pruned {
    if (!attrs->has("rule")) return rules.prune(used, attrs);
    return {Flags(attrs->graph("graph")->num_inputs(), true), Flags(used.size(), true), attrs};
  };
  result.region = Region::kCall;
  return result;
}
}  // namespace

const Primitive& kCall = define(call_primitive());

Values call(Builder& builder, GraphPtr graph, std::string name, absl::Span<const Value> operands) {
  return builder.bind(kCall, operands, Attrs::make({{"graph", std::move(graph)}, {"name", std::move(name)}}));
}

}  // namespace ct
