// Running folds along one axis, from either end: sum, product, largest, smallest. A good second primitive to read: it
// is not element-wise and says in `loops` how it is computed, the sum is linear, and one rule masks. Products and
// extrema have their derivatives from the associative scan of values with tangents.
#include <limits>

#include "ir/associative_scan.h"
#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/loops.h"
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

double identity_of(const Primitive& primitive, Value x) {
  return primitive.structure_as<structures::RunningFold>()->identity(x.dtype());
}

// Padding comes after the valid elements: only folds from the end meet it.
MaskRule cumulative_mask(PrimitiveRef primitive) {
  return
      [primitive = std::move(primitive)](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
        const Masked& x = operands[0];
        const auto axis = static_cast<int>(attrs->integer("axis"));
        const double identity = identity_of(*primitive, x.value);
        const Value value = attrs->flag("reverse") ? fill_padded(x, axis, identity) : x.value;
        return std::vector<Masked>{{builder.bind1(*primitive, {value}, attrs), x.lengths}};
      };
}

// ---- Loops ----------------------------------------------------------------------------------------------------------

// One line along the axis, position by position.
class Line {
 public:
  Line(LoopBuilder& loops, const structures::RunningFold& fold, const Attrs& attrs, const Aval& aval)
      : loops_(loops),
        combine_(fold.combine),
        dtype_(aval.dtype()),
        axis_(static_cast<int>(attrs.integer("axis"))),
        reverse_(attrs.flag("reverse")) {
    // Running sums and products of floats are kept in double precision.
    const bool rounds = combine_ == ScalarOp::kAdd || combine_ == ScalarOp::kMul;
    if (is_float(dtype_) && (rounds || dtype_size(dtype_) < 4)) running_ = DType::kFloat64;
    if (is_complex(dtype_)) running_ = DType::kComplex128;
    identity_ = fold.identity(running_);
    // Of a single fold each operation waits for the one before. By runs one in four does; the order of sums and
    // products matters less than the rounding of what is stored.
    constexpr int64_t kRun = 4;
    const bool any_order = !is_complex(dtype_) && (!rounds || is_integer(dtype_) || running_ != dtype_);
    if (aval.size() == aval.dim(axis_) && any_order) run_ = kRun;
  }

  int axis() const { return axis_; }

  // `position`: of the line, along the other axes. From the other end the fold begins where there is something to add.
  void fold(const Indices& position) const {
    const Index wanted = loops_.wanted_end(0, axis_, position);
    const Index end = reverse_ ? loops_.filled_end(0, axis_, identity_, position) : wanted;
    loops_.fold({end, reverse_, run_}, identity(running_),
                [&](absl::Span<const Index> places, Scalar before) { return extend(before, position, places); });
    if (!reverse_) return;
    loops_.for_each_from(end, wanted, [&](Index place) {
      loops_.write(0, at(position, place), loops_.convert(identity(running_), dtype_));
    });
  }

 private:
  Scalar identity(DType dtype) const { return loops_.constant(dtype, identity_); }
  Indices at(Indices position, Index place) const {
    position[axis_] = place;
    return position;
  }

  // The fold goes on over the elements at `places`: folds of the first one, two, … of them by doubling, each then
  // combined with what came before.
  Scalar extend(Scalar before, const Indices& position, absl::Span<const Index> places) const {
    std::vector<Scalar> folds;
    for (const Index place : places) folds.push_back(loops_.convert(loops_.read(0, at(position, place)), running_));
    for (size_t distance = 1; distance < folds.size(); distance *= 2) {
      for (size_t k = folds.size() - 1; k >= distance; --k) {
        folds[k] = loops_.binary(combine_, folds[k - distance], folds[k]);
      }
    }
    for (size_t k = 0; k < folds.size(); ++k) {
      folds[k] = loops_.binary(combine_, before, folds[k]);
      loops_.write(0, at(position, places[k]), loops_.convert(folds[k], dtype_));
    }
    return folds.back();
  }

  LoopBuilder& loops_;
  const ScalarOp combine_;
  const DType dtype_;
  DType running_ = dtype_;
  const int axis_;
  const bool reverse_;
  double identity_ = 0;
  int64_t run_ = 1;
};

void fold_lines(const structures::RunningFold& fold, LoopBuilder& loops, const Attrs& attrs, const Aval& aval) {
  if (aval.size() == 1) {
    const Indices only(aval.rank(), loops.index_constant(0));
    return loops.write(0, only, loops.read(0, only));
  }
  const Line line(loops, fold, attrs, aval);
  loops.for_each_line(0, aval, line.axis(), [&](const Indices& position) { line.fold(position); });
}

// ---- Record ---------------------------------------------------------------------------------------------------------

Primitive cumulative(std::string name, ScalarOp op, double identity, DTypeSet dtypes) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = std::move(name);
  result.attributes = {{"axis", AttributeKind::kInteger}, {"reverse", AttributeKind::kFlag}};
  result.type = cumulative_type(dtypes);
  result.batch = cumulative_batch(self);
  result.mask = cumulative_mask(self);
  const auto fold = std::make_shared<structures::RunningFold>(op, identity);
  result.structure = fold;
  result.loops = [fold](LoopBuilder& loops, const Attrs& attrs, absl::Span<const Aval> results) {
    fold_lines(*fold, loops, attrs, results[0]);
  };
  result.absent["element"] = "an element needs all before it: computed by loops";
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
      pair = {fill_padding(x, {axis}, identity_of(*primitive, x)),
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
