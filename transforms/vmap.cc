// One example's program made a batch's: every equation with a batched operand is replaced by its primitive's batch
// rule, which says where the batch dimension of each result is. Equations without one stay as they are, except for
// collectives that name the batch's axis.
#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

std::vector<Batched> apply_rule(Builder& builder, const Primitive& primitive, absl::Span<const Batched> operands,
                                absl::Span<const Aval> examples, const BatchAxis& axis, const AttrsPtr& attrs) {
  if (primitive.batch) return primitive.batch(builder, operands, axis, attrs);
  if (primitive.expand) {
    return batch_inline(builder, *expansion(primitive, Avals(examples.begin(), examples.end()), attrs), operands, axis);
  }
  throw missing_rule(primitive, "batch", ErrorKind::kUnsupported);
}

Shape insert_axis(absl::Span<const int64_t> shape, int axis, int64_t size) {
  Shape result(shape.begin(), shape.end());
  result.insert(result.begin() + axis, size);
  return result;
}

void check_result(const Primitive& primitive, const Batched& result, const Aval& example, int64_t size) {
  const Aval found = result.value.aval();
  const bool axis_fits = result.axis <= example.rank();
  const Aval expected =
      result.batched() && axis_fits ? example.with_shape(insert_axis(example.shape(), result.axis, size)) : example;
  if (axis_fits && same_type(found, expected)) return;
  throw Error(ErrorKind::kType, concat("the batch rule returned ", found.to_string(), " with the batch at axis ",
                                       result.axis, "; one example is ", example.to_string(), " and there are ", size))
      .op(primitive.name)
      .hint("return every result with the axis where its batch dimension is, -1 for results without one");
}

}  // namespace

Value materialize_batch(Builder& builder, const Batched& x, int axis, int64_t size) {
  CT_CHECK(x.value.builder == &builder);
  if (!x.batched()) return broadcast_axis(x.value, axis, size);
  return x.axis == axis ? x.value : move_axis(x.value, x.axis, axis);
}

bool names_axis(const Attrs& attrs, std::string_view name) {
  const auto is = [&](std::string_view key) { return attrs.has(key) && attrs.text(key) == name; };
  if (is("binds")) return false;
  return is("axis_name") || any_sub_graph(attrs, [&](const Graph& graph) {
           for (const Equation& equation : graph.equations()) {
             if (names_axis(graph.attrs(equation), name)) return true;
           }
           return false;
         });
}

std::vector<Batched> batch_inline(Builder& builder, const Graph& graph, absl::Span<const Batched> inputs,
                                  const BatchAxis& axis) {
  CT_CHECK(inputs.size() == graph.num_inputs());
  std::vector<Batched> values(graph.num_vars());
  std::copy(inputs.begin(), inputs.end(), values.begin());
  std::vector<Batched> operands;
  Values unbatched;
  Avals examples;
  for (const Equation& equation : graph.equations()) {
    LocationScope scope(location_of(equation));
    operands.clear();
    bool any = !axis.name.empty() && names_axis(graph.attrs(equation), axis.name);
    for (Var var : graph.operands(equation)) {
      operands.push_back(values[var]);
      any |= values[var].batched();
    }
    if (!any) {
      unbatched.clear();
      for (const Batched& operand : operands) unbatched.push_back(operand.value);
      const Values outputs = builder.bind(*equation.primitive, unbatched, graph.attrs_ptr(equation));
      for (uint32_t k = 0; k < outputs.size(); ++k) values[equation.first_output + k] = {outputs[k], -1};
      continue;
    }
    examples.clear();
    for (Var var : graph.operands(equation)) examples.push_back(graph.aval(var));
    try {
      const std::vector<Batched> outputs =
          apply_rule(builder, *equation.primitive, operands, examples, axis, graph.attrs_ptr(equation));
      CT_CHECK(outputs.size() == equation.output_count);
      for (uint32_t k = 0; k < outputs.size(); ++k) {
        check_result(*equation.primitive, outputs[k], graph.aval(equation.first_output + k), axis.size);
        values[equation.first_output + k] = outputs[k];
      }
    } catch (Error& error) {
      error.op(equation.primitive->name).at(location_of(equation));
      throw;
    }
  }
  std::vector<Batched> outputs;
  for (Var var : graph.outputs()) outputs.push_back(values[var]);
  return outputs;
}

GraphPtr vmap(const Graph& graph, const std::vector<int>& in_axes, int64_t size, const std::vector<int>& out_axes,
              std::string axis_name) {
  CT_CHECK(in_axes.size() == graph.num_inputs() && out_axes.size() == graph.outputs().size());
  Builder builder;
  std::vector<Batched> inputs;
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    const Aval example = graph.aval(i);
    const int axis = in_axes[i];
    if (axis < -1 || axis > example.rank()) {
      throw Error(ErrorKind::kValue, concat("vmap: the batch axis ", axis, " of ", input_name(graph, i),
                                            " is out of range for examples of shape ", shape_string(example.shape())))
          .hint("in_axes counts the axes of the batched array; None means that all examples share the value");
    }
    std::string name = i < graph.input_names().size() ? graph.input_names()[i] : std::string();
    const Aval aval = axis < 0 ? example : example.with_shape(insert_axis(example.shape(), axis, size));
    inputs.push_back({builder.input(aval, std::move(name)), axis});
  }
  const std::vector<Batched> results = batch_inline(builder, graph, inputs, {size, std::move(axis_name)});
  Values outputs;
  for (size_t k = 0; k < results.size(); ++k) {
    const int axis = out_axes[k];
    if (axis < 0) {
      if (results[k].batched()) {
        throw Error(ErrorKind::kValue, concat("vmap: output ", k,
                                              " differs from example to example, but its out_axes "
                                              "entry is None"))
            .hint("give the axis at which the batch dimension should be, or return a value that is the same for all")
            .see("out-axes-none");
      }
      outputs.push_back(results[k].value);
      continue;
    }
    const Aval example = graph.aval(graph.outputs()[k]);
    if (axis > example.rank()) {
      throw Error(ErrorKind::kValue, concat("vmap: out_axes entry ", axis, " is out of range for output ", k,
                                            ", whose examples have shape ", shape_string(example.shape())))
          .hint("the largest axis is the number of axes of one example's output");
    }
    outputs.push_back(materialize_batch(builder, results[k], axis, size));
  }
  return builder.finish(outputs);
}

}  // namespace ct
