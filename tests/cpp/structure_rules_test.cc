// Every rule of the structural primitives against what it must agree with: batch against one example at a time, mask
// against arrays of exactly the real size with NaN in the padding, transpose by the inner-product law, derivatives
// under mask against derivatives at the exact size.
#include <gtest/gtest.h>

#include <limits>

#include "ir/lengths.h"
#include "ir/masking.h"
#include "tests/cpp/graph_testing.h"

namespace ct {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// (value, tangent) pairs through the jvp rules.
struct Dual {
  Value value;
  Value tangent;
};
std::vector<Dual> jvp_walk(Builder& builder, const Graph& graph, const std::vector<Dual>& inputs) {
  return walk(graph, inputs, [&](const Primitive& primitive, const std::vector<Dual>& operands, const AttrsPtr& attrs) {
    Values primals, tangents;
    for (const Dual& operand : operands) {
      primals.push_back(operand.value);
      tangents.push_back(operand.tangent);
    }
    const JvpResult result = primitive.jvp(builder, primals, tangents, attrs);
    std::vector<Dual> outputs;
    for (size_t k = 0; k < result.outputs.size(); ++k) outputs.push_back({result.outputs[k], result.tangents[k]});
    return outputs;
  });
}

// operands..., cotangent -> cotangents of the inexact operands. Tangent equations are those that depend on a tangent.
GraphPtr gradient_graph(const GraphPtr& graph) {
  const auto avals = graph->input_avals();
  const size_t n = avals.size();
  std::vector<size_t> tangent_of;
  const GraphPtr tangent = [&] {
    Builder builder;
    std::vector<Dual> duals;
    for (const Aval& aval : avals) duals.push_back({builder.input(aval), {}});
    for (size_t i = 0; i < n; ++i) {
      if (!is_inexact(avals[i].dtype())) continue;
      duals[i].tangent = builder.input(avals[i]);
      tangent_of.push_back(i);
    }
    return builder.finish({jvp_walk(builder, *graph, duals)[0].tangent});
  }();
  Builder builder;
  Values values(tangent->num_vars()), cotangents(tangent->num_vars());
  for (size_t i = 0; i < n; ++i) values[i] = builder.input(avals[i]);
  const Value seed = builder.input(tangent->output_avals()[0]);
  std::vector<bool> linear(tangent->num_vars());
  for (uint32_t i = static_cast<uint32_t>(n); i < tangent->num_inputs(); ++i) linear[i] = true;
  for (const Equation& equation : tangent->equations()) {
    Values operands;
    bool moves = false;
    for (Var var : tangent->operands(equation)) {
      operands.push_back(values[var]);
      moves |= linear[var];
    }
    if (moves) {
      linear[equation.first_output] = true;
    } else {
      values[equation.first_output] = builder.bind1(*equation.primitive, operands, tangent->attrs_ptr(equation));
    }
  }
  cotangents[tangent->outputs()[0]] = seed;
  for (size_t e = tangent->equations().size(); e-- > 0;) {
    const Equation& equation = tangent->equations()[e];
    const Value cotangent = cotangents[equation.first_output];
    if (!linear[equation.first_output] || !cotangent) continue;
    Values operands;
    std::vector<Aval> operand_avals;
    for (Var var : tangent->operands(equation)) {
      operands.push_back(linear[var] ? Value() : values[var]);
      operand_avals.push_back(tangent->aval(var));
    }
    const TransposeInput input{operands, operand_avals, {&cotangent, 1}};
    const Values results = equation.primitive->transpose(builder, input, tangent->attrs_ptr(equation));
    for (size_t i = 0; i < results.size(); ++i) {
      const Var var = tangent->operands(equation)[i];
      if (results[i] && linear[var]) cotangents[var] = add_tangents(cotangents[var], results[i]);
    }
  }
  Values outputs;
  for (size_t k = 0; k < tangent_of.size(); ++k) {
    const Value ct = cotangents[n + k];
    outputs.push_back(instantiate(builder, ct, avals[tangent_of[k]]));
  }
  return builder.finish(outputs);
}

// ---- Laws ---------------------------------------------------------------------------------------------------------

// Every choice of batched operands and of their batch axes.
void check_batch(const std::string& name, const std::vector<Aval>& avals, const Body& body) {
  constexpr int64_t kSize = 2;
  const GraphPtr graph = graph_of(avals, body);
  std::vector<int> axes(avals.size(), -1);
  const std::function<void(size_t)> choose = [&](size_t i) {
    if (i < avals.size()) {
      for (axes[i] = -1; axes[i] <= avals[i].rank(); ++axes[i]) choose(i + 1);
      return;
    }
    if (std::all_of(axes.begin(), axes.end(), [](int axis) { return axis < 0; })) return;
    Builder builder;
    std::vector<Batched> inputs;
    std::vector<Tensor> tensors;
    for (size_t k = 0; k < avals.size(); ++k) {
      Shape shape = avals[k].shape();
      if (axes[k] >= 0) shape.insert(shape.begin() + axes[k], kSize);
      const Aval aval = avals[k].with_shape(shape);
      tensors.push_back(sample(aval, static_cast<int>(k)));
      inputs.push_back({builder.input(aval), axes[k]});
    }
    const std::vector<Batched> outputs = walk(
        *graph, inputs, [&](const Primitive& primitive, const std::vector<Batched>& operands, const AttrsPtr& attrs) {
          bool batched = false;
          for (const Batched& operand : operands) batched |= operand.batched();
          if (batched) return primitive.batch(builder, operands, {kSize}, attrs);
          Values values;
          for (const Batched& operand : operands) values.push_back(operand.value);
          return std::vector<Batched>{{builder.bind1(primitive, values, attrs), -1}};
        });
    if (!outputs[0].batched()) return;
    const GraphPtr batched = builder.finish({outputs[0].value});
    ASSERT_EQ(check(*batched), "") << name;
    const Tensor result = run(batched, tensors);
    for (int64_t example = 0; example < kSize; ++example) {
      std::vector<Tensor> inputs_of_one;
      for (size_t k = 0; k < avals.size(); ++k) {
        inputs_of_one.push_back(axes[k] < 0 ? tensors[k] : part(tensors[k], axes[k], example, 1, true));
      }
      expect_equal(part(result, outputs[0].axis, example, 1, true), run(graph, inputs_of_one), name + " batched");
    }
  };
  choose(0);
}

// <cotangent, J tangent> == <J^T cotangent, tangent>, J tangent by the jvp rules.
void check_gradient(const std::string& name, const std::vector<Aval>& avals, const Body& body) {
  const GraphPtr graph = graph_of(avals, body);
  const std::vector<Tensor> primals = samples(avals);
  Builder builder;
  std::vector<Dual> duals;
  std::vector<Tensor> inputs = primals, tangents;
  for (const Aval& aval : avals) duals.push_back({builder.input(aval), {}});
  for (size_t i = 0; i < avals.size(); ++i) {
    if (!is_inexact(avals[i].dtype())) continue;
    duals[i].tangent = builder.input(avals[i]);
    tangents.push_back(sample(avals[i], 50 + static_cast<int>(i)));
    inputs.push_back(tangents.back());
  }
  const Tensor moved = run(builder.finish({jvp_walk(builder, *graph, duals)[0].tangent}), inputs);
  const Tensor cotangent = sample(moved.aval(), 99);
  std::vector<Tensor> backward_inputs = primals;
  backward_inputs.push_back(cotangent);
  const std::vector<Tensor> back = evaluate_reference(*gradient_graph(graph), backward_inputs);
  double left = 0, right = 0;
  for (int64_t i = 0; i < moved.size(); ++i) left += load_real(moved, i) * load_real(cotangent, i);
  for (size_t k = 0; k < back.size(); ++k) {
    ASSERT_EQ(back[k].shape(), tangents[k].shape()) << name;
    for (int64_t i = 0; i < back[k].size(); ++i) right += load_real(back[k], i) * load_real(tangents[k], i);
  }
  EXPECT_NEAR(left, right, 1e-8 * (1 + std::fabs(left))) << name;
}

// A program for every length: operands of the exact size, and which axes of which operands are `n`.
struct RaggedCase {
  std::string name;
  int64_t bound;
  std::function<std::vector<Aval>(int64_t n)> avals;
  std::function<Value(Builder&, const Values&, int64_t n)> body;
  std::vector<std::pair<int, int>> ragged;  // (operand, axis)
  int64_t smallest = 0;
};

Tensor embed(const Tensor& x, const Aval& padded) {
  Tensor result(padded);
  for (int64_t i = 0; i < padded.size(); ++i) store_real(result, i, is_inexact(padded.dtype()) ? kNan : 3);
  std::vector<int64_t> position(x.shape().size(), 0);
  for (int64_t linear = 0; linear < x.size(); ++linear) {
    int64_t rest = linear, offset = 0, stride = 1;
    for (size_t axis = x.shape().size(); axis-- > 0;) {
      offset += rest % x.shape()[axis] * stride;
      rest /= x.shape()[axis];
      stride *= padded.shape()[axis];
    }
    store_real(result, offset, load_real(x, linear));
  }
  return result;
}

Tensor unpad(const Tensor& x, const Shape& real) {
  Tensor result = x;
  for (size_t axis = 0; axis < real.size(); ++axis) {
    if (real[axis] > result.shape()[axis]) {
      ADD_FAILURE() << "the real size " << real[axis] << " is beyond the bound";
      return result;
    }
    result = part(result, static_cast<int>(axis), 0, real[axis]);
  }
  return result;
}

// Runs `graph` masked; inputs that are ragged hold NaN in their padding. Returns outputs and their real shapes.
std::vector<Tensor> run_masked(const GraphPtr& graph, const std::vector<Tensor>& inputs,
                               const std::vector<std::vector<int>>& ragged_axes, int64_t n,
                               std::vector<Shape>* real_shapes) {
  Builder builder;
  const Value length = builder.input(i32({}));
  std::vector<Masked> operands;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Value value = builder.input(inputs[k].aval());
    Masked masked{value, Values(value.rank())};
    for (int axis : ragged_axes[k]) masked.lengths[axis] = length;
    operands.push_back(masked);
  }
  const std::vector<Masked> outputs = mask_inline(builder, *graph, operands);
  Values results;
  for (const Masked& output : outputs) results.push_back(output.value);
  for (const Masked& output : outputs) {
    for (const Value& size : output.lengths) {
      if (size) results.push_back(size);
    }
  }
  std::vector<Tensor> tensors{tensor(i32({}), {static_cast<double>(n)})};
  tensors.insert(tensors.end(), inputs.begin(), inputs.end());
  std::vector<std::vector<bool>> ragged;
  for (const Masked& output : outputs) {
    ragged.emplace_back();
    for (const Value& size : output.lengths) ragged.back().push_back(static_cast<bool>(size));
  }
  std::vector<Tensor> computed = evaluate_reference(*builder.finish(results), tensors);
  size_t next = ragged.size();
  for (size_t k = 0; k < ragged.size(); ++k) {
    Shape shape = computed[k].shape();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (ragged[k][axis]) shape[axis] = load_integer(computed[next++], 0);
    }
    real_shapes->push_back(shape);
  }
  computed.resize(ragged.size());
  return computed;
}

void check_mask(const RaggedCase& c) {
  const KeepLengths lengths;  // of gradients, which are masked
  const std::vector<Aval> padded_avals = c.avals(c.bound);
  std::vector<std::vector<int>> ragged_axes(padded_avals.size());
  for (const auto& [operand, axis] : c.ragged) ragged_axes[operand].push_back(axis);
  const auto graph_at = [&](int64_t n) {
    return graph_of(c.avals(n), [&](Builder& b, const Values& xs) { return c.body(b, xs, n); });
  };
  const GraphPtr masked = graph_at(c.bound);
  for (int64_t n = c.smallest; n <= c.bound; ++n) {
    const std::string what = c.name + " at length " + std::to_string(n);
    const GraphPtr exact_graph = graph_at(n);
    const std::vector<Tensor> inputs = samples(c.avals(n));
    std::vector<Tensor> padded;
    for (size_t k = 0; k < inputs.size(); ++k) padded.push_back(embed(inputs[k], padded_avals[k]));
    std::vector<Shape> shapes;
    const std::vector<Tensor> outputs = run_masked(masked, padded, ragged_axes, n, &shapes);
    const Tensor expected = run(exact_graph, inputs);
    ASSERT_EQ(shapes[0], expected.shape()) << what;
    expect_equal(unpad(outputs[0], shapes[0]), expected, what);

    // Derivatives: cotangents of valid elements agree; the cotangent that comes in holds garbage behind the real size.
    if (!is_inexact(expected.dtype())) continue;
    const Tensor cotangent = sample(expected.aval(), 31);
    std::vector<Tensor> exact_inputs = inputs;
    exact_inputs.push_back(cotangent);
    const std::vector<Tensor> gradients = evaluate_reference(*gradient_graph(exact_graph), exact_inputs);
    std::vector<Tensor> padded_inputs = padded;
    padded_inputs.push_back(embed(cotangent, outputs[0].aval()));
    // The cotangent comes in with the lengths of the output, made of those of the operands: declare them by an output.
    Builder builder;
    const Value length = builder.input(i32({}));
    std::vector<Masked> operands;
    for (size_t k = 0; k < padded_avals.size(); ++k) {
      const Value value = builder.input(padded_avals[k]);
      Masked m{value, Values(value.rank())};
      for (int axis : ragged_axes[k]) m.lengths[axis] = length;
      operands.push_back(m);
    }
    const Masked forward = mask_inline(builder, *masked, operands)[0];
    const Value seed = builder.input(outputs[0].aval());
    std::vector<Masked> backward_operands = operands;
    backward_operands.push_back({seed, forward.lengths});
    const std::vector<Masked> back = mask_inline(builder, *gradient_graph(masked), backward_operands);
    Values results;
    for (const Masked& g : back) results.push_back(g.value);
    std::vector<Tensor> all{tensor(i32({}), {static_cast<double>(n)})};
    all.insert(all.end(), padded_inputs.begin(), padded_inputs.end());
    const std::vector<Tensor> masked_gradients = evaluate_reference(*builder.finish(results), all);
    ASSERT_EQ(masked_gradients.size(), gradients.size());
    for (size_t k = 0; k < gradients.size(); ++k) {
      expect_equal(unpad(masked_gradients[k], gradients[k].shape()), gradients[k], what + ", gradient");
    }
  }
}

// ---- Rules --------------------------------------------------------------------------------------------------------

struct Example {
  std::string name;
  std::vector<Aval> avals;
  Body body;
};

std::vector<Example> examples() {
  return {
      {"broadcast", {f64({1, 3})}, [](Builder&, const Values& v) { return broadcast(v[0], {2, 4, 3}, {1, 2}); }},
      {"broadcast scalar", {f64({})}, [](Builder&, const Values& v) { return broadcast_scalar(v[0], {2, 3}); }},
      {"broadcast to nothing", {f64({1})}, [](Builder&, const Values& v) { return broadcast(v[0], {0}, {0}); }},
      {"reshape", {f64({2, 6})}, [](Builder&, const Values& v) { return reshape(v[0], {3, 1, 4}); }},
      {"transpose", {f64({2, 3, 4})}, [](Builder&, const Values& v) { return transpose(v[0], {2, 0, 1}); }},
      {"reverse", {f64({2, 3})}, [](Builder&, const Values& v) { return reverse(v[0], {1}); }},
      {"slice", {f64({3, 7})}, [](Builder&, const Values& v) { return slice(v[0], {1, 1}, {3, 6}, {1, 2}); }},
      {"slice nothing", {f64({3, 7})}, [](Builder&, const Values& v) { return slice(v[0], {1, 4}, {3, 4}, {1, 3}); }},
      {"slice stride", {f64({7})}, [](Builder&, const Values& v) { return slice(v[0], {2}, {7}, {9}); }},
      {"pad",
       {f64({2, 3}), f64({})},
       [](Builder&, const Values& v) { return pad(v[0], v[1], {1, -1}, {0, 2}, {2, 1}); }},
      {"pad empty", {f64({0}), f64({})}, [](Builder&, const Values& v) { return pad(v[0], v[1], {2}, {1}, {3}); }},
      {"concatenate",
       {f64({2, 1}), f64({2, 0}), f64({2, 3})},
       [](Builder&, const Values& v) { return concatenate(v, 1); }},
      {"gather", {f64({2, 4, 3}), i32({2, 2})}, [](Builder&, const Values& v) { return gather(v[0], v[1], 1, 0); }},
      {"gather scalar", {f64({4}), i32({})}, [](Builder&, const Values& v) { return gather(v[0], v[1], 0, 0); }},
      {"gather batched",
       {f64({2, 3, 4}), i32({2, 2})},
       [](Builder&, const Values& v) { return gather(v[0], v[1], 2, 1); }},
      {"scatter_add",
       {f64({2, 4, 3}), i32({2}), f64({2, 2, 3})},
       [](Builder&, const Values& v) { return scatter_add(v[0], v[1], v[2], 1, 0); }},
      {"scatter_add batched",
       {f64({2, 4}), i32({2, 3}), f64({2, 3})},
       [](Builder&, const Values& v) { return scatter_add(v[0], v[1], v[2], 1, 1); }},
      {"set_length",
       {f64({2, 3})},
       [](Builder& b, const Values& v) { return set_length(v[0], full(b, i32({}), 2), 1); }},
      {"dimension_size",
       {f64({2, 3})},
       [](Builder&, const Values& v) {
         return v[0] * broadcast_scalar(convert(dimension_size(v[0], 1), DType::kFloat64), v[0].shape());
       }},
  };
}

TEST(Rules, BatchAgreesWithOneExampleAtATime) {
  for (const Example& e : examples()) check_batch(e.name, e.avals, e.body);
}

TEST(Rules, TransposeSatisfiesTheInnerProductLaw) {
  for (const Example& e : examples()) check_gradient(e.name, e.avals, e.body);
}

TEST(Rules, MaskAgreesWithArraysOfExactlyTheRealSize) {
  const auto vector = [](int64_t n) { return Shapes{f64({n})}; };
  const auto matrix = [](int64_t n) { return Shapes{f64({n, 2})}; };
  const Ints one{1};
  const std::vector<RaggedCase> cases = {
      {"broadcast",
       3,
       vector,
       [](Builder&, const Values& v, int64_t n) { return broadcast(v[0], {2, n}, {1}); },
       {{0, 0}}},
      {"merge", 3, matrix, [](Builder&, const Values& v, int64_t n) { return reshape(v[0], {1, 2 * n}); }, {{0, 0}}},
      {"regroup",
       3,
       [](int64_t n) { return Shapes{f64({2, n, 4, 3})}; },
       [](Builder&, const Values& v, int64_t n) { return reshape(v[0], {2, n * 2, 1, 6}); },
       {{0, 1}}},
      {"expand_dims", 3, matrix, [](Builder&, const Values& v, int64_t) { return expand_dims(v[0], 1); }, {{0, 0}}},
      {"bound of one", 1, matrix, [](Builder&, const Values& v, int64_t) { return expand_dims(v[0], 2); }, {{0, 0}}},
      {"transpose", 3, matrix, [](Builder&, const Values& v, int64_t) { return transpose(v[0], {1, 0}); }, {{0, 0}}},
      {"reverse", 3, matrix, [](Builder&, const Values& v, int64_t) { return reverse(v[0], {0, 1}); }, {{0, 0}}},
      {"slice to the end",
       5,
       vector,
       [](Builder&, const Values& v, int64_t n) { return slice(v[0], {1}, {n}, {2}); },
       {{0, 0}},
       1},
      {"slice below a limit",
       6,
       vector,
       [](Builder&, const Values& v, int64_t n) {
         const int64_t limit = std::min<int64_t>(n, 5);
         return slice(v[0], {std::min<int64_t>(2, limit)}, {limit}, {1});
       },
       {{0, 0}}},
      {"slice with a stride",
       6,
       vector,
       [](Builder&, const Values& v, int64_t n) { return slice(v[0], {0}, {n}, {4}); },
       {{0, 0}}},
      {"slice across",
       3,
       matrix,
       [](Builder&, const Values& v, int64_t) { return slice_axis(v[0], 1, 1, 2); },
       {{0, 0}}},
      {"pad",
       4,
       [](int64_t n) { return Shapes{f64({n, 2}), f64({})}; },
       [](Builder&, const Values& v, int64_t) { return pad(v[0], v[1], {2, 0}, {3, 1}, {0, 0}); },
       {{0, 0}}},
      {"pad between",
       4,
       [](int64_t n) { return Shapes{f64({n}), f64({})}; },
       [](Builder&, const Values& v, int64_t) { return pad(v[0], v[1], {1}, {2}, {2}); },
       {{0, 0}}},
      {"pad negative",
       5,
       [](int64_t n) { return Shapes{f64({n}), f64({})}; },
       [](Builder&, const Values& v, int64_t) { return pad(v[0], v[1], {-1}, {-2}, {0}); },
       {{0, 0}},
       3},
      {"pad and crop",
       5,
       [](int64_t n) { return Shapes{f64({n}), f64({})}; },
       [](Builder&, const Values& v, int64_t) { return pad(v[0], v[1], {-2}, {3}, {0}); },
       {{0, 0}}},
      {"concatenate",
       4,
       [](int64_t n) { return Shapes{f64({2, n}), f64({2, 3}), f64({2, n})}; },
       [](Builder&, const Values& v, int64_t) { return concatenate(v, 1); },
       {{0, 1}, {2, 1}}},
      {"concatenate at the end",
       3,
       [](int64_t n) { return Shapes{f64({2}), f64({n})}; },
       [](Builder&, const Values& v, int64_t) { return concatenate(v, 0); },
       {{1, 0}}},
      {"concatenate across",
       3,
       [](int64_t n) { return Shapes{f64({n, 1}), f64({n, 2})}; },
       [](Builder&, const Values& v, int64_t) { return concatenate(v, 1); },
       {{0, 0}, {1, 0}}},
      {"concatenate integers",
       3,
       [](int64_t n) { return Shapes{i32({n}), i32({1})}; },
       [](Builder&, const Values& v, int64_t) { return concatenate(v, 0); },
       {{0, 0}}},
      {"gather along",
       4,
       [](int64_t n) { return Shapes{f64({n, 2}), i32({5})}; },
       [](Builder&, const Values& v, int64_t) { return gather(v[0], v[1], 0, 0); },
       {{0, 0}}},
      {"gather unsigned",
       4,
       [](int64_t n) { return Shapes{f64({n}), Aval(DType::kUInt8, {5})}; },
       [](Builder&, const Values& v, int64_t) { return gather(v[0], v[1], 0, 0); },
       {{0, 0}}},
      {"gather ragged indices",
       4,
       [](int64_t n) { return Shapes{f64({2, 3, 2}), i32({n})}; },
       [](Builder&, const Values& v, int64_t) { return gather(v[0], v[1], 1, 0); },
       {{1, 0}}},
      {"gather ragged batch",
       3,
       [](int64_t n) { return Shapes{f64({n, 3}), i32({n, 2})}; },
       [](Builder&, const Values& v, int64_t) { return gather(v[0], v[1], 1, 1); },
       {{0, 0}, {1, 0}}},
      {"scatter_add ragged indices",
       4,
       [](int64_t n) { return Shapes{f64({3}), i32({n}), f64({n})}; },
       [](Builder&, const Values& v, int64_t) { return scatter_add(v[0], v[1], v[2], 0, 0); },
       {{1, 0}, {2, 0}}},
      {"scatter_add ragged operand",
       4,
       [](int64_t n) { return Shapes{f64({2, n}), i32({5}), f64({2, 5})}; },
       [](Builder&, const Values& v, int64_t) { return scatter_add(v[0], v[1], v[2], 1, 0); },
       {{0, 1}}},
      {"scatter_add ragged rest",
       3,
       [](int64_t n) { return Shapes{f64({4, n}), i32({2}), f64({2, n})}; },
       [](Builder&, const Values& v, int64_t) { return scatter_add(v[0], v[1], v[2], 0, 0); },
       {{0, 1}, {2, 1}}},
      {"scatter_add batched",
       3,
       [](int64_t n) { return Shapes{f64({n, 4}), i32({n, 2}), f64({n, 2})}; },
       [](Builder&, const Values& v, int64_t) { return scatter_add(v[0], v[1], v[2], 1, 1); },
       {{0, 0}, {1, 0}, {2, 0}}},
      {"dimension_size",
       3,
       vector,
       [](Builder&, const Values& v, int64_t) { return convert(dimension_size(v[0], 0), DType::kFloat64); },
       {{0, 0}}},
      {"pieces and their sum",
       4,
       [](int64_t n) { return Shapes{f64({n}), f64({n})}; },
       [](Builder&, const Values& v, int64_t) {
         const Value joined = concatenate({v[0], reverse(v[1], {0}), v[0]}, 0);
         return reduce_sum(joined * joined, {0});
       },
       {{0, 0}, {1, 0}}},
      {"sums of slices",
       5,
       vector,
       [](Builder&, const Values& v, int64_t n) {
         const int64_t start = std::min<int64_t>(1, n);
         const Value tail = slice(v[0], {start}, {n}, {1});
         return reduce_sum(tail * slice(v[0] * v[0], {start}, {n}, {1}), {0});
       },
       {{0, 0}}},
  };
  for (const RaggedCase& c : cases) {
    if (c.name == "dimension_size") {
      // No gradient to compare: only the value.
      const GraphPtr graph = graph_of(c.avals(3), [&](Builder& b, const Values& v) { return c.body(b, v, 3); });
      std::vector<Shape> shapes;
      EXPECT_EQ(values_of(run_masked(graph, {sample(f64({3}), 0)}, {{0}}, 2, &shapes)[0]), std::vector<double>{2});
      continue;
    }
    check_mask(c);
  }
}

}  // namespace
}  // namespace ct
