// The primitives that create, rearrange and index arrays: values against loops written out here, and error messages.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "ir/masking.h"
#include "tests/cpp/graph_testing.h"

namespace ct {
namespace {

// ---- Values -------------------------------------------------------------------------------------------------------

TEST(Full, EveryDtype) {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    const Tensor ones = run({}, [&](Builder& b, const Values&) { return full(b, Aval(dtype, {2}), 1); }, {});
    EXPECT_EQ(values_of(ones), (std::vector<double>{1, 1})) << dtype_name(dtype);
    const Tensor none = run({}, [&](Builder& b, const Values&) { return zeros(b, Aval(dtype, {0, 3})); }, {});
    EXPECT_EQ(none.size(), 0);
  }
}

TEST(Full, SaturatesWrapsAndKeepsWeakness) {
  const auto value = [](const std::function<Value(Builder&)>& make) {
    return load_integer(run({}, [&](Builder& b, const Values&) { return make(b); }, {}), 0);
  };
  EXPECT_EQ(value([](Builder& b) { return full(b, Aval(DType::kInt8, {}), 1e9); }), 127);
  EXPECT_EQ(value([](Builder& b) { return full(b, Aval(DType::kInt64, {}), 1e300); }), INT64_MAX);
  EXPECT_EQ(value([](Builder& b) { return full_integer(b, Aval(DType::kUInt8, {}), -1); }), 255);
  EXPECT_EQ(value([](Builder& b) { return full_integer(b, Aval(DType::kUInt32, {}), 0x1BD11BDA); }), 0x1BD11BDA);
  Builder b;
  EXPECT_TRUE(full(b, Aval(DType::kFloat32, {}, true), 2).aval().weak());
  const Tensor complex =
      run({}, [](Builder& c, const Values&) { return full_complex(c, Aval(DType::kComplex64, {2}), 1.5, -2); }, {});
  EXPECT_EQ(load_complex(complex, 1), std::complex<double>(1.5, -2));
}

TEST(Iota, CountsAlongItsAxis) {
  const auto count = [](DType dtype, int axis) {
    return values_of(run({}, [&](Builder& b, const Values&) { return iota(b, Aval(dtype, {2, 3}), axis); }, {}));
  };
  for (DType dtype :
       {DType::kInt8, DType::kUInt64, DType::kInt32, DType::kFloat16, DType::kFloat64, DType::kComplex64}) {
    EXPECT_EQ(count(dtype, 0), (std::vector<double>{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(count(dtype, 1), (std::vector<double>{0, 1, 2, 0, 1, 2}));
  }
}

TEST(Shape, Values) {
  const Tensor x = tensor(f64({2, 3}), {1, 2, 3, 4, 5, 6});
  const auto on_x = [&](const Body& body) { return values_of(run({x.aval()}, body, {x})); };
  EXPECT_EQ(on_x([](Builder&, const Values& v) { return transpose(v[0], {1, 0}); }),
            (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(on_x([](Builder&, const Values& v) { return reverse(v[0], {0, 1}); }),
            (std::vector<double>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(on_x([](Builder&, const Values& v) { return reshape(transpose(v[0], {1, 0}), {2, 3}); }),
            (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(on_x([](Builder&, const Values& v) { return broadcast_axis(v[0], 1, 2); }),
            (std::vector<double>{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(on_x([](Builder&, const Values& v) { return slice(v[0], {0, 0}, {2, 3}, {1, 2}); }),
            (std::vector<double>{1, 3, 4, 6}));
  EXPECT_EQ(on_x([](Builder& b, const Values& v) {
              return pad(slice_axis(v[0], 0, 1, 2), full(b, f64({}), 9), {0, 1}, {0, -1}, {0, 1});
            }),
            (std::vector<double>{9, 4, 9, 5, 9}));
  EXPECT_EQ(on_x([](Builder&, const Values& v) { return concatenate({v[0], slice_axis(v[0], 1, 0, 1)}, 1); }),
            (std::vector<double>{1, 2, 3, 1, 4, 5, 6, 4}));
}

// The element rule, which the compiler follows, against the same bytes.
TEST(Reshape, ElementRuleKeepsRowMajorOrder) {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes = {
      {{2, 3, 4}, {6, 4}}, {{6, 4}, {2, 3, 4}}, {{4, 6}, {3, 8}}, {{1, 6, 1}, {2, 1, 3}}, {{}, {1, 1}},
      {{1}, {}},           {{2, 6}, {3, 4}},    {{0, 3}, {3, 0}}, {{5, 1, 2}, {5, 2}},
  };
  for (const auto& [from, to] : shapes) {
    const Tensor x = sample(f64(from), 3);
    Primitive by_element = get_primitive("reshape");
    by_element.structure = nullptr;
    by_element.name = "reshape by element";
    const Tensor result = evaluate_primitive(by_element, {x}, Attrs::make({{"shape", to}}))[0];
    EXPECT_EQ(values_of(result), values_of(x)) << shape_string(from) << shape_string(to);
  }
}

TEST(Pad, AgainstALoop) {
  for (int64_t size : {0, 1, 3}) {
    for (int64_t low : {-1, 0, 2, 5}) {
      for (int64_t high : {-1, 0, 3}) {
        for (int64_t interior : {0, 1, 3}) {
          const int64_t inner = size == 0 ? 0 : size + (size - 1) * interior;
          if (inner + low + high < 0) continue;
          const Tensor x = sample(f64({size}), 1);
          const Tensor result =
              run({f64({size}), f64({})},
                  [&](Builder&, const Values& v) { return pad(v[0], v[1], {low}, {high}, {interior}); },
                  {x, tensor(f64({}), {-7})});
          std::vector<double> expected(inner + low + high, -7);
          for (int64_t i = 0; i < size; ++i) {
            const int64_t at = low + i * (interior + 1);
            if (at >= 0 && at < static_cast<int64_t>(expected.size())) expected[at] = load_real(x, i);
          }
          EXPECT_EQ(values_of(result), expected) << size << " " << low << " " << high << " " << interior;
        }
      }
    }
  }
}

TEST(Gather, ReadsZeroOutside) {
  const Tensor x = tensor(f64({2, 3}), {1, 2, 3, 4, 5, 6});
  for (DType dtype : {DType::kInt8, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kUInt64}) {
    const bool with_sign = is_signed_integer(dtype);
    const Tensor at = tensor(Aval(dtype, {4}), {2, with_sign ? -1.0 : 200.0, 0, 3});
    const Tensor result =
        run({x.aval(), at.aval()}, [](Builder&, const Values& v) { return gather(v[0], v[1], 1, 0); }, {x, at});
    EXPECT_EQ(values_of(result), (std::vector<double>{3, 0, 1, 0, 6, 0, 4, 0}));
  }
  const Tensor at = tensor(i32({2, 2}), {2, 0, 1, 1});
  EXPECT_EQ(values_of(run({x.aval(), at.aval()}, [](Builder&, const Values& v) { return gather(v[0], v[1], 1, 1); },
                          {x, at})),
            (std::vector<double>{3, 1, 5, 5}));
  const Tensor none = run({f64({0}), i32({2})}, [](Builder&, const Values& v) { return gather(v[0], v[1], 0, 0); },
                          {Tensor(f64({0})), tensor(i32({2}), {0, 1})});
  EXPECT_EQ(values_of(none), (std::vector<double>{0, 0}));
}

TEST(ScatterAdd, AddsRepeatsAndDropsOutside) {
  const Tensor base = tensor(f64({3}), {10, 20, 30});
  const Tensor at = tensor(i32({5}), {1, 1, -1, 3, 0});
  const Tensor updates = tensor(f64({5}), {1, 2, 4, 8, 16});
  const Tensor result =
      run({base.aval(), at.aval(), updates.aval()},
          [](Builder&, const Values& v) { return scatter_add(v[0], v[1], v[2], 0, 0); }, {base, at, updates});
  EXPECT_EQ(values_of(result), (std::vector<double>{26, 23, 30}));
}

// ---- Errors -------------------------------------------------------------------------------------------------------

struct Mistake {
  ErrorKind kind;
  std::string message;
  std::vector<Aval> avals;
  Body body;
};

TEST(Fourier, NeedsNoLibrary) {
  for (const int64_t length : {1, 2, 12, 67}) {
    Tensor x(Aval(DType::kComplex128, {length}));
    auto* elements = x.as<std::complex<double>>();
    for (int64_t i = 0; i < length; ++i) elements[i] = {std::sin(3.0 * i), 1.0 / (i + 1)};
    const Tensor transformed =
        run({x.aval()},
            [&](Builder& b, const Values& v) {
              return b.bind1(get_primitive("fft"), v,
                             Attrs::make({{"kind", std::string("fft")}, {"lengths", Ints{length}}}));
            },
            {x});
    for (int64_t k = 0; k < length; ++k) {
      std::complex<double> sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        sum += elements[i] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k % length) / length);
      }
      EXPECT_NEAR(std::abs(load_complex(transformed, k) - sum), 0, 1e-12 * length);
    }
  }
}

TEST(Errors, SayWhatIsWrong) {
  const Shapes x{f64({2, 3})};
  const std::vector<Mistake> mistakes = {
      {ErrorKind::kShape, "reshape: cannot reshape float64[2,3] of 6 elements to shape (4,) of 4", x,
       [](Builder&, const Values& v) { return reshape(v[0], {4}); }},
      {ErrorKind::kShape, "shape (-1,) has a negative dimension", x,
       [](Builder&, const Values& v) { return reshape(v[0], {-1}); }},
      {ErrorKind::kShape,
       "broadcast: cannot broadcast float64[2,3] to shape (2, 4): axis 1 has size 3, axis 1 of the "
       "result has size 4",
       x, [](Builder&, const Values& v) { return broadcast(v[0], {2, 4}, {0, 1}); }},
      {ErrorKind::kValue, "needs one result axis for each of the 2 axes", x,
       [](Builder&, const Values& v) { return broadcast(v[0], {2, 3}, {0}); }},
      {ErrorKind::kIndex, "axis 2 is out of range", x,
       [](Builder&, const Values& v) { return broadcast(v[0], {2, 3}, {0, 2}); }},
      {ErrorKind::kValue, "transpose: [0, 0] is not a permutation of the 2 axes of float64[2,3]", x,
       [](Builder&, const Values& v) { return transpose(v[0], {0, 0}); }},
      {ErrorKind::kIndex, "axis 5 is out of range", x, [](Builder&, const Values& v) { return reverse(v[0], {5}); }},
      {ErrorKind::kIndex, "slice: cannot take elements 1 to 4 along axis 1 of float64[2,3]", x,
       [](Builder&, const Values& v) { return slice_axis(v[0], 1, 1, 4); }},
      {ErrorKind::kValue, "the stride along axis 0 is 0", x,
       [](Builder&, const Values& v) { return slice(v[0], {0, 0}, {2, 3}, {0, 1}); }},
      {ErrorKind::kValue, "needs one limit for each of 2 axes", x,
       [](Builder&, const Values& v) { return slice(v[0], {0, 0}, {2}, {1, 1}); }},
      {ErrorKind::kShape, "pad: padding axis 1 of float64[2,3] by (-2, -2, interior 0)", x,
       [](Builder& b, const Values& v) { return pad(v[0], full(b, f64({}), 0), {0, -2}, {0, -2}, {0, 0}); }},
      {ErrorKind::kValue, "pad: the low padding of axis 1 is 9223372036854775807, out of range", x,
       [](Builder& b, const Values& v) { return pad(v[0], full(b, f64({}), 0), {0, INT64_MAX}, {0, 1}, {0, 0}); }},
      {ErrorKind::kMemory,
       "the padded size, 5 * 2305843009213693952",
       {f64({6})},
       [](Builder& b, const Values& v) { return pad(v[0], full(b, f64({}), 0), {0}, {0}, {int64_t{1} << 61}); }},
      {ErrorKind::kDType, "the padding value has dtype int32, the array float64", x,
       [](Builder& b, const Values& v) { return pad(v[0], full(b, i32({}), 0), {0, 0}, {0, 0}, {0, 0}); }},
      {ErrorKind::kShape, "the padding value must be a scalar", x,
       [](Builder&, const Values& v) { return pad(v[0], v[0], {0, 0}, {0, 0}, {0, 0}); }},
      {ErrorKind::kValue, "the interior padding of axis 0 is -1", x,
       [](Builder& b, const Values& v) { return pad(v[0], full(b, f64({}), 0), {0, 0}, {0, 0}, {-1, 0}); }},
      {ErrorKind::kShape,
       "concatenate: operand 1 is float64[2], operand 0 is float64[2,3]",
       {f64({2, 3}), f64({2})},
       [](Builder&, const Values& v) { return concatenate(v, 0); }},
      {ErrorKind::kDType,
       "operands must have equal dtypes, got float64[2] and int32[2]",
       {f64({2}), i32({2})},
       [](Builder&, const Values& v) { return concatenate(v, 0); }},
      {ErrorKind::kDType,
       "gather: indices must be integers, got float64[2]",
       {f64({3}), f64({2})},
       [](Builder&, const Values& v) { return gather(v[0], v[1], 0, 0); }},
      {ErrorKind::kShape,
       "batch axis 0 has size 3 in the operand",
       {f64({3, 2}), i32({2})},
       [](Builder&, const Values& v) { return gather(v[0], v[1], 1, 1); }},
      {ErrorKind::kValue,
       "2 batch axes do not fit axis 1",
       {f64({3, 2}), i32({3, 2})},
       [](Builder&, const Values& v) { return gather(v[0], v[1], 1, 2); }},
      {ErrorKind::kShape,
       "scatter_add: updates are float64[3], but operand float64[4] and indices int32[2] need "
       "float64[2]",
       {f64({4}), i32({2}), f64({3})},
       [](Builder&, const Values& v) { return scatter_add(v[0], v[1], v[2], 0, 0); }},
      {ErrorKind::kIndex, "dimension_size: axis 2 is out of range", x,
       [](Builder&, const Values& v) { return dimension_size(v[0], 2); }},
      {ErrorKind::kType,
       "set_length: the length must be an int32 scalar, got float64[]",
       {f64({2}), f64({})},
       [](Builder&, const Values& v) { return set_length(v[0], v[1], 0); }},
      {ErrorKind::kValue,
       "full: value 300 does not fit uint8",
       {},
       [](Builder& b, const Values&) {
         return b.bind1(
             get_primitive("full"), {},
             Attrs::make({{"shape", Ints{}}, {"dtype", DType::kUInt8}, {"value", int64_t{300}}, {"weak", false}}));
       }},
      {ErrorKind::kType,
       "the value of a float32 array must be a real",
       {},
       [](Builder& b, const Values&) {
         return b.bind1(get_primitive("full"), {},
                        Attrs::make({{"shape", Ints{}}, {"dtype", DType::kFloat32}, {"value", true}, {"weak", false}}));
       }},
      {ErrorKind::kDType,
       "iota: takes integer, float or complex dtypes, got bool[2]",
       {},
       [](Builder& b, const Values&) { return iota(b, Aval(DType::kBool, {2}), 0); }},
      {ErrorKind::kIndex, "a scalar has no axes", {}, [](Builder& b, const Values&) { return iota(b, i32({}), 0); }},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string text = message_of([&] { graph_of(mistake.avals, mistake.body); }, mistake.kind);
    EXPECT_NE(text.find(mistake.message), std::string::npos) << "expected: " << mistake.message << "\ngot: " << text;
  }
}

// Ragged axes that an op cannot follow.
TEST(Errors, RaggedAxesThatAreSplitOrMerged) {
  const auto mask_error = [](const Aval& aval, int axis, const Body& body) {
    const GraphPtr graph = graph_of({aval}, body);
    return message_of(
        [&] {
          Builder builder;
          Masked x{builder.input(aval), Values(aval.rank())};
          x.lengths[axis] = builder.input(i32({}));
          mask_inline(builder, *graph, {x});
        },
        ErrorKind::kUnsupported);
  };
  EXPECT_NE(mask_error(f64({6}), 0, [](Builder&, const Values& v) { return reshape(v[0], {2, 3}); })
                .find("cannot reshape float64[6] to (2, 3): ragged axis 0 would be split"),
            std::string::npos);
  EXPECT_NE(mask_error(f64({2, 3}), 1, [](Builder&, const Values& v) { return reshape(v[0], {6}); })
                .find("ragged axis 1 would be merged with the axis before it"),
            std::string::npos);
  EXPECT_NE(mask_error(f64({1}), 0, [](Builder&, const Values& v) { return reshape(v[0], {1, 1}); }).find("ambiguous"),
            std::string::npos);
  EXPECT_NE(mask_error(f64({1}), 0, [](Builder&, const Values& v) { return broadcast(v[0], {4}, {0}); })
                .find("ragged with a bound of 1"),
            std::string::npos);
}

TEST(Errors, LengthsOfExamplesInsideAMask) {
  const GraphPtr graph =
      graph_of({f64({3}), i32({})}, [](Builder&, const Values& v) { return set_length(v[0], v[1], 0); });
  const std::string text = message_of(
      [&] {
        Builder builder;
        const std::vector<Batched> operands{{builder.input(f64({2, 3})), 0}, {builder.input(i32({2})), 0}};
        get_primitive("set_length").batch(builder, operands, {2}, graph->attrs_ptr(graph->equations()[0]));
      },
      ErrorKind::kUnsupported);
  EXPECT_NE(text.find("put the vmap outside"), std::string::npos) << text;
}

TEST(Records, EverySlotIsFilledOrExplained) {
  for (const char* name : {"full", "iota", "broadcast", "reshape", "transpose", "reverse", "slice", "pad",
                           "concatenate", "ragged_concatenate", "ragged_window", "ragged_place", "gather",
                           "scatter_add", "dimension_size", "set_length"}) {
    const Primitive& p = get_primitive(name);
    const auto explained = [&](bool filled, const char* slot) { return filled || p.absent.count(slot) != 0; };
    EXPECT_TRUE(p.type) << name;
    EXPECT_TRUE(explained(bool(p.jvp), "jvp")) << name;
    EXPECT_TRUE(explained(bool(p.transpose), "transpose")) << name;
    EXPECT_TRUE(explained(bool(p.batch), "batch")) << name;
    EXPECT_TRUE(explained(bool(p.mask), "mask")) << name;
    EXPECT_TRUE(explained(bool(p.element), "element")) << name;
  }
}

}  // namespace
}  // namespace ct
