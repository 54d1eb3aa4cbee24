// Which ScalarOps the folds (reduce.cc, cumulative.cc) are compiled for.
#pragma once

#include "interpreter/scalar_semantics.h"
#include "runtime/float_types.h"

namespace ct::kernels {

// Calls visitor with the op as a constant; false when there is no kernel for it.
template <class T, class Visitor>
bool dispatch_fold(ScalarOp op, Visitor&& visitor) {
  const auto call = [&]<ScalarOp folded>() {
    if constexpr (defined_v<folded, ComputeType<T>>) {
      visitor.template operator()<folded>();
      return true;
    } else {
      return false;
    }
  };
  switch (op) {
    case ScalarOp::kAdd:
      return call.template operator()<ScalarOp::kAdd>();
    case ScalarOp::kMul:
      return call.template operator()<ScalarOp::kMul>();
    case ScalarOp::kMax:
      return call.template operator()<ScalarOp::kMax>();
    case ScalarOp::kMin:
      return call.template operator()<ScalarOp::kMin>();
    default:
      return false;
  }
}

}  // namespace ct::kernels
