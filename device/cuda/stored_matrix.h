// Matrices of a plan's products in cuBLASLt's words, for products that are made here and those of exported programs.
#pragma once

#include "device/cuda/cublaslt_calls.h"
#include "device/plan.h"

namespace ct::cuda::cublas {

ElementType element_type(DType dtype);

// A matrix as the library has it in memory, columns first: it, or what it is the transpose of. If a result c = a b is
// the transpose, that is c' = b' a' there.
struct Stored {
  int64_t rows, columns, pitch;
  bool transposed;
};
Stored stored(const ProductMatrix& matrix, int64_t rows, int64_t columns);

}  // namespace ct::cuda::cublas
