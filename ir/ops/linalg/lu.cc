// lu: P A = L U by partial pivoting. Results: L below the diagonal of one matrix (its diagonal is 1) and U above; the
// pivots (row i was exchanged with row pivots[i]); and the permutation: (P A)[i] = A[permutation[i]]. A singular matrix
// has a zero on U's diagonal.
//
// lu_solve: op(A) X = B with the factors given; operands A, its lu, its permutation, B. The derivative is that of the
// solution as a function of A and B: the factors count as known, so that every order of derivative uses them again.
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/ops/linalg/small.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::linalg {
namespace {

// ---- lu -----------------------------------------------------------------------------------------------------------

Avals lu_type(absl::Span<const Aval> operands, const Attrs&) {
  if (operands.empty()) check_operand_count(operands, 1);
  const Aval& a = operands[0];
  check_matrix(a);
  check_sizes(operands, 1, 1, a);
  Shape pivots = batch_shape(a), permutation = pivots;
  const int64_t rows = a.dim(a.rank() - 2);
  pivots.push_back(std::min(rows, a.dim(a.rank() - 1)));
  permutation.push_back(rows);
  return {a.strong(), Aval(DType::kInt32, pivots), Aval(DType::kInt32, permutation)};
}

// `a` with zeros below or to the right up to size x size, and 1 on the new part of the diagonal.
Value square(Value a, int64_t size) {
  const int rank = a.rank();
  const int64_t rows = a.shape()[rank - 2], columns = a.shape()[rank - 1];
  if (rows == columns) return a;
  Ints none(static_cast<size_t>(rank), 0), high = none;
  high[rank - 2] = size - rows;
  high[rank - 1] = size - columns;
  const Value padded = pad(a, zeros(*a.builder, Aval(a.dtype(), {})), none, high, none);
  const Aval indices(DType::kInt32, padded.shape());
  const Value is_new =
      ge(iota(*a.builder, indices, rank - 2), full_integer(*a.builder, indices, std::min(rows, columns)));
  return select(bit_and(is_diagonal(padded), is_new), full_like(padded, 1), padded);
}

// With P dA = dL U + L dU, so L^-1 P dA U^-1 = L^-1 dL + dU U^-1: strictly lower plus upper. De Hoog, Anderssen, Lukas,
// "Differentiation of matrix functionals using triangular factorization", 2011. Matrices that are not square have L or
// U continued by the identity.
JvpResult lu_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                 const AttrsPtr& attrs) {
  check_without_sizes(primals, 1);
  const Values outputs = builder.bind(kLu, primals, attrs);
  if (!tangents[0]) return {outputs, Values(3)};
  const Value a = primals[0], factors = outputs[0];
  const int rank = a.rank();
  const int64_t m = a.shape()[rank - 2], n = a.shape()[rank - 1], k = std::min(m, n);
  const Value change = gather(with_lengths(tangents[0], a), outputs[2], rank - 2, rank - 2);
  const Value lower = square(slice_axis(factors, rank - 1, 0, k), m);
  const Value upper = square(slice_axis(factors, rank - 2, 0, k), n);
  const Value unit_lower = select(is_diagonal(lower), full_like(lower, 1), lower_triangle(lower, -1));
  const Value inner = triangular_solve(upper, triangular_solve(lower, change, {.lower = true, .unit_diagonal = true}),
                                       {.left_side = false, .lower = false});
  const Value tangent =
      add(multiply(unit_lower, lower_triangle(inner, -1)), multiply(upper_triangle(inner), upper_triangle(upper)));
  return {outputs, {tangent, Value(), Value()}};
}

std::vector<Masked> lu_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const int rank = a.value.rank();
  const bool ragged = a.ragged(rank - 2) || a.ragged(rank - 1);
  if (ragged && a.value.shape()[rank - 2] != a.value.shape()[rank - 1]) {
    throw Error(ErrorKind::kUnsupported, "takes only square matrices when their sizes are ragged")
        .hint("use qr or svd, which take any matrix");
  }
  const Value length = square_length(a, "lu");
  Values values{a.value};
  if (length) append_size(builder, values, length, 0, a.value.aval());
  const Values outputs = builder.bind(kLu, values, attrs);
  const Values vector = result_lengths(a, {length});
  return {{outputs[0], result_lengths(a, {length, length})}, {outputs[1], vector}, {outputs[2], vector}};
}

template <class T>
void factor(T* a, int64_t m, int64_t n, int64_t stride, int32_t* pivots, std::vector<T>& columns,
            lapack::Workspace<T>& workspace) {
  if (std::max(m, n) <= kSmall) return small_lu(a, m, n, stride, pivots);
  columns.resize(static_cast<size_t>(m * n));
  to_columns(a, m, n, stride, columns.data());
  lapack::getrf(m, n, columns.data(), m, pivots, workspace);
  from_columns(columns.data(), m, n, a, stride);
}

std::vector<Tensor> lu_reference(const ReferenceInput& input) {
  const Extent extent(input.output_avals[0]);
  const int64_t bound = std::min(extent.rows, extent.columns);
  const std::vector<Tensor> results = zeroed(input);
  with_scalar(results[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    lapack::Workspace<T> workspace;
    std::vector<T> columns;
    for (int64_t i = 0; i < extent.count; ++i) {
      const bool sized = input.operands.size() > 1;
      const int64_t m = real_size(input, 1, i, extent.rows), n = sized ? m : extent.columns;
      const T* a = input.operands[0].as<T>() + i * extent.size();
      T* factors = results[0].as<T>() + i * extent.size();
      int32_t* pivots = results[1].as<int32_t>() + i * bound;
      int32_t* permutation = results[2].as<int32_t>() + i * extent.rows;
      for (int64_t row = 0; row < m; ++row) {
        std::copy_n(a + row * extent.columns, n, factors + row * extent.columns);
        permutation[row] = static_cast<int32_t>(row);
      }
      if (m == 0 || n == 0) continue;
      factor(factors, m, n, extent.columns, pivots, columns, workspace);
      for (int64_t k = 0; k < std::min(m, n); ++k) std::swap(permutation[k], permutation[pivots[k]]);
    }
  });
  return results;
}

Primitive lu_primitive() {
  const PrimitiveRef self("lu");
  Primitive result;
  result.name = self.name();
  result.several_results = true;
  result.type = lu_type;
  result.jvp = lu_jvp;
  result.batch = leading_batch(self);
  result.mask = lu_mask;
  result.reference = lu_reference;
  result.expand = lu_expand;
  result.structure = host_call([](const Attrs&) {
    return Sized().operand(0, {{1}, {1}}).result(0, {{1}, {1}}).result(1, {{1}}).result(2, {{1}});
  });
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, or expanded to a loop over columns";
  return result;
}
}  // namespace

const Primitive& kLu = define(lu_primitive());

namespace {

// ---- lu_solve -----------------------------------------------------------------------------------------------------

Avals lu_solve_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.size() < 4) check_operand_count(operands, 4);
  const Aval &a = operands[0], &permutation = operands[2], &b = operands[3];
  attrs.flag("transpose_a");
  attrs.flag("conjugate_a");
  check_square(a);
  check_matrix(b);
  check_sizes(operands, 4, 1, a);
  check_same_types(operands.subspan(0, 2));
  if (a.dtype() != b.dtype() || !is_integer(permutation.dtype())) {
    throw Error(ErrorKind::kDType, concat("A, its factors and B must have equal dtypes and the permutation an integer "
                                          "one, got ",
                                          a.to_string(), ", ", b.to_string(), " and ", permutation.to_string()))
        .hint("convert them to one dtype first");
  }
  Shape expected = batch_shape(a);
  if (batch_shape(b) != expected || b.dim(b.rank() - 2) != a.dim(a.rank() - 1)) {
    throw Error(ErrorKind::kShape,
                concat("the matrix ", a.to_string(), " does not fit the right-hand side ", b.to_string()))
        .hint("A is [..., n, n] and B [..., n, k], with equal batch axes");
  }
  expected.push_back(a.dim(a.rank() - 1));
  if (!same_type(permutation, Aval(DType::kInt32, expected))) {
    throw Error(ErrorKind::kShape, concat("the permutation of ", a.to_string(), " must be ",
                                          Aval(DType::kInt32, expected).to_string(), ", got ", permutation.to_string()))
        .hint("pass the third result of lu");
  }
  return {b.strong()};
}

Value bind_lu_solve(absl::Span<const Value> factored, Value b, const AttrsPtr& attrs) {
  return b.builder->bind1(kLuSolve, {factored[0], factored[1], factored[2], b}, attrs);
}

// dX = op(A)^-1 (dB - op(dA) X).
JvpResult lu_solve_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                       const AttrsPtr& attrs) {
  check_without_sizes(primals, 4);
  const Value x = bind_lu_solve(primals, primals[3], attrs);
  Value change;
  if (tangents[3]) change = with_lengths(tangents[3], primals[3]);
  if (tangents[0]) {
    Value matrix = with_lengths(tangents[0], primals[0]);
    if (attrs->flag("transpose_a")) matrix = transposed(matrix);
    if (attrs->flag("conjugate_a") && is_complex(matrix.dtype())) matrix = conj(matrix);
    change = add_tangents(change, neg(multiply(matrix, x)));
  }
  return {{x}, {change ? bind_lu_solve(primals, change, attrs) : Value()}};
}

Values lu_solve_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  Values result(input.operands.size());
  result[3] =
      bind_lu_solve(input.operands, input.cotangents[0], attrs->with("transpose_a", !attrs->flag("transpose_a")));
  return result;
}

// Many right-hand sides of one matrix are further columns of B.
std::vector<Batched> lu_solve_batch(Builder& builder, absl::Span<const Batched> operands, const BatchAxis& batch,
                                    const AttrsPtr& attrs) {
  static const BatchRule whole = leading_batch(PrimitiveRef("lu_solve"));
  const bool alone = !operands[0].batched() && !operands[1].batched() && !operands[2].batched();
  if (!alone || operands.size() > 4) return whole(builder, operands, batch, attrs);
  const int at = operands[3].value.rank() - 1;
  const Value b = move_axis(operands[3].value, operands[3].axis, at);
  Shape shape = b.shape();
  shape[static_cast<size_t>(at) - 1] *= batch.size;
  shape.pop_back();
  const Values factored{operands[0].value, operands[1].value, operands[2].value};
  return {{reshape(bind_lu_solve(factored, reshape(b, shape), attrs), b.shape()), at}};
}

std::vector<Masked> lu_solve_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked &a = operands[0], &b = operands[3];
  const int axis = b.value.rank() - 2;
  const Value length = merge_lengths(square_length(a, "lu_solve"), b.lengths[axis], "lu_solve", axis);
  Values values;
  for (const Masked& operand : operands) values.push_back(operand.value);
  if (length) append_size(builder, values, length, 0, a.value.aval());
  Masked result{builder.bind1(kLuSolve, values, attrs), b.lengths};
  result.lengths[axis] = length;
  for (int i = 0; i < axis; ++i) result.lengths[i] = merge_lengths(a.lengths[i], b.lengths[i], "lu_solve", i);
  return {result};
}

std::vector<Tensor> lu_solve_reference(const ReferenceInput& input) {
  const bool transpose = input.attrs.flag("transpose_a"), conjugate = input.attrs.flag("conjugate_a");
  const Extent a_extent(input.operands[1].aval()), b_extent(input.operands[3].aval());
  Tensor result = zeroed(input, 0);
  with_scalar(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> solution;
    for (int64_t i = 0; i < a_extent.count; ++i) {
      const int64_t n = real_size(input, 4, i, a_extent.rows), columns = b_extent.columns;
      const T* factors = input.operands[1].as<T>() + i * a_extent.size();
      const int32_t* permutation = input.operands[2].as<int32_t>() + i * a_extent.rows;
      const T* b = input.operands[3].as<T>() + i * b_extent.size();
      T* x = result.as<T>() + i * b_extent.size();
      for (int64_t row = 0; row < n; ++row) {
        if (permutation[row] >= 0 && permutation[row] < n) continue;
        throw Error(ErrorKind::kValue, concat(permutation[row], " in the permutation of a matrix of size ", n))
            .hint("pass the third result of lu");
      }
      const TriangularSystem lower{true, true, transpose, conjugate, true},
          upper{true, false, transpose, conjugate, false};
      if (!transpose) {
        for (int64_t row = 0; row < n; ++row) std::copy_n(b + permutation[row] * columns, columns, x + row * columns);
        solve_triangular(lower, factors, a_extent.columns, x, n, columns, columns);
        solve_triangular(upper, factors, a_extent.columns, x, n, columns, columns);
        continue;
      }
      solution.assign(b, b + n * columns);
      solve_triangular(upper, factors, a_extent.columns, solution.data(), n, columns, columns);
      solve_triangular(lower, factors, a_extent.columns, solution.data(), n, columns, columns);
      for (int64_t row = 0; row < n; ++row) {
        std::copy_n(solution.data() + row * columns, columns, x + permutation[row] * columns);
      }
    }
  });
  return {result};
}

Primitive lu_solve_primitive() {
  Primitive result;
  result.name = "lu_solve";
  result.attributes = {{"conjugate_a", AttributeKind::kFlag}, {"transpose_a", AttributeKind::kFlag}};
  result.type = lu_solve_type;
  result.jvp = lu_solve_jvp;
  result.transpose = lu_solve_transpose;
  result.batch = lu_solve_batch;
  result.mask = lu_solve_mask;
  result.reference = lu_solve_reference;
  result.expand = lu_solve_expand;
  result.structure = host_call([](const Attrs&) {
    return Sized()
        .operand(0, {{4}, {4}})
        .operand(1, {{4}, {4}})
        .operand(2, {{4}})
        .operand(3, {{4}, {}})
        .result(0, {{4}, {}});
  });
  result.absent["element"] = "elements mix: LAPACK, or expanded to a loop over columns";
  return result;
}
}  // namespace

const Primitive& kLuSolve = define(lu_solve_primitive());

}  // namespace ct::linalg
