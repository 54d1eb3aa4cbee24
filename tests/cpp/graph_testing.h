// What tests of primitives are written with: small graphs from a lambda, sample arrays, running, and the rules of
// primitives applied to a graph equation by equation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "interpreter/evaluate.h"
#include "ir/check.h"
#include "ir/ops.h"
#include "ir/primitive.h"
#include "runtime/error.h"

namespace ct {

using Body = std::function<Value(Builder&, const Values&)>;

inline Aval f64(std::vector<int64_t> shape) { return Aval(DType::kFloat64, shape); }
inline Aval i32(std::vector<int64_t> shape) { return Aval(DType::kInt32, shape); }

inline Tensor tensor(Aval aval, const std::vector<double>& values) {
  Tensor result(aval);
  EXPECT_EQ(aval.size(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) store_real(result, static_cast<int64_t>(i), values[i]);
  return result;
}

// Small distinct numbers; integers stay within [-1, 4] so that as indices some lie outside.
inline Tensor sample(Aval aval, int seed) {
  Tensor result(aval);
  uint32_t state = 12345u + static_cast<uint32_t>(seed) * 7919u;
  for (int64_t i = 0; i < aval.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    const double random = (state >> 8) / 16777216.0;
    store_real(result, i, is_inexact(aval.dtype()) ? std::floor(random * 100) / 8 - 5 : std::floor(random * 6) - 1);
  }
  return result;
}

inline std::vector<Tensor> samples(absl::Span<const Aval> avals, int seed = 0) {
  std::vector<Tensor> result;
  for (const Aval& aval : avals) result.push_back(sample(aval, seed++));
  return result;
}

inline std::vector<double> values_of(const Tensor& x) {
  std::vector<double> result;
  for (int64_t i = 0; i < x.size(); ++i) result.push_back(load_real(x, i));
  return result;
}

inline void expect_equal(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.aval().to_string(), b.aval().to_string()) << what;
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(load_real(a, i), load_real(b, i), 1e-9) << what << " at " << i;
}

inline GraphPtr graph_of(const std::vector<Aval>& avals, const Body& body) {
  GraphPtr graph = build_graph(avals, [&](Builder& b, const Values& xs) { return Values{body(b, xs)}; });
  EXPECT_EQ(check(*graph), "");
  return graph;
}

inline Tensor run(const GraphPtr& graph, absl::Span<const Tensor> inputs) {
  return evaluate_reference(*graph, inputs)[0];
}
inline Tensor run(const std::vector<Aval>& avals, const Body& body, absl::Span<const Tensor> inputs) {
  return run(graph_of(avals, body), inputs);
}

// Part of an array: `count` elements from `start` along `axis`; the axis goes away when `drop`.
inline Tensor part(const Tensor& x, int axis, int64_t start, int64_t count, bool drop = false) {
  return run({x.aval()},
             [&](Builder&, const Values& xs) {
               const Value taken = slice_axis(xs[0], axis, start, start + count);
               return drop ? squeeze(taken, axis) : taken;
             },
             {x});
}

inline std::string message_of(const std::function<void()>& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

using Shapes = std::vector<Aval>;

// ---- The rules applied to a graph, one equation after the other ---------------------------------------------------

template <class T, class Apply>
std::vector<T> walk(const Graph& graph, const std::vector<T>& inputs, Apply&& apply) {
  std::vector<T> values(graph.num_vars());
  std::copy(inputs.begin(), inputs.end(), values.begin());
  for (const Equation& equation : graph.equations()) {
    std::vector<T> operands;
    for (Var var : graph.operands(equation)) operands.push_back(values[var]);
    const std::vector<T> outputs = apply(*equation.primitive, operands, graph.attrs_ptr(equation));
    std::copy(outputs.begin(), outputs.end(), values.begin() + equation.first_output);
  }
  std::vector<T> outputs;
  for (Var var : graph.outputs()) outputs.push_back(values[var]);
  return outputs;
}

}  // namespace ct
