// The essay is in loop_math.h. Each function below is the textbook reduction to a short interval, a polynomial there
// (loop_math_tables.h), and a reconstruction; what is chosen with care is where the roundings fall. `Num` makes it read
// as formulas.
#include "jit/loop_math.h"

#include <array>
#include <cmath>
#include <iterator>

#include "ir/error.h"
#include "jit/loop_math_tables.h"
#include "jit/loop_num.h"

namespace ct::loop {

namespace {

class Math {
 public:
  Math(Builder& builder, DType dtype) : b_(builder), dtype_(dtype), is_double_(dtype == DType::kFloat64) {
    CT_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64);
  }

  Num exp(Num x);
  Num expm1(Num x);
  Num log(Num x);
  Num log1p(Num x);
  Num tanh(Num x);
  Num erf(Num x);
  Num sin_or_cos(Num x, bool cosine);
  Num pow(Num x, Num y);
  Num atan2(Num y, Num x);
  Num remainder(Num a, Num b);

 private:
  // A number as an unevaluated sum of two, about 106 bits.
  struct Double2 {
    Num high, low;
  };

  Num real(double value) { return {b_, b_.constant(dtype_, value)}; }
  Num integer(int64_t value) { return {b_, b_.constant(int_dtype(), value)}; }
  DType int_dtype() const { return is_double_ ? DType::kInt64 : DType::kInt32; }
  int mantissa_bits() const { return is_double_ ? 52 : 23; }
  int bias() const { return is_double_ ? 1023 : 127; }
  Num bits_of(Num x) { return x.bitcast(int_dtype()); }
  Num from_bits(Num x) { return x.bitcast(dtype_); }

  template <size_t n>
  Num polynomial(const double (&coefficients)[n], Num x) {
    Num sum = real(coefficients[n - 1]);
    for (size_t i = n - 1; i-- > 0;) sum = fma(sum, x, real(coefficients[i]));
    return sum;
  }

  // The same with coefficients taken in pairs: half as long a chain of operations. `square` is x * x.
  template <size_t n>
  Num polynomial_in_pairs(const double (&coefficients)[n], Num x, Num square) {
    return polynomial_in_pairs(std::to_array(coefficients), x, square);
  }
  template <size_t n>
  Num polynomial_in_pairs(const std::array<double, n>& coefficients, Num x, Num square) {
    const auto pair = [&](size_t i) {
      return i + 1 < n ? fma(real(coefficients[i + 1]), x, real(coefficients[i])) : real(coefficients[i]);
    };
    size_t i = (n - 1) / 2 * 2;
    Num sum = pair(i);
    while (i > 0) {
      i -= 2;
      sum = fma(sum, square, pair(i));
    }
    return sum;
  }

  Num absolute(Num x) { return x.apply(ScalarOp::kAbs); }
  Num with_sign(Num magnitude, Num sign) {  // magnitude >= 0
    Num mask = integer(is_double_ ? INT64_MIN : INT32_MIN);
    return from_bits(bits_of(magnitude) | (bits_of(sign) & mask));
  }
  Num copysign(Num magnitude, Num sign) { return with_sign(absolute(magnitude), sign); }
  // 2^n for n that gives a normal number.
  Num power_of_two(Num n) { return from_bits((n + integer(bias())) << mantissa_bits()); }

  // The integer nearest to x (|x| < 2^21 or 2^50), as a float and as an integer, by adding a number so large that it
  // has no fraction.
  struct Nearest {
    Num whole, integer;
  };
  Nearest nearest(Num x) { return below_magic(x + magic()); }
  Nearest nearest_product(Num x, Num y) { return below_magic(fma(x, y, magic())); }
  Num magic() { return real(is_double_ ? 0x1.8p52 : 0x1.8p23); }
  Nearest below_magic(Num shifted) { return {shifted - magic(), bits_of(shifted) - bits_of(magic())}; }
  // The reverse, for small integers.
  Num to_real(Num n) { return from_bits(n + bits_of(magic())) - magic(); }

  // x = n log 2 + r, |r| <= log(2) / 2, for x already clamped.
  struct ExpReduction {
    Num n, r, whole;  // n also as a float
  };
  ExpReduction reduce_exp(Num x) {
    Nearest n = nearest_product(x, real(0x1.71547652b82fep+0));
    // The first product is exact: its constant has few enough bits.
    Num near = fma(n.whole, real(is_double_ ? -0x1.62e42fee00000p-1 : -0x1.63p-1), x);
    Num r = fma(n.whole, real(is_double_ ? -0x1.a39ef35793c76p-33 : 0x1.bd0105c610ca8p-13), near);
    return {n.integer, r, n.whole};
  }
  // 2 x = n log 2 + 2 r: the same numbers as those of 2 x, as halves and doubles are exact.
  ExpReduction reduce_twice(Num x) {
    Nearest n = nearest_product(x, real(0x1.71547652b82fep+1));
    Num near = fma(n.whole, real(is_double_ ? -0x1.62e42fee00000p-2 : -0x1.63p-2), x);
    Num r = fma(n.whole, real(is_double_ ? -0x1.a39ef35793c76p-34 : 0x1.bd0105c610ca8p-14), near);
    return {n.integer, r, n.whole};
  }
  // Coefficients of (exp(2 r) - 1 - 2 r) / (2 r^2).
  template <size_t n>
  static std::array<double, n> doubled(const double (&coefficients)[n]) {
    std::array<double, n> result;
    for (size_t i = 0; i < n; ++i) result[i] = std::ldexp(coefficients[i], static_cast<int>(i) + 1);
    return result;
  }
  // exp(r) - 1.
  Num exp_polynomial(Num r) {
    Num square = r * r;
    return fma(square,
               is_double_ ? polynomial_in_pairs(tables::kExpDouble, r, square)
                          : polynomial_in_pairs(tables::kExpFloat, r, square),
               r);
  }
  // Between bounds, which may not be NaN: what is NaN passes.
  Num clamp(Num x, double low, double high) {
    Num below = select(x > real(high), real(high), x);
    return select(below < real(low), real(low), below);
  }

  // x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for x > 0; subnormals too.
  struct LogReduction {
    Num e, f;
  };
  LogReduction reduce_log(Num x) {
    Num tiny = x < real(is_double_ ? 0x1p-1022 : 0x1p-126);
    int lift = is_double_ ? 54 : 25;
    Num bits = bits_of(select(tiny, x * real(is_double_ ? 0x1p54 : 0x1p25), x));
    // Biasing by sqrt(1/2) moves the exponent's step from powers of two to where the mantissa should wrap.
    Num root = bits_of(real(0x1.6a09e667f3bcdp-1));
    Num shifted = bits + (integer(int64_t{bias()} << mantissa_bits()) - root);
    Num e = shifted.shift_right(mantissa_bits()) - integer(bias());
    Num mantissa = shifted & integer((int64_t{1} << mantissa_bits()) - 1);
    Num f = from_bits(mantissa + root) - real(1);
    return {to_real(e - select(tiny, integer(lift), integer(0))), f};
  }
  // e log 2 + log(1 + f) + correction.
  Num log_sum(Num e, Num f, Num correction) {
    Num s = f / (f + real(2));
    Num z = s * s;
    Num rest = z * (is_double_ ? polynomial(tables::kLogDouble, z) : polynomial(tables::kLogFloat, z));
    Num half_square = real(0.5) * f * f;
    Num e_low = e * real(is_double_ ? 0x1.a39ef35793c76p-33 : 0x1.2fefa39ef3579p-17);
    Num e_high = e * real(is_double_ ? 0x1.62e42fee00000p-1 : 0x1.62e3p-1);
    return e_high - ((half_square - (s * (half_square + rest) + (e_low + correction))) - f);
  }

  Double2 quick_sum(Num a, Num b) {  // |a| >= |b|
    Num sum = a + b;
    return {sum, b - (sum - a)};
  }
  Double2 sum(Num a, Num b) {
    Num total = a + b;
    Num part = total - a;
    return {total, (a - (total - part)) + (b - part)};
  }
  Double2 product(Num a, Num b) {
    // Halves of 26 bits multiply exactly. A fused multiply-add would do it in one step, but not every target has it.
    Num mask = integer(-(int64_t{1} << 27));
    Num a_high = from_bits(bits_of(a) & mask), b_high = from_bits(bits_of(b) & mask);
    Num a_low = a - a_high, b_low = b - b_high;
    Num high = a * b;
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

  // x = quadrant * pi/2 + r, |r| <= pi/4 as a sum of two, for float64 x.
  struct Quadrant {
    Num quadrant;
    Double2 r;
  };
  Quadrant reduce_angle(Num x);
  Quadrant reduce_huge_angle(Num x);

  // exp(h + l) for the end of pow; h may be anything.
  Num exp_of_sum(Num h, Num l);

  Builder& b_;
  DType dtype_;
  bool is_double_;
};

// float32: 1.1 ulp. float64: 1.1 ulp.
Num Math::exp(Num x) {
  auto [n, r, whole] = reduce_exp(is_double_ ? clamp(x, -746, 710) : clamp(x, -104, 89));
  return scale(exp_polynomial(r) + real(1), n, whole);
}

// float32: 1.5 ulp. float64: 2 ulp.
Num Math::expm1(Num x) {
  auto [n, r, whole] = reduce_exp(is_double_ ? clamp(x, -60, 710) : clamp(x, -30, 89));
  Num p = exp_polynomial(r);
  int threshold = is_double_ ? 54 : 25;
  Num is_big = n > integer(threshold);
  Num power = power_of_two(select(is_big, integer(0), n));
  Num result = select(is_big, scale(p + real(1), n, whole), fma(power, p, power - real(1)));
  return select(x == real(0), x, result);
}

// float32: 1 ulp. float64: 1 ulp.
Num Math::log(Num x) {
  auto [e, f] = reduce_log(x);
  Num result = log_sum(e, f, real(0));
  Num infinity = real(HUGE_VAL);
  result = select(x == infinity, x, result);
  result = select(x > real(0), result, real(NAN));
  return select(x == real(0), -infinity, result);
}

// float32: 1.2 ulp. float64: 1.2 ulp.
Num Math::log1p(Num x) {
  Num u = x + real(1);
  // What the addition dropped, relative to u.
  Num dropped = select(x > real(1), real(1) - (u - x), x - (u - real(1))) / u;
  auto [e, f] = reduce_log(u);
  Num is_small = (x > real(-0.2928)) & (x < real(0.4142));
  Num zero = real(0);
  Num result = log_sum(select(is_small, zero, e), select(is_small, x, f), select(is_small, zero, dropped));
  Num infinity = real(HUGE_VAL);
  result = select(x == infinity, x, result);
  result = select(x > real(-1), result, real(NAN));
  result = select(x == real(-1), -infinity, result);
  return select(x == zero, x, result);
}

// float32: 1.3 ulp. float64: 1.5 ulp.
Num Math::tanh(Num x) {
  Num size = absolute(x);
  Num z = x * x;
  Num inner = fma(size * z, is_double_ ? polynomial(tables::kTanhDouble, z) : polynomial(tables::kTanhFloat, z), size);
  // From the limit on the result rounds to 1. NaN passes.
  Num limit = real(is_double_ ? 20 : 10);
  auto [n, r, whole] = reduce_twice(select(size > limit, limit, size));
  Num square = r * r;
  Num half = fma(square,
                 is_double_ ? polynomial_in_pairs(doubled(tables::kExpDouble), r, square)
                            : polynomial_in_pairs(doubled(tables::kExpFloat), r, square),
                 r);
  Num power = scale(fma(real(2), half, real(1)), n, whole);
  Num outer = real(1) - real(2) / (power + real(1));
  return with_sign(select(size < real(0.625), inner, outer), x);
}

// float32: 1.2 ulp. float64: 1.2 ulp.
Num Math::erf(Num x) {
  Num size = absolute(x);
  Num limit = real(is_double_ ? 6 : 4);
  size = select(size > limit, limit, size);
  Num z = x * x;
  Num inner = fma(x, is_double_ ? polynomial(tables::kErfDouble, z) : polynomial(tables::kErfFloat, z), x);
  Num u = (size - real(2)) / (size + real(2));
  Num scaled = is_double_ ? polynomial(tables::kErfcDouble, u) : polynomial(tables::kErfcFloat, u);
  Num outer = real(1) - exp(-(size * size)) * scaled;
  return select(size < real(1), inner, copysign(outer, x));
}

// ---------------------------------------------------------------------------------------------------------------- sin,
// cos

Math::Quadrant Math::reduce_angle(Num x) {
  Nearest n = nearest(x * real(0x1.45f306dc9c883p-1));
  // pi/2 in pieces of 33 bits, so that their products with n < 2^20 are exact; the last piece has all its bits.
  Num t = x - n.whole * real(0x1.921fb54400000p+0);
  Num w = n.whole * real(0x1.0b4611a600000p-34);
  Num r = t - w;
  Num low = n.whole * real(0x1.3198a2e037073p-69) - ((t - r) - w);
  Num high = r - low;
  return {n.integer, {high, (r - high) - low}};
}

// Payne and Hanek: of the product of x's mantissa with 2/pi, only the bits around the binary point matter.
Math::Quadrant Math::reduce_huge_angle(Num x) {
  auto word = [&](uint64_t value) { return Num{b_, b_.constant(DType::kUInt64, static_cast<int64_t>(value))}; };
  std::string bytes(8, '\0');  // a word of zeros first, for exponents below 2
  bytes.append(reinterpret_cast<const char*>(tables::kTwoOverPi), sizeof tables::kTwoOverPi);
  int64_t words = 1 + static_cast<int64_t>(std::size(tables::kTwoOverPi));
  BufferId table = b_.constant_buffer(DType::kUInt64, words, std::move(bytes));

  Num bits = bits_of(x);
  Num exponent = (bits.shift_right(52) & integer(0x7ff)) - integer(1075);  // |x| = mantissa 2^exponent
  Num mantissa = ((bits & integer((int64_t{1} << 52) - 1)) | integer(int64_t{1} << 52)).bitcast(DType::kUInt64);
  // Bits of 2/pi that contribute multiples of 4 are skipped.
  Num start =
      (exponent + integer(62)).apply(ScalarOp::kMax, integer(0)).apply(ScalarOp::kMin, integer(64 * (words - 4)));
  Num first = start.shift_right(6), shift = (start & integer(63)).bitcast(DType::kUInt64);
  auto load = [&](int64_t i) {
    Statement s{.kind = StatementKind::kLoad, .dtype = DType::kUInt64, .buffer = table, .bits = 1};
    s.index = b_.to_index(first.scalar()) + i;
    return Num{b_, Scalar{DType::kUInt64, b_.emit(s)}};
  };
  Num w[4] = {load(0), load(1), load(2), load(3)};
  Num f[3] = {w[0], w[1], w[2]};
  for (int i = 0; i < 3; ++i) {
    f[i] = w[i].apply(ScalarOp::kShl, shift) | w[i + 1].apply(ScalarOp::kShrLogical, word(64) - shift);
  }
  // (high, low) / 2^128 = fraction of mantissa * 0.f0f1f2 = x (2/pi) / 4 modulo 1.
  Num middle = mantissa * f[1];
  Num low = middle + mul_high(mantissa, f[2]);
  Num carry = (low < middle).convert(DType::kUInt64);
  Num high = mantissa * f[0] + mul_high(mantissa, f[1]) + carry;
  Num quadrant = (high + word(uint64_t{1} << 61)).apply(ScalarOp::kShrLogical, word(62));
  Num rest = (high - quadrant.apply(ScalarOp::kShl, word(62))).bitcast(DType::kInt64);
  // rest + low / 2^64 in two floats, times pi/2 and 2^-62.
  Num t_high = rest.convert(DType::kFloat64);
  Num t_low = (rest - t_high.convert(DType::kInt64)).convert(DType::kFloat64) +
              low.apply(ScalarOp::kShrLogical, word(1)).convert(DType::kFloat64) * real(0x1p-63);
  Double2 t = quick_sum(t_high, t_low);
  Double2 r = product(t, {real(0x1.921fb54442d18p+0), real(0x1.1a62633145c07p-54)});
  Num negative = x < real(0);
  Num sign = select(negative, real(-0x1p-62), real(0x1p-62));
  Num number = quadrant.bitcast(DType::kInt64);
  return {select(negative, -number, number), {r.high * sign, r.low * sign}};
}

// float32: 1.5 ulp. float64: 1 ulp. For every argument.
Num Math::sin_or_cos(Num x, bool cosine) {
  Math wide(b_, DType::kFloat64);
  Num angle = x.convert(DType::kFloat64);
  Quadrant q = wide.reduce_angle(angle);
  // Large arguments are rare: all lanes skip this unless one has such.
  Num is_huge = !(wide.absolute(angle) < wide.real(0x1p20));
  Scalars chosen = b_.if_else(
      is_huge.scalar(),
      [&] {
        Quadrant huge = wide.reduce_huge_angle(angle);
        return Scalars{huge.quadrant.scalar(), huge.r.high.scalar(), huge.r.low.scalar()};
      },
      [&] { return Scalars{q.quadrant.scalar(), q.r.high.scalar(), q.r.low.scalar()}; });
  Num quadrant = Num{b_, chosen[0]}.convert(DType::kInt32);
  auto number = [&](int64_t value) { return Num{b_, b_.constant(DType::kInt32, value)}; };
  if (cosine) quadrant = quadrant + number(1);
  Num r = Num{b_, chosen[1]}.convert(dtype_);
  Num z = r * r;
  Num half = real(0.5) * z;
  Num sine, cosine_value;
  if (is_double_) {
    Num low{b_, chosen[2]};
    sine = r + fma(r * z, polynomial(tables::kSinDouble, z), low * (real(1) - half));
    Num w = real(1) - half;
    cosine_value = w + (((real(1) - w) - half) + (z * z * polynomial(tables::kCosDouble, z) - r * low));
  } else {
    sine = fma(r * z, polynomial(tables::kSinFloat, z), r);
    Num w = real(1) - half;
    cosine_value = w + (((real(1) - w) - half) + z * z * polynomial(tables::kCosFloat, z));
  }
  Num result = select((quadrant & number(1)) == number(0), sine, cosine_value);
  result = select((quadrant & number(2)) == number(0), result, -result);
  if (!cosine) result = select(x == real(0), x, result);
  return select(x.apply(ScalarOp::kIsFinite), result, x - x);
}

// ---------------------------------------------------------------------------------------------------------------------
// pow

Num Math::exp_of_sum(Num h, Num l) {
  Num clamped = clamp(h, -760, 720);
  Num rest = select(clamped == h, l, real(0));
  auto [n, r, whole] = reduce_exp(clamped);
  r = r + rest;
  return scale(exp_polynomial(r) + real(1), n, whole);
}

// float32: 0.6 ulp (it is computed in float64). float64: 1.5 ulp.
Num Math::pow(Num x, Num y) {
  Math wide(b_, DType::kFloat64);
  Num size = absolute(x);
  Num result;
  if (is_double_) {
    auto [e, f] = reduce_log(size);
    // log(1 + f) = 2 atanh(s), s = f / (2 + f), in double double.
    Double2 denominator = quick_sum(real(2), f);
    Num s_high = f / denominator.high;
    Double2 back = product(s_high, denominator.high);
    Num s_low = (((f - back.high) - back.low) - s_high * denominator.low) / denominator.high;
    Double2 s = quick_sum(s_high, s_low);
    Double2 z = product(s, s);
    Double2 cube = product(z, s);
    Double2 third = product(cube, {real(0x1.5555555555555p-1), real(0x1.5555555555555p-55)});
    Num tail = real(2) * (z.high * cube.high) * polynomial(tables::kPowDouble, z.high);
    // The first piece of log 2 is short enough for exact products with e.
    Double2 log_two{e * real(0x1.62e42fee00000p-1), e * real(0x1.a39ef35793c76p-33)};
    log_two = quick_sum(log_two.high, log_two.low);
    log_two.low = log_two.low + e * real(0x1.cc01f97b57a08p-87);
    Double2 logarithm =
        sum(sum(log_two, Double2{s.high + s.high, s.low + s.low}), quick_sum(third.high, third.low + tail));
    // Larger exponents change nothing: the result is already 0, 1 or infinite.
    Num bound = real(0x1p64);
    Num exponent = select(y > bound, bound, select(y < -bound, -bound, y));
    Double2 p = product(exponent, logarithm.high);
    result = exp_of_sum(p.high, p.low + exponent * logarithm.low);
    Num zero = real(0), infinity = real(HUGE_VAL);
    Num y_positive = y > zero;
    result = select(size == zero, select(y_positive, zero, infinity), result);
    result = select(size == infinity, select(y_positive, infinity, zero), result);
    result = select((x == x) & (y == y), result, x + y);
  } else {
    result = wide.exp(y.convert(DType::kFloat64) * wide.log(size.convert(DType::kFloat64))).convert(dtype_);
  }
  // Signs and special cases as in C.
  Num one = real(1);
  Num is_integer = y.apply(ScalarOp::kFloor) == y;
  Num half = y * real(0.5);
  Num is_odd = is_integer & (half.apply(ScalarOp::kFloor) != half);
  Num sign = bits_of(x) < integer(0);
  result = select(sign & is_odd, -result, result);
  result = select((x < real(0)) & (x > real(-HUGE_VAL)) & !is_integer & (y == y) & y.apply(ScalarOp::kIsFinite),
                  real(NAN), result);
  Num minus_one_to_infinity = (size == one) & !y.apply(ScalarOp::kIsFinite) & (y == y);
  return select((x == one) | (y == real(0)) | minus_one_to_infinity, one, result);
}

// ------------------------------------------------------------------------------------------------------- atan2,
// remainder

// float32: 0.6 ulp (it is computed in float64). float64: 2.4 ulp.
Num Math::atan2(Num y, Num x) {
  if (!is_double_) {
    Math wide(b_, DType::kFloat64);
    return wide.atan2(y.convert(DType::kFloat64), x.convert(DType::kFloat64)).convert(dtype_);
  }
  Num rows = absolute(y), columns = absolute(x);
  Num large = rows.apply(ScalarOp::kMax, columns), small = rows.apply(ScalarOp::kMin, columns);
  // Sums must not overflow, quotients of subnormals must not be coarse.
  Num factor = select(large > real(0x1p1000), real(0x1p-100), select(large < real(0x1p-900), real(0x1p100), real(1)));
  Num big = large * factor, little = small * factor;
  Num steep = little > real(0x1.a827999fcef32p-2) * big;
  Num t = select(steep, little - big, little) / select(steep, big + little, big);
  t = select(large == real(0), real(0), t);
  t = select((small == real(HUGE_VAL)), real(0), t);
  Num z = t * t;
  Num core = fma(t * z, polynomial(tables::kAtanDouble, z), t);
  Num angle = select(steep | (small == real(HUGE_VAL)),
                     real(0x1.921fb54442d18p-1) + (core + real(0x1.1a62633145c07p-55)), core);
  angle = select(rows > columns, real(0x1.921fb54442d18p+0) - (angle - real(0x1.1a62633145c07p-54)), angle);
  angle = select(bits_of(x) < integer(0), real(0x1.921fb54442d18p+1) - (angle - real(0x1.1a62633145c07p-53)), angle);
  angle = copysign(angle, y);
  return select((x == x) & (y == y), angle, x + y);
}

// Exact: C's fmod. Each turn of the loop subtracts the largest multiple of b 2^j with a quotient of at most 22 bits.
Num Math::remainder(Num a, Num b) {
  if (!is_double_) {
    Math wide(b_, DType::kFloat64);
    return wide.remainder(a.convert(DType::kFloat64), b.convert(DType::kFloat64)).convert(dtype_);
  }
  Num divisor = absolute(b);
  Num is_defined = a.apply(ScalarOp::kIsFinite) & (divisor > real(0));
  Num usable = is_defined & divisor.apply(ScalarOp::kIsFinite);
  Num start = select(usable, absolute(a), real(0));
  Scalar init[] = {start.scalar()};
  Scalars result = b_.while_loop(
      init, [&](absl::Span<const Scalar> carry) { return (Num{b_, carry[0]} >= divisor).scalar(); },
      [&](absl::Span<const Scalar> carry) {
        Num r{b_, carry[0]};
        // Quotients may be as large as 2^2098: raise the divisor until the quotient is finite.
        Num base = divisor;
        for (double lift : {0x1p980, 0x1p100}) {
          Num overflows = !((r / base) < real(0x1p1000));
          base = select(overflows, base * real(lift), base);
        }
        Num exponent = bits_of(r / base).shift_right(52) - integer(1023);
        Num step = base * power_of_two((exponent - integer(20)).apply(ScalarOp::kMax, integer(0)));
        Num quotient = (r / step).apply(ScalarOp::kFloor);
        Double2 p = product(quotient, step);
        Num rest = (r - p.high) - p.low;
        rest = select(rest < real(0), rest + step, rest);
        rest = select(rest >= step, rest - step, rest);
        return Scalars{rest.scalar()};
      });
  Num remainder = copysign(Num{b_, result[0]}, a);
  remainder = select(usable, remainder, a);
  return select(is_defined & (b == b), remainder, real(NAN));
}

}  // namespace

bool is_math_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
    case ScalarOp::kRem:
      return true;
    default:
      return false;
  }
}

Value expand_math(Builder& builder, ScalarOp op, Value a, Value b) {
  DType dtype = builder.dtype_of(a);
  Math math(builder, dtype);
  Num x{builder, Scalar{dtype, a}};
  Num y = b == kNoValue ? x : Num{builder, Scalar{dtype, b}};
  auto result = [&]() -> Num {
    switch (op) {
      case ScalarOp::kExp:
        return math.exp(x);
      case ScalarOp::kExpm1:
        return math.expm1(x);
      case ScalarOp::kLog:
        return math.log(x);
      case ScalarOp::kLog1p:
        return math.log1p(x);
      case ScalarOp::kTanh:
        return math.tanh(x);
      case ScalarOp::kErf:
        return math.erf(x);
      case ScalarOp::kSin:
        return math.sin_or_cos(x, false);
      case ScalarOp::kCos:
        return math.sin_or_cos(x, true);
      case ScalarOp::kPow:
        return math.pow(x, y);
      case ScalarOp::kAtan2:
        return math.atan2(x, y);
      case ScalarOp::kRem:
        return math.remainder(x, y);
      default:
        CT_CHECK(false);
    }
  };
  return result().scalar().re;
}

Value expand_integer_power(Builder& builder, Value base, Value exponent) {
  DType dtype = builder.dtype_of(base);
  auto number = [&](int64_t value) { return Num{builder, builder.constant(dtype, value)}; };
  Num x{builder, Scalar{dtype, base}}, n{builder, Scalar{dtype, exponent}};
  Num zero = number(0), one = number(1);
  // Square and multiply, over as many bits as the exponent has.
  Scalar init[] = {one.scalar(), x.scalar(), select(n < zero, zero, n).scalar()};
  Scalars result = builder.while_loop(
      init, [&](absl::Span<const Scalar> c) { return (Num{builder, c[2]} != zero).scalar(); },
      [&](absl::Span<const Scalar> c) {
        Num power{builder, c[0]}, square{builder, c[1]}, left{builder, c[2]};
        Num odd = (left & one) != zero;
        return Scalars{select(odd, power * square, power).scalar(), (square * square).scalar(),
                       left.apply(ScalarOp::kShrLogical, one).scalar()};
      });
  Num power{builder, result[0]};
  if (!is_signed_integer(dtype)) return power.scalar().re;
  Num is_unit = (x == one) | (x == number(-1));
  Num reciprocal = select(is_unit, select((n & one) == zero, one, x), zero);
  return select(n < zero, reciprocal, power).scalar().re;
}

}  // namespace ct::loop
