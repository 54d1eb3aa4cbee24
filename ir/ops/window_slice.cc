// window_slice: for each place of a window, the slice that the window sees there as it slides. What convolution,
// pooling and their derivatives are made of.
//
//   x      [... window axes, spatial axes ...]
//   result [... window axes, spatial axes with `sizes` ...], other axes unchanged
//   result[.., w, .., o, ..] = x[.., w, .., (o * step + w * window_step + offset) / dilation, ..]
//
// and 0 where that is no element of x: outside, or not a whole number. The attributes hold one number for each pair of
// axes[i] (spatial) and window_axes[i]. A window of W elements that slides over an array is window_slice of the array
// broadcast over a new axis of size W, with steps `stride` and `window_dilation`; `dilation` is what convolutions call
// the dilation of their input. For each w and each element of x there is at most one o, so the transpose is a
// window_slice as well, with step and dilation exchanged and the signs of window_step and offset turned: summed over
// window axes, the gradient of a convolution by its input.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/size.h"
#include "runtime/text.h"

namespace ct {
namespace {

// What keeps index arithmetic far from overflow.
constexpr int64_t kLargest = int64_t{1} << 30;

Avals window_slice_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const auto windows = WindowAttrs::from(attrs);
  const size_t count = windows.axes.size();
  for (const Ints* values : {&windows.window_axes, &windows.sizes, &windows.step, &windows.window_step,
                             &windows.dilation, &windows.offset}) {
    if (values->size() == count) continue;
    throw Error(ErrorKind::kValue,
                concat("needs one number for each of ", count, " spatial axes, got [", join(*values, ", "), "]"))
        .hint(concat("give ", count, " of them"));
  }
  Ints all = windows.axes;
  all.insert(all.end(), windows.window_axes.begin(), windows.window_axes.end());
  std::sort(all.begin(), all.end());
  check_axes(all, x.rank());
  Shape shape = x.shape();
  for (size_t i = 0; i < count; ++i) {
    const bool fits = windows.sizes[i] >= 0 && windows.step[i] >= 1 && windows.dilation[i] >= 1 &&
                      windows.step[i] <= kLargest && windows.dilation[i] <= kLargest &&
                      std::abs(windows.window_step[i]) <= kLargest && std::abs(windows.offset[i]) <= kLargest;
    if (!fits) {
      throw Error(ErrorKind::kValue, concat("size ", windows.sizes[i], ", step ", windows.step[i], ", window step ",
                                            windows.window_step[i], ", dilation ", windows.dilation[i], " and offset ",
                                            windows.offset[i], " do not describe a window"))
          .hint("sizes are not negative, steps and dilations positive, none of them above 2**30");
    }
    shape[windows.axes[i]] = windows.sizes[i];
    // How far apart the first and the last element are that any place of the window sees, before and after dilation.
    constexpr std::string_view kWhat = "the extent of the windows";
    const int64_t window = x.dim(static_cast<int>(windows.window_axes[i]));
    const int64_t reach = checked_multiply(window, std::abs(windows.window_step[i]), kWhat);
    checked_add(checked_multiply(windows.sizes[i], windows.step[i], kWhat), checked_add(reach, kLargest, kWhat), kWhat);
    checked_multiply(x.dim(static_cast<int>(windows.axes[i])), windows.dilation[i], kWhat);
  }
  return {x.with_shape(shape)};
}

Scalar window_slice_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                            absl::Span<const Index> position) {
  const auto windows = WindowAttrs::from(attrs);
  const Aval& x = element.operand_aval(0);
  Indices from(position.begin(), position.end());
  Scalar inside = element.constant_integer(DType::kBool, 1);
  bool guarded = false;
  const auto require = [&](Scalar condition) {
    inside = guarded ? element.binary(ScalarOp::kAnd, inside, condition) : condition;
    guarded = true;
  };
  for (size_t i = 0; i < windows.axes.size(); ++i) {
    const int64_t axis = windows.axes[i], window_axis = windows.window_axes[i];
    const int64_t dilation = windows.dilation[i], step = windows.step[i], window_step = windows.window_step[i];
    const auto scaled = [&](Index index, int64_t factor) {
      return factor == 1 ? index : element.index_scale(index, factor);
    };
    Index at = element.index_add(scaled(position[axis], step), scaled(position[window_axis], window_step));
    at = element.index_offset(at, windows.offset[i]);
    const int64_t last = std::max<int64_t>(windows.sizes[i] - 1, 0) * step;
    const int64_t reach = std::max<int64_t>(x.dim(static_cast<int>(window_axis)) - 1, 0) * window_step;
    const int64_t low = windows.offset[i] + std::min<int64_t>(reach, 0);
    const int64_t high = windows.offset[i] + last + std::max<int64_t>(reach, 0);
    int64_t periods = 0;
    if (dilation > 1) {
      // Divided with an offset of whole periods that keeps the dividend from going below zero.
      periods = low < 0 ? (-low - 1) / dilation + 1 : 0;
      const Index shifted = element.index_offset(at, periods * dilation);
      const Scalar phase = element.index_value(element.index_mod(shifted, dilation), DType::kInt64);
      require(element.binary(ScalarOp::kEq, phase, element.constant_integer(DType::kInt64, 0)));
      at = element.index_offset(element.index_div(shifted, dilation), -periods);
    }
    const int64_t size = x.dim(static_cast<int>(axis));
    if (low < 0 || high > (size - 1) * dilation) require(element.in_range(at, 0, size));
    from[axis] = at;
  }
  if (!guarded) return element.read(0, from);
  const DType dtype = aval.dtype();
  const Scalar zero = is_complex(dtype) ? element.constant_complex(dtype, 0, 0)
                      : is_float(dtype) ? element.constant(dtype, 0)
                                        : element.constant_integer(dtype, 0);
  return element.read_guarded(0, from, inside, zero);
}

JvpResult window_slice_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                           const AttrsPtr& attrs) {
  const Value result = builder.bind1(kWindowSlice, primals, attrs);
  if (!tangents[0]) return {{result}, {Value()}};
  return {{result},
          {builder.bind1(kWindowSlice, {with_lengths_of(tangents[0], primals[0], attrs->ints("axes"))}, attrs)}};
}

Ints negated(const Ints& values) {
  Ints result;
  for (int64_t value : values) result.push_back(-value);
  return result;
}

Value window_slice_transpose(Value cotangent, const Aval& operand, const AttrsPtr& attrs) {
  const auto windows = WindowAttrs::from(*attrs);
  Ints sizes;
  for (int64_t axis : windows.axes) sizes.push_back(operand.dim(static_cast<int>(axis)));
  return window_slice(cotangent, {windows.axes, windows.window_axes, sizes, windows.dilation,
                                  negated(windows.window_step), windows.step, negated(windows.offset)});
}

std::vector<Batched> window_slice_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched& x = operands[0];
  auto windows = WindowAttrs::from(*attrs);
  windows.axes = past_batch(windows.axes, x.axis);
  windows.window_axes = past_batch(windows.window_axes, x.axis);
  return {{window_slice(x.value, windows), x.axis}};
}

// Outside begins behind the valid elements. `sizes` is what it says, whatever the length: functions that mean "as many
// places as fit" declare the result's length.
std::vector<Masked> window_slice_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Masked x = operands[0];
  for (int64_t axis : attrs->ints("axes")) {
    x.value = fill_padded(x, static_cast<int>(axis), 0);
    x.lengths[axis] = Value();
  }
  return {{builder.bind1(kWindowSlice, {x.value}, attrs), x.lengths}};
}

Primitive window_slicing() {
  Primitive result;
  result.name = "window_slice";
  result.attributes = {{"axes", AttributeKind::kIntegers},       {"dilation", AttributeKind::kIntegers},
                       {"offset", AttributeKind::kIntegers},     {"sizes", AttributeKind::kIntegers},
                       {"step", AttributeKind::kIntegers},       {"window_axes", AttributeKind::kIntegers},
                       {"window_step", AttributeKind::kIntegers}};
  result.type = window_slice_type;
  result.jvp = window_slice_jvp;
  result.transpose = linear_transpose(window_slice_transpose);
  result.batch = window_slice_batch;
  result.mask = window_slice_mask;
  result.element = window_slice_element;
  result.arrangement = Arrangement::kWindows;
  return result;
}
}  // namespace

const Primitive& kWindowSlice = define(window_slicing());

WindowAttrs WindowAttrs::from(const Attrs& attrs) {
  return {attrs.ints("axes"),        attrs.ints("window_axes"), attrs.ints("sizes"), attrs.ints("step"),
          attrs.ints("window_step"), attrs.ints("dilation"),    attrs.ints("offset")};
}

Value window_slice(Value x, const WindowAttrs& windows) {
  return x.builder->bind1(kWindowSlice, {x},
                          Attrs::make({{"axes", windows.axes},
                                       {"window_axes", windows.window_axes},
                                       {"sizes", windows.sizes},
                                       {"step", windows.step},
                                       {"window_step", windows.window_step},
                                       {"dilation", windows.dilation},
                                       {"offset", windows.offset}}));
}

}  // namespace ct
