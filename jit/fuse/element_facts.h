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

// Of an equation whose primitive has an element rule.
ElementFacts rule_facts(const Graph& graph, const Equation& equation, int output);

// Elements of a variable as elements of another: position p is at offset + sum of strides[axis] * p[axis] of `base`'s
// row-major elements.
struct View {
  Var base = kNoVar;
  int64_t offset = 0;
  Shape strides;
};
View whole_view(const Graph& graph, Var var);
using ViewOf = std::function<View(int operand)>;
// The view of the equation's (only) result in terms of one operand's view, when its element rule does nothing else.
// `view_of` gives the operand's view.
std::optional<View> rule_view(const Graph& graph, const Equation& equation, const ViewOf& view_of);

// Elements between neighbours along each axis of a contiguous array.
Shape dense_strides(absl::Span<const int64_t> shape);

}  // namespace ct::jit
