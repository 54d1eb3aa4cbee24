// Bitwise logic, of bools and integers, and shifts, of integers.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"

namespace ct {
namespace {

constexpr DTypeSet kBits = kBools | kIntegers;
constexpr const char* kDiscrete = "integers and bools carry no derivative";

}  // namespace

const Primitive& kNot = define(flat_unary("not", ScalarOp::kNot, kBits, kDiscrete));

namespace {
const Primitive& kAnd = define(flat_binary("and", ScalarOp::kAnd, kBits, kDiscrete));
const Primitive& kOr = define(flat_binary("or", ScalarOp::kOr, kBits, kDiscrete));
const Primitive& kXor = define(flat_binary("xor", ScalarOp::kXor, kBits, kDiscrete));
const Primitive& kShiftLeft = define(flat_binary("shift_left", ScalarOp::kShl, kIntegers, kDiscrete));
const Primitive& kShiftRightLogical =
    define(flat_binary("shift_right_logical", ScalarOp::kShrLogical, kIntegers, kDiscrete));
const Primitive& kShiftRightArithmetic =
    define(flat_binary("shift_right_arithmetic", ScalarOp::kShrArithmetic, kIntegers, kDiscrete));

}  // namespace

Value logical_not(Value x) { return x.builder->bind1(kNot, {x}); }
Value bit_and(Value x, Value y) { return x.builder->bind1(kAnd, {x, y}); }
Value bit_or(Value x, Value y) { return x.builder->bind1(kOr, {x, y}); }
Value bit_xor(Value x, Value y) { return x.builder->bind1(kXor, {x, y}); }
Value shift_left(Value x, Value y) { return x.builder->bind1(kShiftLeft, {x, y}); }
Value shift_right_logical(Value x, Value y) { return x.builder->bind1(kShiftRightLogical, {x, y}); }
Value shift_right_arithmetic(Value x, Value y) { return x.builder->bind1(kShiftRightArithmetic, {x, y}); }

}  // namespace ct
