// The same elements in another arrangement: broadcast, transpose, reverse, and conveniences made of them.
#include <algorithm>
#include <numeric>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "ir/terms_ranges.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

// ---- broadcast ----------------------------------------------------------------------------------------------------

Avals broadcast_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const Aval result = x.with_shape(attrs.ints("shape"));
  const Ints& axes = attrs.ints("axes");
  if (axes.size() != x.shape().size()) {
    throw Error(ErrorKind::kValue, concat("needs one result axis for each of the ", x.rank(), " axes of ",
                                          x.to_string(), ", got [", join(axes, ", "), "]"))
        .hint("axes[i] says which axis of the result axis i of the operand becomes");
  }
  check_axes(axes, result.rank());
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t target = result.shape()[axes[i]];
    if (x.dim(i) != target && x.dim(i) != 1) {
      throw Error(ErrorKind::kShape,
                  concat("cannot broadcast ", x.to_string(), " to shape ", shape_string(result.shape()), ": axis ", i,
                         " has size ", x.dim(i), ", axis ", axes[i], " of the result has size ", target))
          .hint("sizes must be equal, or 1 in the operand");
    }
  }
  return {result};
}

Scalar broadcast_element(ElementBuilder& element, const Attrs& attrs, const Aval&, int,
                         absl::Span<const Index> position) {
  const Aval& x = element.operand_aval(0);
  const Ints& axes = attrs.ints("axes");
  Indices from;
  for (int i = 0; i < x.rank(); ++i) from.push_back(x.dim(i) == 1 ? element.index_constant(0) : position[axes[i]]);
  return element.read(0, from);
}

// The sum over everything that repeats the same element.
Value broadcast_transpose(Value cotangent, const Aval& operand, const AttrsPtr& attrs) {
  const Ints& axes = attrs->ints("axes");
  Ints repeated, kept;
  for (int axis = 0; axis < cotangent.rank(); ++axis) {
    const auto source = std::find(axes.begin(), axes.end(), axis) - axes.begin();
    const bool is_new = source == static_cast<int64_t>(axes.size());
    if (is_new || operand.dim(static_cast<int>(source)) != cotangent.shape()[axis]) {
      repeated.push_back(axis);
    } else {
      kept.push_back(source);
    }
  }
  // Storage formats are summed in float32.
  const bool computes = dtype_info(operand.dtype()).computes;
  const Value terms = computes ? cotangent : convert(cotangent, DType::kFloat32);
  const Value sum = convert(reduce_sum(terms, repeated), operand.dtype());
  return sum.shape() == operand.shape() ? sum : broadcast(sum, operand.shape(), kept);
}

// The batch axis stays where it is among the operand's axes: in front of the same neighbour.
std::vector<Batched> broadcast_batch(Builder&, absl::Span<const Batched> operands, int64_t size,
                                     const AttrsPtr& attrs) {
  const Batched x = operands[0];
  const int64_t at = x.axis == 0 ? 0 : attrs->ints("axes")[x.axis - 1] + 1;
  Ints axes = past_batch(attrs->ints("axes"), at);
  axes.insert(axes.begin() + x.axis, at);
  Ints shape = attrs->ints("shape");
  shape.insert(shape.begin() + at, size);
  return {{broadcast(x.value, shape, axes), static_cast<int>(at)}};
}

std::vector<Masked> broadcast_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  Masked result = exact(builder.bind1(kBroadcast, {x.value}, attrs));
  for (int i = 0; i < x.value.rank(); ++i) {
    const int64_t target = attrs->ints("axes")[i];
    if (x.ragged(i) && x.value.shape()[i] != result.value.shape()[target]) {
      throw Error(ErrorKind::kUnsupported, concat("axis ", i, " is ragged with a bound of 1 and would be repeated to ",
                                                  result.value.shape()[target], " elements"))
          .op("broadcast")
          .hint("make the axis exact, or give it a bound above 1");
    }
    result.lengths[target] = x.lengths[i];
  }
  return {result};
}

Value simplify_broadcast(const SimplifyInput& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  if (x.shape() == m.output.shape()) return x;
  const Equation* inner = m.made_by(x, kBroadcast);
  if (inner == nullptr) return {};
  Ints axes = m.builder.attrs(*inner).ints("axes");
  for (int64_t& axis : axes) axis = m.attrs->ints("axes")[axis];
  return broadcast(m.operand(*inner, 0), m.output.shape(), axes);
}

std::optional<terms::Sum> terms_of_broadcast(const terms::Input& input) {
  terms::Sum result = input.operands[0];
  const Ints& axes = input.attrs.ints("axes");
  for (terms::Term& term : result.terms) {
    std::vector<terms::Indices> placed(input.result.rank());
    for (int axis = 0; axis < input.result.rank(); ++axis) {
      const auto source = std::find(axes.begin(), axes.end(), axis) - axes.begin();
      const int64_t size = input.result.dim(axis);
      const bool is_new = source == static_cast<int64_t>(axes.size());
      if (!is_new && input.avals[0].dim(static_cast<int>(source)) == size) {
        placed[axis] = term.axes[source];
      } else if (size != 1) {
        placed[axis] = {input.context.fresh(size)};
      }
    }
    term.axes = std::move(placed);
  }
  return result;
}

}  // namespace

const Primitive& kBroadcast = define({
    .name = "broadcast",
    .attributes = {{"axes", AttributeKind::kIntegers}, {"shape", AttributeKind::kIntegers}},
    .type = broadcast_type,
    .jvp = linear_jvp(PrimitiveRef("broadcast")),
    .transpose = linear_transpose(broadcast_transpose),
    .batch = broadcast_batch,
    .mask = broadcast_mask,
    .element = broadcast_element,
    .simplify = simplify_by(simplify_broadcast),
    .terms = terms_of_broadcast,
    .arrangement = Arrangement::kBroadcast,
    .free_to_recompute = true,
});

namespace {

// ---- transpose ----------------------------------------------------------------------------------------------------

Avals transpose_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const Ints& permutation = attrs.ints("permutation");
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  Ints all(x.rank());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    throw Error(ErrorKind::kValue, concat("[", join(permutation, ", "), "] is not a permutation of the ", x.rank(),
                                          " axes of ", x.to_string()))
        .hint("name every axis of the operand exactly once");
  }
  Shape shape;
  for (int64_t axis : permutation) shape.push_back(x.shape()[axis]);
  return {x.with_shape(shape)};
}

Scalar transpose_element(ElementBuilder& element, const Attrs& attrs, const Aval&, int,
                         absl::Span<const Index> position) {
  const Ints& permutation = attrs.ints("permutation");
  Indices from(position.size());
  for (size_t i = 0; i < position.size(); ++i) from[permutation[i]] = position[i];
  return element.read(0, from);
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = static_cast<int64_t>(i);
  return result;
}

std::vector<Batched> transpose_batch(Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
  const Batched x = operands[0];
  Ints permutation = past_batch(attrs->ints("permutation"), x.axis);
  permutation.insert(permutation.begin(), x.axis);
  return {{transpose(x.value, permutation), 0}};
}

std::vector<Masked> transpose_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  Masked result = exact(builder.bind1(kTranspose, {x.value}, attrs));
  const Ints& permutation = attrs->ints("permutation");
  for (size_t i = 0; i < permutation.size(); ++i) result.lengths[i] = x.lengths[permutation[i]];
  return {result};
}

Value simplify_transpose(const SimplifyInput& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  Ints permutation = m.attrs->ints("permutation");
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  const Equation* inner = m.made_by(x, kTranspose);
  if (inner == nullptr) return {};
  for (int64_t& axis : permutation) axis = m.builder.attrs(*inner).ints("permutation")[axis];
  return transpose(m.operand(*inner, 0), permutation);
}

std::optional<terms::Sum> terms_of_transpose(const terms::Input& input) {
  terms::Sum result = input.operands[0];
  for (terms::Term& term : result.terms) {
    std::vector<terms::Indices> turned;
    for (const int64_t axis : input.attrs.ints("permutation")) turned.push_back(term.axes[axis]);
    term.axes = std::move(turned);
  }
  return result;
}

}  // namespace

const Primitive& kTranspose = define({
    .name = "transpose",
    .attributes = {{"permutation", AttributeKind::kIntegers}},
    .type = transpose_type,
    .jvp = linear_jvp(PrimitiveRef("transpose")),
    .transpose = linear_transpose([](Value cotangent, const Aval&, const AttrsPtr& attrs) {
      return transpose(cotangent, inverse(attrs->ints("permutation")));
    }),
    .batch = transpose_batch,
    .mask = transpose_mask,
    .element = transpose_element,
    .simplify = simplify_by(simplify_transpose),
    .terms = terms_of_transpose,
    .arrangement = Arrangement::kTranspose,
    .free_to_recompute = true,
});

namespace {

// ---- reverse ------------------------------------------------------------------------------------------------------

Avals reverse_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  check_axes(attrs.ints("axes"), operands[0].rank());
  return {operands[0]};
}

Scalar reverse_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                       absl::Span<const Index> position) {
  Indices from(position.begin(), position.end());
  for (int64_t axis : attrs.ints("axes")) {
    from[axis] = element.index_offset(element.index_scale(position[axis], -1), aval.shape()[axis] - 1);
  }
  return element.read(0, from);
}

// A ragged axis of n elements: result[i] = x[n - 1 - i]. Positions from n on read outside and are padding.
std::vector<Masked> reverse_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  Masked x = operands[0];
  Ints static_axes;
  for (int64_t axis : attrs->ints("axes")) {
    if (!x.ragged(static_cast<int>(axis))) {
      static_axes.push_back(axis);
      continue;
    }
    const Aval indices(DType::kInt32, {x.value.shape()[axis]});
    const Value last = broadcast_scalar(add_lengths(x.lengths[axis], -1), indices.shape());
    x.value = gather(x.value, last - iota(builder, indices, 0), static_cast<int>(axis), 0);
  }
  x.value = reverse(x.value, static_axes);
  return {x};
}

JvpResult reverse_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                      const AttrsPtr& attrs) {
  const Ints& axes = attrs->ints("axes");
  const Value result = reverse(primals[0], axes);
  if (!tangents[0]) return {{result}, {Value()}};
  // The cotangent must be reversed within the lengths, so it is given them first.
  return {{result}, {with_lengths_of(reverse(tangents[0], axes), result, axes)}};
}

// Of one number, or along axes of one element; else what reverses of the same axes undo.
std::optional<terms::Sum> terms_of_reverse(const terms::Input& input) {
  std::vector<terms::Range> ranges;
  for (const int64_t size : input.result.shape()) ranges.push_back({.count = size, .of = size});
  for (const int64_t axis : input.attrs.ints("axes")) {
    terms::Range& range = ranges[static_cast<size_t>(axis)];
    if (range.count > 1) range = {.first = range.count - 1, .step = -1, .count = range.count, .of = range.count};
  }
  return terms::taken(input, ranges);
}

Values simplify_reverse(const SimplifyInput& m) {
  const Value x = m.operands[0];
  const Ints& axes = m.attrs->ints("axes");
  const bool short_axes = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.shape()[axis] <= 1; });
  return m.is_full(x) || short_axes ? Values{x} : simplify_involution()(m);
}

}  // namespace

const Primitive& kReverse = define({
    .name = "reverse",
    .attributes = {{"axes", AttributeKind::kIntegers}},
    .type = reverse_type,
    .jvp = reverse_jvp,
    .transpose = linear_transpose(
        [](Value cotangent, const Aval&, const AttrsPtr& attrs) { return reverse(cotangent, attrs->ints("axes")); }),
    .batch =
        [](Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
          const Batched x = operands[0];
          return std::vector<Batched>{{reverse(x.value, past_batch(attrs->ints("axes"), x.axis)), x.axis}};
        },
    .mask = reverse_mask,
    .element = reverse_element,
    .simplify = simplify_reverse,
    .terms = terms_of_reverse,
});

Value broadcast(Value x, absl::Span<const int64_t> shape, absl::Span<const int64_t> axes) {
  return x.builder->bind1(kBroadcast, {x}, Attrs::make({{"shape", ints(shape)}, {"axes", ints(axes)}}));
}

Value broadcast_scalar(Value x, absl::Span<const int64_t> shape) { return shape.empty() ? x : broadcast(x, shape, {}); }

Value transpose(Value x, absl::Span<const int64_t> permutation) {
  bool identity = permutation.size() == x.shape().size();
  for (size_t i = 0; i < permutation.size(); ++i) identity &= permutation[i] == static_cast<int64_t>(i);
  if (identity) return x;
  return x.builder->bind1(kTranspose, {x}, Attrs::make({{"permutation", ints(permutation)}}));
}

Value reverse(Value x, absl::Span<const int64_t> axes) {
  if (axes.empty()) return x;
  return x.builder->bind1(kReverse, {x}, Attrs::make({{"axes", ints(axes)}}));
}

Value move_axis(Value x, int from, int to) {
  Ints permutation;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != from) permutation.push_back(axis);
  }
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, permutation);
}

Value broadcast_axis(Value x, int axis, int64_t size) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis, size);
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(past_batch(i, axis));
  return broadcast(x, shape, axes);
}

}  // namespace ct
