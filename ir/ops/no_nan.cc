// mul_no_nan and div_no_nan: product and quotient in which an exact zero wins over infinity and NaN. Derivatives are
// written with them where the factor of the chain rule has no bound (of sqrt, log, a power, a quotient, exp): what
// arrives as zero, because a slice, an index or a sum of nothing cut it off, stays zero; and a factor of zero is not
// undone by an infinite derivative further out (the norm of a zero vector). See docs/design/010-safe-gradients.md.
//
// A function may use them too, for a factor that is zero at the edge of its domain (arcsin).
#include <cmath>

#include "ir/combinators.h"
#include "ir/ops.h"
#include "ir/simplify.h"

namespace ct {
namespace {

Value is_zero(Value x) { return eq(x, zeros_like(x)); }
Value is_not_zero(Value x) { return ne(x, zeros_like(x)); }

// Where the zero that matters is a constant, or one operand is known not to be zero.
Value simplify_product(const SimplifyInput& m) {
  for (int side = 0; side < 2; ++side) {
    const Value constant = m.operands[side];
    const Value other = m.operands[1 - side];
    if (!m.is_full(constant)) continue;
    if (m.is_full(constant, 0)) return zeros(m.builder, m.output);
    if (m.is_full(constant, 1)) return other;
    if (m.is_full(constant, -1) && !is_complex(m.output.dtype())) return neg(other);
    if (is_float(m.output.dtype()) && m.is_finite_full(constant)) return mul(constant, other);
  }
  return {};
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
  result.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr&) {
    const Value x = operands[0], y = operands[1];
    // One mask narrows the other, and the product is made under both: an operation less than with two zeros joined.
    return Values{select(bit_and(is_not_zero(x), is_not_zero(y)), x * y, zeros_like(x))};
  };
  result.simplify = simplify_by(simplify_product);
  result.terms = terms_of_product;
  result.elementwise = true;
  result.bilinear = true;
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
