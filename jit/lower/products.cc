// Matrix products, running folds, scatters and updates of slices.
#include <algorithm>

#include "ir/error.h"
#include "jit/loop/product_loops.h"
#include "jit/lower/frame.h"

namespace ct::jit {
namespace {

// An axis of a product, with its strides in the two operands and the result (0 where it does not occur).
struct Axis {
  int64_t size;
  int64_t lhs = 0, rhs = 0, out = 0;
};

// Drops axes of size 1 and joins neighbours that are one run in everything they occur in.
std::vector<Axis> joined(const std::vector<Axis>& axes) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!result.empty()) {
      Axis& outer = result.back();
      if (outer.lhs == axis.lhs * axis.size && outer.rhs == axis.rhs * axis.size && outer.out == axis.out * axis.size) {
        outer = {outer.size * axis.size, axis.lhs, axis.rhs, axis.out};
        continue;
      }
    }
    result.push_back(axis);
  }
  return result;
}

// Takes out the longest axis, for the matrix product; what is left are loops around it.
Axis take_longest(std::vector<Axis>& axes) {
  if (axes.empty()) return {1};
  auto at = std::max_element(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.size <= b.size; });
  const Axis axis = *at;
  axes.erase(at);
  return axis;
}

// Into how many parts, alike, the sums of a product fall along an axis of so many steps, so that threads have something
// to share: 1 where the results themselves are enough. It follows from shapes alone, as do the results.
int64_t parts_of(DType dtype, int64_t products, int64_t rows, int64_t columns, int64_t steps, int64_t outermost) {
  constexpr int64_t kMost = 16, kLeastWork = 1 << 20, kLeastSteps = 128, kManyResults = 1 << 11;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return 1;
  if (products * rows * columns > kManyResults || products >= kMost) return 1;
  const int64_t work = products * rows * columns * steps;
  for (int64_t parts = std::min({kMost, work / kLeastWork, steps / kLeastSteps}); parts > 1; --parts) {
    if (outermost % parts == 0) return parts;
  }
  return 1;
}

bool is_half(DType dtype) { return is_float(dtype) && dtype_size(dtype) < 4; }

}  // namespace

Frame::Operand Frame::operand(Var var) {
  if (!fusion_.stored[var] && fusion_.views[var]) {
    const View& view = *fusion_.views[var];
    Place place = stored_place(view.base);
    place.offset += view.offset;
    return {place, view.strides};
  }
  return {stored_place(var), dense_strides(graph_.aval(var).shape())};
}

void Frame::emit_dot(const Equation& equation) {
  const Var product = equation.first_output;
  const Var transposed = fusion_.transposed[product];
  const Var var = transposed != kNoVar ? transposed : product;
  const Aval& aval = graph_.aval(product);
  const DotAxes axes = dot_axes(graph_, equation);
  const Operand lhs = operand(graph_.operands(equation)[0]);
  const Operand rhs = operand(graph_.operands(equation)[1]);
  const Shape& lhs_shape = graph_.aval(graph_.operands(equation)[0]).shape();
  const Shape& rhs_shape = graph_.aval(graph_.operands(equation)[1]).shape();
  const Shape out_strides =
      transposed != kNoVar ? transposed_strides(graph_, product, graph_.equations()[fusion_.definition[transposed]])
                           : dense_strides(aval.shape());

  std::vector<Axis> batch, m, n, k;
  size_t out_axis = 0;
  for (size_t i = 0; i < axes.lhs_batch.size(); ++i, ++out_axis) {
    batch.push_back({lhs_shape[axes.lhs_batch[i]], lhs.strides[axes.lhs_batch[i]], rhs.strides[axes.rhs_batch[i]],
                     out_strides[out_axis]});
  }
  for (int64_t axis : axes.lhs_free) m.push_back({lhs_shape[axis], lhs.strides[axis], 0, out_strides[out_axis++]});
  for (int64_t axis : axes.rhs_free) n.push_back({rhs_shape[axis], 0, rhs.strides[axis], out_strides[out_axis++]});
  for (size_t i = 0; i < axes.lhs_contract.size(); ++i) {
    k.push_back(
        {lhs_shape[axes.lhs_contract[i]], lhs.strides[axes.lhs_contract[i]], rhs.strides[axes.rhs_contract[i]]});
  }
  // Sums may be taken in any order of the axes.
  std::stable_sort(k.begin(), k.end(), [](const Axis& a, const Axis& b) { return a.lhs > b.lhs; });

  if (aval.size() == 0) return ensure_place(var);
  loop::Index lhs_at = lhs.place.offset, rhs_at = rhs.place.offset, out_at = 0;
  auto around = [&](const std::vector<Axis>& loops, loop::LoopOptions options, const std::function<void()>& body) {
    std::function<void(size_t)> nest = [&](size_t i) {
      if (i == loops.size()) return body();
      const loop::Index saved[] = {lhs_at, rhs_at, out_at};
      b_.for_each(loops[i].size, options, [&](loop::Index index) {
        lhs_at += index * loops[i].lhs;
        rhs_at += index * loops[i].rhs;
        out_at += index * loops[i].out;
        nest(i + 1);
      });
      lhs_at = saved[0];
      rhs_at = saved[1];
      out_at = saved[2];
    };
    nest(0);
  };

  batch = joined(batch);
  if (axes.m == 1 && axes.n == 1) {
    // Inner products: folds, with half floats summed as float32.
    const DType wide = is_half(aval.dtype()) ? DType::kFloat32 : aval.dtype();
    k = joined(k);
    std::function<loop::Scalar(size_t, loop::Index, loop::Index)> fold = [&](size_t i, loop::Index l, loop::Index r) {
      if (i == k.size()) {
        return b_.apply(ScalarOp::kMul, b_.convert(b_.load(lhs.place.buffer, l), wide),
                        b_.convert(b_.load(rhs.place.buffer, r), wide));
      }
      return b_.reduce(k[i].size, {.vectorize = true}, ScalarOp::kAdd, b_.constant(wide, 0),
                       [&](loop::Index index) { return fold(i + 1, l + index * k[i].lhs, r + index * k[i].rhs); });
    };
    int64_t each = 1;
    for (size_t i = 1; i < k.size(); ++i) each *= k[i].size;
    const Chunks chunks = batch.empty() && !k.empty() && !options_.kernels ? chunks_of(k[0].size, each) : Chunks{};
    if (chunks.count > 1) {
      const loop::BufferId partial = b_.temporary(wide, chunks.count, 0);
      const auto run = [&](int64_t size, const loop::Index& start) {
        return b_.reduce(size, {.vectorize = true}, ScalarOp::kAdd, b_.constant(wide, 0), [&](loop::Index index) {
          index += start;
          return fold(1, lhs_at + index * k[0].lhs, rhs_at + index * k[0].rhs);
        });
      };
      b_.for_each(chunks.count, {.vectorize = false, .parallel = true},
                  [&](const loop::Index& chunk) { b_.store(partial, chunk, run(chunks.size, chunk * chunks.size)); });
      loop::Scalar sum = b_.reduce(chunks.count, {.vectorize = true}, ScalarOp::kAdd, b_.constant(wide, 0),
                                   [&](const loop::Index& chunk) { return b_.load(partial, chunk); });
      if (chunks.rest > 0) sum = b_.apply(ScalarOp::kAdd, sum, run(chunks.rest, chunks.count * chunks.size));
      return set_result(var, b_.convert(sum, aval.dtype()));
    }
    if (batch.empty()) return set_result(var, b_.convert(fold(0, lhs_at, rhs_at), aval.dtype()));
    ensure_place(var);
    around(batch, {.vectorize = true, .parallel = true}, [&] {
      b_.store(places_[var]->buffer, places_[var]->offset + out_at, b_.convert(fold(0, lhs_at, rhs_at), aval.dtype()));
    });
    return;
  }

  ensure_place(var);
  const Place out = *places_[var];
  if (axes.k == 0) return b_.fill(out.buffer, out.offset, aval.size(), b_.constant(aval.dtype(), 0));
  m = joined(m);
  n = joined(n);
  k = joined(k);
  const Axis row = take_longest(m), column = take_longest(n);
  Axis inner = take_longest(k);
  const bool accumulate = !k.empty();
  const auto multiply_into = [&](const Place& to, loop::LoopOptions options) {
    if (accumulate) b_.fill(to.buffer, to.offset, aval.size(), b_.constant(aval.dtype(), 0));
    const auto multiply = [&] {
      const loop::Matrix a{lhs.place.buffer, lhs_at, row.lhs, inner.lhs};
      const loop::Matrix b{rhs.place.buffer, rhs_at, inner.rhs, column.rhs};
      const loop::Matrix c{to.buffer, to.offset + out_at, row.out, column.out};
      if (options_.kernels && is_complex(aval.dtype())) {
        return loop::product_loops(b_, row.size, column.size, inner.size, a, b, c, accumulate);
      }
      b_.gemm(row.size, column.size, inner.size, a, b, c, accumulate);
    };
    around(batch, options, [&] { around(m, options, [&] { around(n, options, [&] { around(k, {}, multiply); }); }); });
  };
  const int64_t products = axes.batch * (axes.m / row.size) * (axes.n / column.size);
  Axis& outermost = k.empty() ? inner : k.front();
  const int64_t parts =
      options_.kernels ? 1 : parts_of(aval.dtype(), products, row.size, column.size, axes.k, outermost.size);
  if (parts == 1) return multiply_into(out, {.vectorize = false, .parallel = true});
  // Few results of long sums: each part of the sums by itself, for threads to share.
  const loop::BufferId partial = b_.temporary(aval.dtype(), parts * aval.size(), 0);
  outermost.size /= parts;
  b_.for_each(parts, {.vectorize = false, .parallel = true}, [&](const loop::Index& part) {
    lhs_at += part * (outermost.size * outermost.lhs);
    rhs_at += part * (outermost.size * outermost.rhs);
    multiply_into({partial, part * aval.size()}, {});
  });
  b_.for_each(aval.size(), {.vectorize = true, .parallel = true}, [&](const loop::Index& at) {
    loop::Scalar sum = b_.load(partial, at);
    for (int64_t part = 1; part < parts; ++part)
      sum = b_.apply(ScalarOp::kAdd, sum, b_.load(partial, at + part * aval.size()));
    b_.store(out.buffer, out.offset + at, sum);
  });
}

void Frame::over_axes(const Shape& shape, absl::Span<const int> axes, loop::LoopOptions options,
                      std::vector<loop::Index>& indices, const std::function<void()>& body) {
  std::function<void(size_t)> nest = [&](size_t i) {
    Scope scope(*this);
    if (i == axes.size()) return body();
    if (shape[axes[i]] == 1) return nest(i + 1);
    b_.for_each(shape[axes[i]], options, [&](loop::Index index) {
      indices[axes[i]] = index;
      nest(i + 1);
    });
  };
  nest(0);
}

namespace {

Position position_at(const Shape& shape, const std::vector<loop::Index>& indices) {
  Position position;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    if (shape[axis] != 1) position.push_back({axis, axis, indices[axis]});
  }
  return position;
}

std::vector<int> axis_range(size_t begin, size_t end) {
  std::vector<int> axes;
  for (size_t axis = begin; axis < end; ++axis) axes.push_back(static_cast<int>(axis));
  return axes;
}

}  // namespace

void Frame::emit_cumulative(const Equation& equation) {
  const Var var = equation.first_output;
  const Var operand = graph_.operands(equation)[0];
  const Primitive& primitive = *equation.primitive;
  const Aval& aval = graph_.aval(var);
  const Shape& shape = aval.shape();
  if (aval.size() == 1) return set_result(var, element(operand, {}));
  ensure_place(var);
  if (aval.size() == 0) return;
  const auto axis = static_cast<int>(graph_.attrs(equation).integer("axis"));
  const bool reverse = graph_.attrs(equation).flag("reverse");
  std::vector<int> others;
  for (int other = 0; other < aval.rank(); ++other) {
    if (other != axis) others.push_back(other);
  }
  // Running sums and products of floats are kept in double precision, as the interpreter's are.
  const bool rounds = primitive.combine == ScalarOp::kAdd || primitive.combine == ScalarOp::kMul;
  const DType wide = is_float(aval.dtype()) && (rounds || is_half(aval.dtype())) ? DType::kFloat64
                     : is_complex(aval.dtype())                                  ? DType::kComplex128
                                                                                 : aval.dtype();
  std::vector<loop::Index> indices(shape.size());
  // The fold goes on over `count` elements from `first` on.
  const auto fold = [&](loop::Scalar before, const loop::Index& first, int64_t count) {
    std::vector<Position> positions;
    std::vector<loop::Scalar> folds;
    for (int64_t k = 0; k < count; ++k) {
      Scope scope(*this);
      const loop::Index place = first + k;
      indices[axis] = reverse ? loop::Index(shape[axis] - 1) - place : place;
      positions.push_back(position_at(shape, indices));
      folds.push_back(b_.convert(element(operand, positions.back()), wide));
    }
    for (size_t distance = 1; distance < folds.size(); distance *= 2) {
      for (size_t k = folds.size() - 1; k >= distance; --k) {
        folds[k] = b_.apply(primitive.combine, folds[k - distance], folds[k]);
      }
    }
    for (size_t k = 0; k < folds.size(); ++k) {
      folds[k] = b_.apply(primitive.combine, before, folds[k]);
      store_at(var, positions[k], b_.convert(folds[k], aval.dtype()));
    }
    return folds.back();
  };
  // Of a single fold each operation waits for the one before. By runs one in four does; the order of sums and products
  // matters less than the rounding of what is stored.
  constexpr int64_t kRun = 4;
  const bool any_order = !is_complex(aval.dtype()) && (!rounds || is_integer(aval.dtype()) || wide != aval.dtype());
  const int64_t run = aval.size() == shape[axis] && any_order ? kRun : 1;
  over_axes(shape, others, {.vectorize = true, .parallel = true}, indices, [&] {
    loop::Scalar sum = identity(primitive, wide);
    if (const int64_t runs = shape[axis] / run; runs > 0) {
      const loop::Builder::CarrySpec carry{sum};
      const auto [step, arguments] = b_.begin_for(runs, {}, absl::MakeConstSpan(&carry, 1));
      sum = fold(arguments[0], step * run, run);
      sum = b_.end_for(absl::MakeConstSpan(&sum, 1))[0];
    }
    for (int64_t k = shape[axis] - shape[axis] % run; k < shape[axis]; ++k) sum = fold(sum, k, 1);
  });
}

void Frame::write_copy(Var var, Var result) {
  const Var base = alias_base(graph_, fusion_.definition, var);
  if (places_[base] || registers_[base]) return copy_to(source(var), graph_.aval(result), *places_[result]);
  const Shape& shape = graph_.aval(result).shape();
  std::vector<loop::Index> at(shape.size());
  over_axes(shape, axis_range(0, shape.size()), {.vectorize = true, .parallel = true}, at, [&] {
    const Position position = position_at(shape, at);
    store_at(result, position, element(var, position));
  });
}

// operand [batch, before, N, after], indices [batch, indices], updates [batch, before, indices, after].
void Frame::emit_scatter(const Equation& equation) {
  const Var var = equation.first_output;
  absl::Span<const Var> operands = graph_.operands(equation);
  const Attrs& attrs = graph_.attrs(equation);
  const Shape& shape = graph_.aval(var).shape();
  const Shape& index_shape = graph_.aval(operands[1]).shape();
  const Shape& update_shape = graph_.aval(operands[2]).shape();
  const auto axis = static_cast<size_t>(attrs.integer("axis"));
  const auto batch_dims = static_cast<size_t>(attrs.integer("batch_dims"));
  const size_t index_dims = index_shape.size() - batch_dims;
  ensure_place(var);
  const Place out = *places_[var];
  if (graph_.aval(var).size() == 0) return;

  write_copy(operands[0], var);
  if (num_elements(update_shape) == 0) return;

  const Shape strides = dense_strides(shape);
  std::vector<loop::Index> at(update_shape.size());
  over_axes(update_shape, axis_range(0, axis), {.vectorize = false, .parallel = true}, at, [&] {
    over_axes(update_shape, axis_range(axis, axis + index_dims), {}, at, [&] {
      std::vector<loop::Index> index_at(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch_dims));
      index_at.insert(index_at.end(), at.begin() + static_cast<std::ptrdiff_t>(axis),
                      at.begin() + static_cast<std::ptrdiff_t>(axis + index_dims));
      const loop::Index index = b_.to_index(element(operands[1], position_at(index_shape, index_at)));
      const loop::Scalar number = b_.to_scalar(index);
      // Negative ones are the largest when read without a sign: one comparison.
      const loop::Scalar inside =
          b_.apply(ScalarOp::kLt, b_.bitcast(number, DType::kUInt64), b_.constant(DType::kUInt64, shape[axis]));
      auto combined = [&](const loop::Index& target, loop::Scalar value) {
        if (equation.primitive->replaces) return value;
        return b_.apply(equation.primitive->combine, b_.load(out.buffer, target), value);
      };
      auto update = [&] {
        over_axes(update_shape, axis_range(axis + index_dims, update_shape.size()),
                  {.vectorize = true, .parallel = true}, at, [&] {
                    loop::Index target = out.offset + index * strides[axis];
                    for (size_t i = 0; i < axis; ++i) target += at[i] * strides[i];
                    for (size_t i = axis + 1; i < shape.size(); ++i) target += at[i - 1 + index_dims] * strides[i];
                    const loop::Scalar value = element(operands[2], position_at(update_shape, at));
                    b_.store(out.buffer, target, combined(target, value));
                  });
        return loop::Scalars{};
      };
      b_.if_else(inside, update, [] { return loop::Scalars{}; });
    });
  });
}

// array [batch, axes], update [batch, sizes], a start [batch] for each axis.
void Frame::emit_update(const Equation& equation) {
  const Var var = equation.first_output;
  absl::Span<const Var> operands = graph_.operands(equation);
  const Shape& shape = graph_.aval(var).shape();
  const Shape& update_shape = graph_.aval(operands[1]).shape();
  const auto batch_dims = static_cast<size_t>(graph_.attrs(equation).integer("batch_dims"));
  ensure_place(var);
  const Place out = *places_[var];
  write_copy(operands[0], var);
  if (num_elements(update_shape) == 0) return;

  const Shape strides = dense_strides(shape);
  const Shape batch(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch_dims));
  const loop::LoopOptions options{.vectorize = true, .parallel = true};
  std::vector<loop::Index> at(shape.size());
  over_axes(update_shape, axis_range(0, batch_dims), options, at, [&] {
    loop::Index start = out.offset;
    for (size_t axis = batch_dims; axis < shape.size(); ++axis) {
      const int64_t room = shape[axis] - update_shape[axis];
      if (room == 0) continue;
      loop::Scalar first = element(operands[2 + axis - batch_dims], position_at(batch, at));
      if (first.dtype == DType::kUInt64) first = b_.apply(ScalarOp::kMin, first, b_.constant(first.dtype, room));
      first = b_.apply(ScalarOp::kMax, b_.convert(first, DType::kInt64), b_.constant(DType::kInt64, 0));
      start += b_.to_index(b_.apply(ScalarOp::kMin, first, b_.constant(DType::kInt64, room))) * strides[axis];
    }
    over_axes(update_shape, axis_range(batch_dims, shape.size()), options, at, [&] {
      loop::Index target = start;
      for (size_t axis = 0; axis < shape.size(); ++axis) target += at[axis] * strides[axis];
      b_.store(out.buffer, target, element(operands[1], position_at(update_shape, at)));
    });
  });
}

}  // namespace ct::jit
