// What a `simplify` rule looks at: one equation, and what made its operands. It runs where programs will not go into a
// mask region any more, and changes no bits beyond these: x + 0 keeps a -0, and NaN payloads. A rule may emit
// equations; what it emits is not looked at again in the same run.
#pragma once

#include "ir/primitive.h"

namespace ct {

// Whether it is a constant that is `wanted` everywhere, of any numeric dtype.
bool is_full(Value value, double wanted);

struct SimplifyInput {
  Builder& builder;
  const Primitive& primitive;
  absl::Span<const Value> operands;
  const AttrsPtr& attrs;
  Aval output;  // of the first result

  // The equation that made `value` when it is one of these, else null. Valid until the builder grows.
  const Equation* made_by(Value value, const Primitive& by) const;
  const Equation* made_by(Value value, Arrangement by) const;
  Value operand(const Equation& equation, int index) const { return {&builder, builder.operands(equation)[index]}; }

  bool is_full(Value value) const { return made_by(value, Arrangement::kUniform) != nullptr; }
  bool is_full(Value value, double wanted) const { return ct::is_full(value, wanted); }
  bool is_finite_full(Value value) const;  // of a real floating dtype
  // The constant that made `value`, in another shape.
  Value full_of(Value value, absl::Span<const int64_t> shape) const;
};

// A rule of primitives with one result. Null: the equation stays.
SimplifyRule simplify_by(std::function<Value(const SimplifyInput& input)> rule);
// Of functions that undo themselves: neg neg x is x.
SimplifyRule simplify_involution();
// The record with a rule.
Primitive with_simplify(Primitive primitive, SimplifyRule rule);

}  // namespace ct
