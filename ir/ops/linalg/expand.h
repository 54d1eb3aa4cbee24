// The expand rules of factorisations: loops over the columns of a matrix, for programs that have no LAPACK (exported
// libraries). Each step works on whole matrices of a batch at once. Operands are those of the primitive, the real sizes
// of a mask region included.
#pragma once

#include "ir/builder.h"

namespace ct::linalg {

Values cholesky_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values triangular_solve_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values lu_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values lu_solve_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
// Of this and of svd, eig and schur vectors differ from LAPACK's by their sign or phase.
Values eigh_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values qr_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values svd_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values schur_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values eig_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);
Values sylvester_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);

}  // namespace ct::linalg
