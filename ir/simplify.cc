#include "ir/simplify.h"

#include <cmath>

#include "ir/ops.h"

namespace ct {

const Equation* SimplifyInput::made_by(Value value, const Primitive& by) const {
  const Equation* equation = builder.producer(value.var);
  return equation != nullptr && equation->primitive == &by ? equation : nullptr;
}

const Equation* SimplifyInput::made_by(Value value, Arrangement by) const {
  const Equation* equation = builder.producer(value.var);
  return equation != nullptr && equation->primitive->arrangement == by ? equation : nullptr;
}

bool SimplifyInput::is_full(Value value, double wanted) const {
  const Equation* equation = made_by(value, Arrangement::kUniform);
  if (equation == nullptr) return false;
  const Attrs& constant = builder.attrs(*equation);
  if (is_complex(value.dtype())) return constant.reals("value") == std::vector<double>{wanted, 0};
  if (is_float(value.dtype())) return constant.real("value") == wanted;
  return static_cast<double>(constant.integer("value")) == wanted;
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

std::optional<SimplifyInput::Window> SimplifyInput::small_window(Value value) const {
  constexpr int64_t kLeastOutside = 16;  // times what is inside: gates of a recurrent network are choices
  const Equation* broadcast = made_by(value, Arrangement::kBroadcast);
  const Equation* pad = made_by(broadcast == nullptr ? value : operand(*broadcast, 0), Arrangement::kPad);
  if (pad == nullptr) return std::nullopt;
  const Attrs& attrs = builder.attrs(*pad);
  const Ints &low = attrs.ints("low"), &high = attrs.ints("high"), &interior = attrs.ints("interior");
  Window window{.start = Ints(value.rank(), 0),
                .sizes = Ints(value.shape().begin(), value.shape().end()),
                .inside = operand(*pad, 0),
                .around = operand(*pad, 1)};
  for (int i = 0; i < window.inside.rank(); ++i) {
    const int64_t size = window.inside.shape()[i];
    if (low[i] < 0 || high[i] < 0 || (interior[i] != 0 && size > 1)) return std::nullopt;
    const auto axis = static_cast<size_t>(broadcast == nullptr ? i : builder.attrs(*broadcast).ints("axes")[i]);
    window.start[axis] = low[i];
    window.sizes[axis] = size;
  }
  const int64_t size = num_elements(window.sizes);
  if (size == 0 || size > num_elements(value.shape()) / kLeastOutside) return std::nullopt;
  return window;
}

Value with_window(Value x, const SimplifyInput::Window& window, Value update) {
  Values starts;
  for (const int64_t start : window.start) {
    starts.push_back(full_integer(*x.builder, Aval(DType::kInt64, {}), start));
  }
  return dynamic_update_slice(x, update, starts);
}

Value window_of(Value x, const SimplifyInput::Window& window) {
  Ints limit = window.start;
  for (size_t axis = 0; axis < limit.size(); ++axis) limit[axis] += window.sizes[axis];
  return slice(x, window.start, limit, Ints(limit.size(), 1));
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
