// Scatters and updates of slices: a copy that is written over in part.
#include <algorithm>

#include "ir/ops.h"
#include "jit/lower/frame.h"
#include "jit/lower/rules.h"

namespace ct::jit {
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

// The limits, at most one an axis, that depend on axes before theirs and are known.
Limits usable_limits(const Frame& frame, const Limits& limits) {
  Limits result;
  for (const Limit& limit : limits) {
    const bool before = std::ranges::all_of(limit.axes, [&](int axis) { return axis < limit.axis; });
    const bool first = std::ranges::none_of(result, [&](const Limit& other) { return other.axis == limit.axis; });
    if (before && first && frame.is_ready(limit.source)) result.push_back(limit);
  }
  return result;
}

// A loop for each of the axes, from the outermost, to its limit if it has one; the body may use `indices` of all these.
void over_axes(Frame& frame, const Shape& shape, absl::Span<const int> axes, const Limits& limits,
               loop::LoopOptions options, std::vector<loop::Index>& indices, const std::function<void()>& body) {
  const auto index_of = [&](int axis) { return indices[axis]; };
  const std::function<void(size_t)> nest = [&](size_t i) {
    Frame::Scope scope(frame);
    if (i == axes.size()) return body();
    const int axis = axes[i];
    if (shape[axis] == 1) return nest(i + 1);
    const auto limit = std::ranges::find(limits, axis, &Limit::axis);
    const bool ends = limit != limits.end();
    const loop::Index count = ends ? frame.length(*limit, shape[axis], index_of) : shape[axis];
    frame.builder().for_each(count, options, [&](const loop::Index& index) {
      const size_t depth = frame.limits().depth();
      if (ends) {
        const loop::Index place = frame.limits().source_place(*limit, index_of);
        frame.limits().push({limit->source, limit->offset, place, index, 1, true});
      }
      indices[axis] = index;
      nest(i + 1);
      frame.limits().leave(depth);
    });
  };
  nest(0);
}

// `var`'s elements into the place of `result`, of the same type: those that are wanted there.
void write_copy(Frame& frame, Var var, Var result) {
  const Aval& aval = frame.aval(result);
  if (frame.is_at_hand(var)) return frame.copy_to(frame.source(var), aval, frame.place(result));
  const Shape& shape = aval.shape();
  std::vector<loop::Index> at(shape.size());
  const Limits limits = usable_limits(frame, frame.limits().known().wanted(result));
  over_axes(frame, shape, axis_range(0, shape.size()), limits, {.vectorize = true, .parallel = true}, at, [&] {
    const Position position = position_at(shape, at);
    frame.store_at(result, position, frame.element(var, position));
  });
}

// The limits, by axes of the updates, behind which indices lie outside of the table.
Limits limits_of_updates(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  const absl::Span<const Var> operands = graph.operands(equation);
  const auto layout = ScatterAttrs::from(graph.attrs(equation));
  const auto axis = static_cast<int>(layout.axis), batch_dims = static_cast<int>(layout.batch_dims);
  const int index_rank = graph.aval(operands[1]).rank();
  AxisMap of_indices(static_cast<size_t>(graph.aval(operands[2]).rank()));
  for (int i = 0; i < index_rank; ++i) {
    of_indices[static_cast<size_t>(i < batch_dims ? i : axis + i - batch_dims)] = {i, 0};
  }
  const AxisMap of_updates = inverse(of_indices, index_rank);
  const auto rows = static_cast<double>(graph.aval(equation.first_output).shape()[layout.axis]);
  Limits result;
  for (const Filling& each : limits.known(operands[1]).fillings) {
    if (each.value >= 0 && each.value < rows) continue;
    if (auto limit = mapped(each.limit, of_updates)) result.push_back(*std::move(limit));
  }
  return result;
}

// operand [batch, before, N, after], indices [batch, indices], updates [batch, before, indices, after].
void emit_scatter(Frame& frame, const Equation& equation) {
  loop::Builder& b = frame.builder();
  const Var var = equation.first_output;
  const absl::Span<const Var> operands = frame.operands(equation);
  const Shape& shape = frame.aval(var).shape();
  const Shape& index_shape = frame.aval(operands[1]).shape();
  const Shape& update_shape = frame.aval(operands[2]).shape();
  const auto layout = ScatterAttrs::from(frame.attrs(equation));
  const auto axis = static_cast<size_t>(layout.axis), batch_dims = static_cast<size_t>(layout.batch_dims);
  const size_t index_dims = index_shape.size() - batch_dims;
  const std::optional<ScalarOp> combine = equation.primitive->structure_as<structures::Scatter>()->combine;
  const Place out = frame.place(var);
  if (frame.aval(var).size() == 0) return;

  write_copy(frame, operands[0], var);
  if (num_elements(update_shape) == 0) return;

  const Shape strides = dense_strides(shape);
  const Limits limits = usable_limits(frame, limits_of_updates(frame.limits().known(), frame.graph(), equation));
  std::vector<loop::Index> at(update_shape.size());
  over_axes(frame, update_shape, axis_range(0, axis), limits, {.vectorize = false, .parallel = true}, at, [&] {
    over_axes(frame, update_shape, axis_range(axis, axis + index_dims), limits, {}, at, [&] {
      std::vector<loop::Index> index_at(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch_dims));
      index_at.insert(index_at.end(), at.begin() + static_cast<std::ptrdiff_t>(axis),
                      at.begin() + static_cast<std::ptrdiff_t>(axis + index_dims));
      const loop::Index index = b.to_index(frame.element(operands[1], position_at(index_shape, index_at)));
      const loop::Scalar number = b.to_scalar(index);
      // Negative ones are the largest when read without a sign: one comparison.
      const loop::Scalar inside =
          b.apply(ScalarOp::kLt, b.bitcast(number, DType::kUInt64), b.constant(DType::kUInt64, shape[axis]));
      auto combined = [&](const loop::Index& target, loop::Scalar value) {
        return combine ? b.apply(*combine, b.load(out.buffer, target), value) : value;
      };
      auto update = [&] {
        over_axes(frame, update_shape, axis_range(axis + index_dims, update_shape.size()), limits,
                  {.vectorize = true, .parallel = true}, at, [&] {
                    loop::Index target = out.offset + index * strides[axis];
                    for (size_t i = 0; i < axis; ++i) target += at[i] * strides[i];
                    for (size_t i = axis + 1; i < shape.size(); ++i) target += at[i - 1 + index_dims] * strides[i];
                    const loop::Scalar value = frame.element(operands[2], position_at(update_shape, at));
                    b.store(out.buffer, target, combined(target, value));
                  });
        return loop::Scalars{};
      };
      b.if_else(inside, update, [] { return loop::Scalars{}; });
    });
  });
}

class ScatterLowering final : public Lowering {
 public:
  OperandReading reading(const Graph& graph, const Equation& equation, int operand) const override {
    if (operand == 0) return {.same = false};
    const absl::Span<const Var> operands = graph.operands(equation);
    const Aval &indices = graph.aval(operands[1]), &updates = graph.aval(operands[2]);
    const auto layout = ScatterAttrs::from(graph.attrs(equation));
    // What an index scatters is a row, whose elements are next to each other, or one element.
    const bool rows = updates.rank() > layout.axis + indices.rank() - layout.batch_dims;
    if (operand == 2) return {.one_by_one = !rows};
    const double times =
        static_cast<double>(updates.size()) / static_cast<double>(std::max<int64_t>(indices.size(), 1));
    return {.evaluations = times, .same = times <= 1, .one_by_one = !rows};
  }
  // Updates whose index lies outside are not read.
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    OperandLimits result(equation.operand_count, Limits{});
    result[0] = limits.wanted(equation.first_output);
    result[2] = limits_of_updates(limits, graph, equation);
    return result;
  }
  int written_operand() const override { return 2; }
  void emit(Frame& frame, const Equation& equation) const override { emit_scatter(frame, equation); }
};
const LoweringFor<structures::Scatter, ScatterLowering> kScatterLowering;

// array [batch, axes], update [batch, sizes], a start [batch] for each axis.
void emit_update(Frame& frame, const Equation& equation) {
  loop::Builder& b = frame.builder();
  const Var var = equation.first_output;
  const absl::Span<const Var> operands = frame.operands(equation);
  const Shape& shape = frame.aval(var).shape();
  const Shape& update_shape = frame.aval(operands[1]).shape();
  const auto batch_dims = static_cast<size_t>(frame.attrs(equation).integer("batch_dims"));
  const Place out = frame.place(var);
  write_copy(frame, operands[0], var);
  if (num_elements(update_shape) == 0) return;

  const Shape strides = dense_strides(shape);
  const Shape batch(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch_dims));
  const loop::LoopOptions options{.vectorize = true, .parallel = true};
  std::vector<loop::Index> at(shape.size());
  over_axes(frame, update_shape, axis_range(0, batch_dims), {}, options, at, [&] {
    loop::Index start = out.offset;
    for (size_t axis = batch_dims; axis < shape.size(); ++axis) {
      const int64_t room = shape[axis] - update_shape[axis];
      if (room == 0) continue;
      loop::Scalar first = frame.element(operands[2 + axis - batch_dims], position_at(batch, at));
      if (first.dtype == DType::kUInt64) first = b.apply(ScalarOp::kMin, first, b.constant(first.dtype, room));
      first = b.apply(ScalarOp::kMax, b.convert(first, DType::kInt64), b.constant(DType::kInt64, 0));
      start += b.to_index(b.apply(ScalarOp::kMin, first, b.constant(DType::kInt64, room))) * strides[axis];
    }
    over_axes(frame, update_shape, axis_range(batch_dims, shape.size()), {}, options, at, [&] {
      loop::Index target = start;
      for (size_t axis = 0; axis < shape.size(); ++axis) target += at[axis] * strides[axis];
      b.store(out.buffer, target, frame.element(operands[1], position_at(update_shape, at)));
    });
  });
}

// By elements, or in memory: where the result is stored.
class WindowUpdateLowering final : public ElementRuleLowering {
 public:
  std::optional<View> view(const Graph&, const Equation&, const ViewOf&) const override { return std::nullopt; }
  int written_operand() const override { return 1; }
  void emit(Frame& frame, const Equation& equation) const override { emit_update(frame, equation); }
};
const LoweringFor<structures::WindowUpdate, WindowUpdateLowering> kWindowUpdateLowering;

}  // namespace

}  // namespace ct::jit
