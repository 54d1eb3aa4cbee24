// fill_padding(x): the identity on arrays of exact size. In a mask region the named axes stop being ragged: their
// padding becomes `value`, and the whole static extent counts. The lengths of the axes may be given as operands. Rules
// that take an array apart by position (halves of it, say) put it first, with a value that does not matter to the
// result.
#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

Avals fill_padding_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  const Ints& axes = attrs.ints("axes");
  check_operand_count(operands, operands.size() == 1 ? 1 : 1 + axes.size());
  check_axes(axes, operands[0].rank());
  attrs.real("value");
  for (const Aval& length : operands.subspan(1)) {
    if (same_type(length, Aval(DType::kInt32, {}))) continue;
    throw Error(ErrorKind::kType, concat("lengths must be int32 scalars, got ", length.to_string()))
        .hint("give one number for each axis: n: int32[]");
  }
  return {operands[0]};
}

// Padding holds a constant, so its tangent is zero. The transpose needs the lengths, so the tangent is given them.
JvpResult fill_padding_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                           const AttrsPtr& attrs) {
  const Value result = builder.bind1(kFillPadding, primals, attrs);
  if (!tangents[0]) return {{result}, {Value()}};
  const Ints& axes = attrs->ints("axes");
  Values lengths(primals.begin() + 1, primals.end());
  if (lengths.empty()) {
    for (int64_t axis : axes) lengths.push_back(dimension_size(primals[0], static_cast<int>(axis)));
  }
  return {{result}, {fill_padding(tangents[0], axes, 0, lengths)}};
}

// Only what is not padding counts. Without lengths the operand has none, or jvp has not been there to ask for them.
Values fill_padding_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  const Ints& axes = attrs->ints("axes");
  Values result(input.operands.size());
  result[0] = input.cotangents[0];
  for (size_t i = 1; i < input.operands.size(); ++i) {
    result[0] = first_elements(result[0], input.operands[i], static_cast<int>(axes[i - 1]));
  }
  return result;
}

std::vector<Batched> fill_padding_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched x = operands[0];
  Values lengths;
  for (const Batched& length : operands.subspan(1)) {
    if (length.batched()) refuse_batched_lengths("fill_padding");
    lengths.push_back(length.value);
  }
  return {{fill_padding(x.value, past_batch(attrs->ints("axes"), x.axis), attrs->real("value"), lengths), x.axis}};
}

std::vector<Masked> fill_padding_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Masked x = operands[0];
  const Ints& axes = attrs->ints("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(axes[i]);
    if (operands.size() > 1) x.lengths[axis] = operands[i + 1].value;
    x.value = fill_padded(x, axis, attrs->real("value"));
    x.lengths[axis] = Value();
  }
  return {x};
}

Primitive filling() {
  Primitive result;
  result.name = "fill_padding";
  result.attributes = {{"axes", AttributeKind::kIntegers}, {"value", AttributeKind::kReal}};
  result.type = fill_padding_type;
  result.jvp = fill_padding_jvp;
  result.transpose = fill_padding_transpose;
  result.batch = fill_padding_batch;
  result.mask = fill_padding_mask;
  result.length_role = LengthRole::kFill;
  result.element = [](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
    return element.read(0, position);
  };
  return result;
}
}  // namespace

const Primitive& kFillPadding = define(filling());

Value fill_padding(Value x, absl::Span<const int64_t> axes, double value, absl::Span<const Value> lengths) {
  Values operands{x};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return x.builder->bind1(kFillPadding, operands,
                          Attrs::make({{"axes", Ints(axes.begin(), axes.end())}, {"value", value}}));
}

}  // namespace ct
