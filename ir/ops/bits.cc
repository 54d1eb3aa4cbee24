// Bitwise logic, of bools and integers, and shifts and counts of bits, of integers.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"

namespace ct {
namespace {

constexpr DTypeSet kBits = kBools | kIntegers;
constexpr const char* kDiscrete = "integers and bools carry no derivative";

// Of bools: `neutral` leaves the other operand, its opposite decides.
SimplifyRule simplify_connective(bool neutral) {
  return simplify_by([neutral](const SimplifyInput& m) -> Value {
    if (!is_bool(m.output.dtype())) return {};
    for (int side = 0; side < 2; ++side) {
      if (m.is_full(m.operands[side], neutral ? 1 : 0)) return m.operands[1 - side];
      if (m.is_full(m.operands[side], neutral ? 0 : 1)) return m.operands[side];
    }
    return m.operands[0] == m.operands[1] ? m.operands[0] : Value{};
  });
}

}  // namespace

const Primitive& kNot =
    define(with_simplify(flat_unary("not", ScalarOp::kNot, kBits, kDiscrete), simplify_involution()));

namespace {
const Primitive& kAnd =
    define(with_simplify(flat_binary("and", ScalarOp::kAnd, kBits, kDiscrete), simplify_connective(true)));
const Primitive& kOr =
    define(with_simplify(flat_binary("or", ScalarOp::kOr, kBits, kDiscrete), simplify_connective(false)));
const Primitive& kXor = define(flat_binary("xor", ScalarOp::kXor, kBits, kDiscrete));
const Primitive& kShiftLeft = define(flat_binary("shift_left", ScalarOp::kShl, kIntegers, kDiscrete));
const Primitive& kShiftRightLogical =
    define(flat_binary("shift_right_logical", ScalarOp::kShrLogical, kIntegers, kDiscrete));
const Primitive& kShiftRightArithmetic =
    define(flat_binary("shift_right_arithmetic", ScalarOp::kShrArithmetic, kIntegers, kDiscrete));
const Primitive& kPopulationCount =
    define(flat_unary("population_count", ScalarOp::kPopulationCount, kIntegers, kDiscrete));
const Primitive& kLeadingZeros = define(flat_unary("leading_zeros", ScalarOp::kLeadingZeros, kIntegers, kDiscrete));

}  // namespace

Value logical_not(Value x) { return x.builder->bind1(kNot, {x}); }
Value bit_and(Value x, Value y) { return x.builder->bind1(kAnd, {x, y}); }
Value bit_or(Value x, Value y) { return x.builder->bind1(kOr, {x, y}); }
Value bit_xor(Value x, Value y) { return x.builder->bind1(kXor, {x, y}); }
Value shift_left(Value x, Value y) { return x.builder->bind1(kShiftLeft, {x, y}); }
Value shift_right_logical(Value x, Value y) { return x.builder->bind1(kShiftRightLogical, {x, y}); }
Value shift_right_arithmetic(Value x, Value y) { return x.builder->bind1(kShiftRightArithmetic, {x, y}); }

}  // namespace ct
