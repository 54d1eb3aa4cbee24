// Slices at computed places, and the slices that a sliding window sees: strided copies.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/move.h"
#include "ir/ops.h"

namespace ct::kernels {
namespace {

// The start of a batch element's window along an axis, clamped so that the window lies inside.
int64_t clamped_start(const Tensor& starts, int64_t batch, int64_t room) {
  if (starts.dtype() == DType::kUInt64) {
    return static_cast<int64_t>(std::min(starts.as<uint64_t>()[batch], static_cast<uint64_t>(room)));
  }
  return std::clamp<int64_t>(load_integer(starts, batch), 0, room);
}

// Calls visit(where the window begins in `array`, where in `window`) for each batch element.
template <class Visit>
void for_each_window(const Shape& array, const Shape& window, absl::Span<const Tensor> starts, int batch_dims,
                     Visit&& visit) {
  const Shape strides = row_major_strides(array);
  const int64_t batch = num_elements(absl::MakeConstSpan(array).subspan(0, batch_dims));
  const int64_t array_size = num_elements(absl::MakeConstSpan(array).subspan(batch_dims));
  const int64_t window_size = num_elements(absl::MakeConstSpan(window).subspan(batch_dims));
  for (int64_t b = 0; b < batch; ++b) {
    int64_t first = b * array_size;
    for (size_t axis = batch_dims; axis < array.size(); ++axis) {
      first += clamped_start(starts[axis - batch_dims], b, array[axis] - window[axis]) * strides[axis];
    }
    visit(first, b * window_size);
  }
}

// The axes of a window inside an array; `to` and `from` exchanged when the array is written.
CopyAxes window_axes(const Shape& array, const Shape& window, int batch_dims) {
  const Shape outer = row_major_strides(array), inner = row_major_strides(window);
  CopyAxes axes;
  for (size_t axis = batch_dims; axis < array.size(); ++axis) axes.push_back({window[axis], outer[axis], inner[axis]});
  return axes;
}

}  // namespace

bool dynamic_slice(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const auto batch_dims = static_cast<int>(input.attrs.integer("batch_dims"));
  Tensor result(input.output_avals[0]);
  const int size = dtype_size(x.dtype());
  const CopyAxes axes = window_axes(x.shape(), result.shape(), batch_dims);
  if (result.size() > 0) {
    for_each_window(x.shape(), result.shape(), input.operands.subspan(1), batch_dims, [&](int64_t from, int64_t to) {
      copy_strided(result.as<std::byte>() + to * size, x.as<std::byte>() + from * size, axes, size);
    });
  }
  results[0] = std::move(result);
  return true;
}

bool dynamic_update_slice(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Tensor& update = input.operands[1];
  const auto batch_dims = static_cast<int>(input.attrs.integer("batch_dims"));
  const bool overwrite = input.may_overwrite && x.buffer().use_count() == 1 && x.buffer()->may_be_overwritten();
  Tensor result = overwrite ? x.reinterpret(input.output_avals[0]) : Tensor(input.output_avals[0]);
  if (!overwrite) std::memcpy(result.data(), x.data(), static_cast<size_t>(x.aval().bytes()));
  const int size = dtype_size(x.dtype());
  CopyAxes axes = window_axes(x.shape(), update.shape(), batch_dims);
  for (CopyAxis& axis : axes) std::swap(axis.from, axis.to);
  if (update.size() > 0) {
    for_each_window(x.shape(), update.shape(), input.operands.subspan(2), batch_dims, [&](int64_t to, int64_t from) {
      copy_strided(result.as<std::byte>() + to * size, update.as<std::byte>() + from * size, axes, size);
    });
  }
  results[0] = std::move(result);
  return true;
}

// One place of the window at a time: the elements that it sees are a strided copy.
bool window_slice(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Aval& aval = input.output_avals[0];
  const auto [axes, window_axes, sizes, step, window_step, dilation, offset] = WindowAttrs::from(input.attrs);
  Tensor result(aval);
  std::memset(result.data(), 0, static_cast<size_t>(aval.bytes()));  // the bytes of zero in every dtype
  const Shape from = row_major_strides(x.shape()), to = row_major_strides(aval.shape());
  const int size = dtype_size(x.dtype());
  Shape places;
  for (int64_t axis : window_axes) places.push_back(x.shape()[axis]);
  CopyAxes copy;
  for (size_t axis = 0; axis < to.size(); ++axis) copy.push_back({aval.shape()[axis], from[axis], to[axis]});
  for (int64_t axis : window_axes) copy[axis].size = 1;
  Shape place(places.size(), 0);
  for (int64_t n = aval.size() == 0 || x.size() == 0 ? 0 : num_elements(places); n > 0; --n) {
    int64_t first_from = 0, first_to = 0;
    bool sees = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      first_from += place[i] * from[window_axes[i]];
      first_to += place[i] * to[window_axes[i]];
      // The results o with 0 <= (o * step + shift) / dilation < size and no remainder; they repeat with a period.
      const int64_t shift = place[i] * window_step[i] + offset[i];
      const int64_t limit = x.shape()[axes[i]] * dilation[i];
      int64_t o = shift < 0 ? (-shift + step[i] - 1) / step[i] : 0;
      const int64_t end = std::min(aval.shape()[axes[i]], limit > shift ? (limit - shift - 1) / step[i] + 1 : 0);
      int64_t tries = 0;
      while (o < end && (o * step[i] + shift) % dilation[i] != 0 && ++tries < dilation[i]) ++o;
      if (o >= end || (o * step[i] + shift) % dilation[i] != 0) {
        sees = false;
        break;
      }
      const int64_t period = dilation[i] / std::gcd(dilation[i], step[i]);
      copy[axes[i]] = {(end - 1 - o) / period + 1, period * step[i] / dilation[i] * from[axes[i]],
                       period * to[axes[i]]};
      first_from += (o * step[i] + shift) / dilation[i] * from[axes[i]];
      first_to += o * to[axes[i]];
    }
    if (sees) {
      copy_strided(result.as<std::byte>() + first_to * size, x.as<std::byte>() + first_from * size, copy, size);
    }
    for (size_t i = places.size(); i-- > 0;) {
      if (++place[i] < places[i]) break;
      place[i] = 0;
    }
  }
  results[0] = std::move(result);
  return true;
}

}  // namespace ct::kernels
