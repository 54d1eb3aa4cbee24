// mul_no_nan and div_no_nan: product and quotient in which an exact zero wins over infinity and NaN. Derivatives are
// written with them where the factor of the chain rule has no bound (of sqrt, log, a power, a quotient, exp): what
// arrives as zero, because a slice, an index or a sum of nothing cut it off, stays zero; and a factor of zero is not
// undone by an infinite derivative further out (the norm of a zero vector). See docs/design/010-safe-gradients.md.
//
// A function may use them too, for a factor that is zero at the edge of its domain (arcsin).
#include <cmath>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"

namespace ct {
namespace {

Value is_zero(Value x) { return eq(x, zeros_like(x)); }
Value is_not_zero(Value x) { return ne(x, zeros_like(x)); }

// Null where zeros have to be looked for.
Value product_with_constant(const SimplifyInput& m, Value constant, Value other) {
  if (!m.is_full(constant)) return {};
  if (m.is_full(constant, 0)) return zeros(m.builder, m.output);
  if (m.is_full(constant, 1)) return other;
  if (m.is_full(constant, -1) && !is_complex(m.output.dtype())) return neg(other);
  if (is_float(m.output.dtype()) && m.is_finite_full(constant)) return mul(constant, other);
  return {};
}

// Where the zero that matters is a constant, or one operand is known not to be zero.
Value simplify_product(const SimplifyInput& m) {
  for (int side = 0; side < 2; ++side) {
    if (const Value product = product_with_constant(m, m.operands[side], m.operands[1 - side])) return product;
  }
  return {};
}

// A factor that is one of some constants, as the slopes of max and min are: the product with each, of which one is
// chosen. That is no product, mostly, and no zeros to look for. `most` are as many as are worth it.
Value product_with_choice(const SimplifyInput& m, Value factor, Value other, int& most) {
  const Equation* choice = m.made_by(factor, kSelect);
  if (choice == nullptr) return most-- > 0 ? product_with_constant(m, factor, other) : Value();
  const Value predicate = m.operand(*choice, 0), if_true = m.operand(*choice, 1), if_false = m.operand(*choice, 2);
  const Value first = product_with_choice(m, if_true, other, most);
  const Value second = first ? product_with_choice(m, if_false, other, most) : Value();
  return second ? select(predicate, first, second) : Value();
}

Value simplify_quotient(const SimplifyInput& m) {
  const Value x = m.operands[0], y = m.operands[1];
  if (m.is_full(y, 1)) return x;
  if (m.is_full(x, 0)) return zeros(m.builder, m.output);
  if (!is_float(m.output.dtype())) return {};
  const bool never_zero = m.is_full(x);
  return never_zero || (m.is_finite_full(y) && !m.is_full(y, 0)) ? div(x, y) : Value{};
}

// Not with infinity, nor two sums that hold what is in memory.
bool may_be_multiplied(const terms::Input& input) {
  for (const size_t side : {0, 1}) {
    if (const auto by = input.constant(side); by && !std::isfinite(*by)) return false;
  }
  return !(input.operands[0].mixed && input.operands[1].mixed);
}

std::optional<terms::Sum> terms_of_product(const terms::Input& input) {
  if (!may_be_multiplied(input)) return std::nullopt;
  auto result = input.context.product_no_nan(input.operands[0], input.operands[1], true);
  if (result) result->square = input.vars[0] == input.vars[1] || (input.operands[0].square && input.operands[1].square);
  return result;
}

// With the reciprocal: zeros win over one of zero, and of what is so small that it has none.
std::optional<terms::Sum> terms_of_quotient(const terms::Input& input) {
  const auto by = input.context.reciprocal(input.operands[1]);
  if (!by || !may_be_multiplied(input)) return std::nullopt;
  return input.context.product_no_nan(input.operands[0], *by, false);
}

// Linear in each operand: where x is zero, so is every product with it.
Primitive product_without_nan() {
  const PrimitiveRef self("mul_no_nan");
  Primitive result;
  result.name = self.name();
  result.type = same_type_rule(2, kInexacts);
  result.jvp =
      derivative_jvp(self, BinaryTangent([](Value tangent, Value, Value y, Value) { return mul_no_nan(tangent, y); }),
                     BinaryTangent([](Value tangent, Value x, Value, Value) { return mul_no_nan(x, tangent); }));
  result.transpose = [](Builder&, const TransposeInput& input, const AttrsPtr&) {
    const Value cotangent = input.cotangents[0];
    return input.linear(0) ? Values{mul_no_nan(cotangent, input.operands[1]), Value()}
                           : Values{Value(), mul_no_nan(input.operands[0], cotangent)};
  };
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.expand = [self](Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    const Value x = operands[0], y = operands[1];
    const SimplifyInput input{builder, *self, operands, attrs, x.aval()};
    for (const bool first : {false, true}) {
      int most = 4;
      if (const Value product = product_with_choice(input, first ? x : y, first ? y : x, most)) return Values{product};
    }
    // One mask narrows the other, and the product is made under both: an operation less than with two zeros joined.
    return Values{select(bit_and(is_not_zero(x), is_not_zero(y)), x * y, zeros_like(x))};
  };
  result.simplify = simplify_by(simplify_product);
  result.terms = terms_of_product;
  result.elementwise = true;
  result.linear = Linear::kInEach;
  result.absent["element"] = "expands";
  result.absent["reference"] = "expands";
  return result;
}
const Primitive& kMulNoNan = define(product_without_nan());

Primitive quotient() {
  const PrimitiveRef self("div_no_nan");
  Primitive result;
  result.name = self.name();
  result.type = same_type_rule(2, kInexacts);
  result.jvp =
      derivative_jvp(self, BinaryTangent([](Value tangent, Value, Value y, Value) { return div_no_nan(tangent, y); }),
                     BinaryTangent([](Value tangent, Value, Value y, Value quotient) {
                       return -div_no_nan(mul_no_nan(quotient, tangent), y);
                     }));
  result.transpose = [](Builder&, const TransposeInput& input, const AttrsPtr&) {
    CT_CHECK(!input.linear(1));
    return Values{div_no_nan(input.cotangents[0], input.operands[1]), Value()};
  };
  result.batch = elementwise_batch(self);
  result.mask = elementwise_mask(self);
  result.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr&) {
    const Value x = operands[0], y = operands[1];
    return Values{select(is_zero(x), zeros_like(x), x / y)};
  };
  result.simplify = simplify_by(simplify_quotient);
  result.terms = terms_of_quotient;
  result.linear = Linear::kInFirst;
  result.elementwise = true;
  result.absent["element"] = "expands";
  result.absent["reference"] = "expands";
  return result;
}
const Primitive& kDivNoNan = define(quotient());

}  // namespace

Value mul_no_nan(Value x, Value y) { return x.builder->bind1(kMulNoNan, {x, y}); }
Value div_no_nan(Value x, Value y) { return x.builder->bind1(kDivNoNan, {x, y}); }

}  // namespace ct
