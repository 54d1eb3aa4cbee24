// What each ScalarOp does to C++ numbers: the one definition that the reference evaluator and the prebuilt kernels
// both instantiate.
//
//   defined_v<op, T>      whether `op` is defined on compute type T
//   apply<op>(x[, y])     its value; the result type differs from T for comparisons, is_finite and complex parts
//   ResultType<op, T>     that type
//
// T is a compute type (float_types.h): bool, an integer, float, double or complex. The small floats are computed in
// float and rounded by whoever stores the result. The rules for wrap-around, division by zero, NaN and so on are
// stated once, in ir/scalar_op.h.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "interpreter/elementary.h"
#include "ir/scalar_op.h"
#include "runtime/float_types.h"

namespace ct {

namespace scalar_semantics {

template <class T>
inline constexpr bool is_bool_v = std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_integer_v = std::is_integral_v<T> && !is_bool_v<T>;
template <class T>
inline constexpr bool is_real_v = std::is_floating_point_v<T>;

constexpr bool is_complex_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
    case ScalarOp::kSign:
    case ScalarOp::kSqrt:
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kTanh:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kIsFinite:
    case ScalarOp::kReal:
    case ScalarOp::kImag:
    case ScalarOp::kConj:
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kPow:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
      return true;
    default:
      return false;
  }
}

constexpr bool is_transcendental(ScalarOp op) {
  return (op >= ScalarOp::kSqrt && op <= ScalarOp::kCos) || op == ScalarOp::kAtan2;
}
constexpr bool is_bitwise(ScalarOp op) {
  return op == ScalarOp::kNot || op == ScalarOp::kAnd || op == ScalarOp::kOr || op == ScalarOp::kXor;
}
constexpr bool is_shift(ScalarOp op) { return op >= ScalarOp::kShl && op <= ScalarOp::kShrArithmetic; }
constexpr bool counts_bits(ScalarOp op) { return op == ScalarOp::kPopulationCount || op == ScalarOp::kLeadingZeros; }
constexpr bool is_rounding(ScalarOp op) { return op >= ScalarOp::kFloor && op <= ScalarOp::kRound; }

template <class T>
constexpr bool defined(ScalarOp op) {
  if constexpr (is_complex_v<T>) {
    return is_complex_function(op);
  } else if constexpr (is_bool_v<T>) {
    return is_bitwise(op) || is_comparison(op) || op == ScalarOp::kAdd || op == ScalarOp::kMul ||
           op == ScalarOp::kMax || op == ScalarOp::kMin || op == ScalarOp::kIsFinite;
  } else if constexpr (is_integer_v<T>) {
    return !is_transcendental(op) && op != ScalarOp::kComplex;
  } else {
    return !is_bitwise(op) && !is_shift(op) && !counts_bits(op);
  }
}

// Same-width arithmetic without undefined behaviour: in unsigned, where it wraps. Narrow types would promote to int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <ScalarOp op, class T>
auto unary_integer(T x) {
  if constexpr (op == ScalarOp::kNeg) {
    return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
  } else if constexpr (op == ScalarOp::kAbs) {
    return x < T{0} ? static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x)) : x;
  } else if constexpr (op == ScalarOp::kSign) {
    return static_cast<T>(x > T{0} ? 1 : (x == T{0} ? 0 : -1));
  } else if constexpr (op == ScalarOp::kNot) {
    return static_cast<T>(~x);
  } else if constexpr (op == ScalarOp::kPopulationCount) {
    return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  } else if constexpr (op == ScalarOp::kLeadingZeros) {
    return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
  } else if constexpr (op == ScalarOp::kIsFinite) {
    return true;
  } else if constexpr (op == ScalarOp::kImag) {
    return T{0};
  } else {
    static_assert(is_rounding(op) || op == ScalarOp::kReal || op == ScalarOp::kConj);
    return x;
  }
}

// By squaring; negative exponents truncate the true result, and 0 to a negative power is 0.
template <class T>
T integer_power(T base, T exponent) {
  using W = Wrapping<T>;
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return T{1};
      if (base == -1) return (exponent & 1) ? T{-1} : T{1};
      return T{0};
    }
  }
  W result = 1;
  W square = static_cast<W>(base);
  for (auto n = static_cast<std::make_unsigned_t<T>>(exponent); n != 0; n = static_cast<decltype(n)>(n >> 1)) {
    if (n & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <ScalarOp op, class T>
auto binary_integer(T x, T y) {
  using W = Wrapping<T>;
  using Unsigned = std::make_unsigned_t<T>;
  constexpr unsigned kBits = sizeof(T) * 8;
  if constexpr (op == ScalarOp::kAdd) {
    return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  } else if constexpr (op == ScalarOp::kSub) {
    return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  } else if constexpr (op == ScalarOp::kMul) {
    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  } else if constexpr (op == ScalarOp::kDiv) {
    if (y == 0) return static_cast<T>(-1);
    // The least number by -1 overflows: its wrapped negation is itself.
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return static_cast<T>(W{0} - static_cast<W>(x));
    }
    return static_cast<T>(x / y);
  } else if constexpr (op == ScalarOp::kRem) {
    if (y == 0) return x;
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return T{0};
    }
    return static_cast<T>(x % y);
  } else if constexpr (op == ScalarOp::kPow) {
    return integer_power(x, y);
  } else if constexpr (op == ScalarOp::kShl) {
    return static_cast<Unsigned>(y) < kBits ? static_cast<T>(static_cast<W>(x) << static_cast<Unsigned>(y)) : T{0};
  } else if constexpr (op == ScalarOp::kShrLogical) {
    return static_cast<Unsigned>(y) < kBits ? static_cast<T>(static_cast<Unsigned>(x) >> static_cast<Unsigned>(y))
                                            : T{0};
  } else {
    static_assert(op == ScalarOp::kShrArithmetic);
    const auto count = static_cast<Unsigned>(y) < kBits ? static_cast<unsigned>(static_cast<Unsigned>(y)) : kBits - 1;
    return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> count);
  }
}

template <ScalarOp op, class T>
auto unary_real(T x) {
  if constexpr (op == ScalarOp::kNeg) {
    return -x;
  } else if constexpr (op == ScalarOp::kAbs) {
    return std::fabs(x);
  } else if constexpr (op == ScalarOp::kSign) {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);  // zeros and NaN are their own sign
  } else if constexpr (op == ScalarOp::kFloor) {
    return std::floor(x);
  } else if constexpr (op == ScalarOp::kCeil) {
    return std::ceil(x);
  } else if constexpr (op == ScalarOp::kRound) {
    return std::nearbyint(x);
  } else if constexpr (op == ScalarOp::kSqrt) {
    return std::sqrt(x);
  } else if constexpr (is_elementary(op)) {
    return elementary<op>(x);
  } else if constexpr (op == ScalarOp::kIsFinite) {
    return std::fabs(x) <= std::numeric_limits<T>::max();
  } else if constexpr (op == ScalarOp::kImag) {
    return T(0);
  } else {
    static_assert(op == ScalarOp::kReal || op == ScalarOp::kConj);
    return x;
  }
}

template <ScalarOp op, class T>
auto binary_real(T x, T y) {
  if constexpr (op == ScalarOp::kAdd) {
    return x + y;
  } else if constexpr (op == ScalarOp::kSub) {
    return x - y;
  } else if constexpr (op == ScalarOp::kMul) {
    return x * y;
  } else if constexpr (op == ScalarOp::kDiv) {
    return x / y;
  } else if constexpr (op == ScalarOp::kRem) {
    return std::fmod(x, y);
  } else if constexpr (is_elementary(op)) {
    return elementary<op>(x, y);
  } else {
    static_assert(op == ScalarOp::kComplex);
    return std::complex<T>(x, y);
  }
}

// The textbook formulas: std::complex's operators spend most of their time repairing NaNs, and the compiler's loops
// do not repair them.
template <class C>
C complex_multiply(C x, C y) {
  return C(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}

// Smith's method: no overflow of |y|^2.
template <class C>
C complex_divide(C x, C y) {
  using T = typename C::value_type;
  if (std::fabs(y.real()) >= std::fabs(y.imag())) {
    if (y == C(0)) return C(x.real() / std::fabs(y.real()), x.imag() / std::fabs(y.real()));
    const T ratio = y.imag() / y.real();
    const T scale = T(1) / (y.real() + y.imag() * ratio);
    return C((x.real() + x.imag() * ratio) * scale, (x.imag() - x.real() * ratio) * scale);
  }
  const T ratio = y.real() / y.imag();
  const T scale = T(1) / (y.imag() + y.real() * ratio);
  return C((x.real() * ratio + x.imag()) * scale, (x.imag() * ratio - x.real()) * scale);
}

template <ScalarOp op, class C>
auto unary_complex(C x) {
  using T = typename C::value_type;
  const T a = x.real();
  const T b = x.imag();
  if constexpr (op == ScalarOp::kNeg) {
    return C(-a, -b);
  } else if constexpr (op == ScalarOp::kAbs) {
    return std::hypot(a, b);
  } else if constexpr (op == ScalarOp::kSign) {
    const T magnitude = std::hypot(a, b);
    return magnitude == T(0) ? C(0) : C(a / magnitude, b / magnitude);
  } else if constexpr (op == ScalarOp::kSqrt) {
    return std::sqrt(x);
  } else if constexpr (op == ScalarOp::kExp) {
    return std::exp(x);
  } else if constexpr (op == ScalarOp::kExpm1) {
    if (b == T(0)) return C(std::expm1(a), b);
    if (!std::isfinite(b) && std::isinf(a)) return a < T(0) ? C(-1, 0) : C(a, std::numeric_limits<T>::quiet_NaN());
    // Here 1 is below the last digit, and exp knows results that are finite where its magnitude is not.
    if (a > T(60)) return std::exp(x);
    const T half_sine = std::sin(b / 2);
    return C(std::expm1(a) * std::cos(b) - 2 * half_sine * half_sine, std::exp(a) * std::sin(b));
  } else if constexpr (op == ScalarOp::kLog) {
    return std::log(x);
  } else if constexpr (op == ScalarOp::kLog1p) {
    // |1 + x|^2 - 1 without cancellation while x is small.
    const T real = std::fabs(a) < T(0.5) && std::fabs(b) < T(0.5) ? std::log1p(a * (2 + a) + b * b) / 2
                                                                  : std::log(std::hypot(1 + a, b));
    return C(real, std::atan2(b, 1 + a));
  } else if constexpr (op == ScalarOp::kTanh) {
    return std::tanh(x);
  } else if constexpr (op == ScalarOp::kSin) {
    return std::sin(x);
  } else if constexpr (op == ScalarOp::kCos) {
    return std::cos(x);
  } else if constexpr (op == ScalarOp::kIsFinite) {
    return unary_real<ScalarOp::kIsFinite>(a) && unary_real<ScalarOp::kIsFinite>(b);
  } else if constexpr (op == ScalarOp::kReal) {
    return a;
  } else if constexpr (op == ScalarOp::kImag) {
    return b;
  } else {
    static_assert(op == ScalarOp::kConj);
    return C(a, -b);
  }
}

template <ScalarOp op, class C>
auto binary_complex(C x, C y) {
  if constexpr (op == ScalarOp::kAdd) {
    return C(x.real() + y.real(), x.imag() + y.imag());
  } else if constexpr (op == ScalarOp::kSub) {
    return C(x.real() - y.real(), x.imag() - y.imag());
  } else if constexpr (op == ScalarOp::kMul) {
    return complex_multiply(x, y);
  } else if constexpr (op == ScalarOp::kDiv) {
    return complex_divide(x, y);
  } else {
    static_assert(op == ScalarOp::kPow);
    if (y == C(0)) return C(1);
    if (x == C(0)) return y.real() > 0 ? C(0) : C(std::numeric_limits<typename C::value_type>::quiet_NaN());
    return std::exp(complex_multiply(y, std::log(x)));
  }
}

}  // namespace scalar_semantics

template <ScalarOp op, class T>
inline constexpr bool defined_v = scalar_semantics::defined<T>(op);

template <ScalarOp op, class T>
inline auto apply(T x) {
  static_assert(defined_v<op, T> && scalar_op_info(op).arity == 1);
  if constexpr (std::is_same_v<T, bool>) {
    return op == ScalarOp::kIsFinite ? true : !x;
  } else if constexpr (std::is_integral_v<T>) {
    return scalar_semantics::unary_integer<op>(x);
  } else if constexpr (is_complex_v<T>) {
    return scalar_semantics::unary_complex<op>(x);
  } else {
    return scalar_semantics::unary_real<op>(x);
  }
}

template <ScalarOp op, class T>
inline auto apply(T x, T y) {
  static_assert(defined_v<op, T> && scalar_op_info(op).arity == 2);
  if constexpr (op == ScalarOp::kEq) {
    return x == y;
  } else if constexpr (op == ScalarOp::kNe) {
    return x != y;
  } else if constexpr (op == ScalarOp::kLt) {
    return x < y;
  } else if constexpr (op == ScalarOp::kLe) {
    return x <= y;
  } else if constexpr (op == ScalarOp::kGt) {
    return x > y;
  } else if constexpr (op == ScalarOp::kGe) {
    return x >= y;
  } else if constexpr (op == ScalarOp::kMax) {
    return (x > y || x != x) ? x : y;
  } else if constexpr (op == ScalarOp::kMin) {
    return (x < y || x != x) ? x : y;
  } else if constexpr (op == ScalarOp::kAnd || (op == ScalarOp::kMul && std::is_same_v<T, bool>)) {
    return static_cast<T>(x & y);
  } else if constexpr (op == ScalarOp::kOr || (op == ScalarOp::kAdd && std::is_same_v<T, bool>)) {
    return static_cast<T>(x | y);
  } else if constexpr (op == ScalarOp::kXor) {
    return static_cast<T>(x ^ y);
  } else if constexpr (std::is_integral_v<T>) {
    return scalar_semantics::binary_integer<op>(x, y);
  } else if constexpr (is_complex_v<T>) {
    return scalar_semantics::binary_complex<op>(x, y);
  } else {
    return scalar_semantics::binary_real<op>(x, y);
  }
}

template <ScalarOp op, class T, int arity = scalar_op_info(op).arity>
struct ResultTypeOf {
  using type = decltype(apply<op>(T{}));
};
template <ScalarOp op, class T>
struct ResultTypeOf<op, T, 2> {
  using type = decltype(apply<op>(T{}, T{}));
};
template <ScalarOp op, class T>
using ResultType = typename ResultTypeOf<op, T>::type;

}  // namespace ct
