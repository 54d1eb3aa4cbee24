// Factorisations of small matrices as plain loops: below this size a LAPACK call costs more than its arithmetic.
#pragma once

#include <cmath>
#include <utility>

#include "ir/ops/linalg/host.h"

namespace ct::linalg {

inline constexpr int64_t kSmall = 16;

// The lower Cholesky factor in place of the lower triangle; false when the matrix is not positive definite.
template <class T>
bool small_cholesky(T* a, int64_t n, int64_t stride) {
  using R = lapack::Real<T>;
  for (int64_t j = 0; j < n; ++j) {
    T* row_j = a + j * stride;
    R diagonal = std::real(row_j[j]);
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(row_j[k]);
    if (!(diagonal > 0) || !std::isfinite(diagonal)) return false;
    diagonal = std::sqrt(diagonal);
    row_j[j] = diagonal;
    const R inverse = 1 / diagonal;
    for (int64_t i = j + 1; i < n; ++i) {
      T* row_i = a + i * stride;
      T sum = row_i[j];
      for (int64_t k = 0; k < j; ++k) sum -= row_i[k] * conjugate(row_j[k]);
      row_i[j] = sum * inverse;
    }
  }
  return true;
}

// LAPACK's measure of a pivot.
template <class T>
auto pivot_size(T x) {
  if constexpr (lapack::kIsComplex<T>) {
    return std::abs(x.real()) + std::abs(x.imag());
  } else {
    return std::abs(x);
  }
}

// L and U in place with partial pivoting; pivots[i] is the row that row i was exchanged with. A zero pivot stays.
template <class T>
void small_lu(T* a, int64_t m, int64_t n, int64_t stride, int32_t* pivots) {
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; i < m; ++i) {
      if (pivot_size(a[i * stride + j]) > pivot_size(a[best * stride + j])) best = i;
    }
    pivots[j] = static_cast<int32_t>(best);
    T* row_j = a + j * stride;
    if (best != j) std::swap_ranges(row_j, row_j + n, a + best * stride);
    const T pivot = row_j[j];
    if (pivot == T(0)) continue;
    for (int64_t i = j + 1; i < m; ++i) {
      T* row_i = a + i * stride;
      const T factor = row_i[j] = row_i[j] / pivot;
      for (int64_t k = j + 1; k < n; ++k) row_i[k] -= factor * row_j[k];
    }
  }
}

}  // namespace ct::linalg
