// The arithmetic of one element: the machine-level operations that element rules are written in, that the loop IR
// contains, and that the interpreter's kernels are instantiated for. One list, CT_SCALAR_OPS, from which the enum,
// names and arities are derived.
//
// Semantics, for all back ends: integer arithmetic wraps; integer division truncates toward zero, and by zero
// gives -1 (as XLA does), the remainder by zero gives the dividend; `kRem` takes the dividend's sign (C's fmod);
// `kMax`/`kMin` propagate NaN; shifts by the bit width or more give 0 (kShrArithmetic: the sign); `kRound` rounds half
// to even; comparisons yield bool; `kSign` of NaN is NaN; float -> integer conversion truncates and saturates, NaN
// gives 0; any -> bool is `x != 0`; kMul of bools is `and`, kAdd of bools is `or`, kNot is bitwise on integers and
// logical on bool; `kPopulationCount` and `kLeadingZeros` count in the bits of an integer, signed or not.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace ct {

// X(enumerator, name, arity)
#define CT_SCALAR_OPS(X)                         \
  X(kNeg, "neg", 1)                              \
  X(kAbs, "abs", 1)                              \
  X(kSign, "sign", 1)                            \
  X(kNot, "not", 1)                              \
  X(kFloor, "floor", 1)                          \
  X(kCeil, "ceil", 1)                            \
  X(kRound, "round", 1)                          \
  X(kSqrt, "sqrt", 1)                            \
  X(kExp, "exp", 1)                              \
  X(kExpm1, "expm1", 1)                          \
  X(kLog, "log", 1)                              \
  X(kLog1p, "log1p", 1)                          \
  X(kTanh, "tanh", 1)                            \
  X(kErf, "erf", 1)                              \
  X(kSin, "sin", 1)                              \
  X(kCos, "cos", 1)                              \
  X(kIsFinite, "is_finite", 1)                   \
  X(kReal, "real", 1)                            \
  X(kImag, "imag", 1)                            \
  X(kConj, "conj", 1)                            \
  X(kPopulationCount, "population_count", 1)     \
  X(kLeadingZeros, "leading_zeros", 1)           \
  X(kAdd, "add", 2)                              \
  X(kSub, "sub", 2)                              \
  X(kMul, "mul", 2)                              \
  X(kDiv, "div", 2)                              \
  X(kRem, "rem", 2)                              \
  X(kPow, "pow", 2)                              \
  X(kAtan2, "atan2", 2)                          \
  X(kMax, "max", 2)                              \
  X(kMin, "min", 2)                              \
  X(kAnd, "and", 2)                              \
  X(kOr, "or", 2)                                \
  X(kXor, "xor", 2)                              \
  X(kShl, "shl", 2)                              \
  X(kShrLogical, "shift_right_logical", 2)       \
  X(kShrArithmetic, "shift_right_arithmetic", 2) \
  X(kEq, "eq", 2)                                \
  X(kNe, "ne", 2)                                \
  X(kLt, "lt", 2)                                \
  X(kLe, "le", 2)                                \
  X(kGt, "gt", 2)                                \
  X(kGe, "ge", 2)                                \
  X(kComplex, "complex", 2)

enum class ScalarOp : uint8_t {
#define CT_ENUMERATOR(enumerator, name, arity) enumerator,
  CT_SCALAR_OPS(CT_ENUMERATOR)
#undef CT_ENUMERATOR
};

struct ScalarOpInfo {
  std::string_view name;
  int arity;
};

inline constexpr ScalarOpInfo kScalarOpTable[] = {
#define CT_ROW(enumerator, name, arity) {name, arity},
    CT_SCALAR_OPS(CT_ROW)
#undef CT_ROW
};

inline constexpr int kNumScalarOps = static_cast<int>(std::size(kScalarOpTable));

constexpr const ScalarOpInfo& scalar_op_info(ScalarOp op) { return kScalarOpTable[static_cast<int>(op)]; }
constexpr bool is_comparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

}  // namespace ct
