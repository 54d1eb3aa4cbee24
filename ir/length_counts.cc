#include "ir/length_counts.h"

#include <optional>

#include "ir/length_form.h"
#include "ir/length_range.h"
#include "ir/primitive.h"

namespace ct {
namespace {

std::optional<Value> operand_of(Value x, size_t index, Arrangement arrangement) {
  const Equation* equation = x.builder->producer(x.var);
  if (equation == nullptr || equation->primitive->arrangement != arrangement) return std::nullopt;
  return Value{x.builder, x.builder->operands(*equation)[index]};
}

// Of bools or integers.
bool is_zero(Value x) {
  const Equation* equation = x.builder->producer(x.var);
  return equation != nullptr && equation->primitive->arrangement == Arrangement::kUniform &&
         x.builder->attrs(*equation).integer("value") == 0;
}

// The n of the positions along an axis that are below n.
Value length_of_positions(Value predicate) {
  const Equation* equation = predicate.builder->producer(predicate.var);
  if (equation == nullptr || !equation->primitive->computes(ScalarOp::kLt)) return {};
  const absl::Span<const Var> operands = predicate.builder->operands(*equation);
  const Equation* positions = predicate.builder->producer(operands[0]);
  if (positions == nullptr || positions->primitive->arrangement != Arrangement::kCounting) return {};
  const std::optional<Value> length = operand_of({predicate.builder, operands[1]}, 0, Arrangement::kBroadcast);
  return length && length->rank() == 0 && length->dtype() == DType::kInt32 ? *length : Value();
}

}  // namespace

Value counted_length(Value count) {
  const Builder& builder = *count.builder;
  if (!is_length_type(count.aval())) return {};
  const Equation* equation = builder.producer(count.var);
  if (equation == nullptr || !equation->primitive->folds(ScalarOp::kAdd)) return {};
  Value array{count.builder, builder.operands(*equation)[0]};
  const std::optional<Range> range = range_of_integer(array);
  if (array.rank() != 1 || !range || range->least < 0 || range->most > 1) return {};
  while ((equation = builder.producer(array.var)) != nullptr) {
    const absl::Span<const Var> operands = builder.operands(*equation);
    size_t same = 0;  // which operand is zero wherever that is
    if (equation->primitive->arrangement == Arrangement::kChoice) {
      if (!is_zero({count.builder, operands[2]})) return {};
      const Value length = length_of_positions({count.builder, operands[0]});
      if (length && never_negative(length)) return length;
      same = 1;
    } else if (equation->primitive->length_role != LengthRole::kSame) {
      return {};
    }
    array.var = operands[same];
  }
  return {};
}

}  // namespace ct
