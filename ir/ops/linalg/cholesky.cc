// cholesky: A = L L^H with L lower triangular, of Hermitian positive definite matrices; reads the lower triangle of A
// (and the real part of its diagonal). With `upper` A = R^H R with R = L^H, of the upper triangle of A. A matrix that
// is not positive definite gives NaN in the triangle.
#include <utility>

#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/ops/linalg/small.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

bool is_upper(const Attrs& attrs) { return attrs.has("upper") && attrs.flag("upper"); }

Avals cholesky_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  is_upper(attrs);  // a flag, where it is given
  if (operands.empty()) check_operand_count(operands, 1);
  check_square(operands[0]);
  check_sizes(operands, 1, 1, operands[0]);
  return {operands[0].strong()};
}

// dL = L Phi(L^-1 dA L^-H), where Phi takes the lower triangle and halves the diagonal: Murray, "Differentiation of the
// Cholesky decomposition", 2016.
JvpResult cholesky_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                       const AttrsPtr& attrs) {
  check_without_sizes(primals, 1);
  const Value factor = builder.bind1(kCholesky, primals, attrs);
  if (!tangents[0]) return {{factor}, {Value()}};
  const bool upper = is_upper(*attrs);
  const Value change = hermitian_of_triangle(with_lengths(tangents[0], primals[0]), !upper);
  const Value lower = upper ? adjoint(factor) : factor;
  const Value right = triangular_solve(lower, change, {.left_side = false, .transpose = true, .conjugate = true});
  const Value both = triangular_solve(lower, right, {});
  const Value half = select(is_diagonal(both), scaled(both, 0.5), lower_triangle(both, -1));
  const Value tangent = multiply(lower, half);
  return {{factor}, {upper ? adjoint(tangent) : tangent}};
}

std::vector<Masked> cholesky_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const Value length = square_length(a, "cholesky");
  Values values{a.value};
  if (length) append_size(builder, values, length, 0, a.value.aval());
  return {{builder.bind1(kCholesky, values, attrs), result_lengths(a, {length, length})}};
}

template <class T>
void factor(const T* a, T* result, int64_t n, int64_t stride, bool upper) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = upper ? i : 0, last = upper ? n : i + 1;
    std::copy_n(a + i * stride + first, last - first, result + i * stride + first);
  }
  // Row-major lower is column-major upper: A^T = U^H U gives L = U^T.
  if (lapack::potrf(upper ? 'L' : 'U', n, result, stride) == 0) return;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = upper ? i : 0, last = upper ? n : i + 1;
    std::fill(result + i * stride + first, result + i * stride + last, nan<T>());
  }
}

template <class T>
void factor_small(const T* a, T* result, int64_t n, int64_t stride, bool upper) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) result[i * stride + j] = upper ? conjugate(a[j * stride + i]) : a[i * stride + j];
  }
  if (!small_cholesky(result, n, stride)) {
    for (int64_t i = 0; i < n; ++i) std::fill_n(result + i * stride, i + 1, nan<T>());
  }
  if (!upper) return;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) result[j * stride + i] = conjugate(std::exchange(result[i * stride + j], T(0)));
  }
}

std::vector<Tensor> cholesky_reference(const ReferenceInput& input) {
  const Extent extent(input.output_avals[0]);
  const bool upper = is_upper(input.attrs);
  Tensor result = zeroed(input, 0);
  with_scalar(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t m = 0; m < extent.count; ++m) {
      const int64_t n = real_size(input, 1, m, extent.rows);
      const T* a = input.operands[0].as<T>() + m * extent.size();
      T* r = result.as<T>() + m * extent.size();
      if (n > 0) (n <= kSmall ? factor_small<T> : factor<T>)(a, r, n, extent.rows, upper);
    }
  });
  return {result};
}

Primitive cholesky_primitive() {
  const PrimitiveRef self("cholesky");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"upper", AttributeKind::kFlag, kOptional}};
  result.type = cholesky_type;
  result.jvp = cholesky_jvp;
  result.batch = leading_batch(self);
  result.mask = cholesky_mask;
  result.reference = cholesky_reference;
  result.expand = cholesky_expand;
  result.structure = host_call([](const Attrs&) { return Sized().operand(0, {{1}, {1}}).result(0, {{1}, {1}}); });
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, or expanded to a loop over columns";
  return result;
}
}  // namespace

const Primitive& kCholesky = define(cholesky_primitive());

}  // namespace ct::linalg
