// What is its operand's bytes, perhaps under another shape, is computed or read as that operand.
#include "jit/lower/frame.h"

namespace ct::jit {
namespace {

// Strides of a reshaped view, if the new shape has any: each new axis must lie within a run of old axes that is dense.
std::optional<Shape> reshaped_strides(absl::Span<const int64_t> from, absl::Span<const int64_t> strides,
                                      absl::Span<const int64_t> to) {
  if (num_elements(from) == 0) return dense_strides(to);
  Shape result(to.size(), 0);
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
    // One run: the shortest stretches of both shapes with equal products.
    size_t first = i, first_to = j;
    int64_t old_size = from[i++], new_size = to[j++];
    while (old_size != new_size) {
      if (old_size < new_size) {
        old_size *= from[i++];
      } else {
        new_size *= to[j++];
      }
    }
    std::optional<int64_t> inner, expected;  // of the last axis that is longer than one; 0 where it repeats elements
    for (size_t axis = i; axis-- > first;) {
      if (from[axis] == 1) continue;
      if (!inner) inner = strides[axis];
      if (expected && strides[axis] != *expected) return std::nullopt;
      expected = strides[axis] * from[axis];
    }
    int64_t stride = inner.value_or(0);
    for (size_t axis = j; axis-- > first_to;) {
      result[axis] = stride;
      stride *= to[axis];
    }
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
    Position flat;
    if (num_elements(shape) != 1) {
      flat.push_back({0, static_cast<int>(shape.size()) - 1, linear(position, frame.aval(var).shape())});
    }
    return frame.element(operand, flat);
  }
};
const LoweringFor<structures::SameBytes, SameBytesLowering> kSameBytesLowering;

}  // namespace
}  // namespace ct::jit
