// One form for folds that are written in several ways, so that equal programs cost the same:
//
//   a fold over what was reshaped (ravel)                  a fold over the axes it had before
//   a fold over what was concatenated (ravel_pytree)       a fold of each piece, combined
//   a fold of a fold                                       one over the axes of both
//   a slice of what was concatenated                       that of the piece in which it lies
//   a slice of a fold                                      a fold of the slice
//
// Those of products are in products.cc.
//
// Between the fold, or the slice, and what was reshaped or concatenated there may be element-wise equations, as long as
// nothing else uses what these give. Sums are taken in another order; everything else keeps its bits.
#include "transforms/folds.h"

#include <algorithm>
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
  const auto found = by_operation->find(fold.structure_as<structures::Fold>()->combine);
  return found == by_operation->end() ? nullptr : found->second;
}

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

}  // namespace

FoldContext::FoldContext(const Graph& graph, Builder& builder) : builder_(builder) {
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

void FoldContext::note(Value value, Var var) {
  Uses& uses = uses_[value.var];
  uses.equations += used_by_[var].equations;
  uses.slices += used_by_[var].slices;
}

FoldContext::Uses FoldContext::uses_of(Value value) const {
  const auto found = uses_.find(value.var);
  return found == uses_.end() ? Uses{1, 0} : found->second;
}

Values FoldContext::leaves(Value value, bool through_value) {
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

Value FoldContext::rebuilt(Value value, absl::flat_hash_map<Var, Value>& known) {
  if (const auto found = known.find(value.var); found != known.end()) return found->second;
  const Equation equation = *made_by(value);
  const AttrsPtr attrs = builder_.attrs_ptr(equation);
  Values operands;
  for (size_t i = 0; i < equation.operand_count; ++i) operands.push_back(rebuilt(operand(equation, i), known));
  const Value result = builder_.bind1(*equation.primitive, operands, attrs);
  known.emplace(value.var, result);
  return result;
}

namespace {

// ---- folds of pieces ------------------------------------------------------------------------------------------------

// Whether `x` was concatenated along this axis, by which equation.
std::optional<Equation> concatenation(FoldContext& context, Value x, int axis) {
  const auto equation = made_by(x, Arrangement::kConcatenate);
  if (!equation) return std::nullopt;
  return context.builder().attrs(*equation).integer("axis") == axis ? equation : std::nullopt;
}

// The piece of something concatenated along an axis in which the elements [start, limit) lie, and where it begins.
struct Piece {
  Value value;
  int64_t begin = 0;
};
std::optional<Piece> piece_holding(FoldContext& context, Value x, int axis, int64_t start, int64_t limit) {
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
Value part_of(FoldContext& context, Value x, int axis, int64_t start, int64_t limit) {
  if (const auto piece = piece_holding(context, x, axis, start, limit)) {
    return part_of(context, piece->value, axis, start - piece->begin, limit - piece->begin);
  }
  if (start == 0 && limit == x.shape()[axis]) return x;
  return slice_axis(x, axis, start, limit);
}

// Null unless something that `x` is computed from was concatenated along an axis of the fold.
Value fold_of_pieces(FoldContext& context, const Fold& fold, Value x, const Values& leaves, const Ints& axes) {
  const Primitive* const combine = combiner(fold.primitive);
  if (combine == nullptr) return {};
  int axis = -1;
  Ints bounds;
  for (const Value& leaf : leaves) {
    const auto equation = made_by(leaf, Arrangement::kConcatenate);
    if (!equation) continue;
    const auto along = static_cast<int>(context.builder().attrs(*equation).integer("axis"));
    if (!contains_axis(axes, along) || (axis >= 0 && along != axis)) continue;
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
bool is_computed_in_loops(FoldContext& context, Value x) {
  const auto equation = made_by(x);
  if (!equation) return false;
  const Primitive& primitive = *equation->primitive;
  if (primitive.is<structures::Product>()) return context.builder().attrs(*equation).ints("lhs_contract").empty();
  return primitive.computes_elements() && equation->operand_count > 0;
}

// The axes of `shape` that are those of `axes` under the other shape; none if a group is folded in part.
std::optional<Ints> axes_before(const std::vector<AxisGroup>& groups, const Ints& axes) {
  Ints result;
  for (const AxisGroup& group : groups) {
    const auto folded = [&](int64_t axis) { return contains_axis(axes, axis); };
    if (std::none_of(group.to.begin(), group.to.end(), folded)) continue;
    if (!std::all_of(group.to.begin(), group.to.end(), folded)) return std::nullopt;
    result.insert(result.end(), group.from.begin(), group.from.end());
  }
  return result;
}

// `x` under the shape that the groups lead from. What was broadcast along whole groups is broadcast anew.
Value under_shape(FoldContext& context, Value x, absl::Span<const int64_t> shape,
                  const std::vector<AxisGroup>& groups) {
  const auto equation = made_by(x);
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
Value fold_of_reshaped(FoldContext& context, const Fold& fold, Value x, const Values& leaves, const Ints& axes,
                       std::vector<Shape> seen) {
  seen.emplace_back(x.shape().begin(), x.shape().end());
  for (const Value& leaf : leaves) {
    const auto equation = made_by(leaf, Arrangement::kReshape);
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
      if (!contains_axis(axes, axis)) kept.push_back(x.shape()[axis]);
    }
    return reshape(canonical_fold(context, fold, context.rebuilt(x, known), *before, seen), kept);
  }
  return {};
}

// Null unless `x` is a fold of the same kind that nothing else uses.
Value fold_of_fold(FoldContext& context, const Fold& fold, Value x, const Ints& axes) {
  const auto equation = made_by(x);
  if (!equation || equation->primitive != &fold.primitive || !context.is_used_once(x)) return {};
  const Value source = context.operand(*equation, 0);
  Ints both = context.builder().attrs(*equation).ints("axes");
  int kept = 0;
  for (int axis = 0; axis < source.rank(); ++axis) {
    if (contains_axis(both, axis)) continue;
    if (contains_axis(axes, kept++)) both.push_back(axis);
  }
  std::sort(both.begin(), both.end());
  return canonical_fold(context, fold, source, both);
}

}  // namespace

Value canonical_fold(FoldContext& context, const Fold& fold, Value x, const Ints& axes,
                     const std::vector<Shape>& seen) {
  if (axes.empty()) return x;
  if (x.aval().size() > 0) {
    if (const Value result = fold_of_fold(context, fold, x, axes)) return result;
    if (fold.primitive.structure_as<structures::Fold>()->combine == ScalarOp::kAdd) {
      if (const Value result = sum_of_batch(context, x, axes)) return result;
    }
    const Values leaves = context.leaves(x, context.is_used_once(x));
    if (const Value result = fold_of_pieces(context, fold, x, leaves, axes)) return result;
    if (const Value result = fold_of_reshaped(context, fold, x, leaves, axes, seen)) return result;
  }
  return fold.bind(context.builder(), x, axes);
}

namespace {

// ---- slices of pieces -----------------------------------------------------------------------------------------------

// Null unless the slice takes elements of one piece of something that `x` is computed from.
Value slice_of_piece(FoldContext& context, Value x, const Attrs& attrs) {
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
Value slice_of_fold(FoldContext& context, Value x, const Attrs& attrs) {
  const auto equation = made_by(x);
  if (!equation || !equation->primitive->is<structures::Fold>() || equation->operand_count != 1) return {};
  if (!context.is_used_once(x)) return {};
  const Value source = context.operand(*equation, 0);
  const AttrsPtr fold_attrs = context.builder().attrs_ptr(*equation);
  Ints start, limit, stride;
  int kept = 0;
  for (int axis = 0; axis < source.rank(); ++axis) {
    const bool folded = contains_axis(fold_attrs->ints("axes"), axis);
    start.push_back(folded ? 0 : attrs.ints("start")[kept]);
    limit.push_back(folded ? source.shape()[axis] : attrs.ints("limit")[kept]);
    stride.push_back(folded ? 1 : attrs.ints("stride")[kept]);
    if (!folded) ++kept;
  }
  return context.builder().bind1(*equation->primitive, {slice(source, start, limit, stride)}, fold_attrs);
}

}  // namespace

GraphPtr canonical_folds(const Graph& graph) {
  std::optional<FoldContext> context;
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        if (!context) context.emplace(graph, builder);
        const Primitive& primitive = *equation.primitive;
        const auto result = [&]() -> Values {
          if (primitive.is<structures::Fold>() && equation.operand_count == 1) {
            return {canonical_fold(*context, {primitive, attrs}, operands[0], attrs->ints("axes"))};
          }
          if (primitive.arrangement == Arrangement::kSlice) {
            if (const Value part = slice_of_piece(*context, operands[0], *attrs)) return {part};
            if (const Value part = slice_of_fold(*context, operands[0], *attrs)) return {part};
            const int64_t size = graph.aval(equation.first_output).size();
            if (const Value part = slice_of_product(*context, operands[0], *attrs, size)) return {part};
          }
          if (primitive.arrangement == Arrangement::kGather) {
            const int64_t size = graph.aval(equation.first_output).size();
            if (const Value part = gather_of_product(*context, operands[0], operands[1], *attrs, size)) return {part};
          }
          if (primitive.is<structures::Product>()) {
            const Aval aval = graph.aval(equation.first_output);
            if (const Value product = canonical_product(*context, operands, *attrs, aval)) return {product};
          }
          // In a region that is yet to be expanded sizes are not what the shapes say.
          const bool region = primitive.stands_for_others();
          return builder.bind(primitive, operands, region ? attrs : map_graphs(attrs, canonical_folds));
        }();
        for (uint32_t k = 0; k < equation.output_count; ++k) context->note(result[k], equation.first_output + k);
        return result;
      });
}

}  // namespace ct
