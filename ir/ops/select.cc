// select(predicate, if_true, if_false): element by element, one of two values of any dtype. What is not chosen does
// not matter, not even NaN: neither for the value nor, through the transpose, for derivatives.
#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

Avals select_type(absl::Span<const Aval> operands, const Attrs&) {
  check_operand_count(operands, 3);
  if (!is_bool(operands[0].dtype())) {
    throw Error(ErrorKind::kDType, concat("the predicate must be bool, got ", operands[0].to_string()))
        .hint("compare it with something first, for example x != 0");
  }
  if (operands[0].shape() != operands[1].shape()) {
    throw Error(ErrorKind::kShape, concat("the predicate must have the shape of the values, got ",
                                          operands[0].to_string(), " for ", operands[1].to_string()))
        .hint("broadcast them to one shape first");
  }
  check_same_types(operands.subspan(1));
  return {operands[1].weak() && operands[2].weak() ? operands[1] : operands[1].strong()};
}

JvpResult select_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                     const AttrsPtr&) {
  const Value result = select(primals[0], primals[1], primals[2]);
  if (!tangents[1] && !tangents[2]) return {{result}, {Value()}};
  const Value if_true = instantiate(builder, tangents[1], result.aval());
  const Value if_false = instantiate(builder, tangents[2], result.aval());
  return {{result}, {select(primals[0], if_true, if_false)}};
}

Values select_transpose(Builder&, const TransposeInput& input, const AttrsPtr&) {
  const Value predicate = input.operands[0], cotangent = input.cotangents[0];
  const Value zero = zeros_like(cotangent);
  Values results(3);
  if (input.linear(1)) results[1] = select(predicate, cotangent, zero);
  if (input.linear(2)) results[2] = select(predicate, zero, cotangent);
  return results;
}

Value simplify_select(const SimplifyInput& m) {
  if (m.operands[1] == m.operands[2]) return m.operands[1];
  if (m.is_full(m.operands[0], 1)) return m.operands[1];
  if (m.is_full(m.operands[0], 0)) return m.operands[2];
  const Equation* inverted = m.made_by(m.operands[0], kNot);
  return inverted == nullptr ? Value{} : select(m.operand(*inverted, 0), m.operands[2], m.operands[1]);
}

std::optional<terms::Sum> terms_of_select(const terms::Input& input) {
  auto result = input.context.gated(input.operands[1], input.operands[0], true);
  auto otherwise = input.context.gated(input.operands[2], input.operands[0], false);
  if (!result || !otherwise) return std::nullopt;
  // Zeros are a sum of nothing.
  if (otherwise->terms.empty()) return result;
  if (result->terms.empty()) return otherwise;
  if (result->terms.size() + otherwise->terms.size() > terms::Context::kMostTerms) return std::nullopt;
  result->terms.insert(result->terms.end(), otherwise->terms.begin(), otherwise->terms.end());
  result->mixed = std::ranges::any_of(result->terms, [](const auto& term) { return term.factors.size() < 2; });
  result->square &= otherwise->square;
  input.context.merge(*result);
  return result;
}

Primitive selection() {
  const PrimitiveRef self("select");
  Primitive result;
  result.name = self.name();
  result.type = select_type;
  result.jvp = select_jvp;
  result.transpose = select_transpose;
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.simplify = simplify_by(simplify_select);
  result.terms = terms_of_select;
  result.elementwise = true;
  result.arrangement = Arrangement::kChoice;
  result.element = [](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
    const Scalar predicate = element.read(0, position);
    const Scalar if_true = element.read(1, position);
    return element.select(predicate, if_true, element.read(2, position));
  };
  return result;
}
}  // namespace

const Primitive& kSelect = define(selection());

Value select(Value predicate, Value if_true, Value if_false) {
  return predicate.builder->bind1(kSelect, {predicate, if_true, if_false});
}

}  // namespace ct
