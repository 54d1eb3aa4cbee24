#include "ir/ops/linalg/matrices.h"

#include <algorithm>
#include <numeric>

#include "ir/length_form.h"
#include "ir/lengths.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::linalg {

// ---- Values -------------------------------------------------------------------------------------------------------

namespace {

Ints last_axis(Value a) { return {a.rank() - 1}; }

// Compares row and column indices shaped like `a`: row - column >= offset when `lower`, else <=.
Value in_triangle(Value a, bool lower, int64_t offset) {
  const Aval indices(DType::kInt32, a.shape());
  Value row = iota(*a.builder, indices, a.rank() - 2);
  const Value column = iota(*a.builder, indices, a.rank() - 1);
  if (offset != 0) row = add(row, full_integer(*a.builder, indices, offset));
  return lower ? ge(row, column) : le(row, column);
}

}  // namespace

Value multiply(Value a, Value b) {
  const int rank = a.rank();
  Ints batch(static_cast<size_t>(rank) - 2);
  std::iota(batch.begin(), batch.end(), 0);
  return dot_general(a, b, {{rank - 1}, {rank - 2}, batch, batch});
}

Value transposed(Value a) {
  Ints order(static_cast<size_t>(a.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(a, order);
}

Value adjoint(Value a) {
  const Value swapped = transposed(a);
  return is_complex(a.dtype()) ? conj(swapped) : swapped;
}

Value lower_triangle(Value a, int64_t offset) { return select(in_triangle(a, true, offset), a, zeros_like(a)); }
Value upper_triangle(Value a, int64_t offset) { return select(in_triangle(a, false, offset), a, zeros_like(a)); }

Value is_diagonal(Value a) {
  const Aval indices(DType::kInt32, a.shape());
  return eq(iota(*a.builder, indices, a.rank() - 2), iota(*a.builder, indices, a.rank() - 1));
}

Value diagonal(Value a) { return reduce_sum(select(is_diagonal(a), a, zeros_like(a)), last_axis(a)); }

Value as_rows(Value vector, Value like) {
  Ints axes(static_cast<size_t>(vector.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  axes.back() = like.rank() - 1;
  return broadcast(vector, like.shape(), axes);
}

Value as_columns(Value vector, Value like) {
  Ints axes(static_cast<size_t>(vector.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return broadcast(vector, like.shape(), axes);
}

Value to_dtype(Value real, Value like) { return convert(real, like.dtype()); }

Value scaled(Value a, double factor) { return mul(a, full_like(a, factor)); }

Value hermitian_of_triangle(Value a, bool lower) {
  const Value strict = lower ? lower_triangle(a, -1) : upper_triangle(a, 1);
  const Value on_diagonal = is_complex(a.dtype()) ? convert(real(a), a.dtype()) : a;
  return select(is_diagonal(a), on_diagonal, add(strict, adjoint(strict)));
}

Value with_lengths(Value tangent, Value primal) {
  return with_lengths_of(tangent, primal, Ints{primal.rank() - 2, primal.rank() - 1});
}

// ---- Rules --------------------------------------------------------------------------------------------------------

void check_matrix(const Aval& a) {
  check_dtype(a, kInexacts);
  if (dtype_size(real_dtype(a.dtype())) < 4) {
    throw Error(ErrorKind::kDType, concat("takes float32, float64, complex64 or complex128, got ", a.to_string()))
        .hint("convert it first, for example with x.astype('float32')");
  }
  if (a.rank() >= 2) return;
  throw Error(ErrorKind::kShape, concat("takes matrices, got ", a.to_string()))
      .hint("the last two axes are rows and columns; others are batches");
}

void check_square(const Aval& a) {
  check_matrix(a);
  if (a.dim(a.rank() - 2) == a.dim(a.rank() - 1)) return;
  throw Error(ErrorKind::kShape, concat("takes square matrices, got ", a.to_string()))
      .hint("the last two axes must have equal sizes");
}

Shape batch_shape(const Aval& a) { return Shape(a.shape().begin(), a.shape().end() - 2); }

void check_sizes(absl::Span<const Aval> operands, size_t first, size_t count, const Aval& matrix) {
  if (operands.size() != first && operands.size() != first + count) check_operand_count(operands, first);
  for (const Aval& size : operands.subspan(first)) {
    if (same_type(size, Aval(DType::kInt32, batch_shape(matrix)))) continue;
    throw Error(ErrorKind::kType,
                concat("the size of ", matrix.to_string(), " must be an int32 for each matrix, got ", size.to_string()))
        .hint("give one number for each matrix: n: int32[]");
  }
}

void check_without_sizes(absl::Span<const Value> operands, size_t count) {
  if (operands.size() == count) return;
  throw Error(ErrorKind::kNotDifferentiable, "matrices with sizes of their own have no derivative")
      .hint("take the derivative of ct.mask(f), not of the equations that a mask expands to");
}

BatchRule leading_batch(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Batched> operands,
                                            const BatchAxis& batch, const AttrsPtr& attrs) {
    Values values;
    for (const Batched& operand : operands) values.push_back(batch_at(operand, 0, batch.size));
    std::vector<Batched> results;
    for (const Value& output : builder.bind(*primitive, values, attrs)) results.push_back({output, 0});
    return results;
  };
}

Value square_length(const Masked& a, std::string_view op) {
  const int rank = a.value.rank();
  return merge_lengths(a.lengths[rank - 2], a.lengths[rank - 1], op, rank - 1);
}

void append_size(Builder& builder, Values& operands, Value length, int64_t bound, const Aval& like) {
  const Shape shape = batch_shape(like);
  operands.push_back(length ? broadcast_scalar(length, shape)
                            : full_integer(builder, Aval(DType::kInt32, shape), bound));
}

Values result_lengths(const Masked& a, std::initializer_list<Value> last) {
  Values lengths(a.lengths.begin(), a.lengths.end() - 2);
  lengths.insert(lengths.end(), last.begin(), last.end());
  return lengths;
}

Value smaller_of(Value a, int64_t a_bound, Value b, int64_t b_bound) {
  if (a == b || (a && b && same_length(a, b))) return a;
  if (a && b) return smaller_length(a, b);
  if (!a) {
    std::swap(a, b);
    std::swap(a_bound, b_bound);
  }
  return a_bound <= b_bound ? a : smaller_length(a, b_bound);
}

Sized& Sized::add(bool of_result, size_t index, std::initializer_list<Sizes> last) {
  auto from_last = static_cast<int>(last.size());
  for (const Sizes& sizes : last) {
    --from_last;
    for (size_t size : sizes) all_.push_back({of_result, index, from_last, size});
  }
  return *this;
}

std::shared_ptr<const Structure> host_call(std::function<structures::HostCall::SizedAxes(const Attrs& attrs)> sized) {
  return std::make_shared<structures::HostCall>(std::move(sized));
}

}  // namespace ct::linalg
