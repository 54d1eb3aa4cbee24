#include "absl/container/flat_hash_map.h"
#include "interpreter/kernels/kernels.h"

namespace ct {
namespace {

struct Row {
  std::string_view primitive;
  Kernel kernel;
};

// Kernels of single primitives; those of families follow from the primitive's record, see find_kernel.
constexpr Row kRows[] = {
    {"select", kernels::select},
    {"convert", kernels::convert},
    {"bitcast", kernels::alias},
    {"reshape", kernels::alias},
    {"stop_gradient", kernels::alias},
    {"fill_padding", kernels::alias},
    {"threefry2x32", kernels::threefry},
    {"full", kernels::full},
    {"iota", kernels::iota},
    {"broadcast", kernels::broadcast},
    {"transpose", kernels::transpose},
    {"reverse", kernels::reverse},
    {"slice", kernels::slice},
    {"pad", kernels::pad},
    {"concatenate", kernels::concatenate},
    {"dot_general", kernels::dot_general},
    {"gather", kernels::gather},
    {"dynamic_slice", kernels::dynamic_slice},
    {"dynamic_update_slice", kernels::dynamic_update_slice},
    {"window_slice", kernels::window_slice},
};

using Table = absl::flat_hash_map<const Primitive*, Kernel>;

const Table& table() {
  static const Table* instance = [] {
    auto* result = new Table;
    for (const Row& row : kRows) {
      if (const Primitive* primitive = find_primitive(row.primitive)) result->emplace(primitive, row.kernel);
    }
    return result;
  }();
  return *instance;
}

}  // namespace

Kernel find_kernel(const Primitive& primitive) {
  if (primitive.scalar) return kernels::scalar_op;
  if (primitive.lowering == Lowering::kReduce) return kernels::reduce;
  if (primitive.lowering == Lowering::kCumulative) return kernels::cumulative;
  if (primitive.lowering == Lowering::kScatter) return kernels::scatter;
  const auto it = table().find(&primitive);
  return it == table().end() ? nullptr : it->second;
}

}  // namespace ct
