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

// The angle of the point (y, x), y first. No direction is right at the origin: NaN there, as in JAX.
const Primitive& kAtan2 = define(binary(
    "atan2", ScalarOp::kAtan2, kFloats,
    [](Value tangent, Value y, Value x, Value) { return tangent * (x / (x * x + y * y)); },
    [](Value tangent, Value y, Value x, Value) { return -(tangent * (y / (x * x + y * y))); }));

}  // namespace

Value sin(Value x) { return x.builder->bind1(kSin, {x}); }
Value cos(Value x) { return x.builder->bind1(kCos, {x}); }
Value tanh(Value x) { return x.builder->bind1(kTanh, {x}); }
Value atan2(Value x, Value y) { return x.builder->bind1(kAtan2, {x, y}); }

}  // namespace ct
