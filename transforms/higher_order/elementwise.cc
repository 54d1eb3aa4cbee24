// elementwise: a program of scalars, applied to every element of its operands, with its partial derivatives. Special
// functions are made of it: their program may branch and loop, and still is one equation that broadcasts, batches and
// masks like `sin`, and whose derivative is a product.
//
//   graph      scalars -> one scalar
//   partials   one graph an inexact operand: (the operands, the result) -> the derivative with respect to it. Without
//              this attribute they are the forward derivatives of `graph`, which need no reverse pass through its loops
//   name       for printing
//
// A complex program must be holomorphic: its derivative is one complex number. Expands to the program lifted to the
// operands' shape, one axis after the other.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/higher_order/higher_order.h"
#include "transforms/higher_order/primitives.h"
#include "transforms/higher_order/rules.h"

namespace ct {
namespace {

Avals scalars_of(absl::Span<const Aval> operands) {
  Avals result;
  for (const Aval& operand : operands) result.push_back(operand.with_shape({}).strong());
  return result;
}

constexpr const char* kOnePartialEach =
    "give a graph for each operand of float or complex dtype, which takes the operands and the result and returns one "
    "scalar";

void check_partials(const Avals& scalars, const Aval& result, const std::vector<GraphPtr>& partials) {
  Avals given = scalars;
  given.push_back(result);
  size_t next = 0;
  for (const Aval& scalar : scalars) {
    if (!is_inexact(scalar.dtype())) continue;
    if (next == partials.size()) {
      throw Error(ErrorKind::kType, "there are fewer partial derivatives than operands").hint(kOnePartialEach);
    }
    const Graph& partial = *partials[next++];
    check_graph_inputs(partial, given, "the partial derivative");
    if (partial.outputs().size() != 1 || !same_type(partial.output_avals()[0], result)) {
      throw Error(ErrorKind::kType, concat("the partial derivative must return one ", result.to_string()))
          .hint(kOnePartialEach);
    }
  }
  if (next != partials.size()) {
    throw Error(ErrorKind::kType, "there are more partial derivatives than operands").hint(kOnePartialEach);
  }
}

Avals elementwise_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) {
    throw Error(ErrorKind::kType, "takes at least one operand")
        .hint("the result has the shape of the operands: give one");
  }
  bool weak = true;
  for (const Aval& operand : operands) {
    weak = weak && operand.weak();
    if (operand.shape() == operands[0].shape()) continue;
    throw Error(ErrorKind::kShape,
                concat("operands must have equal shapes, got ", operands[0].to_string(), " and ", operand.to_string()))
        .hint("broadcast them to one shape first");
  }
  const Graph& graph = *attrs.graph("graph");
  const Avals scalars = scalars_of(operands);
  check_graph_inputs(graph, scalars, attrs.text("name"));
  const Avals results = graph.output_avals();
  if (results.size() != 1 || results[0].rank() != 0) {
    throw Error(ErrorKind::kType, "the program of one element must return one scalar")
        .hint("return one value of no axes: -> (a)");
  }
  for (const Aval& operand : operands) {
    if (is_complex(operand.dtype()) == is_complex(results[0].dtype())) continue;
    throw Error(ErrorKind::kDType, concat("got ", operand.to_string(), " for a result of ", results[0].to_string()))
        .hint("operands and result are all real or all complex");
  }
  if (attrs.has("partials")) check_partials(scalars, results[0].strong(), attrs.graphs("partials"));
  return {Aval(results[0].dtype(), operands[0].shape(), weak)};
}

// (the operands, the result) -> the derivative of `graph` in the direction of one operand.
GraphPtr forward_partial(const GraphPtr& graph, size_t operand) {
  Flags moving(graph->num_inputs(), false);
  moving[operand] = true;
  const JvpGraph derivative = jvp_of(graph, moving, {true});
  Avals inputs;
  for (uint32_t i = 0; i < graph->num_inputs(); ++i) inputs.push_back(graph->aval(i));
  inputs.push_back(graph->output_avals()[0]);
  return build_graph(inputs, [&](Builder& builder, const Values& values) {
    Values operands(values.begin(), values.end() - 1);
    operands.push_back(full_like(values[operand], 1));
    return Values{builder.inline_graph(*derivative.graph, operands)[1]};
  });
}

// The number that a graph returns whatever it is given.
std::optional<double> constant_result(const Graph& graph) {
  const Var result = graph.outputs()[0];
  for (const Equation& equation : graph.equations()) {
    if (equation.first_output != result || equation.primitive->arrangement != Arrangement::kUniform) continue;
    if (!is_float(graph.aval(result).dtype())) return std::nullopt;
    return graph.attrs(equation).real("value");
  }
  return std::nullopt;
}

JvpResult elementwise_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                          const AttrsPtr& attrs) {
  const Value result = builder.bind1(kElementwise, primals, attrs);
  if (!is_inexact(result.dtype())) return {{result}, {Value()}};
  Values given(primals.begin(), primals.end());
  given.push_back(result);
  Value tangent;
  size_t inexact = 0;
  for (size_t i = 0; i < primals.size(); ++i) {
    if (!is_inexact(primals[i].dtype())) continue;
    const size_t position = inexact++;
    if (!tangents[i]) continue;
    const GraphPtr partial =
        attrs->has("partials") ? attrs->graphs("partials")[position] : forward_partial(attrs->graph("graph"), i);
    const Value step = convert(with_lengths_of(tangents[i], primals[i]), result.dtype());
    // Where the derivative is a number nothing of it is kept for a reverse pass.
    const std::optional<double> number = constant_result(*partial);
    if (number && std::isfinite(*number)) {
      Value part = step;
      if (*number == -1) part = builder.bind1(kNeg, {step});
      if (std::abs(*number) != 1) part = step * full_like(step, *number);
      tangent = tangent ? tangent + part : part;
      continue;
    }
    const Value slope =
        builder.bind1(kElementwise, given,
                      Attrs::make({{"name", concat("d", inexact, "_", attrs->text("name"))}, {"graph", partial}}));
    const Value part = mul_no_nan(step, slope);  // slopes may be infinite
    tangent = tangent ? tangent + part : part;
  }
  return {{result}, {tangent}};
}

Values elementwise_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  // Regions inside are expanded first: their batch rule would only make another region.
  GraphPtr graph = expanded(attrs->graph("graph"));
  const Shape shape = operands[0].shape();
  // The program is batched once an axis: of many, those of size 1 are left out.
  constexpr size_t kManyAxes = 8;
  Shape batched = shape;
  if (shape.size() > kManyAxes) batched.erase(std::remove(batched.begin(), batched.end(), 1), batched.end());
  const auto under = [](absl::Span<const Value> values, const Shape& to) {
    Values result;
    for (const Value& value : values) result.push_back(value.shape() == to ? value : reshape(value, to));
    return result;
  };
  const std::vector<int> axes(operands.size(), 0);
  for (size_t axis = batched.size(); axis-- > 0;) graph = batch_of(graph, axes, BatchAxis{batched[axis]}, {0}).graph;
  return under(builder.inline_graph(*graph, under(operands, batched)), shape);
}

Primitive elementwise_primitive() {
  const PrimitiveRef self("elementwise");
  // Expanded before it is masked, so that loops do not wait for padding.
  Primitive result = expanding(self.name(), elementwise_expand);
  result.attributes = {{"graph", AttributeKind::kGraph},
                       {"name", AttributeKind::kText},
                       {"partials", AttributeKind::kGraphs, kOptional}};
  result.type = elementwise_type;
  result.jvp = elementwise_jvp;
  result.batch = elementwise_batch(self);
  result.absent["transpose"] = "jvp replaces it by a product with its derivative";
  result.absent["split"] = "known or unknown as a whole";
  return result;
}
}  // namespace

const Primitive& kElementwise = define(elementwise_primitive());

}  // namespace ct
