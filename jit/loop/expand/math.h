// Transcendental functions as loop IR: those of ir/elementary.h on machine values, which vectorise on every target, and
// the remainder, integer powers and functions of complex numbers.
#pragma once

#include "jit/loop/loop.h"

namespace ct::loop {

// Whether `op` on floats is expanded here rather than being one instruction: exp expm1 log log1p tanh erf sin cos pow
// atan2 rem.
bool is_math_function(ScalarOp op);

// `a` (and `b` for two operands) are float32 or float64 values; so is the result.
Value expand_math(Builder& builder, ScalarOp op, Value a, Value b = kNoValue);

// base^exponent of integers, wrapping; a negative exponent gives 1/base truncated toward zero (0 except for bases 1 and
// -1).
Value expand_integer_power(Builder& builder, Value base, Value exponent);

// Operations on complex numbers in terms of real ones. `operands` share one complex dtype, except for kComplex, whose
// are real.
Scalar expand_complex(Builder& builder, ScalarOp op, absl::Span<const Scalar> operands);

}  // namespace ct::loop
