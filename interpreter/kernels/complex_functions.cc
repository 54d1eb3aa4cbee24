#include "interpreter/kernels/loops.h"

namespace ct::loops {

void fill_complex_functions(LoopTable& table) {
  fill<true, ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kSign, ScalarOp::kSqrt, ScalarOp::kExp, ScalarOp::kExpm1,
       ScalarOp::kLog, ScalarOp::kLog1p, ScalarOp::kTanh, ScalarOp::kSin, ScalarOp::kCos, ScalarOp::kIsFinite,
       ScalarOp::kReal, ScalarOp::kImag, ScalarOp::kConj, ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul,
       ScalarOp::kDiv, ScalarOp::kPow, ScalarOp::kEq, ScalarOp::kNe>(table);
}

}  // namespace ct::loops
