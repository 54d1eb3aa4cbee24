// Running sums along one axis, from either end. A good second primitive to read: linear, with one rule that masks.
#include "ir/combinators.h"
#include "ir/ops.h"

namespace ct {
namespace {

Avals cumsum_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  check_dtype(operands[0], kNumbers);
  check_axis(attrs.integer("axis"), operands[0].rank());
  attrs.flag("reverse");
  return {operands[0].strong()};
}

// An element adds to all sums that come after it; so a cotangent is summed from the other end.
Value cumsum_transpose(Value cotangent, const Aval&, const AttrsPtr& attrs) {
  return cumsum(cotangent, static_cast<int>(attrs->integer("axis")), !attrs->flag("reverse"));
}

std::vector<Batched> cumsum_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched& x = operands[0];
  const auto axis = static_cast<int>(past_batch(attrs->integer("axis"), x.axis));
  return {{cumsum(x.value, axis, attrs->flag("reverse")), x.axis}};
}

// Padding comes after the valid elements: only sums from the end meet it.
std::vector<Masked> cumsum_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  const auto axis = static_cast<int>(attrs->integer("axis"));
  const bool reverse = attrs->flag("reverse");
  return {{cumsum(reverse ? fill_padded(x, axis, 0) : x.value, axis, reverse), x.lengths}};
}

Primitive running_sum() {
  Primitive result;
  result.name = "cumsum";
  result.type = cumsum_type;
  result.jvp = linear_jvp(PrimitiveRef(result.name));
  result.transpose = linear_transpose(cumsum_transpose);
  result.batch = cumsum_batch;
  result.mask = cumsum_mask;
  result.lowering = Lowering::kCumulative;
  result.combine = ScalarOp::kAdd;
  result.identity = [](DType) { return 0.0; };
  result.absent["element"] = "elements mix: lowered as a running fold";
  return result;
}
const Primitive& kCumsum = define(running_sum());

}  // namespace

Value cumsum(Value x, int axis, bool reverse) {
  return x.builder->bind1(kCumsum, {x}, Attrs::make({{"axis", int64_t{axis}}, {"reverse", reverse}}));
}

}  // namespace ct
