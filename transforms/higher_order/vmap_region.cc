// vmap_region: a program for one example, to be applied to a batch; every result has its batch dimension at axis 0.
// What vmap makes of a mask region: derivatives still have to reach the inside of the mask, so the batching waits. It
// expands after all derivatives are taken.
#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/ops.h"
#include "ir/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

VmapAttrs read(const Attrs& attrs) {
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
  const VmapAttrs attrs = read(attributes);
  if (attrs.in_axes.size() != operands.size() || attrs.axis.size < 0) {
    throw Error(ErrorKind::kType, concat("got ", operands.size(), " operands, ", attrs.in_axes.size(),
                                         " in_axes and a batch of ", attrs.axis.size));
  }
  Avals examples;
  for (size_t i = 0; i < operands.size(); ++i) {
    Shape shape = operands[i].shape();
    const int axis = attrs.in_axes[i];
    if (axis >= 0) {
      if (axis >= operands[i].rank() || shape[axis] != attrs.axis.size) {
        throw Error(ErrorKind::kShape, concat("axis ", axis, " of ", operands[i].to_string(),
                                              " does not hold a batch of ", attrs.axis.size));
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

JvpResult vmap_region_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                          const AttrsPtr& attributes) {
  VmapAttrs attrs = read(*attributes);
  const JvpGraph derivative = jvp_of(attrs.graph, present(tangents));
  attrs.graph = derivative.graph;
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (tangents[i]) attrs.in_axes.push_back(attrs.in_axes[i]);
  }
  Values operands(primals.begin(), primals.end());
  append(operands, only_present(tangents));
  return unpack_jvp(vmap_region(builder, attrs, operands), derivative.nonzero_out);
}

std::vector<SplitValue> vmap_region_split(SplitContext& context, absl::Span<const SplitValue> operands,
                                          const AttrsPtr& attributes) {
  const VmapAttrs attrs = read(*attributes);
  const SplitGraph sheets = split_of(attrs.graph, unknown_mask(operands));
  Values known, unknown;
  std::vector<int> known_axes, unknown_axes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_known = operands[i].is_known();
    (is_known ? known : unknown).push_back(on_its_sheet(operands[i]));
    (is_known ? known_axes : unknown_axes).push_back(attrs.in_axes[i]);
  }
  const Values results = vmap_region(context.known(), {sheets.known, known_axes, attrs.axis}, known);
  const size_t num_known = count(sheets.out_known);
  Values unknown_operands;
  std::vector<int> axes;
  for (uint32_t r = 0; r < sheets.num_residuals; ++r) {
    const int input = sheets.residual_input[r];
    unknown_operands.push_back(context.residual(input >= 0 ? known[input] : results[num_known + r]));
    axes.push_back(input >= 0 ? known_axes[input] : 0);
  }
  append(unknown_operands, unknown);
  axes.insert(axes.end(), unknown_axes.begin(), unknown_axes.end());
  return merge_sheets(sheets.out_known, results,
                      vmap_region(context.unknown(), {sheets.unknown, axes, attrs.axis}, unknown_operands));
}

// An operand that all examples share gets the sum of their cotangents.
Values vmap_region_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attributes) {
  const VmapAttrs attrs = read(*attributes);
  const BackwardGraph backward = backward_of(attrs.graph, linear_operands(input), present(input.cotangents));
  Values operands = only_present(input.operands);
  append(operands, only_present(input.cotangents));
  std::vector<int> axes;
  for (size_t i = 0; i < input.operands.size(); ++i) {
    if (input.operands[i]) axes.push_back(attrs.in_axes[i]);
  }
  axes.resize(operands.size(), 0);
  Values results = spread(vmap_region(builder, {backward.graph, axes, attrs.axis}, operands), backward.nonzero);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    results[i] = attrs.in_axes[i] < 0 ? reduce_sum(results[i], {0}) : move_axis(results[i], 0, attrs.in_axes[i]);
  }
  return results;
}

Values vmap_region_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attributes) {
  const VmapAttrs attrs = read(*attributes);
  std::vector<Batched> inputs;
  for (size_t i = 0; i < operands.size(); ++i) inputs.push_back({operands[i], attrs.in_axes[i]});
  Values results;
  // Regions inside are expanded first: their batch rule would only make another region.
  for (const Batched& result : batch_inline(builder, *expanded(attrs.graph), inputs, attrs.axis)) {
    results.push_back(materialize_batch(builder, result, 0, attrs.axis));
  }
  return results;
}

Pruned vmap_region_prune(const Flags& used, const AttrsPtr& attrs) {
  Pruned left = prune_called(used, attrs);
  const Ints& axes = attrs->ints("in_axes");
  Ints kept;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (left.operands[i]) kept.push_back(axes[i]);
  }
  left.attrs = left.attrs->with("in_axes", std::move(kept));
  return left;
}

Primitive vmap_region_primitive() {
  Primitive result = expanding("vmap_region", vmap_region_expand);
  result.attributes = {{"binds", AttributeKind::kText, kOptional},
                       {"graph", AttributeKind::kGraph},
                       {"in_axes", AttributeKind::kIntegers},
                       {"size", AttributeKind::kInteger}};
  result.several_results = true;
  result.type = vmap_region_type;
  result.jvp = vmap_region_jvp;
  result.split = vmap_region_split;
  result.transpose = vmap_region_transpose;
  result.batch = [](Builder& builder, absl::Span<const Batched> operands, const BatchAxis& axis,
                    const AttrsPtr& attrs) { return batch_later(builder, kVmapRegion, operands, axis, attrs); };
  result.prune = vmap_region_prune;
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
