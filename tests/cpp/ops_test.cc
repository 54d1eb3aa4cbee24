// Types, errors and values of the primitives that compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/error.h"
#include "tests/cpp/op_testing.h"

namespace ct::testing_ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_error(ErrorKind kind, const std::string& text, const std::function<Value(Builder&)>& body) {
  Builder builder;
  try {
    body(builder);
    FAIL() << "no error; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(text));
    // What to do comes on a line of its own.
    EXPECT_THAT(error.what(), HasSubstr("\n  "));
  }
}

// ---- Records --------------------------------------------------------------------------------------------------------

TEST(Records, EverySlotIsFilledOrDeclaredAbsent) {
  for (const Primitive* primitive : all_primitives()) {
    const auto filled_or_absent = [&](const char* slot, bool filled) {
      EXPECT_NE(filled, primitive->absent.contains(slot)) << primitive->name << "." << slot;
    };
    EXPECT_TRUE(primitive->type) << primitive->name;
    filled_or_absent("jvp", static_cast<bool>(primitive->jvp));
    filled_or_absent("transpose", static_cast<bool>(primitive->transpose));
    filled_or_absent("batch", static_cast<bool>(primitive->batch));
    filled_or_absent("mask", static_cast<bool>(primitive->mask));
    filled_or_absent("element", static_cast<bool>(primitive->element));
    const bool evaluates = primitive->element || primitive->loops || primitive->reference || primitive->expand ||
                           primitive->structure != nullptr;
    EXPECT_TRUE(evaluates) << primitive->name;
  }
}

// Passes read these of whatever states the arrangement.
TEST(Records, AnArrangementHasItsAttributes) {
  const std::map<Arrangement, std::vector<std::string>> attributes = {
      {Arrangement::kUniform, {"value"}},
      {Arrangement::kCounting, {"axis"}},
      {Arrangement::kReshape, {}},
      {Arrangement::kBroadcast, {"axes"}},
      {Arrangement::kTranspose, {"permutation"}},
      {Arrangement::kSlice, {"start", "limit", "stride"}},
      {Arrangement::kPad, {"low", "high", "interior"}},
      {Arrangement::kConcatenate, {"axis"}},
      {Arrangement::kGather, {"axis", "batch_dims"}},
      {Arrangement::kWindows, {"axes", "window_axes", "sizes", "step", "window_step", "dilation", "offset"}},
      {Arrangement::kChoice, {}},
  };
  std::set<Arrangement> stated;
  for (const Primitive* primitive : all_primitives()) {
    if (primitive->arrangement == Arrangement::kNone) continue;
    stated.insert(primitive->arrangement);
    for (const std::string& name : attributes.at(primitive->arrangement)) {
      const auto is = [&](const AttributeRecord& record) { return record.name == name; };
      EXPECT_TRUE(std::ranges::any_of(primitive->attributes, is)) << primitive->name << "." << name;
    }
  }
  EXPECT_EQ(stated.size(), attributes.size());
}

// ---- Types and errors ---------------------------------------------------------------------------------------------

TEST(Types, Elementwise) {
  Builder builder;
  const Value weak = builder.input(Aval(DType::kFloat32, {2}, true));
  const Value strong = in(builder, DType::kFloat32, {2});
  EXPECT_EQ(add(weak, weak).aval().to_string(), "float32[2]*");
  EXPECT_EQ(add(weak, strong).aval().to_string(), "float32[2]");
  EXPECT_EQ(lt(weak, weak).aval().to_string(), "bool[2]");
  EXPECT_EQ(is_finite(strong).aval().to_string(), "bool[2]");
  const Value z = make_complex(strong, strong);
  EXPECT_EQ(z.aval().to_string(), "complex64[2]");
  EXPECT_EQ(abs(z).aval().to_string(), "float32[2]");
  EXPECT_EQ(imag(z).aval().to_string(), "float32[2]");
  EXPECT_EQ(conj(z).aval().to_string(), "complex64[2]");
  EXPECT_EQ(convert(weak, DType::kFloat32), weak);
  EXPECT_EQ(convert(strong, DType::kInt8).aval().to_string(), "int8[2]");
  EXPECT_EQ(bitcast(strong, DType::kUInt32).aval().to_string(), "uint32[2]");
  const Value key = in(builder, DType::kKey, {2});
  EXPECT_EQ(select(lt(strong, strong), key, key).aval().to_string(), "key[2]");
  const Value small = in(builder, DType::kFloat8E4M3FN, {2});
  EXPECT_EQ(select(lt(strong, strong), small, small).aval(), small.aval());
  EXPECT_EQ(convert(small, DType::kFloat32).aval(), strong.aval());
}

TEST(Types, MixingAxes) {
  Builder builder;
  const Value x = in(builder, DType::kFloat32, {2, 3, 4});
  EXPECT_EQ(reduce_sum(x, {0, 2}).aval().to_string(), "float32[3]");
  EXPECT_EQ(reduce_max(x, {}), x);
  EXPECT_EQ(cumsum(x, 1, true).aval(), x.aval());
  const Value y = in(builder, DType::kFloat32, {4, 2, 5});
  EXPECT_EQ(dot_general(x, y, {{2}, {0}, {0}, {1}}).aval().to_string(), "float32[2,3,5]");
  EXPECT_EQ(dot_general(x, y, {{}, {}, {}, {}}).aval().to_string(), "float32[2,3,4,4,2,5]");
}

TEST(Errors, OperandTypes) {
  expect_error(ErrorKind::kShape, "add: operands must have equal shapes, got float32[3] and float32[4]",
               [](Builder& b) { return add(in(b, DType::kFloat32), in(b, DType::kFloat32, {4})); });
  expect_error(ErrorKind::kDType, "mul: operands must have equal dtypes, got float32[3] and int32[3]",
               [](Builder& b) { return mul(in(b, DType::kFloat32), in(b, DType::kInt32)); });
  expect_error(ErrorKind::kDType, "exp: takes float or complex dtypes, got int32[3]",
               [](Builder& b) { return exp(in(b, DType::kInt32)); });
  expect_error(ErrorKind::kDType, "erf: takes float dtypes, got complex64[3]",
               [](Builder& b) { return erf(in(b, DType::kComplex64)); });
  expect_error(ErrorKind::kDType, "max: takes bool, integer or float dtypes, got complex64[3]",
               [](Builder& b) { return max(in(b, DType::kComplex64), in(b, DType::kComplex64)); });
  expect_error(ErrorKind::kDType, "sub: takes integer, float or complex dtypes, got bool[3]",
               [](Builder& b) { return sub(in(b, DType::kBool), in(b, DType::kBool)); });
  expect_error(ErrorKind::kDType, "add: cannot compute with float8_e5m2[3]: float8_e5m2 is a storage format",
               [](Builder& b) { return add(in(b, DType::kFloat8E5M2), in(b, DType::kFloat8E5M2)); });
  expect_error(ErrorKind::kDType, "neg: takes integer, float or complex dtypes, got key[3]",
               [](Builder& b) { return neg(in(b, DType::kKey)); });
  expect_error(ErrorKind::kDType, "and: takes bool or integer dtypes, got float32[3]",
               [](Builder& b) { return bit_and(in(b, DType::kFloat32), in(b, DType::kFloat32)); });
  expect_error(ErrorKind::kDType, "shift_left: takes integer dtypes, got bool[3]",
               [](Builder& b) { return shift_left(in(b, DType::kBool), in(b, DType::kBool)); });
  expect_error(ErrorKind::kType, "neg: takes 1 operand, got 2", [](Builder& b) {
    return b.bind1(get_primitive("neg"), {in(b, DType::kFloat32), in(b, DType::kFloat32)});
  });
}

TEST(Errors, SelectConvertComplexThreefry) {
  expect_error(ErrorKind::kDType, "select: the predicate must be bool, got int32[3]",
               [](Builder& b) { return select(in(b, DType::kInt32), in(b, DType::kInt32), in(b, DType::kInt32)); });
  expect_error(ErrorKind::kShape, "select: the predicate must have the shape of the values, got bool[] for int32[3]",
               [](Builder& b) { return select(in(b, DType::kBool, {}), in(b, DType::kInt32), in(b, DType::kInt32)); });
  expect_error(ErrorKind::kDType, "convert: cannot convert key[3] to uint32",
               [](Builder& b) { return convert(in(b, DType::kKey), DType::kUInt32); });
  expect_error(ErrorKind::kDType,
               "bitcast: cannot read the bits of float32[3] as uint16: their sizes are 4 and 2 bytes",
               [](Builder& b) { return bitcast(in(b, DType::kFloat32), DType::kUInt16); });
  expect_error(ErrorKind::kDType, "bitcast: cannot read the bits of uint8[3] as bool",
               [](Builder& b) { return bitcast(in(b, DType::kUInt8), DType::kBool); });
  expect_error(ErrorKind::kDType, "complex: takes float32 or float64 parts, got float16[3]",
               [](Builder& b) { return make_complex(in(b, DType::kFloat16), in(b, DType::kFloat16)); });
  expect_error(ErrorKind::kDType, "threefry2x32: takes uint32 words, got int32[3]", [](Builder& b) {
    const Value x = in(b, DType::kInt32);
    return threefry2x32(x, x, x, x)[0];
  });
}

TEST(Errors, ReductionsAndProducts) {
  expect_error(ErrorKind::kDType, "reduce_sum: takes integer, float or complex dtypes, got bool[3]",
               [](Builder& b) { return reduce_sum(in(b, DType::kBool), {0}); });
  expect_error(ErrorKind::kIndex, "reduce_max: axis 1 is out of range for an array of rank 1",
               [](Builder& b) { return reduce_max(in(b, DType::kFloat32), {1}); });
  expect_error(ErrorKind::kValue, "reduce_prod: axes must be sorted and without repeats, got [1, 0]",
               [](Builder& b) { return reduce_prod(in(b, DType::kFloat32, {2, 3}), {1, 0}); });
  expect_error(ErrorKind::kDType, "reduce_min: takes bool, integer or float dtypes, got complex64[3]",
               [](Builder& b) { return reduce_min(in(b, DType::kComplex64), {0}); });
  expect_error(ErrorKind::kIndex, "cumsum: axis 0 is out of range for an array of rank 0",
               [](Builder& b) { return cumsum(in(b, DType::kFloat32, {}), 0, false); });
  const auto dot = [](DType x, DType y, Shape y_shape, DotDimensions dimensions) {
    return [=](Builder& b) { return dot_general(in(b, x, {2, 3}), in(b, y, y_shape), dimensions); };
  };
  const DType f32 = DType::kFloat32;
  expect_error(ErrorKind::kDType, "dot_general: operands must have equal dtypes, got float32[2,3] and int32[3,4]",
               dot(f32, DType::kInt32, {3, 4}, {{1}, {0}, {}, {}}));
  expect_error(ErrorKind::kDType, "dot_general: takes integer, float or complex dtypes, got bool[2,3]",
               dot(DType::kBool, DType::kBool, {3, 4}, {{1}, {0}, {}, {}}));
  expect_error(ErrorKind::kShape,
               "dot_general: contracted dimensions must have equal sizes: dimension 1 of lhs float32[2,3] has size 3, "
               "dimension 0 of rhs float32[4,3] has size 4",
               dot(f32, f32, {4, 3}, {{1}, {0}, {}, {}}));
  expect_error(ErrorKind::kShape, "dot_general: batch dimensions must have equal sizes",
               dot(f32, f32, {4, 3}, {{}, {}, {1}, {0}}));
  expect_error(ErrorKind::kIndex, "dot_general: dimension 2 of lhs is out of range for float32[2,3]",
               dot(f32, f32, {3, 4}, {{2}, {0}, {}, {}}));
  expect_error(ErrorKind::kValue, "dot_general: dimension 0 of rhs is named twice",
               dot(f32, f32, {3, 4}, {{1}, {0}, {0}, {0}}));
  expect_error(ErrorKind::kValue, "dot_general: lhs has 1 contracted dimensions and rhs has 0",
               dot(f32, f32, {3, 4}, {{1}, {}, {}, {}}));
}

TEST(Errors, LengthsThatDiffer) {
  Builder builder;
  Masked x = exact(in(builder, DType::kFloat32)), y = exact(in(builder, DType::kFloat32));
  x.lengths[0] = in(builder, DType::kInt32, {});
  y.lengths[0] = in(builder, DType::kInt32, {});
  for (const Op& op : {Op{"add"}, Op{"dot_general", Attrs::make({{"lhs_contract", Ints{0}},
                                                                 {"rhs_contract", Ints{0}},
                                                                 {"lhs_batch", Ints{}},
                                                                 {"rhs_batch", Ints{}}})}}) {
    expect_error(ErrorKind::kShape, op.name + ": axis 0 has two different ragged lengths",
                 [&](Builder&) { return op.primitive().mask(builder, {x, y}, op.attrs)[0].value; });
  }
}

// ---- Values -------------------------------------------------------------------------------------------------------

TEST(Values, Integers) {
  const Tensor x = vector(DType::kInt8, {-128, 7, -7}), y = vector(DType::kInt8, {-1, 0, 2});
  EXPECT_THAT(integers(run(div, x, y)), ElementsAre(-128, -1, -3));
  EXPECT_THAT(integers(run(rem, x, y)), ElementsAre(0, 7, -1));
  EXPECT_THAT(integers(run(neg, x)), ElementsAre(-128, -7, 7));
  EXPECT_THAT(integers(run(shift_right_logical, x, vector(DType::kInt8, {1, 9, 1}))), ElementsAre(64, 0, 124));
}

TEST(Values, ThreefryEqualsRandom123) {
  // The known-answer vectors of Random123 for threefry2x32 with 20 rounds.
  const auto words = [](std::vector<double> values) { return vector(DType::kUInt32, values); };
  const double ones = 0xffffffff;
  const std::vector<Tensor> random_words =
      run_all([](Builder&, const Values& v) { return threefry2x32(v[0], v[1], v[2], v[3]); },
              {words({0, ones, 0x13198a2e}), words({0, ones, 0x03707344}), words({0, ones, 0x243f6a88}),
               words({0, ones, 0x85a308d3})});
  EXPECT_THAT(integers(random_words[0]), ElementsAre(0x6b200159, 0x1cb996fc, 0xc4923a9c));
  EXPECT_THAT(integers(random_words[1]), ElementsAre(0x99ba4efe, 0xbb002be7, 0x483df7a0));
}

TEST(Values, Reductions) {
  const Tensor x = array(DType::kFloat32, {2, 3}, {1, 2, 3, 4, -5, kNan});
  EXPECT_THAT(reals(run([](const Values& v) { return reduce_sum(v[0], {1}); }, {x})),
              ElementsAre(6, ::testing::IsNan()));
  EXPECT_THAT(reals(run([](const Values& v) { return reduce_max(v[0], {0}); }, {x})),
              ElementsAre(4, 2, ::testing::IsNan()));
  EXPECT_THAT(reals(run([](const Values& v) { return reduce_prod(v[0], {0}); }, {x})),
              ElementsAre(4, -10, ::testing::IsNan()));
  const Tensor bytes = vector(DType::kInt8, {100, 100, -128});
  EXPECT_THAT(integers(run([](const Values& v) { return reduce_sum(v[0], {0}); }, {bytes})), ElementsAre(72));
  const Tensor flags = vector(DType::kBool, {1, 0});
  EXPECT_THAT(integers(run([](const Values& v) { return reduce_max(v[0], {0}); }, {flags})), ElementsAre(1));
  EXPECT_THAT(integers(run([](const Values& v) { return reduce_min(v[0], {0}); }, {flags})), ElementsAre(0));
  // 4096 + 1 is lost in float16, but not in what it accumulates in.
  const Tensor halves = vector(DType::kFloat16, {4096, 1, 1, 1, 1});
  EXPECT_THAT(reals(run([](const Values& v) { return reduce_sum(v[0], {0}); }, {halves})), ElementsAre(4100));
}

TEST(Values, ReductionsOfNothing) {
  const auto empty = [](Value (*op)(Value, absl::Span<const int64_t>), DType dtype) {
    return run([&](const Values& v) { return op(v[0], {0}); }, {Tensor(Aval(dtype, {0}))});
  };
  EXPECT_THAT(reals(empty(reduce_sum, DType::kFloat32)), ElementsAre(0));
  EXPECT_THAT(reals(empty(reduce_prod, DType::kFloat32)), ElementsAre(1));
  EXPECT_THAT(reals(empty(reduce_max, DType::kFloat32)), ElementsAre(-kInf));
  EXPECT_THAT(reals(empty(reduce_min, DType::kBFloat16)), ElementsAre(kInf));
  EXPECT_THAT(integers(empty(reduce_max, DType::kInt8)), ElementsAre(-128));
  EXPECT_THAT(integers(empty(reduce_min, DType::kUInt8)), ElementsAre(255));
  EXPECT_THAT(integers(empty(reduce_min, DType::kInt64)), ElementsAre(std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(integers(empty(reduce_min, DType::kUInt64)), ElementsAre(-1));  // all bits
  EXPECT_THAT(integers(empty(reduce_max, DType::kBool)), ElementsAre(0));
  EXPECT_THAT(integers(empty(reduce_min, DType::kBool)), ElementsAre(1));
}

TEST(Values, RunningSumsAndProducts) {
  const Tensor x = array(DType::kInt32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(integers(run([](const Values& v) { return cumsum(v[0], 1, false); }, {x})),
              ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(integers(run([](const Values& v) { return cumsum(v[0], 0, true); }, {x})), ElementsAre(5, 7, 9, 4, 5, 6));
  EXPECT_THAT(integers(run([](const Values& v) { return dot_general(v[0], v[0], {{1}, {1}, {}, {}}); }, {x})),
              ElementsAre(14, 32, 32, 77));
  EXPECT_THAT(integers(run([](const Values& v) { return dot_general(v[0], v[0], {{1}, {1}, {0}, {0}}); }, {x})),
              ElementsAre(14, 77));
  const Tensor none = array(DType::kFloat32, {2, 0}, {});
  EXPECT_THAT(reals(run([](const Values& v) { return dot_general(v[0], v[0], {{1}, {1}, {}, {}}); }, {none})),
              ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace ct::testing_ops
