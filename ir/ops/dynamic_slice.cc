// dynamic_slice, a window of static size at a place that is computed, and dynamic_update_slice, which writes one.
//
//   x [batch..., axes...]   update, or dynamic_slice's result [batch..., sizes...]   one start [batch...] an axis
//
// A start is clamped so that the window lies inside, as in jax.lax; along a ragged axis of n elements, inside these n.
// Batch axes come first (attribute batch_dims); vmap adds them where starts differ from example to example. Each of
// the two is the other's transpose.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

int batch_dims_of(const Attrs& attrs) { return static_cast<int>(attrs.integer("batch_dims")); }

// The operands after the first `count`: one start for each axis that is not a batch axis.
template <class T>
absl::Span<const T> starts_of(absl::Span<const T> operands, size_t count) {
  return operands.subspan(std::min(count, operands.size()));
}

void append(Values& values, absl::Span<const Value> more) { values.insert(values.end(), more.begin(), more.end()); }

// Checks batch axes and starts against x, and the window's sizes, without batch axes, against x's.
void check_window(const Aval& x, absl::Span<const Aval> starts, absl::Span<const int64_t> sizes, const Attrs& attrs) {
  const int64_t batch_dims = attrs.integer("batch_dims");
  if (batch_dims < 0 || batch_dims > x.rank()) {
    throw Error(ErrorKind::kValue, concat(batch_dims, " batch axes do not fit ", x.to_string()))
        .hint(concat("batch_dims is from 0 to ", x.rank()));
  }
  const auto axes = static_cast<size_t>(x.rank() - batch_dims);
  if (starts.size() != axes || sizes.size() != axes) {
    throw Error(ErrorKind::kType, concat("needs one start and one size for each of ", axes, " axes of ", x.to_string(),
                                         ", got ", starts.size(), " starts and ", sizes.size(), " sizes"))
        .hint("pass a start for every axis, 0 where the whole axis is meant");
  }
  const Shape batch(x.shape().begin(), x.shape().begin() + batch_dims);
  for (size_t i = 0; i < axes; ++i) {
    if (!is_integer(starts[i].dtype()) || starts[i].shape() != batch) {
      throw Error(
          is_integer(starts[i].dtype()) ? ErrorKind::kShape : ErrorKind::kDType,
          concat("start ", i, " must be an integer of shape [", join(batch, ", "), "], got ", starts[i].to_string()))
          .hint("starts are integer scalars, one an axis");
    }
    const int64_t size = x.dim(static_cast<int>(batch_dims) + static_cast<int>(i));
    if (sizes[i] < 0 || sizes[i] > size) {
      throw Error(ErrorKind::kShape, concat("a window of ", sizes[i], " elements does not fit axis ", batch_dims + i,
                                            " of ", x.to_string()))
          .hint("the window must not be larger than the array");
    }
  }
}

Ints without_batch(const Aval& x, const Attrs& attrs) {
  return Ints(x.shape().begin() + std::clamp<int64_t>(attrs.integer("batch_dims"), 0, x.rank()), x.shape().end());
}

// A start of element rules, clamped to [0, limit].
Index clamped(ElementBuilder& element, int operand, absl::Span<const Index> batch, int64_t limit) {
  Scalar start = element.read(operand, batch);
  if (start.dtype == DType::kUInt64) {
    start = element.binary(ScalarOp::kMin, start, element.constant_integer(DType::kUInt64, limit));
  }
  start = element.convert(start, DType::kInt64);
  const Scalar least = element.binary(ScalarOp::kMax, start, element.constant_integer(DType::kInt64, 0));
  return element.index_from(element.binary(ScalarOp::kMin, least, element.constant_integer(DType::kInt64, limit)));
}

// ---- Rules that both share: `windows` operands (the arrays) come before the starts --------------------------------

BatchRule window_batch(PrimitiveRef primitive, size_t windows) {
  return [primitive = std::move(primitive), windows](Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                                     const AttrsPtr& attrs) {
    const int batch_dims = batch_dims_of(*attrs);
    const auto starts = starts_of(operands, windows);
    const bool common =
        std::none_of(starts.begin(), starts.end(), [](const Batched& start) { return start.batched(); });
    Values values;
    if (!common || batch_dims > 0) {
      for (const Batched& operand : operands) values.push_back(batch_at(operand, 0, size));
      const AttrsPtr deeper = attrs->with("batch_dims", int64_t{batch_dims} + 1);
      return std::vector<Batched>{{builder.bind1(*primitive, values, deeper), 0}};
    }
    // The same windows everywhere: one more axis, taken whole.
    const int axis = batch_axis_of(operands.subspan(0, windows));
    for (const Batched& operand : operands.subspan(0, windows)) values.push_back(batch_at(operand, axis, size));
    for (const Batched& start : starts) values.push_back(start.value);
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(windows) + axis,
                  zeros(builder, Aval(DType::kInt32, {})));
    AttrsPtr wider = attrs;
    if (attrs->has("sizes")) {
      Ints sizes = attrs->ints("sizes");
      sizes.insert(sizes.begin() + axis, size);
      wider = attrs->with("sizes", sizes);
    }
    return std::vector<Batched>{{builder.bind1(*primitive, values, wider), axis}};
  };
}

// Starts clamped to n - size along the ragged axes of x; 0 where the window is the whole axis.
Values starts_inside(const Masked& x, absl::Span<const Masked> starts, absl::Span<const int64_t> sizes,
                     int batch_dims) {
  Values result;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = batch_dims + static_cast<int>(i);
    const Value start = starts[i].value;
    const Value length = x.lengths[axis];
    if (!length) {
      result.push_back(start);
    } else if (sizes[i] == x.value.shape()[axis]) {
      result.push_back(zeros_like(start));
    } else {
      const Value room = at_least_zero(add_lengths(length, -sizes[i]));
      // Unsigned and narrow starts are compared as int64.
      const Value wide = convert(start, DType::kInt64);
      const Value limit = broadcast_scalar(convert(room, DType::kInt64), start.shape());
      result.push_back(min(max(wide, zeros_like(wide)), limit));
    }
  }
  return result;
}

// The starts as they are clamped for x, written out: in a mask region the transpose of a tangent's equation does not
// see the length that they are clamped to.
Values written_out(Value x, absl::Span<const Value> starts, absl::Span<const int64_t> sizes, int batch_dims) {
  Values result;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = batch_dims + static_cast<int>(i);
    if (sizes[i] == x.shape()[axis]) {
      result.push_back(zeros_like(starts[i]));
      continue;
    }
    const Value room = sub(size_of(x, axis), full_integer(*x.builder, Aval(DType::kInt32, {}), sizes[i]));
    const bool large = starts[i].dtype() == DType::kUInt64;
    const DType dtype = large ? DType::kUInt64 : DType::kInt64;
    const Value start = convert(starts[i], dtype);
    const Value limit = broadcast_scalar(convert(max(room, zeros_like(room)), dtype), start.shape());
    result.push_back(min(large ? start : max(start, zeros_like(start)), limit));
  }
  return result;
}

Values merged_batch_lengths(absl::Span<const Masked> operands, int batch_dims, std::string_view name) {
  Values lengths(static_cast<size_t>(batch_dims));
  for (const Masked& operand : operands) {
    for (int axis = 0; axis < batch_dims; ++axis) {
      lengths[axis] = merge_lengths(lengths[axis], operand.lengths[axis], name, axis);
    }
  }
  return lengths;
}

// ---- dynamic_slice ------------------------------------------------------------------------------------------------

Avals dynamic_slice_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.empty()) check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const Ints& sizes = attrs.ints("sizes");
  check_window(x, starts_of(operands, 1), sizes, attrs);
  Shape shape(x.shape().begin(), x.shape().begin() + batch_dims_of(attrs));
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return {x.with_shape(shape)};
}

Scalar dynamic_slice_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                             absl::Span<const Index> position) {
  const int batch_dims = batch_dims_of(attrs);
  const absl::Span<const Index> batch = position.subspan(0, batch_dims);
  const Aval& x = element.operand_aval(0);
  Indices from(batch.begin(), batch.end());
  for (int axis = batch_dims; axis < x.rank(); ++axis) {
    const int64_t room = x.dim(axis) - aval.dim(axis);
    if (room == 0) {
      from.push_back(position[axis]);
    } else {
      from.push_back(element.index_add(clamped(element, 1 + axis - batch_dims, batch, room), position[axis]));
    }
  }
  return element.read(0, from);
}

Ints cut_axes(const Aval& x, const Attrs& attrs) {
  Ints axes;
  for (int axis = batch_dims_of(attrs); axis < x.rank(); ++axis) {
    if (attrs.ints("sizes")[axis - batch_dims_of(attrs)] != x.dim(axis)) axes.push_back(axis);
  }
  return axes;
}

JvpResult dynamic_slice_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                            const AttrsPtr& attrs) {
  const Value result = builder.bind1(kDynamicSlice, primals, attrs);
  if (!tangents[0]) return {{result}, {Value()}};
  Values operands{with_lengths_of(tangents[0], primals[0], cut_axes(primals[0].aval(), *attrs))};
  append(operands, written_out(primals[0], starts_of(primals, 1), attrs->ints("sizes"), batch_dims_of(*attrs)));
  return {{result}, {builder.bind1(kDynamicSlice, operands, attrs)}};
}

AttrsPtr update_attrs(const Attrs& attrs) { return Attrs::make({{"batch_dims", attrs.integer("batch_dims")}}); }

Values dynamic_slice_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  Values operands{zeros(builder, input.avals[0]), input.cotangents[0]};
  append(operands, starts_of(input.operands, 1));
  Values result(input.avals.size());
  result[0] = builder.bind1(kDynamicUpdateSlice, operands, update_attrs(*attrs));
  return result;
}

std::vector<Masked> dynamic_slice_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Masked x = operands[0];
  const int batch_dims = batch_dims_of(*attrs);
  const Ints& sizes = attrs->ints("sizes");
  Masked result;
  result.lengths = merged_batch_lengths(operands, batch_dims, "dynamic_slice");
  Values values{x.value};
  for (const Value& start : starts_inside(x, starts_of(operands, 1), sizes, batch_dims)) values.push_back(start);
  for (int axis = batch_dims; axis < x.value.rank(); ++axis) {
    const bool whole = sizes[axis - batch_dims] == x.value.shape()[axis];
    // Fewer valid elements than the window takes would be an error for the exact array: zeros at least.
    if (!whole) values[0] = fill_padded({values[0], x.lengths}, axis, 0);
    result.lengths.push_back(whole ? x.lengths[axis] : Value());
  }
  result.value = builder.bind1(kDynamicSlice, values, attrs);
  return {result};
}

Primitive dynamic_slicing() {
  Primitive result;
  result.name = "dynamic_slice";
  result.attributes = {{"batch_dims", AttributeKind::kInteger}, {"sizes", AttributeKind::kIntegers}};
  result.type = dynamic_slice_type;
  result.jvp = dynamic_slice_jvp;
  result.transpose = dynamic_slice_transpose;
  result.batch = window_batch(PrimitiveRef(result.name), 1);
  result.mask = dynamic_slice_mask;
  result.element = dynamic_slice_element;
  return result;
}
}  // namespace

const Primitive& kDynamicSlice = define(dynamic_slicing());

namespace {

// ---- dynamic_update_slice -----------------------------------------------------------------------------------------

Avals dynamic_update_slice_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.size() < 2) check_operand_count(operands, 2);
  const Aval& x = operands[0];
  const Aval& update = operands[1];
  if (update.dtype() != x.dtype()) {
    throw Error(ErrorKind::kDType,
                concat("the update has dtype ", dtype_name(update.dtype()), ", the array ", dtype_name(x.dtype())))
        .hint("convert the update to the array's dtype");
  }
  if (update.rank() != x.rank()) {
    throw Error(ErrorKind::kShape,
                concat("the update ", update.to_string(), " and the array ", x.to_string(), " must have equal ranks"))
        .hint("reshape the update: axes of size 1 where it is one element wide");
  }
  check_window(x, starts_of(operands, 2), without_batch(update, attrs), attrs);
  for (int axis = 0; axis < batch_dims_of(attrs); ++axis) {
    if (update.dim(axis) == x.dim(axis)) continue;
    throw Error(ErrorKind::kShape, concat("batch axis ", axis, " of the update ", update.to_string(), " and of ",
                                          x.to_string(), " must have equal sizes"))
        .hint("write a window for each example of the batch");
  }
  return {update.weak() ? x : x.strong()};
}

Scalar dynamic_update_slice_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                                    absl::Span<const Index> position) {
  const int batch_dims = batch_dims_of(attrs);
  const absl::Span<const Index> batch = position.subspan(0, batch_dims);
  const Aval& update = element.operand_aval(1);
  Indices from(batch.begin(), batch.end());
  Scalar inside = element.constant_integer(DType::kBool, 1);
  for (int axis = batch_dims; axis < aval.rank(); ++axis) {
    const int64_t room = aval.dim(axis) - update.dim(axis);
    if (room == 0) {
      from.push_back(position[axis]);
      continue;
    }
    const Index start = clamped(element, 2 + axis - batch_dims, batch, room);
    from.push_back(element.index_add(position[axis], element.index_scale(start, -1)));
    inside = element.binary(ScalarOp::kAnd, inside, element.in_range(from.back(), 0, update.dim(axis)));
  }
  return element.read_guarded(1, from, inside, element.read(0, position));
}

JvpResult dynamic_update_slice_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                                   const AttrsPtr& attrs) {
  const Value result = builder.bind1(kDynamicUpdateSlice, primals, attrs);
  if (!tangents[0] && !tangents[1]) return {{result}, {Value()}};
  Ints axes;
  for (int axis = batch_dims_of(*attrs); axis < result.rank(); ++axis) {
    if (primals[1].shape()[axis] != result.shape()[axis]) axes.push_back(axis);
  }
  Values operands{with_lengths_of(instantiate(builder, tangents[0], primals[0].aval()), primals[0], axes),
                  instantiate(builder, tangents[1], primals[1].aval())};
  append(operands, written_out(primals[0], starts_of(primals, 2), without_batch(primals[1].aval(), *attrs),
                               batch_dims_of(*attrs)));
  return {{result}, {with_lengths_of(builder.bind1(kDynamicUpdateSlice, operands, attrs), primals[0], axes)}};
}

Values dynamic_update_slice_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const Value cotangent = input.cotangents[0];
  const auto starts = starts_of(input.operands, 2);
  Values result(input.avals.size());
  // Read before it is overwritten: the update can then happen in the cotangent's own memory.
  if (input.linear(1)) {
    Values operands{cotangent};
    append(operands, starts);
    result[1] = builder.bind1(kDynamicSlice, operands, attrs->with("sizes", without_batch(input.avals[1], *attrs)));
  }
  if (input.linear(0)) {
    Values operands{cotangent, zeros(builder, input.avals[1])};
    append(operands, starts);
    result[0] = builder.bind1(kDynamicUpdateSlice, operands, attrs);
  }
  return result;
}

std::vector<Masked> dynamic_update_slice_mask(Builder& builder, absl::Span<const Masked> operands,
                                              const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  const Masked& update = operands[1];
  const int batch_dims = batch_dims_of(*attrs);
  const Ints sizes = without_batch(update.value.aval(), *attrs);
  Masked result;
  result.lengths = merged_batch_lengths(operands, batch_dims, "dynamic_update_slice");
  for (int axis = batch_dims; axis < x.value.rank(); ++axis) {
    const bool whole = sizes[axis - batch_dims] == x.value.shape()[axis];
    if (update.ragged(axis) && !whole) {
      throw Error(ErrorKind::kUnsupported,
                  concat("axis ", axis, " of the update is ragged, and not the array's whole axis"))
          .hint("write it with x.at[start + arange(n)].set(...)");
    }
    result.lengths.push_back(whole ? merge_lengths(x.lengths[axis], update.lengths[axis], "dynamic_update_slice", axis)
                                   : x.lengths[axis]);
  }
  Values values{x.value, update.value};
  for (const Value& start : starts_inside(x, starts_of(operands, 2), sizes, batch_dims)) values.push_back(start);
  result.value = builder.bind1(kDynamicUpdateSlice, values, attrs);
  return {result};
}

Primitive dynamic_updating() {
  Primitive result;
  result.name = "dynamic_update_slice";
  result.attributes = {{"batch_dims", AttributeKind::kInteger}};
  result.type = dynamic_update_slice_type;
  result.jvp = dynamic_update_slice_jvp;
  result.transpose = dynamic_update_slice_transpose;
  result.batch = window_batch(PrimitiveRef(result.name), 2);
  result.mask = dynamic_update_slice_mask;
  result.element = dynamic_update_slice_element;
  result.structure = std::make_shared<structures::WindowUpdate>();
  return result;
}
}  // namespace

const Primitive& kDynamicUpdateSlice = define(dynamic_updating());

namespace {

Values joined(Values operands, absl::Span<const Value> starts) {
  append(operands, starts);
  return operands;
}

}  // namespace

Value dynamic_slice(Value x, absl::Span<const Value> starts, absl::Span<const int64_t> sizes) {
  return x.builder->bind1(kDynamicSlice, joined({x}, starts),
                          Attrs::make({{"batch_dims", int64_t{0}}, {"sizes", Ints(sizes.begin(), sizes.end())}}));
}

Value dynamic_update_slice(Value x, Value update, absl::Span<const Value> starts) {
  return x.builder->bind1(kDynamicUpdateSlice, joined({x, update}, starts), Attrs::make({{"batch_dims", int64_t{0}}}));
}

}  // namespace ct
