// eig: complex eigenvalues of square matrices, and where wanted left (u^H A = w u^H) and right eigenvectors as columns,
// of length 1 and with a real largest component, as LAPACK leaves them.
//
// Derivatives exist where eigenvalues differ (elsewhere they are Inf or NaN).
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

Avals eig_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) check_operand_count(operands, 1);
  const Aval& a = operands[0];
  check_square(a);
  check_sizes(operands, 1, 1, a);
  const DType dtype = is_complex(a.dtype()) ? a.dtype() : complex_dtype(a.dtype());
  Shape w = batch_shape(a);
  w.push_back(a.dim(a.rank() - 1));
  Avals results{Aval(dtype, w)};
  if (attrs.flag("left")) results.push_back(a.with_dtype(dtype));
  if (attrs.flag("right")) results.push_back(a.with_dtype(dtype));
  return results;
}

// True at the first largest component of each column.
Value first_largest(Value v) {
  const int row_axis = v.rank() - 2;
  const Value squares = add(mul(real(v), real(v)), mul(imag(v), imag(v)));
  const Value largest = eq(squares, broadcast_axis(reduce_max(squares, {row_axis}), row_axis, v.shape()[row_axis]));
  const Value seen = cumsum(convert(largest, DType::kInt32), row_axis, false);
  return bit_and(largest, eq(seen, full_like(seen, 1)));
}

// The tangent of eigenvectors v from one that is right up to a multiple of each column: they keep their length, and
// their largest component stays real.
Value normalized_tangent(Value v, Value tangent) {
  const int row_axis = v.rank() - 2;
  const Value length = real(reduce_sum(mul(conj(v), tangent), {row_axis}));
  const Value at = first_largest(v);
  const auto pick = [&](Value x) { return reduce_sum(select(at, x, zeros_like(x)), {row_axis}); };
  const Value phase = div(pick(imag(tangent)), pick(real(v)));
  return sub(tangent, mul(v, as_rows(make_complex(length, phase), v)));
}

// The tangents of right eigenvectors v of A and of its eigenvalues w: with P = V^-1 dA V, dw = diag P, and dV is
// V (F o P), F_ij = 1 / (w_j - w_i) off the diagonal, up to multiples of V's columns. Giles, "Collected matrix
// derivative results", 2008, section 3.1.
struct EigenTangents {
  Value w, v;
};
EigenTangents eigen_tangents(Value w, Value v, Value change) {
  const Values factors = v.builder->bind(kLu, {v});
  const Value p = v.builder->bind1(kLuSolve, {v, factors[0], factors[2], multiply(change, v)},
                                   Attrs::make({{"transpose_a", false}, {"conjugate_a", false}}));
  const Value gaps = sub(as_rows(w, p), as_columns(w, p));
  const Value on_diagonal = is_diagonal(p);
  const Value one = full_like(gaps, 1);
  const Value factor = select(on_diagonal, zeros_like(gaps), div(one, select(on_diagonal, one, gaps)));
  return {diagonal(p), normalized_tangent(v, multiply(v, mul(factor, p)))};
}

// Left eigenvectors are right ones of A^H, whose eigenvalues are conjugate.
JvpResult eig_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                  const AttrsPtr& attrs) {
  check_without_sizes(primals, 1);
  if (!tangents[0]) {
    Values outputs = builder.bind(kEig, primals, attrs);
    Values zero(outputs.size());
    return {std::move(outputs), std::move(zero)};
  }
  const bool left = attrs->flag("left"), right = attrs->flag("right");
  const bool only_values = !left && !right;
  Values outputs = builder.bind(kEig, primals, only_values ? attrs->with("right", true) : attrs);
  const Value w = outputs[0];
  const Value change = convert(with_lengths(tangents[0], primals[0]), w.dtype());
  Values results{Value()};
  if (left) {
    const EigenTangents found = eigen_tangents(conj(w), outputs[1], adjoint(change));
    results[0] = conj(found.w);
    results.push_back(found.v);
  }
  if (right || only_values) {
    const EigenTangents found = eigen_tangents(w, outputs.back(), change);
    results[0] = found.w;
    results.push_back(found.v);
  }
  if (only_values) {
    outputs.resize(1);
    results.resize(1);
  }
  return {outputs, results};
}

std::vector<Masked> eig_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const Value length = square_length(a, "eig");
  Values values{a.value};
  if (length) append_size(builder, values, length, 0, a.value.aval());
  const Values outputs = builder.bind(kEig, values, attrs);
  std::vector<Masked> results{{outputs[0], result_lengths(a, {length})}};
  for (size_t i = 1; i < outputs.size(); ++i) results.push_back({outputs[i], result_lengths(a, {length, length})});
  return results;
}

std::vector<Tensor> eig_reference(const ReferenceInput& input) {
  const Extent extent(input.operands[0].aval());
  const std::vector<Tensor> results = zeroed(input);
  with_scalar(input.operands[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    using C = std::complex<lapack::Real<T>>;
    lapack::Workspace<T> workspace;
    std::vector<T> columns;
    std::vector<C> vectors[2];
    for (int64_t i = 0; i < extent.count; ++i) {
      const int64_t n = real_size(input, 1, i, extent.rows), stride = extent.columns;
      if (n == 0) continue;
      const T* a = input.operands[0].as<T>() + i * extent.size();
      C* w = results[0].as<C>() + i * extent.rows;
      columns.resize(static_cast<size_t>(n * n));
      to_columns(a, n, n, stride, columns.data());
      C* wanted[2] = {nullptr, nullptr};
      size_t next = 1;
      for (int side = 0; side < 2; ++side) {
        if (!input.attrs.flag(side == 0 ? "left" : "right")) continue;
        vectors[side].resize(static_cast<size_t>(n * n));
        wanted[side] = vectors[side].data();
      }
      // LAPACK may not end on numbers that are none.
      if (!all_finite(a, n, n, stride) || lapack::geev(n, columns.data(), n, w, wanted[0], wanted[1], workspace) != 0) {
        std::fill_n(w, n, nan<C>());
        for (auto& side : vectors) std::fill(side.begin(), side.end(), nan<C>());
      }
      for (const C* side : wanted) {
        if (side == nullptr) continue;
        from_columns(side, n, n, results[next++].as<C>() + i * extent.size(), stride);
      }
    }
  });
  return results;
}

Primitive eig_primitive() {
  const PrimitiveRef self("eig");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"left", AttributeKind::kFlag}, {"right", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = eig_type;
  result.jvp = eig_jvp;
  result.batch = leading_batch(self);
  result.mask = eig_mask;
  result.reference = eig_reference;
  result.expand = eig_expand;
  result.structure = host_call([](const Attrs&) {
    return Sized().operand(0, {{1}, {1}}).result(0, {{1}}).result(1, {{1}, {1}}).result(2, {{1}, {1}});
  });
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, or expanded to QR steps";
  return result;
}
}  // namespace

const Primitive& kEig = define(eig_primitive());

}  // namespace ct::linalg
