// checkpoint: a function whose intermediate results are not kept for reverse mode, but computed again when it runs
// backward. Operands and results are those of its graph.
//
// Forward mode goes inside. The known part of a differentiated function hands on its operands, and of what it computes
// only what the policy lets it save; the unknown part makes the rest again, in an equation that `recomputes`. When such
// an equation expands, its operands are tagged, so that nothing in it is found to equal what the forward pass has
// computed (unless the program asks for that with prevent_cse=False).
#include "transforms/higher_order/checkpoint.h"

#include <algorithm>
#include <limits>

#include "ir/combinators.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/applied.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool clause_saves(std::string_view clause, const Primitive& primitive, const Attrs& attrs) {
  const size_t colon = std::min(clause.find(':'), clause.size());
  const std::string_view kind = clause.substr(0, colon);
  const std::string_view names = clause.substr(std::min(colon + 1, clause.size()));
  const bool tagged = &primitive == &kTag && !attrs.text("name").empty();
  const auto among_names = [&](std::string_view name) {
    const std::vector<std::string_view> all = parts_of(names, ',');
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  const auto named = [&] { return among_names(attrs.text("name")); };
  if (kind == "everything") return true;
  if (kind == "dots") return primitive.is<structures::Product>();
  if (kind == "dots_without_batch") return primitive.is<structures::Product>() && attrs.ints("lhs_batch").empty();
  if (kind == "primitives") return among_names(primitive.name);
  if (kind == "names") return tagged && named();
  if (kind == "other_names") return tagged && !named();
  if (kind == "all_but_names") return !tagged || !named();
  throw Error(ErrorKind::kValue, concat("there is no checkpoint policy '", kind, "'"))
      .hint("policies are made by ct.checkpoint_policies");
}

// What acts on the world does so once.
bool saves(const std::string& policy, const Builder& builder, const Equation& equation) {
  const Attrs& attrs = builder.attrs(equation);
  if (has_side_effects(*equation.primitive, attrs)) return true;
  for (std::string_view clause : parts_of(policy, '|')) {
    if (clause_saves(clause, *equation.primitive, attrs)) return true;
  }
  return false;
}

Avals checkpoint_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  for (std::string_view clause : parts_of(attrs.text("policy"), '|')) {
    clause_saves(clause, kCheckpoint, attrs);
  }
  attrs.flag("prevent_cse");
  attrs.flag("recomputes");
  check_graph_inputs(*attrs.graph("graph"), operands, "the checkpointed function");
  return attrs.graph("graph")->output_avals();
}

AttrsPtr checkpoint_derived(const AttrsPtr& attrs, const Derived& derived) {
  const bool again = derived.kind == Derived::kUnknown || derived.kind == Derived::kBackward;
  return attrs->with("graph", derived.graphs[0])->with("recomputes", again || attrs->flag("recomputes"));
}

// Integers are not tagged: lengths of ragged axes must stay the same values.
Values checkpoint_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  static const AttrsPtr* const kNameless = new AttrsPtr(Attrs::make({{"name", std::string()}}));
  Values inputs(operands.begin(), operands.end());
  if (attrs->flag("recomputes") && attrs->flag("prevent_cse")) {
    for (Value& input : inputs) {
      if (is_inexact(input.dtype())) input = builder.bind1(kTag, {input}, *kNameless);
    }
  }
  return builder.inline_graph(*attrs->graph("graph"), inputs);
}

Primitive checkpoint_primitive() {
  Primitive result = expanding("checkpoint", checkpoint_expand);
  result.attributes = {{"graph", AttributeKind::kGraph},
                       {"policy", AttributeKind::kText},
                       {"prevent_cse", AttributeKind::kFlag},
                       {"recomputes", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = checkpoint_type;
  const AppliedRules rules(result.name, checkpoint_derived);
  rules.fill(result);
  result.split = [rules](SplitContext& context, absl::Span<const SplitValue> operands, const AttrsPtr& attrs) {
    return rules.split(context, operands, attrs,
                       split_by_policy(attrs->graph("graph"), unknown_mask(operands), attrs->text("policy")));
  };
  result.region = Region::kApplied;
  return result;
}
}  // namespace

const Primitive& kCheckpoint = define(checkpoint_primitive());

Remake remake_by_policy(std::string policy) {
  return {[policy = std::move(policy)](const Builder& builder, const Equation& equation) {
            return !saves(policy, builder, equation);
          },
          std::numeric_limits<int>::max()};
}

}  // namespace ct
