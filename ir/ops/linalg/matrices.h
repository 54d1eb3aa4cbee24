// The vocabulary in which the rules of linear algebra are written: operands are batches of matrices [..., m, n], and
// every function works on the last two axes. Below it, what the records of this folder share.
//
// In a mask region a matrix may be smaller than its array. Then a primitive takes one more int32 operand for each of
// its sizes, of the batch's shape, and `reference` works on the leading part: the mask rule is the primitive itself,
// told the sizes. Derivatives are taken before regions expand, so jvp rules never see such operands.
#pragma once

#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct::linalg {

// ---- Values -------------------------------------------------------------------------------------------------------

Value multiply(Value a, Value b);  // matrix product
Value transposed(Value a);
Value adjoint(Value a);                             // conjugate transpose
Value lower_triangle(Value a, int64_t offset = 0);  // zero above diagonal `offset`
Value upper_triangle(Value a, int64_t offset = 0);  // zero below diagonal `offset`
Value diagonal(Value a);                            // of a square matrix: [..., n]
Value is_diagonal(Value a);                         // bool: true on the main diagonal
Value as_rows(Value vector, Value like);            // [..., n] as a matrix with equal rows, of the shape of `like`
Value as_columns(Value vector, Value like);         // [..., m] as a matrix with equal columns
Value to_dtype(Value real, Value like);             // `real` with the dtype of `like`, which may be complex
Value scaled(Value a, double factor);
// The Hermitian matrix of which only one triangle of `a` is read, as cholesky and eigh do; linear in `a`.
Value hermitian_of_triangle(Value a, bool lower);

struct Triangular {
  bool left_side = true, lower = true, transpose = false, conjugate = false, unit_diagonal = false;
};
Value triangular_solve(Value a, Value b, const Triangular& system);

// The tangent with the lengths of its primal on the last two axes.
Value with_lengths(Value tangent, Value primal);

// ---- Rules --------------------------------------------------------------------------------------------------------

void check_matrix(const Aval& a);
void check_square(const Aval& a);
// Operands from `first` on: at most `count` sizes in a mask region.
void check_sizes(absl::Span<const Aval> operands, size_t first, size_t count, const Aval& matrix);
// Throws unless the jvp rule was given just `count` operands.
void check_without_sizes(absl::Span<const Value> operands, size_t count);
Shape batch_shape(const Aval& a);

// All results are batches like the operands: the batch dimension goes to the front of every operand.
BatchRule leading_batch(PrimitiveRef primitive);

// The length of the last two axes of a square operand; null when both are exact.
Value square_length(const Masked& a, std::string_view op);
// Appends `length` (the static size when null) as a size operand for the batch of `like`.
void append_size(Builder& builder, Values& operands, Value length, int64_t bound, const Aval& like);
// Lengths of a result [batch..., last...].
Values result_lengths(const Masked& a, std::initializer_list<Value> last);
// The smaller of two lengths of axes with these bounds; null is exact.
Value smaller_of(Value a, int64_t a_bound, Value b, int64_t b_bound);

// Which operands say how long the last axes of operands and results are: for each axis, those of which it has the
// least.
class Sized {
 public:
  using Sizes = std::initializer_list<size_t>;
  Sized& operand(size_t index, std::initializer_list<Sizes> last) { return add(false, index, last); }
  Sized& result(size_t index, std::initializer_list<Sizes> last) { return add(true, index, last); }
  operator structures::HostCall::SizedAxes() const { return all_; }

 private:
  Sized& add(bool of_result, size_t index, std::initializer_list<Sizes> last);
  structures::HostCall::SizedAxes all_;
};
// What LAPACK computes, of matrices with these sizes.
std::shared_ptr<const Structure> host_call(std::function<structures::HostCall::SizedAxes(const Attrs& attrs)> sized);

}  // namespace ct::linalg
