// The error function: a whole primitive. `unary` fills every slot from the ScalarOp, the dtypes and the derivative;
// what a slot holds is said in primitive.h, and how it is filled in combinators.cc.
#include <cmath>
#include <numbers>

#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct {
namespace {

// d/dx erf(x) = 2/sqrt(pi) exp(-x^2)
const Primitive& kErf = define(unary("erf", ScalarOp::kErf, kFloats, [](Value tangent, Value x, Value) {
  return tangent * (full_like(x, 2 / std::sqrt(std::numbers::pi)) * exp(-(x * x)));
}));

}  // namespace

Value erf(Value x) { return x.builder->bind1(kErf, {x}); }

}  // namespace ct
