// dot_general: products summed over contracted dimensions, for every position of the batch dimensions; matrix product,
// outer product and inner product are cases of it.
//
// The result's dimensions are the batch dimensions, then the free dimensions of lhs, then those of rhs, each in order.
// `DotDimensions` says which dimension of each operand is which; the derivative rules below are permutations of it.
#include <algorithm>
#include <numeric>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/marked_shapes.h"
#include "runtime/text.h"

namespace ct {

DotDimensions DotDimensions::from(const Attrs& attrs) {
  return {attrs.ints("lhs_contract"), attrs.ints("rhs_contract"), attrs.ints("lhs_batch"), attrs.ints("rhs_batch")};
}

Ints free_axes(int rank, const Ints& contract, const Ints& batch) {
  Ints result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!std::ranges::count(contract, axis) && !std::ranges::count(batch, axis)) result.push_back(axis);
  }
  return result;
}

namespace {

AttrsPtr attrs_of(const DotDimensions& dimensions) {
  return Attrs::make({{"lhs_contract", dimensions.lhs_contract},
                      {"rhs_contract", dimensions.rhs_contract},
                      {"lhs_batch", dimensions.lhs_batch},
                      {"rhs_batch", dimensions.rhs_batch}});
}

bool contains(const Ints& axes, int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

int position_in(const Ints& axes, int64_t axis) {
  return static_cast<int>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
}

Ints range(size_t begin, size_t count) {
  Ints result(count);
  std::iota(result.begin(), result.end(), static_cast<int64_t>(begin));
  return result;
}

// ---- Type ---------------------------------------------------------------------------------------------------------

void check_side(const Aval& operand, std::string_view side, const Ints& contract, const Ints& batch) {
  Ints seen;
  for (const Ints* axes : {&contract, &batch}) {
    for (int64_t axis : *axes) {
      if (axis < 0 || axis >= operand.rank()) {
        throw Error(ErrorKind::kIndex,
                    concat("dimension ", axis, " of ", side, " is out of range for ", operand.to_string()))
            .hint(operand.rank() == 0 ? "a scalar has no dimensions: multiply instead"
                                      : concat("dimensions go from 0 to ", operand.rank() - 1));
      }
      if (contains(seen, axis)) {
        throw Error(ErrorKind::kValue, concat("dimension ", axis, " of ", side, " is named twice"))
            .hint("a dimension is contracted, a batch dimension, or neither");
      }
      seen.push_back(axis);
    }
  }
}

void check_pairs(const Aval& lhs, const Aval& rhs, std::string_view role, const Ints& lhs_axes, const Ints& rhs_axes) {
  if (lhs_axes.size() != rhs_axes.size()) {
    throw Error(ErrorKind::kValue,
                concat("lhs has ", lhs_axes.size(), " ", role, " dimensions and rhs has ", rhs_axes.size()))
        .hint("they come in pairs, one of each side");
  }
  for (size_t i = 0; i < lhs_axes.size(); ++i) {
    if (lhs.shape()[lhs_axes[i]] == rhs.shape()[rhs_axes[i]]) continue;
    throw Error(ErrorKind::kShape,
                concat(role, " dimensions must have equal sizes: dimension ", lhs_axes[i], " of lhs ", lhs.to_string(),
                       " has size ", lhs.shape()[lhs_axes[i]], ", dimension ", rhs_axes[i], " of rhs ", rhs.to_string(),
                       " has size ", rhs.shape()[rhs_axes[i]],
                       marked_shapes({marked_shape(lhs.shape(), {static_cast<int>(lhs_axes[i])}),
                                      marked_shape(rhs.shape(), {static_cast<int>(rhs_axes[i])})})))
        .hint("check the operands' shapes, or transpose one of them")
        .see("product-mismatch");
  }
}

Avals dot_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 2);
  const Aval &lhs = operands[0], &rhs = operands[1];
  check_dtype(lhs, kNumbers);
  check_dtype(rhs, kNumbers);
  if (lhs.dtype() != rhs.dtype()) {
    throw Error(ErrorKind::kDType,
                concat("operands must have equal dtypes, got ", lhs.to_string(), " and ", rhs.to_string()))
        .hint("convert them to one dtype first");
  }
  const DotDimensions dimensions = DotDimensions::from(attrs);
  check_side(lhs, "lhs", dimensions.lhs_contract, dimensions.lhs_batch);
  check_side(rhs, "rhs", dimensions.rhs_contract, dimensions.rhs_batch);
  check_pairs(lhs, rhs, "contracted", dimensions.lhs_contract, dimensions.rhs_contract);
  check_pairs(lhs, rhs, "batch", dimensions.lhs_batch, dimensions.rhs_batch);
  Shape shape;
  for (int64_t axis : dimensions.lhs_batch) shape.push_back(lhs.shape()[axis]);
  for (int64_t axis : free_axes(lhs.rank(), dimensions.lhs_contract, dimensions.lhs_batch)) {
    shape.push_back(lhs.shape()[axis]);
  }
  for (int64_t axis : free_axes(rhs.rank(), dimensions.rhs_contract, dimensions.rhs_batch)) {
    shape.push_back(rhs.shape()[axis]);
  }
  return {Aval(lhs.dtype(), shape)};
}

// ---- Derivative ---------------------------------------------------------------------------------------------------

// A vector with itself (or several, along batch dimensions in order): a sum of squares, whose derivative at zeros is
// zero whatever it is composed with, as that of a square is.
bool is_sum_of_squares(Value lhs, Value rhs, const DotDimensions& dimensions) {
  return lhs == rhs && dimensions.lhs_contract == dimensions.rhs_contract &&
         dimensions.lhs_batch == dimensions.rhs_batch &&
         std::is_sorted(dimensions.lhs_batch.begin(), dimensions.lhs_batch.end()) &&
         free_axes(lhs.rank(), dimensions.lhs_contract, dimensions.lhs_batch).empty();
}

JvpResult dot_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents, const AttrsPtr& attrs) {
  const DotDimensions dimensions = DotDimensions::from(*attrs);
  const Value lhs = primals[0], rhs = primals[1];
  if (tangents[0] && tangents[0] == tangents[1] && is_sum_of_squares(lhs, rhs, dimensions)) {
    Ints axes = dimensions.lhs_contract;
    std::sort(axes.begin(), axes.end());
    const Value twice = mul_no_nan(with_lengths_of(tangents[0], lhs, axes), lhs + lhs);
    return {{dot_general(lhs, rhs, dimensions)}, {reduce_sum(twice, axes)}};
  }
  Value tangent;
  // In the transpose, a contracted dimension of one side is a free one of the other: it gets its length back here.
  if (tangents[0]) tangent = dot_general(with_lengths_of(tangents[0], lhs, dimensions.lhs_contract), rhs, dimensions);
  if (tangents[1]) {
    tangent =
        add_tangents(tangent, dot_general(lhs, with_lengths_of(tangents[1], rhs, dimensions.rhs_contract), dimensions));
  }
  return {{dot_general(lhs, rhs, dimensions)}, {tangent}};
}

// The cotangent of lhs from that of the result: contract it with rhs over rhs's free dimensions, which leaves lhs's
// batch dimensions, free dimensions and, in rhs's order, contracted ones; then put those where lhs has them.
Value lhs_cotangent(Value cotangent, const Aval& lhs, Value rhs, const DotDimensions& dimensions) {
  const Ints lhs_free = free_axes(lhs.rank(), dimensions.lhs_contract, dimensions.lhs_batch);
  const Ints rhs_free = free_axes(rhs.rank(), dimensions.rhs_contract, dimensions.rhs_batch);
  const size_t batches = dimensions.lhs_batch.size();
  const Value product = dot_general(
      cotangent, rhs,
      {range(batches + lhs_free.size(), rhs_free.size()), rhs_free, range(0, batches), dimensions.rhs_batch});
  std::vector<std::pair<int64_t, int64_t>> contracted;  // (dimension of rhs, of lhs)
  contracted.reserve(dimensions.rhs_contract.size());
  for (size_t i = 0; i < dimensions.rhs_contract.size(); ++i) {
    contracted.emplace_back(dimensions.rhs_contract[i], dimensions.lhs_contract[i]);
  }
  std::sort(contracted.begin(), contracted.end());
  Ints order = dimensions.lhs_batch;  // the dimension of lhs that each dimension of `product` is
  order.insert(order.end(), lhs_free.begin(), lhs_free.end());
  for (const auto& [_, axis] : contracted) order.push_back(axis);
  Ints permutation(order.size());
  for (size_t i = 0; i < order.size(); ++i) permutation[order[i]] = static_cast<int64_t>(i);
  return transpose(product, permutation);
}

// By symmetry: rhs becomes the left operand once the result's free dimensions have changed places.
Value rhs_cotangent(Value cotangent, Value lhs, const Aval& rhs, const DotDimensions& dimensions) {
  const size_t batches = dimensions.lhs_batch.size();
  const size_t lhs_free = lhs.rank() - batches - dimensions.lhs_contract.size();
  const size_t rhs_free = rhs.rank() - batches - dimensions.rhs_contract.size();
  Ints swap = range(0, batches);
  for (int64_t axis : range(batches + lhs_free, rhs_free)) swap.push_back(axis);
  for (int64_t axis : range(batches, lhs_free)) swap.push_back(axis);
  return lhs_cotangent(transpose(cotangent, swap), rhs, lhs,
                       {dimensions.rhs_contract, dimensions.lhs_contract, dimensions.rhs_batch, dimensions.lhs_batch});
}

Values dot_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  const DotDimensions dimensions = DotDimensions::from(*attrs);
  const Value cotangent = input.cotangents[0];
  if (input.linear(0)) return {lhs_cotangent(cotangent, input.avals[0], known_operand(input, 1), dimensions), Value()};
  return {Value(), rhs_cotangent(cotangent, input.operands[0], input.avals[1], dimensions)};
}

// ---- Batching -----------------------------------------------------------------------------------------------------

// Two batched operands share a further batch dimension. The dimension of a single one is free.
std::vector<Batched> dot_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched &lhs = operands[0], &rhs = operands[1];
  const DotDimensions one = DotDimensions::from(*attrs);
  DotDimensions all{past_batch(one.lhs_contract, lhs.axis), past_batch(one.rhs_contract, rhs.axis),
                    past_batch(one.lhs_batch, lhs.axis), past_batch(one.rhs_batch, rhs.axis)};
  int axis = 0;
  if (lhs.batched() && rhs.batched()) {
    all.lhs_batch.insert(all.lhs_batch.begin(), lhs.axis);
    all.rhs_batch.insert(all.rhs_batch.begin(), rhs.axis);
  } else {
    const auto batches = static_cast<int>(all.lhs_batch.size());
    const Ints lhs_free = free_axes(lhs.value.rank(), all.lhs_contract, all.lhs_batch);
    const Ints rhs_free = free_axes(rhs.value.rank(), all.rhs_contract, all.rhs_batch);
    axis = lhs.batched() ? batches + position_in(lhs_free, lhs.axis)
                         : batches + static_cast<int>(lhs_free.size()) + position_in(rhs_free, rhs.axis);
  }
  return {{dot_general(lhs.value, rhs.value, all), axis}};
}

// ---- Masking ------------------------------------------------------------------------------------------------------

// Both sides of a contracted dimension are cleared: zero times NaN padding would be NaN.
std::vector<Masked> dot_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const DotDimensions dimensions = DotDimensions::from(*attrs);
  Masked lhs = operands[0], rhs = operands[1];
  for (size_t i = 0; i < dimensions.lhs_contract.size(); ++i) {
    const auto lhs_axis = static_cast<int>(dimensions.lhs_contract[i]);
    const auto rhs_axis = static_cast<int>(dimensions.rhs_contract[i]);
    const Meeting meeting{lhs, lhs_axis, rhs, rhs_axis};
    const Value length = merge_lengths(lhs.lengths[lhs_axis], rhs.lengths[rhs_axis], "dot_general", lhs_axis, &meeting);
    lhs.lengths[lhs_axis] = rhs.lengths[rhs_axis] = length;
    lhs.value = fill_padded(lhs, lhs_axis, 0);
    rhs.value = fill_padded(rhs, rhs_axis, 0);
  }
  Values lengths;
  for (size_t i = 0; i < dimensions.lhs_batch.size(); ++i) {
    const auto lhs_axis = static_cast<int>(dimensions.lhs_batch[i]);
    lengths.push_back(
        merge_lengths(lhs.lengths[lhs_axis], rhs.lengths[dimensions.rhs_batch[i]], "dot_general", lhs_axis));
  }
  for (int64_t axis : free_axes(lhs.value.rank(), dimensions.lhs_contract, dimensions.lhs_batch)) {
    lengths.push_back(lhs.lengths[axis]);
  }
  for (int64_t axis : free_axes(rhs.value.rank(), dimensions.rhs_contract, dimensions.rhs_batch)) {
    lengths.push_back(rhs.lengths[axis]);
  }
  return {{dot_general(lhs.value, rhs.value, dimensions), lengths}};
}

// ---- Sums of products (terms.h) -------------------------------------------------------------------------------------

std::optional<terms::Sum> terms_of_dot(const terms::Input& input) {
  const auto dimensions = DotDimensions::from(input.attrs);
  const auto& lhs = input.operands[0];
  const auto& rhs = input.operands[1];
  if (lhs.mixed && rhs.mixed) return std::nullopt;
  const Ints lhs_free = free_axes(input.avals[0].rank(), dimensions.lhs_contract, dimensions.lhs_batch);
  const Ints rhs_free = free_axes(input.avals[1].rank(), dimensions.rhs_contract, dimensions.rhs_batch);
  std::vector<terms::Context::Pair> pairs;
  const auto add_pairs = [&](const Ints& of_lhs, const Ints& of_rhs) {
    for (size_t i = 0; i < of_lhs.size(); ++i) {
      pairs.push_back({static_cast<size_t>(of_lhs[i]), static_cast<size_t>(of_rhs[i])});
    }
  };
  add_pairs(dimensions.lhs_batch, dimensions.rhs_batch);
  add_pairs(dimensions.lhs_contract, dimensions.rhs_contract);
  auto result = input.context.product(lhs, rhs, pairs, [&](const terms::Term& of_lhs, const terms::Term& of_rhs) {
    std::vector<terms::Indices> axes;
    for (const int64_t axis : dimensions.lhs_batch) axes.push_back(of_lhs.axes[axis]);
    for (const int64_t axis : lhs_free) axes.push_back(of_lhs.axes[axis]);
    for (const int64_t axis : rhs_free) axes.push_back(of_rhs.axes[axis]);
    return axes;
  });
  if (!result) return result;
  result->square = input.vars[0] == input.vars[1] && dimensions.lhs_contract == dimensions.rhs_contract &&
                   dimensions.lhs_batch == dimensions.rhs_batch && lhs_free.empty();
  return result;
}

// ---- Simplification -----------------------------------------------------------------------------------------------

// Products with zeros are zeros, or NaN where what they are summed over is not finite: one sum for all elements along
// the axes of the zeros.
Value simplify_dot(const SimplifyInput& m) {
  const bool is_lhs_zero = m.is_full(m.operands[0], 0), is_rhs_zero = m.is_full(m.operands[1], 0);
  if (is_lhs_zero == is_rhs_zero) return is_lhs_zero ? zeros(m.builder, m.output) : Value{};
  const auto dimensions = DotDimensions::from(*m.attrs);
  const Value other = m.operands[is_lhs_zero ? 1 : 0];
  if (!is_inexact(other.dtype())) return zeros(m.builder, m.output);
  const Ints& contract = is_lhs_zero ? dimensions.rhs_contract : dimensions.lhs_contract;
  const Ints& batch = is_lhs_zero ? dimensions.rhs_batch : dimensions.lhs_batch;
  Ints order = batch;
  for (const int64_t axis : free_axes(other.rank(), contract, batch)) order.push_back(axis);
  const size_t kept = order.size();
  order.insert(order.end(), contract.begin(), contract.end());
  const Value sum = reduce_sum(transpose(mul(other, zeros_like(other)), order), range(kept, contract.size()));
  Ints places = range(0, batch.size());
  const auto rank = static_cast<size_t>(m.output.rank());
  for (const int64_t axis : range(is_lhs_zero ? rank - (kept - batch.size()) : batch.size(), kept - batch.size())) {
    places.push_back(axis);
  }
  return broadcast(sum, m.output.shape(), places);
}

// ---- Record -------------------------------------------------------------------------------------------------------

Primitive general_dot() {
  Primitive result;
  result.name = "dot_general";
  result.attributes = {{"lhs_batch", AttributeKind::kIntegers},
                       {"lhs_contract", AttributeKind::kIntegers},
                       {"rhs_batch", AttributeKind::kIntegers},
                       {"rhs_contract", AttributeKind::kIntegers}};
  result.type = dot_type;
  result.jvp = dot_jvp;
  result.transpose = dot_transpose;
  result.batch = dot_batch;
  result.mask = dot_mask;
  result.simplify = simplify_by(simplify_dot);
  result.terms = terms_of_dot;
  result.structure = std::make_shared<structures::Product>();
  result.absent["element"] = "elements mix: lowered as a matrix product";
  return result;
}
}  // namespace

const Primitive& kDotGeneral = define(general_dot());

Value dot_general(Value lhs, Value rhs, const DotDimensions& dimensions) {
  return lhs.builder->bind1(kDotGeneral, {lhs, rhs}, attrs_of(dimensions));
}

}  // namespace ct
