// Factorisations as loops: see kernels.h. Matrices are the last two axes of batches of `count`, in row-major order.
#pragma once

#include <optional>

#include "jit/kernels/kernels.h"

namespace ct::loop {

// `size`, if given: int32 numbers, one for each matrix, of how many rows and columns are real. The others are zeros in
// the results.
struct MatrixShape {
  int64_t count, rows, columns;
  std::optional<Elements> size = std::nullopt;
};

// Of a Hermitian matrix of which only one triangle is read: eigenvalues, ascending, and if `vectors` are wanted those,
// as columns. Whatever the dtype, in double precision.
void emit_eigh(Builder& builder, const MatrixShape& shape, bool lower, const Elements& matrix, const Elements& values,
               const std::optional<Elements>& vectors);

// Singular values, descending, and if wanted vectors: U, of all columns or of as many as there are values, and V^H.
// Whatever the dtype, in double precision.
struct SingularVectors {
  Elements u, vh;
};
void emit_svd(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix,
              const Elements& values, const std::optional<SingularVectors>& vectors);

// Of float32 and float64. The lower triangle of a positive definite matrix; NaN in all of it for others.
void emit_cholesky(Builder& builder, const MatrixShape& shape, const Elements& matrix, const Elements& factor);
// L and U in one, which row was exchanged with each, and the order of the rows, as LAPACK's getrf chooses them.
void emit_lu(Builder& builder, const MatrixShape& shape, const Elements& matrix, const Elements& factors,
             const Elements& pivots, const Elements& order);
// Q, of all columns or of as many as R has rows; and R.
void emit_qr(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix, const Elements& q,
             const Elements& r);
// The same of A's columns in the order that pivoting finds; whatever the dtype, in double precision.
struct PivotedFactors {
  Elements q, r, order;
};
void emit_pivoted_qr(Builder& builder, const MatrixShape& shape, bool full_matrices, const Elements& matrix,
                     const PivotedFactors& factors);
// op(A) X = B for triangular A of `rows` rows and B of `columns` columns, or X op(A) = B for B of `columns` rows.
struct TriangularSystem {
  bool left, lower, transposed, unit_diagonal;
};
void emit_triangular_solve(Builder& builder, const MatrixShape& shape, const TriangularSystem& system,
                           const Elements& matrix, const Elements& right_side, const Elements& solution);

}  // namespace ct::loop
