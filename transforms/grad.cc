// Reverse mode: the program with tangents beside it, then the tangent equations backward.
//
// The usual case is done inside one builder: jvp records primal and tangent equations, the tangent ones are
// transposed where they stand, and dead code elimination drops them. Equations that hold primal and tangent work
// in one (a differentiated scan, say) are first split in two; then the tangent sheet is transposed as a graph.
#include <functional>

#include "ir/ops.h"
#include "runtime/error.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/transforms.h"
#include "transforms/transpose.h"

namespace ct {
namespace {

// Makes the cotangents (null: zero) of all outputs; may add inputs, which it returns through `added`.
using Seed = std::function<Values(Builder& builder, const Values& outputs, Values& added)>;

// The tangents of the program, recorded but not yet run backward.
struct Forward {
  Values primals;
  Values tangents;  // of the inputs; null where not wanted
  JvpResult result;
  size_t first_equation = 0;
};

Forward record(Builder& builder, const Graph& graph, const std::vector<bool>& wrt) {
  Forward forward;
  forward.primals = inputs_like(builder, graph);
  forward.tangents.resize(graph.num_inputs());
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (wrt[i]) forward.tangents[i] = builder.input(graph.aval(i));
  }
  forward.first_equation = builder.equations().size();
  forward.result = jvp_inline(builder, graph, forward.primals, forward.tangents);
  return forward;
}

// By variable: whether it depends on a tangent input. `mixed` tells whether some equation may hold both primal and
// tangent work, or acts on the world.
std::vector<bool> tangent_variables(const Builder& builder, const Values& tangents, bool& mixed) {
  std::vector<bool> linear(builder.num_vars(), false);
  for (const Value& tangent : tangents) {
    if (tangent) linear[tangent.var] = true;
  }
  mixed = false;
  for (const Equation& equation : builder.equations()) {
    bool depends = false;
    for (Var var : builder.operands(equation)) depends |= linear[var];
    if (!depends) continue;
    mixed |= equation.primitive->split || has_side_effects(*equation.primitive, builder.attrs(equation));
    for (uint32_t k = 0; k < equation.output_count; ++k) linear[equation.first_output + k] = true;
  }
  return linear;
}

GraphPtr finish(Builder& builder, const Values& inputs, const Values& added, Values outputs, const Graph& graph,
                const std::vector<bool>& wrt, const Values& gradients) {
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (wrt[i]) outputs.push_back(instantiate(builder, gradients[i], graph.aval(i)));
  }
  Values order = inputs;
  order.insert(order.end(), added.begin(), added.end());
  builder.arrange_inputs(order);
  return builder.finish(outputs);
}

GraphPtr transpose_in_place(Builder& builder, const Forward& forward, const std::vector<bool>& linear,
                            const Graph& graph, const std::vector<bool>& wrt, const Seed& seed) {
  const size_t last_equation = builder.equations().size();
  const uint32_t num_vars = builder.num_vars();
  Values added;
  const Values seeds = seed(builder, forward.result.outputs, added);
  Values cotangents(num_vars);
  for (size_t k = 0; k < seeds.size(); ++k) {
    const Value tangent = forward.result.tangents[k];
    if (tangent && linear[tangent.var]) cotangents[tangent.var] = add_tangents(cotangents[tangent.var], seeds[k]);
  }
  walk_back(builder, builder, forward.first_equation, last_equation, linear, {}, cotangents);
  Values gradients(graph.num_inputs());
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (wrt[i]) gradients[i] = cotangents[forward.tangents[i].var];
  }
  return finish(builder, forward.primals, added, forward.result.outputs, graph, wrt, gradients);
}

GraphPtr transpose_after_split(Builder& recorded, const Forward& forward, const Graph& graph,
                               const std::vector<bool>& wrt, const Seed& seed) {
  Values outputs = forward.result.outputs;
  const size_t num_outputs = outputs.size();
  for (const Value& tangent : forward.result.tangents) {
    if (tangent) outputs.push_back(tangent);
  }
  const GraphPtr derivative = recorded.finish(outputs);

  Builder builder;
  const Values primals = inputs_like(builder, graph);
  Values operands = primals;
  operands.resize(derivative->num_inputs());
  const LinearSheet sheet = separate_linear(builder, *derivative, operands);
  Values primal_outputs;
  for (size_t k = 0; k < num_outputs; ++k) {
    CT_CHECK(sheet.outputs[k].is_known());
    primal_outputs.push_back(sheet.outputs[k].known);
  }

  Values added;
  const Values seeds = seed(builder, primal_outputs, added);
  Values cotangents(num_outputs);  // the tangent sheet computes no primal output
  for (size_t k = 0; k < num_outputs; ++k) {
    if (forward.result.tangents[k]) cotangents.push_back(seeds[k]);
  }
  const Values found = transpose_sheet(builder, sheet, cotangents);
  Values gradients(graph.num_inputs());
  size_t next = 0;
  for (uint32_t i = 0; i < graph.num_inputs(); ++i) {
    if (wrt[i]) gradients[i] = found[next++];
  }
  // The forward loops make residuals for all that they return; not all of it has cotangents.
  return eliminate_dead_code(*finish(builder, primals, added, primal_outputs, graph, wrt, gradients));
}

// What is computed twice is made one first: derivatives of it twice are different equations, of cotangents that are
// only added up at the end.
GraphPtr reverse(const Graph& graph, const std::vector<bool>& wrt, const Seed& seed) {
  const GraphPtr once = eliminate_common_subexpressions(graph);
  Builder builder;
  const Forward forward = record(builder, *once, wrt);
  bool mixed = false;
  const std::vector<bool> linear = tangent_variables(builder, forward.tangents, mixed);
  return mixed ? transpose_after_split(builder, forward, *once, wrt, seed)
               : transpose_in_place(builder, forward, linear, *once, wrt, seed);
}

void check_scalar_output(const Graph& graph) {
  if (graph.outputs().empty()) {
    throw Error(ErrorKind::kType, "gradient needs a scalar output; the function returned nothing")
        .hint("return the value to differentiate");
  }
  const Aval output = graph.aval(graph.outputs()[0]);
  if (output.rank() != 0) {
    throw Error(ErrorKind::kShape, concat("gradient needs a scalar output; got shape ", shape_string(output.shape())))
        .hint("reduce it, for example with .sum(), or use vjp or jacrev");
  }
  if (!is_float(output.dtype())) {
    throw Error(ErrorKind::kDType,
                concat("gradient needs an output of real floating dtype; got ", dtype_name(output.dtype())))
        .hint(is_complex(output.dtype())
                  ? "take its real part or absolute value, or pass holomorphic=True for a holomorphic function"
                  : "convert it to a float dtype");
  }
}

}  // namespace

GraphPtr value_and_grad(const Graph& graph, const std::vector<bool>& wrt) {
  CT_CHECK(wrt.size() == graph.num_inputs());
  check_scalar_output(graph);
  check_differentiable_inputs(graph, wrt, "gradient");
  return reverse(graph, wrt, [](Builder& builder, const Values& outputs, Values&) {
    Values seeds(outputs.size());
    seeds[0] = full(builder, outputs[0].aval(), 1);
    return seeds;
  });
}

GraphPtr vjp(const Graph& graph, const std::vector<bool>& wrt) {
  CT_CHECK(wrt.size() == graph.num_inputs());
  check_differentiable_inputs(graph, wrt, "vjp");
  return reverse(graph, wrt, [](Builder& builder, const Values& outputs, Values& added) {
    Values seeds(outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!is_inexact(outputs[k].dtype())) continue;
      seeds[k] = builder.input(outputs[k].aval());
      added.push_back(seeds[k]);
    }
    return seeds;
  });
}

}  // namespace ct
