#include "interpreter/kernels/loops.h"

namespace ct::loops {

void fill_functions(LoopTable& table) {
  fill<false, ScalarOp::kSqrt, ScalarOp::kExp, ScalarOp::kExpm1, ScalarOp::kLog, ScalarOp::kLog1p, ScalarOp::kTanh,
       ScalarOp::kErf, ScalarOp::kSin, ScalarOp::kCos, ScalarOp::kPow, ScalarOp::kAtan2>(table);
}

}  // namespace ct::loops
