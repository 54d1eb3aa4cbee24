#include "transforms/arranged.h"

#include <algorithm>

#include "ir/ops.h"
#include "ir/simplify.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {

ArrangedResults::ArrangedResults(ScanAttrs scan)
    : scan_(std::move(scan)),
      body_(*scan_.graph),
      definition_(body_.num_vars(), nullptr),
      uses_(body_.num_vars(), 0),
      constants_(static_cast<size_t>(scan_.num_constants)),
      carries_(static_cast<size_t>(scan_.num_carries)),
      arranged_(body_.outputs().begin(), body_.outputs().end()),
      products_(body_.outputs().size()) {
  for (const Equation& equation : body_.equations()) {
    for (uint32_t k = 0; k < equation.output_count; ++k) definition_[equation.first_output + k] = &equation;
    for (const Var var : body_.operands(equation)) ++uses_[var];
  }
  for (const Var var : body_.outputs()) ++uses_[var];
  if (scan_.length < 2 || scan_.pieces) return;
  for (size_t k = 0; k < products_.size(); ++k) {
    if (k < carries_) {
      const auto sum = added(k);
      if (!sum) continue;
      arranged_[k] = *sum;
    }
    if (!is_product(arranged_[k]) && is_arranged(arranged_[k])) find_products(arranged_[k], products_[k]);
  }
}

std::optional<Var> added_to(const Graph& body, Var variable, const Equation* sum) {
  if (sum == nullptr || !sum->primitive->computes(ScalarOp::kAdd)) return std::nullopt;
  const absl::Span<const Var> terms = body.operands(*sum);
  if ((terms[0] == variable) == (terms[1] == variable)) return std::nullopt;
  return terms[terms[0] == variable ? 1 : 0];
}

Value sum_from(Value start, Value sum) { return is_full(start, 0) ? sum : add(start, sum); }

// What is added to a carry that nothing else reads.
std::optional<Var> ArrangedResults::added(size_t carry) const {
  const Var input = static_cast<Var>(constants_ + carry), output = body_.outputs()[carry];
  if (uses_[input] != 1 || uses_[output] != 1) return std::nullopt;
  return added_to(body_, input, definition_[output]);
}

bool ArrangedResults::found() const {
  return std::ranges::any_of(products_, [](const std::vector<Var>& products) { return !products.empty(); });
}

// Of two things of the step, both of them smaller, and for nobody else.
bool ArrangedResults::is_product(Var var) const {
  const Equation* equation = definition_[var];
  if (equation == nullptr || !equation->primitive->is<structures::Product>() || uses_[var] != 1) return false;
  int64_t factors = 0;
  for (Var operand : body_.operands(*equation)) {
    factors += body_.aval(operand).size();
    while (definition_[operand] != nullptr && definition_[operand]->primitive->arrangement == Arrangement::kTranspose) {
      operand = body_.operands(*definition_[operand])[0];
    }
    if (operand < static_cast<Var>(constants_)) return false;
  }
  return body_.aval(var).size() > factors;
}

bool ArrangedResults::is_zero(Var var) const {
  const Equation* equation = definition_[var];
  return equation != nullptr && equation->primitive->arrangement == Arrangement::kUniform &&
         is_float(body_.aval(var).dtype()) && body_.attrs(*equation).real("value") == 0;
}

// Made of products by what moves elements, and puts zeros between them: the same may be done to sums of products.
bool ArrangedResults::is_arranged(Var var) const {
  if (is_product(var)) return true;
  const Equation* equation = definition_[var];
  if (equation == nullptr || uses_[var] != 1) return false;
  const absl::Span<const Var> operands = body_.operands(*equation);
  switch (equation->primitive->arrangement) {
    case Arrangement::kTranspose:
    case Arrangement::kReshape:
    case Arrangement::kConcatenate:
      return std::ranges::all_of(operands, [&](Var operand) { return is_arranged(operand); });
    case Arrangement::kPad:
      return is_arranged(operands[0]) && is_zero(operands[1]);
    default:
      return false;
  }
}

void ArrangedResults::find_products(Var var, std::vector<Var>& found) const {
  if (is_zero(var)) return;
  if (is_product(var)) {
    found.push_back(var);
    return;
  }
  for (const Var operand : body_.operands(*definition_[var])) find_products(operand, found);
}

ScanAttrs ArrangedResults::scan() const {
  Builder builder;
  Values values = inputs_like(builder, body_);
  const Values inputs = values;
  values.resize(body_.num_vars());
  copy_equations(builder, body_, values);
  ScanAttrs changed = scan_;
  Values order, outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_carry = i >= constants_ && i < constants_ + carries_;
    if (!is_carry || products_[i - constants_].empty()) {
      order.push_back(inputs[i]);
      if (is_carry) outputs.push_back(values[body_.outputs()[i - constants_]]);
      continue;
    }
    const std::vector<Var>& products = products_[i - constants_];
    changed.num_carries += static_cast<int64_t>(products.size()) - 1;
    for (const Var var : products) {
      order.push_back(builder.input(body_.aval(var)));
      outputs.push_back(add(order.back(), values[var]));
    }
  }
  for (size_t k = carries_; k < products_.size(); ++k) {
    if (products_[k].empty()) outputs.push_back(values[body_.outputs()[k]]);
    for (const Var var : products_[k]) outputs.push_back(values[var]);
  }
  builder.arrange_inputs(order);
  changed.graph = builder.finish(outputs);
  return changed;
}

Values ArrangedResults::operands(Builder& builder, absl::Span<const Value> operands) const {
  Values result;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_carry = i >= constants_ && i < constants_ + carries_;
    if (!is_carry || products_[i - constants_].empty()) {
      result.push_back(operands[i]);
      continue;
    }
    for (const Var var : products_[i - constants_]) result.push_back(zeros(builder, body_.aval(var)));
  }
  return result;
}

Values ArrangedResults::arranged(Builder& builder, absl::Span<const Value> operands, const Values& results) const {
  Values all;
  size_t next = 0;
  for (size_t k = 0; k < products_.size(); ++k) {
    if (products_[k].empty()) {
      all.push_back(results[next++]);
      continue;
    }
    const bool is_sum = k < carries_;
    const Value made = arranged(builder, arranged_[k], results, next, !is_sum);
    all.push_back(is_sum ? sum_from(operands[constants_ + k], made) : made);
  }
  return all;
}

// Of the results of all steps, stacked, or of their sums.
Value ArrangedResults::arranged(Builder& builder, Var var, const Values& results, size_t& next, bool stacked) const {
  const Equation& equation = *definition_[var];
  if (is_zero(var)) return builder.bind1(*equation.primitive, {}, body_.attrs_ptr(equation));
  if (is_product(var)) return results[next++];
  Values operands;
  for (const Var operand : body_.operands(equation)) {
    operands.push_back(arranged(builder, operand, results, next, stacked));
  }
  const LocationScope scope(location_of(equation));
  if (!stacked) return builder.bind1(*equation.primitive, operands, body_.attrs_ptr(equation));
  std::vector<Batched> batched;
  batched.reserve(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    batched.push_back({operands[k], is_zero(body_.operands(equation)[k]) ? -1 : 0});
  }
  const auto made = equation.primitive->batch(builder, batched, {scan_.length}, body_.attrs_ptr(equation));
  return materialize_batch(builder, made[0], 0, scan_.length);
}

}  // namespace ct
