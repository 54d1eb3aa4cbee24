// One form for folds that are written in several ways, so that equal programs cost the same:
//
//   an inner product (vdot, einsum('i,i->'), tensordot)   a sum of products, which fuses with what made its operands
//   a fold over what was reshaped (ravel)                  a fold over the axes it had before
//   a fold over what was concatenated (ravel_pytree)       a fold of each piece, combined
//   a fold of a fold                                       one over the axes of both
//   a slice of what was concatenated                       that of the piece in which it lies
//   a slice of a fold                                      a fold of the slice
//   a small part of a product: a slice, or rows or         the product of what is sliced, or gathered, of its operands
//   elements that are gathered
//   a diagonal of a product (trace)                        the products of its rows and columns
//   a product that reads an array with its axes in         the product of the array as it lies, transposed, where that
//   another order than they lie                            is the smaller of the two
//
// Between the fold, or the slice, and what was reshaped or concatenated there may be element-wise equations, as long as
// nothing else uses what these give. Sums are taken in another order; everything else keeps its bits.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

constexpr size_t kMostNodes = 64;    // of element-wise equations that are looked through
constexpr size_t kMostPieces = 256;  // folds that one fold may become

// The element-wise primitive that folds by this one combine with.
const Primitive* combiner(const Primitive& fold) {
  static const auto* const by_operation = [] {
    auto* table = new absl::flat_hash_map<ScalarOp, const Primitive*>;
    for (const Primitive* primitive : all_primitives()) {
      if (primitive->scalar) table->emplace(primitive->scalar_op, primitive);
    }
    return table;
  }();
  const auto found = by_operation->find(fold.combine);
  return found == by_operation->end() ? nullptr : found->second;
}

bool contains(const Ints& axes, int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

// Axes of two shapes of one size, in the smallest groups that hold the same elements. Axes of size 1 are in none.
struct AxisGroup {
  Ints from, to;
};
std::vector<AxisGroup> axis_groups(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (true) {
    AxisGroup group;
    int64_t from_size = 1, to_size = 1;
    do {
      if (from_size <= to_size) {
        while (i < from.size() && from[i] == 1) ++i;
        if (i == from.size()) return groups;
        from_size *= from[i];
        group.from.push_back(static_cast<int64_t>(i++));
      } else {
        while (to[j] == 1) ++j;
        to_size *= to[j];
        group.to.push_back(static_cast<int64_t>(j++));
      }
    } while (from_size != to_size);
    groups.push_back(std::move(group));
  }
}

// What is known of a graph and of the builder that it is rewritten in.
class Context {
 public:
  Context(const Graph& graph, Builder& builder) : builder_(builder) {
    used_by_.assign(graph.num_vars(), {});
    for (const Equation& equation : graph.equations()) {
      absl::Span<const Var> operands = graph.operands(equation);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (std::find(operands.begin(), operands.begin() + i, operands[i]) != operands.begin() + i) continue;
        ++used_by_[operands[i]].equations;
        if (equation.primitive->arrangement == Arrangement::kSlice) ++used_by_[operands[i]].slices;
      }
    }
    for (Var var : graph.outputs()) ++used_by_[var].equations;
  }

  // That `value` is what the variable of the graph became.
  void note(Value value, Var var) {
    Uses& uses = uses_[value.var];
    uses.equations += used_by_[var].equations;
    uses.slices += used_by_[var].slices;
  }

  std::optional<Equation> made_by(Value value) {
    const Equation* equation = builder_.producer(value.var);
    return equation == nullptr ? std::nullopt : std::optional<Equation>(*equation);
  }
  std::optional<Equation> made_by(Value value, Arrangement arrangement) {
    const auto equation = made_by(value);
    return equation && equation->primitive->arrangement == arrangement ? equation : std::nullopt;
  }
  Value operand(const Equation& equation, size_t i) { return {&builder_, builder_.operands(equation)[i]}; }

  // Whether nothing else uses `value` than the one equation that it was found as an operand of.
  bool is_used_once(Value value) const { return uses_of(value).equations <= 1; }
  bool is_only_sliced(Value value) const { return uses_of(value).equations == uses_of(value).slices; }

  // What the elements of `value` are computed from by element-wise equations, each leaf once; empty when these are
  // many. Those of `value` itself are looked through when `through_value` says so, the others where nothing else uses
  // them.
  Values leaves(Value value, bool through_value) {
    Values leaves, nodes = {value};
    for (size_t next = 0; next < nodes.size(); ++next) {
      if (nodes.size() > kMostNodes) return {};
      const auto equation = made_by(nodes[next]);
      const bool through =
          equation && equation->primitive->elementwise && (next == 0 ? through_value : is_used_once(nodes[next]));
      if (!through) {
        leaves.push_back(nodes[next]);
        continue;
      }
      for (size_t i = 0; i < equation->operand_count; ++i) {
        const Value each = operand(*equation, i);
        if (std::find(nodes.begin(), nodes.end(), each) == nodes.end()) nodes.push_back(each);
      }
    }
    return leaves;
  }

  // `value` computed from other leaves, found in `known`.
  Value rebuilt(Value value, absl::flat_hash_map<Var, Value>& known) {
    if (const auto found = known.find(value.var); found != known.end()) return found->second;
    const Equation equation = *made_by(value);
    const AttrsPtr attrs = builder_.attrs_ptr(equation);
    Values operands;
    for (size_t i = 0; i < equation.operand_count; ++i) operands.push_back(rebuilt(operand(equation, i), known));
    const Value result = builder_.bind1(*equation.primitive, operands, attrs);
    known.emplace(value.var, result);
    return result;
  }

  Builder& builder() { return builder_; }

 private:
  Builder& builder_;
  struct Uses {
    int equations = 0;  // that use it, and results that it is
    int slices = 0;     // of these, how many are slices
  };
  Uses uses_of(Value value) const {
    const auto found = uses_.find(value.var);
    return found == uses_.end() ? Uses{1, 0} : found->second;
  }

  std::vector<Uses> used_by_;            // by variable of the graph
  absl::flat_hash_map<Var, Uses> uses_;  // by variable of the builder, of those that the graph's became
};

struct Fold {
  const Primitive& primitive;
  const AttrsPtr& attrs;

  Value bind(Builder& builder, Value x, const Ints& axes) const {
    return builder.bind1(primitive, {x}, attrs->with("axes", axes));
  }
};

Value canonical_fold(Context& context, const Fold& fold, Value x, const Ints& axes,
                     const std::vector<Shape>& seen = {});

// ---- folds of pieces ------------------------------------------------------------------------------------------------

// Whether `x` was concatenated along this axis, by which equation.
std::optional<Equation> concatenation(Context& context, Value x, int axis) {
  const auto equation = context.made_by(x, Arrangement::kConcatenate);
  if (!equation) return std::nullopt;
  return context.builder().attrs(*equation).integer("axis") == axis ? equation : std::nullopt;
}

// The piece of something concatenated along an axis in which the elements [start, limit) lie, and where it begins.
struct Piece {
  Value value;
  int64_t begin = 0;
};
std::optional<Piece> piece_holding(Context& context, Value x, int axis, int64_t start, int64_t limit) {
  const auto equation = concatenation(context, x, axis);
  int64_t begin = 0;
  for (size_t i = 0; equation && i < equation->operand_count; ++i) {
    const Value piece = context.operand(*equation, i);
    const int64_t end = begin + piece.shape()[axis];
    if (begin <= start && limit <= end) return Piece{piece, begin};
    begin = end;
  }
  return std::nullopt;
}

// Elements [start, limit) along an axis, at least one: of a piece where they lie in one.
Value part_of(Context& context, Value x, int axis, int64_t start, int64_t limit) {
  if (const auto piece = piece_holding(context, x, axis, start, limit)) {
    return part_of(context, piece->value, axis, start - piece->begin, limit - piece->begin);
  }
  if (start == 0 && limit == x.shape()[axis]) return x;
  return slice_axis(x, axis, start, limit);
}

// Null unless something that `x` is computed from was concatenated along an axis of the fold.
Value fold_of_pieces(Context& context, const Fold& fold, Value x, const Values& leaves, const Ints& axes) {
  const Primitive* const combine = combiner(fold.primitive);
  if (combine == nullptr) return {};
  int axis = -1;
  Ints bounds;
  for (const Value& leaf : leaves) {
    const auto equation = context.made_by(leaf, Arrangement::kConcatenate);
    if (!equation) continue;
    const auto along = static_cast<int>(context.builder().attrs(*equation).integer("axis"));
    if (!contains(axes, along) || (axis >= 0 && along != axis)) continue;
    axis = along;
    int64_t end = 0;
    for (size_t i = 0; i < equation->operand_count; ++i) {
      end += context.operand(*equation, i).shape()[axis];
      bounds.push_back(end);
    }
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  if (axis < 0 || bounds.size() > kMostPieces) return {};
  Value result;
  int64_t start = 0;
  for (const int64_t limit : bounds) {
    if (limit == 0) continue;
    absl::flat_hash_map<Var, Value> known;
    for (const Value& leaf : leaves) known.emplace(leaf.var, part_of(context, leaf, axis, start, limit));
    const Value piece = canonical_fold(context, fold, context.rebuilt(x, known), axes);
    result = result ? context.builder().bind1(*combine, {result, piece}, Attrs::make({})) : piece;
    start = limit;
  }
  return result;
}

// ---- folds of what was reshaped -------------------------------------------------------------------------------------

// Whether the elements of `x` may be computed where they are used, without memory for them.
bool is_computed_in_loops(Context& context, Value x) {
  const auto equation = context.made_by(x);
  if (!equation) return false;
  const Primitive& primitive = *equation->primitive;
  if (primitive.lowering == Lowering::kDot) return context.builder().attrs(*equation).ints("lhs_contract").empty();
  return primitive.lowering == Lowering::kElement && equation->operand_count > 0;
}

// The axes of `shape` that are those of `axes` under the other shape; none if a group is folded in part.
std::optional<Ints> axes_before(const std::vector<AxisGroup>& groups, const Ints& axes) {
  Ints result;
  for (const AxisGroup& group : groups) {
    const auto folded = [&](int64_t axis) { return contains(axes, axis); };
    if (std::none_of(group.to.begin(), group.to.end(), folded)) continue;
    if (!std::all_of(group.to.begin(), group.to.end(), folded)) return std::nullopt;
    result.insert(result.end(), group.from.begin(), group.from.end());
  }
  return result;
}

// `x` under the shape that the groups lead from. What was broadcast along whole groups is broadcast anew.
Value under_shape(Context& context, Value x, absl::Span<const int64_t> shape, const std::vector<AxisGroup>& groups) {
  const auto equation = context.made_by(x);
  if (!equation) return reshape(x, shape);
  if (equation->primitive->arrangement == Arrangement::kReshape) {
    const Value source = context.operand(*equation, 0);
    if (source.shape() == shape) return source;
  }
  if (equation->primitive->arrangement != Arrangement::kBroadcast) return reshape(x, shape);
  const Value source = context.operand(*equation, 0);
  const Ints axes = context.builder().attrs(*equation).ints("axes");
  Shape split;
  Ints onto;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (source.shape()[i] == 1) continue;
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const AxisGroup& each) { return each.to == Ints{axes[i]}; });
    if (group == groups.end()) return reshape(x, shape);
    for (const int64_t axis : group->from) {
      split.push_back(shape[axis]);
      onto.push_back(axis);
    }
  }
  return std::is_sorted(onto.begin(), onto.end()) ? broadcast(reshape(source, split), shape, onto) : reshape(x, shape);
}

// Null unless something that `x` is computed from was reshaped, and the fold is one over axes that it had before.
// `seen`: the shapes that the fold was brought to before, which of two reshaped things may lead back to each other.
Value fold_of_reshaped(Context& context, const Fold& fold, Value x, const Values& leaves, const Ints& axes,
                       std::vector<Shape> seen) {
  seen.emplace_back(x.shape().begin(), x.shape().end());
  for (const Value& leaf : leaves) {
    const auto equation = context.made_by(leaf, Arrangement::kReshape);
    if (!equation) continue;
    const Value source = context.operand(*equation, 0);
    if (!is_computed_in_loops(context, source)) continue;
    const Shape shape(source.shape().begin(), source.shape().end());
    if (std::find(seen.begin(), seen.end(), shape) != seen.end()) continue;
    const std::vector<AxisGroup> groups = axis_groups(shape, x.shape());
    const std::optional<Ints> before = axes_before(groups, axes);
    if (!before) continue;
    absl::flat_hash_map<Var, Value> known;
    for (const Value& each : leaves) known.emplace(each.var, under_shape(context, each, shape, groups));
    Shape kept;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (!contains(axes, axis)) kept.push_back(x.shape()[axis]);
    }
    return reshape(canonical_fold(context, fold, context.rebuilt(x, known), *before, seen), kept);
  }
  return {};
}

// Null unless `x` is a fold of the same kind that nothing else uses.
Value fold_of_fold(Context& context, const Fold& fold, Value x, const Ints& axes) {
  const auto equation = context.made_by(x);
  if (!equation || equation->primitive != &fold.primitive || !context.is_used_once(x)) return {};
  const Value source = context.operand(*equation, 0);
  Ints both = context.builder().attrs(*equation).ints("axes");
  int kept = 0;
  for (int axis = 0; axis < source.rank(); ++axis) {
    if (contains(both, axis)) continue;
    if (contains(axes, kept++)) both.push_back(axis);
  }
  std::sort(both.begin(), both.end());
  return canonical_fold(context, fold, source, both);
}

Value canonical_fold(Context& context, const Fold& fold, Value x, const Ints& axes, const std::vector<Shape>& seen) {
  if (axes.empty()) return x;
  if (x.aval().size() > 0) {
    if (const Value result = fold_of_fold(context, fold, x, axes)) return result;
    const Values leaves = context.leaves(x, context.is_used_once(x));
    if (const Value result = fold_of_pieces(context, fold, x, leaves, axes)) return result;
    if (const Value result = fold_of_reshaped(context, fold, x, leaves, axes, seen)) return result;
  }
  return fold.bind(context.builder(), x, axes);
}

// ---- slices of pieces -----------------------------------------------------------------------------------------------

// Null unless the slice takes elements of one piece of something that `x` is computed from.
Value slice_of_piece(Context& context, Value x, const Attrs& attrs) {
  const Ints &start = attrs.ints("start"), &limit = attrs.ints("limit"), &stride = attrs.ints("stride");
  const Values leaves = context.leaves(x, context.is_only_sliced(x));
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (start[axis] >= limit[axis]) return {};
    absl::flat_hash_map<Var, Value> known;
    const auto lies_in_piece = [&](const Value& leaf) {
      return piece_holding(context, leaf, axis, start[axis], limit[axis]).has_value();
    };
    if (std::none_of(leaves.begin(), leaves.end(), lies_in_piece)) continue;
    for (const Value& leaf : leaves) known.emplace(leaf.var, part_of(context, leaf, axis, start[axis], limit[axis]));
    Ints rest_start = start, rest_limit = limit;
    rest_start[axis] = 0;
    rest_limit[axis] = limit[axis] - start[axis];
    return slice(context.rebuilt(x, known), rest_start, rest_limit, stride);
  }
  return {};
}

// Null unless `x` is a fold of one array that nothing else uses.
Value slice_of_fold(Context& context, Value x, const Attrs& attrs) {
  const auto equation = context.made_by(x);
  if (!equation || equation->primitive->lowering != Lowering::kReduce || equation->operand_count != 1) return {};
  if (!context.is_used_once(x)) return {};
  const Value source = context.operand(*equation, 0);
  const AttrsPtr fold_attrs = context.builder().attrs_ptr(*equation);
  Ints start, limit, stride;
  int kept = 0;
  for (int axis = 0; axis < source.rank(); ++axis) {
    const bool folded = contains(fold_attrs->ints("axes"), axis);
    start.push_back(folded ? 0 : attrs.ints("start")[kept]);
    limit.push_back(folded ? source.shape()[axis] : attrs.ints("limit")[kept]);
    stride.push_back(folded ? 1 : attrs.ints("stride")[kept]);
    if (!folded) ++kept;
  }
  return context.builder().bind1(*equation->primitive, {slice(source, start, limit, stride)}, fold_attrs);
}

// ---- inner products -------------------------------------------------------------------------------------------------

// An operand of an inner product with its batch axes first, then those that are summed over; others have size 1.
Value in_order(Value x, const Ints& batch, const Ints& contract) {
  Ints permutation = batch;
  permutation.insert(permutation.end(), contract.begin(), contract.end());
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(x.shape()[axis]);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!contains(permutation, axis)) permutation.push_back(axis);
  }
  return reshape(transpose(x, permutation), shape);
}

// A product without free axes, as a sum of products; null for others. Half floats are summed up as float32, as products
// of matrices are.
Value sum_of_products(Context& context, absl::Span<const Value> operands, const Attrs& attrs, const Aval& result) {
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
  ProductAxes(absl::Span<const Value> operands, const Attrs& attrs)
      : contract{attrs.ints("lhs_contract"), attrs.ints("rhs_contract")},
        batch{attrs.ints("lhs_batch"), attrs.ints("rhs_batch")} {
    for (size_t i = 0; i < batch[0].size(); ++i) places.push_back({batch[0][i], batch[1][i]});
    for (const int side : {0, 1}) {
      for (int axis = 0; axis < operands[side].rank(); ++axis) {
        if (contains(contract[side], axis) || contains(batch[side], axis)) continue;
        places.push_back(side == 0 ? std::array<int64_t, 2>{axis, -1} : std::array<int64_t, 2>{-1, axis});
      }
    }
  }
  Ints contract[2], batch[2];
  std::vector<std::array<int64_t, 2>> places;
};

// The product that `x` is, of something that is summed over, when nothing else uses it.
std::optional<Equation> product(Context& context, Value x) {
  const auto equation = context.made_by(x);
  if (!equation || equation->primitive->lowering != Lowering::kDot || !context.is_used_once(x)) return std::nullopt;
  return context.builder().attrs(*equation).ints("lhs_contract").empty() ? std::nullopt : equation;
}

// A product in its canonical form.
Value bind_product(Context& context, Value lhs, Value rhs, const DotDimensions& dimensions) {
  const Value result = dot_general(lhs, rhs, dimensions);
  const AttrsPtr attrs = context.builder().attrs_ptr(*context.made_by(result));
  const Value sum = sum_of_products(context, std::array{lhs, rhs}, *attrs, result.aval());
  return sum ? sum : result;
}

// Null unless a small part of a product is sliced.
Value slice_of_product(Context& context, Value x, const Attrs& attrs, int64_t size) {
  const auto equation = product(context, x);
  if (!equation || size * kSmallPart > x.aval().size()) return {};
  Value operands[] = {context.operand(*equation, 0), context.operand(*equation, 1)};
  const ProductAxes axes(operands, context.builder().attrs(*equation));
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
Value diagonal_of_product(Context& context, Value x, const Attrs& attrs) {
  const auto flattened = context.made_by(x, Arrangement::kReshape);
  if (!flattened || !context.is_used_once(x)) return {};
  Value whole = context.operand(*flattened, 0);
  const int last = x.rank() - 1, rank = whole.rank();
  if (last < 0 || rank != last + 2) return {};
  if (!std::equal(whole.shape().begin(), whole.shape().end() - 2, x.shape().begin())) return {};
  const int64_t columns = whole.shape()[rank - 1], start = attrs.ints("start")[last];
  if (attrs.ints("stride")[last] != columns + 1) return {};
  for (int axis = 0; axis < last; ++axis) {
    if (attrs.ints("start")[axis] != 0 || attrs.ints("stride")[axis] != 1) return {};
    if (attrs.ints("limit")[axis] != x.shape()[axis]) return {};
  }
  const int64_t length = (attrs.ints("limit")[last] - start + columns) / (columns + 1);
  const int64_t first[] = {start / columns, start % columns};
  if (length <= 0 || first[1] + length > columns) return {};
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  while (const auto equation = context.made_by(whole, Arrangement::kTranspose)) {
    if (!context.is_used_once(whole)) return {};
    for (int64_t& axis : order) axis = context.builder().attrs(*equation).ints("permutation")[axis];
    whole = context.operand(*equation, 0);
  }
  const auto equation = product(context, whole);
  if (!equation) return {};
  Value operands[] = {context.operand(*equation, 0), context.operand(*equation, 1)};
  ProductAxes axes(operands, context.builder().attrs(*equation));
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
  const Value inside = bit_and(logical_not(lt(indices, zeros_like(indices))),
                               lt(indices, full_integer(*x.builder, indices.aval(), size)));
  Ints axes(indices.rank());
  std::iota(axes.begin(), axes.end(), axis);
  return select(broadcast(inside, x.shape(), axes), x, zeros_like(x));
}

// What the elements of one axis are when they are first, first + step, first + 2 step and so on.
struct Progression {
  int64_t first = 0, step = 0;
};
std::optional<Progression> progression(Context& context, Value x) {
  const auto equation = context.made_by(x);
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
std::optional<AttrsPtr> as_slice(Context& context, Value x, Value indices, const Attrs& attrs) {
  const int last = x.rank() - 1;
  if (attrs.integer("axis") != last || attrs.integer("batch_dims") != 0) return std::nullopt;
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
Value gather_of_product(Context& context, Value x, Value indices, const Attrs& attrs, int64_t size) {
  if (size * kSmallPart > x.aval().size() || attrs.integer("batch_dims") != 0) return {};
  const auto axis = static_cast<int>(attrs.integer("axis"));
  const int64_t length = x.shape()[axis];
  if (length > std::numeric_limits<int32_t>::max()) return {};
  if (dtype_size(indices.dtype()) < 4) indices = convert(indices, DType::kInt32);
  const auto flattened = context.made_by(x, Arrangement::kReshape);
  if (flattened && context.is_used_once(x) && x.rank() == 1) {
    const Value whole = context.operand(*flattened, 0);
    const auto equation = product(context, whole);
    if (!equation || whole.rank() != 2) return {};
    const Values operands = {context.operand(*equation, 0), context.operand(*equation, 1)};
    const ProductAxes axes(operands, context.builder().attrs(*equation));
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
  ProductAxes axes(operands, context.builder().attrs(*equation));
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

// ---- products of what was transposed --------------------------------------------------------------------------------

// Null unless the free axes of an operand are in another order than in what it was transposed from, and the result is
// smaller than that.
Value product_of_untransposed(Context& context, absl::Span<const Value> operands, const Attrs& attrs) {
  Value sources[] = {operands[0], operands[1]};
  Ints contract[] = {attrs.ints("lhs_contract"), attrs.ints("rhs_contract")};
  Ints batch[] = {attrs.ints("lhs_batch"), attrs.ints("rhs_batch")};
  Ints order;  // the axis of the new product that each axis of the result is
  for (size_t i = 0; i < batch[0].size(); ++i) order.push_back(static_cast<int64_t>(i));
  int64_t products = 1, largest = 0;
  for (const int64_t axis : batch[0]) products *= operands[0].shape()[axis];
  for (int side : {0, 1}) {
    const Value operand = operands[side];
    Ints free;
    for (int axis = 0; axis < operand.rank(); ++axis) {
      if (contains(contract[side], axis) || contains(batch[side], axis)) continue;
      free.push_back(axis);
      products *= operand.shape()[axis];
    }
    if (const auto equation = context.made_by(operand, Arrangement::kTranspose)) {
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

GraphPtr canonical_folds(const Graph& graph) {
  std::optional<Context> context;
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        if (!context) context.emplace(graph, builder);
        const Primitive& primitive = *equation.primitive;
        const auto result = [&]() -> Values {
          if (primitive.lowering == Lowering::kReduce && equation.operand_count == 1) {
            return {canonical_fold(*context, {primitive, attrs}, operands[0], attrs->ints("axes"))};
          }
          if (primitive.arrangement == Arrangement::kSlice) {
            if (const Value part = slice_of_piece(*context, operands[0], *attrs)) return {part};
            if (const Value part = slice_of_fold(*context, operands[0], *attrs)) return {part};
            const int64_t size = graph.aval(equation.first_output).size();
            if (const Value part = slice_of_product(*context, operands[0], *attrs, size)) return {part};
            if (const Value part = diagonal_of_product(*context, operands[0], *attrs)) return {part};
          }
          if (primitive.arrangement == Arrangement::kGather) {
            if (const auto as = as_slice(*context, operands[0], operands[1], *attrs)) {
              if (const Value part = diagonal_of_product(*context, operands[0], **as)) return {part};
            }
            const int64_t size = graph.aval(equation.first_output).size();
            if (const Value part = gather_of_product(*context, operands[0], operands[1], *attrs, size)) return {part};
          }
          if (primitive.lowering == Lowering::kDot) {
            const Value sum = sum_of_products(*context, operands, *attrs, graph.aval(equation.first_output));
            if (sum) return {sum};
            if (const Value product = product_of_untransposed(*context, operands, *attrs)) return {product};
          }
          // In a region that is yet to be expanded sizes are not what the shapes say.
          const bool region = primitive.lowering == Lowering::kExpand;
          return builder.bind(primitive, operands, region ? attrs : map_graphs(attrs, canonical_folds));
        }();
        for (uint32_t k = 0; k < equation.output_count; ++k) context->note(result[k], equation.first_output + k);
        return result;
      });
}

}  // namespace ct
