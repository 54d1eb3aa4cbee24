// reshape: the same elements in row-major order under another shape.
//
// Where the shapes factor into groups of axes with equal products, (2, 3, 4) -> (6, 4) into (2, 3) -> (6) and
// (4) -> (4), positions are worked out group by group. Then axes that stay what they are keep their own index, which
// the compiler sees as a plain stride, and the mask rule knows which ragged axis went where.
#include <algorithm>
#include <numeric>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

// Axes with one product. Axes of size 1 are in no group.
struct AxisGroup {
  Ints from;
  Ints to;
};

Ints long_axes(absl::Span<const int64_t> shape) {
  Ints axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) axes.push_back(static_cast<int64_t>(axis));
  }
  return axes;
}

// Of two shapes with the same positive number of elements.
std::vector<AxisGroup> axis_groups(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  const Ints from_axes = long_axes(from);
  const Ints to_axes = long_axes(to);
  std::vector<AxisGroup> groups;
  for (size_t i = 0, j = 0; i < from_axes.size();) {
    AxisGroup group{{from_axes[i]}, {to_axes[j]}};
    int64_t from_product = from[from_axes[i++]];
    int64_t to_product = to[to_axes[j++]];
    while (from_product != to_product) {
      if (from_product < to_product) {
        group.from.push_back(from_axes[i]);
        from_product *= from[from_axes[i++]];
      } else {
        group.to.push_back(to_axes[j]);
        to_product *= to[to_axes[j++]];
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// Elements of the group per step of its first axis.
int64_t inner_product(const Ints& axes, absl::Span<const int64_t> shape) {
  int64_t product = 1;
  for (size_t i = 1; i < axes.size(); ++i) product *= shape[axes[i]];
  return product;
}

Avals reshape_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 1);
  const Aval& x = operands[0];
  const Aval result = x.with_shape(attrs.ints("shape"));
  if (result.size() != x.size()) {
    throw Error(ErrorKind::kShape, concat("cannot reshape ", x.to_string(), " of ", x.size(), " elements to shape ",
                                          shape_string(result.shape()), " of ", result.size()))
        .hint("the sizes of the new shape must multiply to the same number of elements")
        .see("reshape-mismatch");
  }
  return {result};
}

Scalar reshape_element(ElementBuilder& element, const Attrs&, const Aval& aval, int, absl::Span<const Index> position) {
  const Shape& from = element.operand_aval(0).shape();
  Indices at(from.size(), element.index_constant(0));
  if (aval.size() == 0) return element.read(0, at);  // nothing to read: any position will do
  for (const AxisGroup& group : axis_groups(from, aval.shape())) {
    Index linear = position[group.to[0]];
    for (size_t i = 1; i < group.to.size(); ++i) {
      linear = element.index_add(element.index_scale(linear, aval.shape()[group.to[i]]), position[group.to[i]]);
    }
    for (size_t i = group.from.size(); i-- > 1;) {
      const int64_t size = from[group.from[i]];
      at[group.from[i]] = element.index_mod(linear, size);
      linear = element.index_div(linear, size);
    }
    at[group.from[0]] = linear;
  }
  return element.read(0, at);
}

std::vector<Batched> reshape_batch(Builder&, absl::Span<const Batched> operands, int64_t size, const AttrsPtr& attrs) {
  Ints shape = attrs->ints("shape");
  shape.insert(shape.begin(), size);
  return {{reshape(batch_at(operands[0], 0, size), shape), 0}};
}

Error unsupported(int64_t axis, const Value& x, const Ints& shape, std::string_view why) {
  return std::move(Error(ErrorKind::kUnsupported, concat("cannot reshape ", x.aval().to_string(), " to ",
                                                         shape_string(shape), ": ragged axis ", axis, " ", why))
                       .op("reshape")
                       .hint("keep a ragged axis as it is, or merge it with exact axes that follow it"));
}

// The axes of size 1 that stand right before the group starting at `next` (the shape's rank after the last group).
Ints ones_before(absl::Span<const int64_t> shape, int64_t next) {
  Ints ones;
  for (int64_t axis = next - 1; axis >= 0 && shape[axis] == 1; --axis) ones.insert(ones.begin(), axis);
  return ones;
}

// Ragged axes with a bound of 1 keep their place among the axes of size 1 between the same two groups.
void map_short_axes(const Masked& x, const Ints& shape, const std::vector<AxisGroup>& groups, Values& lengths) {
  const Shape& from = x.value.shape();
  for (int64_t axis = 0; axis < x.value.rank(); ++axis) {
    if (from[axis] != 1 || !x.lengths[axis]) continue;
    int64_t next = axis;
    while (next < x.value.rank() && from[next] == 1) ++next;
    auto target = static_cast<int64_t>(shape.size());
    if (next < x.value.rank()) {
      const auto group =
          std::find_if(groups.begin(), groups.end(), [&](const AxisGroup& g) { return g.from[0] == next; });
      if (group == groups.end()) throw unsupported(axis, x.value, shape, "would be merged into another axis");
      target = group->to[0];
    }
    const Ints ones = ones_before(from, next);
    const Ints targets = ones_before(shape, target);
    if (ones.size() != targets.size()) {
      throw unsupported(axis, x.value, shape, "has a bound of 1: which axis of the result it becomes is ambiguous");
    }
    lengths[targets[axis - ones[0]]] = x.lengths[axis];
  }
}

// An empty array: axes that match one to one keep their lengths; where the bound is 0 the length is 0 anyway.
std::vector<AxisGroup> empty_groups(const Masked& x, const Ints& shape) {
  const Ints from = long_axes(x.value.shape());
  const Ints to = long_axes(shape);
  bool same = from.size() == to.size();
  for (size_t i = 0; same && i < from.size(); ++i) same = x.value.shape()[from[i]] == shape[to[i]];
  std::vector<AxisGroup> groups;
  for (size_t i = 0; i < from.size(); ++i) {
    if (same) {
      groups.push_back({{from[i]}, {to[i]}});
    } else if (x.lengths[from[i]] && x.value.shape()[from[i]] != 0) {
      throw unsupported(from[i], x.value, shape, "of an empty array changes its place");
    }
  }
  return groups;
}

std::vector<Masked> reshape_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const Masked& x = operands[0];
  const Ints& shape = attrs->ints("shape");
  Masked result = exact(builder.bind1(kReshape, {x.value}, attrs));
  if (!x.any_ragged()) return {result};
  const Shape& from = x.value.shape();
  const bool empty = x.value.aval().size() == 0;
  const std::vector<AxisGroup> groups = empty ? empty_groups(x, shape) : axis_groups(from, shape);
  for (const AxisGroup& group : groups) {
    for (size_t i = 1; i < group.from.size(); ++i) {
      if (x.lengths[group.from[i]]) {
        throw unsupported(group.from[i], x.value, shape, "would be merged with the axis before it");
      }
    }
    const Value length = x.lengths[group.from[0]];
    if (!length) continue;
    // Valid elements of the group come first, so the group may be cut into rows again where whole rows result.
    const int64_t inside = inner_product(group.from, from);
    const int64_t rows = inner_product(group.to, shape);
    Value& target = result.lengths[group.to[0]];
    if (rows == inside) {
      target = length;
    } else if (rows != 0 && inside % rows == 0) {
      target = scale_length(length, inside / rows);
    } else if (inside != 0 && rows % inside == 0) {
      target = divided_length(length, rows / inside);  // what a merge made: its transpose
    }
    if (!target) throw unsupported(group.from[0], x.value, shape, "would be split");
  }
  map_short_axes(x, shape, groups, result.lengths);
  return {result};
}

Value simplify_reshape(const SimplifyInput& m) {
  const Value x = m.operands[0];
  if (m.is_full(x)) return m.full_of(x, m.output.shape());
  if (x.shape() == m.output.shape()) return x;
  if (const Equation* inner = m.made_by(x, kReshape)) return reshape(m.operand(*inner, 0), m.output.shape());
  // Broadcasts that only add axes of one element are reshapes.
  const Equation* inner = m.made_by(x, kBroadcast);
  if (inner == nullptr) return {};
  const Value repeated = m.operand(*inner, 0);
  return repeated.aval().size() == x.aval().size() ? reshape(repeated, m.output.shape()) : Value{};
}

// Axes that are merged are longer lists of indices; an axis that is split may split an index, and with it factors.
std::optional<terms::Sum> terms_of_reshape(const terms::Input& input) {
  terms::Sum result{.mixed = input.operands[0].mixed, .square = input.operands[0].square};
  for (const terms::Term& operand : input.operands[0].terms) {
    terms::Term term = input.context.renamed(operand);
    terms::Indices left;
    for (const terms::Indices& axis : term.axes) left.insert(left.end(), axis.begin(), axis.end());
    // All in one axis: there `split` finds them.
    term.axes = {left};
    std::vector<terms::Indices> placed;
    size_t next = 0;
    for (const int64_t size : input.result.shape()) {
      terms::Indices axis;
      for (int64_t made = 1; made < size;) {
        if (next == term.axes[0].size()) return std::nullopt;
        const terms::Index index = term.axes[0][next];
        const int64_t whole = input.context.size(index), wanted = size / made;
        if (whole == 0 || size % made != 0) return std::nullopt;
        if (wanted % whole != 0) {
          if (whole % wanted != 0 || !input.context.split(term, index, {wanted, whole / wanted})) return std::nullopt;
          continue;
        }
        axis.push_back(index);
        made *= whole;
        ++next;
      }
      placed.push_back(std::move(axis));
    }
    if (next != term.axes[0].size()) return std::nullopt;
    term.axes = std::move(placed);
    result.terms.push_back(std::move(term));
  }
  return result;
}

}  // namespace

const Primitive& kReshape = define({
    .name = "reshape",
    .attributes = {{"shape", AttributeKind::kIntegers}},
    .type = reshape_type,
    .jvp = linear_jvp(PrimitiveRef("reshape")),
    .transpose = linear_transpose(
        [](Value cotangent, const Aval& operand, const AttrsPtr&) { return reshape(cotangent, operand.shape()); }),
    .batch = reshape_batch,
    .mask = reshape_mask,
    .element = reshape_element,
    .simplify = simplify_by(simplify_reshape),
    .terms = terms_of_reshape,
    .structure = std::make_shared<structures::SameBytes>(),
    .arrangement = Arrangement::kReshape,
    .free_to_recompute = true,
});

Value reshape(Value x, absl::Span<const int64_t> shape) {
  if (absl::MakeConstSpan(x.shape()) == shape) return x;
  return x.builder->bind1(kReshape, {x}, Attrs::make({{"shape", Ints(shape.begin(), shape.end())}}));
}

namespace {
// For a reshape one axis of size 1 is like another, and a ragged one may be among them: then these say which they mean.
bool may_be_mistaken(absl::Span<const int64_t> others) {
  return keeps_lengths() && std::find(others.begin(), others.end(), 1) != others.end();
}
}  // namespace

Value expand_dims(Value x, int axis) {
  Shape shape = x.shape();
  const bool mistaken = may_be_mistaken(shape);
  shape.insert(shape.begin() + axis, 1);
  if (!mistaken) return reshape(x, shape);
  Ints axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + axis);
  return broadcast(x, shape, axes);
}

Value squeeze(Value x, int axis) {
  Shape shape = x.shape();
  CT_CHECK(shape[axis] == 1);
  shape.erase(shape.begin() + axis);
  return may_be_mistaken(shape) ? gather(x, constant_length(*x.builder, 0), axis, 0) : reshape(x, shape);
}

}  // namespace ct
