// Running folds along one axis, from either end: sum, product, largest, smallest. A good second primitive to read: the
// sum is linear, and one rule masks. Products and extrema have their derivatives from the associative scan of values
// with tangents.
#include <limits>

#include "ir/associative_scan.h"
#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/simplify.h"

namespace ct {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TypeRule cumulative_type(DTypeSet dtypes) {
  return [dtypes](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 1);
    check_dtype(operands[0], dtypes);
    check_axis(attrs.integer("axis"), operands[0].rank());
    attrs.flag("reverse");
    return Avals{operands[0]};
  };
}

BatchRule cumulative_batch(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Batched> operands, int64_t,
                                            const AttrsPtr& attrs) {
    const Batched& x = operands[0];
    const AttrsPtr moved = attrs->with("axis", past_batch(attrs->integer("axis"), x.axis));
    return std::vector<Batched>{{builder.bind1(*primitive, {x.value}, moved), x.axis}};
  };
}

// Padding comes after the valid elements: only folds from the end meet it.
MaskRule cumulative_mask(PrimitiveRef primitive) {
  return
      [primitive = std::move(primitive)](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
        const Masked& x = operands[0];
        const auto axis = static_cast<int>(attrs->integer("axis"));
        const double identity = (*primitive).identity(x.value.dtype());
        const Value value = attrs->flag("reverse") ? fill_padded(x, axis, identity) : x.value;
        return std::vector<Masked>{{builder.bind1(*primitive, {value}, attrs), x.lengths}};
      };
}

Primitive cumulative(std::string name, ScalarOp op, double identity, DTypeSet dtypes) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = std::move(name);
  result.attributes = {{"axis", AttributeKind::kInteger}, {"reverse", AttributeKind::kFlag}};
  result.type = cumulative_type(dtypes);
  result.batch = cumulative_batch(self);
  result.mask = cumulative_mask(self);
  result.lowering = Lowering::kCumulative;
  result.combine = op;
  // An infinity becomes the highest or lowest number of an integer dtype when it is converted; of bool, stated here.
  result.identity = [identity](DType dtype) { return is_bool(dtype) ? static_cast<double>(identity > 0) : identity; };
  result.absent["element"] = "elements mix: lowered as a running fold";
  return result;
}

// ---- Sum ----------------------------------------------------------------------------------------------------------

// An element adds to all sums that come after it; so a cotangent is summed from the other end.
Value cumsum_transpose(Value cotangent, const Aval&, const AttrsPtr& attrs) {
  return cumsum(cotangent, static_cast<int>(attrs->integer("axis")), !attrs->flag("reverse"));
}

Primitive running_sum() {
  Primitive result = cumulative("cumsum", ScalarOp::kAdd, 0, kNumbers);
  result.jvp = linear_jvp(PrimitiveRef(result.name));
  result.transpose = linear_transpose(cumsum_transpose);
  result.simplify = simplify_by([](const SimplifyInput& m) {
    return m.operands[0].shape()[m.attrs->integer("axis")] <= 1 ? m.operands[0] : Value{};
  });
  return result;
}
const Primitive& kCumsum = define(running_sum());

// ---- Product, largest and smallest --------------------------------------------------------------------------------

// The tangent of a combination of two values, from the values and their tangents.
using CombineTangents = std::function<Value(Value x, Value x_tangent, Value y, Value y_tangent)>;

// The associative scan of pairs: a product that divides by nothing, and extrema that divide ties as the two-operand
// primitives do, along the tree of the scan.
JvpRule scanned_jvp(PrimitiveRef primitive, ScalarOp op, CombineTangents combine) {
  return [primitive = std::move(primitive), op, combine = std::move(combine)](
             Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
             const AttrsPtr& attrs) {
    const Value x = primals[0];
    const Value result = builder.bind1(*primitive, {x}, attrs);
    if (!tangents[0]) return JvpResult{{result}, {Value()}};
    const auto axis = static_cast<int>(attrs->integer("axis"));
    const bool reverse = attrs->flag("reverse");
    const Primitive& merge = get_primitive(scalar_op_info(op).name);
    // Taken apart by position, so exact from here to the result.
    Values pair{x, tangents[0]};
    if (keeps_lengths()) {
      pair = {fill_padding(x, {axis}, (*primitive).identity(x.dtype())),
              fill_padding(tangents[0], {axis}, 0, {dimension_size(x, axis)})};
    }
    const auto turned = [&](Values values) {
      for (Value& value : values) value = ct::reverse(value, {axis});
      return values;
    };
    if (reverse) pair = turned(pair);
    pair = associative_scan(pair, axis, [&](const Values& earlier, const Values& later) {
      return Values{builder.bind1(merge, {earlier[0], later[0]}), combine(earlier[0], earlier[1], later[0], later[1])};
    });
    if (reverse) pair = turned(pair);
    return JvpResult{{result}, {give_lengths_of(pair[1], x, {axis})}};
  };
}

Primitive running_product() {
  Primitive result = cumulative("cumprod", ScalarOp::kMul, 1, kNumbers);
  result.jvp = scanned_jvp(PrimitiveRef(result.name), ScalarOp::kMul,
                           [](Value x, Value dx, Value y, Value dy) { return dx * y + x * dy; });
  result.absent["transpose"] = "not linear";
  return result;
}
const Primitive& kCumprod = define(running_product());

Primitive running_extremum(std::string name, ScalarOp op, double identity) {
  Primitive result = cumulative(std::move(name), op, identity, kOrdered);
  result.jvp = scanned_jvp(PrimitiveRef(result.name), op, [op](Value x, Value dx, Value y, Value dy) {
    const Value chooses_x = op == ScalarOp::kMax ? gt(x, y) : lt(x, y);
    const Value one = select(chooses_x, dx, dy);
    return select(eq(x, y), (dx + dy) * full_like(dx, 0.5), one);
  });
  result.absent["transpose"] = "not linear";
  return result;
}
const Primitive& kCummax = define(running_extremum("cummax", ScalarOp::kMax, -kInfinity));
const Primitive& kCummin = define(running_extremum("cummin", ScalarOp::kMin, kInfinity));

}  // namespace

Value cumsum(Value x, int axis, bool reverse) {
  return x.builder->bind1(kCumsum, {x}, Attrs::make({{"axis", int64_t{axis}}, {"reverse", reverse}}));
}

}  // namespace ct
