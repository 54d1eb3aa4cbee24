// sort: lines along an axis put in order by the first `num_keys` operands, the other operands along with them. Equal
// elements keep their order. Attribute `descending`, if given and true, puts the largest first; `count`, if given,
// keeps that many from the start. If `ragged`, the last operand says how many elements of each line there are, as int32
// numbers of its shape with 1 along the axis: those are put in order, and what comes behind stays where it is, or, if
// the compiler says that it is `unread`, is left out.
//
// NaN is above every number and -0 equal to 0, as in jax.lax. The order of several keys is the lexicographic one, and
// so is that of complex numbers.
#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "ir/combinators.h"
#include "ir/element_bits.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "runtime/error.h"
#include "runtime/parallel.h"
#include "runtime/pool.h"
#include "runtime/sort_order.h"
#include "runtime/text.h"

namespace ct {
namespace {

bool is_descending(const Attrs& attrs) { return attrs.has("descending") && attrs.flag("descending"); }
int64_t count_of(const Attrs& attrs, int64_t size) { return attrs.has("count") ? attrs.integer("count") : size; }
bool is_ragged(const Attrs& attrs) { return attrs.has("ragged") && attrs.flag("ragged"); }
bool is_unread(const Attrs& attrs) { return attrs.has("unread") && attrs.flag("unread"); }

// What is sorted, without the lengths.
template <class T>
absl::Span<const T> sorted_operands(absl::Span<const T> operands, const Attrs& attrs) {
  return operands.subspan(0, operands.size() - (is_ragged(attrs) ? 1 : 0));
}

Shape lengths_shape(absl::Span<const int64_t> shape, int axis) {
  Shape result(shape.begin(), shape.end());
  result[axis] = 1;
  return result;
}

void check_lengths(const Aval& lengths, const Aval& first, int axis) {
  const Aval wanted(DType::kInt32, lengths_shape(first.shape(), axis));
  if (same_type(lengths, wanted)) return;
  throw Error(ErrorKind::kType, concat("the lengths of lines along axis ", axis, " of ", first.to_string(), " must be ",
                                       wanted.to_string(), ", got ", lengths.to_string()))
      .hint("give one number for each line");
}

Avals sort_type(absl::Span<const Aval> all, const Attrs& attrs) {
  is_unread(attrs);
  const size_t least = is_ragged(attrs) ? 2 : 1;
  if (all.size() < least) check_operand_count(all, least);
  const absl::Span<const Aval> operands = sorted_operands(all, attrs);
  const Aval& first = operands[0];
  const int64_t axis = attrs.integer("axis");
  const int64_t num_keys = attrs.integer("num_keys");
  is_descending(attrs);
  check_axis(axis, first.rank());
  if (is_ragged(attrs)) check_lengths(all.back(), first, static_cast<int>(axis));
  const int64_t size = first.dim(static_cast<int>(axis));
  const int64_t count = count_of(attrs, size);
  for (const Aval& operand : operands) {
    if (operand.shape() == first.shape()) continue;
    throw Error(ErrorKind::kShape,
                concat("operands must have equal shapes, got ", first.to_string(), " and ", operand.to_string()))
        .hint("broadcast them to one shape first");
  }
  if (num_keys < 1 || num_keys > static_cast<int64_t>(operands.size())) {
    throw Error(ErrorKind::kValue, concat("num_keys is ", num_keys, ", with ", operands.size(), " operands"))
        .hint("the first num_keys operands are compared: at least one, at most all");
  }
  if (count < 0 || count > size) {
    throw Error(ErrorKind::kValue, concat("cannot take ", count, " elements of axis ", axis, " of ", first.to_string()))
        .hint(concat("the axis has ", size, " elements"));
  }
  Avals results;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (static_cast<int64_t>(i) < num_keys) check_dtype(operands[i], kArithmetic);
    Shape shape = operands[i].shape();
    shape[axis] = count;
    results.push_back(operands[i].with_shape(shape));
  }
  return results;
}

// ---- Evaluation ---------------------------------------------------------------------------------------------------

constexpr int64_t kSortingElement = 3;     // nanoseconds, about
constexpr int64_t kLeastShared = 100'000;  // the same, of all lines

std::vector<Tensor> sort_reference(const ReferenceInput& input) {
  const auto axis = static_cast<size_t>(input.attrs.integer("axis"));
  const auto num_keys = static_cast<size_t>(input.attrs.integer("num_keys"));
  const Shape& shape = input.operands[0].shape();
  const int64_t size = shape[axis], count = count_of(input.attrs, size);
  const absl::Span<const int64_t> all(shape);
  const int64_t outer = num_elements(all.subspan(0, axis)), inner = num_elements(all.subspan(axis + 1));
  std::vector<Tensor> results;
  for (size_t i = 0; i < input.output_avals.size(); ++i) results.push_back(input.result(i));
  if (results[0].size() == 0) return results;

  const auto element = [&](const Tensor& tensor, int64_t index) -> void* {
    return tensor.as<std::byte>() + index * dtype_size(tensor.dtype());
  };
  const bool ragged = is_ragged(input.attrs), fills = ragged && !is_unread(input.attrs);
  const auto length_of = [&](int64_t line) {
    if (!ragged) return size;
    return std::clamp<int64_t>(input.operands.back().as<int32_t>()[line], 0, size);
  };
  const auto sort_line = [&](LineSorter& sorter, int64_t line) {
    const int64_t from = line / inner * size * inner + line % inner;
    const int64_t to = line / inner * count * inner + line % inner;
    const int64_t length = length_of(line), sorted = std::min(length, count);
    sorter.set_size(length, sorted);
    absl::InlinedVector<SortKey, 2> keys;
    for (size_t i = 0; i < num_keys; ++i) {
      keys.push_back({input.operands[i].dtype(), element(input.operands[i], from), inner});
    }
    const bool done = results.size() == 1 && sorter.sort_values(keys[0], element(results[0], to), inner);
    if (done && !(fills && sorted < count)) return;
    const absl::Span<const uint32_t> order = done ? absl::Span<const uint32_t>() : sorter.order(keys);
    for (size_t i = 0; i < results.size(); ++i) {
      dispatch_size(dtype_size(results[i].dtype()), [&](auto tag) {
        using T = decltype(tag);
        const T* source = static_cast<const T*>(element(input.operands[i], from));
        T* target = static_cast<T*>(element(results[i], to));
        for (size_t k = 0; k < order.size(); ++k) target[static_cast<int64_t>(k) * inner] = source[order[k] * inner];
        if (!fills) return;
        for (int64_t k = sorted; k < count; ++k) target[k * inner] = source[k * inner];
      });
    }
  };
  // Threads share a line, or, where there are several, the lines.
  const int64_t lines = outer * inner;
  const int64_t parts = std::min<int64_t>(lines, 8 * int64_t{ct::threads()});
  int64_t elements = ragged ? 0 : lines * size;
  for (int64_t line = 0; ragged && line < lines; ++line) elements += length_of(line);
  const int64_t nanoseconds = elements * kSortingElement;
  LineSorter first(size, count, is_descending(input.attrs));
  if (lines == 1 || ct::threads() == 1 || nanoseconds < kLeastShared) {
    for (int64_t line = 0; line < lines; ++line) sort_line(first, line);
    return results;
  }
  parallel_for(parts, nanoseconds, nanoseconds, [&](int64_t part) {
    LineSorter sorter(size, count, is_descending(input.attrs));
    for (int64_t line = lines * part / parts; line < lines * (part + 1) / parts; ++line) sort_line(sorter, line);
  });
  return results;
}

// ---- A sorting network, for GPUs, and few elements in programs that leave this process ------------------------------

// Keys as real arrays: parts of complex numbers one by one.
Values real_keys(absl::Span<const Value> keys) {
  Values result;
  for (const Value& key : keys) {
    if (is_complex(key.dtype())) {
      result.push_back(real(key));
      result.push_back(imag(key));
    } else {
      result.push_back(key);
    }
  }
  return result;
}

Value nan_positions(Value x) { return ne(x, x); }

// What the network moves: the keys, the position, then the operands that are no keys.
struct Columns {
  Values values;
  size_t num_keys = 0;
  bool descending = false;
  bool keeps_padding = false;  // in its order

  // Whether x comes before y, which differ in their positions. What lies behind their line's length is padding, which
  // comes last; a null length: there is none.
  Value before(const Values& x, const Values& y, Value lengths) const {
    const Value is_first = lt(x[num_keys], y[num_keys]);
    Value result = is_first;
    for (size_t k = num_keys; k-- > 0;) {
      const Value a = descending ? y[k] : x[k], b = descending ? x[k] : y[k];
      Value less = lt(a, b), same = eq(a, b);
      if (is_float(a.dtype())) {
        less = bit_or(less, bit_and(nan_positions(b), logical_not(nan_positions(a))));
        same = bit_or(same, bit_and(nan_positions(a), nan_positions(b)));
      }
      result = bit_or(less, bit_and(same, result));
    }
    if (!lengths) return result;
    const Value x_is_padding = ge(x[num_keys], lengths), y_is_padding = ge(y[num_keys], lengths);
    if (keeps_padding) result = select(x_is_padding, is_first, result);
    return bit_or(lt(x_is_padding, y_is_padding), bit_and(eq(x_is_padding, y_is_padding), result));
  }
};

// Bitonic: runs of doubling length, ascending and descending by turns, each merged by exchanges at halving distances.
// The position as the last key makes it stable. Here of few elements: each round is written out, by pairs, of many
// lines side by side.
void run_short_network(Builder& builder, Columns& columns, Value lengths) {
  const Shape shape(columns.values[0].shape().begin(), columns.values[0].shape().end());
  const auto axis = static_cast<int>(shape.size()) - 1;
  for (int64_t run = 2; run <= shape[axis]; run *= 2) {
    for (int64_t gap = run / 2; gap >= 1; gap /= 2) {
      Shape paired = shape;
      paired[axis] = shape[axis] / (2 * gap);
      paired.insert(paired.end(), {2, gap});
      const auto half = [&](Value column, int64_t which) {
        return slice_axis(reshape(column, paired), axis + 1, which, which + 1);
      };
      Values x, y;
      for (const Value& column : columns.values) {
        x.push_back(half(column, 0));
        y.push_back(half(column, 1));
      }
      const Aval block(DType::kInt32, x[0].shape());
      const Value run_of_block = div(iota(builder, block, axis), full_integer(builder, block, run / (2 * gap)));
      const Value two = full_integer(builder, block, 2);
      const Value is_descending = eq(rem(run_of_block, two), full_integer(builder, block, 1));
      const Value exchanged = bit_xor(columns.before(y, x, lengths ? half(lengths, 0) : lengths), is_descending);
      for (size_t i = 0; i < columns.values.size(); ++i) {
        const Value first = select(exchanged, y[i], x[i]), second = select(exchanged, x[i], y[i]);
        columns.values[i] = reshape(concatenate({first, second}, axis + 1), shape);
      }
    }
  }
}

// The same round of any number of elements, whose run and distance are int32 scalars: each element and the one that it
// may change places with decide alike.
void run_round(Builder& builder, Columns& columns, Value lengths, Value run, Value gap) {
  const absl::Span<const int64_t> shape = columns.values[0].shape();
  const auto axis = static_cast<int>(shape.size()) - 1;
  const Value items = iota(builder, Aval(DType::kInt32, {shape[axis]}), 0);
  const auto has_bit = [&](Value bit) {
    return ne(bit_and(items, broadcast_scalar(bit, items.shape())), zeros_like(items));
  };
  const Value others = bit_xor(items, broadcast_scalar(gap, items.shape()));
  Values moved;
  for (const Value& column : columns.values) moved.push_back(gather(column, others, axis, 0));
  const Value comes_first = eq(has_bit(gap), has_bit(run));
  const Value stays = eq(columns.before(columns.values, moved, lengths), broadcast(comes_first, shape, {axis}));
  for (size_t i = 0; i < moved.size(); ++i) columns.values[i] = select(stays, columns.values[i], moved[i]);
}

// A loop over rounds: two of them an iteration, after which arrays are where they were.
void run_long_network(Builder& builder, Columns& columns, Value lengths) {
  const int64_t length = columns.values[0].shape().back();
  const auto scalar = [](Builder& of, int64_t value) { return full_integer(of, Aval(DType::kInt32, {}), value); };
  // Distances halve; behind the last one comes a run of twice the length.
  const auto next = [&](Builder& of, Value& run, Value& gap) {
    const Value is_last = eq(gap, scalar(of, 1)), half = div(gap, scalar(of, 2));
    gap = select(is_last, run, half);
    run = select(is_last, mul(run, scalar(of, 2)), run);
  };
  int64_t rounds = 0, of_run = 0;
  for (int64_t run = 2; run <= length; run *= 2) rounds += ++of_run;
  Value run = scalar(builder, 2), gap = scalar(builder, 1);
  if (rounds % 2 != 0) {
    run_round(builder, columns, lengths, run, gap);
    next(builder, run, gap);
  }

  Values operands;
  if (lengths) operands.push_back(lengths);
  const auto constants = static_cast<std::ptrdiff_t>(operands.size());
  operands.insert(operands.end(), columns.values.begin(), columns.values.end());
  operands.insert(operands.end(), {run, gap});
  Avals avals;
  for (const Value& operand : operands) avals.push_back(operand.aval().strong());
  const GraphPtr two_rounds = build_graph(avals, [&](Builder& inner, const Values& inputs) {
    Columns inside = columns;
    inside.values.assign(inputs.begin() + constants, inputs.end() - 2);
    Value inner_run = inputs[inputs.size() - 2], inner_gap = inputs.back();
    for (int i = 0; i < 2; ++i) {
      run_round(inner, inside, constants > 0 ? inputs[0] : Value(), inner_run, inner_gap);
      next(inner, inner_run, inner_gap);
    }
    inside.values.insert(inside.values.end(), {inner_run, inner_gap});
    return inside.values;
  });
  Values sorted = builder.bind(get_primitive("scan"), operands,
                               Attrs::make({{"graph", two_rounds},
                                            {"length", rounds / 2},
                                            {"num_carries", static_cast<int64_t>(operands.size()) - constants},
                                            {"num_constants", int64_t{constants}},
                                            {"reverse", false}}));
  columns.values.assign(sorted.begin(), sorted.end() - 2);
}

constexpr int64_t kShort = 32;

Values sort_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs) {
  const auto axis = static_cast<int>(attrs->integer("axis"));
  const auto num_keys = static_cast<size_t>(attrs->integer("num_keys"));
  const int last = operands[0].rank() - 1;
  const int64_t size = operands[0].shape()[axis];
  int64_t length = 1;
  while (length < size) length *= 2;

  Values moved;
  for (const Value& operand : sorted_operands(operands, *attrs)) {
    const Value x = move_axis(operand, axis, last);
    Ints none(x.rank(), 0), high(x.rank(), 0);
    high[last] = length - size;
    moved.push_back(pad(x, zeros(builder, Aval(x.dtype(), {})), none, high, none));
  }
  const Value positions = iota(builder, Aval(DType::kInt32, moved[0].shape()), last);
  Value lengths;
  if (is_ragged(*attrs)) {
    const Value by_line = move_axis(operands.back(), axis, last);
    const Shape lines(by_line.shape().begin(), by_line.shape().end() - 1);
    Ints axes;
    for (int i = 0; i < last; ++i) axes.push_back(i);
    lengths = broadcast(reshape(by_line, lines), positions.shape(), axes);
  } else if (size < length) {
    lengths = full_integer(builder, positions.aval(), size);
  }
  const absl::Span<const Value> keys = absl::MakeConstSpan(moved).subspan(0, num_keys);
  Columns columns{.values = real_keys(keys),
                  .num_keys = 0,
                  .descending = is_descending(*attrs),
                  .keeps_padding = is_ragged(*attrs)};
  columns.num_keys = columns.values.size();
  columns.values.push_back(positions);
  columns.values.insert(columns.values.end(), moved.begin() + static_cast<std::ptrdiff_t>(num_keys), moved.end());
  (length <= kShort ? run_short_network : run_long_network)(builder, columns, lengths);

  Values results;
  auto column = columns.values.begin();
  for (const Value& key : keys) {
    const Value first = *column++;
    results.push_back(is_complex(key.dtype()) ? make_complex(first, *column++) : first);
  }
  results.insert(results.end(), column + 1, columns.values.end());
  for (Value& result : results) {
    result = move_axis(slice_axis(result, last, 0, count_of(*attrs, size)), last, axis);
  }
  return results;
}

// ---- Transforms ---------------------------------------------------------------------------------------------------

// The positions, sorted along, say where tangents go.
JvpResult sort_jvp(Builder& builder, absl::Span<const Value> primals, absl::Span<const Value> tangents,
                   const AttrsPtr& attrs) {
  const bool moves = std::any_of(tangents.begin(), tangents.end(), [](const Value& t) { return static_cast<bool>(t); });
  if (!moves) {
    Values outputs = builder.bind(kSort, primals, attrs);
    return {outputs, Values(outputs.size())};
  }
  const auto axis = static_cast<int>(attrs->integer("axis"));
  const int last = primals[0].rank() - 1;
  Values operands(primals.begin(), primals.end());
  operands.insert(operands.end() - (is_ragged(*attrs) ? 1 : 0),
                  iota(builder, Aval(DType::kInt32, primals[0].shape()), axis));
  Values outputs = builder.bind(kSort, operands, attrs);
  const Value order = move_axis(outputs.back(), axis, last);
  outputs.pop_back();
  Values results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value tangent = tangents[i];
    if (tangent) {
      tangent = move_axis(with_lengths_of(tangent, primals[i], {axis}), axis, last);
      tangent = move_axis(gather(tangent, order, last, last), last, axis);
    }
    results.push_back(tangent);
  }
  return {outputs, results};
}

std::vector<Batched> sort_batch(Builder& builder, absl::Span<const Batched> operands, int64_t size,
                                const AttrsPtr& attrs) {
  const int axis = batch_axis_of(operands);
  Values values;
  for (const Batched& operand : operands) values.push_back(batch_at(operand, axis, size));
  const AttrsPtr moved = attrs->with("axis", past_batch(attrs->integer("axis"), axis));
  std::vector<Batched> results;
  for (const Value& output : builder.bind(kSort, values, moved)) results.push_back({output, axis});
  return results;
}

// Of ragged lines the elements that there are, whatever lies behind: real infinities and NaN stay in front of it.
std::vector<Masked> sort_mask(Builder& builder, absl::Span<const Masked> operands, const AttrsPtr& attrs) {
  const auto axis = static_cast<int>(attrs->integer("axis"));
  const Shape& shape = operands[0].value.shape();
  Values values, lengths(shape.size());
  for (const Masked& operand : operands) {
    values.push_back(operand.value);
    for (size_t i = 0; i < shape.size(); ++i) {
      lengths[i] = merge_lengths(lengths[i], operand.lengths[i], "sort", static_cast<int>(i));
    }
  }
  AttrsPtr ragged = attrs;
  if (lengths[axis]) {
    const Value length = broadcast_scalar(lengths[axis], lengths_shape(shape, axis));
    if (is_ragged(*attrs)) {
      values.back() = min(values.back(), length);
    } else {
      values.push_back(length);
      ragged = attrs->with("ragged", true);
    }
  }
  const Values outputs = builder.bind(kSort, values, ragged);
  // A fixed number of elements is exact.
  if (count_of(*attrs, shape[axis]) != shape[axis]) lengths[axis] = Value();
  std::vector<Masked> results;
  for (const Value& output : outputs) results.push_back({output, lengths});
  return results;
}

Primitive sorting() {
  Primitive result;
  result.name = "sort";
  result.attributes = {{"axis", AttributeKind::kInteger},
                       {"count", AttributeKind::kInteger, kOptional},
                       {"descending", AttributeKind::kFlag, kOptional},
                       {"num_keys", AttributeKind::kInteger},
                       {"ragged", AttributeKind::kFlag, kOptional},
                       {"unread", AttributeKind::kFlag, kOptional}};
  result.several_results = true;
  result.type = sort_type;
  result.jvp = sort_jvp;
  result.batch = sort_batch;
  result.mask = sort_mask;
  result.reference = sort_reference;
  result.expand = sort_expand;
  result.structure = std::make_shared<structures::HostCall>();
  result.absent["transpose"] = "not linear: derivatives gather at the sorted positions";
  result.absent["element"] =
      "elements mix: evaluated by the reference, by loops (jit/kernels), or expanded to a network";
  return result;
}
}  // namespace

const Primitive& kSort = define(sorting());

Values sort(absl::Span<const Value> operands, int axis, int num_keys) {
  return operands[0].builder->bind(kSort, operands,
                                   Attrs::make({{"axis", int64_t{axis}}, {"num_keys", int64_t{num_keys}}}));
}

}  // namespace ct
