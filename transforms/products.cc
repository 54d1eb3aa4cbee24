// One form for products that are written in several ways, so that equal programs cost the same:
//
//   an inner product (vdot, einsum('i,i->'), tensordot)   a sum of products, which fuses with what made its operands
//   a small part of a product: a slice, or rows or         the product of what is sliced, or gathered, of its operands
//   elements that are gathered
//   a diagonal of a product (trace)                        the products of its rows and columns
//   a product that reads an array with its axes in         the product of the array as it lies, transposed, where that
//   another order than they lie                            is the smaller of the two
//   a sum over a batch of products                         one product, which sums over the batch as well
//   a product of a vector with a stack of few arrays       a sum of multiples of these, which is not stacked
#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "ir/ops.h"
#include "ir/primitives.h"
#include "transforms/common.h"
#include "transforms/folds.h"

namespace ct {
namespace {

// ---- inner products -------------------------------------------------------------------------------------------------

// An operand of an inner product with its batch axes first, then those that are summed over; others have size 1.
Value in_order(Value x, const Ints& batch, const Ints& contract) {
  Ints permutation = batch;
  permutation.insert(permutation.end(), contract.begin(), contract.end());
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(x.shape()[axis]);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!contains_axis(permutation, axis)) permutation.push_back(axis);
  }
  return reshape(transpose(x, permutation), shape);
}

// A product without free axes, as a sum of products; null for others. Half floats are summed up as float32, as products
// of matrices are.
Value sum_of_products(FoldContext& context, absl::Span<const Value> operands, const Attrs& attrs, const Aval& result) {
  const auto [lhs_contract, rhs_contract, lhs_batch, rhs_batch] = DotDimensions::from(attrs);
  int64_t products = 1;
  for (const int64_t axis : lhs_batch) products *= operands[0].shape()[axis];
  if (lhs_contract.empty() || products != result.size()) return {};
  const DType dtype = result.dtype();
  const DType wide = is_float(dtype) && dtype_size(dtype) < 4 ? DType::kFloat32 : dtype;
  const Value lhs = convert(in_order(operands[0], lhs_batch, lhs_contract), wide);
  const Value rhs = convert(in_order(operands[1], rhs_batch, rhs_contract), wide);
  Ints axes;
  for (size_t i = 0; i < lhs_contract.size(); ++i) axes.push_back(static_cast<int64_t>(lhs_batch.size() + i));
  const AttrsPtr sum_attrs = Attrs::make({{"axes", axes}});
  const Value total = canonical_fold(context, {kReduceSum, sum_attrs}, mul(lhs, rhs), axes);
  return reshape(convert(total, dtype), result.shape());
}

// ---- parts of products ----------------------------------------------------------------------------------------------

constexpr int64_t kSmallPart = 4;  // of a product is what has so many times fewer elements

// The axes of a product, each by where it is in the operands; -1 where it is in one only.
struct ProductAxes {
  ProductAxes(absl::Span<const Value> operands, const DotDimensions& dimensions)
      : contract{dimensions.lhs_contract, dimensions.rhs_contract}, batch{dimensions.lhs_batch, dimensions.rhs_batch} {
    for (size_t i = 0; i < batch[0].size(); ++i) places.push_back({batch[0][i], batch[1][i]});
    for (const int side : {0, 1}) {
      for (int axis = 0; axis < operands[side].rank(); ++axis) {
        if (contains_axis(contract[side], axis) || contains_axis(batch[side], axis)) continue;
        places.push_back(side == 0 ? std::array<int64_t, 2>{axis, -1} : std::array<int64_t, 2>{-1, axis});
      }
    }
  }
  Ints contract[2], batch[2];
  std::vector<std::array<int64_t, 2>> places;
};

// The product that `x` is, of something that is summed over, when nothing else uses it.
std::optional<Equation> product(FoldContext& context, Value x) {
  const auto equation = made_by(x);
  if (!equation || !equation->primitive->is<structures::Product>() || !context.is_used_once(x)) return std::nullopt;
  return context.builder().attrs(*equation).ints("lhs_contract").empty() ? std::nullopt : equation;
}

// A product in its canonical form.
Value bind_product(FoldContext& context, Value lhs, Value rhs, const DotDimensions& dimensions) {
  const Value result = dot_general(lhs, rhs, dimensions);
  const AttrsPtr attrs = context.builder().attrs_ptr(*made_by(result));
  const Value sum = sum_of_products(context, std::array{lhs, rhs}, *attrs, result.aval());
  return sum ? sum : result;
}

// Null unless a small part of a product is sliced.
Value small_slice_of_product(FoldContext& context, Value x, const Attrs& attrs, int64_t size) {
  const auto equation = product(context, x);
  if (!equation || size * kSmallPart > x.aval().size()) return {};
  Value operands[] = {context.operand(*equation, 0), context.operand(*equation, 1)};
  const ProductAxes axes(operands, DotDimensions::from(context.builder().attrs(*equation)));
  for (const int side : {0, 1}) {
    Ints start(operands[side].rank(), 0), stride(operands[side].rank(), 1);
    Ints limit(operands[side].shape().begin(), operands[side].shape().end());
    for (size_t axis = 0; axis < axes.places.size(); ++axis) {
      const int64_t place = axes.places[axis][side];
      if (place < 0) continue;
      start[place] = attrs.ints("start")[axis];
      limit[place] = attrs.ints("limit")[axis];
      stride[place] = attrs.ints("stride")[axis];
    }
    const bool whole = std::ranges::all_of(start, [](int64_t each) { return each == 0; }) &&
                       std::ranges::all_of(stride, [](int64_t each) { return each == 1; }) &&
                       std::ranges::equal(limit, operands[side].shape());
    if (!whole) operands[side] = slice(operands[side], start, limit, stride);
  }
  return bind_product(context, operands[0], operands[1],
                      {axes.contract[0], axes.contract[1], axes.batch[0], axes.batch[1]});
}

// Null unless the slice is of a diagonal of matrices that lie next to each other, which are products: the elements of
// the last axis are those of two axes, and the stride is one more than the length of the second.
Value diagonal_of_product(FoldContext& context, Value x, const Attrs& attrs) {
  const auto flattened = made_by(x, Arrangement::kReshape);
  if (!flattened || !context.is_used_once(x)) return {};
  Value whole = context.operand(*flattened, 0);
  const int last = x.rank() - 1, rank = whole.rank();
  if (last < 0 || rank != last + 2) return {};
  if (!std::equal(whole.shape().begin(), whole.shape().end() - 2, x.shape().begin())) return {};
  const int64_t columns = whole.shape()[rank - 1], start = attrs.ints("start")[last];
  if (columns == 0 || attrs.ints("stride")[last] != columns + 1) return {};
  for (int axis = 0; axis < last; ++axis) {
    if (attrs.ints("start")[axis] != 0 || attrs.ints("stride")[axis] != 1) return {};
    if (attrs.ints("limit")[axis] != x.shape()[axis]) return {};
  }
  const int64_t length = (attrs.ints("limit")[last] - start + columns) / (columns + 1);
  const int64_t first[] = {start / columns, start % columns};
  if (length <= 0 || first[1] + length > columns) return {};
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  while (const auto equation = made_by(whole, Arrangement::kTranspose)) {
    if (!context.is_used_once(whole)) return {};
    for (int64_t& axis : order) axis = context.builder().attrs(*equation).ints("permutation")[axis];
    whole = context.operand(*equation, 0);
  }
  const auto equation = product(context, whole);
  if (!equation) return {};
  Value operands[] = {context.operand(*equation, 0), context.operand(*equation, 1)};
  ProductAxes axes(operands, DotDimensions::from(context.builder().attrs(*equation)));
  // Of a row of the left operand with a column of the right one, or the other way around.
  const auto sides = [&](int64_t axis) { return axes.places[axis][0] >= 0 ? (axes.places[axis][1] >= 0 ? 2 : 0) : 1; };
  const int side = sides(order[rank - 2]);
  if (side == 2 || sides(order[rank - 1]) != 1 - side) return {};
  for (const int k : {0, 1}) {
    const int of = k == 0 ? side : 1 - side;
    const int64_t place = axes.places[order[rank - 2 + k]][of];
    operands[of] = slice_axis(operands[of], static_cast<int>(place), first[k], first[k] + length);
    axes.batch[of].push_back(place);
  }
  const Value result = bind_product(context, operands[0], operands[1],
                                    {axes.contract[0], axes.contract[1], axes.batch[0], axes.batch[1]});
  // The batch axes, the diagonal, and the other axes, each where the slice has it.
  Ints permutation;
  const auto batches = static_cast<int64_t>(axes.batch[0].size()) - 1;
  for (int axis = 0; axis < last; ++axis) {
    const int64_t at = order[axis];
    const int64_t before = (order[rank - 2] < at) + (order[rank - 1] < at);
    permutation.push_back(at < batches ? at : at - before + 1);
  }
  permutation.push_back(batches);
  return transpose(result, permutation);
}

// 0 where an index lies outside of [0, size), which is what a gather gives there: products with what it gives need not
// be. `axis`: the first one of the indices in `x`.
Value zero_outside(Value x, Value indices, int64_t size, int axis) {
  Ints axes(indices.rank());
  std::iota(axes.begin(), axes.end(), axis);
  const Value nothing = zeros_like(x);
  return select(broadcast(is_inside(indices, size), x.shape(), axes), x, nothing);
}

// What the elements of one axis are when they are first, first + step, first + 2 step and so on.
struct Progression {
  int64_t first = 0, step = 0;
};
std::optional<Progression> progression(FoldContext& context, Value x) {
  const auto equation = made_by(x);
  if (!equation || x.rank() != 1 || !is_integer(x.dtype())) return std::nullopt;
  const Primitive& primitive = *equation->primitive;
  if (primitive.arrangement == Arrangement::kCounting) return Progression{0, 1};
  if (primitive.arrangement == Arrangement::kUniform) {
    return Progression{context.builder().attrs(*equation).integer("value"), 0};
  }
  const bool is_sum = primitive.computes(ScalarOp::kAdd);
  if (!is_sum && !primitive.computes(ScalarOp::kMul)) return std::nullopt;
  const auto lhs = progression(context, context.operand(*equation, 0));
  const auto rhs = progression(context, context.operand(*equation, 1));
  if (!lhs || !rhs) return std::nullopt;
  // So that neither products nor sums of these overflow.
  constexpr int64_t kMost = int64_t{1} << 30;
  for (const int64_t each : {lhs->first, lhs->step, rhs->first, rhs->step}) {
    if (std::abs(each) > kMost) return std::nullopt;
  }
  if (is_sum) return Progression{lhs->first + rhs->first, lhs->step + rhs->step};
  if (lhs->step != 0 && rhs->step != 0) return std::nullopt;
  return Progression{lhs->first * rhs->first, lhs->first * rhs->step + lhs->step * rhs->first};
}

// A gather as the slice that it is, when it is one of the last axis.
std::optional<AttrsPtr> as_slice(FoldContext& context, Value x, Value indices, const Attrs& attrs) {
  const int last = x.rank() - 1;
  const auto [axis, batch_dims] = GatherAttrs::from(attrs);
  if (axis != last || batch_dims != 0) return std::nullopt;
  const auto found = progression(context, indices);
  if (!found || found->first < 0 || found->step <= 0 || indices.aval().size() == 0) return std::nullopt;
  Ints start(x.rank(), 0), limit(x.shape().begin(), x.shape().end()), stride(x.rank(), 1);
  start[last] = found->first;
  limit[last] = found->first + (indices.aval().size() - 1) * found->step + 1;
  stride[last] = found->step;
  if (limit[last] > x.shape()[last]) return std::nullopt;
  // Indices of few bits start again from below.
  const int bits = 8 * static_cast<int>(dtype_size(indices.dtype())) - (is_signed_integer(indices.dtype()) ? 1 : 0);
  if (bits < 63 && limit[last] > int64_t{1} << bits) return std::nullopt;
  return Attrs::make({{"start", start}, {"limit", limit}, {"stride", stride}});
}

// Null unless few rows, or columns, of a product are gathered, or few elements of a product of two matrices that was
// made one axis.
Value small_gather_of_product(FoldContext& context, Value x, Value indices, const Attrs& attrs, int64_t size) {
  const auto [axis, batch_dims] = GatherAttrs::from(attrs);
  if (size * kSmallPart > x.aval().size() || batch_dims != 0) return {};
  const int64_t length = x.shape()[axis];
  if (length > std::numeric_limits<int32_t>::max()) return {};
  if (dtype_size(indices.dtype()) < 4) indices = convert(indices, DType::kInt32);
  const auto flattened = made_by(x, Arrangement::kReshape);
  if (flattened && context.is_used_once(x) && x.rank() == 1) {
    const Value whole = context.operand(*flattened, 0);
    const auto equation = product(context, whole);
    if (!equation || whole.rank() != 2) return {};
    const Values operands = {context.operand(*equation, 0), context.operand(*equation, 1)};
    const ProductAxes axes(operands, DotDimensions::from(context.builder().attrs(*equation)));
    if (!axes.batch[0].empty()) return {};
    const Value flat = reshape(indices, {indices.aval().size()});
    const Value columns = full_integer(*x.builder, flat.aval(), whole.shape()[1]);
    const auto row_axis = static_cast<int>(axes.places[0][0]), column_axis = static_cast<int>(axes.places[1][1]);
    const Value rows_of = gather(operands[0], div(flat, columns), row_axis, 0);
    const Value columns_of = gather(operands[1], rem(flat, columns), column_axis, 0);
    const Value elements =
        bind_product(context, rows_of, columns_of, {axes.contract[0], axes.contract[1], {row_axis}, {column_axis}});
    return reshape(zero_outside(elements, flat, length, 0), indices.shape());
  }
  const auto equation = product(context, x);
  if (!equation) return {};
  Value operands[] = {context.operand(*equation, 0), context.operand(*equation, 1)};
  ProductAxes axes(operands, DotDimensions::from(context.builder().attrs(*equation)));
  const auto place = axes.places[axis];
  if (place[0] >= 0 && place[1] >= 0) return {};
  const int side = place[0] >= 0 ? 0 : 1;
  operands[side] = gather(operands[side], indices, static_cast<int>(place[side]), 0);
  for (Ints* of_side : {&axes.contract[side], &axes.batch[side]}) {
    for (int64_t& each : *of_side) each += each > place[side] ? indices.rank() - 1 : 0;
  }
  const Value result = bind_product(context, operands[0], operands[1],
                                    {axes.contract[0], axes.contract[1], axes.batch[0], axes.batch[1]});
  return zero_outside(result, indices, length, axis);
}

// ---- products with stacks -------------------------------------------------------------------------------------------

constexpr size_t kMostMultiples = 16;

// Null unless a vector is multiplied with arrays that were put together along the axis that is summed over, each of
// which is one of its elements: the slopes of a Runge-Kutta step, say. Half floats would be rounded after each.
Value sum_of_stacked(FoldContext& context, absl::Span<const Value> operands, const Attrs& attrs, const Aval& result) {
  const auto dimensions = DotDimensions::from(attrs);
  if (dimensions.lhs_contract.size() != 1 || !dimensions.lhs_batch.empty() || dtype_size(result.dtype()) < 4) return {};
  const bool vector_first = operands[0].rank() == 1;
  const Value vector = operands[vector_first ? 0 : 1], stack = operands[vector_first ? 1 : 0];
  if (vector.rank() != 1 || stack.rank() < 2) return {};
  const auto axis = static_cast<int>((vector_first ? dimensions.rhs_contract : dimensions.lhs_contract)[0]);
  const auto stacked = made_by(stack, Arrangement::kConcatenate);
  if (!stacked || context.builder().attrs(*stacked).integer("axis") != axis) return {};
  if (stacked->operand_count > kMostMultiples || int64_t{stacked->operand_count} != stack.shape()[axis]) return {};
  Value sum;
  for (size_t i = 0; i < stacked->operand_count; ++i) {
    const Value piece = context.operand(*stacked, i);
    if (piece.shape()[axis] != 1) return {};
    const auto at = static_cast<int64_t>(i);
    const Value factor = broadcast(reshape(slice_axis(vector, 0, at, at + 1), {}), result.shape(), {});
    const Value multiple = mul(reshape(piece, result.shape()), factor);
    sum = sum ? add(sum, multiple) : multiple;
  }
  return sum;
}

// ---- products of what was transposed --------------------------------------------------------------------------------

// Null unless the free axes of an operand are in another order than in what it was transposed from, and the result is
// smaller than that.
Value product_of_untransposed(FoldContext& context, absl::Span<const Value> operands, const Attrs& attrs) {
  Value sources[] = {operands[0], operands[1]};
  const auto dimensions = DotDimensions::from(attrs);
  Ints contract[] = {dimensions.lhs_contract, dimensions.rhs_contract};
  Ints batch[] = {dimensions.lhs_batch, dimensions.rhs_batch};
  Ints order;  // the axis of the new product that each axis of the result is
  for (size_t i = 0; i < batch[0].size(); ++i) order.push_back(static_cast<int64_t>(i));
  int64_t products = 1, largest = 0;
  for (const int64_t axis : batch[0]) products *= operands[0].shape()[axis];
  for (int side : {0, 1}) {
    const Value operand = operands[side];
    Ints free;
    for (int axis = 0; axis < operand.rank(); ++axis) {
      if (contains_axis(contract[side], axis) || contains_axis(batch[side], axis)) continue;
      free.push_back(axis);
      products *= operand.shape()[axis];
    }
    if (const auto equation = made_by(operand, Arrangement::kTranspose)) {
      const AttrsPtr transposition = context.builder().attrs_ptr(*equation);
      const auto before = [&](Ints axes) {
        for (int64_t& axis : axes) axis = transposition->ints("permutation")[axis];
        return axes;
      };
      if (const Ints moved = before(free); !std::is_sorted(moved.begin(), moved.end())) {
        sources[side] = context.operand(*equation, 0);
        largest = std::max(largest, operand.aval().size());
        contract[side] = before(contract[side]);
        batch[side] = before(batch[side]);
        free = moved;
      }
    }
    const auto first = static_cast<int64_t>(order.size());
    for (const int64_t axis : free) {
      order.push_back(first + std::ranges::count_if(free, [&](int64_t other) { return other < axis; }));
    }
  }
  if (products > largest) return {};
  return transpose(dot_general(sources[0], sources[1], {contract[0], contract[1], batch[0], batch[1]}), order);
}

}  // namespace

Value canonical_product(FoldContext& context, absl::Span<const Value> operands, const Attrs& attrs,
                        const Aval& result) {
  if (const Value sum = sum_of_products(context, operands, attrs, result)) return sum;
  const Value sum = sum_of_stacked(context, operands, attrs, result);
  return sum ? sum : product_of_untransposed(context, operands, attrs);
}

Value slice_of_product(FoldContext& context, Value x, const Attrs& attrs, int64_t size) {
  const Value part = small_slice_of_product(context, x, attrs, size);
  return part ? part : diagonal_of_product(context, x, attrs);
}

Value sum_of_batch(FoldContext& context, Value x, const Ints& axes) {
  if (!context.is_used_once(x)) return {};
  // Where the axes of `x` are in what it transposes.
  Ints places(static_cast<size_t>(x.rank()));
  std::iota(places.begin(), places.end(), 0);
  Value source = x;
  while (const auto transposition = made_by(source, Arrangement::kTranspose)) {
    const Ints& permutation = context.builder().attrs(*transposition).ints("permutation");
    for (int64_t& place : places) place = permutation[static_cast<size_t>(place)];
    source = context.operand(*transposition, 0);
    if (!context.is_used_once(source)) return {};
  }
  const auto equation = product(context, source);
  if (!equation) return {};
  DotDimensions dimensions = DotDimensions::from(context.builder().attrs(*equation));
  Ints summed;
  for (const int64_t axis : axes) {
    summed.push_back(places[static_cast<size_t>(axis)]);
    if (summed.back() >= static_cast<int64_t>(dimensions.lhs_batch.size())) return {};
  }
  std::sort(summed.begin(), summed.end(), std::greater<>());
  for (const int64_t batch : summed) {
    const auto at = static_cast<std::ptrdiff_t>(batch);
    for (auto [from, to] : {std::pair(&dimensions.lhs_batch, &dimensions.lhs_contract),
                            std::pair(&dimensions.rhs_batch, &dimensions.rhs_contract)}) {
      to->insert(to->begin(), (*from)[static_cast<size_t>(batch)]);
      from->erase(from->begin() + at);
    }
  }
  const Value sum = bind_product(context, context.operand(*equation, 0), context.operand(*equation, 1), dimensions);
  Ints order;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (contains_axis(axes, axis)) continue;
    const int64_t place = places[static_cast<size_t>(axis)];
    order.push_back(place - std::count_if(summed.begin(), summed.end(), [&](int64_t each) { return each < place; }));
  }
  return std::is_sorted(order.begin(), order.end()) ? sum : transpose(sum, order);
}

Value gather_of_product(FoldContext& context, Value x, Value indices, const Attrs& attrs, int64_t size) {
  if (const auto slice = as_slice(context, x, indices, attrs)) {
    if (const Value part = diagonal_of_product(context, x, **slice)) return part;
  }
  return small_gather_of_product(context, x, indices, attrs, size);
}

}  // namespace ct
