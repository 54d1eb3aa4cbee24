#include "absl/container/flat_hash_map.h"
#include "interpreter/kernels/kernels.h"
#include "ir/primitives.h"

namespace ct {
namespace {

// Kernels of single primitives; those of families follow from the primitive's record.
const absl::flat_hash_map<const Primitive*, Kernel>& table() {
  static const auto* const instance = new absl::flat_hash_map<const Primitive*, Kernel>{
      {&kSelect, kernels::select},
      {&kConvert, kernels::convert},
      {&kBitcast, kernels::alias},
      {&kReshape, kernels::alias},
      {&kStopGradient, kernels::alias},
      {&kFillPadding, kernels::alias},
      {&kThreefry, kernels::threefry},
      {&kFull, kernels::full},
      {&kIota, kernels::iota},
      {&kBroadcast, kernels::broadcast},
      {&kTranspose, kernels::transpose},
      {&kReverse, kernels::reverse},
      {&kSlice, kernels::slice},
      {&kPad, kernels::pad},
      {&kConcatenate, kernels::concatenate},
      {&kDotGeneral, kernels::dot_general},
      {&kGather, kernels::gather},
      {&kDynamicSlice, kernels::dynamic_slice},
      {&kDynamicUpdateSlice, kernels::dynamic_update_slice},
      {&kWindowSlice, kernels::window_slice},
  };
  return *instance;
}

}  // namespace

Kernel find_kernel(const Primitive& primitive) {
  if (primitive.scalar) return kernels::scalar_op;
  if (primitive.is<structures::Fold>()) return kernels::reduce;
  if (primitive.is<structures::RunningFold>()) return kernels::cumulative;
  if (primitive.is<structures::Scatter>()) return kernels::scatter;
  const auto it = table().find(&primitive);
  return it == table().end() ? nullptr : it->second;
}

}  // namespace ct
