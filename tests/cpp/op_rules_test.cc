// The rules of the primitives that compute: derivatives, transposes, batching and masking.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cpp/op_testing.h"

namespace ct::testing_ops {
namespace {

using ::testing::ElementsAre;

// ---- Derivatives --------------------------------------------------------------------------------------------------

TEST(Derivatives, Unary) {
  const Tensor any = vector({-1.3, -0.2, 0.4, 2.1}), positive = vector({0.3, 0.9, 2.5});
  const Tensor z = complex_vector({{0.4, -0.7}, {-1.2, 0.3}, {0.1, 1.5}});
  for (const char* name : {"neg", "abs", "sign", "exp", "expm1", "tanh", "sin", "cos"}) {
    expect_derivative({name}, {any});
    expect_derivative({name}, {z});
  }
  for (const char* name : {"log", "log1p", "sqrt"}) {
    expect_derivative({name}, {positive});
    expect_derivative({name}, {z});
  }
  for (const char* name : {"real", "imag", "conj"}) expect_derivative({name}, {z});
  for (const char* name : {"erf", "floor", "ceil", "round"}) expect_derivative({name}, {any});
}

TEST(Derivatives, Binary) {
  const Tensor x = vector({-1.3, -0.2, 0.4, 2.1}), y = vector({0.7, -0.9, 1.6, 0.37});
  const Tensor positive = vector({0.3, 0.9, 2.5, 1.1});
  for (const char* name : {"add", "sub", "mul", "div", "rem", "atan2", "max", "min", "complex"}) {
    expect_derivative({name}, {x, y});
  }
  expect_derivative({"pow"}, {positive, y});
  const Tensor z = complex_vector({{0.4, -0.7}, {-1.2, 0.3}}), w = complex_vector({{1.4, 0.2}, {0.5, -0.3}});
  for (const char* name : {"add", "sub", "mul", "div", "pow"}) expect_derivative({name}, {z, w});
  expect_derivative({"select"}, {vector(DType::kBool, {1, 0, 1, 0}), x, y});
}

std::vector<double> slopes(const Op& op, const std::vector<Tensor>& operands, size_t by) {
  std::vector<Tensor> tangents(operands.size());
  tangents[by] = vector(std::vector<double>(operands[by].size(), 1.0));
  return reals(tangent_of(op, operands, tangents));
}

TEST(Derivatives, EdgePoints) {
  EXPECT_THAT(slopes({"abs"}, {vector({0, -0.0})}, 0), ElementsAre(0, 0));
  EXPECT_THAT(slopes({"sqrt"}, {vector({0})}, 0), ElementsAre(kInf));
  EXPECT_THAT(slopes({"max"}, {vector({1, 2, 3}), vector({1, 3, 2})}, 0), ElementsAre(0.5, 0, 1));
  EXPECT_THAT(slopes({"min"}, {vector({1, 2, 3}), vector({1, 3, 2})}, 1), ElementsAre(0.5, 0, 1));
  EXPECT_THAT(slopes({"rem"}, {vector({7, -7, 6}), vector({2, 2, -4})}, 1), ElementsAre(-3, 3, 1));
  // x^0 is constant, also at 0; x^1 has slope 1 there; x^2 at negative x is smooth in x.
  const Tensor base = vector({0, 0, -3, 5}), exponent = vector({0, 1, 2, 0});
  EXPECT_THAT(slopes({"pow"}, {base, exponent}, 0), ElementsAre(0, 1, -6, 0));
  EXPECT_THAT(slopes({"pow"}, {vector({0, 0}), vector({2, 0})}, 1), ElementsAre(0, 0));
  EXPECT_THAT(complexes(tangent_of({"abs"}, {complex_vector({0})}, {complex_vector({1})})), ElementsAre(Complex(0)));
  const Op max{"reduce_max", Attrs::make({{"axes", Ints{0}}})};
  EXPECT_THAT(reals(tangent_of(max, {vector({3, 1, 3})}, {vector({1, 10, 2})})), ElementsAre(1.5));
}

TEST(Derivatives, DiscreteOperandsHaveNone) {
  Builder builder;
  const Value x = in(builder, DType::kInt32), y = in(builder, DType::kFloat32);
  const Values none(2);
  EXPECT_FALSE(get_primitive("mul").jvp(builder, {x, x}, none, Attrs::empty()).tangents[0]);
  const AttrsPtr to_integer = Attrs::make({{"dtype", DType::kInt32}});
  EXPECT_FALSE(get_primitive("convert").jvp(builder, {y}, {y}, to_integer).tangents[0]);
  EXPECT_FALSE(get_primitive("stop_gradient").jvp(builder, {y}, {y}, Attrs::empty()).tangents[0]);
  EXPECT_FALSE(get_primitive("floor").jvp(builder, {y}, {y}, Attrs::empty()).tangents[0]);
}

Op over(std::string name, Ints axes) { return {std::move(name), Attrs::make({{"axes", std::move(axes)}})}; }
Op running(int64_t axis, bool reverse) { return {"cumsum", Attrs::make({{"axis", axis}, {"reverse", reverse}})}; }
Op dot(Ints lhs_contract, Ints rhs_contract, Ints lhs_batch, Ints rhs_batch) {
  return {"dot_general", Attrs::make({{"lhs_contract", lhs_contract},
                                      {"rhs_contract", rhs_contract},
                                      {"lhs_batch", lhs_batch},
                                      {"rhs_batch", rhs_batch}})};
}

TEST(Derivatives, AlongAxes) {
  const Tensor x = random({3, 5, 2}, 3);
  for (const Ints& axes : {Ints{}, Ints{1}, Ints{0, 2}, Ints{0, 1, 2}}) {
    for (const char* name : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
      expect_derivative(over(name, axes), {x});
    }
  }
  expect_derivative(over("reduce_prod", {0}), {random(Aval(DType::kComplex128, {7}), 4)});
  expect_derivative(over("reduce_prod", {0}), {Tensor(Aval(DType::kFloat64, {0, 2}))});
  expect_derivative(running(1, false), {x});
  expect_derivative(running(0, true), {x});
  expect_derivative(dot({1, 2}, {0, 1}, {}, {}), {x, random({5, 2, 4}, 5)});
}

TEST(Derivatives, ProductsWithZeros) {
  const Op product = over("reduce_prod", {0});
  const auto gradient = [&](std::vector<double> x, std::vector<double> direction) {
    return reals(tangent_of(product, {vector(x)}, {vector(direction)}))[0];
  };
  EXPECT_EQ(gradient({2, 0, 5}, {0, 1, 0}), 10);
  EXPECT_EQ(gradient({2, 0, 5}, {1, 0, 0}), 0);
  EXPECT_EQ(gradient({0, 0, 5}, {1, 1, 0}), 0);
  // The second derivative by the two zeros is the product of the rest: as a difference of first ones.
  EXPECT_NEAR((gradient({1e-3, 0, 5}, {0, 1, 0}) - gradient({-1e-3, 0, 5}, {0, 1, 0})) / 2e-3, 5, 1e-9);
}

// ---- Transposes ---------------------------------------------------------------------------------------------------

TEST(Transposes, Elementwise) {
  const Tensor x = random({4}, 1), y = random({4}, 2);
  const Tensor z = random(Aval(DType::kComplex128, {4}), 3), w = random(Aval(DType::kComplex128, {4}), 4);
  expect_transpose({"neg"}, {x}, 0);
  for (const char* name : {"real", "imag", "conj", "neg"}) expect_transpose({name}, {z}, 0);
  for (int operand : {0, 1}) {
    expect_transpose({"mul"}, {x, y}, operand);
    expect_transpose({"mul"}, {z, w}, operand);
    expect_transpose({"select"}, {vector(DType::kBool, {1, 0, 0, 1}), x, vector({0, 0, 0, 0})}, 1);
    expect_transpose({"select"}, {vector(DType::kBool, {1, 0, 0, 1}), vector({0, 0, 0, 0}), x}, 2);
  }
  expect_transpose({"div"}, {z, w}, 0);
  // Jointly linear: with the other operand at zero.
  const Tensor zero = vector({0, 0, 0, 0});
  for (const char* name : {"add", "sub", "complex"}) {
    expect_transpose({name}, {x, zero}, 0);
    expect_transpose({name}, {zero, x}, 1);
  }
}

TEST(Transposes, ConvertGivesBackTheOperandsDType) {
  const auto to = [](DType dtype) { return Op{"convert", Attrs::make({{"dtype", dtype}})}; };
  expect_transpose(to(DType::kComplex128), {random({4}, 1)}, 0);
  expect_transpose(to(DType::kFloat64), {random(Aval(DType::kComplex128, {4}), 1)}, 0);
  const Tensor whole = vector(DType::kBFloat16, {1, 2, 3});
  Builder builder;
  const Value cotangent = in(builder, DType::kFloat32);
  const Aval operand(DType::kBFloat16, {3});
  const Values result =
      get_primitive("convert").transpose(builder, {Values{Value()}, {operand}, {cotangent}}, to(DType::kFloat32).attrs);
  EXPECT_EQ(result[0].aval(), operand);
}

TEST(Transposes, AlongAxes) {
  const Tensor x = random({3, 5, 2}, 3);
  for (const Ints& axes : {Ints{}, Ints{1}, Ints{0, 2}}) expect_transpose(over("reduce_sum", axes), {x}, 0);
  expect_transpose(running(1, false), {x}, 0);
  expect_transpose(running(2, true), {x}, 0);
  // Contracted dimensions in another order on the right, and a batch dimension in the middle.
  const Tensor lhs = random({2, 3, 4, 5, 6}, 1), rhs = random({5, 3, 7, 2}, 2);
  for (int operand : {0, 1}) {
    expect_transpose(dot({0, 3}, {3, 0}, {1}, {1}), {lhs, rhs}, operand);
    expect_transpose(dot({3, 0}, {0, 3}, {}, {}), {lhs, rhs}, operand);
    expect_transpose(dot({}, {}, {0, 3}, {3, 0}), {lhs, rhs}, operand);
  }
}

// ---- Batching -----------------------------------------------------------------------------------------------------

TEST(Batching, Elementwise) {
  const Tensor x = random({3, 4, 2}, 1), same = random({3, 4, 2}, 2), other = random({4, 2, 3}, 3);
  const Tensor one = random({4, 2}, 4);
  expect_batch({"sin"}, {x}, {1}, 4);
  expect_batch({"mul"}, {x, same}, {0, 0}, 3);
  expect_batch({"mul"}, {x, other}, {0, 2}, 3);
  expect_batch({"sub"}, {x, one}, {0, -1}, 3);
  expect_batch({"sub"}, {one, other}, {-1, 2}, 3);
  expect_batch({"convert", Attrs::make({{"dtype", DType::kFloat32}})}, {x}, {2}, 2);
  expect_batch({"select"}, {array(DType::kBool, {4, 2}, {1, 0, 1, 0, 0, 1, 1, 0}), x, other}, {-1, 0, 2}, 3);
}

TEST(Batching, AlongAxes) {
  const Tensor x = random({3, 4, 2}, 1);
  for (int axis : {0, 1, 2}) {
    const int64_t size = x.shape()[axis];
    expect_batch(over("reduce_sum", {0}), {x}, {axis}, size);
    expect_batch(over("reduce_max", {0, 1}), {x}, {axis}, size);
    expect_batch(running(1, true), {x}, {axis}, size);
    expect_batch({"fill_padding", Attrs::make({{"axes", Ints{1}}, {"value", 1.0}})}, {x}, {axis}, size);
  }
}

TEST(Batching, Dot) {
  const Op product = dot({2}, {0}, {0}, {1});  // [2,3,4] with [4,2,5]
  const Tensor lhs = random({2, 3, 4}, 1), rhs = random({4, 2, 5}, 2);
  for (int axis : {0, 1, 2, 3}) {
    Shape lhs_shape = lhs.shape(), rhs_shape = rhs.shape();
    lhs_shape.insert(lhs_shape.begin() + axis, 6);
    rhs_shape.insert(rhs_shape.begin() + axis, 6);
    const Tensor many_lhs = random(lhs_shape, 3), many_rhs = random(rhs_shape, 4);
    expect_batch(product, {many_lhs, rhs}, {axis, -1}, 6);
    expect_batch(product, {lhs, many_rhs}, {-1, axis}, 6);
    Shape first = rhs.shape();
    first.insert(first.begin(), 6);
    expect_batch(product, {many_lhs, random(first, 5)}, {axis, 0}, 6);
    expect_batch(product, {many_lhs, many_rhs}, {axis, axis}, 6);
  }
}

// ---- Masking ------------------------------------------------------------------------------------------------------

TEST(Masking, PaddingNeverReachesAResult) {
  const Tensor x = random({3, 5, 2}, 1);
  for (int64_t length : {0, 1, 3, 5}) {
    expect_mask({"exp"}, {x}, {{0, 1}}, length, 1);
    expect_mask({"mul"}, {x, random({3, 5, 2}, 2)}, {{0, 1}, {1, 1}}, length, 1);
    expect_mask(over("reduce_sum", {1}), {x}, {{0, 1}}, length, -1);
    expect_mask(over("reduce_prod", {0, 1}), {x}, {{0, 1}}, length, -1);
    expect_mask(over("reduce_max", {0}), {x}, {{0, 1}}, length, 0);
    expect_mask(over("reduce_min", {1, 2}), {x}, {{0, 1}}, length, -1);
    expect_mask(running(1, false), {x}, {{0, 1}}, length, 1);
    expect_mask(running(1, true), {x}, {{0, 1}}, length, 1);
    expect_mask(running(0, true), {x}, {{0, 1}}, length, 1);
    const Tensor y = random({4, 5}, 3);
    expect_mask(dot({1}, {1}, {}, {}), {x, y}, {{0, 1}, {1, 1}}, length, -1);
    expect_mask(dot({2}, {0}, {}, {}), {x, random({2, 4}, 3)}, {{0, 1}}, length, 1);
    expect_mask(dot({0}, {0}, {}, {}), {random({3, 2}, 4), x}, {{1, 1}}, length, 1);
    expect_mask(dot({}, {}, {1}, {1}), {x, y}, {{0, 1}, {1, 1}}, length, 0);
  }
}

TEST(Masking, FillPaddingMakesAnAxisExact) {
  const std::vector<Tensor> result = run_all(
      [](Builder& builder, const Values& v) {
        Masked x = exact(v[0]);
        x.lengths[0] = v[1];
        const AttrsPtr attrs = Attrs::make({{"axes", Ints{0}}, {"value", 1.0}});
        const Masked filled = get_primitive("fill_padding").mask(builder, {x}, attrs)[0];
        EXPECT_FALSE(filled.any_ragged());
        return Values{filled.value};
      },
      {vector({5, kNan, kNan}), Tensor::scalar(DType::kInt32, 1)});
  EXPECT_THAT(reals(result[0]), ElementsAre(5, 1, 1));
}

}  // namespace
}  // namespace ct::testing_ops
