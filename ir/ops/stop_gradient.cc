// The identity, whose derivative is taken as zero. Nothing is left of it once all derivatives are taken.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"

namespace ct {
namespace {

Primitive barrier() {
  const PrimitiveRef self("stop_gradient");
  Primitive result;
  result.name = self.name();
  result.type = [](absl::Span<const Aval> operands, const Attrs&) {
    check_operand_count(operands, 1);
    return Avals{operands[0]};
  };
  result.jvp = zero_jvp(self);
  result.differentiable = false;
  result.absent["transpose"] = "not differentiable: that is its purpose";
  result.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr&) { return Values{operands[0]}; };
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.length_role = LengthRole::kSame;
  result.element = [](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
    return element.read(0, position);
  };
  return result;
}
}  // namespace

const Primitive& kStopGradient = define(barrier());

Value stop_gradient(Value x) { return x.builder->bind1(kStopGradient, {x}); }

}  // namespace ct
