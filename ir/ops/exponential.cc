// Exponentials, logarithms and powers.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/simplify.h"

namespace ct {
namespace {

const Primitive& kExp = define(unary("exp", ScalarOp::kExp, kInexacts,
                                     [](Value tangent, Value, Value result) { return mul_no_nan(tangent, result); }));

const Primitive& kExpm1 = define(unary("expm1", ScalarOp::kExpm1, kInexacts, [](Value tangent, Value, Value result) {
  return mul_no_nan(tangent, result + full_like(result, 1));
}));

const Primitive& kLog = define(
    unary("log", ScalarOp::kLog, kInexacts, [](Value tangent, Value x, Value) { return div_no_nan(tangent, x); }));

const Primitive& kLog1p = define(unary("log1p", ScalarOp::kLog1p, kInexacts, [](Value tangent, Value x, Value) {
  return div_no_nan(tangent, x + full_like(x, 1));
}));

// Infinite at 0, as the slope is.
const Primitive& kSqrt = define(unary("sqrt", ScalarOp::kSqrt, kInexacts, [](Value tangent, Value, Value result) {
  return mul_no_nan(tangent, full_like(result, 0.5) / result);
}));

Value where_zero(Value x, Value replacement) { return select(eq(x, zeros_like(x)), replacement, x); }

// d/dx x^y = y x^(y-1). At x = y = 0 that would be 0 * inf; x^0 is constant there, so x is replaced by 1.
Value pow_by_x(Value tangent, Value x, Value y, Value) {
  const Value zero = zeros_like(x), one = full_like(x, 1);
  const Value base = select(bit_and(eq(x, zero), eq(y, zero)), one, x);
  return mul_no_nan(tangent, y * pow(base, y - one));
}

// d/dy x^y = log(x) x^y, which tends to 0 with x.
Value pow_by_y(Value tangent, Value x, Value, Value result) {
  return mul_no_nan(tangent, log(where_zero(x, full_like(x, 1))) * result);
}

Value simplify_pow(const SimplifyInput& m) {
  const Value x = m.operands[0];
  const Value exponent = m.operands[1];
  if (m.is_full(exponent, 1)) return x;
  if (m.is_full(exponent, 2)) return mul(x, x);
  if (m.is_full(exponent, 0) && !is_complex(x.dtype())) return full(m.builder, m.output, 1);
  if (m.is_full(exponent, -1) && is_float(x.dtype())) return div(full(m.builder, m.output, 1), x);
  return {};
}

const Primitive& kPow =
    define(with_simplify(binary("pow", ScalarOp::kPow, kNumbers, pow_by_x, pow_by_y), simplify_by(simplify_pow)));

}  // namespace

Value exp(Value x) { return x.builder->bind1(kExp, {x}); }
Value expm1(Value x) { return x.builder->bind1(kExpm1, {x}); }
Value log(Value x) { return x.builder->bind1(kLog, {x}); }
Value log1p(Value x) { return x.builder->bind1(kLog1p, {x}); }
Value sqrt(Value x) { return x.builder->bind1(kSqrt, {x}); }
Value pow(Value x, Value y) { return x.builder->bind1(kPow, {x, y}); }

}  // namespace ct
