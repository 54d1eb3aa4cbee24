// Values of captured variables where somebody asks for them, and what they depend on of what is being differentiated.
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "interpreter/capture_state.h"
#include "interpreter/evaluate.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

Error no_value(const CaptureOptions& options, const Remains& wanted, std::string_view use) {
  return Error(ErrorKind::kConcretization,
               concat("the value of ", described(wanted), " is needed here, but ", quoted_function(options),
                      " is being captured by ", mode_name(options.mode), " and has no values yet"))
      .at(LocationScope::current())
      .hint(concretization_hint(options.mode, use))
      .see("concrete-value-needed");
}

}  // namespace

Tensor Capture::State::value_of(Var wanted, std::string_view use) {
  if (values.size() < builder->num_vars()) values.resize(builder->num_vars());
  // Depth first through what has no value yet; a variable stays on the list until its operands are done.
  std::vector<Var> pending{wanted};
  absl::InlinedVector<Tensor, 4> operands;
  while (!pending.empty()) {
    const Var var = pending.back();
    if (values[var]) {
      pending.pop_back();
      continue;
    }
    const Equation* equation = builder->producer(var);
    if (equation == nullptr) {
      const auto shadow = shadows.find(var);
      if (shadow == shadows.end()) throw no_value(options, describe(options.concrete_shadow ? var : wanted), use);
      values[var] = peek(shadow->second, use);
      pending.pop_back();
      continue;
    }
    if (!options.concrete_shadow && !repeatable(*equation->primitive, *builder->attrs_ptr(*equation))) {
      throw no_value(options, describe(wanted), use);
    }
    bool ready = true;
    for (Var operand : builder->operands(*equation)) {
      if (values[operand]) continue;
      pending.push_back(operand);
      ready = false;
    }
    if (!ready) continue;
    operands.clear();
    for (Var operand : builder->operands(*equation)) operands.push_back(values[operand]);
    LocationScope location(equation->location);
    std::vector<Tensor> results = evaluate_primitive(*equation->primitive, operands, builder->attrs_ptr(*equation));
    for (uint32_t k = 0; k < equation->output_count; ++k) values[equation->first_output + k] = std::move(results[k]);
    pending.pop_back();
  }
  return values[wanted];
}

Tensor peek(const Datum& datum, std::string_view use) {
  if (const Tensor* tensor = std::get_if<Tensor>(&datum)) return *tensor;
  const Traced& traced = std::get<Traced>(datum);
  Capture::State& state = *traced.capture->state_;
  const CaptureOptions& options = state.options;
  if (state.builder == nullptr && state.is_outside(traced.var)) return peek(state.outside_value(traced.var), use);
  if (state.builder == nullptr) {
    throw Error(ErrorKind::kTracerLeak,
                concat(described(state.describe(traced.var)), " escaped from the capture of ", quoted_function(options),
                       " by ", mode_name(options.mode), ": it was used after that capture had ended"))
        .at(LocationScope::current())
        .hint(kLeakHint)
        .see("escaped-tracer");
  }
  // Under vmap what does not depend on the examples has a value all the same.
  if (!options.concrete_shadow && !(options.mode == CaptureMode::kBatch && state.mask == nullptr)) {
    throw no_value(options, state.describe(traced.var), use);
  }
  EagerScope eager;
  return state.value_of(traced.var, use);
}

// Made where it is asked for: evaluated, unless it depends on what is being captured there.
Datum Capture::State::outside_value(Var wanted) {
  std::vector<Var> pending{wanted};  // as in value_of
  absl::flat_hash_map<Var, Datum> made;
  const auto find = [&](Var var) -> const Datum* {
    const auto value = outside_values.find(var);
    if (value != outside_values.end()) return &value->second;
    const auto here = made.find(var);
    return here == made.end() ? nullptr : &here->second;
  };
  while (!pending.empty()) {
    const Var var = pending.back();
    if (find(var) != nullptr) {
      pending.pop_back();
      continue;
    }
    const OutsideEquation* equation = outside_producer(var);
    CT_CHECK(equation != nullptr);
    const size_t before = pending.size();
    for (Var operand : equation->operands) {
      if (find(operand) == nullptr) pending.push_back(operand);
    }
    if (pending.size() > before) continue;
    std::vector<Datum> operands;
    for (Var operand : equation->operands) operands.push_back(*find(operand));
    const bool known = std::all_of(operands.begin(), operands.end(),
                                   [](const Datum& operand) { return std::holds_alternative<Tensor>(operand); });
    LocationScope location(equation->location);
    std::optional<EagerScope> eager;
    if (known) eager.emplace();
    const std::vector<Datum> results = ct::bind(*equation->primitive, operands, equation->attrs);
    for (uint32_t k = 0; k < equation->output_count; ++k) {
      (known ? outside_values : made).emplace(equation->first_output + k, results[k]);
    }
    pending.pop_back();
  }
  return *find(wanted);
}

Levels Capture::State::outside_dependence(Var wanted) const {
  std::vector<Var> pending{wanted};
  absl::flat_hash_set<Var> seen;
  Levels levels = 0;
  while (!pending.empty()) {
    const Var var = pending.back();
    pending.pop_back();
    if (!seen.insert(var).second) continue;
    const auto value = outside_values.find(var);
    if (value != outside_values.end()) {
      levels |= ct::dependence(value->second);
    } else if (const OutsideEquation* equation = outside_producer(var)) {
      pending.insert(pending.end(), equation->operands.begin(), equation->operands.end());
    }
  }
  return levels;
}

// ---- what values depend on ------------------------------------------------------------------------------------------

Levels Capture::State::dependence_of(Var wanted) {
  if (dependence.size() < builder->num_vars()) dependence.resize(builder->num_vars());
  std::vector<Var> pending{wanted};  // as in value_of
  while (!pending.empty()) {
    const Var var = pending.back();
    if (dependence[var]) {
      pending.pop_back();
      continue;
    }
    const Equation* equation = builder->producer(var);
    if (equation == nullptr) {
      const auto own = input_dependence.find(var);
      const auto shadow = shadows.find(var);
      const Levels levels = (own == input_dependence.end() ? 0 : own->second) |
                            (shadow == shadows.end() ? 0 : ct::dependence(shadow->second));
      dependence[var] = levels & ~applied_by;
      pending.pop_back();
      continue;
    }
    bool ready = true;
    for (Var operand : builder->operands(*equation)) {
      if (dependence[operand]) continue;
      pending.push_back(operand);
      ready = false;
    }
    if (!ready) continue;
    Levels levels = 0;
    std::vector<Aval> operands, results;
    std::vector<bool> moving;
    for (Var operand : builder->operands(*equation)) {
      operands.push_back(builder->aval(operand));
      moving.push_back(*dependence[operand] != 0 && is_inexact(operands.back().dtype()));
      if (moving.back()) levels |= *dependence[operand];
    }
    for (uint32_t k = 0; k < equation->output_count; ++k) results.push_back(builder->aval(equation->first_output + k));
    const std::vector<bool> moved =
        moved_results(*equation->primitive, operands, results, moving, builder->attrs_ptr(*equation));
    for (uint32_t k = 0; k < equation->output_count; ++k) {
      dependence[equation->first_output + k] = moved[k] ? levels : 0;
    }
    pending.pop_back();
  }
  return *dependence[wanted];
}

Levels dependence(const Datum& datum) {
  const Traced* traced = std::get_if<Traced>(&datum);
  if (traced == nullptr || !is_inexact(datum_aval(datum).dtype())) return 0;
  if (!traced->capture->live()) return traced->capture->state_->outside_dependence(traced->var);
  EagerScope eager;
  return traced->capture->state_->dependence_of(traced->var);
}

Tensor concrete(const Datum& datum, std::string_view use) {
  Tensor value = peek(datum, use);
  if (dependence(datum) == 0) return value;
  const Traced& traced = std::get<Traced>(datum);
  throw Error(ErrorKind::kConcretization,
              concat(use, " of ", described(traced.capture->state_->describe(traced.var)),
                     ", which depends on what is differentiated: the plain value would be a constant, and the "
                     "derivative through it silently zero"))
      .at(LocationScope::current())
      .hint(
          "compute with the function of ct.numpy or ct.scipy, which takes the array itself, or make it a constant "
          "with ct.lax.stop_gradient(x) first")
      .see("plain-value-in-a-derivative");
}

}  // namespace ct
