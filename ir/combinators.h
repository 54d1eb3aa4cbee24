// Rule makers. Most slots of most primitives are filled by one of these functions, so that a primitive's file says
// only what is particular to it.
//
// Start with ops/erf.cc: `unary` gives a whole primitive from a ScalarOp, the dtypes it takes and a derivative. Below
// whole primitives are the single rules they are made of (type, jvp, batch, mask, element), for primitives that differ
// in one slot; below those, the small tools that rules of any shape share: moving batch axes, merging lengths, filling
// padding, checking operands.
//
// Rules run long after start-up, when every primitive is defined, but are made before their own primitive is: they
// name it through PrimitiveRef.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/primitive.h"

namespace ct {

// ---- Which dtypes a primitive takes: a set of DTypeKinds. float8 is in none of them: it is storage only. ----------
using DTypeSet = uint8_t;
inline constexpr DTypeSet kBools = 1 << 0;
inline constexpr DTypeSet kSignedIntegers = 1 << 1;
inline constexpr DTypeSet kUnsignedIntegers = 1 << 2;
inline constexpr DTypeSet kFloats = 1 << 3;
inline constexpr DTypeSet kComplexes = 1 << 4;
inline constexpr DTypeSet kIntegers = kSignedIntegers | kUnsignedIntegers;
inline constexpr DTypeSet kReals = kIntegers | kFloats;
inline constexpr DTypeSet kNumbers = kReals | kComplexes;
inline constexpr DTypeSet kInexacts = kFloats | kComplexes;
inline constexpr DTypeSet kOrdered = kBools | kReals;
inline constexpr DTypeSet kArithmetic = kBools | kNumbers;

// ---- Checks for type rules. The caller (Builder::bind) adds the op's name and the user's line to the Error. --------
void check_operand_count(absl::Span<const Aval> operands, size_t count);
void check_dtype(const Aval& operand, DTypeSet allowed);  // "takes ..., got ..." with a hint
// All operands of one shape and one dtype (weak types aside).
void check_same_types(absl::Span<const Aval> operands);
void check_axis(int64_t axis, int rank);                    // 0 <= axis < rank
void check_axes(absl::Span<const int64_t> axes, int rank);  // the same, for each; sorted and unique

// ---- A primitive by name, looked up on first use. -----------------------------------------------------------------
class PrimitiveRef {
 public:
  explicit PrimitiveRef(std::string name) : state_(std::make_shared<State>(std::move(name))) {}
  const Primitive& operator*() const {
    const Primitive* found = state_->found.load(std::memory_order_acquire);
    if (found == nullptr) state_->found.store(found = &get_primitive(state_->name), std::memory_order_release);
    return *found;
  }
  const std::string& name() const { return state_->name; }

 private:
  struct State {
    explicit State(std::string text) : name(std::move(text)) {}
    std::string name;
    std::atomic<const Primitive*> found{nullptr};
  };
  std::shared_ptr<State> state_;
};

// ---- Whole element-wise primitives --------------------------------------------------------------------------------
// The tangent of the result for one operand's tangent: `tangent * cos(x)`. Linear in `tangent`, written with primitives
// that have transpose rules; null for zero.
using UnaryTangent = std::function<Value(Value tangent, Value x, Value result)>;
using BinaryTangent = std::function<Value(Value tangent, Value x, Value y, Value result)>;

Primitive unary(std::string name, ScalarOp op, DTypeSet dtypes, UnaryTangent derivative);
Primitive binary(std::string name, ScalarOp op, DTypeSet dtypes, BinaryTangent by_x, BinaryTangent by_y);
// Without derivative: `why` completes "not differentiable: ...". For piecewise constant functions and integer ops.
Primitive flat_unary(std::string name, ScalarOp op, DTypeSet dtypes, const std::string& why);
Primitive flat_binary(std::string name, ScalarOp op, DTypeSet dtypes, const std::string& why);
Primitive comparison(std::string name, ScalarOp op, DTypeSet dtypes);
// A linear function of one operand: jvp applies it to the tangent. `transpose` maps the result's cotangent to the
// operand's; `operand` is the operand's aval.
using LinearTranspose = std::function<Value(Value cotangent, const Aval& operand, const AttrsPtr& attrs)>;
Primitive linear_unary(std::string name, ScalarOp op, DTypeSet dtypes, LinearTranspose transpose);

// ---- Single rules -------------------------------------------------------------------------------------------------
// Operands of one type in `dtypes`; the result has that type, weak when all operands are.
TypeRule same_type_rule(size_t operand_count, DTypeSet dtypes);

JvpRule zero_jvp(PrimitiveRef primitive);  // evaluates; tangents null
JvpRule derivative_jvp(PrimitiveRef primitive, UnaryTangent derivative);
JvpRule derivative_jvp(PrimitiveRef primitive, BinaryTangent by_x, BinaryTangent by_y);
// Jointly linear in all operands (one result): the primitive applied to the tangents, zeros filled in.
JvpRule linear_jvp(PrimitiveRef primitive);
// One linear operand, the first; what further operands (indices, say) hold is constant and passed on.
JvpRule linear_in_first_jvp(PrimitiveRef primitive);

TransposeRule linear_transpose(LinearTranspose transpose);  // of a primitive with one operand and one result
// For transpose rules of primitives that are linear in one operand at a time: the value of another one. A user Error
// when that depends on the linear inputs, too: the program is not linear.
Value known_operand(const TransposeInput& input, int operand);

// Works on each element alone, so the batch axis may be anywhere: operands of one shape, attributes without axes. An
// axis all batched operands share is kept; else it is axis 0. Operands that are not batched are broadcast.
BatchRule elementwise_batch(PrimitiveRef primitive);
// Lengths of the results are the union of the operands'; padding needs no care.
MaskRule elementwise_mask(PrimitiveRef primitive);

ElementRule unary_element(ScalarOp op);
ElementRule binary_element(ScalarOp op);

// ---- Tools of batch rules -----------------------------------------------------------------------------------------
// The value with its batch dimension at `axis`: moved there, or broadcast when it has none.
Value batch_at(const Batched& x, int axis, int64_t size);
int batch_axis_of(absl::Span<const Batched> operands);  // the shared one, 0 when they differ
// `axis` of one example, in the array whose batch dimension is at `batch_axis`.
inline int64_t past_batch(int64_t axis, int64_t batch_axis) {
  return batch_axis >= 0 && axis >= batch_axis ? axis + 1 : axis;
}
Ints past_batch(absl::Span<const int64_t> axes, int64_t batch_axis);

// ---- Tools of mask rules ------------------------------------------------------------------------------------------
// A Masked without ragged axes.
Masked exact(Value value);
// Axes of two values that are to be of one length.
struct Meeting {
  const Masked& x;
  int x_axis;
  const Masked& y;
  int y_axis;
};
// The length of an axis that two values share. A null length is exact and agrees with every other; two lengths must
// be equal as expressions (length_form.h), else a user Error names `op` and the axis, and shows the shapes that meet.
Value merge_lengths(Value a, Value b, std::string_view op, int axis, const Meeting* meeting = nullptr);
// A predicate of the given shape: true where the position along `axis` is below `length`.
Value valid_positions(Value length, absl::Span<const int64_t> shape, int axis);
// x with `fill`, converted to its dtype, on the padded positions of `axis`; x itself where the axis is exact.
Value fill_padded(const Masked& x, int axis, double fill);

}  // namespace ct
