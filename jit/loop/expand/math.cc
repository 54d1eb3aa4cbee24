// The transcendental functions of ir/elementary.h as loop IR, and what only compiled code needs beside them. `Num`
// makes it read as formulas.
#include "jit/loop/expand/math.h"

#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <tuple>

#include "ir/elementary.h"
#include "jit/loop/num.h"
#include "runtime/error.h"

namespace ct::loop {

namespace {

// The machine of ir/elementary.h that emits: what it computes with are values of the loop IR, whatever their types.
struct LoopMachine {
  using Real = Num;
  using Integer = Num;
  using Bool = Num;
  using Word = Num;
  using Wide = LoopMachine;
  static constexpr bool kKnown = false;  // the precision, when C++ is compiled
  static constexpr bool kIsDouble = false;

  LoopMachine(Builder& builder, DType dtype)
      : builder(builder),
        dtype(dtype),
        int_dtype(dtype == DType::kFloat64 ? DType::kInt64 : DType::kInt32),
        is_double(dtype == DType::kFloat64) {
    CT_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64);
  }

  Builder& builder;
  DType dtype, int_dtype;
  bool is_double;

  Num constant(DType type, double value) const { return {builder, builder.constant(type, value)}; }
  Num constant(DType type, int64_t value) const { return {builder, builder.constant(type, value)}; }
  Num real(double value) const { return constant(dtype, value); }
  Num integer(int64_t value) const { return constant(int_dtype, value); }
  Num small(int64_t value) const { return constant(DType::kInt32, value); }
  Num word(uint64_t value) const { return constant(DType::kUInt64, static_cast<int64_t>(value)); }
  LoopMachine wide() const { return {builder, DType::kFloat64}; }

  Num fma(Num a, Num b, Num c) const { return loop::fma(a, b, c); }
  Num select(Num condition, Num a, Num b) const { return loop::select(condition, a, b); }
  Num scale(Num x, Num n, Num whole) const { return loop::scale(x, n, whole); }
  Num bits_of(Num x) const { return x.bitcast(int_dtype); }
  Num from_bits(Num x) const { return x.bitcast(dtype); }
  Num absolute(Num x) const { return x.apply(ScalarOp::kAbs); }
  Num floor(Num x) const { return x.apply(ScalarOp::kFloor); }
  Num is_finite(Num x) const { return x.apply(ScalarOp::kIsFinite); }
  Num max(Num a, Num b) const { return a.apply(ScalarOp::kMax, b); }
  Num min(Num a, Num b) const { return a.apply(ScalarOp::kMin, b); }
  Num shift_left(Num n, int count) const { return n << count; }
  Num shift_left(Num n, Num count) const { return n.apply(ScalarOp::kShl, count); }
  Num shift_right(Num n, int count) const { return n.shift_right(count); }
  Num shift_right_logical(Num n, Num count) const { return n.apply(ScalarOp::kShrLogical, count); }
  Num mul_high(Num a, Num b) const { return loop::mul_high(a, b); }
  Num widened(Num x) const { return x.convert(DType::kFloat64); }
  Num narrowed(Num x) const { return x.convert(dtype); }
  Num to_small(Num n) const { return n.convert(DType::kInt32); }
  Num to_word(Num n) const { return n.bitcast(DType::kUInt64); }
  Num from_word(Num n) const { return n.bitcast(DType::kInt64); }
  Num word_of_condition(Num condition) const { return condition.convert(DType::kUInt64); }
  Num rounded(Num n) const { return n.convert(dtype); }
  Num truncated(Num x) const { return x.convert(int_dtype); }

  std::array<Num, 4> words_of_two_over_pi(Num first) const {
    std::string bytes(8, '\0');  // a word of zeros first, for exponents below 2
    bytes.append(reinterpret_cast<const char*>(tables::kTwoOverPi), sizeof tables::kTwoOverPi);
    const int64_t words = 1 + static_cast<int64_t>(std::size(tables::kTwoOverPi));
    const BufferId table = builder.constant_buffer(DType::kUInt64, words, std::move(bytes));
    const auto load = [&](int64_t i) {
      Statement s{.kind = StatementKind::kLoad, .dtype = DType::kUInt64, .buffer = table, .bits = 1};
      s.index = builder.to_index(first.scalar()) + i;
      return Num{builder, Scalar{DType::kUInt64, builder.emit(s)}};
    };
    return {load(0), load(1), load(2), load(3)};
  }

  template <class Then, class Otherwise>
  std::tuple<Num, Num, Num> either(Num condition, const Then& then, const Otherwise& otherwise) const {
    const auto scalars = [](const std::tuple<Num, Num, Num>& values) {
      return Scalars{std::get<0>(values).scalar(), std::get<1>(values).scalar(), std::get<2>(values).scalar()};
    };
    Scalars chosen =
        builder.if_else(condition.scalar(), [&] { return scalars(then()); }, [&] { return scalars(otherwise()); });
    return {Num{builder, chosen[0]}, Num{builder, chosen[1]}, Num{builder, chosen[2]}};
  }
};

class Math : public Elementary<LoopMachine> {
 public:
  Math(Builder& builder, DType dtype) : Elementary(LoopMachine(builder, dtype)) {}

  Num remainder(Num a, Num b);
};

// Exact: C's fmod. Each turn of the loop subtracts the largest multiple of b 2^j with a quotient of at most 22 bits.
Num Math::remainder(Num a, Num b) {
  if (!m.is_double) {
    Math wide(m.builder, DType::kFloat64);
    return wide.remainder(a.convert(DType::kFloat64), b.convert(DType::kFloat64)).convert(m.dtype);
  }
  Num divisor = m.absolute(b);
  Num is_defined = a.apply(ScalarOp::kIsFinite) & (divisor > real(0));
  Num usable = is_defined & divisor.apply(ScalarOp::kIsFinite);
  Num start = select(usable, m.absolute(a), real(0));
  Scalar init[] = {start.scalar()};
  Scalars result = m.builder.while_loop(
      init, [&](absl::Span<const Scalar> carry) { return (Num{m.builder, carry[0]} >= divisor).scalar(); },
      [&](absl::Span<const Scalar> carry) {
        Num r{m.builder, carry[0]};
        // Quotients may be as large as 2^2098: raise the divisor until the quotient is finite.
        Num base = divisor;
        for (double lift : {0x1p980, 0x1p100}) {
          Num overflows = !((r / base) < real(0x1p1000));
          base = select(overflows, base * real(lift), base);
        }
        Num exponent = m.bits_of(r / base).shift_right(52) - m.integer(1023);
        Num step = base * power_of_two(m.max(exponent - m.integer(20), m.integer(0)));
        Num quotient = (r / step).apply(ScalarOp::kFloor);
        Double2 p = product(quotient, step);
        Num rest = (r - p.high) - p.low;
        rest = select(rest < real(0), rest + step, rest);
        rest = select(rest >= step, rest - step, rest);
        return Scalars{rest.scalar()};
      });
  Num remainder = copysign(Num{m.builder, result[0]}, a);
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
