// Running combinations along an axis, x0, x0 . x1, x0 . x1 . x2, ..., by an associative operation on tuples of arrays.
//
// A program of slices, combinations, pads and selects, so that it differentiates again: the derivatives of running
// products and the like are made of it. Neighbours are combined in pairs and the pairs scanned, which gives every
// second result; the others are one combination more. The tree is that of jax.lax.associative_scan.
#pragma once

#include <functional>

#include "ir/ops.h"

namespace ct {

// From the tuples at earlier and at later positions, the combined ones. Works on each position alone.
using CombineTuples = std::function<Values(const Values& earlier, const Values& later)>;

inline Values associative_scan(const Values& x, int axis, const CombineTuples& combine) {
  const int64_t size = x[0].shape()[axis];
  if (size < 2) return x;
  const auto every_second = [&](const Values& values, int64_t start, int64_t limit) {
    Values result;
    for (const Value& value : values) {
      Ints starts(value.rank(), 0), limits(value.shape().begin(), value.shape().end()), strides(value.rank(), 1);
      starts[axis] = start;
      limits[axis] = limit;
      strides[axis] = 2;
      result.push_back(slice(value, starts, limits, strides));
    }
    return result;
  };
  const auto part = [&](const Values& values, int64_t start, int64_t limit) {
    Values result;
    for (const Value& value : values) result.push_back(slice_axis(value, axis, start, limit));
    return result;
  };
  const Values odd = associative_scan(combine(every_second(x, 0, size - 1), every_second(x, 1, size)), axis, combine);
  const int64_t later = (size - 1) / 2;  // even positions but the first
  Values even = part(x, 0, 1);
  if (later > 0) {
    const Values rest = combine(part(odd, 0, later), every_second(x, 2, size));
    for (size_t i = 0; i < even.size(); ++i) even[i] = concatenate({even[i], rest[i]}, axis);
  }
  // Woven: even results at even positions, odd ones between them.
  const auto spread = [&](Value value, int64_t low) {
    Ints before(value.rank(), 0), after(value.rank(), 0), between(value.rank(), 0);
    before[axis] = low;
    after[axis] = size - low - (2 * value.shape()[axis] - 1);
    between[axis] = 1;
    return pad(value, zeros(*value.builder, Aval(value.dtype(), {})), before, after, between);
  };
  const Aval positions(DType::kInt32, x[0].shape());
  const Value last_bit = bit_and(iota(*x[0].builder, positions, axis), full_integer(*x[0].builder, positions, 1));
  const Value is_odd = eq(last_bit, full_integer(*x[0].builder, positions, 1));
  Values result;
  for (size_t i = 0; i < x.size(); ++i) result.push_back(select(is_odd, spread(odd[i], 1), spread(even[i], 0)));
  return result;
}

}  // namespace ct
