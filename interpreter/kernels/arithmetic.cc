#include "interpreter/kernels/loops.h"

namespace ct::loops {

void fill_arithmetic(LoopTable& table) {
  fill<false, ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kSign, ScalarOp::kNot, ScalarOp::kFloor, ScalarOp::kCeil,
       ScalarOp::kRound, ScalarOp::kIsFinite, ScalarOp::kReal, ScalarOp::kImag, ScalarOp::kConj,
       ScalarOp::kPopulationCount, ScalarOp::kLeadingZeros>(table);
  fill<false, ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kDiv, ScalarOp::kRem, ScalarOp::kMax,
       ScalarOp::kMin, ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kXor, ScalarOp::kShl, ScalarOp::kShrLogical,
       ScalarOp::kShrArithmetic, ScalarOp::kComplex>(table);
}

}  // namespace ct::loops
