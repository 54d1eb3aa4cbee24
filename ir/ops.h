// Builder-level functions, one for each primitive that rules, passes and the compiler use by name: the vocabulary of
// this code base. Each is defined next to its primitive in ops/. They bind exactly one equation unless the comment says
// otherwise; operands must have the shapes the primitive wants (no implicit broadcasting).
#pragma once

#include "ir/builder.h"

namespace ct {

// arithmetic.cc, exponential.cc, trigonometric.cc, erf.cc, rounding.cc, comparison.cc, bits.cc, complex.cc, select.cc,
// convert.cc, stop_gradient.cc, threefry.cc (shapes and dtypes of operands equal)
Value neg(Value x);
Value abs(Value x);
Value sign(Value x);
Value logical_not(Value x);
Value floor(Value x);
Value ceil(Value x);
Value round(Value x);
Value sqrt(Value x);
Value exp(Value x);
Value expm1(Value x);
Value log(Value x);
Value log1p(Value x);
Value tanh(Value x);
Value erf(Value x);
Value sin(Value x);
Value cos(Value x);
Value is_finite(Value x);
Value real(Value x);
Value imag(Value x);
Value conj(Value x);
Value add(Value x, Value y);
Value sub(Value x, Value y);
Value mul(Value x, Value y);
Value div(Value x, Value y);
Value rem(Value x, Value y);
Value pow(Value x, Value y);
Value atan2(Value x, Value y);
Value max(Value x, Value y);
Value min(Value x, Value y);
Value mul_no_nan(Value x, Value y);  // no_nan.cc: 0 where either is 0, else x * y
Value div_no_nan(Value x, Value y);  // 0 where x is 0, else x / y
Value bit_and(Value x, Value y);
Value bit_or(Value x, Value y);
Value bit_xor(Value x, Value y);
Value shift_left(Value x, Value y);
Value shift_right_logical(Value x, Value y);
Value shift_right_arithmetic(Value x, Value y);
Value eq(Value x, Value y);
Value ne(Value x, Value y);
Value lt(Value x, Value y);
Value le(Value x, Value y);
Value gt(Value x, Value y);
Value ge(Value x, Value y);
Value make_complex(Value real, Value imag);
Value select(Value predicate, Value if_true, Value if_false);  // predicate: bool of the same shape
Value convert(Value x, DType dtype);                           // x itself when it has the dtype
Value bitcast(Value x, DType dtype);
Value stop_gradient(Value x);
Value operator+(Value x, Value y);
Value operator-(Value x, Value y);
Value operator*(Value x, Value y);
Value operator/(Value x, Value y);
Value operator-(Value x);
Values threefry2x32(Value key0, Value key1, Value count0, Value count1);  // uint32 arrays of one shape -> two

// create.cc
Value full(Builder& builder, Aval aval, double value);  // every element `value`
Value full_integer(Builder& builder, Aval aval, int64_t value);
Value full_complex(Builder& builder, Aval aval, double real, double imag);
Value full_like(Value x, double value);
Value zeros(Builder& builder, Aval aval);
Value zeros_like(Value x);
Value iota(Builder& builder, Aval aval, int axis);

// shape.cc
Value broadcast(Value x, absl::Span<const int64_t> shape,
                absl::Span<const int64_t> axes);                   // x's axis i becomes axes[i]
Value broadcast_scalar(Value x, absl::Span<const int64_t> shape);  // x itself when the shape is ()
Value reshape(Value x, absl::Span<const int64_t> shape);           // x itself when it has the shape
Value transpose(Value x, absl::Span<const int64_t> permutation);   // x itself for the identity
Value reverse(Value x, absl::Span<const int64_t> axes);
Value slice(Value x, absl::Span<const int64_t> start, absl::Span<const int64_t> limit,
            absl::Span<const int64_t> stride);
Value slice_axis(Value x, int axis, int64_t start, int64_t limit);  // one slice equation, other axes whole
Value pad(Value x, Value value, absl::Span<const int64_t> low, absl::Span<const int64_t> high,
          absl::Span<const int64_t> interior);
Value concatenate(absl::Span<const Value> xs, int axis);
Value move_axis(Value x, int from, int to);             // a transpose
Value expand_dims(Value x, int axis);                   // a reshape: new axis of size 1 at `axis`
Value squeeze(Value x, int axis);                       // a reshape
Value broadcast_axis(Value x, int axis, int64_t size);  // a broadcast that inserts a new axis

// index.cc. gather: operand [batch..., before..., N, after...], integer indices [batch..., indices...];
// result [batch..., before..., indices..., after...]. Reads outside [0, N) give 0; scatters drop such updates.
struct GatherAttrs {
  int axis = 0, batch_dims = 0;
  static GatherAttrs from(const Attrs& attrs);

  // The result's axis for an axis of the indices that is not a batch axis.
  int of_index(int index_axis) const { return axis + index_axis - batch_dims; }
  // The result's axis for an axis of the operand other than `axis`.
  int of_operand(int operand_axis, int index_rank) const {
    return operand_axis < axis ? operand_axis : operand_axis - 1 + index_rank - batch_dims;
  }
};
struct ScatterAttrs : GatherAttrs {
  bool unique = false;  // a promise: indices inside [0, N) do not repeat
  static ScatterAttrs from(const Attrs& attrs);
};
Value gather(Value operand, Value indices, int axis, int batch_dims);
Value scatter_add(Value operand, Value indices, Value updates, int axis, int batch_dims);
Value scatter(Value operand, Value indices, Value updates, int axis, int batch_dims);  // the last of equal indices wins

// dynamic_slice.cc. One integer start an axis, clamped so that the slice lies inside.
Value dynamic_slice(Value x, absl::Span<const Value> starts, absl::Span<const int64_t> sizes);
Value dynamic_update_slice(Value x, Value update, absl::Span<const Value> starts);

// window_slice.cc. One number for each pair of axes[i] (spatial) and window_axes[i].
struct WindowAttrs {
  Ints axes, window_axes, sizes, step, window_step, dilation, offset;
  static WindowAttrs from(const Attrs& attrs);
};
Value window_slice(Value x, const WindowAttrs& windows);

// sort.cc. Sorts lines of `axis` by the first `num_keys` operands, ascending, equal ones in their order.
Values sort(absl::Span<const Value> operands, int axis, int num_keys);

// fill_padding.cc: x; in a mask region, with `value` on the padding of `axes`, which are then exact. `lengths`: none,
// or those of the axes.
Value fill_padding(Value x, absl::Span<const int64_t> axes, double value, absl::Span<const Value> lengths = {});

// reduce.cc, cumulative.cc, dot.cc. The reductions are x itself for no axes.
Value reduce_sum(Value x, absl::Span<const int64_t> axes);
Value reduce_prod(Value x, absl::Span<const int64_t> axes);
Value reduce_max(Value x, absl::Span<const int64_t> axes);
Value reduce_min(Value x, absl::Span<const int64_t> axes);
Value cumsum(Value x, int axis, bool reverse);
struct DotDimensions {
  Ints lhs_contract, rhs_contract, lhs_batch, rhs_batch;
  static DotDimensions from(const Attrs& attrs);
};
Ints free_axes(int rank, const Ints& contract, const Ints& batch);  // neither contracted nor batch
// Result: batch dimensions, free dimensions of lhs, free dimensions of rhs, each in order.
Value dot_general(Value lhs, Value rhs, const DotDimensions& dimensions);

// ragged.cc: sizes inside a mask region. Outside of one dimension_size is the static size and set_length does nothing.
Value dimension_size(Value x, int axis);                // int32 scalar
Value set_length(Value x, Value length, int axis);      // declares that axis holds `length` valid elements
Value first_elements(Value x, Value length, int axis);  // a set_length that may leave elements out

// transforms/higher_order/
Values call(Builder& builder, GraphPtr graph, std::string name, absl::Span<const Value> operands);

// Tangents and cotangents, with null as zero.
Value add_tangents(Value x, Value y);                            // either may be null
Value instantiate(Builder& builder, Value x, const Aval& aval);  // zeros for null

}  // namespace ct
