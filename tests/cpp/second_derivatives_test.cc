// Second derivatives: the jvp of the jvp of one equation, against differences of the jvp.
#include <gtest/gtest.h>

#include "tests/cpp/op_testing.h"
#include "transforms/transforms.h"

namespace ct::testing_ops {
namespace {

void expect_second_derivative(const Op& op, const std::vector<Tensor>& operands, double tolerance = 1e-5) {
  SCOPED_TRACE(op.name);
  const size_t count = operands.size();
  const double step = 1e-6;
  Avals avals;
  for (const Tensor& operand : operands) avals.push_back(operand.aval());
  const GraphPtr value =
      build_graph(avals, [&](Builder& builder, const Values& v) { return builder.bind(op.primitive(), v, op.attrs); });
  // Operands and a direction each; then, of the operands only, a second direction.
  const JvpGraph first = jvp(*value, std::vector<bool>(count, true), {true});
  std::vector<bool> operands_only(2 * count, false);
  std::fill_n(operands_only.begin(), count, true);
  const JvpGraph second = jvp(*first.graph, operands_only, {true, true});

  std::vector<Tensor> inputs = operands, directions;
  for (size_t i = 0; i < count; ++i) inputs.push_back(random(operands[i].aval(), 21 + static_cast<int>(i)));
  for (size_t i = 0; i < count; ++i) directions.push_back(random(operands[i].aval(), 31 + static_cast<int>(i)));
  const auto tangent_at = [&](double distance) {
    std::vector<Tensor> there = inputs;
    for (size_t i = 0; i < count; ++i) there[i] = moved(operands[i], directions[i], distance);
    return evaluate_reference(*first.graph, there)[1];
  };
  const Tensor high = tangent_at(step), low = tangent_at(-step);
  Tensor slope(high.aval());
  for (int64_t i = 0; i < slope.size(); ++i) {
    store_complex(slope, i, (load_complex(high, i) - load_complex(low, i)) / (2 * step));
  }
  inputs.insert(inputs.end(), directions.begin(), directions.end());
  expect_near(evaluate_reference(*second.graph, inputs)[3], slope, tolerance);
}

Op over(std::string name, Ints axes) { return {std::move(name), Attrs::make({{"axes", std::move(axes)}})}; }

TEST(SecondDerivatives, Elementwise) {
  const Tensor x = vector({-1.3, -0.2, 0.4, 2.1}), y = vector({0.7, -0.9, 1.6, 0.37});
  const Tensor positive = vector({0.3, 0.9, 2.5, 1.1});
  const Tensor z = complex_vector({{0.4, -0.7}, {-1.2, 0.3}, {0.1, 1.5}});
  const Tensor w = complex_vector({{1.4, 0.2}, {0.5, -0.3}, {-0.3, 0.8}});
  for (const char* name : {"neg", "abs", "sign", "exp", "expm1", "tanh", "sin", "cos"}) {
    expect_second_derivative({name}, {x});
    expect_second_derivative({name}, {z});
  }
  for (const char* name : {"log", "log1p", "sqrt"}) {
    expect_second_derivative({name}, {positive});
    expect_second_derivative({name}, {z});
  }
  for (const char* name : {"erf", "floor"}) expect_second_derivative({name}, {x});
  for (const char* name : {"add", "sub", "mul", "div", "rem", "atan2", "max", "min", "complex"}) {
    expect_second_derivative({name}, {x, y});
  }
  expect_second_derivative({"pow"}, {positive, y});
  expect_second_derivative({"pow"}, {positive, vector({0, 1, 2, 0})});
  expect_second_derivative({"pow"}, {z, w});
}

TEST(SecondDerivatives, AlongAxes) {
  const Tensor x = random({3, 5, 2}, 3);
  for (const char* name : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
    expect_second_derivative(over(name, {0, 1}), {x});
  }
  expect_second_derivative(over("reduce_prod", {0}), {vector({0, 0, 5, 2})});
  expect_second_derivative(over("reduce_prod", {0}), {vector({0, 3, 0, 2, 0})});
  expect_second_derivative({"cumsum", Attrs::make({{"axis", int64_t{1}}, {"reverse", true}})}, {x});
  const AttrsPtr inner =
      Attrs::make({{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}, {"lhs_batch", Ints{}}, {"rhs_batch", Ints{}}});
  expect_second_derivative({"dot_general", inner}, {x, random({5, 2}, 4)});
}

}  // namespace
}  // namespace ct::testing_ops
