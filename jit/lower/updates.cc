// Running folds, scatters and updates of slices.
#include <algorithm>

#include "ir/error.h"
#include "jit/lower/frame.h"

namespace ct::jit {
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
