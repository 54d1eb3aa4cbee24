#include "interpreter/kernels/move.h"

#include <algorithm>
#include <cstring>

#include "interpreter/kernels/kernels.h"
#include "ir/element_bits.h"
#include "runtime/size.h"

namespace ct {
namespace {

// Drops axes of one step and joins neighbours that are one longer axis in both layouts.
CopyAxes merged(const CopyAxes& axes) {
  CopyAxes result;
  for (const CopyAxis& axis : axes) {
    if (axis.size == 1) continue;
    if (!result.empty()) {
      CopyAxis& outer = result.back();
      if (outer.from == axis.from * axis.size && outer.to == axis.to * axis.size) {
        outer = {outer.size * axis.size, axis.from, axis.to};
        continue;
      }
    }
    result.push_back(axis);
  }
  return result;
}

template <class T>
void copy_line(T* to, const T* from, const CopyAxis& axis) {
  if (axis.to == 1 && axis.from == 1) {
    std::memcpy(to, from, static_cast<size_t>(axis.size) * sizeof(T));
  } else if (axis.to == 1 && axis.from == 0) {
    std::fill_n(to, axis.size, *from);
  } else if (axis.to == 1) {
    for (int64_t i = 0; i < axis.size; ++i) to[i] = from[i * axis.from];
  } else {
    for (int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

constexpr int64_t kTile = 16;

// Tiles keep both the lines read and the lines written in the cache.
template <class T>
void copy_plane(T* to, const T* from, const CopyAxis& outer, const CopyAxis& inner) {
  for (int64_t i0 = 0; i0 < outer.size; i0 += kTile) {
    const int64_t i1 = std::min(i0 + kTile, outer.size);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kTile) {
      const int64_t j1 = std::min(j0 + kTile, inner.size);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) to[i * outer.to + j * inner.to] = from[i * outer.from + j * inner.from];
      }
    }
  }
}

template <class T>
void copy_elements(T* to, const T* from, CopyAxes axes) {
  axes = merged(axes);
  if (axes.empty()) {
    *to = *from;
    return;
  }
  // A transposed copy reads along one axis and writes along another: make these two the innermost.
  bool plane = false;
  if (axes.size() >= 2 && axes.back().from != 1 && axes.back().from != 0) {
    for (size_t i = 0; i + 1 < axes.size(); ++i) {
      if (axes[i].from != 1) continue;
      std::rotate(axes.begin() + i, axes.begin() + i + 1, axes.end() - 1);
      plane = true;
      break;
    }
  }
  const size_t outer_rank = axes.size() - (plane ? 2 : 1);
  absl::InlinedVector<int64_t, 8> position(outer_rank, 0);
  while (true) {
    if (plane) {
      copy_plane(to, from, axes[outer_rank], axes[outer_rank + 1]);
    } else {
      copy_line(to, from, axes[outer_rank]);
    }
    size_t axis = outer_rank;
    while (axis > 0) {
      --axis;
      to += axes[axis].to;
      from += axes[axis].from;
      if (++position[axis] < axes[axis].size) break;
      to -= axes[axis].to * axes[axis].size;
      from -= axes[axis].from * axes[axis].size;
      position[axis] = 0;
      if (axis == 0) return;
    }
    if (outer_rank == 0) return;
  }
}

void fill_elements(void* to, const void* value, int64_t count, int element_size) {
  dispatch_size(element_size, [&](auto element) {
    using T = decltype(element);
    std::fill_n(static_cast<T*>(to), count, *static_cast<const T*>(value));
  });
}

std::byte* at(const Tensor& tensor, int64_t element) {
  return tensor.as<std::byte>() + element * dtype_size(tensor.dtype());
}

}  // namespace

Shape row_major_strides(absl::Span<const int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

void copy_strided(void* to, const void* from, CopyAxes axes, int element_size) {
  for (const CopyAxis& axis : axes) {
    if (axis.size == 0) return;
  }
  dispatch_size(element_size, [&](auto element) {
    using T = decltype(element);
    copy_elements(static_cast<T*>(to), static_cast<const T*>(from), std::move(axes));
  });
}

Tensor strided_slice(const Tensor& x, absl::Span<const int64_t> start, absl::Span<const int64_t> stride,
                     absl::Span<const int64_t> sizes, Aval aval) {
  Tensor result(aval);
  const Shape from = row_major_strides(x.shape());
  const Shape to = row_major_strides(sizes);
  CopyAxes copy;
  int64_t first = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    first += start[i] * from[i];
    copy.push_back({sizes[i], step_between(stride[i], sizes[i]) * from[i], to[i]});
  }
  if (aval.size() > 0) copy_strided(result.data(), at(x, first), std::move(copy), dtype_size(aval.dtype()));
  return result;
}

namespace kernels {

bool broadcast(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Aval& aval = input.output_avals[0];
  // Axes keep their order, so the same number of elements means the same bytes.
  const Ints& axes = input.attrs.ints("axes");
  if (aval.size() == x.size() && std::is_sorted(axes.begin(), axes.end())) return alias(input, results);
  Tensor result(aval);
  if (x.size() == 1) {
    fill_elements(result.data(), x.data(), aval.size(), dtype_size(aval.dtype()));
  } else {
    const Shape from = row_major_strides(x.shape());
    const Shape to = row_major_strides(aval.shape());
    CopyAxes copy;
    for (size_t i = 0; i < to.size(); ++i) copy.push_back({aval.shape()[i], 0, to[i]});
    for (size_t i = 0; i < axes.size(); ++i) {
      if (x.shape()[i] != 1) copy[axes[i]].from = from[i];
    }
    copy_strided(result.data(), x.data(), std::move(copy), dtype_size(aval.dtype()));
  }
  results[0] = std::move(result);
  return true;
}

bool transpose(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Aval& aval = input.output_avals[0];
  const Ints& permutation = input.attrs.ints("permutation");
  // Moving axes of size one about moves no bytes.
  int64_t last = -1;
  bool moves = false;
  for (int64_t axis : permutation) {
    if (x.shape()[axis] == 1) continue;
    moves |= axis < last;
    last = axis;
  }
  if (!moves) return alias(input, results);
  Tensor result(aval);
  const Shape from = row_major_strides(x.shape());
  const Shape to = row_major_strides(aval.shape());
  CopyAxes copy;
  for (size_t i = 0; i < to.size(); ++i) copy.push_back({aval.shape()[i], from[permutation[i]], to[i]});
  copy_strided(result.data(), x.data(), std::move(copy), dtype_size(aval.dtype()));
  results[0] = std::move(result);
  return true;
}

bool reverse(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  Tensor result(input.output_avals[0]);
  const Shape strides = row_major_strides(x.shape());
  CopyAxes copy;
  for (size_t i = 0; i < strides.size(); ++i) copy.push_back({x.shape()[i], strides[i], strides[i]});
  int64_t first = 0;
  for (int64_t axis : input.attrs.ints("axes")) {
    first += (copy[axis].size - 1) * strides[axis];
    copy[axis].from = -strides[axis];
  }
  if (x.size() > 0) copy_strided(result.data(), at(x, first), std::move(copy), dtype_size(x.dtype()));
  results[0] = std::move(result);
  return true;
}

bool slice(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Aval& aval = input.output_avals[0];
  if (aval.size() == x.size()) return alias(input, results);
  results[0] = strided_slice(x, input.attrs.ints("start"), input.attrs.ints("stride"), aval.shape(), aval);
  return true;
}

bool pad(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  const Tensor& value = input.operands[1];
  const Ints& low = input.attrs.ints("low");
  const Ints& interior = input.attrs.ints("interior");
  Tensor result(input.output_avals[0]);
  const Shape& shape = result.shape();
  const int size = dtype_size(result.dtype());
  const Shape from = row_major_strides(x.shape());
  const Shape to = row_major_strides(shape);
  CopyAxes copy;
  int64_t first_from = 0;
  int64_t first_to = 0;
  int64_t copied = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    // Element n of x lands at low + n * step; negative padding cuts some off at either end.
    const int64_t step = step_between(interior[i] + 1, x.shape()[i]);
    const int64_t begin = low[i] < 0 ? (-low[i] + step - 1) / step : 0;
    const int64_t room = shape[i] - low[i];  // n * step < room
    const int64_t end = std::min(x.shape()[i], room > 0 ? (room + step - 1) / step : 0);
    const int64_t count = std::max<int64_t>(end - begin, 0);
    first_from += begin * from[i];
    first_to += (low[i] + begin * step) * to[i];
    copy.push_back({count, from[i], step * to[i]});
    copied *= count;
  }
  if (copied < result.size()) fill_elements(result.data(), value.data(), result.size(), size);
  if (copied > 0) copy_strided(at(result, first_to), at(x, first_from), std::move(copy), size);
  results[0] = std::move(result);
  return true;
}

bool concatenate(const KernelInput& input, absl::Span<Tensor> results) {
  if (input.operands.size() == 1) return alias(input, results);
  const size_t axis = static_cast<size_t>(input.attrs.integer("axis"));
  Tensor result(input.output_avals[0]);
  const Shape to = row_major_strides(result.shape());
  int64_t position = 0;
  for (const Tensor& x : input.operands) {
    const Shape from = row_major_strides(x.shape());
    CopyAxes copy;
    for (size_t i = 0; i < to.size(); ++i) copy.push_back({x.shape()[i], from[i], to[i]});
    if (x.size() > 0) copy_strided(at(result, position * to[axis]), x.data(), std::move(copy), dtype_size(x.dtype()));
    position += x.shape()[axis];
  }
  results[0] = std::move(result);
  return true;
}

}  // namespace kernels
}  // namespace ct
