// svd: A = U diag(s) V^H with s descending. Results: s, and with `compute_uv` also U and V^H, with k = min(m, n)
// columns and rows, or all of them when `full_matrices`.
//
// Derivatives of U and V exist where singular values differ (elsewhere they are Inf or NaN); those of s always.
#include "ir/lengths.h"
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::linalg {
namespace {

Avals svd_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) check_operand_count(operands, 1);
  const Aval& a = operands[0];
  check_matrix(a);
  check_sizes(operands, 1, 2, a);
  const Extent extent(a);
  const int64_t k = std::min(extent.rows, extent.columns);
  const bool full = attrs.flag("full_matrices");
  Shape s = batch_shape(a), u = s, vh = s;
  s.push_back(k);
  Avals results{Aval(real_dtype(a.dtype()), s)};
  if (!attrs.flag("compute_uv")) return results;
  u.insert(u.end(), {extent.rows, full ? extent.rows : k});
  vh.insert(vh.end(), {full ? extent.columns : k, extent.columns});
  results.insert(results.end(), {Aval(a.dtype(), u), Aval(a.dtype(), vh)});
  return results;
}

// Giles, "Collected matrix derivative results", 2008, section 3.2, and for U and V Townsend, "Differentiating the
// singular value decomposition", 2016: with P = U^H dA V and F_ij = 1 / (s_j^2 - s_i^2),
//   ds = Re diag P,  dU = U (F o (P S + S P^H)) + (I - U U^H) dA V / S,  dV = V (F o (S P + P^H S)) + the same of A^H.
// Complex singular vectors have a free phase: V's is kept, and U takes the imaginary part of diag P.
JvpResult svd_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                  const AttrsPtr& attrs) {
  check_without_sizes(primals, 1);
  const bool vectors = attrs->flag("compute_uv");
  if (!tangents[0]) {
    Values outputs = builder.bind(kSvd, primals, attrs);
    Values zero(outputs.size());
    return {std::move(outputs), std::move(zero)};
  }
  const Value a = primals[0];
  const int rank = a.rank();
  if (vectors && attrs->flag("full_matrices") && a.shape()[rank - 2] != a.shape()[rank - 1]) {
    throw Error(ErrorKind::kNotDifferentiable,
                concat("the full U or V of ", a.aval().to_string(), " has vectors that A does not determine"))
        .hint("use full_matrices=False");
  }
  Values outputs = builder.bind(kSvd, primals, Attrs::make({{"compute_uv", true}, {"full_matrices", false}}));
  const Value s = outputs[0], u = outputs[1], v = adjoint(outputs[2]);
  const Value change = with_lengths(tangents[0], a);
  const Value change_v = multiply(change, v);
  const Value p = multiply(adjoint(u), change_v);
  const Value ds = diagonal(is_complex(p.dtype()) ? real(p) : p);
  if (!vectors) return {{s}, {ds}};

  const Value s_columns = as_columns(s, p), s_rows = as_rows(s, p);
  const Value on_diagonal = is_diagonal(p);
  const Value gaps = mul(sub(s_rows, s_columns), add(s_rows, s_columns));
  const Value one = full_like(gaps, 1), zero = zeros_like(gaps);
  const Value factors = to_dtype(select(on_diagonal, zero, div(one, select(on_diagonal, one, gaps))), p);
  const Value ps = mul(p, to_dtype(s_rows, p)), sp = mul(to_dtype(s_columns, p), p);
  Value turn_u = mul(factors, add(ps, adjoint(ps)));
  const Value turn_v = mul(factors, add(sp, adjoint(sp)));
  if (is_complex(p.dtype())) {
    const Value is_zero = eq(s_columns, zero);
    const Value inverse = select(is_zero, zero, div(one, select(is_zero, one, s_columns)));
    const Value imaginary = sub(p, convert(real(p), p.dtype()));
    turn_u = select(on_diagonal, mul(imaginary, to_dtype(inverse, p)), turn_u);
  }
  // What of dA V leaves U's column space, which there is when A has more rows than columns; dually for V. In a mask
  // region the sizes are asked of the array, as they are not what the shapes say.
  const Value rows = size_of(a, rank - 2), columns = size_of(a, rank - 1);
  const bool may_be_tall = keeps_lengths() || a.shape()[rank - 2] > a.shape()[rank - 1];
  const bool may_be_wide = keeps_lengths() || a.shape()[rank - 2] < a.shape()[rank - 1];
  const auto outside = [&](Value basis, Value image, Value more) {
    const Value left = sub(image, multiply(basis, multiply(adjoint(basis), image)));
    const Value wide = as_rows(s, left);
    const Value inverse = select(broadcast_scalar(more, wide.shape()), div(full_like(wide, 1), wide), zeros_like(wide));
    return mul(left, to_dtype(inverse, left));
  };
  Value du = multiply(u, turn_u), dv = multiply(v, turn_v);
  if (may_be_tall) du = add(du, outside(u, change_v, gt(rows, columns)));
  if (may_be_wide) dv = add(dv, outside(v, multiply(adjoint(change), u), gt(columns, rows)));
  return {outputs, {ds, du, adjoint(dv)}};
}

std::vector<Masked> svd_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const int rank = a.value.rank();
  const int64_t row_bound = a.value.shape()[rank - 2], column_bound = a.value.shape()[rank - 1];
  const Value rows = a.lengths[rank - 2], columns = a.lengths[rank - 1];
  const bool full = attrs->flag("full_matrices");
  const Value k = smaller_of(rows, row_bound, columns, column_bound);
  Values values{a.value};
  if (rows || columns) {
    append_size(builder, values, rows, row_bound, a.value.aval());
    append_size(builder, values, columns, column_bound, a.value.aval());
  }
  const Values outputs = builder.bind(kSvd, values, attrs);
  std::vector<Masked> results{{outputs[0], result_lengths(a, {k})}};
  if (outputs.size() == 1) return results;
  results.push_back({outputs[1], result_lengths(a, {rows, full ? rows : k})});
  results.push_back({outputs[2], result_lengths(a, {full ? columns : k, columns})});
  return results;
}

std::vector<Tensor> svd_reference(const ReferenceInput& input) {
  const Extent extent(input.operands[0].aval());
  const bool full = input.attrs.flag("full_matrices"), vectors = input.attrs.flag("compute_uv");
  const std::vector<Tensor> results = zeroed(input);
  const int64_t s_stride = results[0].shape().back();
  with_scalar(input.operands[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    using R = lapack::Real<T>;
    lapack::Workspace<T> workspace;
    std::vector<T> columns, u, vh;
    for (int64_t i = 0; i < extent.count; ++i) {
      const int64_t m = real_size(input, 1, i, extent.rows), n = real_size(input, 2, i, extent.columns);
      const int64_t k = std::min(m, n), u_columns = full ? m : k, v_rows = full ? n : k;
      const T* a = input.operands[0].as<T>() + i * extent.size();
      R* s = results[0].as<R>() + i * s_stride;
      columns.resize(static_cast<size_t>(m * n));
      u.assign(static_cast<size_t>(std::max<int64_t>(m * u_columns, 1)), T(0));
      vh.assign(static_cast<size_t>(std::max<int64_t>(v_rows * n, 1)), T(0));
      to_columns(a, m, n, extent.columns, columns.data());
      bool failed = false;
      if (k > 0) {
        // LAPACK may not end on numbers that are none.
        failed = !all_finite(a, m, n, extent.columns) ||
                 lapack::gesdd(vectors ? (full ? 'A' : 'S') : 'N', m, n, columns.data(), m, s, u.data(), m, vh.data(),
                               std::max<int64_t>(v_rows, 1), workspace) != 0;
      } else {
        for (int64_t j = 0; j < u_columns; ++j) u[static_cast<size_t>(j * m + j)] = 1;
        for (int64_t j = 0; j < v_rows; ++j) vh[static_cast<size_t>(j * n + j)] = 1;
      }
      if (failed) {
        std::fill_n(s, k, nan<R>());
        std::fill(u.begin(), u.end(), nan<T>());
        std::fill(vh.begin(), vh.end(), nan<T>());
      }
      if (!vectors) continue;
      const Extent u_extent(results[1].aval()), v_extent(results[2].aval());
      from_columns(u.data(), m, u_columns, results[1].as<T>() + i * u_extent.size(), u_extent.columns);
      from_columns(vh.data(), v_rows, n, results[2].as<T>() + i * v_extent.size(), v_extent.columns);
    }
  });
  return results;
}

Primitive svd_primitive() {
  const PrimitiveRef self("svd");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"compute_uv", AttributeKind::kFlag}, {"full_matrices", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = svd_type;
  result.jvp = svd_jvp;
  result.batch = leading_batch(self);
  result.mask = svd_mask;
  result.reference = svd_reference;
  result.expand = svd_expand;
  result.structure = host_call([](const Attrs& attrs) {
    Sized sized = Sized().operand(0, {{1}, {2}}).result(0, {{1, 2}});
    if (attrs.flag("full_matrices")) return sized.result(1, {{1}, {1}}).result(2, {{2}, {2}});
    return sized.result(1, {{1}, {1, 2}}).result(2, {{1, 2}, {2}});
  });
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, or expanded to rotations";
  return result;
}
}  // namespace

const Primitive& kSvd = define(svd_primitive());

}  // namespace ct::linalg
