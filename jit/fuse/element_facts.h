// What fusion needs to know about an element rule, found by running it on symbols instead of numbers: how often it
// reads each operand, whether only at the result's own position, what its arithmetic costs, and whether it does nothing
// but move elements along affine maps (a view). Derived from the rules, so that no pass has a list of primitives.
#pragma once

#include <optional>

#include "absl/container/inlined_vector.h"
#include "ir/graph.h"
#include "ir/ops.h"
#include "ir/primitive.h"

namespace ct::jit {

struct OperandAccess {
  int reads = 0;     // for one element of the result
  bool same = true;  // all of them at the result's own position, in an operand of the result's shape
};

struct ElementFacts {
  absl::InlinedVector<OperandAccess, 4> operands;
  int cost = 0;        // in additions
  int statements = 0;  // of loop IR that the arithmetic becomes: what it costs to compile
};

// Whether the equation's elements can be computed where they are used: element rules, aliases, products that
// contract nothing.
bool has_elements(const Graph& graph, const Equation& equation);
ElementFacts element_facts(const Graph& graph, const Equation& equation, int output);

// Elements of a variable as elements of another: position p is at offset + sum of strides[axis] * p[axis] of `base`'s
// row-major elements.
struct View {
  Var base = kNoVar;
  int64_t offset = 0;
  Shape strides;
};
View whole_view(const Graph& graph, Var var);
// The view of the equation's (only) result in terms of one operand's view, when that is all the equation does.
// `view_of(operand index)` gives the operand's view.
std::optional<View> derived_view(const Graph& graph, const Equation& equation,
                                 const std::function<View(int operand)>& view_of);

// Strides of `base`'s axes in what `transposition` makes of it, an array of the same elements in another order. Axes of
// size 1 have none that matters.
Shape transposed_strides(const Graph& graph, Var base, const Equation& transposition);

// How the dimensions of a dot_general fall into groups, as positions in the operands' and the result's shapes.
struct DotAxes : DotDimensions {
  Ints lhs_free{}, rhs_free{};
  int64_t batch = 1, m = 1, n = 1, k = 1;  // sizes of the groups
};
DotAxes dot_axes(const Graph& graph, const Equation& equation);

// Elements between neighbours along each axis of a contiguous array.
Shape dense_strides(absl::Span<const int64_t> shape);

}  // namespace ct::jit
