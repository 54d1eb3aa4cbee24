// One element of a variable as loop IR: loaded, remembered or computed; and what positions are.
#include <algorithm>

#include "jit/lower/frame.h"
#include "runtime/error.h"

namespace ct::jit {
loop::Index linear(const Position& position, const Shape& shape) {
  const Shape strides = dense_strides(shape);
  loop::Index result = 0;
  for (const AxisGroup& group : position) result += group.index * strides[group.last];
  return result;
}

// One axis' index, taking its group apart if need be.
loop::Index Frame::axis_index(const Position& position, const Shape& shape, int axis) {
  if (shape[axis] == 1) return 0;
  for (const AxisGroup& group : position) {
    if (axis < group.first || axis > group.last) continue;
    const int64_t inner = num_elements(absl::MakeConstSpan(shape).subspan(axis + 1, group.last - axis));
    const int64_t outer = num_elements(absl::MakeConstSpan(shape).subspan(group.first, axis - group.first));
    loop::Index index = group.index;
    if (inner != 1) {
      nest_.request_cut(group.index, inner);
      index = b_.divide(index, inner);
    }
    if (outer != 1) {
      nest_.request_cut(group.index, inner * shape[axis]);
      index = b_.modulo(index, shape[axis]);
    }
    return index;
  }
  CT_CHECK(false);
}

namespace {

void append(absl::InlinedVector<int64_t, 16>& key, const loop::Index& index) {
  key.push_back(index.constant());
  for (const loop::Index::Term& term : index.terms()) {
    key.push_back(static_cast<int64_t>(term.value));
    key.push_back(term.coefficient);
  }
}

}  // namespace

void Frame::remember(Var var, const Position& position, loop::Scalar value) {
  Key key{static_cast<int64_t>(var)};
  append(key, linear(position, graph_.aval(var).shape()));
  memory_.back().insert_or_assign(std::move(key), value);
}

loop::Scalar Frame::element(Var var, const Position& position) {
  if (registers_[var]) return *registers_[var];
  // Nobody looks where the two differ.
  const Var shown = limits_.known().shown(var);
  if (shown != kNoVar && !fusion_.stored[var]) return element(shown, position);
  // Elements are the same where their row-major positions are.
  const loop::Index at = linear(position, graph_.aval(var).shape());
  Key key{static_cast<int64_t>(var)};
  append(key, at);
  for (size_t i = memory_.size(); i-- > 0;) {
    if (auto found = memory_[i].find(key); found != memory_[i].end()) return found->second;
  }
  loop::Scalar value;
  if (fusion_.stored[var]) {
    CT_CHECK(places_[var].has_value());
    value = b_.load(places_[var]->buffer, places_[var]->offset + at);
  } else {
    value = compute(var, position);
  }
  memory_.back().insert_or_assign(std::move(key), value);
  return value;
}

loop::Scalar Frame::compute(Var var, const Position& position) {
  const Equation& equation = equation_of(var);
  if (std::find(computed_.begin(), computed_.end(), fusion_.definition[var]) == computed_.end()) {
    computed_.push_back(fusion_.definition[var]);
  }
  return lowering_of(*equation.primitive).element(*this, equation, var, position);
}

}  // namespace ct::jit
