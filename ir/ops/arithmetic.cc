// Sums, products, quotients, absolute value, sign and the larger and smaller of two.
#include <cmath>
#include <tuple>

#include "ir/combinators.h"
#include "ir/length_range.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"

namespace ct {
namespace {

// A window put among zeros, added to an array: the array with that window updated, where the window is a small part of
// the whole, and its elements stay neighbours. The cotangents of what a loop reads at one place are summed in this way.
Value sum_with_window(const SimplifyInput& m, Value x, const Equation& pad) {
  constexpr int64_t kLeastOutside = 16;  // times what is inside: gates of a recurrent network are added as a whole
  if (!m.is_full(m.operand(pad, 1), 0) || x.aval() != m.output) return {};
  const Value inside = m.operand(pad, 0);
  const AttrsPtr attrs = m.builder.attrs_ptr(pad);
  const Ints &low = attrs->ints("low"), &high = attrs->ints("high"), &interior = attrs->ints("interior");
  Ints limit = low;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t size = inside.shape()[axis];
    if (low[axis] < 0 || high[axis] < 0 || (interior[axis] != 0 && size > 1)) return {};
    limit[axis] += size;
  }
  const int64_t size = num_elements(inside.shape());
  if (size == 0 || size > num_elements(x.shape()) / kLeastOutside) return {};
  Values starts;
  for (const int64_t start : low) starts.push_back(full_integer(m.builder, Aval(DType::kInt64, {}), start));
  return dynamic_update_slice(x, slice(x, low, limit, Ints(limit.size(), 1)) + inside, starts);
}

// An update put among zeros, added to an array: the array updated, in its own memory if nothing else needs that. The
// cotangents of what a loop reads by index are summed in this way. Only where no element is updated twice, which would
// change the order of the sum.
Value sum_with_update(const SimplifyInput& m, Value x, Value update) {
  const Equation* found = m.builder.producer(update.var);
  if (found == nullptr) return {};
  if (found->primitive->arrangement == Arrangement::kPad) return sum_with_window(m, x, *found);
  const Primitive& primitive = *found->primitive;
  const auto* scatter = primitive.structure_as<structures::Scatter>();
  const bool is_scatter_add = scatter != nullptr && scatter->combine == ScalarOp::kAdd;
  if (!is_scatter_add && !primitive.is<structures::WindowUpdate>()) return {};
  if (!m.is_full(m.operand(*found, 0), 0)) return {};
  // Copies: what is found moves when equations are added.
  const Equation equation = *found;
  const AttrsPtr attrs = m.builder.attrs_ptr(equation);
  if (is_scatter_add) {
    const auto layout = ScatterAttrs::from(*attrs);
    const Value indices = m.operand(equation, 1);
    if (!layout.unique && num_elements(absl::MakeConstSpan(indices.shape()).subspan(layout.batch_dims)) > 1) return {};
    return m.builder.bind1(primitive, {x, indices, m.operand(equation, 2)}, attrs);
  }
  const int64_t batch_dims = attrs->integer("batch_dims");
  const Value term = m.operand(equation, 1);
  Values operands{x};
  for (size_t i = 2; i < equation.operand_count; ++i) operands.push_back(m.operand(equation, static_cast<int>(i)));
  const Ints sizes(term.shape().begin() + batch_dims, term.shape().end());
  const Value read = m.builder.bind1(kDynamicSlice, operands, attrs->with("sizes", sizes));
  operands.insert(operands.begin() + 1, read + term);
  return m.builder.bind1(primitive, operands, attrs);
}

Value simplify_sum(const SimplifyInput& m) {
  if (m.is_full(m.operands[1], 0)) return m.operands[0];
  if (m.is_full(m.operands[0], 0)) return m.operands[1];
  if (const Value sum = sum_with_update(m, m.operands[0], m.operands[1])) return sum;
  return sum_with_update(m, m.operands[1], m.operands[0]);
}

Value simplify_difference(const SimplifyInput& m) {
  if (m.is_full(m.operands[1], 0)) return m.operands[0];
  if (is_integer(m.output.dtype())) {
    if (m.is_full(m.operands[0], 0)) return neg(m.operands[1]);
    if (m.operands[0] == m.operands[1]) return zeros(m.builder, m.output);
  }
  return {};
}

Value simplify_product(const SimplifyInput& m) {
  for (int side = 0; side < 2; ++side) {
    const Value constant = m.operands[side];
    const Value other = m.operands[1 - side];
    if (m.is_full(constant, 1)) return other;
    if (m.is_full(constant, -1) && !is_complex(m.output.dtype())) return neg(other);
    // Not for floats: NaN * 0 is NaN.
    if (!is_inexact(m.output.dtype()) && m.is_full(constant, 0)) return constant;
  }
  return {};
}

Value simplify_quotient(const SimplifyInput& m) { return m.is_full(m.operands[1], 1) ? m.operands[0] : Value{}; }

// ---- sums of products (terms.h) -------------------------------------------------------------------------------------

std::vector<terms::Context::Pair> all_axes(int rank) {
  std::vector<terms::Context::Pair> pairs;
  pairs.reserve(static_cast<size_t>(rank));
  for (size_t axis = 0; axis < static_cast<size_t>(rank); ++axis) pairs.push_back({axis, axis});
  return pairs;
}

std::optional<terms::Sum> terms_of_product(const terms::Input& input) {
  const auto& [x, y] = std::tie(input.operands[0], input.operands[1]);
  // NaN * 0 is NaN.
  for (const size_t side : {0, 1}) {
    if (const auto by = input.constant(side); by && (*by == 0 || !std::isfinite(*by))) return std::nullopt;
  }
  if (x.mixed && y.mixed) return std::nullopt;
  auto result = input.context.product(x, y, all_axes(input.result.rank()),
                                      [](const terms::Term& of_x, const terms::Term&) { return of_x.axes; });
  if (result) result->square = input.vars[0] == input.vars[1] || (x.square && y.square);
  return result;
}

// Of each term one factor is divided, the smallest that has all axes of the divisor: a product with 1 / y would be
// infinite where y is tiny and x is zero.
std::optional<terms::Sum> terms_of_quotient(const terms::Input& input) {
  if (const auto by = input.constant(1)) {
    if (*by == 0 || !std::isfinite(1 / *by)) return std::nullopt;
    return terms::scaled_by(1 / *by)(input);
  }
  return input.context.quotient(input.operands[0], input.operands[1]);
}

Primitive linear_binary(std::string name, ScalarOp op, DTypeSet dtypes, bool negate_y) {
  Primitive result = binary(
      std::move(name), op, dtypes, [](Value tangent, Value, Value, Value) { return tangent; },
      [negate_y](Value tangent, Value, Value, Value) { return negate_y ? -tangent : tangent; });
  result.simplify = simplify_by(negate_y ? simplify_difference : simplify_sum);
  result.terms = terms::sum_of_operands(negate_y ? -1 : 1);
  result.linear = Linear::kInAll;
  result.absent.erase("transpose");
  result.transpose = [negate_y](Builder&, const TransposeInput& input, const AttrsPtr&) {
    const Value cotangent = input.cotangents[0];
    Values results(2);
    if (input.linear(0)) results[0] = cotangent;
    if (input.linear(1)) results[1] = negate_y ? -cotangent : cotangent;
    return results;
  };
  return result;
}

}  // namespace

namespace {

Primitive negation() {
  Primitive result = linear_unary("neg", ScalarOp::kNeg, kNumbers,
                                  [](Value cotangent, const Aval&, const AttrsPtr&) { return -cotangent; });
  result.simplify = simplify_involution();
  result.terms = terms::scaled_by(-1);
  result.linear = Linear::kInAll;
  return result;
}
}  // namespace

const Primitive& kNeg = define(negation());

const Primitive& kAdd = define(linear_binary("add", ScalarOp::kAdd, kArithmetic, false));

const Primitive& kSub = define(linear_binary("sub", ScalarOp::kSub, kNumbers, true));

namespace {

Primitive multiplication() {
  Primitive result = binary(
      "mul", ScalarOp::kMul, kArithmetic, [](Value tangent, Value, Value y, Value) { return tangent * y; },
      [](Value tangent, Value x, Value, Value) { return x * tangent; });
  // A square is even: at 0 its derivative is zero whatever it is composed with, so that the norm of zeros has one.
  result.jvp = [product = result.jvp](Builder& builder, absl::Span<const Value> primals,
                                      absl::Span<const Value> tangents, const AttrsPtr& attrs) {
    const Value x = primals[0], tangent = tangents[0];
    if (!tangent || x != primals[1] || tangent != tangents[1]) return product(builder, primals, tangents, attrs);
    return JvpResult{{x * x}, {mul_no_nan(tangent, x + x)}};
  };
  result.simplify = simplify_by(simplify_product);
  result.terms = terms_of_product;
  result.linear = Linear::kInEach;
  result.absent.erase("transpose");
  result.transpose = [](Builder&, const TransposeInput& input, const AttrsPtr&) {
    const Value cotangent = input.cotangents[0];
    return input.linear(0) ? Values{cotangent * known_operand(input, 1), Value()}
                           : Values{Value(), input.operands[0] * cotangent};
  };
  return result;
}
}  // namespace

const Primitive& kMul = define(multiplication());

namespace {

Primitive division() {
  Primitive result = binary(
      "div", ScalarOp::kDiv, kNumbers, [](Value tangent, Value, Value y, Value) { return div_no_nan(tangent, y); },
      [](Value tangent, Value, Value y, Value quotient) { return -mul_no_nan(tangent, quotient / y); });
  result.simplify = simplify_by(simplify_quotient);
  result.terms = terms_of_quotient;
  result.linear = Linear::kInFirst;
  result.absent.erase("transpose");
  result.transpose = [](Builder&, const TransposeInput& input, const AttrsPtr&) {
    return Values{input.cotangents[0] / known_operand(input, 1), Value()};
  };
  return result;
}
}  // namespace

const Primitive& kDiv = define(division());

namespace {

// x = y * q + rem with q a whole number, constant almost everywhere: d rem/dy = -q.
const Primitive& kRem = define(binary(
    "rem", ScalarOp::kRem, kReals, [](Value tangent, Value, Value, Value) { return tangent; },
    [](Value tangent, Value x, Value y, Value remainder) { return -(tangent * round((x - remainder) / y)); }));

// |z| of a complex number is real: its derivative is the component of the tangent along z. At 0 both kinds give 0.
Primitive absolute() {
  Primitive result = unary("abs", ScalarOp::kAbs, kNumbers, [](Value tangent, Value x, Value) {
    return is_complex(x.dtype()) ? real(mul_no_nan(tangent, conj(sign(x)))) : mul_no_nan(tangent, sign(x));
  });
  result.type = [operand_rule = result.type](absl::Span<const Aval> operands, const Attrs& attrs) {
    const Aval same = operand_rule(operands, attrs)[0];
    return Avals{is_complex(same.dtype()) ? same.with_dtype(real_dtype(same.dtype())) : same};
  };
  return result;
}
const Primitive& kAbs = define(absolute());

// Constant on the reals. A complex sign z/|z| turns with the part of the tangent that is across z.
const Primitive& kSign = define(unary("sign", ScalarOp::kSign, kNumbers, [](Value tangent, Value x, Value result) {
  if (!is_complex(x.dtype())) return Value();
  const Value across = imag(tangent * conj(result));
  const Value modulus = abs(x);
  const Value turn = across / select(eq(modulus, zeros_like(modulus)), full_like(modulus, 1), modulus);
  return make_complex(zeros_like(turn), turn) * result;
}));

// The operand that is the result gets the tangent; ties split it in equal parts.
Value share(Value tangent, Value mine, Value other, Value result) {
  const Value one = full_like(result, 1), zero = zeros_like(result);
  const Value part = select(eq(other, result), full_like(result, 0.5), one);
  return mul_no_nan(tangent, select(eq(mine, result), part, zero));
}

// The operand that it is, of integers of which enough is known: a length that is held to a bound twice, say, must be
// seen to be one length.
Value known_extremum(const SimplifyInput& m, ScalarOp op) {
  if (!is_integer(m.output.dtype())) return {};
  const std::optional<Range> x = range_of_integer(m.operands[0]), y = range_of_integer(m.operands[1]);
  if (!x || !y) return {};
  const auto beyond = [&](const Range& a, const Range& b) {
    return op == ScalarOp::kMax ? a.least >= b.most && a.least > kLeastKnown
                                : a.most <= b.least && b.least > kLeastKnown;
  };
  const int wanted = beyond(*x, *y) ? 0 : beyond(*y, *x) ? 1 : -1;
  return wanted >= 0 && m.operands[wanted].aval() == m.output ? m.operands[wanted] : Value{};
}

Primitive extremum(std::string name, ScalarOp op) {
  Primitive result = binary(
      std::move(name), op, kOrdered,
      [](Value tangent, Value x, Value y, Value result) { return share(tangent, x, y, result); },
      [](Value tangent, Value x, Value y, Value result) { return share(tangent, y, x, result); });
  return with_simplify(std::move(result), simplify_by([op](const SimplifyInput& m) { return known_extremum(m, op); }));
}
}  // namespace

const Primitive& kMax = define(extremum("max", ScalarOp::kMax));

const Primitive& kMin = define(extremum("min", ScalarOp::kMin));

Value neg(Value x) { return x.builder->bind1(kNeg, {x}); }
Value add(Value x, Value y) { return x.builder->bind1(kAdd, {x, y}); }
Value sub(Value x, Value y) { return x.builder->bind1(kSub, {x, y}); }
Value mul(Value x, Value y) { return x.builder->bind1(kMul, {x, y}); }
Value div(Value x, Value y) { return x.builder->bind1(kDiv, {x, y}); }
Value rem(Value x, Value y) { return x.builder->bind1(kRem, {x, y}); }
Value abs(Value x) { return x.builder->bind1(kAbs, {x}); }
Value sign(Value x) { return x.builder->bind1(kSign, {x}); }
Value max(Value x, Value y) { return x.builder->bind1(kMax, {x, y}); }
Value min(Value x, Value y) { return x.builder->bind1(kMin, {x, y}); }

Value operator+(Value x, Value y) { return add(x, y); }
Value operator-(Value x, Value y) { return sub(x, y); }
Value operator*(Value x, Value y) { return mul(x, y); }
Value operator/(Value x, Value y) { return div(x, y); }
Value operator-(Value x) { return neg(x); }

}  // namespace ct
