// Complex arithmetic in terms of real Nums. complex64 functions whose naive formulas overflow or cancel are computed in
// float64; complex128 ones by formulas that do neither. Signs of zeros and infinities follow NumPy where that costs
// nothing.
#include <cmath>
#include <numbers>

#include "jit/loop/expand/butterfly.h"
#include "jit/loop/expand/math.h"
#include "jit/loop/num.h"
#include "runtime/error.h"

namespace ct::loop {

namespace {

class ComplexMath {
 public:
  ComplexMath(Builder& builder, DType real) : b_(builder), real_(real) {}

  Scalar expand(ScalarOp op, absl::Span<const Scalar> operands);

 private:
  Num number(double value) { return {b_, b_.constant(real_, value)}; }
  static Num absolute(const Num& x) { return x.apply(ScalarOp::kAbs); }
  static Num root(const Num& x) { return x.apply(ScalarOp::kSqrt); }
  Num copysign(Num magnitude, Num sign) {
    DType word = real_ == DType::kFloat64 ? DType::kInt64 : DType::kInt32;
    Num negative = sign.bitcast(word) < Num{b_, b_.constant(word, 0)};  // of zeros too
    magnitude = absolute(magnitude);
    return select(negative, -magnitude, magnitude);
  }
  static Complex add(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  static Complex multiply(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

  Complex divide(Complex a, Complex b);
  Num magnitude(Complex a);
  Complex with_limits(Complex a, Num size, Complex product);
  Complex exp(Complex a);
  Complex expm1(Complex a);
  Complex log(Complex a);
  Complex log1p(Complex a);
  Complex sqrt(Complex a);
  Complex sin(Complex a);
  Complex cos(Complex a);
  Complex tanh(Complex a);
  Complex pow(Complex a, Complex b);

  // exp(x) = value * rest, where both are finite beyond where exp(x) is not: what multiplies them in turn may be small.
  struct Factors {
    Num value, rest;
  };
  Factors exp_in_factors(Num x);

  // Both are to be multiplied by `rest`, after all else.
  struct Hyperbolic {
    Num sinh, cosh, rest;
  };
  Hyperbolic hyperbolic(Num x);

  static Num is_finite(const Num& x) { return x.apply(ScalarOp::kIsFinite); }
  // Where an infinite imaginary part decides the size, and the real one has no direction.
  Num decided_by_second(const Complex& a) { return (absolute(a.im) == number(HUGE_VAL)) & !is_finite(a.re); }

  Complex function(ScalarOp op, Complex a, Complex b);
  Num less(Complex a, Complex b) { return (a.re < b.re) | ((a.re == b.re) & (a.im < b.im)); }
  static Num is_nan(Complex a) { return (a.re != a.re) | (a.im != a.im); }

  Builder& b_;
  DType real_;
};

// Smith: divide by the larger part first, so that nothing squares.
Complex ComplexMath::divide(Complex a, Complex b) {
  Num real_larger = absolute(b.re) >= absolute(b.im);
  Num large = select(real_larger, b.re, b.im), small = select(real_larger, b.im, b.re);
  // 0/0 would be NaN where a plain division of a by 0 is wanted.
  Num ratio = select(large == number(0), number(0), small / large);
  Num scale = select(large == number(0), absolute(large), large + small * ratio);
  Num re = select(real_larger, a.re + a.im * ratio, a.re * ratio + a.im);
  Num im = select(real_larger, a.im - a.re * ratio, a.im * ratio - a.re);
  return {re / scale, im / scale};
}

Num ComplexMath::magnitude(Complex a) {
  Num x = absolute(a.re), y = absolute(a.im);
  Num large = select(x > y, x, y), small = select(x > y, y, x);
  Num infinite = (x == number(HUGE_VAL)) | (y == number(HUGE_VAL));
  Num factor =
      select(large > number(0x1p500), number(0x1p-600), select(large < number(0x1p-500), number(0x1p600), number(1)));
  Num undo =
      select(large > number(0x1p500), number(0x1p600), select(large < number(0x1p-500), number(0x1p-600), number(1)));
  Num p = large * factor, q = small * factor;
  Num result = root(p * p + q * q) * undo;
  return select(infinite, number(HUGE_VAL), select((x != x) | (y != y), x + y, result));
}

// The result of exp or expm1 from `size`, the function of the real part, and the product for finite parts: an infinite
// real part decides where the imaginary one has no direction, and real numbers stay real.
Complex ComplexMath::with_limits(Complex a, Num size, Complex product) {
  Num is_real = a.im == number(0);
  Num directionless = !(absolute(a.im) < number(HUGE_VAL));
  Num decided = is_real | (directionless & (absolute(a.re) == number(HUGE_VAL)));
  Num vanishes = directionless & (a.re == number(-HUGE_VAL));
  return {select(decided, size, product.re), select(is_real, a.im, select(vanishes, number(0), product.im))};
}

ComplexMath::Factors ComplexMath::exp_in_factors(Num x) {
  constexpr double kLast = 709;  // whose exponential is finite
  Num far = x > number(kLast);
  return {select(far, x - number(kLast), x).apply(ScalarOp::kExp), select(far, number(std::exp(kLast)), number(1))};
}

Complex ComplexMath::exp(Complex a) {
  auto [value, rest] = exp_in_factors(a.re);
  return with_limits(a, value * rest,
                     {value * a.im.apply(ScalarOp::kCos) * rest, value * a.im.apply(ScalarOp::kSin) * rest});
}

Complex ComplexMath::expm1(Complex a) {
  Num half = (a.im * number(0.5)).apply(ScalarOp::kSin);
  Num less_one = a.re.apply(ScalarOp::kExpm1);
  Num cosine = a.im.apply(ScalarOp::kCos);
  auto [value, rest] = exp_in_factors(a.re);
  Num re = select(a.re > number(40), value * cosine * rest, less_one * cosine - number(2) * half * half);
  return with_limits(a, less_one, {re, value * a.im.apply(ScalarOp::kSin) * rest});
}

Complex ComplexMath::log(Complex a) {
  Num x = absolute(a.re), y = absolute(a.im);
  Num large = select(x > y, x, y), small = select(x > y, y, x);
  // |a| may overflow where its logarithm does not.
  Num huge = large > number(0x1p1000);
  Num factor = select(huge, number(0x1p-100), number(1));
  Num size = magnitude({a.re * factor, a.im * factor});
  // Near the unit circle log |a| is small: from |a|^2 - 1 without forming |a|.
  Num near = (size > number(0.5)) & (size < number(2));
  Num excess = (large - number(1)) * (large + number(1)) + small * small;
  Num far = size.apply(ScalarOp::kLog) + select(huge, number(100 * std::numbers::ln2), number(0));
  Num re = select(near, number(0.5) * excess.apply(ScalarOp::kLog1p), far);
  return {re, a.im.apply(ScalarOp::kAtan2, a.re)};
}

Complex ComplexMath::log1p(Complex a) {
  Complex shifted{a.re + number(1), a.im};
  Num small = (absolute(a.re) < number(0.5)) & (absolute(a.im) < number(0.5));
  Num excess = a.re * (a.re + number(2)) + a.im * a.im;
  Complex far = log(shifted);
  return {select(small, number(0.5) * excess.apply(ScalarOp::kLog1p), far.re), far.im};
}

Complex ComplexMath::sqrt(Complex a) {
  Num large = absolute(a.re).apply(ScalarOp::kMax, absolute(a.im));
  // Scaling by an even power of two keeps the sum below from overflowing and subnormals from losing digits.
  Num factor =
      select(large > number(0x1p1000), number(0x1p-100), select(large < number(0x1p-900), number(0x1p200), number(1)));
  Num undo =
      select(large > number(0x1p1000), number(0x1p50), select(large < number(0x1p-900), number(0x1p-100), number(1)));
  Complex s{a.re * factor, a.im * factor};
  Num t = root((absolute(s.re) + magnitude(s)) * number(0.5));
  Num other = select(t == number(0), number(0), absolute(s.im) / (t + t));
  Num right = s.re >= number(0);
  Num re = select(right, t, other) * undo;
  Num im = copysign(select(right, other, t) * undo, a.im);
  im = select(a.im == number(0), select(right, a.im, im), im);
  Num infinite = absolute(a.im) == number(HUGE_VAL);
  return {select(infinite, number(HUGE_VAL), re), select(infinite, a.im, im)};
}

ComplexMath::Hyperbolic ComplexMath::hyperbolic(Num x) {
  Num size = absolute(x);
  Num m = size.apply(ScalarOp::kExpm1), e = m + number(1);
  Num half = number(0.5);
  Num is_large = size > number(40);
  auto [value, rest] = exp_in_factors(size);
  Num large = half * value;
  Num sinh = select(is_large, large, half * (m + m / e));
  Num cosh = select(is_large, large, half * (e + number(1) / e));
  return {select(x == number(0), x, copysign(sinh, x)), cosh, rest};
}

// On the axes one part is a zero, whatever the other factor is.
Complex ComplexMath::sin(Complex a) {
  auto [sinh, cosh, rest] = hyperbolic(a.im);
  Num re = a.re.apply(ScalarOp::kSin) * cosh * rest, im = a.re.apply(ScalarOp::kCos) * sinh * rest;
  im = select(decided_by_second(a), number(HUGE_VAL), im);
  return {select(a.re == number(0), a.re, re), select(a.im == number(0), a.im, im)};
}

Complex ComplexMath::cos(Complex a) {
  auto [sinh, cosh, rest] = hyperbolic(a.im);
  Num zero = (a.re == number(0)) | (a.im == number(0));
  Num signs = copysign(number(1), a.re) * copysign(number(1), a.im);
  Num im = select(zero, number(0) * signs, a.re.apply(ScalarOp::kSin) * sinh * rest);
  Num re = a.re.apply(ScalarOp::kCos) * cosh * rest;
  return {select(decided_by_second(a), number(HUGE_VAL), re), -im};
}

// Kahan's formula: no cancellation near the poles.
Complex ComplexMath::tanh(Complex a) {
  Num limit = number(22);
  Num clamped = select(a.re > limit, limit, select(a.re < -limit, -limit, a.re));
  Num sine = a.im.apply(ScalarOp::kSin), cosine = a.im.apply(ScalarOp::kCos);
  Num t = sine / cosine;
  Num beta = number(1) + t * t;
  auto [s, rho, rest] = hyperbolic(clamped);  // the rest is 1
  Num denominator = number(1) + beta * s * s;
  // Beyond the clamp tanh is 1 to all digits, whatever the tangent is.
  Num saturated = absolute(a.re) >= limit;
  Num one = saturated & (is_finite(a.im) | (absolute(a.re) == number(HUGE_VAL)));
  Num re = select(one, copysign(number(1), a.re), beta * rho * s / denominator);
  Num vanishing = number(4) * sine * cosine * (number(-2) * absolute(a.re)).apply(ScalarOp::kExp);
  // Where the imaginary part has no direction, an infinite or zero real one decides.
  Num decided = (absolute(a.re) == number(HUGE_VAL)) & !is_finite(a.im);
  Num im = select(decided, number(0), select(saturated, vanishing, t / denominator));
  Num own = (a.re != a.re) | ((a.re == number(0)) & !is_finite(a.im));
  return {select(own, a.re, re), select(a.im == number(0), a.im, im)};
}

Complex ComplexMath::pow(Complex a, Complex b) {
  Complex result = exp(multiply(b, log(a)));
  Num base_zero = (a.re == number(0)) & (a.im == number(0));
  Num exponent_zero = (b.re == number(0)) & (b.im == number(0));
  Num zero = number(0);
  result = {select(base_zero, select(b.re > zero, zero, number(NAN)), result.re),
            select(base_zero, select(b.re > zero, zero, number(NAN)), result.im)};
  return {select(exponent_zero, number(1), result.re), select(exponent_zero, zero, result.im)};
}

Complex ComplexMath::function(ScalarOp op, Complex a, Complex b) {
  switch (op) {
    case ScalarOp::kExp:
      return exp(a);
    case ScalarOp::kExpm1:
      return expm1(a);
    case ScalarOp::kLog:
      return log(a);
    case ScalarOp::kLog1p:
      return log1p(a);
    case ScalarOp::kSqrt:
      return sqrt(a);
    case ScalarOp::kSin:
      return sin(a);
    case ScalarOp::kCos:
      return cos(a);
    case ScalarOp::kTanh:
      return tanh(a);
    case ScalarOp::kPow:
      return pow(a, b);
    case ScalarOp::kAbs:
      return {magnitude(a), number(0)};
    case ScalarOp::kSign: {
      Num size = magnitude(a);
      Num is_zero = size == number(0);
      return {select(is_zero, number(0), a.re / size), select(is_zero, number(0), a.im / size)};
    }
    default:
      throw Error(ErrorKind::kDType, std::string(scalar_op_info(op).name) + " is not defined for complex numbers")
          .hint("take the real and imaginary parts apart");
  }
}

Scalar ComplexMath::expand(ScalarOp op, absl::Span<const Scalar> operands) {
  if (op == ScalarOp::kComplex) return {complex_dtype(real_), operands[0].re, operands[1].re};
  DType dtype = operands[0].dtype;
  auto number_of = [&](const Scalar& s) { return Complex{{b_, {real_, s.re}}, {b_, {real_, s.im}}}; };
  auto whole = [&](const Complex& c) { return Scalar{dtype, c.re.scalar().re, c.im.scalar().re}; };
  Complex a = number_of(operands[0]);
  Complex b = operands.size() > 1 ? number_of(operands[1]) : a;
  switch (op) {
    case ScalarOp::kReal:
      return a.re.scalar();
    case ScalarOp::kImag:
      return a.im.scalar();
    case ScalarOp::kConj:
      return whole({a.re, -a.im});
    case ScalarOp::kNeg:
      return whole({-a.re, -a.im});
    case ScalarOp::kAdd:
      return whole(add(a, b));
    case ScalarOp::kSub:
      return whole({a.re - b.re, a.im - b.im});
    case ScalarOp::kMul:
      return whole(multiply(a, b));
    case ScalarOp::kDiv:
      return whole(divide(a, b));
    case ScalarOp::kEq:
      return ((a.re == b.re) & (a.im == b.im)).scalar();
    case ScalarOp::kNe:
      return ((a.re != b.re) | (a.im != b.im)).scalar();
    // Ordered by real part, then by imaginary part, as NumPy orders them.
    case ScalarOp::kLt:
      return less(a, b).scalar();
    case ScalarOp::kGt:
      return less(b, a).scalar();
    case ScalarOp::kLe:
      return (less(a, b) | ((a.re == b.re) & (a.im == b.im))).scalar();
    case ScalarOp::kGe:
      return (less(b, a) | ((a.re == b.re) & (a.im == b.im))).scalar();
    case ScalarOp::kMax:
    case ScalarOp::kMin: {
      Num first = is_nan(a) | (op == ScalarOp::kMax ? less(b, a) : less(a, b));
      first = select(is_nan(b) & !is_nan(a), !(a.re == a.re), first);
      return whole({select(first, a.re, b.re), select(first, a.im, b.im)});
    }
    case ScalarOp::kIsFinite:
      return (a.re.apply(ScalarOp::kIsFinite) & a.im.apply(ScalarOp::kIsFinite)).scalar();
    default:
      break;
  }
  if (real_ == DType::kFloat32) {
    ComplexMath wide(b_, DType::kFloat64);
    auto widen = [](const Complex& c) { return Complex{c.re.convert(DType::kFloat64), c.im.convert(DType::kFloat64)}; };
    Complex result = wide.function(op, widen(a), widen(b));
    Num re = result.re.convert(real_);
    if (op == ScalarOp::kAbs) return re.scalar();
    return whole({re, result.im.convert(real_)});
  }
  Complex result = function(op, a, b);
  return op == ScalarOp::kAbs ? result.re.scalar() : whole(result);
}

}  // namespace

Scalar expand_complex(Builder& builder, ScalarOp op, absl::Span<const Scalar> operands) {
  return ComplexMath(builder, real_dtype(operands[0].dtype)).expand(op, operands);
}

}  // namespace ct::loop
