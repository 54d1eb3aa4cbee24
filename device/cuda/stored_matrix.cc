#include "device/cuda/stored_matrix.h"

namespace ct::cuda::cublas {

ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return ElementType::kFloat64;
    case DType::kFloat16:
      return ElementType::kFloat16;
    case DType::kBFloat16:
      return ElementType::kBFloat16;
    default:
      return ElementType::kFloat32;
  }
}

Stored stored(const ProductMatrix& matrix, int64_t rows, int64_t columns) {
  if (matrix.column_stride == 1 && matrix.row_stride >= columns) return {columns, rows, matrix.row_stride, true};
  return {rows, columns, matrix.column_stride, false};
}

}  // namespace ct::cuda::cublas
