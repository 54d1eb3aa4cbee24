#include "interpreter/kernels/loops.h"

namespace ct::loops {

void fill_comparisons(LoopTable& table) {
  fill<false, ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe>(table);
}

}  // namespace ct::loops
