// Functions to whole numbers. Their derivative is zero where it exists and taken as zero at the steps.
#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct {
namespace {

constexpr const char* kSteps = "piecewise constant";

const Primitive& kFloor = define(flat_unary("floor", ScalarOp::kFloor, kFloats, kSteps));
const Primitive& kCeil = define(flat_unary("ceil", ScalarOp::kCeil, kFloats, kSteps));
const Primitive& kRound = define(flat_unary("round", ScalarOp::kRound, kFloats, kSteps));

}  // namespace

Value floor(Value x) { return x.builder->bind1(kFloor, {x}); }
Value ceil(Value x) { return x.builder->bind1(kCeil, {x}); }
Value round(Value x) { return x.builder->bind1(kRound, {x}); }

}  // namespace ct
