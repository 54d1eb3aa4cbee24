// The transcendental functions of ir/elementary.h on numbers: the same bits as compiled code has on this processor.
#pragma once

#include <cstdint>

#include "ir/scalar_op.h"

namespace ct {

// Whether `op` on floats is computed here: exp expm1 log log1p tanh erf sin cos pow atan2.
constexpr bool is_elementary(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
      return true;
    default:
      return false;
  }
}

// result[i] = op(x[i], y[i]) for i in [0, count); y is not read for unary ops. The result may lie exactly over an
// operand. T is float or double.
template <ScalarOp op, class T>
void elementary_loop(T* result, const T* x, const T* y, int64_t count);

template <ScalarOp op, class T>
T elementary(T x, T y = T(0)) {
  T result;
  elementary_loop<op, T>(&result, &x, &y, 1);
  return result;
}

}  // namespace ct
