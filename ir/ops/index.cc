// gather (elements at computed positions along one axis) and scatter_add (its transpose).
//
//   operand [batch..., before..., N, after...]   indices [batch..., indices...]
//   gather's result and scatter_add's updates [batch..., before..., indices..., after...]
//
// Negative indices and those from N on are outside: gather reads 0 there, scatter_add drops the update. Mask rules
// lean on that: an index that must not count becomes -1.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/error.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/text.h"

namespace ct {
namespace {

// Which axes of the result (or of the updates) are which.
struct Layout {
  explicit Layout(const Attrs& attrs)
      : axis(static_cast<int>(attrs.integer("axis"))), batch_dims(static_cast<int>(attrs.integer("batch_dims"))) {}
  int axis;
  int batch_dims;

  // The result's axis for an axis of the indices that is not a batch axis.
  int of_index(int index_axis) const { return axis + index_axis - batch_dims; }
  // The result's axis for an axis of the operand other than `axis`.
  int of_operand(int operand_axis, int index_rank) const {
    return operand_axis < axis ? operand_axis : operand_axis - 1 + index_rank - batch_dims;
  }
};

AttrsPtr layout_attrs(int axis, int batch_dims) {
  return Attrs::make({{"axis", int64_t{axis}}, {"batch_dims", int64_t{batch_dims}}});
}

Shape gathered_shape(const Aval& operand, const Aval& indices, const Attrs& attrs) {
  if (!is_integer(indices.dtype())) {
    throw Error(ErrorKind::kDType, concat("indices must be integers, got ", indices.to_string()))
        .hint("convert them first, for example with indices.astype('int32')");
  }
  const int64_t axis = attrs.integer("axis");
  const int64_t batch_dims = attrs.integer("batch_dims");
  check_axis(axis, operand.rank());
  if (batch_dims < 0 || batch_dims > axis || batch_dims > indices.rank()) {
    throw Error(ErrorKind::kValue, concat(batch_dims, " batch axes do not fit axis ", axis, " of ", operand.to_string(),
                                          " and indices ", indices.to_string()))
        .hint("batch axes come first, in the operand and in the indices, and before the indexed axis");
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (operand.dim(i) != indices.dim(i)) {
      throw Error(ErrorKind::kShape,
                  concat("batch axis ", i, " has size ", operand.dim(i), " in the operand ", operand.to_string(),
                         " and ", indices.dim(i), " in the indices ", indices.to_string()))
          .hint("batch axes must have equal sizes");
    }
  }
  Shape shape(operand.shape().begin(), operand.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin() + batch_dims, indices.shape().end());
  shape.insert(shape.end(), operand.shape().begin() + axis + 1, operand.shape().end());
  return shape;
}

// ---- Tools of the mask rules --------------------------------------------------------------------------------------

// The same indices, signed and wide enough for -1 and for any length.
Value signed_indices(Value indices) {
  const DType dtype = indices.dtype();
  const bool narrow = dtype_size(dtype) < 4 || dtype == DType::kInt32;
  return convert(indices, narrow ? DType::kInt32 : DType::kInt64);
}

Value keep_where(Value predicate, Value indices) {
  return select(predicate, indices, full_integer(*indices.builder, indices.aval(), -1));
}

// ---- gather -------------------------------------------------------------------------------------------------------

Avals gather_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 2);
  return {operands[0].with_shape(gathered_shape(operands[0], operands[1], attrs))};
}

Scalar gather_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                      absl::Span<const Index> position) {
  const Layout layout(attrs);
  const Aval& operand = element.operand_aval(0);
  const int index_rank = element.operand_aval(1).rank();
  Indices index_position(position.begin(), position.begin() + layout.batch_dims);
  for (int i = layout.batch_dims; i < index_rank; ++i) index_position.push_back(position[layout.of_index(i)]);
  const Index index = element.index_from(element.read(1, index_position));

  Indices from;
  for (int i = 0; i < operand.rank(); ++i) {
    from.push_back(i == layout.axis ? index : position[layout.of_operand(i, index_rank)]);
  }
  const DType dtype = aval.dtype();
  const Scalar zero = is_complex(dtype) ? element.constant_complex(dtype, 0, 0)
                      : is_float(dtype) ? element.constant(dtype, 0)
                                        : element.constant_integer(dtype, 0);
  return element.read_guarded(0, from, element.in_range(index, 0, operand.dim(layout.axis)), zero);
}

JvpResult gather_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                     const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const Value result = gather(primals[0], primals[1], layout.axis, layout.batch_dims);
  if (!tangents[0]) return {{result}, {Value()}};
  const Value tangent = with_lengths_of(tangents[0], primals[0], {layout.axis});
  return {{result}, {gather(tangent, primals[1], layout.axis, layout.batch_dims)}};
}

Values gather_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const Aval& operand = input.avals[0];
  // Storage formats are summed in float32.
  const DType sum = dtype_info(operand.dtype()).computes ? operand.dtype() : DType::kFloat32;
  const Value nothing = zeros(builder, Aval(sum, operand.shape()));
  const Value scattered =
      scatter_add(nothing, input.operands[1], convert(input.cotangents[0], sum), layout.axis, layout.batch_dims);
  return {convert(scattered, operand.dtype()), {}};
}

std::vector<Batched> gather_batch(Builder&, absl::Span<const Batched> operands, int64_t size, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  Batched operand = operands[0];
  Batched indices = operands[1];
  if (operand.batched() && indices.batched()) {
    const Value result =
        gather(batch_at(operand, 0, size), batch_at(indices, 0, size), layout.axis + 1, layout.batch_dims + 1);
    return {{result, 0}};
  }
  // One of them alone gets one more free axis, where it is unless that is among the batch axes.
  if (operand.batched()) {
    if (operand.axis < layout.batch_dims) {
      operand = {move_axis(operand.value, operand.axis, layout.batch_dims), layout.batch_dims};
    }
    const int axis = static_cast<int>(past_batch(layout.axis, operand.axis));
    const Value result = gather(operand.value, indices.value, axis, layout.batch_dims);
    const int free_indices = indices.value.rank() - layout.batch_dims;
    return {{result, operand.axis < axis ? operand.axis : operand.axis - 1 + free_indices}};
  }
  if (indices.axis < layout.batch_dims) {
    indices = {move_axis(indices.value, indices.axis, layout.batch_dims), layout.batch_dims};
  }
  return {{gather(operand.value, indices.value, layout.axis, layout.batch_dims), layout.of_index(indices.axis)}};
}

std::vector<Masked> gather_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const Masked& operand = operands[0];
  Value indices = operands[1].value;
  if (const Value length = operand.lengths[layout.axis]) {
    indices = signed_indices(indices);
    const Value limit = broadcast_scalar(convert(length, indices.dtype()), indices.shape());
    indices = keep_where(lt(indices, limit), indices);
  }
  Masked result = exact(gather(operand.value, indices, layout.axis, layout.batch_dims));
  for (int i = 0; i < operand.value.rank(); ++i) {
    if (i != layout.axis) result.lengths[layout.of_operand(i, indices.rank())] = operand.lengths[i];
  }
  for (int i = 0; i < indices.rank(); ++i) {
    const int at = i < layout.batch_dims ? i : layout.of_index(i);
    result.lengths[at] = merge_lengths(result.lengths[at], operands[1].lengths[i], "gather", at);
  }
  return {result};
}

const Primitive& kGather = define({
    .name = "gather",
    .type = gather_type,
    .jvp = gather_jvp,
    .transpose = gather_transpose,
    .batch = gather_batch,
    .mask = gather_mask,
    .element = gather_element,
    .reference = {},
    .expand = {},
    .split = {},
});

// ---- scatter_add --------------------------------------------------------------------------------------------------

Avals scatter_add_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 3);
  const Aval& operand = operands[0];
  const Aval& updates = operands[2];
  check_dtype(operand, kArithmetic);
  const Aval expected(operand.dtype(), gathered_shape(operand, operands[1], attrs));
  if (updates.dtype() != operand.dtype()) {
    throw Error(ErrorKind::kDType, concat("updates have dtype ", dtype_name(updates.dtype()), ", the operand ",
                                          dtype_name(operand.dtype())))
        .hint("convert the updates to the operand's dtype");
  }
  if (updates.shape() != expected.shape()) {
    throw Error(ErrorKind::kShape, concat("updates are ", updates.to_string(), ", but operand ", operand.to_string(),
                                          " and indices ", operands[1].to_string(), " need ", expected.to_string()))
        .hint("updates have the operand's shape with the indexed axis replaced by the axes of the indices");
  }
  return {updates.weak() ? operand : operand.strong()};
}

JvpResult scatter_add_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                          const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const auto [axis, batch_dims] = layout;
  const Value operand = primals[0];
  const Value result = scatter_add(operand, primals[1], primals[2], axis, batch_dims);
  if (!tangents[2]) return {{result}, {tangents[0]}};
  // The length is declared on both sides: an update that was dropped because of it must get no cotangent either.
  const Value base = with_lengths_of(instantiate(builder, tangents[0], operand.aval()), operand, {axis});
  const Value tangent = scatter_add(base, primals[1], tangents[2], axis, batch_dims);
  return {{result}, {with_lengths_of(tangent, operand, {axis})}};
}

Values scatter_add_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const Value cotangent = input.cotangents[0];
  Values result(3);
  if (input.linear(0)) result[0] = cotangent;
  if (input.linear(2)) result[2] = gather(cotangent, input.operands[1], layout.axis, layout.batch_dims);
  return result;
}

std::vector<Batched> scatter_add_batch(Builder&, absl::Span<const Batched> operands, int64_t size,
                                       const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const Batched& indices = operands[1];
  // Shared indices: one more free axis in front. Otherwise one more batch axis.
  const int at = indices.batched() ? 0 : layout.batch_dims;
  const int batch_dims = layout.batch_dims + (indices.batched() ? 1 : 0);
  const Value chosen = indices.batched() ? batch_at(indices, 0, size) : indices.value;
  const Value result = scatter_add(batch_at(operands[0], at, size), chosen, batch_at(operands[2], at, size),
                                   layout.axis + 1, batch_dims);
  return {{result, at}};
}

// Updates at padded indices must not land. What lands behind the valid elements of the operand is padding there.
std::vector<Masked> scatter_add_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Layout layout(*attrs);
  const Masked& operand = operands[0];
  const Masked& updates = operands[2];
  Value indices = operands[1].value;
  const int index_rank = indices.rank();
  for (int i = layout.batch_dims; i < index_rank; ++i) {
    const int at = layout.of_index(i);
    const Value length = merge_lengths(operands[1].lengths[i], updates.lengths[at], "scatter_add", at);
    if (!length) continue;
    indices = signed_indices(indices);
    indices = keep_where(valid_positions(length, indices.shape(), i), indices);
  }
  Masked result = exact(scatter_add(operand.value, indices, updates.value, layout.axis, layout.batch_dims));
  for (int i = 0; i < operand.value.rank(); ++i) {
    result.lengths[i] = operand.lengths[i];
    if (i == layout.axis) continue;
    const Value other = updates.lengths[layout.of_operand(i, index_rank)];
    result.lengths[i] = merge_lengths(result.lengths[i], other, "scatter_add", i);
    if (i >= layout.batch_dims) continue;
    result.lengths[i] = merge_lengths(result.lengths[i], operands[1].lengths[i], "scatter_add", i);
  }
  return {result};
}

Primitive scatter_add_primitive() {
  Primitive result;
  result.name = "scatter_add";
  result.type = scatter_add_type;
  result.jvp = scatter_add_jvp;
  result.transpose = scatter_add_transpose;
  result.batch = scatter_add_batch;
  result.mask = scatter_add_mask;
  result.lowering = Lowering::kScatter;
  result.combine = ScalarOp::kAdd;
  result.absent["element"] = "several updates may meet in one element: lowered as a scatter";
  result.absent["reference"] = "derived from the lowering";
  return result;
}
const Primitive& kScatterAdd = define(scatter_add_primitive());

}  // namespace

Value gather(Value operand, Value indices, int axis, int batch_dims) {
  return operand.builder->bind1(kGather, {operand, indices}, layout_attrs(axis, batch_dims));
}

Value scatter_add(Value operand, Value indices, Value updates, int axis, int batch_dims) {
  return operand.builder->bind1(kScatterAdd, {operand, indices, updates}, layout_attrs(axis, batch_dims));
}

}  // namespace ct
