#include "ir/simplify.h"

#include <cmath>

namespace ct {

bool is_full(Value value, double wanted) {
  const Equation* equation = value.builder->producer(value.var);
  if (equation == nullptr || equation->primitive->arrangement != Arrangement::kUniform) return false;
  const Attrs& constant = value.builder->attrs(*equation);
  if (is_complex(value.dtype())) return constant.reals("value") == std::vector<double>{wanted, 0};
  if (is_float(value.dtype())) return constant.real("value") == wanted;
  return static_cast<double>(constant.integer("value")) == wanted;
}

const Equation* SimplifyInput::made_by(Value value, const Primitive& by) const {
  const Equation* equation = builder.producer(value.var);
  return equation != nullptr && equation->primitive == &by ? equation : nullptr;
}

const Equation* SimplifyInput::made_by(Value value, Arrangement by) const {
  const Equation* equation = builder.producer(value.var);
  return equation != nullptr && equation->primitive->arrangement == by ? equation : nullptr;
}

bool SimplifyInput::is_finite_full(Value value) const {
  const Equation* equation = made_by(value, Arrangement::kUniform);
  return equation != nullptr && std::isfinite(builder.attrs(*equation).real("value"));
}

Value SimplifyInput::full_of(Value value, absl::Span<const int64_t> shape) const {
  const Equation* equation = made_by(value, Arrangement::kUniform);
  const AttrsPtr constant = builder.attrs_ptr(*equation);
  return builder.bind1(*equation->primitive, {}, constant->with("shape", Ints(shape.begin(), shape.end())));
}

SimplifyRule simplify_by(std::function<Value(const SimplifyInput& input)> rule) {
  return [rule = std::move(rule)](const SimplifyInput& input) {
    const Value value = rule(input);
    return value ? Values{value} : Values{};
  };
}

Primitive with_simplify(Primitive primitive, SimplifyRule rule) {
  primitive.simplify = std::move(rule);
  return primitive;
}

SimplifyRule simplify_involution() {
  return simplify_by([](const SimplifyInput& input) {
    const Equation* inner = input.made_by(input.operands[0], input.primitive);
    return inner != nullptr && input.builder.attrs(*inner) == *input.attrs ? input.operand(*inner, 0) : Value{};
  });
}

}  // namespace ct
