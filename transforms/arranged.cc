#include "transforms/arranged.h"

#include <algorithm>

#include "ir/ops.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {

ArrangedResults::ArrangedResults(ScanAttrs scan)
    : scan_(std::move(scan)),
      body_(*scan_.graph),
      definition_(body_.num_vars(), nullptr),
      uses_(body_.num_vars(), 0),
      products_(body_.outputs().size()) {
  for (const Equation& equation : body_.equations()) {
    for (uint32_t k = 0; k < equation.output_count; ++k) definition_[equation.first_output + k] = &equation;
    for (const Var var : body_.operands(equation)) ++uses_[var];
  }
  for (const Var var : body_.outputs()) ++uses_[var];
  if (scan_.length < 2 || scan_.pieces) return;
  for (size_t k = static_cast<size_t>(scan_.num_carries); k < products_.size(); ++k) {
    const Var var = body_.outputs()[k];
    if (!is_product(var) && is_arranged(var)) find_products(var, products_[k]);
  }
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
    if (operand < static_cast<Var>(scan_.num_constants)) return false;
  }
  return body_.aval(var).size() > factors;
}

bool ArrangedResults::is_arranged(Var var) const {
  if (is_product(var)) return true;
  const Equation* equation = definition_[var];
  if (equation == nullptr || uses_[var] != 1) return false;
  const Arrangement arrangement = equation->primitive->arrangement;
  const bool puts_together = arrangement == Arrangement::kTranspose || arrangement == Arrangement::kReshape ||
                             arrangement == Arrangement::kConcatenate;
  return puts_together &&
         std::ranges::all_of(body_.operands(*equation), [&](Var operand) { return is_arranged(operand); });
}

void ArrangedResults::find_products(Var var, std::vector<Var>& found) const {
  if (is_product(var)) {
    found.push_back(var);
    return;
  }
  for (const Var operand : body_.operands(*definition_[var])) find_products(operand, found);
}

GraphPtr ArrangedResults::body() const {
  Builder builder;
  Values values = inputs_like(builder, body_);
  values.resize(body_.num_vars());
  copy_equations(builder, body_, values);
  Values outputs;
  for (size_t k = 0; k < products_.size(); ++k) {
    if (products_[k].empty()) outputs.push_back(values[body_.outputs()[k]]);
    for (const Var var : products_[k]) outputs.push_back(values[var]);
  }
  return builder.finish(outputs);
}

Values ArrangedResults::arranged(Builder& builder, const Values& results) const {
  Values all;
  size_t next = 0;
  for (size_t k = 0; k < products_.size(); ++k) {
    all.push_back(products_[k].empty() ? results[next++] : arranged(builder, body_.outputs()[k], results, next));
  }
  return all;
}

Value ArrangedResults::arranged(Builder& builder, Var var, const Values& results, size_t& next) const {
  if (is_product(var)) return results[next++];
  const Equation& equation = *definition_[var];
  std::vector<Batched> operands;
  for (const Var operand : body_.operands(equation)) {
    operands.push_back({arranged(builder, operand, results, next), 0});
  }
  const LocationScope scope(location_of(equation));
  const auto made = equation.primitive->batch(builder, operands, {scan_.length}, body_.attrs_ptr(equation));
  return materialize_batch(builder, made[0], 0, scan_.length);
}

}  // namespace ct
