// Circular and hyperbolic functions.
#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct {
namespace {

const Primitive& kSin =
    define(unary("sin", ScalarOp::kSin, kInexacts, [](Value tangent, Value x, Value) { return tangent * cos(x); }));

const Primitive& kCos =
    define(unary("cos", ScalarOp::kCos, kInexacts, [](Value tangent, Value x, Value) { return -(tangent * sin(x)); }));

// 1 - y^2, as a product: exact to rounding where y is close to 1.
const Primitive& kTanh = define(unary("tanh", ScalarOp::kTanh, kInexacts, [](Value tangent, Value, Value result) {
  const Value one = full_like(result, 1);
  return tangent * ((one + result) * (one - result));
}));

// x / (x^2 + y^2); 0 at the origin. Both are divided by the larger one first, so that no square overflows or vanishes;
// the result does not depend on that scale.
Value turn(Value x, Value y) {
  const Value size = max(abs(x), abs(y));
  const Value zero = zeros_like(size), one = full_like(size, 1);
  const Value scale = stop_gradient(select(eq(size, zero), one, size));
  const Value u = x / scale, v = y / scale;
  const Value square = u * u + v * v;
  return u / (select(eq(square, zero), one, square) * scale);
}

// The angle of the point (y, x), y first. At the origin no direction is right; its derivative is taken as zero.
const Primitive& kAtan2 = define(binary(
    "atan2", ScalarOp::kAtan2, kFloats,
    [](Value tangent, Value y, Value x, Value) { return mul_no_nan(tangent, turn(x, y)); },
    [](Value tangent, Value y, Value x, Value) { return -mul_no_nan(tangent, turn(y, x)); }));

}  // namespace

Value sin(Value x) { return x.builder->bind1(kSin, {x}); }
Value cos(Value x) { return x.builder->bind1(kCos, {x}); }
Value tanh(Value x) { return x.builder->bind1(kTanh, {x}); }
Value atan2(Value x, Value y) { return x.builder->bind1(kAtan2, {x, y}); }

}  // namespace ct
