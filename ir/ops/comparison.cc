// Predicates: bool results, of operands of one shape and dtype.
#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct {
namespace {

const Primitive& kEq = define(comparison("eq", ScalarOp::kEq, kArithmetic));
const Primitive& kNe = define(comparison("ne", ScalarOp::kNe, kArithmetic));
const Primitive& kLt = define(comparison("lt", ScalarOp::kLt, kOrdered));
const Primitive& kLe = define(comparison("le", ScalarOp::kLe, kOrdered));
const Primitive& kGt = define(comparison("gt", ScalarOp::kGt, kOrdered));
const Primitive& kGe = define(comparison("ge", ScalarOp::kGe, kOrdered));
const Primitive& kIsFinite = define(comparison("is_finite", ScalarOp::kIsFinite, kInexacts));

}  // namespace

Value eq(Value x, Value y) { return x.builder->bind1(kEq, {x, y}); }
Value ne(Value x, Value y) { return x.builder->bind1(kNe, {x, y}); }
Value lt(Value x, Value y) { return x.builder->bind1(kLt, {x, y}); }
Value le(Value x, Value y) { return x.builder->bind1(kLe, {x, y}); }
Value gt(Value x, Value y) { return x.builder->bind1(kGt, {x, y}); }
Value ge(Value x, Value y) { return x.builder->bind1(kGe, {x, y}); }
Value is_finite(Value x) { return x.builder->bind1(kIsFinite, {x}); }

}  // namespace ct
