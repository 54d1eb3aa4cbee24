// slice (every stride-th element of a window) and pad (its transpose: elements put at a distance, a value elsewhere).
//
// Along a ragged axis of n elements both mean what they mean to an array of exactly n: x[start:limit] ends at n, and a
// limit at the static bound means "to the end"; pad's high padding starts behind the n-th element.
#include <algorithm>
#include <numeric>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "ir/terms_ranges.h"
#include "runtime/error.h"
#include "runtime/size.h"
#include "runtime/text.h"

namespace ct {
namespace {

// ---- slice --------------------------------------------------------------------------------------------------------

void check_per_axis(const Ints& values, int rank, std::string_view what) {
  if (static_cast<int>(values.size()) == rank) return;
  throw Error(ErrorKind::kValue,
              concat("needs one ", what, " for each of ", rank, " axes, got [", join(values, ", "), "]"))
      .hint(concat("give ", rank, " of them"));
}

Avals slice_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const Ints& start = attrs.ints("start");
  const Ints& limit = attrs.ints("limit");
  const Ints& stride = attrs.ints("stride");
  check_per_axis(start, x.rank(), "start");
  check_per_axis(limit, x.rank(), "limit");
  check_per_axis(stride, x.rank(), "stride");
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (start[axis] < 0 || start[axis] > limit[axis] || limit[axis] > x.dim(axis)) {
      throw Error(ErrorKind::kIndex, concat("cannot take elements ", start[axis], " to ", limit[axis], " along axis ",
                                            axis, " of ", x.to_string()))
          .hint(concat("start and limit must satisfy 0 <= start <= limit <= ", x.dim(axis)));
    }
    if (stride[axis] < 1) {
      throw Error(ErrorKind::kValue, concat("the stride along axis ", axis, " is ", stride[axis]))
          .hint("strides are positive; reverse the axis to walk backwards");
    }
    const int64_t extent = limit[axis] - start[axis];
    shape.push_back(extent == 0 ? 0 : (extent - 1) / stride[axis] + 1);
  }
  return {x.with_shape(shape)};
}

// The axes along which a slice leaves something out.
Ints sliced_axes(const Aval& x, const Attrs& attrs) {
  Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (attrs.ints("start")[axis] != 0 || attrs.ints("limit")[axis] != x.dim(axis) ||
        (attrs.ints("stride")[axis] != 1 && x.dim(axis) > 1)) {
      axes.push_back(axis);
    }
  }
  return axes;
}

JvpResult slice_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                    const AttrsPtr& attrs) {
  const Value result = builder.bind1(kSlice, primals, attrs);
  if (!tangents[0]) return {{result}, {Value()}};
  const Value tangent = with_lengths_of(tangents[0], primals[0], sliced_axes(primals[0].aval(), *attrs));
  return {{result}, {builder.bind1(kSlice, {tangent}, attrs)}};
}

Value slice_transpose(Value cotangent, const Aval& operand, const AttrsPtr& attrs) {
  const Ints& start = attrs->ints("start");
  Ints high, interior;
  for (int axis = 0; axis < operand.rank(); ++axis) {
    const int64_t size = cotangent.shape()[axis];
    // With one element or none there is nothing between elements.
    const int64_t gap = size > 1 ? attrs->ints("stride")[axis] - 1 : 0;
    const int64_t extent = size == 0 ? 0 : size + (size - 1) * gap;
    interior.push_back(gap);
    high.push_back(operand.dim(axis) - start[axis] - extent);
  }
  return pad(cotangent, zeros(*cotangent.builder, Aval(operand.dtype(), {})), start, high, interior);
}

std::vector<Batched> slice_batch(Builder&, absl::Span<const Batched> operands, int64_t size, const AttrsPtr& attrs) {
  const Batched x = operands[0];
  const auto with = [&](std::string_view key, int64_t value) {
    Ints values = attrs->ints(key);
    values.insert(values.begin() + x.axis, value);
    return values;
  };
  return {{slice(x.value, with("start", 0), with("limit", size), with("stride", 1)), x.axis}};
}

std::vector<Masked> slice_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  Masked result = exact(builder.bind1(kSlice, {x.value}, attrs));
  for (int axis = 0; axis < x.value.rank(); ++axis) {
    if (!x.ragged(axis)) continue;
    const int64_t bound = x.value.shape()[axis];
    const int64_t limit = attrs->ints("limit")[axis];
    const int64_t stride = std::min(attrs->ints("stride")[axis], std::max<int64_t>(bound, 1));
    const Value end = limit == bound ? x.lengths[axis] : smaller_length(x.lengths[axis], limit);
    result.lengths[axis] = strided_length(end, attrs->ints("start")[axis], stride);
  }
  return {result};
}

std::optional<terms::Sum> terms_of_slice(const terms::Input& input) {
  std::vector<terms::Range> ranges;
  for (int axis = 0; axis < input.result.rank(); ++axis) {
    ranges.push_back({.first = input.attrs.ints("start")[axis],
                      .step = input.result.dim(axis) > 1 ? input.attrs.ints("stride")[axis] : 1,
                      .count = input.result.dim(axis),
                      .of = input.avals[0].dim(axis)});
  }
  return terms::taken(input, ranges);
}

Value simplify_slice(const SimplifyInput& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  return x.shape() == m.output.shape() ? x : Value{};
}

}  // namespace

const Primitive& kSlice = define({
    .name = "slice",
    .attributes = {{"limit", AttributeKind::kIntegers},
                   {"start", AttributeKind::kIntegers},
                   {"stride", AttributeKind::kIntegers}},
    .type = slice_type,
    .jvp = slice_jvp,
    .transpose = linear_transpose(slice_transpose),
    .batch = slice_batch,
    .mask = slice_mask,
    .element =
        [](ElementBuilder& element, const Attrs& attrs, const Aval& aval, int, absl::Span<const Index> position) {
          Indices from;
          for (size_t axis = 0; axis < position.size(); ++axis) {
            const int64_t stride = step_between(attrs.ints("stride")[axis], aval.dim(static_cast<int>(axis)));
            const Index step = stride == 1 ? position[axis] : element.index_scale(position[axis], stride);
            from.push_back(element.index_offset(step, attrs.ints("start")[axis]));
          }
          return element.read(0, from);
        },
    .simplify = simplify_by(simplify_slice),
    .terms = terms_of_slice,
    .arrangement = Arrangement::kSlice,
});

namespace {

// ---- pad ----------------------------------------------------------------------------------------------------------

// Elements from the first to the last with `interior` between neighbours. Overflow is caught by the type rule.
int64_t dilated(int64_t size, int64_t interior) { return size == 0 ? 0 : size + (size - 1) * interior; }

int64_t padded_size(int64_t size, int64_t low, int64_t high, int64_t interior) {
  constexpr std::string_view kWhat = "the padded size";
  int64_t result = 0;
  if (size > 0) result = checked_add(checked_multiply(size - 1, interior, kWhat), size, kWhat);
  return checked_add(checked_add(result, low, kWhat), high, kWhat);
}

Avals pad_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 2);
  const Aval& x = operands[0];
  const Aval& value = operands[1];
  if (value.rank() != 0) {
    throw Error(ErrorKind::kShape, concat("the padding value must be a scalar, got ", value.to_string()))
        .hint("give one number: v: float32[]");
  }
  if (value.dtype() != x.dtype()) {
    throw Error(ErrorKind::kDType, concat("the padding value has dtype ", dtype_name(value.dtype()), ", the array ",
                                          dtype_name(x.dtype())))
        .hint("convert the value to the array's dtype");
  }
  const Ints& low = attrs.ints("low");
  const Ints& high = attrs.ints("high");
  const Ints& interior = attrs.ints("interior");
  check_per_axis(low, x.rank(), "low padding");
  check_per_axis(high, x.rank(), "high padding");
  check_per_axis(interior, x.rank(), "interior padding");
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    check_addressable(interior[axis], concat("the interior padding of axis ", axis));
    if (interior[axis] < 0) {
      throw Error(ErrorKind::kValue, concat("the interior padding of axis ", axis, " is ", interior[axis]))
          .hint("take a strided slice to remove elements between others");
    }
    check_addressable(low[axis], concat("the low padding of axis ", axis));
    check_addressable(high[axis], concat("the high padding of axis ", axis));
    const int64_t size = padded_size(x.dim(axis), low[axis], high[axis], interior[axis]);
    if (size < 0) {
      throw Error(ErrorKind::kShape, concat("padding axis ", axis, " of ", x.to_string(), " by (", low[axis], ", ",
                                            high[axis], ", interior ", interior[axis], ") leaves no valid size"))
          .hint("negative padding cannot remove more elements than there are");
    }
    shape.push_back(size);
  }
  const Aval result = x.with_shape(shape);
  return {value.weak() ? result : result.strong()};
}

Scalar pad_element(ElementBuilder& element, const Attrs& attrs, const Aval&, int, absl::Span<const Index> position) {
  const Aval& x = element.operand_aval(0);
  Indices from;
  Scalar inside = element.constant_integer(DType::kBool, 1);
  bool guarded = false;
  const auto require = [&](Scalar condition) {
    inside = guarded ? element.binary(ScalarOp::kAnd, inside, condition) : condition;
    guarded = true;
  };
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t low = attrs.ints("low")[axis];
    const int64_t interior = step_between(attrs.ints("interior")[axis] + 1, x.dim(axis)) - 1;
    Index at = element.index_offset(position[axis], -low);
    if (interior > 0) {
      // Divided with an offset of whole periods that keeps the dividend from going below zero.
      const int64_t period = interior + 1;
      const int64_t periods = low > 0 ? (low - 1) / period + 1 : 0;
      const Index shifted = element.index_offset(at, periods * period);
      const Scalar phase = element.index_value(element.index_mod(shifted, period), DType::kInt64);
      require(element.binary(ScalarOp::kEq, phase, element.constant_integer(DType::kInt64, 0)));
      at = element.index_offset(element.index_div(shifted, period), -periods);
    }
    if (low > 0 || interior > 0 || attrs.ints("high")[axis] > 0) require(element.in_range(at, 0, x.dim(axis)));
    from.push_back(at);
  }
  return guarded ? element.read_guarded(0, from, inside, element.read(1, {})) : element.read(0, from);
}

Ints padded_axes(const Aval& x, const Attrs& attrs) {
  Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (attrs.ints("low")[axis] != 0 || attrs.ints("high")[axis] != 0 || attrs.ints("interior")[axis] != 0) {
      axes.push_back(axis);
    }
  }
  return axes;
}

Ints all_axes(const Aval& x) {
  Ints axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Value pad_like(Value x, Value value, const Attrs& attrs) {
  return pad(x, value, attrs.ints("low"), attrs.ints("high"), attrs.ints("interior"));
}

// `none` is an array of false of the operand's shape: true where the padding value ends up.
Value padding_positions(Value none, const Attrs& attrs) {
  return pad_like(none, full(*none.builder, Aval(DType::kBool, {}), 1), attrs);
}

Value no_positions(Builder& builder, const Aval& x) { return zeros(builder, Aval(DType::kBool, x.shape())); }

// The value's share is a select, not a pad: its transpose must sum over the padding alone, which only the operand's
// lengths, known here, tell apart.
JvpResult pad_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                  const AttrsPtr& attrs) {
  const Value x = primals[0];
  const Value result = pad_like(x, primals[1], *attrs);
  Value tangent;
  if (tangents[0]) {
    const Value zero = zeros(builder, Aval(x.dtype(), {}));
    tangent = pad_like(with_lengths_of(tangents[0], x, padded_axes(x.aval(), *attrs)), zero, *attrs);
  }
  if (tangents[1]) {
    const Value none = with_lengths_of(no_positions(builder, x.aval()), x, all_axes(x.aval()));
    const Value padding = padding_positions(none, *attrs);
    const Value spread = broadcast_scalar(tangents[1], result.shape());
    tangent = add_tangents(tangent, select(padding, spread, zeros_like(spread)));
  }
  return {{result}, {tangent}};
}

Values pad_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const Aval& x = input.avals[0];
  Value cotangent = input.cotangents[0];
  Values result(2);
  if (input.linear(1)) {
    const Value padding = padding_positions(no_positions(builder, x), *attrs);
    const Value terms = select(padding, cotangent, zeros_like(cotangent));
    const bool computes = dtype_info(x.dtype()).computes;
    result[1] = convert(reduce_sum(computes ? terms : convert(terms, DType::kFloat32), all_axes(x)), x.dtype());
  }
  if (input.linear(0)) {
    Ints start, limit, stride, low, high;
    bool cropped = false;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const int64_t before = attrs->ints("low")[axis];
      const int64_t after = attrs->ints("high")[axis];
      const int64_t interior = attrs->ints("interior")[axis];
      // What negative padding removed comes back as zeros.
      low.push_back(std::max<int64_t>(-before, 0));
      high.push_back(std::max<int64_t>(-after, 0));
      cropped |= before < 0 || after < 0;
      start.push_back(std::max<int64_t>(before, 0));
      limit.push_back(start.back() + dilated(x.dim(axis), interior));
      stride.push_back(interior + 1);
    }
    if (cropped) {
      cotangent = pad(cotangent, zeros(builder, Aval(x.dtype(), {})), low, high, Ints(x.rank(), 0));
    }
    result[0] = slice(cotangent, start, limit, stride);
  }
  return result;
}

std::vector<Batched> pad_batch(Builder& builder, absl::Span<const Batched> operands, int64_t size,
                               const AttrsPtr& attrs) {
  const Batched& value = operands[1];
  const int axis = std::max(operands[0].axis, 0);
  const Value x = batch_at(operands[0], axis, size);
  const auto with_batch = [&](std::string_view key) {
    Ints values = attrs->ints(key);
    values.insert(values.begin() + axis, 0);
    return values;
  };
  const Ints low = with_batch("low"), high = with_batch("high"), interior = with_batch("interior");
  if (!value.batched()) return {{pad(x, value.value, low, high, interior), axis}};
  const Value zero = zeros(builder, Aval(x.dtype(), {}));
  const Value padding =
      pad(no_positions(builder, x.aval()), full(builder, Aval(DType::kBool, {}), 1), low, high, interior);
  const Value padded = pad(x, zero, low, high, interior);
  return {{select(padding, broadcast(value.value, padded.shape(), {axis}), padded), axis}};
}

std::vector<Masked> pad_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  const Value value = operands[1].value;
  Masked result = exact(builder.bind1(kPad, {x.value, value}, attrs));
  for (int axis = 0; axis < x.value.rank(); ++axis) {
    if (!x.ragged(axis)) continue;
    const int64_t low = attrs->ints("low")[axis];
    const int64_t high = attrs->ints("high")[axis];
    const Value end = add_lengths(dilated_length(x.lengths[axis], attrs->ints("interior")[axis]), low);
    if (high > 0) {
      // The static high padding stands behind the bound; here it must follow the last element.
      const Value filled = broadcast_scalar(value, result.value.shape());
      result.value = select(valid_positions(end, result.value.shape(), axis), result.value, filled);
    }
    const Value length = add_lengths(end, high);
    result.lengths[axis] = low + high < 0 ? at_least_zero(length) : length;
  }
  return {result};
}

// With zeros, and without cutting anything off.
std::optional<terms::Sum> terms_of_pad(const terms::Input& input) {
  if (input.constant(1) != 0) return std::nullopt;
  std::vector<terms::Range> ranges;
  for (int axis = 0; axis < input.result.rank(); ++axis) {
    const int64_t low = input.attrs.ints("low")[axis], size = input.avals[0].dim(axis);
    if (low < 0 || input.attrs.ints("high")[axis] < 0) return std::nullopt;
    ranges.push_back({.first = low,
                      .step = size > 1 ? input.attrs.ints("interior")[axis] + 1 : 1,
                      .count = size,
                      .of = input.result.dim(axis)});
  }
  return terms::spread_out(input, ranges);
}

Value simplify_pad(const SimplifyInput& m) {
  const auto all_zero = [&](std::string_view key) {
    const Ints& amounts = m.attrs->ints(key);
    return std::all_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount == 0; });
  };
  return all_zero("low") && all_zero("high") && all_zero("interior") ? m.operands[0] : Value{};
}

}  // namespace

const Primitive& kPad = define({
    .name = "pad",
    .attributes = {{"high", AttributeKind::kIntegers},
                   {"interior", AttributeKind::kIntegers},
                   {"low", AttributeKind::kIntegers}},
    .type = pad_type,
    .jvp = pad_jvp,
    .transpose = pad_transpose,
    .batch = pad_batch,
    .mask = pad_mask,
    .element = pad_element,
    .simplify = simplify_by(simplify_pad),
    .terms = terms_of_pad,
    .arrangement = Arrangement::kPad,
});

Value slice(Value x, absl::Span<const int64_t> start, absl::Span<const int64_t> limit,
            absl::Span<const int64_t> stride) {
  return x.builder->bind1(kSlice, {x},
                          Attrs::make({{"start", ints(start)}, {"limit", ints(limit)}, {"stride", ints(stride)}}));
}

Value slice_axis(Value x, int axis, int64_t start, int64_t limit) {
  Ints starts(x.rank(), 0);
  Ints limits = ints(x.shape());
  starts[axis] = start;
  limits[axis] = limit;
  return slice(x, starts, limits, Ints(x.rank(), 1));
}

Value pad(Value x, Value value, absl::Span<const int64_t> low, absl::Span<const int64_t> high,
          absl::Span<const int64_t> interior) {
  return x.builder->bind1(kPad, {x, value},
                          Attrs::make({{"low", ints(low)}, {"high", ints(high)}, {"interior", ints(interior)}}));
}

}  // namespace ct
