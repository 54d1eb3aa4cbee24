// schur: A = Z T Z^H with Z unitary; T is upper triangular for complex matrices, and for real ones has a 2 x 2 block
// for each pair of complex eigenvalues. Results: T, and with `compute_vectors` Z.
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/primitives.h"

namespace ct::linalg {
namespace {

Avals schur_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) check_operand_count(operands, 1);
  check_square(operands[0]);
  check_sizes(operands, 1, 1, operands[0]);
  return Avals(attrs.flag("compute_vectors") ? 2 : 1, operands[0].strong());
}

std::vector<Masked> schur_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& a = operands[0];
  const Value length = square_length(a, "schur");
  Values values{a.value};
  if (length) append_size(builder, values, length, 0, a.value.aval());
  std::vector<Masked> results;
  for (const Value& output : builder.bind(kSchur, values, attrs)) {
    results.push_back({output, result_lengths(a, {length, length})});
  }
  return results;
}

std::vector<Tensor> schur_reference(const ReferenceInput& input) {
  const Extent extent(input.operands[0].aval());
  const std::vector<Tensor> results = zeroed(input);
  with_scalar(input.operands[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    lapack::Workspace<T> workspace;
    std::vector<T> columns, vectors;
    for (int64_t i = 0; i < extent.count; ++i) {
      const int64_t n = real_size(input, 1, i, extent.rows), stride = extent.columns;
      if (n == 0) continue;
      const T* a = input.operands[0].as<T>() + i * extent.size();
      columns.resize(static_cast<size_t>(n * n));
      vectors.resize(static_cast<size_t>(n * n));
      to_columns(a, n, n, stride, columns.data());
      // LAPACK may not end on numbers that are none.
      if (!all_finite(a, n, n, stride) ||
          lapack::gees(n, columns.data(), n, results.size() > 1 ? vectors.data() : nullptr, workspace) != 0) {
        std::fill(columns.begin(), columns.end(), nan<T>());
        std::fill(vectors.begin(), vectors.end(), nan<T>());
      }
      from_columns(columns.data(), n, n, results[0].as<T>() + i * extent.size(), stride);
      if (results.size() > 1) from_columns(vectors.data(), n, n, results[1].as<T>() + i * extent.size(), stride);
    }
  });
  return results;
}

Primitive schur_primitive() {
  const PrimitiveRef self("schur");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"compute_vectors", AttributeKind::kFlag}};
  result.several_results = true;
  result.type = schur_type;
  result.batch = leading_batch(self);
  result.mask = schur_mask;
  result.reference = schur_reference;
  result.expand = schur_expand;
  result.structure = host_call(
      [](const Attrs&) { return Sized().operand(0, {{1}, {1}}).result(0, {{1}, {1}}).result(1, {{1}, {1}}); });
  result.absent["jvp"] = "the factors jump where eigenvalues meet; sqrtm, expm and eig have derivatives";
  result.absent["transpose"] = "not linear";
  result.absent["element"] = "elements mix: LAPACK, or expanded to QR steps";
  return result;
}
}  // namespace

const Primitive& kSchur = define(schur_primitive());

}  // namespace ct::linalg
