#include "transforms/contract/emit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "ir/ops.h"
#include "ir/terms_parts.h"
#include "runtime/text.h"
#include "transforms/common.h"
#include "transforms/contract/distinct.h"
#include "transforms/higher_order/higher_order.h"

namespace ct::contraction {
namespace {

using terms::contains;
using terms::Factor;
using terms::Index;
using terms::Indices;
using terms::Leaf;
using terms::Part;

int64_t place(const Indices& indices, Index index) { return std::ranges::find(indices, index) - indices.begin(); }

Ints places(const Indices& indices, const Indices& of) {
  Ints result;
  for (const Index index : of) result.push_back(place(indices, index));
  return result;
}

Indices without(const Indices& indices, const Indices& others) {
  Indices result;
  for (const Index index : indices) {
    if (!contains(others, index)) result.push_back(index);
  }
  return result;
}

Indices joined(std::initializer_list<Indices> lists) {
  Indices result;
  for (const Indices& list : lists) result.insert(result.end(), list.begin(), list.end());
  return result;
}

Array in_order(const Array& x, const Indices& order) { return {transpose(x.value, places(x.indices, order)), order}; }

// The sum over the indices that nothing wants.
Array summed_to(const Array& x, const std::function<bool(Index)>& wanted) {
  Ints axes;
  Indices kept;
  for (size_t axis = 0; axis < x.indices.size(); ++axis) {
    if (wanted(x.indices[axis])) {
      kept.push_back(x.indices[axis]);
    } else {
      axes.push_back(static_cast<int64_t>(axis));
    }
  }
  return {reduce_sum(x.value, axes), kept};
}

// With these indices, which are those of x and others, along which it is the same.
Value spread(const Array& x, const Indices& indices, absl::Span<const int64_t> shape) {
  Indices own;
  for (const Index index : indices) {
    if (contains(x.indices, index)) own.push_back(index);
  }
  const Value value = in_order(x, own).value;
  return absl::MakeConstSpan(value.shape()) == shape ? value : broadcast(value, shape, places(indices, own));
}

Value scaled(Value x, int exponent) { return exponent == 0 ? x : x * full_like(x, std::ldexp(1.0, exponent)); }

int64_t size_of(const Array& x, Index index) { return x.value.shape()[place(x.indices, index)]; }

Shape shape_of(const Indices& indices, const Array& a, const Array& b) {
  Shape shape;
  for (const Index index : indices) shape.push_back(size_of(contains(a.indices, index) ? a : b, index));
  return shape;
}

// What a conversion to a narrower dtype has been left out of may stand beside what was narrow.
DType widest(const Values& values) {
  return (*std::ranges::max_element(values, {}, [](const Value& x) { return dtype_size(x.dtype()); })).dtype();
}

}  // namespace

// ---- leaves
// -----------------------------------------------------------------------------------------------------------

Value Emitter::leaf(terms::LeafId id, absl::Span<const int64_t> shape) {
  const auto [at, is_new] = leaves_.insert({{id, Shape(shape.begin(), shape.end())}, Value()});
  if (!is_new) return at->second;
  const Leaf& one = context_.leaf(id);
  const Value whole = one.kind == Leaf::Kind::kVariable ? variable_(one.var) : composed(one);
  return leaves_[{id, Shape(shape.begin(), shape.end())}] = reshape(whole, shape);
}

namespace {

// `x` at these axes, in whatever order, of an array of the shape.
Value beside(Value x, const Ints& axes, absl::Span<const int64_t> shape) {
  Ints order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t at) { return axes[at]; });
  Ints sorted = axes;
  std::ranges::sort(sorted);
  return broadcast(sorted == axes ? x : transpose(x, order), shape, sorted);
}

// The places of a range along an axis.
Value taken(Value x, size_t axis, const terms::Range& range) {
  const int64_t last = range.first + (range.count - 1) * range.step;
  Ints first(x.rank(), 0), end(x.shape().begin(), x.shape().end()), step(x.rank(), 1);
  first[axis] = std::min(range.first, last);
  end[axis] = std::max(range.first, last) + 1;
  step[axis] = std::abs(range.step);
  const Value places = slice(x, first, end, step);
  return range.step < 0 ? reverse(places, {static_cast<int64_t>(axis)}) : places;
}

}  // namespace

Value spread_out(Value x, absl::Span<const terms::Range> ranges) {
  Ints low, high, interior;
  for (const terms::Range& range : ranges) {
    low.push_back(range.first);
    interior.push_back(range.step - 1);
    high.push_back(range.of - range.first - (range.count - 1) * range.step - 1);
  }
  return pad(x, zeros(*x.builder, Aval(x.dtype(), {})), low, high, interior);
}

Value Emitter::composed(const Leaf& one) {
  if (one.kind == Leaf::Kind::kConcatenation) return concatenated(one);
  Values parts;
  parts.reserve(one.parts.size());
  for (const Part& part : one.parts) parts.push_back(leaf(part.leaf, part.shape));
  if (one.kind == Leaf::Kind::kConverted) return convert(parts[0], one.dtype);
  if (one.kind == Leaf::Kind::kTaken) return taken(parts[0], one.parts[0].axes[0], one.range);
  if (one.kind == Leaf::Kind::kSpread) {
    std::vector<terms::Range> ranges;
    for (const int64_t size : parts[0].shape()) ranges.push_back({.count = size, .of = size});
    ranges[one.parts[0].axes[0]] = one.range;
    return spread_out(parts[0], ranges);
  }
  if (one.kind == Leaf::Kind::kReciprocal) return full_like(parts[0], 1) / parts[0];
  if (one.kind == Leaf::Kind::kFinite) {
    const Value nothing = zeros_like(parts[0]);
    return select(is_finite(parts[0]), parts[0], nothing);
  }
  if (one.kind == Leaf::Kind::kNotFinite) return convert(logical_not(is_finite(parts[0])), precision_.narrow);
  if (one.kind == Leaf::Kind::kNotZero) return convert(ne(parts[0], zeros_like(parts[0])), precision_.narrow);
  if (one.kind == Leaf::Kind::kInside) return is_inside(parts[0], one.limit);
  if (one.kind == Leaf::Kind::kFirst) return places_of_first(one, parts[0]);
  if (one.kind == Leaf::Kind::kDistinct) return distinct_integers(one, parts[0]);
  if (one.kind == Leaf::Kind::kCounts) return counts_of_equal(one, parts[0], precision_.narrow);
  if (one.kind == Leaf::Kind::kAny) return reduce_max(parts[0], one.parts[0].axes);
  if (one.kind == Leaf::Kind::kAll) return reduce_min(parts[0], one.parts[0].axes);
  const Value other = beside(parts[1], one.parts[1].axes, parts[0].shape());
  if (one.kind == Leaf::Kind::kQuotient) {
    const DType wide = widest({parts[0], other});
    return convert(parts[0], wide) / convert(other, wide);
  }
  const Value zero = zeros_like(parts[0]);
  return one.kind == Leaf::Kind::kGate ? select(other, parts[0], zero) : select(other, zero, parts[0]);
}

namespace {

// The parts of a concatenation, and of concatenations that are parts of it along the same axis.
void collect_parts(const terms::Context& context, const Leaf& whole, std::vector<Part>& parts) {
  for (const Part& part : whole.parts) {
    const Leaf& inner = context.leaf(part.leaf);
    if (inner.kind != Leaf::Kind::kConcatenation || !terms::is_concatenated_further(part, inner)) {
      parts.push_back(part);
      continue;
    }
    std::vector<Part> of_part;
    collect_parts(context, inner, of_part);
    for (const Part& each : of_part) parts.push_back(terms::part_of_part(part, each));
  }
}

}  // namespace

Value Emitter::concatenated(const Leaf& one) {
  std::vector<Part> parts;
  collect_parts(context_, one, parts);
  Values values;
  values.reserve(parts.size());
  for (const Part& part : parts) {
    Value value = leaf(part.leaf, part.shape);
    if (part.axes.back() < 0) {
      value = transpose(value, Ints(part.axes.begin(), part.axes.end() - 1));
      value = expand_dims(value, value.rank());
    } else {
      value = transpose(value, part.axes);
    }
    if (part.coefficient != 1) value = value * full_like(value, part.coefficient);
    values.push_back(value);
  }
  const DType wide = widest(values);
  for (Value& value : values) value = convert(value, wide);
  return concatenate(values, values[0].rank() - 1);
}

// A factor in `wide`, or in `narrow` where it was no more than that.
Value Emitter::factor(const Factor& factor) {
  const Leaf& one = context_.leaf(factor.leaf);
  if (factor.one_hot || one.kind == Leaf::Kind::kCounts) return leaf(factor.leaf, factor.shape);
  if (precision_.narrow != precision_.wide && one.kind == Leaf::Kind::kConverted) {
    const Value source = leaf(one.parts[0].leaf, factor.shape);
    if (dtype_size(source.dtype()) <= dtype_size(precision_.narrow)) return convert(source, precision_.narrow);
  }
  return convert(leaf(factor.leaf, factor.shape), precision_.wide);
}

Values Emitter::factors(const terms::Term& term) {
  Values result;
  result.reserve(term.factors.size());
  for (const Factor& one : term.factors) result.push_back(factor(one));
  // What has no place is dropped, and may be infinite.
  for (size_t hot = 0; hot < term.factors.size(); ++hot) {
    if (!term.factors[hot].one_hot) continue;
    const Indices& indices = term.factors[hot].indices;
    const Indices places(indices.begin(), indices.end() - 1);
    for (size_t k = 0; k < term.factors.size(); ++k) {
      if (term.factors[k].one_hot || !terms::places_of(term.factors[k], places)) continue;
      const Array inside{is_inside(result[hot], context_.size(indices.back())), places};
      const Value where = spread(inside, term.factors[k].indices, result[k].shape());
      result[k] = select(where, result[k], zeros_like(result[k]));
      break;
    }
  }
  return result;
}

// ---- products
// -----------------------------------------------------------------------------------------------------------

// What an array is made once by: its key and, in a step of a loop over blocks, where it has the index that there is a
// piece of. Two equal factors may have it in different places, or one of them not at all.
std::string Emitter::name_of(const Plan& plan, Subset subset) const {
  const Key& key = plan.key(subset);
  const std::string text = concat(key.text, is_narrow(plan, subset) ? "" : " wide");
  if (!piece_) return text;
  if (plan.has(*piece_, subset)) return concat(text, " piece ", place(key.order, *piece_));
  for (size_t k = 0; k < plan.term().factors.size(); ++k) {
    const bool is_inside = (subset >> k & 1) != 0 && contains(plan.term().factors[k].indices, *piece_);
    if (is_inside) return concat(text, " sum in ", subset);
  }
  return text;
}

Array Emitter::product(const Plan& plan, const Values& factors, Subset subset) {
  if (std::has_single_bit(subset)) {
    const auto k = static_cast<size_t>(std::countr_zero(subset));
    return {factors[k], plan.term().factors[k].indices};
  }
  const Key& key = plan.key(subset);
  std::string name = name_of(plan, subset);
  if (const auto found = made_.find(name); found != made_.end()) {
    Array known{found->second.value, {}};
    for (const size_t at : found->second.places) known.indices.push_back(key.order[at]);
    return known;
  }
  const Step& step = plan.step(subset);
  Array result = pair(plan, factors, step.first, step.second, subset);
  Made made{result.value, {}};
  for (const Index index : result.indices) made.places.push_back(static_cast<size_t>(place(key.order, index)));
  made_.insert({std::move(name), std::move(made)});
  return result;
}

// All factors, scaled.
Array Emitter::whole(const Plan& plan, const Values& factors, int exponent) {
  const Step& step = plan.step(plan.all());
  if (exponent == 0) return product(plan, factors, plan.all());
  if (step.first != 0 && plan.one_hot(step.first) == nullptr && plan.one_hot(step.second) == nullptr) {
    return pair(plan, factors, step.first, step.second, plan.all(), exponent);
  }
  Array result = product(plan, factors, plan.all());
  result.value = scaled(scaled(result.value, exponent / 2), exponent - exponent / 2);
  return result;
}

// Whether a product is part of a sum that is made whole before it is squared.
bool Emitter::is_narrow(const Plan& plan, Subset both) const {
  return precision_.narrow == precision_.wide ||
         std::ranges::any_of(plan.term().whole, [&](Subset set) { return (both & ~set) == 0; });
}

Array Emitter::pair(const Plan& plan, const Values& factors, Subset first, Subset second, Subset both, int exponent) {
  if (plan.one_hot(first) != nullptr && plan.one_hot(second) != nullptr) {
    return two_comparisons(plan, factors, first, second);
  }
  if (plan.one_hot(second) != nullptr) std::swap(first, second);
  if (plan.one_hot(first) != nullptr) return comparison(plan, factors, first, second, both);
  Array x = product(plan, factors, first), y = product(plan, factors, second);
  const auto wanted = [&](Index index) { return plan.has(index, both); };
  const auto is_matrix_of = [&](const Array& a, const Array& b) {
    return std::ranges::any_of(a.indices, [&](Index index) { return wanted(index) && !contains(b.indices, index); });
  };
  const bool sums = std::ranges::any_of(x.indices, [&](Index i) { return !wanted(i) && contains(y.indices, i); });
  const bool is_product_of_matrices = sums && (is_matrix_of(x, y) || is_matrix_of(y, x));
  if (x.value.dtype() != y.value.dtype() || !(is_narrow(plan, both) || is_product_of_matrices)) {
    x.value = convert(x.value, precision_.wide);
    y.value = convert(y.value, precision_.wide);
  }
  x = summed_to(x, [&](Index index) { return wanted(index) || contains(y.indices, index); });
  y = summed_to(y, [&](Index index) { return wanted(index) || contains(x.indices, index); });
  x.value = scaled(x.value, exponent / 2);
  y.value = scaled(y.value, exponent - exponent / 2);
  Indices batch, summed;
  for (const Index index : x.indices) {
    if (contains(y.indices, index)) (wanted(index) ? batch : summed).push_back(index);
  }
  const Indices of_x = without(x.indices, y.indices), of_y = without(y.indices, x.indices);
  const auto elements = [](const Array& array, const Indices& indices) {
    int64_t product = 1;
    for (const Index index : indices) product *= size_of(array, index);
    return product;
  };
  const bool is_matrix = elements(x, of_x) != 1 || elements(y, of_y) != 1;
  if (summed.empty() ? of_x.empty() || of_y.empty() : !is_matrix) {
    // In the order of the larger one, so that no loop reads large arrays across their rows.
    const bool is_x_larger = x.indices.size() >= y.indices.size();
    const Array &larger = is_x_larger ? x : y, &smaller = is_x_larger ? y : x;
    const Indices all = joined({larger.indices, without(smaller.indices, larger.indices)});
    const Shape shape = shape_of(all, x, y);
    return summed_to({spread(x, all, shape) * spread(y, all, shape), all}, wanted);
  }
  const Value value = dot_general(
      x.value, y.value,
      {places(x.indices, summed), places(y.indices, summed), places(x.indices, batch), places(y.indices, batch)});
  return {value, joined({batch, of_x, of_y})};
}

// 1 where the integers are equal and one of the values that there are.
Array Emitter::two_comparisons(const Plan& plan, const Values& factors, Subset first, Subset second) {
  const auto operand = [&](Subset subset) {
    const Factor& factor = *plan.one_hot(subset);
    return Array{factors[std::countr_zero(subset)], Indices(factor.indices.begin(), factor.indices.end() - 1)};
  };
  Array a = operand(first), b = operand(second);
  if (a.value.dtype() != b.value.dtype()) {
    a.value = convert(a.value, DType::kInt64);
    b.value = convert(b.value, DType::kInt64);
  }
  const Indices all = joined({a.indices, without(b.indices, a.indices)});
  const Shape shape = shape_of(all, a, b);
  const Value x = spread(a, all, shape), y = spread(b, all, shape);
  const Value inside = is_inside(x, context_.size(plan.one_hot(first)->indices.back()));
  return {convert(bit_and(eq(x, y), inside), precision_.narrow), all};
}

// The integers of a one-hot array read, or add to, the other one along the axis that they point at.
Array Emitter::comparison(const Plan& plan, const Values& factors, Subset hot, Subset other, Subset both) {
  const Factor& factor = *plan.one_hot(hot);
  const Index value = factor.indices.back();
  const Array integers{factors[std::countr_zero(hot)], Indices(factor.indices.begin(), factor.indices.end() - 1)};
  Array x = product(plan, factors, other);
  if (!is_narrow(plan, both)) x.value = convert(x.value, precision_.wide);
  const auto wanted = [&](Index index) { return plan.has(index, both); };
  if (contains(x.indices, value)) {
    Indices shared;
    for (const Index index : integers.indices) {
      if (contains(x.indices, index)) shared.push_back(index);
    }
    const Indices own = without(integers.indices, shared), rest = without(without(x.indices, shared), {value});
    const Value at = in_order(integers, joined({shared, own})).value;
    const Value from = in_order(x, joined({shared, {value}, rest})).value;
    const auto axis = static_cast<int>(shared.size());
    return summed_to({gather(from, at, axis, axis), joined({shared, own, rest})}, wanted);
  }
  Indices batch, summed;
  for (const Index index : integers.indices) (wanted(index) ? batch : summed).push_back(index);
  const Indices rest = without(x.indices, integers.indices);
  const Indices all = joined({batch, summed, rest});
  const Value updates = spread(x, all, shape_of(all, integers, x));
  const Value at = in_order(integers, joined({batch, summed})).value;
  const auto axis = static_cast<int>(batch.size());
  Shape shape(updates.shape().begin(), updates.shape().begin() + axis);
  shape.push_back(context_.size(value));
  shape.insert(shape.end(), updates.shape().end() - static_cast<std::ptrdiff_t>(rest.size()), updates.shape().end());
  const Value nothing = zeros(builder_, Aval(x.value.dtype(), shape));
  return {scatter_add(nothing, at, updates, axis, axis), joined({batch, {value}, rest})};
}

// ---- blocks
// -------------------------------------------------------------------------------------------------------------

// A loop over pieces of the index: a step makes what the whole plan makes of a piece, and adds it up, or stacks it. A
// step is given single elements of a first axis, and takes other pieces out of the whole, into the cache.
Array Emitter::in_blocks(const Plan& plan, const Blocks& blocks, int exponent) {
  const terms::Term& term = plan.term();
  const Values whole = factors(term);
  const int64_t piece = context_.size(blocks.index) / blocks.blocks;
  Builder inner;
  const Aval counter(DType::kInt32, {blocks.blocks});
  Value numbers = iota(builder_, counter, 0);
  if (piece != 1) numbers = numbers * full_like(numbers, static_cast<double>(piece));
  Values operands, sequences{numbers}, constants, carries, slices{inner.input(Aval(DType::kInt32, {}))};
  const Value start = slices[0], zero = full_like(start, 0);
  Values body(term.factors.size());
  for (size_t k = 0; k < whole.size(); ++k) {
    const Indices& indices = term.factors[k].indices;
    const Shape& shape = whole[k].shape();
    const auto axis = static_cast<int>(place(indices, blocks.index));
    const auto same = std::ranges::find(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(k), whole[k]);
    const auto earlier = static_cast<size_t>(same - whole.begin());
    if (earlier != k && place(term.factors[earlier].indices, blocks.index) == axis) {
      body[k] = body[earlier];
      continue;
    }
    Shape part = shape;
    const bool is_whole = axis >= whole[k].rank();
    if (!is_whole) part[axis] = piece;
    if (axis == 0 && piece == 1 && !is_whole) {
      sequences.push_back(whole[k]);
      slices.push_back(inner.input(whole[k].aval().with_shape(absl::MakeConstSpan(shape).subspan(1))));
      body[k] = reshape(slices.back(), part);
      continue;
    }
    operands.push_back(whole[k]);
    constants.push_back(body[k] = inner.input(whole[k].aval()));
    if (is_whole) continue;
    Values starts(shape.size(), zero);
    starts[axis] = start;
    body[k] = dynamic_slice(body[k], starts, part);
  }
  Emitter emitter(inner, context_, variable_, precision_);
  emitter.piece_ = blocks.index;
  const Array made = emitter.whole(plan, body, exponent);
  ScanAttrs attrs;
  attrs.num_constants = static_cast<int64_t>(constants.size());
  attrs.length = blocks.blocks;
  Values results{made.value};
  Shape shape = made.value.shape();
  const bool is_summed = !plan.has(blocks.index, plan.all());
  if (is_summed) {
    attrs.num_carries = 1;
    carries.push_back(inner.input(made.value.aval()));
    results[0] = carries[0] + made.value;
    operands.push_back(zeros(builder_, made.value.aval()));
  }
  operands.insert(operands.end(), sequences.begin(), sequences.end());
  constants.insert(constants.end(), carries.begin(), carries.end());
  constants.insert(constants.end(), slices.begin(), slices.end());
  inner.arrange_inputs(constants);
  attrs.graph = inner.finish(results);
  const Value result = scan(builder_, attrs, operands)[0];
  if (is_summed) return {result, made.indices};
  const auto axis = static_cast<int>(place(made.indices, blocks.index));
  shape[axis] *= blocks.blocks;
  return {reshape(move_axis(result, 0, axis), shape), made.indices};
}

Value Emitter::term(const Plan& plan, const std::optional<Blocks>& blocks, int exponent) {
  Array made = blocks ? in_blocks(plan, *blocks, exponent) : whole(plan, factors(plan.term()), exponent);
  made.value = convert(made.value, precision_.wide);
  made = summed_to(made, [&](Index index) {
    return std::ranges::any_of(plan.term().axes, [&](const Indices& axis) { return contains(axis, index); });
  });
  Indices outer;
  Shape shape;
  for (const Indices& axis : plan.term().axes) {
    for (const Index index : axis) {
      outer.push_back(index);
      shape.push_back(context_.size(index));
    }
  }
  return spread(made, outer, shape);
}

}  // namespace ct::contraction
