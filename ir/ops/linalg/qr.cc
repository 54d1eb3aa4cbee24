// qr: A = Q R by Householder reflections, with k = min(m, n) columns of Q, or all m when `full_matrices`. As LAPACK
// leaves it: the signs of R's diagonal are not normalised. With `pivoting` a third result, the order of A's columns
// that makes R's diagonal descend: A[:, order] = Q R.
#include "ir/lengths.h"
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::linalg {
namespace {

Avals qr_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) check_operand_count(operands, 1);
  const Aval& a = operands[0];
  check_matrix(a);
  check_sizes(operands, 1, 2, a);
  const Extent extent(a);
  const int64_t k = attrs.flag("full_matrices") ? extent.rows : std::min(extent.rows, extent.columns);
  Shape q = batch_shape(a), r = q;
  q.insert(q.end(), {extent.rows, k});
  r.insert(r.end(), {k, extent.columns});
  Avals results{Aval(a.dtype(), q), Aval(a.dtype(), r)};
  if (attrs.flag("pivoting")) {
    Shape order = batch_shape(a);
    order.push_back(extent.columns);
    results.push_back(Aval(DType::kInt32, order));
  }
  return results;
}

// The first k columns of A, square R1 and Q make a decomposition A1 = Q R1 with its derivative (Walter, Lehmann,
// Lamour, "On evaluating higher-order derivatives of the QR decomposition", 2012): with M = Q^H dA1 R1^-1 and the
// anti-Hermitian W that has M's strictly lower triangle, dQ = Q (W - M) + dA1 R1^-1. All of R follows from R = Q^H A:
// dR = dQ^H A + Q^H dA.
JvpResult qr_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                 const AttrsPtr& attrs) {
  check_without_sizes(primals, 1);
  const Values outputs = builder.bind(kQr, primals, attrs);
  Values results(outputs.size());
  if (!tangents[0]) return {outputs, results};
  Value a = primals[0];
  const Value q = outputs[0], r = outputs[1];
  const int rank = a.rank();
  const int64_t m = a.shape()[rank - 2], n = a.shape()[rank - 1], k = std::min(m, n);
  if (attrs->flag("full_matrices") && m > n) {
    throw Error(ErrorKind::kNotDifferentiable,
                concat("the full Q of ", a.aval().to_string(), " has columns that A does not determine"))
        .hint("use mode='reduced', which is full_matrices=False of ct.lax.linalg.qr");
  }
  Value change = with_lengths(tangents[0], a);
  if (attrs->flag("pivoting")) {
    a = gather(a, outputs[2], rank - 1, rank - 2);
    change = gather(change, outputs[2], rank - 1, rank - 2);
  }
  // In a mask region k is the smaller of two lengths, which Q's columns have. A gather, because its transpose puts
  // zeros at all other columns; that of a slice would put a fixed number of columns behind the k.
  const auto of_length_k = [&](Value x) { return give_lengths_of(x, q, {rank - 1}); };
  const Value first = iota(builder, Aval(DType::kInt32, {k}), 0);
  const Value square_r = of_length_k(slice_axis(r, rank - 1, 0, k));
  const Value square_change = of_length_k(gather(change, first, rank - 1, 0));
  const Value scaled_change = triangular_solve(square_r, square_change, {.left_side = false, .lower = false});
  const Value inner = multiply(adjoint(q), scaled_change);
  const Value strict = lower_triangle(inner, -1);
  Value rotation = sub(strict, adjoint(strict));
  if (is_complex(a.dtype())) {
    const Value imaginary = sub(inner, convert(real(inner), a.dtype()));
    rotation = select(is_diagonal(inner), imaginary, rotation);
  }
  const Value dq = add(multiply(q, sub(rotation, inner)), scaled_change);
  // Of a square R, Q^H dA R^-1 is Q^H dQ + dR R^-1. In a mask region nobody knows whether it is one.
  const bool square = m >= n && !keeps_lengths();
  const Value dr =
      square ? multiply(sub(inner, rotation), r) : add(multiply(adjoint(dq), a), multiply(adjoint(q), change));
  results[0] = dq;
  results[1] = upper_triangle(dr);
  return {outputs, results};
}

std::vector<Masked> qr_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const int rank = a.value.rank();
  const int64_t row_bound = a.value.shape()[rank - 2], column_bound = a.value.shape()[rank - 1];
  const Value rows = a.lengths[rank - 2], columns = a.lengths[rank - 1];
  const bool full = attrs->flag("full_matrices");
  if (full && rows != columns) {
    throw Error(ErrorKind::kUnsupported, "mode='complete' takes only square matrices when their sizes are ragged")
        .hint("use mode='reduced', which is full_matrices=False of ct.lax.linalg.qr");
  }
  const Value k = full ? rows : smaller_of(rows, row_bound, columns, column_bound);
  Values values{a.value};
  if (rows || columns) {
    append_size(builder, values, rows, row_bound, a.value.aval());
    append_size(builder, values, columns, column_bound, a.value.aval());
  }
  const Values outputs = builder.bind(kQr, values, attrs);
  std::vector<Masked> results{{outputs[0], result_lengths(a, {rows, k})},
                              {outputs[1], result_lengths(a, {k, columns})}};
  if (outputs.size() > 2) results.push_back({outputs[2], result_lengths(a, {columns})});
  return results;
}

std::vector<Tensor> qr_reference(const ReferenceInput& input) {
  const Extent extent(input.operands[0].aval());
  const bool full = input.attrs.flag("full_matrices"), pivoting = input.attrs.flag("pivoting");
  const std::vector<Tensor> results = zeroed(input);
  const Tensor &q = results[0], &r = results[1];
  const Extent q_extent(q.aval()), r_extent(r.aval());
  with_scalar(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    lapack::Workspace<T> workspace;
    std::vector<T> columns, scales;
    for (int64_t i = 0; i < extent.count; ++i) {
      const int64_t m = real_size(input, 1, i, extent.rows), n = real_size(input, 2, i, extent.columns);
      const int64_t reflectors = std::min(m, n), k = full ? m : reflectors;
      int32_t* order = pivoting ? results[2].as<int32_t>() + i * extent.columns : nullptr;
      for (int64_t j = 0; pivoting && j < n; ++j) order[j] = static_cast<int32_t>(j);
      if (m == 0 || k == 0) continue;
      columns.assign(static_cast<size_t>(m * std::max(n, k)), T(0));
      scales.assign(static_cast<size_t>(std::max<int64_t>(reflectors, 1)), T(0));
      to_columns(input.operands[0].as<T>() + i * extent.size(), m, n, extent.columns, columns.data());
      if (reflectors > 0 && pivoting) lapack::geqp3(m, n, columns.data(), m, order, scales.data(), workspace);
      if (reflectors > 0 && !pivoting) lapack::geqrf(m, n, columns.data(), m, scales.data(), workspace);
      T* out = r.as<T>() + i * r_extent.size();
      for (int64_t row = 0; row < reflectors; ++row) {
        for (int64_t j = row; j < n; ++j) out[row * r_extent.columns + j] = columns[static_cast<size_t>(j * m + row)];
      }
      lapack::orgqr(m, k, reflectors, columns.data(), m, scales.data(), workspace);
      from_columns(columns.data(), m, k, q.as<T>() + i * q_extent.size(), q_extent.columns);
    }
  });
  return results;
}

Primitive qr_primitive() {
  const PrimitiveRef self("qr");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"full_matrices", AttributeKind::kFlag}, {"pivoting", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = qr_type;
  result.jvp = qr_jvp;
  result.batch = leading_batch(self);
  result.mask = qr_mask;
  result.reference = qr_reference;
  result.expand = qr_expand;
  result.structure = host_call([](const Attrs& attrs) {
    Sized sized = Sized().operand(0, {{1}, {2}}).result(2, {{2}});
    if (attrs.flag("full_matrices")) return sized.result(0, {{1}, {1}}).result(1, {{1}, {2}});
    return sized.result(0, {{1}, {1, 2}}).result(1, {{1, 2}, {2}});
  });
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, or expanded to a loop over columns";
  return result;
}
}  // namespace

const Primitive& kQr = define(qr_primitive());

}  // namespace ct::linalg
