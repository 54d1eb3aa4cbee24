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

// Loops over the elements of one array; they end at limits of its elements.
class AxisLoops {
 public:
  AxisLoops(Frame& frame, const Shape& shape, const Limits& limits)
      : frame_(frame), shape_(shape), indices_(shape.size()), open_(shape.size(), false), ends_(shape.size()) {
    for (const Limit& each : limits) {
      if (!ends_[each.axis] && frame.is_ready(each.source)) ends_[each.axis] = each;
    }
  }

  const loop::Index& operator[](size_t axis) const { return indices_[axis]; }
  Position position() const { return position_at(shape_, indices_); }

  // A loop for each of these axes, from the outermost.
  void over(size_t begin, size_t end, loop::LoopOptions options, const std::function<void()>& body) {
    Frame::Scope scope(frame_);
    if (begin == end) return body();
    const int64_t size = shape_[begin];
    open_[begin] = true;
    if (size == 1) return over(begin + 1, end, options, body);
    const size_t depth = frame_.limits().depth();
    const std::optional<Ending> ending = ending_of(begin);
    frame_.builder().for_each(ending ? ending->length : size, options, [&](const loop::Index& index) {
      indices_[begin] = index;
      if (ending) {
        const Limit& limit = *ends_[begin];
        frame_.limits().push({limit, ending->source_place, index, 1, true});
      }
      over(begin + 1, end, options, body);
    });
    frame_.limits().leave(depth);
    open_[begin] = false;
  }

 private:
  struct Ending {
    loop::Index length, source_place;
  };
  // If the loops that are open say where it is.
  std::optional<Ending> ending_of(size_t axis) {
    const std::optional<Limit>& limit = ends_[axis];
    if (!limit || !std::ranges::all_of(limit->axes, [&](int each) { return each < 0 || open_[each]; })) return {};
    const auto index = [&](int each) { return indices_[each]; };
    return Ending{frame_.length(*limit, shape_[axis], index), frame_.limits().source_place(*limit, index)};
  }

  Frame& frame_;
  const Shape& shape_;
  std::vector<loop::Index> indices_;
  std::vector<bool> open_;
  std::vector<std::optional<Limit>> ends_;
};

// All of `var`'s elements that are wanted of `result`, of the same type, into the place of that.
void write_copy(Frame& frame, Var var, Var result) {
  const Aval& aval = frame.aval(result);
  const Limits& limits = frame.limits().known().wanted(result);
  if (frame.is_at_hand(var)) return frame.copy_to(frame.source(var), aval, frame.place(result));
  AxisLoops loops(frame, aval.shape(), limits);
  loops.over(0, aval.shape().size(), {.vectorize = true, .parallel = true},
             [&] { frame.store_at(result, loops.position(), frame.element(var, loops.position())); });
}

// Which axis of a scatter's updates one of its indices, or of its result, is; -1 for the axis that is scattered along.
struct ScatterAxes {
  ScatterAxes(const Graph& graph, const Equation& equation)
      : layout(ScatterAttrs::from(graph.attrs(equation))),
        rank(graph.aval(graph.operands(equation)[2]).rank()),
        index_rank(graph.aval(graph.operands(equation)[1]).rank()) {}

  int batch_dims() const { return static_cast<int>(layout.batch_dims); }
  int axis() const { return static_cast<int>(layout.axis); }
  int index_dims() const { return index_rank - batch_dims(); }

  // By axis of the updates.
  AxisMap of_indices() const {
    AxisMap map(static_cast<size_t>(rank));
    for (int i = 0; i < index_rank; ++i)
      map[static_cast<size_t>(i < batch_dims() ? i : axis() + i - batch_dims())] = {i, 0};
    return map;
  }
  AxisMap of_result() const {
    AxisMap map(static_cast<size_t>(rank));
    for (int i = 0; i < rank; ++i) {
      if (i < axis()) map[static_cast<size_t>(i)] = {i, 0};
      if (i >= axis() + index_dims()) map[static_cast<size_t>(i)] = {i - index_dims() + 1, 0};
    }
    return map;
  }

  ScatterAttrs layout;
  int rank, index_rank;
};

// The limits behind which updates change nothing that is wanted: `seen` says where that is for any index.
struct UpdateLimits {
  Limits seen, all;
};
UpdateLimits update_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  UpdateLimits result;
  const ScatterAxes axes(graph, equation);
  const Var var = equation.first_output, indices = graph.operands(equation)[1];
  const int result_rank = graph.aval(var).rank();
  for (const Limit& each : limits.wanted(var)) {
    if (auto limit = mapped(each, inverse(axes.of_result(), result_rank))) result.seen.push_back(*std::move(limit));
  }
  result.all = result.seen;
  // An index outside says that there is no update.
  const auto rows = static_cast<double>(graph.aval(var).shape()[axes.layout.axis]);
  for (const Filling& each : limits.known(indices).fillings) {
    if (each.value >= 0 && each.value < rows) continue;
    if (auto limit = mapped(each.limit, inverse(axes.of_indices(), axes.index_rank))) {
      result.all.push_back(*std::move(limit));
    }
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
  AxisLoops at(frame, update_shape, update_limits(frame.limits().known(), frame.graph(), equation).all);
  at.over(0, axis, {.vectorize = false, .parallel = true}, [&] {
    at.over(axis, axis + index_dims, {}, [&] {
      std::vector<loop::Index> index_at;
      for (size_t i = 0; i < index_shape.size(); ++i)
        index_at.push_back(at[i < batch_dims ? i : axis + i - batch_dims]);
      const loop::Index index = b.to_index(frame.element(operands[1], position_at(index_shape, index_at)));
      const loop::Scalar number = b.to_scalar(index);
      // Negative ones are the largest when read without a sign: one comparison.
      const loop::Scalar inside =
          b.apply(ScalarOp::kLt, b.bitcast(number, DType::kUInt64), b.constant(DType::kUInt64, shape[axis]));
      auto combined = [&](const loop::Index& target, loop::Scalar value) {
        return combine ? b.apply(*combine, b.load(out.buffer, target), value) : value;
      };
      auto update = [&] {
        at.over(axis + index_dims, update_shape.size(), {.vectorize = true, .parallel = true}, [&] {
          loop::Index target = out.offset + index * strides[axis];
          for (size_t i = 0; i < axis; ++i) target += at[i] * strides[i];
          for (size_t i = axis + 1; i < shape.size(); ++i) target += at[i - 1 + index_dims] * strides[i];
          const loop::Scalar value = frame.element(operands[2], at.position());
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
  // Behind what is seen of the result, an index may be anything: what it shows there is not seen either.
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    UpdateLimits of_updates = update_limits(limits, graph, equation);
    Limits of_indices;
    const ScatterAxes axes(graph, equation);
    for (const Limit& each : of_updates.seen) {
      if (auto limit = mapped(each, axes.of_indices())) of_indices.push_back(*std::move(limit));
    }
    return {limits.wanted(equation.first_output), std::move(of_indices), std::move(of_updates.all)};
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
  AxisLoops at(frame, update_shape, {});
  at.over(0, batch_dims, options, [&] {
    loop::Index start = out.offset;
    std::vector<loop::Index> batch_at;
    for (size_t i = 0; i < batch_dims; ++i) batch_at.push_back(at[i]);
    for (size_t axis = batch_dims; axis < shape.size(); ++axis) {
      const int64_t room = shape[axis] - update_shape[axis];
      if (room == 0) continue;
      loop::Scalar first = frame.element(operands[2 + axis - batch_dims], position_at(batch, batch_at));
      if (first.dtype == DType::kUInt64) first = b.apply(ScalarOp::kMin, first, b.constant(first.dtype, room));
      first = b.apply(ScalarOp::kMax, b.convert(first, DType::kInt64), b.constant(DType::kInt64, 0));
      start += b.to_index(b.apply(ScalarOp::kMin, first, b.constant(DType::kInt64, room))) * strides[axis];
    }
    at.over(batch_dims, shape.size(), options, [&] {
      loop::Index target = start;
      for (size_t axis = 0; axis < shape.size(); ++axis) target += at[axis] * strides[axis];
      b.store(out.buffer, target, frame.element(operands[1], at.position()));
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
