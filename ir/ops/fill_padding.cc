// fill_padding(x): the identity on arrays of exact size. In a mask region the named axes stop being ragged: their
// padding becomes `value`, and the whole static extent counts. Rules that take an array apart by position (halves of
// it, say) put it first, with a value that does not matter to the result.
#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"

namespace ct {
namespace {

Avals fill_padding_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  check_axes(attrs.ints("axes"), operands[0].rank());
  attrs.real("value");
  return {operands[0]};
}

// Padding holds a constant, so its tangent is zero.
JvpResult fill_padding_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                           const AttrsPtr& attrs) {
  const Value result = builder.bind1(get_primitive("fill_padding"), primals, attrs);
  if (!tangents[0]) return {{result}, {Value()}};
  const Ints& axes = attrs->ints("axes");
  return {{result}, {fill_padding(with_lengths_of(tangents[0], primals[0], axes), axes, 0)}};
}

std::vector<Batched> fill_padding_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched x = operands[0];
  return {{fill_padding(x.value, past_batch(attrs->ints("axes"), x.axis), attrs->real("value")), x.axis}};
}

std::vector<Masked> fill_padding_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Masked x = operands[0];
  for (int64_t axis : attrs->ints("axes")) {
    x.value = fill_padded(x, static_cast<int>(axis), attrs->real("value"));
    x.lengths[axis] = Value();
  }
  return {x};
}

Primitive filling() {
  Primitive result;
  result.name = "fill_padding";
  result.type = fill_padding_type;
  result.jvp = fill_padding_jvp;
  // The lengths come back from the set_length that jvp puts before it.
  result.transpose = linear_transpose([](Value cotangent, const Aval&, const AttrsPtr&) { return cotangent; });
  result.batch = fill_padding_batch;
  result.mask = fill_padding_mask;
  result.element = [](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
    return element.read(0, position);
  };
  return result;
}
const Primitive& kFillPadding = define(filling());

}  // namespace

Value fill_padding(Value x, absl::Span<const int64_t> axes, double value) {
  return x.builder->bind1(kFillPadding, {x}, Attrs::make({{"axes", Ints(axes.begin(), axes.end())}, {"value", value}}));
}

}  // namespace ct
