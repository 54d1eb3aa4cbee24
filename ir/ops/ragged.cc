// Sizes inside a mask region: dimension_size reads the length of an axis, set_length declares it. Elsewhere the one is
// the static size and the other the identity.
//
// set_length mostly repeats what is true: of a tangent, say, that is as ragged as its primal. Its transpose then
// declares the same of the cotangent. With attribute `cuts` the axis may be longer before: what lies behind the length
// is left out, and the cotangent is filled up with zeros.
//
// clamp_length is where a length enters a region: nobody has looked at one that a program computes. Elements behind the
// bound are not there, so a length beyond it must not count them either.
#include <algorithm>
#include <limits>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();

// ---- dimension_size -----------------------------------------------------------------------------------------------

Avals dimension_size_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const int64_t axis = attrs.integer("axis");
  check_axis(axis, operands[0].rank());
  if (operands[0].shape()[axis] > kLongest) {
    throw Error(ErrorKind::kValue, concat("axis ", axis, " of ", operands[0].to_string(), " is too long for int32"))
        .hint("sizes above 2**31 - 1 cannot be used as values");
  }
  return {Aval(DType::kInt32, {})};
}

Value bind_dimension_size(Value x, int64_t axis) {
  return x.builder->bind1(kDimensionSize, {x}, Attrs::make({{"axis", axis}}));
}

std::vector<Batched> dimension_size_batch(Builder&, absl::Span<const Batched> operands, int64_t,
                                          const AttrsPtr& attrs) {
  const Batched x = operands[0];
  return {{bind_dimension_size(x.value, past_batch(attrs->integer("axis"), x.axis)), -1}};
}

std::vector<Masked> dimension_size_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  const auto axis = static_cast<int>(attrs->integer("axis"));
  return {exact(x.ragged(axis) ? x.lengths[axis] : constant_length(builder, x.value.shape()[axis]))};
}

Primitive dimension_size_primitive() {
  Primitive result;
  result.name = "dimension_size";
  result.attributes = {{"axis", AttributeKind::kInteger}};
  result.type = dimension_size_type;
  result.jvp = zero_jvp(PrimitiveRef(result.name));
  result.batch = dimension_size_batch;
  result.mask = dimension_size_mask;
  result.element = [](ElementBuilder& element, const Attrs& attrs, const Aval&, int, absl::Span<const Index>) {
    return element.constant_integer(DType::kInt32, element.operand_aval(0).shape()[attrs.integer("axis")]);
  };
  // Outside of mask regions sizes are what the shapes say.
  result.simplify = simplify_by([](const SimplifyInput& m) {
    return full_integer(m.builder, m.output, m.operands[0].shape()[m.attrs->integer("axis")]);
  });
  result.length_role = LengthRole::kSize;
  result.differentiable = false;
  result.absent["transpose"] = "not differentiable: the result is an integer";
  return result;
}
}  // namespace

const Primitive& kDimensionSize = define(dimension_size_primitive());

namespace {

// ---- set_length ---------------------------------------------------------------------------------------------------

bool cuts(const Attrs& attrs) { return attrs.has("cuts") && attrs.flag("cuts"); }

Avals set_length_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 2);
  cuts(attrs);  // a flag, if it is there
  check_axis(attrs.integer("axis"), operands[0].rank());
  if (!same_type(operands[1], Aval(DType::kInt32, {}))) {
    throw Error(ErrorKind::kType, concat("the length must be an int32 scalar, got ", operands[1].to_string()))
        .hint("convert the length with .astype('int32')");
  }
  return {operands[0]};
}

Value bind_set_length(Value x, Value length, int64_t axis, bool cuts) {
  const AttrsPtr attrs = cuts ? Attrs::make({{"axis", axis}, {"cuts", true}}) : Attrs::make({{"axis", axis}});
  return x.builder->bind1(kSetLength, {x, length}, attrs);
}

// The length is known wherever the array is linear.
Values set_length_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  const Value cotangent = input.cotangents[0], length = input.operands[1];
  const int64_t axis = attrs->integer("axis");
  if (cuts(*attrs)) return {fill_padding(cotangent, {axis}, 0, {length}), {}};
  return {set_length(cotangent, length, static_cast<int>(axis)), {}};
}

std::vector<Batched> set_length_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched x = operands[0];
  if (operands[1].batched()) refuse_batched_lengths("set_length");
  const int64_t axis = past_batch(attrs->integer("axis"), x.axis);
  return {{bind_set_length(x.value, operands[1].value, axis, cuts(*attrs)), x.axis}};
}

std::vector<Masked> set_length_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Masked x = operands[0];
  const int64_t axis = attrs->integer("axis");
  const Value length = operands[1].value;
  // The static size, as a length that rules carry over from an exact axis, leaves the axis exact.
  x.lengths[axis] = known_length(length) == x.value.shape()[axis] ? Value() : length;
  return {x};
}

Primitive set_length_primitive() {
  Primitive result;
  result.name = "set_length";
  result.attributes = {{"axis", AttributeKind::kInteger}, {"cuts", AttributeKind::kFlag, kOptional}};
  result.type = set_length_type;
  result.jvp = linear_in_first_jvp(PrimitiveRef(result.name));
  result.transpose = set_length_transpose;
  result.batch = set_length_batch;
  result.mask = set_length_mask;
  result.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr&) { return Values{operands[0]}; };
  result.simplify = simplify_by([](const SimplifyInput& m) { return m.operands[0]; });
  result.length_role = LengthRole::kSet;
  result.absent["element"] = "expands to its operand";
  return result;
}
}  // namespace

const Primitive& kSetLength = define(set_length_primitive());

namespace {

// ---- clamp_length -------------------------------------------------------------------------------------------------

Avals clamp_length_type(absl::Span<const Aval> operands, const Attrs&) {
  check_operand_count(operands, 2);
  check_dtype(operands[0], kIntegers);
  const Aval result(DType::kInt32, operands[0].shape());
  if (same_type(operands[1], result)) return {result};
  throw Error(ErrorKind::kType, concat("the size must be int32 and have the shape of the length, ",
                                       operands[0].to_string(), "; got ", operands[1].to_string()))
      .hint("convert the size with .astype('int32')");
}

// In a dtype that holds both the length and the size.
Values clamp_length_expand(Builder&, absl::Span<const Value> operands, const AttrsPtr&) {
  Value length = operands[0];
  if (dtype_size(length.dtype()) < 4) length = convert(length, DType::kInt32);
  const Value size = convert(operands[1], length.dtype());
  return {convert(min(max(length, zeros_like(length)), size), DType::kInt32)};
}

Primitive clamp_length_primitive() {
  const PrimitiveRef self("clamp_length");
  Primitive result;
  result.name = self.name();
  result.type = clamp_length_type;
  result.jvp = zero_jvp(self);
  result.batch = elementwise_batch(self);
  result.elementwise = true;
  result.expand = clamp_length_expand;
  result.length_role = LengthRole::kClamp;
  result.differentiable = false;
  result.absent["transpose"] = "not differentiable: the result is an integer";
  result.absent["mask"] = "that of its expansion";
  result.absent["element"] = "expands to other equations";
  result.absent["reference"] = "expands to other equations";
  return result;
}
}  // namespace

const Primitive& kClampLength = define(clamp_length_primitive());

Value dimension_size(Value x, int axis) {
  return x.builder->bind1(kDimensionSize, {x}, Attrs::make({{"axis", int64_t{axis}}}));
}

Value clamp_length(Value length, Value size) { return length.builder->bind1(kClampLength, {length, size}); }
Value clamp_length(Value length, int64_t size) {
  const Aval aval(DType::kInt32, length.shape());
  return clamp_length(length, full_integer(*length.builder, aval, std::min(size, kLongest)));
}

Value set_length(Value x, Value length, int axis) { return bind_set_length(x, length, axis, false); }
Value first_elements(Value x, Value length, int axis) { return bind_set_length(x, length, axis, true); }

}  // namespace ct
