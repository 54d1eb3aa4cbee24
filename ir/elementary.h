// Transcendental functions of float32 and float64, once for both tiers: compiled code (jit/loop/expand/math.cc makes
// loop IR of them) and the interpreter (interpreter/elementary.cc runs them on numbers). Branch-free polynomials,
// without a call to libm, so that they vectorise, and so that the tiers agree in every bit.
//
// Each function is the textbook reduction to a short interval, a polynomial there (elementary_tables.h), and a
// reconstruction; what is chosen with care is where the roundings fall. Bounds in ulp are stated at each definition and
// held by tests/cpp/loop_math_test.cc against long double. All are right for zeros (sign included), subnormals,
// infinities and NaN, and with or without a fused multiply-add.
//
// `Machine` is what computes:
//
//   Real, Integer, Bool         a number, an integer of its width, a condition; with operators
//   Word, Wide                  a uint64; the machine of float64
//   is_double, wide()
//   real(double), integer(int64_t), word(uint64_t), small(int64_t)    constants; the last of an int32
//   fma(a, b, c)                a b + c, in one rounding where the target has it, else in two
//   select(condition, a, b)     a or b
//   scale(x, n, whole)          x 2^n, rounded once; n as an integer and as a number
//   bits_of, from_bits, absolute, floor, is_finite, max, min, and conversions, named like in C++
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <tuple>

#include "ir/elementary_tables.h"

namespace ct {

inline constexpr double kHugeAngle = 0x1p20;  // from here on the reduction of sin and cos is another

template <class Machine>
class Elementary {
 public:
  using Real = typename Machine::Real;
  using Integer = typename Machine::Integer;
  using Bool = typename Machine::Bool;

  explicit Elementary(Machine machine) : m(machine) {}

  // float32: 1.1 ulp. float64: 1.1 ulp.
  Real exp(Real x) {
    auto [n, r, whole] = reduce_exp(m.is_double ? clamp(x, -746, 710) : clamp(x, -104, 89));
    return m.scale(exp_polynomial(r) + real(1), n, whole);
  }

  // float32: 1.5 ulp. float64: 2 ulp.
  Real expm1(Real x) {
    auto [n, r, whole] = reduce_exp(m.is_double ? clamp(x, -60, 710) : clamp(x, -30, 89));
    Real p = exp_polynomial(r);
    const int threshold = m.is_double ? 54 : 25;
    Bool is_big = n > m.integer(threshold);
    Real power = power_of_two(m.select(is_big, m.integer(0), n));
    Real result = m.select(is_big, m.scale(p + real(1), n, whole), m.fma(power, p, power - real(1)));
    return m.select(x == real(0), x, result);
  }

  // float32: 1 ulp. float64: 1 ulp.
  Real log(Real x) {
    auto [e, f] = reduce_log(x);
    Real result = log_sum(e, f, real(0));
    Real infinity = real(HUGE_VAL);
    result = m.select(x == infinity, x, result);
    result = m.select(x > real(0), result, real(NAN));
    return m.select(x == real(0), -infinity, result);
  }

  // float32: 1.2 ulp. float64: 1.2 ulp.
  Real log1p(Real x) {
    Real u = x + real(1);
    // What the addition dropped, relative to u.
    Real dropped = m.select(x > real(1), real(1) - (u - x), x - (u - real(1))) / u;
    auto [e, f] = reduce_log(u);
    Bool is_small = (x > real(-0.2928)) & (x < real(0.4142));
    Real zero = real(0);
    Real result = log_sum(m.select(is_small, zero, e), m.select(is_small, x, f), m.select(is_small, zero, dropped));
    Real infinity = real(HUGE_VAL);
    result = m.select(x == infinity, x, result);
    result = m.select(x > real(-1), result, real(NAN));
    result = m.select(x == real(-1), -infinity, result);
    return m.select(x == zero, x, result);
  }

  // float32: 1.3 ulp. float64: 1.5 ulp.
  Real tanh(Real x) {
    Real size = m.absolute(x);
    Real z = x * x;
    Real inner =
        m.fma(size * z, m.is_double ? polynomial(tables::kTanhDouble, z) : polynomial(tables::kTanhFloat, z), size);
    // From the limit on the result rounds to 1. NaN passes.
    Real limit = real(m.is_double ? 20 : 10);
    auto [n, r, whole] = reduce_twice(m.select(size > limit, limit, size));
    Real square = r * r;
    Real half = m.fma(square,
                      m.is_double ? polynomial_in_pairs(doubled(tables::kExpDouble), r, square)
                                  : polynomial_in_pairs(doubled(tables::kExpFloat), r, square),
                      r);
    Real power = m.scale(m.fma(real(2), half, real(1)), n, whole);
    Real outer = real(1) - real(2) / (power + real(1));
    return with_sign(m.select(size < real(0.625), inner, outer), x);
  }

  // float32: 1.2 ulp. float64: 1.2 ulp.
  Real erf(Real x) {
    Real size = m.absolute(x);
    Real limit = real(m.is_double ? 6 : 4);
    size = m.select(size > limit, limit, size);
    Real z = x * x;
    Real inner = m.fma(x, m.is_double ? polynomial(tables::kErfDouble, z) : polynomial(tables::kErfFloat, z), x);
    Real u = (size - real(2)) / (size + real(2));
    Real scaled = m.is_double ? polynomial(tables::kErfcDouble, u) : polynomial(tables::kErfcFloat, u);
    Real outer = real(1) - exp(-(size * size)) * scaled;
    return m.select(size < real(1), inner, copysign(outer, x));
  }

  // float32: 1.5 ulp. float64: 1 ulp. For every argument.
  Real sin_or_cos(Real x, bool cosine) {
    Elementary<typename Machine::Wide> wide(m.wide());
    auto angle = m.widened(x);
    auto q = wide.reduce_angle(angle);
    // Large arguments are rare: all lanes skip this unless one has such.
    auto [whole, high, low] = wide.m.either(
        !(wide.m.absolute(angle) < wide.real(kHugeAngle)), [&] { return wide.reduce_huge_angle(angle); },
        [&] { return q; });
    auto quadrant = wide.m.to_small(whole);
    if (cosine) quadrant = quadrant + m.small(1);
    Real r = m.narrowed(high);
    Real z = r * r;
    Real half = real(0.5) * z;
    Real w = real(1) - half;
    Real sine, cosine_value;
    if constexpr (Machine::kKnown) {
      // Chosen when C++ is compiled: the other's operands have other types.
      if constexpr (Machine::kIsDouble) {
        sine_and_cosine_of_double(r, z, half, w, low, sine, cosine_value);
      } else {
        sine_and_cosine_of_float(r, z, half, w, sine, cosine_value);
      }
    } else if (m.is_double) {
      sine_and_cosine_of_double(r, z, half, w, low, sine, cosine_value);
    } else {
      sine_and_cosine_of_float(r, z, half, w, sine, cosine_value);
    }
    Real result = m.select((quadrant & m.small(1)) == m.small(0), sine, cosine_value);
    result = m.select((quadrant & m.small(2)) == m.small(0), result, -result);
    if (!cosine) result = m.select(x == real(0), x, result);
    return m.select(m.is_finite(x), result, x - x);
  }

  // float32: 0.6 ulp (it is computed in float64). float64: 1.5 ulp.
  [[gnu::always_inline]] Real pow(Real x, Real y) {
    Real size = m.absolute(x);
    Real result;
    if constexpr (Machine::kKnown) {
      if constexpr (Machine::kIsDouble) {
        result = pow_of_double(x, y, size);
      } else {
        result = pow_of_float(y, size);
      }
    } else {
      result = m.is_double ? pow_of_double(x, y, size) : pow_of_float(y, size);
    }
    // Signs and special cases as in C.
    Real one = real(1);
    Bool is_integer = m.floor(y) == y;
    Real half = y * real(0.5);
    Bool is_odd = is_integer & (m.floor(half) != half);
    Bool sign = m.bits_of(x) < m.integer(0);
    result = m.select(sign & is_odd, -result, result);
    result =
        m.select((x < real(0)) & (x > real(-HUGE_VAL)) & !is_integer & (y == y) & m.is_finite(y), real(NAN), result);
    Bool minus_one_to_infinity = (size == one) & !m.is_finite(y) & (y == y);
    return m.select((x == one) | (y == real(0)) | minus_one_to_infinity, one, result);
  }

  // float32: 0.6 ulp (it is computed in float64). float64: 2.4 ulp.
  Real atan2(Real y, Real x) {
    if constexpr (Machine::kKnown) {
      if constexpr (Machine::kIsDouble) {
        return atan2_of_double(y, x);
      } else {
        return atan2_of_float(y, x);
      }
    } else {
      return m.is_double ? atan2_of_double(y, x) : atan2_of_float(y, x);
    }
  }

 protected:
  template <class Other>
  friend class Elementary;

  // A number as an unevaluated sum of two, about 106 bits.
  struct Double2 {
    Real high, low;
  };

  Real real(double value) { return m.real(value); }
  int mantissa_bits() const { return m.is_double ? 52 : 23; }
  int bias() const { return m.is_double ? 1023 : 127; }

  // Unrolled by the language, so that a loop over elements has no loop inside.
  template <size_t n>
  Real polynomial(const double (&coefficients)[n], Real x) {
    return continued<n - 1>(coefficients, x, real(coefficients[n - 1]));
  }
  template <size_t left, size_t n>
  Real continued(const double (&coefficients)[n], Real x, Real sum) {
    if constexpr (left == 0) {
      return sum;
    } else {
      return continued<left - 1>(coefficients, x, m.fma(sum, x, real(coefficients[left - 1])));
    }
  }

  // The same with coefficients taken in pairs: half as long a chain of operations. `square` is x * x.
  template <size_t n>
  Real polynomial_in_pairs(const double (&coefficients)[n], Real x, Real square) {
    return polynomial_in_pairs(std::to_array(coefficients), x, square);
  }
  template <size_t n>
  Real polynomial_in_pairs(const std::array<double, n>& coefficients, Real x, Real square) {
    constexpr size_t kLast = (n - 1) / 2 * 2;
    return continued_in_pairs<kLast>(coefficients, x, square, pair<kLast>(coefficients, x));
  }
  template <size_t i, size_t n>
  Real pair(const std::array<double, n>& coefficients, Real x) {
    if constexpr (i + 1 < n) {
      return m.fma(real(coefficients[i + 1]), x, real(coefficients[i]));
    } else {
      return real(coefficients[i]);
    }
  }
  template <size_t left, size_t n>
  Real continued_in_pairs(const std::array<double, n>& coefficients, Real x, Real square, Real sum) {
    if constexpr (left == 0) {
      return sum;
    } else {
      return continued_in_pairs<left - 2>(coefficients, x, square, m.fma(sum, square, pair<left - 2>(coefficients, x)));
    }
  }

  Real with_sign(Real magnitude, Real sign) {  // magnitude >= 0
    Integer mask = m.integer(m.is_double ? INT64_MIN : INT32_MIN);
    return m.from_bits(m.bits_of(magnitude) | (m.bits_of(sign) & mask));
  }
  Real copysign(Real magnitude, Real sign) { return with_sign(m.absolute(magnitude), sign); }
  // 2^n for n that gives a normal number.
  Real power_of_two(Integer n) { return m.from_bits(m.shift_left(n + m.integer(bias()), mantissa_bits())); }

  // The integer nearest to x (|x| < 2^21 or 2^50), as a float and as an integer, by adding a number so large that it
  // has no fraction.
  struct Nearest {
    Real whole;
    Integer integer;
  };
  Nearest nearest(Real x) { return below_magic(x + magic()); }
  Nearest nearest_product(Real x, Real y) { return below_magic(m.fma(x, y, magic())); }
  Real magic() { return real(m.is_double ? 0x1.8p52 : 0x1.8p23); }
  Nearest below_magic(Real shifted) { return {shifted - magic(), m.bits_of(shifted) - m.bits_of(magic())}; }
  // The reverse, for small integers.
  Real to_real(Integer n) { return m.from_bits(n + m.bits_of(magic())) - magic(); }

  // x = n log 2 + r, |r| <= log(2) / 2, for x already clamped.
  struct ExpReduction {
    Integer n;
    Real r, whole;  // whole: n as a float
  };
  ExpReduction reduce_exp(Real x) {
    Nearest n = nearest_product(x, real(0x1.71547652b82fep+0));
    // The first product is exact: its constant has few enough bits.
    Real near = m.fma(n.whole, real(m.is_double ? -0x1.62e42fee00000p-1 : -0x1.63p-1), x);
    Real r = m.fma(n.whole, real(m.is_double ? -0x1.a39ef35793c76p-33 : 0x1.bd0105c610ca8p-13), near);
    return {n.integer, r, n.whole};
  }
  // 2 x = n log 2 + 2 r: the same numbers as those of 2 x, as halves and doubles are exact.
  ExpReduction reduce_twice(Real x) {
    Nearest n = nearest_product(x, real(0x1.71547652b82fep+1));
    Real near = m.fma(n.whole, real(m.is_double ? -0x1.62e42fee00000p-2 : -0x1.63p-2), x);
    Real r = m.fma(n.whole, real(m.is_double ? -0x1.a39ef35793c76p-34 : 0x1.bd0105c610ca8p-14), near);
    return {n.integer, r, n.whole};
  }
  // Coefficients of (exp(2 r) - 1 - 2 r) / (2 r^2).
  template <size_t n>
  static constexpr std::array<double, n> doubled(const double (&coefficients)[n]) {
    std::array<double, n> result{};
    double power = 2;
    for (size_t i = 0; i < n; ++i, power *= 2) result[i] = coefficients[i] * power;
    return result;
  }
  // exp(r) - 1.
  Real exp_polynomial(Real r) {
    Real square = r * r;
    return m.fma(square,
                 m.is_double ? polynomial_in_pairs(tables::kExpDouble, r, square)
                             : polynomial_in_pairs(tables::kExpFloat, r, square),
                 r);
  }
  // Between bounds, which may not be NaN: what is NaN passes.
  Real clamp(Real x, double low, double high) {
    Real below = m.select(x > real(high), real(high), x);
    return m.select(below < real(low), real(low), below);
  }

  // x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for x > 0; subnormals too.
  struct LogReduction {
    Real e, f;
  };
  LogReduction reduce_log(Real x) {
    Bool tiny = x < real(m.is_double ? 0x1p-1022 : 0x1p-126);
    const int lift = m.is_double ? 54 : 25;
    Integer bits = m.bits_of(m.select(tiny, x * real(m.is_double ? 0x1p54 : 0x1p25), x));
    // Biasing by sqrt(1/2) moves the exponent's step from powers of two to where the mantissa should wrap.
    Integer root = m.bits_of(real(0x1.6a09e667f3bcdp-1));
    Integer shifted = bits + (m.integer(int64_t{bias()} << mantissa_bits()) - root);
    Integer e = m.shift_right(shifted, mantissa_bits()) - m.integer(bias());
    Integer mantissa = shifted & m.integer((int64_t{1} << mantissa_bits()) - 1);
    Real f = m.from_bits(mantissa + root) - real(1);
    return {to_real(e - m.select(tiny, m.integer(lift), m.integer(0))), f};
  }
  // e log 2 + log(1 + f) + correction.
  Real log_sum(Real e, Real f, Real correction) {
    Real s = f / (f + real(2));
    Real z = s * s;
    Real rest = z * (m.is_double ? polynomial(tables::kLogDouble, z) : polynomial(tables::kLogFloat, z));
    Real half_square = real(0.5) * f * f;
    Real e_low = e * real(m.is_double ? 0x1.a39ef35793c76p-33 : 0x1.2fefa39ef3579p-17);
    Real e_high = e * real(m.is_double ? 0x1.62e42fee00000p-1 : 0x1.62e3p-1);
    return e_high - ((half_square - (s * (half_square + rest) + (e_low + correction))) - f);
  }

  Double2 quick_sum(Real a, Real b) {  // |a| >= |b|
    Real sum = a + b;
    return {sum, b - (sum - a)};
  }
  Double2 sum(Real a, Real b) {
    Real total = a + b;
    Real part = total - a;
    return {total, (a - (total - part)) + (b - part)};
  }
  Double2 product(Real a, Real b) {
    // Halves of 26 bits multiply exactly. A fused multiply-add would do it in one step, but not every target has it.
    Integer mask = m.integer(-(int64_t{1} << 27));
    Real a_high = m.from_bits(m.bits_of(a) & mask), b_high = m.from_bits(m.bits_of(b) & mask);
    Real a_low = a - a_high, b_low = b - b_high;
    Real high = a * b;
    return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
  }
  Double2 product(Double2 a, Double2 b) {
    Double2 p = product(a.high, b.high);
    return quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
  }
  Double2 sum(Double2 a, Double2 b) {
    Double2 s = sum(a.high, b.high);
    return quick_sum(s.high, s.low + (a.low + b.low));
  }

  // ------------------------------------------------------------------------------------------------------- sin, cos

  // x = quadrant * pi/2 + r, |r| <= pi/4 as a sum of two, for float64 x: (quadrant, high, low).
  using Quadrant = std::tuple<Integer, Real, Real>;

  Quadrant reduce_angle(Real x) {
    Nearest n = nearest(x * real(0x1.45f306dc9c883p-1));
    // pi/2 in pieces of 33 bits, so that their products with n < 2^20 are exact; the last piece has all its bits.
    Real t = x - n.whole * real(0x1.921fb54400000p+0);
    Real w = n.whole * real(0x1.0b4611a600000p-34);
    Real r = t - w;
    Real low = n.whole * real(0x1.3198a2e037073p-69) - ((t - r) - w);
    Real high = r - low;
    return {n.integer, high, (r - high) - low};
  }

  // Payne and Hanek: of the product of x's mantissa with 2/pi, only the bits around the binary point matter.
  Quadrant reduce_huge_angle(Real x) {
    using Word = typename Machine::Word;
    constexpr int64_t kWords = 1 + static_cast<int64_t>(std::size(tables::kTwoOverPi));  // a word of zeros comes first
    Integer bits = m.bits_of(x);
    // |x| = mantissa 2^exponent
    Integer exponent = (m.shift_right(bits, 52) & m.integer(0x7ff)) - m.integer(1075);
    Word mantissa = m.to_word((bits & m.integer((int64_t{1} << 52) - 1)) | m.integer(int64_t{1} << 52));
    // Bits of 2/pi that contribute multiples of 4 are skipped.
    Integer start = m.min(m.max(exponent + m.integer(62), m.integer(0)), m.integer(64 * (kWords - 4)));
    Word shift = m.to_word(start & m.integer(63));
    const std::array<Word, 4> w = m.words_of_two_over_pi(m.shift_right(start, 6));
    const auto taken = [&](int i) {
      return m.shift_left(w[i], shift) | m.shift_right_logical(w[i + 1], m.word(64) - shift);
    };
    Word f0 = taken(0), f1 = taken(1), f2 = taken(2);
    // (high, low) / 2^128 = fraction of mantissa * 0.f0f1f2 = x (2/pi) / 4 modulo 1.
    Word middle = mantissa * f1;
    Word low = middle + m.mul_high(mantissa, f2);
    Word carry = m.word_of_condition(low < middle);
    Word high = mantissa * f0 + m.mul_high(mantissa, f1) + carry;
    Word quadrant = m.shift_right_logical(high + m.word(uint64_t{1} << 61), m.word(62));
    Integer rest = m.from_word(high - m.shift_left(quadrant, m.word(62)));
    // rest + low / 2^64 in two floats, times pi/2 and 2^-62.
    Real t_high = m.rounded(rest);
    Real t_low = m.rounded(rest - m.truncated(t_high)) +
                 m.rounded(m.from_word(m.shift_right_logical(low, m.word(1)))) * real(0x1p-63);
    Double2 t = quick_sum(t_high, t_low);
    Double2 r = product(t, Double2{real(0x1.921fb54442d18p+0), real(0x1.1a62633145c07p-54)});
    Bool negative = x < real(0);
    Real sign = m.select(negative, real(-0x1p-62), real(0x1p-62));
    Integer number = m.from_word(quadrant);
    return {m.select(negative, -number, number), r.high * sign, r.low * sign};
  }

  void sine_and_cosine_of_double(Real r, Real z, Real half, Real w, Real low, Real& sine, Real& cosine) {
    sine = r + m.fma(r * z, polynomial(tables::kSinDouble, z), low * (real(1) - half));
    cosine = w + (((real(1) - w) - half) + (z * z * polynomial(tables::kCosDouble, z) - r * low));
  }
  void sine_and_cosine_of_float(Real r, Real z, Real half, Real w, Real& sine, Real& cosine) {
    sine = m.fma(r * z, polynomial(tables::kSinFloat, z), r);
    cosine = w + (((real(1) - w) - half) + z * z * polynomial(tables::kCosFloat, z));
  }

  // ------------------------------------------------------------------------------------------------------ pow, atan2

  // exp(h + l) for the end of pow; h may be anything.
  Real exp_of_sum(Real h, Real l) {
    Real clamped = clamp(h, -760, 720);
    Real rest = m.select(clamped == h, l, real(0));
    auto [n, r, whole] = reduce_exp(clamped);
    r = r + rest;
    return m.scale(exp_polynomial(r) + real(1), n, whole);
  }

  Real pow_of_float(Real y, Real size) {
    Elementary<typename Machine::Wide> wide(m.wide());
    return m.narrowed(wide.exp(m.widened(y) * wide.log(m.widened(size))));
  }

  // Of the magnitude of x.
  [[gnu::always_inline]] Real pow_of_double(Real x, Real y, Real size) {
    auto [e, f] = reduce_log(size);
    // log(1 + f) = 2 atanh(s), s = f / (2 + f), in double double.
    Double2 denominator = quick_sum(real(2), f);
    Real s_high = f / denominator.high;
    Double2 back = product(s_high, denominator.high);
    Real s_low = (((f - back.high) - back.low) - s_high * denominator.low) / denominator.high;
    Double2 s = quick_sum(s_high, s_low);
    Double2 z = product(s, s);
    Double2 cube = product(z, s);
    Double2 third = product(cube, Double2{real(0x1.5555555555555p-1), real(0x1.5555555555555p-55)});
    Real tail = real(2) * (z.high * cube.high) * polynomial(tables::kPowDouble, z.high);
    // The first piece of log 2 is short enough for exact products with e.
    Double2 log_two{e * real(0x1.62e42fee00000p-1), e * real(0x1.a39ef35793c76p-33)};
    log_two = quick_sum(log_two.high, log_two.low);
    log_two.low = log_two.low + e * real(0x1.cc01f97b57a08p-87);
    Double2 logarithm =
        sum(sum(log_two, Double2{s.high + s.high, s.low + s.low}), quick_sum(third.high, third.low + tail));
    // Larger exponents change nothing: the result is already 0, 1 or infinite.
    Real bound = real(0x1p64);
    Real exponent = m.select(y > bound, bound, m.select(y < -bound, -bound, y));
    Double2 p = product(exponent, logarithm.high);
    Real result = exp_of_sum(p.high, p.low + exponent * logarithm.low);
    Real zero = real(0), infinity = real(HUGE_VAL);
    Bool y_positive = y > zero;
    result = m.select(size == zero, m.select(y_positive, zero, infinity), result);
    result = m.select(size == infinity, m.select(y_positive, infinity, zero), result);
    return m.select((x == x) & (y == y), result, x + y);
  }

  Real atan2_of_float(Real y, Real x) {
    Elementary<typename Machine::Wide> wide(m.wide());
    return m.narrowed(wide.atan2_of_double(m.widened(y), m.widened(x)));
  }

  Real atan2_of_double(Real y, Real x) {
    Real rows = m.absolute(y), columns = m.absolute(x);
    Real large = m.max(rows, columns), small = m.min(rows, columns);
    // Sums must not overflow, quotients of subnormals must not be coarse.
    Real factor =
        m.select(large > real(0x1p1000), real(0x1p-100), m.select(large < real(0x1p-900), real(0x1p100), real(1)));
    Real big = large * factor, little = small * factor;
    Bool steep = little > real(0x1.a827999fcef32p-2) * big;
    Real t = m.select(steep, little - big, little) / m.select(steep, big + little, big);
    t = m.select(large == real(0), real(0), t);
    t = m.select(small == real(HUGE_VAL), real(0), t);
    Real z = t * t;
    Real core = m.fma(t * z, polynomial(tables::kAtanDouble, z), t);
    Real angle = m.select(steep | (small == real(HUGE_VAL)),
                          real(0x1.921fb54442d18p-1) + (core + real(0x1.1a62633145c07p-55)), core);
    angle = m.select(rows > columns, real(0x1.921fb54442d18p+0) - (angle - real(0x1.1a62633145c07p-54)), angle);
    angle = m.select(m.bits_of(x) < m.integer(0), real(0x1.921fb54442d18p+1) - (angle - real(0x1.1a62633145c07p-53)),
                     angle);
    angle = copysign(angle, y);
    return m.select((x == x) & (y == y), angle, x + y);
  }

  Machine m;
};

}  // namespace ct
