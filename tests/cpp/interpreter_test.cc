// The evaluator and its kernels: every kernel against the reference evaluation, over dtypes, shapes and awkward values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "interpreter/evaluate.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/reference.h"
#include "ir/builder.h"
#include "ir/ops.h"
#include "ir/primitive.h"
#include "runtime/float_types.h"

namespace ct {
namespace {

using ::testing::HasSubstr;

std::vector<DType> all_dtypes() {
  std::vector<DType> result;
  for (int d = 0; d < kNumDTypes; ++d) result.push_back(static_cast<DType>(d));
  return result;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

  // Every kind of value: special ones, small ones, and any bit pattern.
  Tensor wild(const Aval& aval) {
    Tensor result(aval);
    static const double kSpecial[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      2.0,
                                      1e-40,
                                      3e38,
                                      -1e300,
                                      65504.0,
                                      1e-7,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN()};
    for (int64_t i = 0; i < aval.size(); ++i) {
      const int64_t kind = integer(0, 2);
      if (aval.dtype() == DType::kBool) {
        store_integer(result, i, integer(0, 1));
      } else if (kind == 0 && is_inexact(aval.dtype())) {
        store_complex(result, i, {kSpecial[integer(0, 13)], is_complex(aval.dtype()) ? kSpecial[integer(0, 13)] : 0});
      } else if (kind == 1) {
        const bool whole = !is_inexact(aval.dtype());
        const double real = whole ? static_cast<double>(integer(-9, 9)) : integer(-9000, 9000) / 1000.0;
        store_complex(result, i, {real, is_complex(aval.dtype()) ? integer(-9000, 9000) / 1000.0 : 0});
      } else {
        for (int b = 0; b < dtype_size(aval.dtype()); ++b) {
          result.as<uint8_t>()[i * dtype_size(aval.dtype()) + b] = static_cast<uint8_t>(integer(0, 255));
        }
      }
    }
    return result;
  }

  // Values of order one, for sums.
  Tensor tame(const Aval& aval) {
    Tensor result(aval);
    for (int64_t i = 0; i < aval.size(); ++i) {
      if (!is_inexact(aval.dtype())) {
        store_integer(result, i, integer(is_bool(aval.dtype()) || is_unsigned_integer(aval.dtype()) ? 0 : -100, 1));
      } else {
        store_complex(result, i,
                      {integer(-1000, 1000) / 1000.0, is_complex(aval.dtype()) ? integer(-1000, 1000) / 1000.0 : 0});
      }
    }
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

bool same_number(double x, double y, double tolerance) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return std::signbit(x) == std::signbit(y) || tolerance > 0;
  return std::fabs(x - y) <= tolerance * (1 + std::fabs(x));
}

// Equal bits, except that NaNs are alike; or within a tolerance.
void expect_same(const Tensor& x, const Tensor& y, double tolerance, const std::string& what) {
  ASSERT_TRUE(x && y) << what;
  ASSERT_TRUE(x.aval() == y.aval()) << what << ": " << x.aval().to_string() << " " << y.aval().to_string();
  if (std::memcmp(x.data(), y.data(), static_cast<size_t>(x.aval().bytes())) == 0) return;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_inexact(x.dtype())) {
      const auto a = load_complex(x, i);
      const auto b = load_complex(y, i);
      ASSERT_TRUE(same_number(a.real(), b.real(), tolerance) && same_number(a.imag(), b.imag(), tolerance))
          << what << " element " << i << ": " << a << " and " << b;
    } else {
      ASSERT_EQ(load_integer(x, i), load_integer(y, i)) << what << " element " << i;
    }
  }
}

void compare(const Graph& graph, const std::vector<Tensor>& inputs, double tolerance, const std::string& what) {
  const std::vector<Tensor> fast = evaluate(graph, inputs);
  const std::vector<Tensor> slow = evaluate_reference(graph, inputs);
  ASSERT_EQ(fast.size(), slow.size());
  for (size_t i = 0; i < fast.size(); ++i) expect_same(fast[i], slow[i], tolerance, what);
}

std::vector<Aval> avals_of(const std::vector<Tensor>& tensors) {
  std::vector<Aval> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.aval());
  return result;
}

// One primitive on the given operands, kernel against reference; false when its type rule refuses them.
bool compare_primitive(std::string_view name, const std::vector<Tensor>& operands, const AttrsPtr& attrs,
                       double tolerance = 0) {
  const Primitive& primitive = get_primitive(name);
  GraphPtr graph;
  try {
    graph = build_graph(avals_of(operands),
                        [&](Builder& b, const Values& inputs) { return b.bind(primitive, inputs, attrs); });
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::kDType) << error.what();
    return false;
  }
  EXPECT_NE(find_kernel(primitive), nullptr) << name;
  compare(*graph, operands, tolerance, std::string(name) + " " + operands[0].aval().to_string());
  return true;
}

TEST(Kernels, ScalarOpsAgreeWithTheReference) {
  Random random(1);
  int compared = 0;
  for (const Primitive* primitive : all_primitives()) {
    if (!primitive->scalar) continue;
    int dtypes = 0;
    for (DType dtype : all_dtypes()) {
      for (int64_t size : {0, 1, 17, 1000}) {
        std::vector<Tensor> operands;
        for (int i = 0; i < scalar_op_info(primitive->scalar_op).arity; ++i) {
          operands.push_back(random.wild(Aval(dtype, {size})));
        }
        if (!compare_primitive(primitive->name, operands, Attrs::empty())) break;
        dtypes += size == 0;
        ++compared;
      }
    }
    EXPECT_GT(dtypes, 0) << primitive->name;
  }
  EXPECT_GT(compared, 1000);
}

TEST(Kernels, ConvertBetweenAllDTypes) {
  Random random(2);
  int compared = 0;
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      for (int64_t size : {0, 1, 17, 1000}) {
        compared += compare_primitive("convert", {random.wild(Aval(from, {size}))}, Attrs::make({{"dtype", to}}));
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Kernels, SelectBitcastAndThreefry) {
  Random random(3);
  for (DType dtype : all_dtypes()) {
    for (int64_t size : {0, 1, 17, 1000}) {
      const Aval aval(dtype, {size});
      EXPECT_TRUE(compare_primitive(
          "select", {random.wild(Aval(DType::kBool, {size})), random.wild(aval), random.wild(aval)}, Attrs::empty()));
    }
  }
  const Aval words(DType::kUInt32, {3, 7});
  EXPECT_TRUE(compare_primitive("bitcast", {random.wild(words)}, Attrs::make({{"dtype", DType::kFloat32}})));
  EXPECT_TRUE(compare_primitive("threefry2x32",
                                {random.wild(words), random.wild(words), random.wild(words), random.wild(words)},
                                Attrs::empty()));
}

TEST(Kernels, Create) {
  for (DType dtype : all_dtypes()) {
    for (const Ints& shape : {Ints{}, Ints{5}, Ints{0, 3}, Ints{2, 3, 4}}) {
      const GraphPtr graph = build_graph({}, [&](Builder& b, const Values&) {
        const Aval aval(dtype, shape);
        Values results{is_bool(dtype) ? full(b, aval, 1) : full(b, aval, 3.7)};
        if (dtype_kind(dtype) == DTypeKind::kBool || dtype == DType::kKey || !dtype_info(dtype).computes)
          return results;
        for (int axis = 0; axis < aval.rank(); ++axis) results.push_back(iota(b, aval, axis));
        return results;
      });
      compare(*graph, {}, 0, std::string(dtype_name(dtype)));
    }
  }
}

TEST(Kernels, MovingElements) {
  Random random(4);
  for (DType dtype : {DType::kInt8, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
    const Tensor x = random.wild(Aval(dtype, {3, 20, 1, 18}));
    const Tensor value = random.wild(Aval(dtype, {}));
    const auto check = [&](std::string_view name, const std::vector<Tensor>& operands, std::vector<Attrs::Item> attrs) {
      EXPECT_TRUE(compare_primitive(name, operands, Attrs::make(std::move(attrs)))) << name;
    };
    check("transpose", {x}, {{"permutation", Ints{3, 2, 1, 0}}});
    check("transpose", {x}, {{"permutation", Ints{1, 0, 3, 2}}});
    check("transpose", {x}, {{"permutation", Ints{0, 2, 3, 1}}});
    check("transpose", {x}, {{"permutation", Ints{2, 0, 1, 3}}});
    check("reverse", {x}, {{"axes", Ints{1, 3}}});
    check("reverse", {x}, {{"axes", Ints{}}});
    check("broadcast", {x}, {{"shape", Ints{2, 3, 20, 5, 18}}, {"axes", Ints{1, 2, 3, 4}}});
    check("broadcast", {value}, {{"shape", Ints{4, 5}}, {"axes", Ints{}}});
    check("broadcast", {value}, {{"shape", Ints{4, 0}}, {"axes", Ints{}}});
    check("slice", {x}, {{"start", Ints{1, 2, 0, 0}}, {"limit", Ints{3, 19, 1, 18}}, {"stride", Ints{1, 3, 1, 1}}});
    check("slice", {x}, {{"start", Ints{1, 2, 0, 3}}, {"limit", Ints{1, 19, 1, 18}}, {"stride", Ints{1, 3, 1, 7}}});
    check("concatenate", {x, x, random.wild(Aval(dtype, {3, 0, 1, 18}))}, {{"axis", int64_t{1}}});
    check("concatenate", {x, x}, {{"axis", int64_t{3}}});
    check("concatenate", {x}, {{"axis", int64_t{0}}});
    check("reshape", {x}, {{"shape", Ints{60, 18}}});
    for (int64_t low : {-5, -1, 0, 2}) {
      for (int64_t high : {-4, 0, 3}) {
        for (int64_t interior : {0, 1, 2}) {
          check(
              "pad", {x, value},
              {{"low", Ints{0, low, 1, high}}, {"high", Ints{1, high, 0, low}}, {"interior", Ints{0, interior, 3, 0}}});
        }
      }
    }
    check("pad", {random.wild(Aval(dtype, {0})), value}, {{"low", Ints{2}}, {"high", Ints{1}}, {"interior", Ints{1}}});
  }
}

double sum_tolerance(DType dtype) {
  if (dtype == DType::kFloat16) return 2e-3;
  if (dtype == DType::kBFloat16) return 1.6e-2;
  if (dtype == DType::kFloat64 || dtype == DType::kComplex128) return 1e-12;
  return is_inexact(dtype) ? 1e-5 : 0;
}

TEST(Kernels, Reductions) {
  Random random(5);
  const std::vector<Ints> shapes = {{}, {1}, {0}, {1000}, {3, 0, 2}, {5, 17}, {130, 3}, {4, 70, 6, 5}};
  for (DType dtype : all_dtypes()) {
    for (const Ints& shape : shapes) {
      const int rank = static_cast<int>(shape.size());
      for (int subset = 0; subset < 1 << rank; ++subset) {
        Ints axes;
        for (int axis = 0; axis < rank; ++axis) {
          if (subset >> axis & 1) axes.push_back(axis);
        }
        const AttrsPtr attrs = Attrs::make({{"axes", axes}});
        const Tensor tame = random.tame(Aval(dtype, shape));
        compare_primitive("reduce_sum", {tame}, attrs, sum_tolerance(dtype));
        compare_primitive("reduce_prod", {tame}, attrs, sum_tolerance(dtype));
        compare_primitive("reduce_max", {random.wild(tame.aval())}, attrs, 1e-300);
        compare_primitive("reduce_min", {random.wild(tame.aval())}, attrs, 1e-300);
      }
    }
  }
}

TEST(Kernels, SumsOfFloatsArePairwise) {
  // One after another, 10 million times 0.1f would be off by a tenth.
  const int64_t count = 10'000'000;
  Tensor x(Aval(DType::kFloat32, {count}));
  for (int64_t i = 0; i < count; ++i) x.as<float>()[i] = 0.1f;
  for (const Ints& shape : {Ints{count}, Ints{count / 10, 10}}) {
    const AttrsPtr attrs = Attrs::make({{"axes", Ints{0}}});
    const Tensor sum =
        evaluate_primitive(get_primitive("reduce_sum"), {x.reinterpret(Aval(DType::kFloat32, shape))}, attrs)[0];
    for (int64_t i = 0; i < sum.size(); ++i) {
      const double exact = static_cast<double>(0.1f) * static_cast<double>(shape[0]);
      EXPECT_NEAR(sum.as<float>()[i] / exact, 1.0, 1e-6);
    }
  }
}

TEST(Kernels, Cumsum) {
  Random random(6);
  for (DType dtype : all_dtypes()) {
    for (const Ints& shape : {Ints{0}, Ints{1}, Ints{1000}, Ints{3, 5, 7}, Ints{2, 0}}) {
      for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
        for (bool reverse : {false, true}) {
          compare_primitive("cumsum", {random.tame(Aval(dtype, shape))},
                            Attrs::make({{"axis", axis}, {"reverse", reverse}}), 0);
        }
      }
    }
  }
}

TEST(Kernels, DotGeneral) {
  Random random(7);
  struct Case {
    Ints lhs, rhs, lhs_contract, rhs_contract, lhs_batch, rhs_batch;
  };
  const std::vector<Case> cases = {
      {{4, 5}, {5, 6}, {1}, {0}, {}, {}},
      {{37, 45}, {45, 70}, {1}, {0}, {}, {}},
      {{45, 7}, {19, 45}, {0}, {1}, {}, {}},
      {{100}, {100}, {0}, {0}, {}, {}},
      {{3}, {4}, {}, {}, {}, {}},
      {{}, {}, {}, {}, {}, {}},
      {{2, 3, 4}, {2, 4, 5}, {2}, {1}, {0}, {0}},
      {{3, 4, 2, 5}, {5, 2, 6, 4}, {1, 3}, {3, 0}, {2}, {1}},
      {{3, 0}, {0, 4}, {1}, {0}, {}, {}},
      {{0, 3}, {3, 4}, {1}, {0}, {}, {}},
      {{9, 1100}, {1100, 1}, {1}, {0}, {}, {}},
      {{9, 1100}, {1100, 33}, {1}, {0}, {}, {}},
      {{2, 30}, {30, 9}, {1}, {0}, {}, {}},
  };
  for (DType dtype : all_dtypes()) {
    for (const Case& c : cases) {
      compare_primitive("dot_general", {random.tame(Aval(dtype, c.lhs)), random.tame(Aval(dtype, c.rhs))},
                        Attrs::make({{"lhs_contract", c.lhs_contract},
                                     {"rhs_contract", c.rhs_contract},
                                     {"lhs_batch", c.lhs_batch},
                                     {"rhs_batch", c.rhs_batch}}),
                        5 * sum_tolerance(dtype));
    }
  }
}

TEST(Kernels, GatherAndScatter) {
  Random random(8);
  struct Case {
    Ints operand, indices, updates;
    int64_t axis, batch_dims;
  };
  const std::vector<Case> cases = {
      {{5}, {}, {}, 0, 0},
      {{5, 3}, {4}, {4, 3}, 0, 0},
      {{5, 3}, {2, 2}, {5, 2, 2}, 1, 0},
      {{2, 5, 3}, {2, 4}, {2, 4, 3}, 1, 1},
      {{2, 4, 5, 3}, {2, 6}, {2, 4, 6, 3}, 2, 1},
      {{2, 4, 0}, {2, 6}, {2, 4, 6}, 2, 1},
      {{5, 3}, {0}, {0, 3}, 0, 0},
  };
  for (DType dtype : all_dtypes()) {
    for (DType index : {DType::kInt32, DType::kUInt8, DType::kInt64}) {
      for (const Case& c : cases) {
        Tensor indices(Aval(index, c.indices));
        for (int64_t i = 0; i < indices.size(); ++i)
          store_integer(indices, i, random.integer(index == DType::kUInt8 ? 0 : -2, 6));
        const AttrsPtr attrs = Attrs::make({{"axis", c.axis}, {"batch_dims", c.batch_dims}});
        const Tensor operand = random.tame(Aval(dtype, c.operand));
        compare_primitive("gather", {operand, indices}, attrs);
        compare_primitive("scatter_add", {operand, indices, random.tame(Aval(dtype, c.updates))}, attrs);
      }
    }
  }
}

// ---- the evaluator --------------------------------------------------------------------------------------------------

Tensor vector_of(std::initializer_list<float> values) {
  Tensor result(Aval(DType::kFloat32, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), result.as<float>());
  return result;
}

TEST(Evaluate, ReusesBuffersWithoutTouchingInputsOrOutputs) {
  const Aval aval(DType::kFloat32, {3});
  const GraphPtr graph = build_graph({aval, aval}, [](Builder&, const Values& x) {
    const Value sum = x[0] + x[1];
    const Value product = sum * x[0];
    const Value root = sqrt(product);
    return Values{sum, root, reshape(root, {1, 3}), neg(x[1]), x[0]};
  });
  const Tensor x = vector_of({1, 2, 3});
  const Tensor y = vector_of({3, 6, 9});
  const std::vector<Tensor> results = evaluate(*graph, {x, y});
  expect_same(x, vector_of({1, 2, 3}), 0, "x");
  expect_same(y, vector_of({3, 6, 9}), 0, "y");
  expect_same(results[0], vector_of({4, 8, 12}), 0, "sum");
  expect_same(results[1], vector_of({2, 4, 6}), 0, "root");
  expect_same(results[2].reinterpret(aval), vector_of({2, 4, 6}), 0, "reshaped");
  expect_same(results[3], vector_of({-3, -6, -9}), 0, "negated");
  EXPECT_EQ(results[4].data(), x.data());
}

TEST(Evaluate, InputsMustMatchTheGraph) {
  Builder builder;
  const Value x = builder.input(Aval(DType::kFloat32, {3}), "x");
  const GraphPtr graph = builder.finish({neg(x)});
  const auto message = [&](const std::vector<Tensor>& inputs) {
    try {
      evaluate(*graph, inputs);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::kInternal);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({}), HasSubstr("takes 1 inputs, but 0 were given"));
  EXPECT_THAT(message({vector_of({1})}), HasSubstr("input 0 ('x') of the graph is float32[3]"));
  EXPECT_THAT(message({Tensor(Aval(DType::kInt32, {3}))}), HasSubstr("int32[3]"));
  EXPECT_THAT(message({Tensor()}), HasSubstr("has no value"));
  EXPECT_EQ(message({vector_of({1, 2, 3})}), "");
}

TEST(Evaluate, ExpandsPrimitives) {
  const Aval aval(DType::kFloat32, {3});
  const GraphPtr graph = build_graph({aval, Aval(DType::kInt32, {})}, [](Builder&, const Values& x) {
    return Values{set_length(x[0], x[1], 0) + x[0]};
  });
  Tensor length(Aval(DType::kInt32, {}));
  store_integer(length, 0, 2);
  for (int repeat = 0; repeat < 2; ++repeat) {
    expect_same(evaluate(*graph, {vector_of({1, 2, 3}), length})[0], vector_of({2, 4, 6}), 0, "kernels");
    expect_same(evaluate_reference(*graph, {vector_of({1, 2, 3}), length})[0], vector_of({2, 4, 6}), 0, "reference");
  }
}

TEST(Evaluate, PrimitiveErrorsNameTheOp) {
  try {
    evaluate_primitive(get_primitive("add"), {vector_of({1}), vector_of({1, 2})}, Attrs::empty());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("add"));
    EXPECT_NE(error.kind(), ErrorKind::kInternal);
  }
}

TEST(Reference, ScalarSemantics) {
  const auto run = [](ScalarOp op, DType dtype, double x, double y) {
    Tensor a = Tensor::scalar(dtype, x), b = Tensor::scalar(dtype, y);
    const ScalarFunction rule = scalar_function(op, dtype);
    Tensor result(Aval(rule.result, {}));
    rule.function(result.data(), a.data(), b.data());
    return load_real(result, 0);
  };
  EXPECT_EQ(run(ScalarOp::kDiv, DType::kInt32, 7, 0), -1);
  EXPECT_EQ(run(ScalarOp::kDiv, DType::kUInt8, 7, 0), 255);
  EXPECT_EQ(run(ScalarOp::kDiv, DType::kInt32, -7, 2), -3);
  EXPECT_EQ(run(ScalarOp::kDiv, DType::kInt8, -128, -1), -128);
  EXPECT_EQ(run(ScalarOp::kRem, DType::kInt32, -7, 0), -7);
  EXPECT_EQ(run(ScalarOp::kRem, DType::kFloat32, -7, 4), -3);
  EXPECT_EQ(run(ScalarOp::kAdd, DType::kInt8, 127, 1), -128);
  EXPECT_EQ(run(ScalarOp::kMul, DType::kUInt16, 65535, 65535), 1);
  EXPECT_EQ(run(ScalarOp::kShl, DType::kInt32, 1, 32), 0);
  EXPECT_EQ(run(ScalarOp::kShrArithmetic, DType::kInt32, -8, 100), -1);
  EXPECT_EQ(run(ScalarOp::kShrLogical, DType::kInt8, -1, 4), 15);
  EXPECT_EQ(run(ScalarOp::kRound, DType::kFloat32, 2.5, 0), 2);
  EXPECT_EQ(run(ScalarOp::kPow, DType::kInt32, 2, -1), 0);
  EXPECT_EQ(run(ScalarOp::kPow, DType::kInt32, -1, -3), -1);
  EXPECT_EQ(run(ScalarOp::kPow, DType::kInt64, 3, 13), 1594323);
  EXPECT_EQ(run(ScalarOp::kAdd, DType::kBool, 1, 1), 1);
  EXPECT_EQ(run(ScalarOp::kNot, DType::kBool, 1, 0), 0);
  EXPECT_EQ(run(ScalarOp::kNot, DType::kInt32, 0, 0), -1);
  EXPECT_TRUE(std::isnan(run(ScalarOp::kMax, DType::kFloat32, std::nan(""), 1)));
  EXPECT_TRUE(std::isnan(run(ScalarOp::kMin, DType::kFloat32, 1, std::nan(""))));
  EXPECT_TRUE(std::isnan(run(ScalarOp::kSign, DType::kFloat32, std::nan(""), 0)));
  EXPECT_EQ(run(ScalarOp::kAdd, DType::kFloat16, 2048, 1), 2048);  // rounded to even
  EXPECT_TRUE(std::isinf(run(ScalarOp::kMul, DType::kFloat16, 60000, 2)));
  EXPECT_EQ(run(ScalarOp::kAdd, DType::kBFloat16, 256, 1), 256);
}

}  // namespace
}  // namespace ct
