#include "ir/absent_rules.h"

#include "runtime/text.h"

namespace ct {

GraphPtr expansion(const Primitive& primitive, const Avals& operands, const AttrsPtr& attrs) {
  CT_CHECK(primitive.expand);
  return build_graph(operands,
                     [&](Builder& builder, const Values& inputs) { return primitive.expand(builder, inputs, attrs); });
}

Error missing_rule(const Primitive& primitive, std::string_view slot, ErrorKind kind) {
  const auto reason = primitive.absent.find(std::string(slot));
  const std::string because = reason == primitive.absent.end() ? "" : concat(": ", reason->second);
  Error error(kind, concat("no ", slot, " rule", because));
  if (primitive.user_defined)
    error.hint(concat("give it one: ct.primitive(\"", primitive.name, "\", ..., ", slot, "=...)"));
  return error.op(primitive.name);
}

}  // namespace ct
