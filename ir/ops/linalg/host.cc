#include "ir/ops/linalg/host.h"

namespace ct::linalg {

Tensor zeroed(const ReferenceInput& input, size_t index) {
  Tensor result = input.result(index);
  const Aval& aval = result.aval();
  if (aval.bytes() == 0) return result;
  if (input.unread.empty()) {
    std::memset(result.data(), 0, static_cast<size_t>(aval.bytes()));
    return result;
  }
  const bool is_matrix = aval.rank() == input.operands[input.unread[0].size].aval().rank() + 2;
  const int64_t columns = aval.dim(aval.rank() - 1), rows = is_matrix ? aval.dim(aval.rank() - 2) : 1;
  const int64_t count = aval.size() / (rows * columns);
  for (int64_t i = 0; i < count; ++i) {
    int64_t real[] = {columns, rows};  // by `from_last`
    for (const auto& axis : input.unread) {
      if (axis.index == index) real[axis.from_last] = real_size(input, axis.size, i, real[axis.from_last]);
    }
    for (int64_t row = 0; row < real[1]; ++row) {
      const int64_t bytes = dtype_size(aval.dtype());
      std::memset(result.as<std::byte>() + (i * rows + row) * columns * bytes, 0, static_cast<size_t>(real[0] * bytes));
    }
  }
  return result;
}

}  // namespace ct::linalg
