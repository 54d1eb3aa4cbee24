// Every ScalarOp on every dtype, and every conversion, compiled, against the definition that the interpreter uses.
#include <gmock/gmock.h>

#include <complex>
#include <optional>
#include <sstream>

#include "interpreter/scalar_semantics.h"
#include "tests/cpp/loop_testing.h"

namespace ct::loop {
namespace {

constexpr DType kComputing[] = {DType::kBool,    DType::kInt8,      DType::kInt16,     DType::kInt32,
                                DType::kInt64,   DType::kUInt8,     DType::kUInt16,    DType::kUInt32,
                                DType::kUInt64,  DType::kFloat16,   DType::kBFloat16,  DType::kFloat32,
                                DType::kFloat64, DType::kComplex64, DType::kComplex128};

// The host, and the least x86 there is: what the emitter does differs most between these.
std::vector<jit::TargetOptions> two_targets() {
  return {test_targets().begin(), test_targets().begin() + std::min<size_t>(2, test_targets().size())};
}

// Values at which operations differ: zeros, ends of ranges, halves, specials, and some ordinary ones.
template <class T>
std::vector<T> interesting_values(int count, uint64_t seed) {
  std::vector<double> chosen = {0,  1,  2,  3,  5,    7,   8,    31,  32,  63,   64,  100,
                                -1, -2, -3, -7, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e-3};
  if constexpr (!std::is_integral_v<T>) {
    for (double special : {HUGE_VAL, -HUGE_VAL, std::nan(""), 6e-8, 1e-40, 65504.0, 3e38, 448.0, 500.0})
      chosen.push_back(special);
  }
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i) {
    double x =
        i % 3 != 2 ? chosen[random() % chosen.size()] : std::ldexp(static_cast<double>(random() % 2001) - 1000, -7);
    if constexpr (is_complex_v<T>) {
      double y = chosen[random() % 24];
      using R = typename T::value_type;
      values.push_back(T(static_cast<R>(std::isfinite(x) ? x : 4), static_cast<R>(y)));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      auto bits = static_cast<T>(random());
      T ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), bits};
      values.push_back(i % 5 == 0 ? ends[random() % 3] : static_cast<T>(static_cast<int64_t>(x)));
    } else {
      values.push_back(convert_element<T>(x));
    }
  }
  return values;
}

// Element `i` as a complex number in double precision, whatever its dtype: exact for all but 64-bit integers, compared
// as bytes first.
std::complex<double> element_at(DType dtype, const std::string& bytes, int i) {
  return dispatch_dtype(dtype, [&](auto tag) -> std::complex<double> {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (is_complex_v<T>) {
      return {value.real(), value.imag()};
    } else {
      return static_cast<double>(static_cast<ComputeType<T>>(value));
    }
  });
}

double epsilon_of(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    case DType::kFloat32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

// "" if the arrays agree to `tolerance` epsilons, relative to the numbers' size; equal NaNs agree, and zeros of any
// sign.
std::string difference(DType dtype, const std::string& got, const std::string& want, double tolerance) {
  int size = dtype_size(dtype);
  for (int i = 0; i * size < static_cast<int>(want.size()); ++i) {
    if (got.compare(i * size, size, want, i * size, size) == 0) continue;
    std::complex<double> x = element_at(dtype, got, i), y = element_at(dtype, want, i);
    // Where a function of a complex number is not finite, conventions about which part is NaN differ.
    if (is_complex(dtype) && !(std::isfinite(y.real()) && std::isfinite(y.imag()))) continue;
    if (is_float(dtype) && std::isnan(x.real()) && std::isnan(y.real())) continue;
    if (is_inexact(dtype) && (x == y || std::abs(x - y) <= tolerance * epsilon_of(dtype) * std::abs(y))) continue;
    std::ostringstream text;
    text << "element " << i << " is " << x << ", not " << y;
    return text.str();
  }
  return "";
}

template <class T>
std::string bytes_of(const T* values, int count) {
  return std::string(reinterpret_cast<const char*>(values), sizeof(T) * count);
}

std::string values_as_bytes(DType dtype, int count, uint64_t seed) {
  return dispatch_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> values = interesting_values<T>(count, seed);
    std::unique_ptr<T[]> flat(new T[count]);
    std::copy(values.begin(), values.end(), flat.get());
    return bytes_of(flat.get(), count);
  });
}

// What an operation should give, as bytes of the dtype that it gives; no dtype where it is not defined.
struct Expected {
  std::optional<DType> dtype;
  std::string bytes;
};
using Oracle = Expected (*)(DType dtype, const std::string& x, const std::string& y);

template <ScalarOp op, class T>
Expected expect(DType dtype, const std::string& x_bytes, const std::string& y_bytes) {
  using C = ComputeType<T>;
  if constexpr (!defined_v<op, C> || (is_complex_v<T> && op == ScalarOp::kComplex)) {
    return {};
  } else {
    auto result_of = [](C x, [[maybe_unused]] C y) {
      if constexpr (scalar_op_info(op).arity == 1) {
        return apply<op>(x);
      } else {
        return apply<op>(x, y);
      }
    };
    using R = decltype(result_of(C{}, C{}));
    // Results that are neither bool nor a change between real and complex are stored as T.
    constexpr bool kAsT = !std::is_same_v<R, bool> && is_complex_v<R> == is_complex_v<T>;
    using S = std::conditional_t<kAsT, T, R>;
    auto x = reinterpret_cast<const T*>(x_bytes.data());
    auto y = reinterpret_cast<const T*>(y_bytes.data());
    Expected expected;
    expected.dtype = std::is_same_v<S, bool> ? DType::kBool
                     : kAsT                  ? dtype
                     : is_complex_v<R>       ? complex_dtype(dtype)
                                             : real_dtype(dtype);
    for (size_t i = 0; i < x_bytes.size() / sizeof(T); ++i) {
      S value = static_cast<S>(result_of(static_cast<C>(x[i]), static_cast<C>(y[i])));
      expected.bytes.append(reinterpret_cast<const char*>(&value), sizeof(S));
    }
    return expected;
  }
}

template <class T>
const std::vector<Oracle>& oracles() {
  static const std::vector<Oracle> list = {
#define CT_ORACLE(enumerator, name, arity) &expect<ScalarOp::enumerator, T>,
      CT_SCALAR_OPS(CT_ORACLE)
#undef CT_ORACLE
  };
  return list;
}

TEST(Operations, AgreeWithTheInterpretersDefinition) {
  constexpr int kCount = 163;
  for (DType dtype : kComputing) {
    const std::vector<Oracle>& list = dispatch_dtype(
        dtype, [](auto tag) -> const std::vector<Oracle>& { return oracles<typename decltype(tag)::type>(); });
    std::string x = values_as_bytes(dtype, kCount, 1), y = values_as_bytes(dtype, kCount, 2);
    for (size_t number = 0; number < list.size(); ++number) {
      auto op = static_cast<ScalarOp>(number);
      Expected expected = list[number](dtype, x, y);
      if (!expected.dtype) continue;
      Builder b;
      BufferId a = b.input(dtype, kCount), c = b.input(dtype, kCount), out = b.output(*expected.dtype, kCount);
      b.for_each(kCount, {.vectorize = true}, [&](Index i) {
        Scalar left = b.load(a, i);
        b.store(out, i, scalar_op_info(op).arity == 1 ? b.apply(op, left) : b.apply(op, left, b.load(c, i)));
      });
      Program program = b.finish();
      // The polynomials' own bounds are tested elsewhere; this is about semantics.
      bool inexact = scalar_semantics::is_transcendental(op) || op == ScalarOp::kPow;
      double tolerance = inexact ? 4 : 0;
      if (is_complex(dtype)) tolerance = op == ScalarOp::kPow ? 1000 : 16;
      for (const jit::TargetOptions& target : two_targets()) {
        std::string got(expected.bytes.size(), '\0');
        Runner(program, target)({x.data(), y.data()}, {got.data()});
        EXPECT_EQ(difference(*expected.dtype, got, expected.bytes, tolerance), "")
            << scalar_op_info(op).name << " " << dtype_name(dtype) << " " << target.cpu;
      }
    }
  }
}

template <class From, class To>
std::string converted(const std::string& bytes) {
  std::string result;
  for (size_t i = 0; i < bytes.size() / sizeof(From); ++i) {
    To value = convert_element<To>(reinterpret_cast<const From*>(bytes.data())[i]);
    result.append(reinterpret_cast<const char*>(&value), sizeof(To));
  }
  return result;
}

TEST(Operations, ConvertBetweenAllDtypes) {
  constexpr int kCount = 200;
  for (const jit::TargetOptions& target : two_targets()) {
    for (int from = 0; from < kNumDTypes; ++from) {
      auto source = static_cast<DType>(from);
      if (source == DType::kKey) continue;
      std::string x = values_as_bytes(source, kCount, 3);
      // One program converts to every dtype.
      Builder b;
      BufferId in = b.input(source, kCount);
      std::vector<std::string> want, got;
      std::vector<DType> dtypes;
      for (int to = 0; to < kNumDTypes; ++to) {
        auto result = static_cast<DType>(to);
        if (result == DType::kKey) continue;
        BufferId out = b.output(result, kCount);
        b.for_each(kCount, {.vectorize = true}, [&](Index i) { b.store(out, i, b.convert(b.load(in, i), result)); });
        want.push_back(dispatch_dtype(source, [&](auto source_tag) {
          return dispatch_dtype(result, [&](auto result_tag) {
            return converted<typename decltype(source_tag)::type, typename decltype(result_tag)::type>(x);
          });
        }));
        got.emplace_back(want.back().size(), '\0');
        dtypes.push_back(result);
      }
      std::vector<void*> outputs;
      for (std::string& bytes : got) outputs.push_back(bytes.data());
      Runner(b.finish(), target)({x.data()}, outputs);
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(difference(dtypes[i], got[i], want[i], 0), "")
            << dtype_name(source) << " to " << dtype_name(dtypes[i]) << " " << target.cpu;
      }
    }
  }
}

TEST(Operations, RoundFloat64ToFloat16Once) {
  // Just above half way between two float16 numbers; rounding to float32 first would make it a tie.
  double x = 1.0 + 0x1p-11 + 0x1p-40, y = 1.0 + 0x1p-11;
  for (const jit::TargetOptions& target : test_targets()) {
    Builder b;
    BufferId in = b.input(DType::kFloat64, 2), out = b.output(DType::kFloat16, 2);
    b.for_each(2, {}, [&](Index i) { b.store(out, i, b.convert(b.load(in, i), DType::kFloat16)); });
    double data[] = {x, y};
    Float16 result[2];
    Runner(b.finish(), target)({data}, {result});
    EXPECT_EQ(static_cast<float>(result[0]), 1.0f + 0x1p-10f);
    EXPECT_EQ(static_cast<float>(result[1]), 1.0f);
  }
}

TEST(Operations, BitcastKeepsBits) {
  Builder b;
  BufferId in = b.input(DType::kBFloat16, 20), words = b.output(DType::kUInt16, 20),
           floats = b.input(DType::kFloat32, 20), bits = b.output(DType::kUInt32, 20);
  b.for_each(20, {.vectorize = true}, [&](Index i) {
    b.store(words, i, b.bitcast(b.load(in, i), DType::kUInt16));
    b.store(bits, i, b.bitcast(b.load(floats, i), DType::kUInt32));
  });
  std::vector<uint16_t> x(20), y(20);
  std::vector<uint32_t> p(20), q(20);
  for (int i = 0; i < 20; ++i) {
    x[i] = static_cast<uint16_t>(0x3f00 + 37 * i);
    p[i] = 0x7f000000u + 99u * static_cast<uint32_t>(i);
  }
  Runner(b.finish())({x.data(), p.data()}, {y.data(), q.data()});
  EXPECT_EQ(x, y);
  EXPECT_EQ(p, q);
}

}  // namespace
}  // namespace ct::loop
