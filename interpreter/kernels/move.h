// Copying elements from one strided layout to another: what broadcast, transpose, slice, pad, concatenate and reverse
// come down to, and how dot_general brings its operands into shape.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/aval.h"
#include "runtime/tensor.h"

namespace ct {

// One axis of a copy: how many steps, and how many elements a step is in the source and in the target. Source steps
// may be 0 (repeat) or negative (backwards); target steps must not overlap.
struct CopyAxis {
  int64_t size;
  int64_t from;
  int64_t to;
};
using CopyAxes = absl::InlinedVector<CopyAxis, 8>;

// Element (i, j, ...) goes from `from + i * axes[0].from + ...` to `to + i * axes[0].to + ...`.
void copy_strided(void* to, const void* from, CopyAxes axes, int element_size);

// The elements start[i] + k * stride[i] of every axis i, k up to the size of the result's axis; the result may have
// fewer axes of size one, or more.
Tensor strided_slice(const Tensor& x, absl::Span<const int64_t> start, absl::Span<const int64_t> stride,
                     absl::Span<const int64_t> sizes, Aval result);

Shape row_major_strides(absl::Span<const int64_t> shape);

}  // namespace ct
