// sylvester: the X with A X + X B = C, of square A [m, m] and B [n, n]. Linear in C. It is what the derivatives of
// matrix functions (square roots, polar factors) come down to, and unlike eigenvectors it does not mind eigenvalues
// that coincide; A and -B must have none in common. Bartels, Stewart, "Solution of the matrix equation AX + XB = C",
// 1972.
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::linalg {
namespace {

Avals sylvester_type(absl::Span<const Aval> operands, const Attrs&) {
  if (operands.size() < 3) check_operand_count(operands, 3);
  const Aval &a = operands[0], &b = operands[1], &c = operands[2];
  check_square(a);
  check_square(b);
  check_matrix(c);
  check_sizes(operands, 3, 2, c);
  if (a.dtype() != c.dtype() || b.dtype() != c.dtype()) {
    throw Error(ErrorKind::kDType, concat("operands must have equal dtypes, got ", a.to_string(), ", ", b.to_string(),
                                          " and ", c.to_string()))
        .hint("convert them to one dtype first");
  }
  const int rank = c.rank();
  if (batch_shape(a) != batch_shape(c) || batch_shape(b) != batch_shape(c) || a.dim(rank - 1) != c.dim(rank - 2) ||
      b.dim(rank - 1) != c.dim(rank - 1)) {
    throw Error(ErrorKind::kShape,
                concat("the shapes of ", a.to_string(), ", ", b.to_string(), " and ", c.to_string(), " do not fit"))
        .hint("A is [..., m, m], B [..., n, n] and C [..., m, n], with equal batch axes");
  }
  return {c.strong()};
}

Value sylvester(Value a, Value b, Value c) { return c.builder->bind1(kSylvester, {a, b, c}); }

// A dX + dX B = dC - dA X - X dB.
JvpResult sylvester_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents, const AttrsPtr&) {
  check_without_sizes(primals, 3);
  const Value a = primals[0], b = primals[1], x = sylvester(a, b, primals[2]);
  Value change;
  if (tangents[2]) change = with_lengths(tangents[2], primals[2]);
  if (tangents[0]) change = add_tangents(change, neg(multiply(with_lengths(tangents[0], a), x)));
  if (tangents[1]) change = add_tangents(change, neg(multiply(x, with_lengths(tangents[1], b))));
  return {{x}, {change ? sylvester(a, b, change) : Value()}};
}

Values sylvester_transpose(Builder&, const TransposeInput& input, const AttrsPtr&) {
  Values result(input.operands.size());
  result[2] = sylvester(transposed(input.operands[0]), transposed(input.operands[1]), input.cotangents[0]);
  return result;
}

std::vector<Masked> sylvester_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& c = operands[2];
  const int rank = c.value.rank();
  const Value rows = merge_lengths(square_length(operands[0], "sylvester"), c.lengths[rank - 2], "sylvester", rank - 2);
  const Value columns =
      merge_lengths(square_length(operands[1], "sylvester"), c.lengths[rank - 1], "sylvester", rank - 1);
  Values values{operands[0].value, operands[1].value, c.value};
  if (rows || columns) {
    append_size(builder, values, rows, c.value.shape()[rank - 2], c.value.aval());
    append_size(builder, values, columns, c.value.shape()[rank - 1], c.value.aval());
  }
  Masked result{builder.bind1(kSylvester, values, attrs), result_lengths(c, {rows, columns})};
  for (int i = 0; i < rank - 2; ++i) {
    for (const Masked& operand : operands) {
      result.lengths[i] = merge_lengths(result.lengths[i], operand.lengths[i], "sylvester", i);
    }
  }
  return {result};
}

// The Schur form of the leading n x n part: T, and Z.
template <class T>
struct SchurForm {
  std::vector<T> t, z;
  bool make(const T* a, int64_t n, int64_t stride, lapack::Workspace<T>& workspace) {
    t.resize(static_cast<size_t>(n * n));
    z.resize(static_cast<size_t>(n * n));
    to_columns(a, n, n, stride, t.data());
    return all_finite(a, n, n, stride) && lapack::gees(n, t.data(), n, z.data(), workspace) == 0;
  }
};

std::vector<Tensor> sylvester_reference(const ReferenceInput& input) {
  Tensor result = zeroed(input, 0);
  const Extent extent(result.aval());
  with_scalar(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    lapack::Workspace<T> workspace;
    SchurForm<T> left, right;
    std::vector<T> c, product;
    for (int64_t i = 0; i < extent.count; ++i) {
      const int64_t m = real_size(input, 3, i, extent.rows), n = real_size(input, 4, i, extent.columns);
      if (m == 0 || n == 0) continue;
      T* x = result.as<T>() + i * extent.size();
      c.resize(static_cast<size_t>(m * n));
      product.resize(c.size());
      to_columns(input.operands[2].as<T>() + i * extent.size(), m, n, extent.columns, c.data());
      const T* a = input.operands[0].as<T>() + i * extent.rows * extent.rows;
      const T* b = input.operands[1].as<T>() + i * extent.columns * extent.columns;
      if (!left.make(a, m, extent.rows, workspace) || !right.make(b, n, extent.columns, workspace)) {
        fill(x, m, n, extent.columns, nan<T>());
        continue;
      }
      const char adjoint = lapack::kIsComplex<T> ? 'C' : 'T';
      lapack::gemm(adjoint, 'N', m, n, m, left.z.data(), m, c.data(), m, product.data(), m);
      lapack::gemm('N', 'N', m, n, n, product.data(), m, right.z.data(), n, c.data(), m);
      lapack::trsyl(m, n, left.t.data(), right.t.data(), c.data());
      lapack::gemm('N', 'N', m, n, m, left.z.data(), m, c.data(), m, product.data(), m);
      lapack::gemm('N', adjoint, m, n, n, product.data(), m, right.z.data(), n, c.data(), m);
      from_columns(c.data(), m, n, x, extent.columns);
    }
  });
  return {result};
}

Primitive sylvester_primitive() {
  const PrimitiveRef self("sylvester");
  Primitive result;
  result.name = self.name();
  result.type = sylvester_type;
  result.jvp = sylvester_jvp;
  result.transpose = sylvester_transpose;
  result.batch = leading_batch(self);
  result.mask = sylvester_mask;
  result.reference = sylvester_reference;
  result.expand = sylvester_expand;
  result.structure = host_call([](const Attrs&) {
    return Sized().operand(0, {{3}, {3}}).operand(1, {{4}, {4}}).operand(2, {{3}, {4}}).result(0, {{3}, {4}});
  });
  result.absent["element"] = "elements mix: LAPACK, or expanded to triangular systems";
  return result;
}
}  // namespace

const Primitive& kSylvester = define(sylvester_primitive());

}  // namespace ct::linalg
