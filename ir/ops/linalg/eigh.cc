// eigh: eigenvalues, ascending, and with `compute_vectors` the eigenvectors (columns) of Hermitian matrices, of which
// only the triangle that `lower` names is read, and the real part of the diagonal.
//
// Derivatives of eigenvectors exist where eigenvalues differ (elsewhere they are Inf or NaN); those of eigenvalues
// always.
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

Avals eigh_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) check_operand_count(operands, 1);
  const Aval& a = operands[0];
  attrs.flag("lower");
  check_square(a);
  check_sizes(operands, 1, 1, a);
  Shape w = batch_shape(a);
  w.push_back(a.dim(a.rank() - 1));
  Avals results{Aval(real_dtype(a.dtype()), w)};
  if (attrs.flag("compute_vectors")) results.push_back(a.strong());
  return results;
}

// With P = V^H dA V: dw = diag P, dV = V (F o P) with F_ij = 1 / (w_j - w_i) off the diagonal. Giles, "Collected matrix
// derivative results", 2008, section 3.1.
JvpResult eigh_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attrs) {
  check_without_sizes(primals, 1);
  const bool vectors = attrs->flag("compute_vectors");
  if (!tangents[0]) {
    Values outputs = builder.bind(kEigh, primals, attrs);
    Values zero(outputs.size());
    return {std::move(outputs), std::move(zero)};
  }
  const Values outputs = builder.bind(kEigh, primals, attrs->with("compute_vectors", true));
  const Value w = outputs[0], v = outputs[1];
  const Value change = hermitian_of_triangle(with_lengths(tangents[0], primals[0]), attrs->flag("lower"));
  const Value p = multiply(adjoint(v), multiply(change, v));
  const Value dw = diagonal(is_complex(p.dtype()) ? real(p) : p);
  if (!vectors) return {{w}, {dw}};
  const Value gaps = sub(as_rows(w, p), as_columns(w, p));
  const Value on_diagonal = is_diagonal(p);
  const Value one = full_like(gaps, 1);
  const Value factors = select(on_diagonal, zeros_like(gaps), div(one, select(on_diagonal, one, gaps)));
  return {outputs, {dw, multiply(v, mul(to_dtype(factors, p), p))}};
}

std::vector<Masked> eigh_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const Value length = square_length(a, "eigh");
  Values values{a.value};
  if (length) append_size(builder, values, length, 0, a.value.aval());
  const Values outputs = builder.bind(kEigh, values, attrs);
  std::vector<Masked> results{{outputs[0], result_lengths(a, {length})}};
  if (outputs.size() > 1) results.push_back({outputs[1], result_lengths(a, {length, length})});
  return results;
}

std::vector<Tensor> eigh_reference(const ReferenceInput& input) {
  const Extent extent(input.operands[0].aval());
  const bool lower = input.attrs.flag("lower"), vectors = input.attrs.flag("compute_vectors");
  const std::vector<Tensor> results = zeroed(input);
  with_scalar(input.operands[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    using R = lapack::Real<T>;
    lapack::Workspace<T> workspace;
    std::vector<T> columns;
    for (int64_t i = 0; i < extent.count; ++i) {
      const int64_t n = real_size(input, 1, i, extent.rows), stride = extent.columns;
      if (n == 0) continue;
      const T* a = input.operands[0].as<T>() + i * extent.size();
      R* w = results[0].as<R>() + i * extent.rows;
      columns.assign(static_cast<size_t>(n * n), T(0));
      bool finite = true;
      for (int64_t row = 0; row < n; ++row) {
        const int64_t first = lower ? 0 : row, last = lower ? row + 1 : n;
        for (int64_t j = first; j < last; ++j) {
          columns[static_cast<size_t>(j * n + row)] = a[row * stride + j];
          finite = finite && is_finite(a[row * stride + j]);
        }
      }
      // LAPACK may not end on numbers that are none.
      if (!finite || lapack::syevd(vectors ? 'V' : 'N', lower ? 'L' : 'U', n, columns.data(), n, w, workspace) != 0) {
        std::fill_n(w, n, nan<R>());
        std::fill(columns.begin(), columns.end(), nan<T>());
      }
      if (vectors) from_columns(columns.data(), n, n, results[1].as<T>() + i * extent.size(), stride);
    }
  });
  return results;
}

Primitive eigh_primitive() {
  const PrimitiveRef self("eigh");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"compute_vectors", AttributeKind::kFlag}, {"lower", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = eigh_type;
  result.jvp = eigh_jvp;
  result.batch = leading_batch(self);
  result.mask = eigh_mask;
  result.reference = eigh_reference;
  result.expand = eigh_expand;
  result.structure =
      host_call([](const Attrs&) { return Sized().operand(0, {{1}, {1}}).result(0, {{1}}).result(1, {{1}, {1}}); });
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, loops (jit/kernels), or expanded to rotations";
  return result;
}
}  // namespace

const Primitive& kEigh = define(eigh_primitive());

}  // namespace ct::linalg
