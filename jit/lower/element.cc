// One element of a variable as loop IR: loaded, remembered or computed; and what positions are.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "jit/lower/frame.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

int64_t floor_divide(int64_t a, int64_t positive) { return a / positive - (a % positive < 0 ? 1 : 0); }

}  // namespace

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
      request_cut(group.index, inner);
      index = b_.divide(index, inner);
    }
    if (outer != 1) {
      request_cut(group.index, inner * shape[axis]);
      index = b_.modulo(index, shape[axis]);
    }
    return index;
  }
  CT_CHECK(false);
}

// `index` is going to be divided by `stride`. If that would fall between two axes of a loop over several, they had
// better be two loops.
void Frame::request_cut(const loop::Index& index, int64_t stride) {
  if (nest_shape_ == nullptr) return;
  for (const loop::Index::Term& term : index.terms()) {
    for (const NestLoop& loop : nest_loops_) {
      if (loop.variable != term.value) continue;
      int64_t inner = term.coefficient;
      for (int axis = loop.last; axis > loop.first; --axis) {
        inner *= (*nest_shape_)[axis];
        if (inner == stride) {
          requested_ |= Cuts{1} << (axis - 1);
          break;
        }
      }
    }
  }
}

// It is asked whether `index` is below `limit`, which depends on the iteration. Where that is one kept loop's, and of
// loops that fold if at all, it is so in all of these before one place of the kept loop, and in none behind another:
// there the loop could be cut.
void Frame::request_split(const loop::Index& index, int64_t limit) {
  if (nest_shape_ == nullptr) return;
  for (const NestLoop& loop : nest_loops_) {
    const int64_t step = index.coefficient_of(loop.variable);
    if (step == 0 || loop.first != loop.last) continue;
    if (loop.reduced) {
      decided_by_folds_ |= Axes{1} << loop.first;
      continue;
    }
    const loop::Index rest = index - loop::Index::of(loop.variable, step);
    const bool others_kept = std::any_of(nest_loops_.begin(), nest_loops_.end(), [&](const NestLoop& other) {
      return !other.reduced && rest.coefficient_of(other.variable) != 0;
    });
    const loop::Range range = b_.range_of(rest);
    if (others_kept || !range.known()) continue;
    const int64_t size = (*nest_shape_)[loop.first];
    if (range.high - range.low > size * std::abs(step) / 4) continue;
    for (const int64_t least : {range.high, range.low}) {
      // step * variable + least < limit, up to the place or from it on
      const int64_t place = step > 0 ? -floor_divide(least - limit, step) : floor_divide(least - limit, -step) + 1;
      splits_.push_back({loop.first, place});
    }
  }
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

// What is done depends on the remainder of `index` by `divisor`: loops could be one for each.
void Frame::request_phases(const loop::Index& index, int64_t divisor) {
  if (nest_shape_ == nullptr) return;
  for (const NestLoop& loop : nest_loops_) {
    const int64_t step = index.coefficient_of(loop.variable);
    if (step % divisor == 0 || loop.first != loop.last) continue;
    if (loop.reduced) {
      decided_by_folds_ |= Axes{1} << loop.first;
    } else {
      phases_.push_back({loop.first, divisor / std::gcd(step, divisor)});
    }
  }
}

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
