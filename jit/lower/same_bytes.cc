// What is its operand's bytes, perhaps under another shape, is computed or read as that operand.
#include <algorithm>

#include "jit/lower/frame.h"

namespace ct::jit {
namespace {

// Axes of the operand and of the result, the first and the last, that hold the same: the shortest stretches of both
// shapes with equal products. Axes of one element are in none, unless they are in the middle of one.
struct Run {
  int first, last, to_first, to_last;
};

// Of shapes that have elements.
std::vector<Run> runs_of(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  std::vector<Run> runs;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < to.size() && to[j] == 1) {
      ++j;
      continue;
    }
    const auto first = static_cast<int>(i), to_first = static_cast<int>(j);
    int64_t old_size = from[i++], new_size = to[j++];
    while (old_size != new_size) {
      if (old_size < new_size) {
        old_size *= from[i++];
      } else {
        new_size *= to[j++];
      }
    }
    runs.push_back({first, static_cast<int>(i) - 1, to_first, static_cast<int>(j) - 1});
  }
  return runs;
}

// Strides of a reshaped view, if the new shape has any: each new axis must lie within a run of old axes that is dense.
std::optional<Shape> reshaped_strides(absl::Span<const int64_t> from, absl::Span<const int64_t> strides,
                                      absl::Span<const int64_t> to) {
  if (num_elements(from) == 0) return dense_strides(to);
  Shape result(to.size(), 0);
  for (const Run& run : runs_of(from, to)) {
    std::optional<int64_t> inner, expected;  // of the last axis that is longer than one; 0 where it repeats elements
    for (int axis = run.last; axis >= run.first; --axis) {
      if (from[axis] == 1) continue;
      if (!inner) inner = strides[axis];
      if (expected && strides[axis] != *expected) return std::nullopt;
      expected = strides[axis] * from[axis];
    }
    int64_t stride = inner.value_or(0);
    for (int axis = run.to_last; axis >= run.to_first; --axis) {
      result[axis] = stride;
      stride *= to[axis];
    }
  }
  return result;
}

// Where an element is in the operand that is at `position` in the result. What is known by axes stays so: a flat index
// would have to be divided where axes matter.
Position position_before(const Position& position, const Shape& from, const Shape& to) {
  if (num_elements(from) == 0) return {{0, static_cast<int>(from.size()) - 1, linear(position, to)}};
  Position result;
  const std::vector<Run> runs = runs_of(from, to);
  for (size_t i = 0; i < runs.size(); ++i) {
    // Runs that a group of axes spans are one.
    Run run = runs[i];
    const auto spans_next = [&] {
      const int next = runs[i + 1].to_first;
      return std::any_of(position.begin(), position.end(),
                         [&](const AxisGroup& group) { return group.first <= run.to_last && group.last >= next; });
    };
    for (; i + 1 < runs.size() && spans_next(); ++i) {
      run.last = runs[i + 1].last;
      run.to_last = runs[i + 1].to_last;
    }
    loop::Index index = 0;
    for (const AxisGroup& group : position) {
      if (group.last < run.to_first || group.first > run.to_last) continue;
      int64_t stride = 1;
      for (int axis = group.last + 1; axis <= run.to_last; ++axis) stride *= to[axis];
      index += group.index * stride;
    }
    result.push_back({run.first, run.last, index});
  }
  return result;
}

// Which axes of the result are axes of the operand: as many elements lie before them and within them.
AxisMap same_axes(const Graph& graph, const Equation& equation) {
  const Shape& from = graph.aval(graph.operands(equation)[0]).shape();
  const Shape& to = graph.aval(equation.first_output).shape();
  AxisMap map(from.size());
  int64_t before = 1, before_other = 1;
  for (size_t i = 0, j = 0; i < from.size(); before *= from[i++]) {
    while (j < to.size() && (before_other < before || to[j] == 1)) before_other *= to[j++];
    if (j < to.size() && from[i] != 1 && before_other == before && from[i] == to[j]) map[i] = {static_cast<int>(j), 0};
  }
  return map;
}

class SameBytesLowering final : public Lowering {
 public:
  bool has_elements(const Graph&, const Equation&) const override { return true; }

  ElementFacts element_facts(const Graph&, const Equation& equation, int) const override {
    ElementFacts facts;
    facts.operands.resize(equation.operand_count, {1, false});
    return facts;
  }

  std::optional<View> view(const Graph& graph, const Equation& equation, const ViewOf& view_of) const override {
    const View view = view_of(0);
    const auto strides = reshaped_strides(graph.aval(graph.operands(equation)[0]).shape(), view.strides,
                                          graph.aval(equation.first_output).shape());
    if (!strides) return std::nullopt;
    return View{view.base, view.offset, *strides};
  }

  ElementForm form(const ElementLimits& limits, const Graph& graph, const Equation& equation, int) const override {
    const Var operand = graph.operands(equation)[0];
    return mapped(limits.form(graph, operand), same_axes(graph, equation));
  }
  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    if (!limits.is_wanted(equation.first_output)) return {std::nullopt};
    const AxisMap back = inverse(same_axes(graph, equation), graph.aval(equation.first_output).rank());
    Limits result;
    for (const Limit& each : limits.wanted(equation.first_output)) {
      if (auto limit = mapped(each, back)) result.push_back(*std::move(limit));
    }
    return {std::move(result)};
  }

  loop::Scalar element(Frame& frame, const Equation& equation, Var var, const Position& position) const override {
    const Var operand = frame.operands(equation)[0];
    const Shape& shape = frame.aval(operand).shape();
    return frame.element(operand, position_before(position, shape, frame.aval(var).shape()));
  }
};
const LoweringFor<structures::SameBytes, SameBytesLowering> kSameBytesLowering;

}  // namespace
}  // namespace ct::jit
