// vmap_region: a program for one example, to be applied to a batch; every result has its batch dimension at axis 0.
// What vmap makes of a mask region: derivatives still have to reach the inside of the mask, so the batching waits. It
// expands after all derivatives are taken.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/applied.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

VmapAttrs vmap_attrs(const Attrs& attrs) {
  const Ints& axes = attrs.ints("in_axes");
  return {attrs.graph("graph"),
          std::vector<int>(axes.begin(), axes.end()),
          {attrs.integer("size"), attrs.has("binds") ? attrs.text("binds") : std::string()}};
}

Aval with_axis(const Aval& example, int axis, int64_t size) {
  Shape shape = example.shape();
  shape.insert(shape.begin() + axis, size);
  return example.with_shape(shape);
}

Avals vmap_region_type(absl::Span<const Aval> operands, const Attrs& attributes) {
  const VmapAttrs attrs = vmap_attrs(attributes);
  if (attrs.in_axes.size() != operands.size() || attrs.axis.size < 0) {
    throw Error(ErrorKind::kType, concat("got ", operands.size(), " operands, ", attrs.in_axes.size(),
                                         " in_axes and a batch of ", attrs.axis.size))
        .hint("in_axes has the axis of the batch of each operand, -1 for none");
  }
  Avals examples;
  for (size_t i = 0; i < operands.size(); ++i) {
    Shape shape = operands[i].shape();
    const int axis = attrs.in_axes[i];
    if (axis >= 0) {
      if (axis >= operands[i].rank() || shape[axis] != attrs.axis.size) {
        throw Error(ErrorKind::kShape, concat("axis ", axis, " of ", operands[i].to_string(),
                                              " does not hold a batch of ", attrs.axis.size))
            .hint("size is that of the mapped axes");
      }
      shape.erase(shape.begin() + axis);
    }
    examples.push_back(operands[i].with_shape(shape));
  }
  check_graph_inputs(*attrs.graph, examples, "one example's program");
  Avals outputs;
  for (const Aval& aval : attrs.graph->output_avals()) outputs.push_back(with_axis(aval, 0, attrs.axis));
  return outputs;
}

// What is new lies as results do.
AttrsPtr vmap_region_derived(const AttrsPtr& attrs, const Derived& derived) {
  const Ints& axes = attrs->ints("in_axes");
  Ints in_axes;
  for (int origin : derived.origins) in_axes.push_back(origin == Derived::kNew ? 0 : axes[static_cast<size_t>(origin)]);
  return attrs->with("graph", derived.graphs[0])->with("in_axes", std::move(in_axes));
}

// An operand that all examples share gets the sum of their cotangents, of as many as there are.
Values vmap_region_transpose(const AppliedRules& rules, Builder& builder, const TransposeInput& input,
                             const AttrsPtr& attrs) {
  const Ints& axes = attrs->ints("in_axes");
  const auto incoming = std::ranges::find_if(input.cotangents, [](const Value& value) { return bool{value}; });
  Values results = rules.transpose(builder, input, attrs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    results[i] = axes[i] < 0 ? reduce_sum(with_lengths_of(results[i], *incoming, {0}), {0})
                             : move_axis(results[i], 0, static_cast<int>(axes[i]));
  }
  return results;
}

Values vmap_region_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attributes) {
  const VmapAttrs attrs = vmap_attrs(*attributes);
  std::vector<Batched> inputs;
  for (size_t i = 0; i < operands.size(); ++i) inputs.push_back({operands[i], attrs.in_axes[i]});
  Values results;
  // Regions inside are expanded first: their batch rule would only make another region.
  for (const Batched& result : batch_inline(builder, *expanded(attrs.graph), inputs, attrs.axis)) {
    results.push_back(materialize_batch(builder, result, 0, attrs.axis));
  }
  return results;
}

Primitive vmap_region_primitive() {
  Primitive result = expanding("vmap_region", vmap_region_expand);
  result.attributes = {{"binds", AttributeKind::kText, kOptional},
                       {"graph", AttributeKind::kGraph},
                       {"in_axes", AttributeKind::kIntegers},
                       {"size", AttributeKind::kInteger}};
  result.several_results = true;
  result.type = vmap_region_type;
  const AppliedRules rules(result.name, vmap_region_derived);
  rules.fill(result);
  result.transpose = [rules](Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
    return vmap_region_transpose(rules, builder, input, attrs);
  };
  result.batch = [](Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                    const AttrsPtr& attrs) { return batch_later(builder, kVmapRegion, operands, axis, attrs); };
  result.region = Region::kExamples;
  return result;
}
}  // namespace

const Primitive& kVmapRegion = define(vmap_region_primitive());

Values vmap_region(Builder& builder, const VmapAttrs& attrs, absl::Span<const Value> operands) {
  std::vector<Attrs::Item> items{
      {"graph", attrs.graph}, {"in_axes", Ints(attrs.in_axes.begin(), attrs.in_axes.end())}, {"size", attrs.axis.size}};
  if (!attrs.axis.name.empty()) items.emplace_back("binds", attrs.axis.name);
  return builder.bind(kVmapRegion, operands, Attrs::make(std::move(items)));
}

std::vector<Batched> batch_later(Builder& builder, const Primitive& primitive, absl::Span<const Batched> operands,
                                 const BatchAxis& axis, const AttrsPtr& attrs) {
  Avals examples;
  Values values;
  for (const Batched& operand : operands) {
    Shape shape = operand.value.shape();
    if (operand.batched()) shape.erase(shape.begin() + operand.axis);
    examples.push_back(operand.value.aval().with_shape(shape));
    values.push_back(operand.value);
  }
  const GraphPtr graph =
      build_graph(examples, [&](Builder& inner, const Values& inputs) { return inner.bind(primitive, inputs, attrs); });
  return batched_in_front(vmap_region(builder, {graph, axes_of(operands), axis}, values));
}

}  // namespace ct
