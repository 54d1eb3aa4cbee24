// Folds along axes: sum, product, largest, smallest. Reduced axes are removed; of no elements the identity is left.
//
// One maker, `reduction`, fills every slot but the derivative. Read sum first: it is linear. Product is the one with a
// thought in it: see product_jvp.
#include <algorithm>
#include <limits>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"

namespace ct {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool contains(const Ints& axes, int64_t axis) { return std::binary_search(axes.begin(), axes.end(), axis); }

Ints kept_axes(const Ints& reduced, int rank) {
  Ints kept;
  for (int axis = 0; axis < rank; ++axis) {
    if (!contains(reduced, axis)) kept.push_back(axis);
  }
  return kept;
}

// A result of a reduction, repeated over the reduced axes.
Value spread(Value reduced, const Aval& operand, const Ints& axes) {
  return broadcast(reduced, operand.shape(), kept_axes(axes, operand.rank()));
}

TypeRule reduction_type(DTypeSet dtypes) {
  return [dtypes](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 1);
    const Aval& operand = operands[0];
    const Ints& axes = attrs.ints("axes");
    check_dtype(operand, dtypes);
    check_axes(axes, operand.rank());
    if (axes.empty()) return Avals{operand};
    Shape shape;
    for (int64_t axis : kept_axes(axes, operand.rank())) shape.push_back(operand.shape()[axis]);
    return Avals{Aval(operand.dtype(), shape)};
  };
}

BatchRule reduction_batch(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Batched> operands, int64_t,
                                            const AttrsPtr& attrs) {
    const Batched& x = operands[0];
    const Ints axes = past_batch(attrs->ints("axes"), x.axis);
    const auto before = std::count_if(axes.begin(), axes.end(), [&](int64_t axis) { return axis < x.axis; });
    const Value result = builder.bind1(*primitive, {x.value}, attrs->with("axes", axes));
    return std::vector<Batched>{{result, x.axis - static_cast<int>(before)}};
  };
}

MaskRule reduction_mask(PrimitiveRef primitive) {
  return
      [primitive = std::move(primitive)](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
        Masked x = operands[0];
        const Ints& axes = attrs->ints("axes");
        Values lengths;
        for (int axis = 0; axis < operands[0].value.rank(); ++axis) {
          if (contains(axes, axis)) {
            x.value = fill_padded(x, axis, (*primitive).structure_as<structures::Fold>()->identity(x.value.dtype()));
          } else {
            lengths.push_back(x.lengths[axis]);
          }
        }
        return std::vector<Masked>{{builder.bind1(*primitive, {x.value}, attrs), lengths}};
      };
}

// Nothing to combine: no axes, or only axes of size 1; or one number everywhere.
Value simplify_reduction(const SimplifyInput& m) {
  const Value x = m.operands[0];
  const Ints& axes = m.attrs->ints("axes");
  const bool trivial = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.shape()[axis] == 1; });
  if (trivial) return reshape(x, m.output.shape());
  const ScalarOp op = m.primitive.structure_as<structures::Fold>()->combine;
  if (op == ScalarOp::kAdd && m.is_full(x, 0)) return zeros(m.builder, m.output);
  const bool extremum = op == ScalarOp::kMax || op == ScalarOp::kMin;
  return extremum && x.aval().size() > 0 && m.is_full(x) ? m.full_of(x, m.output.shape()) : Value{};
}

Primitive reduction(std::string name, ScalarOp op, double identity, DTypeSet dtypes) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = std::move(name);
  result.attributes = {{"axes", AttributeKind::kIntegers}};
  result.type = reduction_type(dtypes);
  result.batch = reduction_batch(self);
  result.mask = reduction_mask(self);
  result.simplify = simplify_by(simplify_reduction);
  result.structure = std::make_shared<structures::Fold>(op, identity);
  result.absent["element"] = "elements mix: lowered as a fold";
  return result;
}

// ---- Sum ----------------------------------------------------------------------------------------------------------

JvpResult sum_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents, const AttrsPtr& attrs) {
  const Ints& axes = attrs->ints("axes");
  const Value result = reduce_sum(primals[0], axes);
  if (!tangents[0]) return {{result}, {Value()}};
  // The cotangent is spread over the reduced axes: there it gets its lengths back.
  return {{result}, {reduce_sum(with_lengths_of(tangents[0], primals[0], axes), axes)}};
}

std::optional<terms::Sum> terms_of_sum(const terms::Input& input) {
  terms::Sum result = input.operands[0];
  const Ints& axes = input.attrs.ints("axes");
  for (terms::Term& term : result.terms) {
    std::vector<terms::Indices> kept;
    for (size_t axis = 0; axis < term.axes.size(); ++axis) {
      if (std::ranges::find(axes, static_cast<int64_t>(axis)) == axes.end()) kept.push_back(term.axes[axis]);
    }
    input.context.sum_to(term, std::move(kept));
  }
  return result;
}

Primitive sum() {
  Primitive result = reduction("reduce_sum", ScalarOp::kAdd, 0, kNumbers);
  result.jvp = sum_jvp;
  result.terms = terms_of_sum;
  result.transpose = linear_transpose([](Value cotangent, const Aval& operand, const AttrsPtr& attrs) {
    return spread(cotangent, operand, attrs->ints("axes"));
  });
  return result;
}
}  // namespace

const Primitive& kReduceSum = define(sum());

namespace {

// ---- Product ------------------------------------------------------------------------------------------------------

struct Dual {
  Value value;
  Value tangent;
};

Dual operator*(const Dual& x, const Dual& y) { return {x.value * y.value, x.tangent * y.value + x.value * y.tangent}; }

Dual slice_dual(const Dual& x, int axis, int64_t start, int64_t limit) {
  return {slice_axis(x.value, axis, start, limit), slice_axis(x.tangent, axis, start, limit)};
}

// Multiplies the first half of `axis` with the second until one element is left.
Dual product_along(Dual x, int axis) {
  for (int64_t size = x.value.shape()[axis]; size > 1; size = x.value.shape()[axis]) {
    const int64_t half = size / 2;
    const Dual product = slice_dual(x, axis, 0, half) * slice_dual(x, axis, half, 2 * half);
    if (size % 2 == 0) {
      x = product;
    } else {
      const Dual last = slice_dual(x, axis, size - 1, size);
      x = {concatenate({product.value, last.value}, axis), concatenate({product.tangent, last.tangent}, axis)};
    }
  }
  return x;
}

// The derivative by an element is the product of the others. Dividing the whole product by the element would be wrong
// at zeros, and choosing cases by the number of zeros wrong in second derivatives; the product rule applied in a tree
// of pairs needs no division, and is a program of multiplications that differentiates again.
JvpResult product_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                      const AttrsPtr& attrs) {
  const Value x = primals[0];
  const Ints& axes = attrs->ints("axes");
  const Value result = reduce_prod(x, axes);
  const bool constant = std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.shape()[axis] == 0; });
  if (!tangents[0] || constant) return {{result}, {Value()}};
  Dual dual{x, tangents[0]};
  if (keeps_lengths()) {
    Values lengths;
    for (int64_t axis : axes) lengths.push_back(dimension_size(x, static_cast<int>(axis)));
    dual = {fill_padding(x, axes, 1), fill_padding(tangents[0], axes, 0, lengths)};
  }
  for (int64_t axis : axes) dual = product_along(dual, static_cast<int>(axis));
  // The reduced axes have size 1 by now.
  return {{result}, {reduce_sum(dual.tangent, axes)}};
}

Primitive product() {
  Primitive result = reduction("reduce_prod", ScalarOp::kMul, 1, kNumbers);
  result.jvp = product_jvp;
  result.absent["transpose"] = "not linear";
  return result;
}
const Primitive& kReduceProd = define(product());

// ---- Largest and smallest -----------------------------------------------------------------------------------------

// The tangent of the element that was chosen; the mean of them where several tie.
JvpRule extremum_jvp(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Value> primals,
                                            absl::Span<const Value> tangents, const AttrsPtr& attrs) {
    const Value x = primals[0];
    const Ints& axes = attrs->ints("axes");
    const Value result = builder.bind1(*primitive, {x}, attrs);
    if (!tangents[0]) return JvpResult{{result}, {Value()}};
    const Value chosen = convert(eq(x, spread(result, x.aval(), axes)), x.dtype());
    return JvpResult{{result}, {reduce_sum(mul_no_nan(tangents[0], chosen), axes) / reduce_sum(chosen, axes)}};
  };
}

Primitive extremum(std::string name, ScalarOp op, double identity) {
  Primitive result = reduction(std::move(name), op, identity, kOrdered);
  result.jvp = extremum_jvp(PrimitiveRef(result.name));
  result.absent["transpose"] = "not linear";
  return result;
}
}  // namespace

const Primitive& kReduceMax = define(extremum("reduce_max", ScalarOp::kMax, -kInfinity));

const Primitive& kReduceMin = define(extremum("reduce_min", ScalarOp::kMin, kInfinity));

namespace {

Value reduce(const Primitive& primitive, Value x, absl::Span<const int64_t> axes) {
  if (axes.empty()) return x;
  return x.builder->bind1(primitive, {x}, Attrs::make({{"axes", Ints(axes.begin(), axes.end())}}));
}

}  // namespace

Value reduce_sum(Value x, absl::Span<const int64_t> axes) { return reduce(kReduceSum, x, axes); }
Value reduce_prod(Value x, absl::Span<const int64_t> axes) { return reduce(kReduceProd, x, axes); }
Value reduce_max(Value x, absl::Span<const int64_t> axes) { return reduce(kReduceMax, x, axes); }
Value reduce_min(Value x, absl::Span<const int64_t> axes) { return reduce(kReduceMin, x, axes); }

}  // namespace ct
