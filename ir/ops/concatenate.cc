// concatenate, and the three primitives that its derivative is made of.
//
// Along a ragged axis the second piece starts where the valid elements of the first end, at a place that only the
// lengths tell. The transpose of a concatenation needs the same places, but sees neither operands nor their lengths.
// So the tangent of `concatenate` is a `ragged_concatenate`, which is given the lengths as operands; its transpose
// takes the pieces out of the cotangent with `ragged_window`, at offsets computed from them; and the transpose of
// that is `ragged_place`. Outside of a mask region all lengths are the static sizes, and the three expand to
// concatenate, slice and pad.
#include <algorithm>

#include "ir/combinators.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/simplify.h"
#include "ir/terms_ranges.h"
#include "runtime/error.h"
#include "runtime/marked_shapes.h"
#include "runtime/text.h"

namespace ct {
namespace {

Value bind_on_axis(const PrimitiveRef& primitive, absl::Span<const Value> operands, int64_t axis) {
  return operands[0].builder->bind1(*primitive, operands, Attrs::make({{"axis", axis}}));
}

const PrimitiveRef& concatenate_ref() {
  static const PrimitiveRef ref("concatenate");
  return ref;
}
const PrimitiveRef& ragged_concatenate_ref() {
  static const PrimitiveRef ref("ragged_concatenate");
  return ref;
}

Value ragged_part(std::string_view primitive, Value x, Value offset, int64_t axis, int64_t start, int64_t size) {
  return x.builder->bind1(get_primitive(primitive), {x, offset},
                          Attrs::make({{"axis", axis}, {"start", start}, {"size", size}}));
}

// ---- concatenate --------------------------------------------------------------------------------------------------

Aval concatenated(absl::Span<const Aval> pieces, int64_t axis) {
  if (pieces.empty()) {
    throw Error(ErrorKind::kType, "takes one or more operands, got 0").hint("pass at least one array");
  }
  const Aval& first = pieces[0];
  check_axis(axis, first.rank());
  bool weak = true;
  int64_t size = 0;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const Aval& piece = pieces[k];
    if (piece.dtype() != first.dtype()) {
      throw Error(ErrorKind::kDType,
                  concat("operands must have equal dtypes, got ", first.to_string(), " and ", piece.to_string()))
          .hint("convert them to one dtype first");
    }
    Shape expected = first.shape();
    if (piece.rank() == first.rank()) expected[axis] = piece.shape()[axis];
    if (piece.shape() != expected) {
      throw Error(
          ErrorKind::kShape,
          concat("operand ", k, " is ", piece.to_string(), ", operand 0 is ", first.to_string(),
                 ": they may differ only in the size of axis ", axis,
                 marked_shapes({marked_shape(first.shape(), {}), marked_where_unlike(piece.shape(), expected)})))
          .hint("reshape or broadcast them to equal sizes along the other axes");
    }
    if (__builtin_add_overflow(size, piece.shape()[axis], &size)) {
      throw Error(ErrorKind::kMemory, "the result is too large to address")
          .hint("work on the pieces one after the other, with ct.lax.scan");
    }
    weak &= piece.weak();
  }
  Shape shape = first.shape();
  shape[axis] = size;
  return Aval(first.dtype(), shape, weak);
}

Scalar concatenate_element(ElementBuilder& element, const Attrs& attrs, const Aval& aval, int,
                           absl::Span<const Index> position) {
  const int64_t axis = attrs.integer("axis");
  const DType dtype = aval.dtype();
  const int64_t total = aval.shape()[axis];
  // Nothing to read: any position will do.
  if (total == 0) return element.read(0, Indices(position.size(), element.index_constant(0)));
  Scalar result = is_complex(dtype) ? element.constant_complex(dtype, 0, 0)
                  : is_float(dtype) ? element.constant(dtype, 0)
                                    : element.constant_integer(dtype, 0);
  int64_t start = 0;
  for (int k = 0; start < total; ++k) {
    const int64_t limit = start + element.operand_aval(k).shape()[axis];
    Indices at(position.begin(), position.end());
    at[axis] = element.index_offset(position[axis], -start);
    if (start == 0 && limit == total) return element.read(k, at);
    if (start < limit) result = element.read_guarded(k, at, element.in_range(position[axis], start, limit), result);
    start = limit;
  }
  return result;
}

// Lengths of the pieces along the axis, as values.
Values lengths_along(absl::Span<const Value> pieces, int64_t axis) {
  Values lengths;
  for (const Value& piece : pieces) lengths.push_back(dimension_size(piece, static_cast<int>(axis)));
  return lengths;
}

Value ragged_concatenate(absl::Span<const Value> pieces, absl::Span<const Value> lengths, int64_t axis) {
  Values operands(pieces.begin(), pieces.end());
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return bind_on_axis(ragged_concatenate_ref(), operands, axis);
}

// Those of the pieces, with zeros for what is null.
Values filled_tangents(Builder& builder, absl::Span<const Value> pieces, absl::Span<const Value> tangents) {
  Values filled;
  for (size_t k = 0; k < pieces.size(); ++k) filled.push_back(instantiate(builder, tangents[k], pieces[k].aval()));
  return filled;
}

bool all_null(absl::Span<const Value> values) {
  return std::none_of(values.begin(), values.end(), [](const Value& value) { return static_cast<bool>(value); });
}

JvpResult concatenate_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                          const AttrsPtr& attrs) {
  const Value result = builder.bind1(*concatenate_ref(), primals, attrs);
  if (all_null(tangents)) return {{result}, {Value()}};
  const int64_t axis = attrs->integer("axis");
  const Values filled = filled_tangents(builder, primals, tangents);
  if (!keeps_lengths()) return {{result}, {builder.bind1(*concatenate_ref(), filled, attrs)}};
  return {{result}, {ragged_concatenate(filled, lengths_along(primals, axis), axis)}};
}

Values concatenate_transpose(Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
  const auto axis = static_cast<int>(attrs->integer("axis"));
  Values result;
  int64_t start = 0;
  for (size_t k = 0; k < input.avals.size(); ++k) {
    const int64_t limit = start + input.avals[k].dim(axis);
    result.push_back(input.linear(static_cast<int>(k)) ? slice_axis(input.cotangents[0], axis, start, limit) : Value());
    start = limit;
  }
  return result;
}

std::vector<Batched> concatenate_batch(Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                       const AttrsPtr& attrs) {
  const int batch_axis = batch_axis_of(operands);
  Values pieces;
  for (const Batched& operand : operands) pieces.push_back(batch_at(operand, batch_axis, size));
  const int64_t axis = past_batch(attrs->integer("axis"), batch_axis);
  return {{builder.bind1(*concatenate_ref(), pieces, attrs->with("axis", axis)), batch_axis}};
}

// Where piece k starts: a static number of elements behind a sum of lengths (null: nothing).
struct Offset {
  int64_t fixed = 0;
  Value ragged;

  void add(Value length, int64_t bound) {
    if (!length || known_length(length) == bound) {
      fixed += bound;
    } else {
      ragged = ragged ? add_lengths(ragged, length) : length;
    }
  }
  Value value(Builder& builder) const { return ragged ? add_lengths(ragged, fixed) : constant_length(builder, fixed); }
};

// x[offset + i] for i below `size`, whatever lies outside of x reading as zeros. `sign` -1: x[i - offset].
Value shifted(Value x, Value offset, int sign, int64_t size, int64_t axis) {
  const Aval indices(DType::kInt32, {size});
  const Value here = iota(*x.builder, indices, 0);
  const Value by = broadcast_scalar(offset, indices.shape());
  return gather(x, sign > 0 ? here + by : here - by, static_cast<int>(axis), 0);
}

// Pieces behind each other at their real lengths (null: exact).
Masked place_pieces(absl::Span<const Masked> pieces, absl::Span<const Value> lengths, int64_t axis) {
  Builder& builder = *pieces[0].value.builder;
  Values values;
  for (const Masked& piece : pieces) values.push_back(piece.value);
  Value result = bind_on_axis(concatenate_ref(), values, axis);
  const Shape shape = result.shape();
  const Value position = iota(builder, Aval(DType::kInt32, {shape[axis]}), 0);
  Offset offset;
  for (size_t k = 0; k < pieces.size(); ++k) {
    if (offset.ragged) {
      // Later pieces overwrite what is behind the end of this one.
      const Value start = offset.value(builder);
      const Value reached = ge(position, broadcast_scalar(start, position.shape()));
      const Value moved = shifted(pieces[k].value, start, -1, shape[axis], axis);
      result = select(broadcast(reached, shape, {axis}), moved, result);
    }
    offset.add(lengths[k], pieces[k].value.shape()[axis]);
  }
  Masked masked = exact(result);
  for (int other = 0; other < result.rank(); ++other) {
    if (other == axis) {
      if (offset.ragged) masked.lengths[axis] = offset.value(builder);
      continue;
    }
    for (const Masked& piece : pieces) {
      const Meeting meeting{masked, other, piece, other};
      masked.lengths[other] =
          merge_lengths(masked.lengths[other], piece.lengths[other], "concatenate", other, &meeting);
    }
  }
  return masked;
}

// An element of many pieces would look at all of them to find its own: each is written where it belongs instead.
Value simplify_concatenate(const SimplifyInput& m) {
  constexpr size_t kMostPieces = 16, kMostColumns = 24;  // columns: a few elements here and there
  constexpr int64_t kColumn = 8;
  if (m.operands.size() == 1) return m.operands[0];
  const auto axis = static_cast<size_t>(m.attrs->integer("axis"));
  const absl::Span<const int64_t> shape = m.operands[0].shape();
  const bool columns = num_elements(shape.first(axis)) > 1 && num_elements(shape.subspan(axis)) < kColumn;
  if (m.operands.size() <= (columns ? kMostColumns : kMostPieces) || m.output.dtype() == DType::kKey) return {};
  const Aval index(DType::kInt64, {});
  Values starts(m.output.shape().size(), zeros(m.builder, index));
  Value result = zeros(m.builder, m.output);
  int64_t start = 0;
  for (const Value& piece : m.operands) {
    if (start > 0) starts[axis] = full_like(starts[axis], static_cast<double>(start));
    start += piece.shape()[axis];
    if (num_elements(piece.shape()) > 0) result = dynamic_update_slice(result, piece, starts);
  }
  return result;
}

Primitive concatenate_primitive() {
  Primitive result;
  result.name = "concatenate";
  result.attributes = {{"axis", AttributeKind::kInteger}};
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    return Avals{concatenated(operands, attrs.integer("axis"))};
  };
  result.jvp = concatenate_jvp;
  result.transpose = concatenate_transpose;
  result.batch = concatenate_batch;
  result.mask = [](Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    const int64_t axis = attrs->integer("axis");
    Values lengths;
    for (const Masked& piece : operands) lengths.push_back(piece.lengths[axis]);
    return std::vector<Masked>{place_pieces(operands, lengths, axis)};
  };
  result.element = concatenate_element;
  result.simplify = simplify_by(simplify_concatenate);
  result.terms = [](const terms::Input& input) {
    return terms::concatenated(input, static_cast<size_t>(input.attrs.integer("axis")));
  };
  result.arrangement = Arrangement::kConcatenate;
  return result;
}

// ---- ragged_concatenate -------------------------------------------------------------------------------------------

Avals ragged_concatenate_type(absl::Span<const Aval> operands, const Attrs& attrs) {
  if (operands.size() % 2 != 0) {
    throw Error(ErrorKind::kType, concat("takes one length for each piece, got ", operands.size(), " operands"))
        .hint("pass all pieces, then all lengths");
  }
  const size_t pieces = operands.size() / 2;
  for (const Aval& length : operands.subspan(pieces)) {
    if (!same_type(length, Aval(DType::kInt32, {}))) {
      throw Error(ErrorKind::kType, concat("lengths must be int32 scalars, got ", length.to_string()))
          .hint("give one number for each piece: n: int32[]");
    }
  }
  return {concatenated(operands.subspan(0, pieces), attrs.integer("axis"))};
}

JvpResult ragged_concatenate_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                                 const AttrsPtr& attrs) {
  const size_t pieces = primals.size() / 2;
  const Value result = builder.bind1(*ragged_concatenate_ref(), primals, attrs);
  if (all_null(tangents.subspan(0, pieces))) return {{result}, {Value()}};
  const Values filled = filled_tangents(builder, primals.subspan(0, pieces), tangents.subspan(0, pieces));
  return {{result}, {ragged_concatenate(filled, primals.subspan(pieces), attrs->integer("axis"))}};
}

Values ragged_concatenate_transpose(Builder& builder, const TransposeInput& input, const AttrsPtr& attrs) {
  const int64_t axis = attrs->integer("axis");
  const size_t pieces = input.avals.size() / 2;
  Values result(input.avals.size());
  int64_t start = 0;
  Value offset = constant_length(builder, 0);
  for (size_t k = 0; k < pieces; ++k) {
    const int64_t size = input.avals[k].shape()[axis];
    const Value length = input.operands[pieces + k];
    if (input.linear(static_cast<int>(k))) {
      const Value window = ragged_part("ragged_window", input.cotangents[0], offset, axis, start, size);
      result[k] = first_elements(window, length, static_cast<int>(axis));
    }
    start += size;
    if (k + 1 < pieces) offset = k == 0 ? length : add_lengths(offset, length);
  }
  return result;
}

Primitive ragged_concatenate_primitive() {
  Primitive result;
  result.name = "ragged_concatenate";
  result.attributes = {{"axis", AttributeKind::kInteger}};
  result.type = ragged_concatenate_type;
  result.jvp = ragged_concatenate_jvp;
  result.transpose = ragged_concatenate_transpose;
  result.batch = [](Builder&, absl::Span<const Batched> operands, int64_t size, const AttrsPtr& attrs) {
    const size_t pieces = operands.size() / 2;
    const int batch_axis = batch_axis_of(operands.subspan(0, pieces));
    Values values;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (k >= pieces && operands[k].batched()) refuse_batched_lengths("ragged_concatenate");
      values.push_back(k < pieces ? batch_at(operands[k], batch_axis, size) : operands[k].value);
    }
    const int64_t axis = past_batch(attrs->integer("axis"), batch_axis);
    return std::vector<Batched>{{bind_on_axis(ragged_concatenate_ref(), values, axis), batch_axis}};
  };
  result.mask = [](Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    const size_t pieces = operands.size() / 2;
    Values lengths;
    for (const Masked& length : operands.subspan(pieces)) lengths.push_back(length.value);
    return std::vector<Masked>{place_pieces(operands.subspan(0, pieces), lengths, attrs->integer("axis"))};
  };
  result.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    return Values{bind_on_axis(concatenate_ref(), operands.subspan(0, operands.size() / 2), attrs->integer("axis"))};
  };
  result.absent["element"] = "expands to concatenate";
  return result;
}

// ---- ragged_window and ragged_place -------------------------------------------------------------------------------

struct Part {
  explicit Part(const Attrs& attrs)
      : axis(attrs.integer("axis")), start(attrs.integer("start")), size(attrs.integer("size")) {}
  int64_t axis;
  int64_t start;  // what the offset is outside of a mask region
  int64_t size;   // of the result
};

void check_part(absl::Span<const Aval> operands, const Part& part) {
  check_operand_count(operands, 2);
  check_axis(part.axis, operands[0].rank());
  if (!same_type(operands[1], Aval(DType::kInt32, {}))) {
    throw Error(ErrorKind::kType, concat("the offset must be an int32 scalar, got ", operands[1].to_string()))
        .hint("give one number: i: int32[]");
  }
}

Aval resized(const Aval& x, const Part& part) {
  Shape shape = x.shape();
  shape[part.axis] = part.size;
  return x.with_shape(shape);
}

// `inner` elements at `start` lie inside of `outer`.
void check_inside(int64_t start, int64_t inner, int64_t outer) {
  if (start >= 0 && inner >= 0 && inner <= outer && start <= outer - inner) return;
  throw Error(ErrorKind::kIndex, concat(inner, " elements from position ", start, " do not lie inside of ", outer))
      .hint("write fewer of them, or from an earlier position");
}

Primitive ragged_part_primitive(std::string name, std::string other) {
  const PrimitiveRef self(name);
  Primitive result;
  result.name = std::move(name);
  result.attributes = {
      {"axis", AttributeKind::kInteger}, {"size", AttributeKind::kInteger}, {"start", AttributeKind::kInteger}};
  result.jvp = linear_in_first_jvp(self);
  result.transpose = [other](Builder&, const TransposeInput& input, const AttrsPtr& attrs) {
    const Part part(*attrs);
    const int64_t size = input.avals[0].shape()[part.axis];
    return Values{ragged_part(other, input.cotangents[0], input.operands[1], part.axis, part.start, size), {}};
  };
  result.batch = [self](Builder&, absl::Span<const Batched> operands, int64_t, const AttrsPtr& attrs) {
    if (operands[1].batched()) refuse_batched_lengths(self.name());
    const Batched x = operands[0];
    const Part part(*attrs);
    const int64_t axis = past_batch(part.axis, x.axis);
    return std::vector<Batched>{
        {ragged_part(self.name(), x.value, operands[1].value, axis, part.start, part.size), x.axis}};
  };
  return result;
}

Primitive ragged_window_primitive() {
  Primitive result = ragged_part_primitive("ragged_window", "ragged_place");
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    const Part part(attrs);
    check_part(operands, part);
    check_inside(part.start, part.size, operands[0].shape()[part.axis]);
    return Avals{resized(operands[0], part)};
  };
  result.mask = [](Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    Masked x = operands[0];
    const Part part(*attrs);
    x.value = shifted(x.value, operands[1].value, 1, part.size, part.axis);
    x.lengths[part.axis] = Value();
    return std::vector<Masked>{x};
  };
  result.expand = [](Builder&, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    const Part part(*attrs);
    return Values{slice_axis(operands[0], static_cast<int>(part.axis), part.start, part.start + part.size)};
  };
  result.absent["element"] = "expands to slice";
  return result;
}

Primitive ragged_place_primitive() {
  Primitive result = ragged_part_primitive("ragged_place", "ragged_window");
  result.type = [](absl::Span<const Aval> operands, const Attrs& attrs) {
    const Part part(attrs);
    check_part(operands, part);
    check_inside(part.start, operands[0].shape()[part.axis], part.size);
    return Avals{resized(operands[0], part)};
  };
  result.mask = [](Builder&, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
    Masked x = operands[0];
    const Part part(*attrs);
    const Value valid = fill_padded(x, static_cast<int>(part.axis), 0);
    x.value = shifted(valid, operands[1].value, -1, part.size, part.axis);
    x.lengths[part.axis] = Value();
    return std::vector<Masked>{x};
  };
  result.expand = [](Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    const Part part(*attrs);
    const Value x = operands[0];
    Ints low(x.rank(), 0), high(x.rank(), 0);
    low[part.axis] = part.start;
    high[part.axis] = part.size - part.start - x.shape()[part.axis];
    return Values{pad(x, zeros(builder, Aval(x.dtype(), {})), low, high, Ints(x.rank(), 0))};
  };
  result.absent["element"] = "expands to pad";
  return result;
}

}  // namespace

const Primitive& kConcatenate = define(concatenate_primitive());

namespace {
[[maybe_unused]] const Primitive& kRaggedConcatenate = define(ragged_concatenate_primitive());
[[maybe_unused]] const Primitive& kRaggedWindow = define(ragged_window_primitive());
[[maybe_unused]] const Primitive& kRaggedPlace = define(ragged_place_primitive());

}  // namespace

Value concatenate(absl::Span<const Value> xs, int axis) {
  CT_CHECK(!xs.empty());
  return xs[0].builder->bind1(kConcatenate, xs, Attrs::make({{"axis", int64_t{axis}}}));
}

}  // namespace ct
