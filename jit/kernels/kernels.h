// Algorithms that a program calls a library for while it runs in this process, as loops for programs that have to do
// without: sorting here, factorisations in linear_algebra.h. They are plain loop IR, made when a graph is lowered, so
// they run on every machine that the emitter knows.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "jit/loop/loop.h"

namespace ct::loop {

// Row-major elements of a buffer, from `offset` on.
struct Elements {
  BufferId buffer;
  Index offset;
};

// Lines of `size` elements along the middle axis of [outer, size, inner], put in order by the first `keys` operands; of
// each operand the first `count` elements in that order are the result, [outer, count, inner]. NaN is above every
// number, -0 equals 0, and equal elements keep their order. `lengths`, if given: int32 numbers, one for each line, of
// how many elements are put in order; what lies behind keeps its place, or is not written if it is `unread`.
struct SortShape {
  int64_t outer, size, inner, count;
  size_t keys;
  bool descending;
  std::optional<Elements> lengths = std::nullopt;
  bool unread = false;
};
void emit_sort(Builder& builder, const SortShape& shape, absl::Span<const Elements> operands,
               absl::Span<const Elements> results);

}  // namespace ct::loop
