// Arithmetic on the lengths of ragged axes, for mask rules.
//
// Two axes count as equally long when their lengths are equal as expressions (length_form.h). Lengths worked out in the
// same way come out as the same Value, which keeps programs short: every function here shares equations that are there.
// Lengths are int32 scalars.
#pragma once

#include <optional>

#include "ir/primitive.h"

namespace ct {

// Whether derivatives say how long their ragged axes are, with dimension_size and set_length. Only programs that go
// into a mask region need that; so it is while one lives: a mask captures, or a region's program is differentiated or
// masked.
class KeepLengths {
 public:
  KeepLengths();
  ~KeepLengths();
  KeepLengths(const KeepLengths&) = delete;
  KeepLengths& operator=(const KeepLengths&) = delete;
};
bool keeps_lengths();  // in this thread

// dimension_size where lengths are kept, elsewhere the number.
Value size_of(Value x, int axis);

Value constant_length(Builder& builder, int64_t length);
// The number that `length` is for all sizes.
std::optional<int64_t> known_length(Value length);

Value add_lengths(Value x, Value y);
Value add_lengths(Value x, int64_t y);
Value scale_length(Value x, int64_t factor);  // factor >= 0
// x / divisor where x is a multiple of it for all sizes. Else null.
Value divided_length(Value x, int64_t divisor);
Value at_least_zero(Value x);
// max(0, ceil((x - start) / stride)): how many elements of every `stride`-th from `start` lie below x.
Value strided_length(Value x, int64_t start, int64_t stride);
Value larger_length(Value x, Value y);
Value smaller_length(Value x, int64_t limit);
Value smaller_length(Value x, Value y);
// A length, of any integer dtype, held to 0 … size, as int32: what is asked for may be neither. Read as an expression
// it is the length: two axes are as long as each other when they were asked to be.
Value clamp_length(Value length, int64_t size);
Value clamp_length(Value length, Value size);  // of one shape
// The length between elements when `interior` zeros are put between neighbours: 0 for 0, else x + (x - 1) * interior.
Value dilated_length(Value x, int64_t interior);

// Refuses to batch a primitive over a length that it takes as an operand.
[[noreturn]] void refuse_batched_lengths(std::string_view primitive);

// The tangent with the ragged lengths of its primal along `axes`. Linear rules whose transpose changes or moves an axis
// put it before the linear equation, so that the cotangent gets the operand's length back.
Value with_lengths_of(Value tangent, Value primal, absl::Span<const int64_t> axes);
Value with_lengths_of(Value tangent, Value primal);  // along all axes

// The other way round: an exact tangent becomes one with the lengths of its primal, and the transpose makes a cotangent
// exact, zero on its padding. For rules that take arrays apart by position, after the last step.
Value give_lengths_of(Value tangent, Value primal, absl::Span<const int64_t> axes);

// Whether the equation says something about lengths, so that its mask rule is needed even where no operand is ragged:
// set_length, dimension_size (whose constant other lengths are compared with), fill_padding and the ragged_* that take
// lengths as operands, and what has one of them in a sub-graph. Regions are left to their expansion.
bool depends_on_lengths(const Primitive& primitive, const Attrs& attrs);

}  // namespace ct
