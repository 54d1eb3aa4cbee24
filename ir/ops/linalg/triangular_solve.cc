// triangular_solve: op(A) X = B, or X op(A) = B, with A triangular; op transposes and conjugates or not. Linear in B.
// The other triangle of A is not read, nor its diagonal when that is said to be 1. A zero on the diagonal gives Inf or
// NaN.
#include "ir/ops/linalg/expand.h"
#include "ir/ops/linalg/host.h"
#include "ir/ops/linalg/matrices.h"
#include "ir/ops/linalg/small.h"
#include "ir/primitives.h"
#include "runtime/text.h"

namespace ct::linalg {
namespace {

Triangular system_of(const Attrs& attrs) {
  return {attrs.flag("left_side"), attrs.flag("lower"), attrs.flag("transpose_a"), attrs.flag("conjugate_a"),
          attrs.flag("unit_diagonal")};
}

AttrsPtr attrs_of(const Triangular& system) {
  return Attrs::make({{"left_side", system.left_side},
                      {"lower", system.lower},
                      {"transpose_a", system.transpose},
                      {"conjugate_a", system.conjugate},
                      {"unit_diagonal", system.unit_diagonal}});
}

// Which axis of B, from the end, is as long as A.
int solved_axis(const Aval& b, bool left) { return b.rank() - (left ? 2 : 1); }

Avals triangular_solve_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.size() < 2) check_operand_count(operands, 2);
  const Aval &a = operands[0], &b = operands[1];
  const Triangular system = system_of(attrs);
  check_square(a);
  check_matrix(b);
  check_sizes(operands, 2, 1, a);
  if (a.dtype() != b.dtype()) {
    throw Error(ErrorKind::kDType,
                concat("operands must have equal dtypes, got ", a.to_string(), " and ", b.to_string()))
        .hint("convert them to one dtype first");
  }
  if (batch_shape(a) != batch_shape(b) || b.dim(solved_axis(b, system.left_side)) != a.dim(a.rank() - 1)) {
    throw Error(ErrorKind::kShape, concat("the triangular matrix ", a.to_string(), " does not fit the ",
                                          system.left_side ? "rows of " : "columns of ", b.to_string()))
        .hint("A is [..., n, n]; B is [..., n, k] on its right, or [..., k, n] on its left; batch axes are equal");
  }
  return {b.strong()};
}

// dX = op(A)^-1 (dB - op(dA) X): Giles, "Collected matrix derivative results", 2008, section 2.2.3.
JvpResult triangular_solve_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                               const AttrsPtr& attrs) {
  check_without_sizes(primals, 2);
  const Triangular system = system_of(*attrs);
  const Value a = primals[0], b = primals[1];
  const Value x = builder.bind1(kTriangularSolve, {a, b}, attrs);
  Value change;
  if (tangents[1]) change = with_lengths(tangents[1], b);
  if (tangents[0]) {
    const int offset = system.unit_diagonal ? 1 : 0;
    const Value whole = with_lengths(tangents[0], a);
    Value matrix = system.lower ? lower_triangle(whole, -offset) : upper_triangle(whole, offset);
    if (system.transpose) matrix = transposed(matrix);
    if (system.conjugate && is_complex(matrix.dtype())) matrix = conj(matrix);
    change = add_tangents(change, neg(system.left_side ? multiply(matrix, x) : multiply(x, matrix)));
  }
  return {{x}, {change ? triangular_solve(a, change, system) : Value()}};
}

Values triangular_solve_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  Triangular system = system_of(*attrs);
  system.transpose = !system.transpose;
  Values result(input.operands.size());
  result[1] = triangular_solve(input.operands[0], input.cotangents[0], system);
  return result;
}

// Many right-hand sides of one matrix are further columns of B (or rows, when A is on the right).
std::vector<Batched> triangular_solve_batch(Builder& builder, absl::Span<const Batched> operands,
                                            const BatchAxis& batch, const AttrsPtr& attrs) {
  static const BatchRule whole = leading_batch(PrimitiveRef("triangular_solve"));
  if (operands[0].batched() || operands.size() > 2) return whole(builder, operands, batch, attrs);
  const Triangular system = system_of(*attrs);
  const int rank = operands[1].value.rank();  // with the batch axis
  const int at = system.left_side ? rank - 1 : rank - 2;
  const Value b = move_axis(operands[1].value, operands[1].axis, at);
  Shape shape = b.shape();
  shape[static_cast<size_t>(at) - 1] *= batch.size;
  shape.erase(shape.begin() + at);
  const Value x = triangular_solve(operands[0].value, reshape(b, shape), system);
  return {{reshape(x, b.shape()), at}};
}

std::vector<Masked> triangular_solve_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked &a = operands[0], &b = operands[1];
  const int axis = solved_axis(b.value.aval(), attrs->flag("left_side"));
  Value length = merge_lengths(square_length(a, "triangular_solve"), b.lengths[axis], "triangular_solve", axis);
  Values values{a.value, b.value};
  if (length) append_size(builder, values, length, 0, a.value.aval());
  Masked result{builder.bind1(kTriangularSolve, values, attrs), b.lengths};
  result.lengths[axis] = length;
  for (int i = 0; i < b.value.rank() - 2; ++i) {
    result.lengths[i] = merge_lengths(a.lengths[i], b.lengths[i], "triangular_solve", i);
  }
  return {result};
}

std::vector<Tensor> triangular_solve_reference(const ReferenceInput& input) {
  const Triangular system = system_of(input.attrs);
  const Extent a_extent(input.operands[0].aval()), b_extent(input.operands[1].aval());
  Tensor result = zeroed(input, 0);
  with_scalar(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t m = 0; m < a_extent.count; ++m) {
      const int64_t n = real_size(input, 2, m, a_extent.rows);
      const int64_t rows = system.left_side ? n : b_extent.rows, columns = system.left_side ? b_extent.columns : n;
      const T* b = input.operands[1].as<T>() + m * b_extent.size();
      T* x = result.as<T>() + m * b_extent.size();
      for (int64_t i = 0; i < rows; ++i) std::copy_n(b + i * b_extent.columns, columns, x + i * b_extent.columns);
      solve_triangular<T>({system.left_side, system.lower, system.transpose, system.conjugate, system.unit_diagonal},
                          input.operands[0].as<T>() + m * a_extent.size(), a_extent.columns, x, rows, columns,
                          b_extent.columns);
    }
  });
  return {result};
}

Primitive triangular_solve_primitive() {
  Primitive result;
  result.name = "triangular_solve";
  result.attributes = {{"conjugate_a", AttributeKind::kFlag},
                       {"left_side", AttributeKind::kFlag},
                       {"lower", AttributeKind::kFlag},
                       {"transpose_a", AttributeKind::kFlag},
                       {"unit_diagonal", AttributeKind::kFlag}};
  result.type = triangular_solve_type;
  result.jvp = triangular_solve_jvp;
  result.transpose = triangular_solve_transpose;
  result.batch = triangular_solve_batch;
  result.mask = triangular_solve_mask;
  result.reference = triangular_solve_reference;
  result.expand = triangular_solve_expand;
  result.structure = host_call([](const Attrs& attrs) {
    Sized sized = Sized().operand(0, {{2}, {2}});
    if (attrs.flag("left_side")) return sized.operand(1, {{2}, {}}).result(0, {{2}, {}});
    return sized.operand(1, {{}, {2}}).result(0, {{}, {2}});
  });
  result.absent["element"] = "elements mix: LAPACK, or expanded to a loop over columns";
  return result;
}
}  // namespace

const Primitive& kTriangularSolve = define(triangular_solve_primitive());

namespace {

// Forward or backward substitution, a row of X at a time.
template <class T>
void small_solve_left(const TriangularSystem& system, const T* a, int64_t a_stride, T* b, int64_t n, int64_t columns,
                      int64_t b_stride) {
  const bool forward = system.lower != system.transpose;
  const auto element = [&](int64_t i, int64_t j) {
    const T value = system.transpose ? a[j * a_stride + i] : a[i * a_stride + j];
    return system.conjugate ? conjugate(value) : value;
  };
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    T* row = b + i * b_stride;
    for (int64_t other = 0; other < step; ++other) {
      const int64_t j = forward ? other : n - 1 - other;
      const T factor = element(i, j);
      const T* known = b + j * b_stride;
      for (int64_t k = 0; k < columns; ++k) row[k] -= factor * known[k];
    }
    if (system.unit_diagonal) continue;
    const T pivot = element(i, i);
    for (int64_t k = 0; k < columns; ++k) row[k] /= pivot;
  }
}

// The same for X op(A) = B, a row of X at a time: each is a system of its own.
template <class T>
void small_solve_right(const TriangularSystem& system, const T* a, int64_t a_stride, T* b, int64_t rows, int64_t n,
                       int64_t b_stride) {
  const TriangularSystem flipped{true, system.lower, !system.transpose, system.conjugate, system.unit_diagonal};
  for (int64_t i = 0; i < rows; ++i) small_solve_left(flipped, a, a_stride, b + i * b_stride, n, 1, 1);
}

}  // namespace

template <class T>
void solve_triangular(const TriangularSystem& system, const T* a, int64_t a_stride, T* b, int64_t rows, int64_t columns,
                      int64_t b_stride) {
  if (rows == 0 || columns == 0) return;
  const int64_t n = system.left ? rows : columns;
  if (n <= kSmall) {
    return system.left ? small_solve_left(system, a, a_stride, b, n, columns, b_stride)
                       : small_solve_right(system, a, a_stride, b, rows, n, b_stride);
  }
  std::vector<T> conjugated;
  if (lapack::kIsComplex<T> && system.conjugate && !system.transpose) {
    conjugated.resize(static_cast<size_t>(n * n));  // BLAS conjugates only what it transposes
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) conjugated[static_cast<size_t>(i * n + j)] = conjugate(a[i * a_stride + j]);
    }
    a = conjugated.data();
    a_stride = n;
  }
  // Column-major, every matrix is its transpose: sides and triangles change places, op stays.
  const char op = !system.transpose ? 'N' : system.conjugate ? 'C' : 'T';
  lapack::trsm(system.left ? 'R' : 'L', system.lower ? 'U' : 'L', op, system.unit_diagonal ? 'U' : 'N', columns, rows,
               a, a_stride, b, b_stride);
}

template void solve_triangular<float>(const TriangularSystem&, const float*, int64_t, float*, int64_t, int64_t,
                                      int64_t);
template void solve_triangular<double>(const TriangularSystem&, const double*, int64_t, double*, int64_t, int64_t,
                                       int64_t);
template void solve_triangular<std::complex<float>>(const TriangularSystem&, const std::complex<float>*, int64_t,
                                                    std::complex<float>*, int64_t, int64_t, int64_t);
template void solve_triangular<std::complex<double>>(const TriangularSystem&, const std::complex<double>*, int64_t,
                                                     std::complex<double>*, int64_t, int64_t, int64_t);

Value triangular_solve(Value a, Value b, const Triangular& system) {
  return a.builder->bind1(kTriangularSolve, {a, b}, attrs_of(system));
}

}  // namespace ct::linalg
