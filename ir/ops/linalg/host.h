// Batches of matrices on the host: what the reference rules of this folder share. A rule makes its results with
// `zeroed`, picks the element type with `with_scalar`, and visits each matrix of a batch with its real size, which in
// a mask region is smaller than the array: the rest of the results stays 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/primitive.h"
#include "runtime/error.h"
#include "runtime/lapack.h"

namespace ct::linalg {

// Calls body with a value of the element type of `dtype`.
template <class Body>
void with_scalar(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kFloat32:
      return body(float{});
    case DType::kFloat64:
      return body(double{});
    case DType::kComplex64:
      return body(std::complex<float>{});
    case DType::kComplex128:
      return body(std::complex<double>{});
    default:
      CT_CHECK(false);
  }
}

// The bounds of one matrix, and how many there are.
struct Extent {
  explicit Extent(const Aval& aval) : rows(aval.dim(aval.rank() - 2)), columns(aval.dim(aval.rank() - 1)), count(1) {
    for (int axis = 0; axis < aval.rank() - 2; ++axis) count *= aval.dim(axis);
  }
  int64_t size() const { return rows * columns; }

  int64_t rows, columns, count;
};

// The real size that operand `index` (int32, one for each matrix) gives matrix `i`; the bound when there is no such
// operand.
inline int64_t real_size(const ReferenceInput& input, size_t index, int64_t i, int64_t bound) {
  if (index >= input.operands.size()) return bound;
  return std::clamp<int64_t>(input.operands[index].as<int32_t>()[i], 0, bound);
}

// Result `index`, zero as far as anybody reads it.
Tensor zeroed(const ReferenceInput& input, size_t index);
inline std::vector<Tensor> zeroed(const ReferenceInput& input) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < input.output_avals.size(); ++i) results.push_back(zeroed(input, i));
  return results;
}

template <class T>
T conjugate(T x) {
  if constexpr (lapack::kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <class T>
T nan() {
  const auto value = std::numeric_limits<lapack::Real<T>>::quiet_NaN();
  if constexpr (lapack::kIsComplex<T>) {
    return {value, value};
  } else {
    return value;
  }
}

template <class T>
bool is_finite(T x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

// The leading rows x columns elements of a matrix with `stride` elements between rows.
template <class T>
bool all_finite(const T* matrix, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (!is_finite(matrix[i * stride + j])) return false;
    }
  }
  return true;
}

template <class T>
void fill(T* matrix, int64_t rows, int64_t columns, int64_t stride, T value) {
  for (int64_t i = 0; i < rows; ++i) std::fill_n(matrix + i * stride, columns, value);
}

// Calls body(i, j) for every element of a matrix, by squares whose rows and columns both stay in the cache.
template <class Body>
void for_each_element(int64_t rows, int64_t columns, Body&& body) {
  constexpr int64_t kSide = 16;
  for (int64_t top = 0; top < rows; top += kSide) {
    for (int64_t left = 0; left < columns; left += kSide) {
      for (int64_t i = top; i < std::min(top + kSide, rows); ++i) {
        for (int64_t j = left; j < std::min(left + kSide, columns); ++j) body(i, j);
      }
    }
  }
}

// LAPACK's column-major matrices from ours and back: `columns_of` has `rows` elements between columns.
template <class T>
void to_columns(const T* matrix, int64_t rows, int64_t columns, int64_t stride, T* columns_of) {
  for_each_element(rows, columns, [&](int64_t i, int64_t j) { columns_of[j * rows + i] = matrix[i * stride + j]; });
}
template <class T>
void from_columns(const T* columns_of, int64_t rows, int64_t columns, T* matrix, int64_t stride) {
  for_each_element(rows, columns, [&](int64_t i, int64_t j) { matrix[i * stride + j] = columns_of[j * rows + i]; });
}

// Solves op(A) X = B, or X op(A) = B when `left` is false, in place of B: `rows` x `columns` with `b_stride` elements
// between rows. Only the triangle of A that `lower` names is read.
struct TriangularSystem {
  bool left, lower, transpose, conjugate, unit_diagonal;
};
template <class T>
void solve_triangular(const TriangularSystem& system, const T* a, int64_t a_stride, T* b, int64_t rows, int64_t columns,
                      int64_t b_stride);

}  // namespace ct::linalg
