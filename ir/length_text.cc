#include "ir/length_text.h"

#include <algorithm>
#include <cstdlib>

#include "ir/length_form.h"
#include "ir/primitive.h"
#include "runtime/text.h"

namespace ct {

namespace {

thread_local const LengthLabels* current_labels = nullptr;

}  // namespace

LabelledLengths::LabelledLengths(const LengthLabels& labels) : previous_(current_labels) { current_labels = &labels; }

LabelledLengths::~LabelledLengths() { current_labels = previous_; }

LengthNames::Written LengthNames::name(Value length) {
  if (current_labels != nullptr && current_labels->builder == length.builder) {
    const auto label = current_labels->labels.find(length.var);
    if (label != current_labels->labels.end()) return {label->second, false, false};
  }
  constexpr std::string_view kLetters = "nmklpq";
  const auto place = static_cast<size_t>(std::find(named_.begin(), named_.end(), length) - named_.begin());
  if (place == named_.size()) named_.push_back(length);
  return {place < kLetters.size() ? std::string(1, kLetters[place]) : concat("n", place), false, false};
}

LengthNames::Written LengthNames::written(Value length) {
  if (const std::optional<int64_t> number = constant_of_length(length)) return {concat(*number)};
  const Builder& builder = *length.builder;
  const Equation* equation = builder.producer(length.var);
  if (equation == nullptr) return name(length);
  const Primitive& primitive = *equation->primitive;
  const absl::Span<const Var> operands = builder.operands(*equation);
  const auto operand = [&](size_t i) { return written({length.builder, operands[i]}); };
  const auto factor = [&](size_t i) {
    const Written part = operand(i);
    return part.is_sum ? concat("(", part.text, ")") : part.text;
  };
  const auto of_two = [&](std::string_view function) {
    return Written{concat(function, "(", operand(0).text, ", ", operand(1).text, ")")};
  };
  if (primitive.length_role == LengthRole::kClamp || primitive.length_role == LengthRole::kSame) return operand(0);
  if (primitive.computes(ScalarOp::kNeg)) return {concat("-", factor(0)), true};
  if (!computes_length(builder, *equation)) return name(length);
  switch (primitive.scalar_op) {
    case ScalarOp::kAdd: {
      const std::optional<int64_t> added = constant_of_length({length.builder, operands[1]});
      if (added == 0) return operand(0);
      if (constant_of_length({length.builder, operands[0]}) == 0) return operand(1);
      if (added && *added < 0) return {concat(operand(0).text, " - ", -*added), true};
      return {concat(operand(0).text, " + ", operand(1).text), true};
    }
    case ScalarOp::kSub:
      if (constant_of_length({length.builder, operands[1]}) == 0) return operand(0);
      return {concat(operand(0).text, " - ", factor(1)), true};
    case ScalarOp::kMul:
      return {concat(factor(0), " * ", factor(1))};
    case ScalarOp::kDiv:
      return {concat(factor(0), " // ", factor(1)), true};
    case ScalarOp::kMax:
      return of_two("max");
    case ScalarOp::kMin:
      return of_two("min");
    default:
      return name(length);
  }
}

}  // namespace ct
