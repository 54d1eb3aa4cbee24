// Elements that nobody looks at, because they lie behind a length that is known when the program runs.
//
// Programs that mask are full of select(i < n, x, c). Behind n nothing of x is wanted, nor of what only x is computed
// from; and a sum of select(i < n, x, 0) has nothing to add there. Who runs loops over such elements ends them at n
// (lower/nest.cc, lower/dot.cc), and leaves the memory of what is not wanted as it was.
//
// - A Limit: the elements at an index along an axis that is below (factor * source[...] + offset) / step. Factors and
//   steps come from windows and slices with a step; mostly they are 1.
// - An ElementForm: what is known of each element of a variable, such as that it compares its index with a length;
//   found forwards.
// - What is wanted of a variable: the limits behind which no element is; found backwards.
//
// Both are derived from element rules, which are run on symbols; other lowerings say what they know
// (Lowering::form, Lowering::operand_limits). A graph without such comparisons costs one look at its integers and
// bools.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ct::jit {

// `axes`: for each axis of `source`, the axis of the variable that it goes along; -1 where it has the size 1. Without a
// source, the first `offset` elements: what some of an operand's readers read of it, never the limit of a loop.
struct Limit {
  int axis = 0;
  Var source = kNoVar;
  int64_t offset = 0;
  std::vector<int> axes = {};
  int64_t factor = 1, step = 1;  // without a common divisor
  bool operator==(const Limit&) const = default;
};
using Limits = std::vector<Limit>;
// Of the same length, along the same axis.
bool are_alike(const Limit& a, const Limit& b);
bool contains(const Limits& limits, const Limit& limit);  // it, or a tighter one
// What follows from either of both: those that `other` has too, the looser of two that are alike.
void keep_common(Limits& limits, const Limits& other);

// Behind the limit, elements are this number.
struct Filling {
  Limit limit;
  double value;
};

// What an integer is below, unless it is negative: an element of a variable plus a constant, `axes` as those of a
// Limit.
struct Bound {
  Var source = kNoVar;
  int64_t offset = 0;
  std::vector<int> axes = {};
};

struct ElementForm {
  // An integer: the index along an axis, plus a constant; or the element of a variable, `axes` as those of a Limit.
  int index_axis = -1;
  int64_t index_offset = 0;
  Var source = kNoVar;
  std::vector<int> source_axes = {};
  std::optional<Bound> bound = {};
  std::optional<double> constant = {};
  bool never_negative = false;  // known of an integer
  // A bool: where it is true, or false, the index is below all of these. `exact`: and only there is it true.
  Limits when_true = {}, when_false = {};
  bool exact = false;
  // A bool: where it is true, the element of this variable is below that of another.
  Var compared = kNoVar;
  std::vector<int> compared_axes = {};
  std::optional<Bound> compared_bound = {};
  std::vector<Filling> fillings = {};

  bool is_known() const {
    return index_axis >= 0 || source != kNoVar || constant || !when_true.empty() || !when_false.empty() ||
           !fillings.empty();
  }
};

// Which axis of one variable an axis of another goes along; -1: none. The index along the latter, `over` times, is that
// along the former, `times` times, plus something from `least` to `most`.
struct AxisOf {
  int axis = -1;
  int64_t least = 0, most = 0;
  int64_t times = 1, over = 1;
  bool is_shifted() const { return axis >= 0 && least == most && times == 1 && over == 1; }
  bool is_same() const { return is_shifted() && least == 0; }
};
using AxisMap = std::vector<AxisOf>;
// For a variable whose axes are those of `to`, what is known of one of the axes that `map` is for.
std::optional<Limit> mapped(const Limit& limit, const AxisMap& map);
ElementForm mapped(const ElementForm& form, const AxisMap& map);
AxisMap inverse(const AxisMap& map, int rank);

struct GraphFacts;

// By operand: the limits behind which none of its elements is read for what is wanted of the results; nothing for one
// that is not read.
using OperandLimits = std::vector<std::optional<Limits>>;

class ElementLimits {
 public:
  ElementLimits() = default;  // nothing is known
  explicit ElementLimits(const GraphFacts& facts);

  bool any() const { return any_; }
  bool is_wanted(Var var) const { return wanted_[var].any; }
  // At most one an axis.
  const Limits& wanted(Var var) const { return any_ ? wanted_[var].limits : none_; }
  // What all wanted elements of `var` are elements of, at the same position; kNoVar: no such variable is known.
  Var shown(Var var) const { return any_ ? shown_[var] : kNoVar; }
  const ElementForm& known(Var var) const { return any_ ? forms_[var] : unknown_; }
  // The limits behind which the variable's elements do not change a fold that starts with `identity`.
  Limits folded(const Aval& aval, Var var, double identity) const;

  // While it is being made.
  ElementForm form(const Graph& graph, Var var) const;  // an integer of which nothing is known is an element of itself
  // What two readers want together: keep_common, and more, as indices are never negative, nor are most lengths.
  void join(Limits& limits, const Limits& other) const;

 private:
  struct Wanted {
    bool any = false;
    Limits limits = {};
  };
  void find_forms(const GraphFacts& facts, bool of_integers);
  void find_wanted(const GraphFacts& facts);
  std::optional<Limit> either(const Limit& a, const Limit& b) const;
  void want(Var var, const Limits& limits);

  bool any_ = false;
  std::vector<ElementForm> forms_;
  std::vector<Wanted> wanted_;
  std::vector<Var> shown_;
  Limits none_;
  ElementForm unknown_;
};

// As an element of the type says it.
double rounded(DType dtype, double value);

// Of an equation with an element rule (rule_limits.cc).
ElementForm rule_form(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output);
Var rule_shown(const ElementLimits& limits, const Graph& graph, const Equation& equation, int output,
               const Limits& within);
OperandLimits rule_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation);
// Of one with a loop rule.
OperandLimits loop_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation);

}  // namespace ct::jit
