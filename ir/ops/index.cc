// gather, elements at computed positions along one axis, and the scatters, which combine updates into such elements.
//
//   operand [batch..., before..., N, after...]   indices [batch..., indices...]
//   gather's result and a scatter's updates [batch..., before..., indices..., after...]
//
// Negative indices and those from N on are outside: gather reads 0 there, scatters drop the update. Mask rules lean on
// that: an index that must not count becomes -1.
//
// The scatters differ in how an update is combined with what is there, and in their derivatives: scatter replaces
// (where indices repeat, the last update stays), scatter_add adds, scatter_mul multiplies, scatter_min and scatter_max
// keep one of both. Attribute `unique`, if given and true, promises that indices inside [0, N) do not repeat.
#include <algorithm>

#include "ir/associative_scan.h"
#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

AttrsPtr layout_attrs(int axis, int batch_dims) {
  return Attrs::make({{"axis", int64_t{axis}}, {"batch_dims", int64_t{batch_dims}}});
}

Shape gathered_shape(const Aval& operand, const Aval& indices, const Attrs& attrs) {
  if (!is_integer(indices.dtype())) {
    throw Error(ErrorKind::kDType, concat("indices must be integers, got ", indices.to_string()))
        .hint("convert them first, for example with indices.astype('int32')");
  }
  const auto [axis, batch_dims] = GatherAttrs::from(attrs);
  check_axis(axis, operand.rank());
  if (batch_dims < 0 || batch_dims > axis || batch_dims > indices.rank()) {
    throw Error(ErrorKind::kValue, concat(batch_dims, " batch axes do not fit axis ", axis, " of ", operand.to_string(),
                                          " and indices ", indices.to_string()))
        .hint("batch axes come first, in the operand and in the indices, and before the indexed axis");
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (operand.dim(i) != indices.dim(i)) {
      throw Error(ErrorKind::kShape,
                  concat("batch axis ", i, " has size ", operand.dim(i), " in the operand ", operand.to_string(),
                         " and ", indices.dim(i), " in the indices ", indices.to_string()))
          .hint("batch axes must have equal sizes");
    }
  }
  Shape shape(operand.shape().begin(), operand.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin() + batch_dims, indices.shape().end());
  shape.insert(shape.end(), operand.shape().begin() + axis + 1, operand.shape().end());
  return shape;
}

// ---- Tools of the mask rules --------------------------------------------------------------------------------------

// The same indices, signed and wide enough for -1 and for any length.
Value signed_indices(Value indices) {
  const DType dtype = indices.dtype();
  const bool narrow = dtype_size(dtype) < 4 || dtype == DType::kInt32;
  return convert(indices, narrow ? DType::kInt32 : DType::kInt64);
}

Value keep_where(Value predicate, Value indices) {
  return select(predicate, indices, full_integer(*indices.builder, indices.aval(), -1));
}

// ---- gather -------------------------------------------------------------------------------------------------------

Avals gather_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  check_operand_count(operands, 2);
  return {operands[0].with_shape(gathered_shape(operands[0], operands[1], attrs))};
}

Scalar gather_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                      absl::Span<const Index> position) {
  const auto layout = GatherAttrs::from(attrs);
  const Aval& operand = element.operand_aval(0);
  const int index_rank = element.operand_aval(1).rank();
  Indices index_position(position.begin(), position.begin() + layout.batch_dims);
  for (int i = layout.batch_dims; i < index_rank; ++i) index_position.push_back(position[layout.of_index(i)]);
  const Index index = element.index_from(element.read(1, index_position));

  Indices from;
  for (int i = 0; i < operand.rank(); ++i) {
    from.push_back(i == layout.axis ? index : position[layout.of_operand(i, index_rank)]);
  }
  const DType dtype = aval.dtype();
  const Scalar zero = is_complex(dtype) ? element.constant_complex(dtype, 0, 0)
                      : is_float(dtype) ? element.constant(dtype, 0)
                                        : element.constant_integer(dtype, 0);
  return element.read_guarded(0, from, element.in_range(index, 0, operand.dim(layout.axis)), zero);
}

JvpResult gather_jvp(Builder&, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                     const AttrsPtr& attrs) {
  const auto layout = GatherAttrs::from(*attrs);
  const Value result = gather(primals[0], primals[1], layout.axis, layout.batch_dims);
  if (!tangents[0]) return {{result}, {Value()}};
  const Value tangent = with_lengths_of(tangents[0], primals[0], {layout.axis});
  return {{result}, {gather(tangent, primals[1], layout.axis, layout.batch_dims)}};
}

Values gather_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const auto layout = GatherAttrs::from(*attrs);
  const Aval& operand = input.avals[0];
  // Storage formats are summed in float32.
  const DType sum = dtype_info(operand.dtype()).computes ? operand.dtype() : DType::kFloat32;
  const Value nothing = zeros(builder, Aval(sum, operand.shape()));
  const Value scattered =
      scatter_add(nothing, input.operands[1], convert(input.cotangents[0], sum), layout.axis, layout.batch_dims);
  return {convert(scattered, operand.dtype()), {}};
}

std::vector<Batched> gather_batch(Builder&, absl::Span<const Batched> operands, int64_t size, const AttrsPtr& attrs) {
  const auto layout = GatherAttrs::from(*attrs);
  Batched operand = operands[0];
  Batched indices = operands[1];
  if (operand.batched() && indices.batched()) {
    const Value result =
        gather(batch_at(operand, 0, size), batch_at(indices, 0, size), layout.axis + 1, layout.batch_dims + 1);
    return {{result, 0}};
  }
  // One of them alone gets one more free axis, where it is unless that is among the batch axes.
  if (operand.batched()) {
    if (operand.axis < layout.batch_dims) {
      operand = {move_axis(operand.value, operand.axis, layout.batch_dims), layout.batch_dims};
    }
    const int axis = static_cast<int>(past_batch(layout.axis, operand.axis));
    const Value result = gather(operand.value, indices.value, axis, layout.batch_dims);
    const int free_indices = indices.value.rank() - layout.batch_dims;
    return {{result, operand.axis < axis ? operand.axis : operand.axis - 1 + free_indices}};
  }
  if (indices.axis < layout.batch_dims) {
    indices = {move_axis(indices.value, indices.axis, layout.batch_dims), layout.batch_dims};
  }
  return {{gather(operand.value, indices.value, layout.axis, layout.batch_dims), layout.of_index(indices.axis)}};
}

std::vector<Masked> gather_mask(Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const auto layout = GatherAttrs::from(*attrs);
  const Masked& operand = operands[0];
  Value indices = operands[1].value;
  if (const Value length = operand.lengths[layout.axis]) {
    indices = signed_indices(indices);
    const Value limit = broadcast_scalar(convert(length, indices.dtype()), indices.shape());
    indices = keep_where(lt(indices, limit), indices);
  }
  Masked result = exact(gather(operand.value, indices, layout.axis, layout.batch_dims));
  for (int i = 0; i < operand.value.rank(); ++i) {
    if (i != layout.axis) result.lengths[layout.of_operand(i, indices.rank())] = operand.lengths[i];
  }
  for (int i = 0; i < indices.rank(); ++i) {
    const int at = i < layout.batch_dims ? i : layout.of_index(i);
    result.lengths[at] = merge_lengths(result.lengths[at], operands[1].lengths[i], "gather", at);
  }
  return {result};
}

// All elements in their order.
Value simplify_gather(const SimplifyInput& m) {
  const Value x = m.operands[0], indices = m.operands[1];
  const auto [axis, batch_dims] = GatherAttrs::from(*m.attrs);
  const bool all = indices.rank() == 1 && indices.shape()[0] == x.shape()[axis];
  const bool in_order = m.made_by(indices, Arrangement::kCounting) != nullptr;
  return all && in_order && batch_dims == 0 ? x : Value{};
}

}  // namespace

const Primitive& kGather = define({
    .name = "gather",
    .attributes = {{"axis", AttributeKind::kInteger}, {"batch_dims", AttributeKind::kInteger}},
    .type = gather_type,
    .jvp = gather_jvp,
    .transpose = gather_transpose,
    .batch = gather_batch,
    .mask = gather_mask,
    .element = gather_element,
    .simplify = simplify_by(simplify_gather),
    .arrangement = Arrangement::kGather,
});

namespace {

// ---- The scatters: what they share --------------------------------------------------------------------------------

AttrsPtr with_layout(const AttrsPtr& attrs, int axis, int batch_dims) {
  return attrs->with("axis", int64_t{axis})->with("batch_dims", int64_t{batch_dims});
}

// The tangent's length along the indexed axis declared: an update that is dropped because of it has no derivative.
Value with_indexed_length(Value tangent, Value operand, const AttrsPtr& attrs) {
  return with_lengths_of(tangent, operand, {GatherAttrs::from(*attrs).axis});
}

Value gather_like(Value operand, Value indices, const AttrsPtr& attrs) {
  const auto layout = GatherAttrs::from(*attrs);
  return gather(operand, indices, layout.axis, layout.batch_dims);
}

// The sum, with every update that an index brings to one element. Attributes say more than scatter_add_primitive needs.
Value sum_at(Value operand, Value indices, Value updates, const AttrsPtr& attrs) {
  return operand.builder->bind1(kScatterAdd, {operand, indices, updates}, attrs);
}

TypeRule scatter_type(DTypeSet dtypes) {
  return [dtypes](absl::Span<const Aval> operands, const Attrs& attrs) {
    check_operand_count(operands, 3);
    const Aval& operand = operands[0];
    const Aval& updates = operands[2];
    if (dtypes != 0) check_dtype(operand, dtypes);
    ScatterAttrs::from(attrs);
    const Aval expected(operand.dtype(), gathered_shape(operand, operands[1], attrs));
    if (updates.dtype() != operand.dtype()) {
      throw Error(ErrorKind::kDType, concat("updates have dtype ", dtype_name(updates.dtype()), ", the operand ",
                                            dtype_name(operand.dtype())))
          .hint("convert the updates to the operand's dtype");
    }
    if (updates.shape() != expected.shape()) {
      throw Error(ErrorKind::kShape, concat("updates are ", updates.to_string(), ", but operand ", operand.to_string(),
                                            " and indices ", operands[1].to_string(), " need ", expected.to_string()))
          .hint("updates have the operand's shape with the indexed axis replaced by the axes of the indices");
    }
    return Avals{updates.weak() ? operand : operand.strong()};
  };
}

BatchRule scatter_batch(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                            const AttrsPtr& attrs) {
    const auto layout = GatherAttrs::from(*attrs);
    const Batched& indices = operands[1];
    // Shared indices: one more free axis in front. Otherwise one more batch axis.
    const int at = indices.batched() ? 0 : layout.batch_dims;
    const int batch_dims = layout.batch_dims + (indices.batched() ? 1 : 0);
    const Value chosen = indices.batched() ? batch_at(indices, 0, size) : indices.value;
    const Value result =
        builder.bind1(*primitive, {batch_at(operands[0], at, size), chosen, batch_at(operands[2], at, size)},
                      with_layout(attrs, layout.axis + 1, batch_dims));
    return std::vector<Batched>{{result, at}};
  };
}

// Updates at padded indices must not land. What lands behind the valid elements of the operand is padding there.
MaskRule scatter_mask(PrimitiveRef primitive) {
  return
      [primitive = std::move(primitive)](Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
        const auto layout = GatherAttrs::from(*attrs);
        const std::string& name = primitive.name();
        const Masked& operand = operands[0];
        const Masked& updates = operands[2];
        Value indices = operands[1].value;
        const int index_rank = indices.rank();
        for (int i = layout.batch_dims; i < index_rank; ++i) {
          const int at = layout.of_index(i);
          const Value length = merge_lengths(operands[1].lengths[i], updates.lengths[at], name, at);
          if (!length) continue;
          indices = signed_indices(indices);
          indices = keep_where(valid_positions(length, indices.shape(), i), indices);
        }
        Masked result = exact(builder.bind1(*primitive, {operand.value, indices, updates.value}, attrs));
        for (int i = 0; i < operand.value.rank(); ++i) {
          result.lengths[i] = operand.lengths[i];
          if (i == layout.axis) continue;
          const Value other = updates.lengths[layout.of_operand(i, index_rank)];
          result.lengths[i] = merge_lengths(result.lengths[i], other, name, i);
          if (i >= layout.batch_dims) continue;
          result.lengths[i] = merge_lengths(result.lengths[i], operands[1].lengths[i], name, i);
        }
        return std::vector<Masked>{result};
      };
}

// Everything but the derivative.
Primitive scatter_primitive(std::string name, std::optional<ScalarOp> combine, DTypeSet dtypes) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = std::move(name);
  result.attributes = {{"axis", AttributeKind::kInteger},
                       {"batch_dims", AttributeKind::kInteger},
                       {"unique", AttributeKind::kFlag, kOptional}};
  result.type = scatter_type(dtypes);
  result.batch = scatter_batch(self);
  result.mask = scatter_mask(self);
  result.structure = std::make_shared<structures::Scatter>(combine);
  result.absent["element"] = "several updates may meet in one element";
  result.absent["reference"] = "derived from the structure";
  return result;
}

// The jvp of those that are linear in operand and updates together.
JvpRule linear_scatter_jvp(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Value> primals,
                                            absl::Span<const Value> tangents, const AttrsPtr& attrs) {
    const Value operand = primals[0];
    const Value result = builder.bind1(*primitive, primals, attrs);
    if (!tangents[0] && !tangents[2]) return JvpResult{{result}, {Value()}};
    if (!tangents[2] && (*primitive).structure_as<structures::Scatter>()->combine)
      return JvpResult{{result}, {tangents[0]}};
    // Declared on both sides, for the transpose.
    const Value base = with_indexed_length(instantiate(builder, tangents[0], operand.aval()), operand, attrs);
    const Value updates = instantiate(builder, tangents[2], primals[2].aval());
    const Value tangent = builder.bind1(*primitive, {base, primals[1], updates}, attrs);
    return JvpResult{{result}, {with_indexed_length(tangent, operand, attrs)}};
  };
}

// ---- scatter_add --------------------------------------------------------------------------------------------------

Values scatter_add_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  const Value cotangent = input.cotangents[0];
  Values result(3);
  if (input.linear(0)) result[0] = cotangent;
  if (input.linear(2)) result[2] = gather_like(cotangent, input.operands[1], attrs);
  return result;
}

// Into zeros: the updates times a one-hot array.
std::optional<terms::Sum> terms_of_scatter_add(const terms::Input& input) {
  const auto layout = ScatterAttrs::from(input.attrs);
  const int64_t size = input.result.dim(layout.axis);
  if (input.constant(0) != 0.0 || size == 1) return std::nullopt;
  const int index_axes = input.avals[1].rank() - layout.batch_dims;
  terms::Sum result{.mixed = input.operands[2].mixed};
  for (const terms::Term& update : input.operands[2].terms) {
    if (update.factors.size() == terms::Context::kMostFactors) return std::nullopt;
    terms::Term term = input.context.renamed(update);
    terms::Factor hot{.leaf = input.context.variable(input.vars[1]), .one_hot = true, .shape = {}, .indices = {}};
    const auto first = term.axes.begin() + layout.axis;
    for (auto axis = term.axes.begin(); axis != first + index_axes; ++axis) {
      if (axis >= term.axes.begin() + layout.batch_dims && axis < first) continue;
      for (const terms::Index index : *axis) {
        hot.shape.push_back(input.context.size(index));
        hot.indices.push_back(index);
      }
    }
    hot.indices.push_back(input.context.fresh(size));
    term.axes.insert(term.axes.erase(first, first + index_axes), {hot.indices.back()});
    term.factors.push_back(std::move(hot));
    result.terms.push_back(std::move(term));
  }
  return result;
}

Primitive scatter_add_primitive() {
  Primitive result = scatter_primitive("scatter_add", ScalarOp::kAdd, kArithmetic);
  result.jvp = linear_scatter_jvp(PrimitiveRef(result.name));
  result.transpose = scatter_add_transpose;
  result.terms = terms_of_scatter_add;
  return result;
}
}  // namespace

const Primitive& kScatterAdd = define(scatter_add_primitive());

namespace {

// ---- scatter ------------------------------------------------------------------------------------------------------

Ints ints_between(int first, int limit) {
  Ints result;
  for (int i = first; i < limit; ++i) result.push_back(i);
  return result;
}

// Row-major positions of the indices of one batch element, in the shape of the indices.
Value positions_of(Value indices, int batch_dims) {
  Ints shape(indices.shape().begin() + batch_dims, indices.shape().end());
  const Value positions = iota(*indices.builder, Aval(DType::kInt32, {num_elements(shape)}), 0);
  Ints axes;
  for (int axis = batch_dims; axis < indices.rank(); ++axis) axes.push_back(axis);
  return broadcast(reshape(positions, shape), indices.shape(), axes);
}

// The same as last_of_equal, each index compared with all that come after it.
Value last_by_comparing(Value indices, int batch_dims) {
  Ints flat(indices.shape().begin(), indices.shape().begin() + batch_dims);
  flat.push_back(num_elements(absl::MakeConstSpan(indices.shape()).subspan(batch_dims)));
  const Value row = reshape(indices, flat);
  Ints pairs = flat;
  pairs.push_back(flat.back());
  Ints first = ints_between(0, batch_dims + 1), second = first;
  second.back() = batch_dims + 1;
  const Aval positions(DType::kInt32, pairs);
  const Value is_later =
      gt(iota(*indices.builder, positions, batch_dims + 1), iota(*indices.builder, positions, batch_dims));
  const Value is_equal = eq(broadcast(row, pairs, first), broadcast(row, pairs, second));
  const Value named_again = reduce_max(convert(bit_and(is_equal, is_later), DType::kInt32), {batch_dims + 1});
  return keep_where(reshape(eq(named_again, zeros_like(named_again)), indices.shape()), indices);
}

// The indices, -1 in place of all but the last of equal ones.
Value last_of_equal(Value indices, int64_t size, const AttrsPtr& attrs) {
  const auto layout = ScatterAttrs::from(*attrs);
  if (layout.unique || num_elements(absl::MakeConstSpan(indices.shape()).subspan(layout.batch_dims)) <= 1) {
    return indices;
  }
  indices = signed_indices(indices);
  const int64_t count = num_elements(absl::MakeConstSpan(indices.shape()).subspan(layout.batch_dims));
  if (!keeps_lengths() && count * count <= size) return last_by_comparing(indices, layout.batch_dims);
  const Value positions = positions_of(indices, layout.batch_dims);
  Ints table_shape(indices.shape().begin(), indices.shape().begin() + layout.batch_dims);
  table_shape.push_back(size);
  const Value table = zeros(*indices.builder, Aval(DType::kInt32, table_shape));
  const Value last = scatter(table, indices, positions, layout.batch_dims, layout.batch_dims);
  return keep_where(eq(gather(last, indices, layout.batch_dims, layout.batch_dims), positions), indices);
}

Values replace_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const Value cotangent = input.cotangents[0];
  const Value indices = last_of_equal(input.operands[1], input.avals[0].dim(GatherAttrs::from(*attrs).axis), attrs);
  Values result(3);
  // Read before it is overwritten: the scatter can then happen in the cotangent's own memory.
  if (input.linear(2)) result[2] = gather_like(cotangent, indices, attrs);
  if (input.linear(0)) {
    result[0] = builder.bind1(kScatter, {cotangent, indices, zeros(builder, input.avals[2])}, attrs);
  }
  return result;
}

Primitive replacing() {
  Primitive result = scatter_primitive("scatter", std::nullopt, 0);
  result.jvp = linear_scatter_jvp(PrimitiveRef(result.name));
  result.transpose = replace_transpose;
  return result;
}
}  // namespace

const Primitive& kScatter = define(replacing());

namespace {

// ---- scatter_mul --------------------------------------------------------------------------------------------------

// The axes of the indices (from `batch_dims` on), or of the updates (from `axis` on), made one.
Value with_one_index_axis(Value x, int first, int count) {
  Ints shape(x.shape().begin(), x.shape().begin() + first);
  shape.push_back(num_elements(absl::MakeConstSpan(x.shape()).subspan(first, count)));
  shape.insert(shape.end(), x.shape().begin() + first + count, x.shape().end());
  return reshape(x, shape);
}

// For each update the product of the others with the same index. Brought together by sorting, then running products
// from both ends that start anew where the index changes: no division, which zeros would spoil.
Value product_of_others(Value indices, Value updates, const AttrsPtr& attrs) {
  const auto layout = GatherAttrs::from(*attrs);
  const int batch_dims = layout.batch_dims, axis = layout.axis;
  const int index_dims = indices.rank() - batch_dims;
  const Value original = updates;
  indices = signed_indices(indices);
  if (keeps_lengths()) {
    indices = fill_padding(indices, ints_between(batch_dims, indices.rank()), -1);
    updates = fill_padding(updates, ints_between(axis, axis + index_dims), 1);
  }
  indices = with_one_index_axis(indices, batch_dims, index_dims);
  updates = with_one_index_axis(updates, axis, index_dims);
  const int64_t count = updates.shape()[axis];
  const Values sorted =
      sort({indices, iota(*indices.builder, Aval(DType::kInt32, indices.shape()), batch_dims)}, batch_dims, 1);
  const Value order = sorted[1];
  const Value lines = gather(updates, order, axis, batch_dims);

  // Whether the index differs from the one before, and from the one after.
  const Value changes =
      ne(slice_axis(sorted[0], batch_dims, 1, count), slice_axis(sorted[0], batch_dims, 0, count - 1));
  Ints edge_shape(changes.shape().begin(), changes.shape().end());
  edge_shape[batch_dims] = 1;
  const Value edge = full(*indices.builder, Aval(DType::kBool, edge_shape), 1);
  Ints placed = ints_between(0, batch_dims);
  placed.push_back(axis);
  const auto starts_at = [&](std::initializer_list<Value> parts) {
    return broadcast(concatenate(std::vector<Value>(parts), batch_dims), lines.shape(), placed);
  };
  // Products of what comes before each element among those with its index.
  const auto before = [&](Value x, Value starts) {
    const Values scanned = associative_scan({x, starts}, axis, [](const Values& earlier, const Values& later) {
      return Values{select(later[1], later[0], earlier[0] * later[0]), bit_or(earlier[1], later[1])};
    });
    const Value one = full_like(slice_axis(x, axis, 0, 1), 1);
    const Value shifted = concatenate({one, slice_axis(scanned[0], axis, 0, count - 1)}, axis);
    return select(starts, full_like(x, 1), shifted);
  };
  const auto backwards = [&](Value x) { return reverse(x, {axis}); };
  const Value left = before(lines, starts_at({edge, changes}));
  const Value right = backwards(before(backwards(lines), backwards(starts_at({changes, edge}))));
  // Back to where the updates stood.
  const Value places =
      sort({order, iota(*indices.builder, Aval(DType::kInt32, order.shape()), batch_dims)}, batch_dims, 1)[1];
  const Value product = reshape(gather(left * right, places, axis, batch_dims), original.shape());
  return give_lengths_of(product, original, ints_between(axis, axis + index_dims));
}

JvpResult scatter_mul_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                          const AttrsPtr& attrs) {
  const Value operand = primals[0], indices = primals[1], updates = primals[2];
  const Value result = builder.bind1(kScatterMul, primals, attrs);
  Value tangent;
  if (tangents[0]) {
    const Value base = with_indexed_length(tangents[0], operand, attrs);
    tangent = with_indexed_length(builder.bind1(kScatterMul, {base, indices, updates}, attrs), operand, attrs);
  }
  if (tangents[2]) {
    Value factor = gather_like(operand, indices, attrs);
    const auto layout = ScatterAttrs::from(*attrs);
    const auto count = num_elements(absl::MakeConstSpan(indices.shape()).subspan(layout.batch_dims));
    if (!layout.unique && count > 1) factor = factor * product_of_others(indices, updates, attrs);
    const Value base = with_indexed_length(zeros_like(operand), operand, attrs);
    const Value term = sum_at(base, indices, tangents[2] * factor, attrs);
    tangent = add_tangents(tangent, with_indexed_length(term, operand, attrs));
  }
  return {{result}, {tangent}};
}

Primitive scatter_mul_primitive() {
  Primitive result = scatter_primitive("scatter_mul", ScalarOp::kMul, kArithmetic);
  result.jvp = scatter_mul_jvp;
  result.transpose = [](Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
    const Value cotangent = input.cotangents[0];
    return Values{builder.bind1(kScatterMul, {cotangent, input.operands[1], input.operands[2]}, attrs), {}, {}};
  };
  return result;
}
}  // namespace

const Primitive& kScatterMul = define(scatter_mul_primitive());

namespace {

// ---- scatter_min, scatter_max -------------------------------------------------------------------------------------

// 1 where x is the extremum that was kept, else 0. Of NaN the one that spoiled it.
Value is_kept(Value x, Value kept) { return convert(bit_or(eq(x, kept), ne(x, x)), x.dtype()); }

// The tangent of what was kept; the mean of them where several tie.
JvpRule extremum_scatter_jvp(PrimitiveRef primitive) {
  return [primitive = std::move(primitive)](Builder& builder, absl::Span<const Value> primals,
                                            absl::Span<const Value> tangents, const AttrsPtr& attrs) {
    const Value operand = primals[0], indices = primals[1], updates = primals[2];
    const Value result = builder.bind1(*primitive, primals, attrs);
    if (!tangents[0] && !tangents[2]) return JvpResult{{result}, {Value()}};
    const Value old = is_kept(operand, result);
    const Value fresh = is_kept(updates, gather_like(result, indices, attrs));
    const Value count = sum_at(old, indices, fresh, attrs);
    Value tangent = zeros_like(operand);
    if (tangents[0]) tangent = tangents[0] * old;
    if (tangents[2]) {
      const Value base = with_indexed_length(tangent, operand, attrs);
      tangent = with_indexed_length(sum_at(base, indices, tangents[2] * fresh, attrs), operand, attrs);
    }
    return JvpResult{{result}, {tangent / count}};
  };
}

Primitive extremum_scatter(std::string name, ScalarOp combine) {
  Primitive result = scatter_primitive(std::move(name), combine, kOrdered);
  result.jvp = extremum_scatter_jvp(PrimitiveRef(result.name));
  result.absent["transpose"] = "not linear";
  return result;
}
const Primitive& kScatterMin = define(extremum_scatter("scatter_min", ScalarOp::kMin));
const Primitive& kScatterMax = define(extremum_scatter("scatter_max", ScalarOp::kMax));

}  // namespace

GatherAttrs GatherAttrs::from(const Attrs& attrs) {
  const auto number = [&](const char* name) {
    return static_cast<int>(std::clamp<int64_t>(attrs.integer(name), INT32_MIN, INT32_MAX));
  };
  return {number("axis"), number("batch_dims")};
}

ScatterAttrs ScatterAttrs::from(const Attrs& attrs) {
  return {GatherAttrs::from(attrs), attrs.has("unique") && attrs.flag("unique")};
}

Value gather(Value operand, Value indices, int axis, int batch_dims) {
  return operand.builder->bind1(kGather, {operand, indices}, layout_attrs(axis, batch_dims));
}

Value scatter_add(Value operand, Value indices, Value updates, int axis, int batch_dims) {
  return operand.builder->bind1(kScatterAdd, {operand, indices, updates}, layout_attrs(axis, batch_dims));
}

Value scatter(Value operand, Value indices, Value updates, int axis, int batch_dims) {
  return operand.builder->bind1(kScatter, {operand, indices, updates}, layout_attrs(axis, batch_dims));
}

}  // namespace ct
