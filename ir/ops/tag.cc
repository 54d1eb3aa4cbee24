// tag: x itself, under a name. Checkpoint policies know values by their names; and what is computed from a tagged value
// is never merged with what is computed from the value itself, which is how a recomputation stays one.
#include "ir/combinators.h"
#include "ir/primitives.h"

namespace ct {
namespace {

Primitive tag() {
  const PrimitiveRef self("tag");
  Primitive result;
  result.name = self.name();
  result.attributes = {{"name", AttributeKind::kText}};
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 1);
    attrs.text("name");
    return Avals{operands[0]};
  };
  // The tangent stays as it is: names are for values.
  result.jvp = [self](Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                      const AttrsPtr& attrs) {
    return JvpResult{{builder.bind1(*self, primals, attrs)}, {tangents[0]}};
  };
  result.transpose = linear_transpose([](Value cotangent, const Aval&, const AttrsPtr&) { return cotangent; });
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.structure = std::make_shared<structures::SameBytes>();
  result.absent["element"] = "the same bytes";
  return result;
}
}  // namespace

const Primitive& kTag = define(tag());

}  // namespace ct
