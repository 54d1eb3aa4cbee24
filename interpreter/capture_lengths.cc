// Which axes of captured values are ragged: mask rules run on a scratch program beside the capture, of which only the
// lengths are wanted.
#include <algorithm>
#include <optional>

#include "interpreter/capture_state.h"
#include "ir/length_form.h"
#include "ir/length_text.h"
#include "ir/lengths.h"
#include "ir/primitives.h"
#include "runtime/error.h"

namespace ct {

void Capture::State::set_masked(Var var, Masked value) {
  if (masked.size() <= var) masked.resize(var + 1);
  if (value.value && value.value.rank() == 0 && value.value.dtype() == DType::kInt32) {
    length_vars.try_emplace(value.value.var, var);
  }
  masked[var] = std::move(value);
}

void Capture::State::note_lengths(const Equation& equation) {
  std::vector<Masked> operands;
  for (Var var : builder->operands(equation)) {
    operands.push_back(masked[var]);
    CT_CHECK(operands.back().value);
  }
  Avals expected;
  for (uint32_t k = 0; k < equation.output_count; ++k) expected.push_back(builder->aval(equation.first_output + k));
  LocationScope location(equation.location);
  std::vector<Masked> outputs =
      mask_equation(mask->scratch, *equation.primitive, operands, builder->attrs_ptr(equation), expected);
  for (uint32_t k = 0; k < equation.output_count; ++k) set_masked(equation.first_output + k, std::move(outputs[k]));
}

void Capture::State::run_mask_rules() {
  if (mask == nullptr) return;
  const LabelledLengths labelled(mask->labels);
  masked.resize(builder->num_vars());
  while (masked_equations < builder->equations().size()) {
    // Counted first: an equation whose rule throws is not tried again.
    note_lengths(builder->equations()[masked_equations++]);
  }
}

Values Capture::lengths_of(Var var) {
  CT_CHECK(live());
  state_->run_mask_rules();
  if (state_->mask == nullptr) return Values(state_->builder->aval(var).rank());
  return state_->masked[var].lengths;
}

std::optional<Traced> Capture::length(const Traced& value, int axis) {
  CT_CHECK(value.capture != nullptr && value.capture->live());
  const Values lengths = value.capture->lengths_of(value.var);
  CT_CHECK(axis >= 0 && static_cast<size_t>(axis) < lengths.size());
  const Value length = lengths[axis];
  if (!length) return std::nullopt;
  // A value of an enclosing capture serves as well: its use here lifts it.
  for (Capture* capture = this; capture != nullptr; capture = capture->state_->enclosing) {
    const auto it = capture->state_->length_vars.find(length.var);
    if (it != capture->state_->length_vars.end() && capture->state_->mask == state_->mask) {
      return Traced{capture->shared_from_this(), it->second};
    }
  }
  const std::vector<Datum> size =
      bind(kDimensionSize, {Datum(value)}, Attrs::make({{"axis", static_cast<int64_t>(axis)}}));
  return std::get<Traced>(size[0]);
}

Value Capture::State::masked_value(const Traced& traced) const {
  CT_CHECK(traced.capture->live());
  State& state = *traced.capture->state_;
  if (state.mask == nullptr || state.mask != mask) return {};
  state.run_mask_rules();
  return state.masked[traced.var].value;
}

bool Capture::same_sizes(const Traced& x, const Traced& y) {
  const Value left = state_->masked_value(x), right = state_->masked_value(y);
  return left && right && same_length(left, right);
}

std::pair<std::string, std::string> Capture::size_texts(const Traced& x, const Traced& y) {
  const Value left = state_->masked_value(x), right = state_->masked_value(y);
  const LabelledLengths labelled(state_->mask->labels);
  LengthNames names;
  std::string of_left = left ? names.text(left) : "?";
  return {std::move(of_left), right ? names.text(right) : "?"};
}

std::optional<Range> Capture::range_of_size(const Traced& value) {
  CT_CHECK(value.capture != nullptr && value.capture->live());
  State& state = *value.capture->state_;
  if (state.mask == nullptr) return std::nullopt;
  state.run_mask_rules();
  return range_of(state.masked[value.var].value);
}

void Capture::inherit_lengths(const Traced& input, const Datum& from, std::optional<int> element_axis) {
  const Traced* enclosing = std::get_if<Traced>(&from);
  if (state_->mask == nullptr || enclosing == nullptr || !enclosing->capture->live()) return;
  if (enclosing->capture->state_->mask != state_->mask) return;
  Values lengths = enclosing->capture->lengths_of(enclosing->var);
  if (element_axis) lengths.erase(lengths.begin() + *element_axis);
  CT_CHECK(input.capture.get() == this && lengths.size() == state_->masked[input.var].lengths.size());
  state_->masked[input.var].lengths = std::move(lengths);
}

Traced Capture::add_ragged_input(Aval aval, std::string name, const std::vector<std::optional<Traced>>& lengths,
                                 std::optional<Datum> shadow) {
  CT_CHECK(live() && state_->captured.empty());
  CT_CHECK(static_cast<int>(lengths.size()) == aval.rank());
  const bool is_label = state_->options.mode == CaptureMode::kMask && aval.rank() == 0;
  const Value input = state_->builder->input(aval, is_label ? std::string() : name);
  state_->declared = input.var + 1;
  if (shadow) state_->shadows.emplace(input.var, *std::move(shadow));
  if (state_->mask != nullptr) {
    Masked masked{state_->mask->scratch.input(aval), Values(aval.rank())};
    if (is_label && !name.empty()) state_->mask->labels.labels.emplace(masked.value.var, std::move(name));
    for (size_t axis = 0; axis < lengths.size(); ++axis) {
      if (!lengths[axis]) continue;
      Capture& owner = *lengths[axis]->capture;
      CT_CHECK(owner.live() && owner.state_->mask == state_->mask);
      owner.state_->run_mask_rules();
      const Value length = owner.state_->masked[lengths[axis]->var].value;
      masked.lengths[axis] = length;
      state_->mask->scratch.bound_length(length, aval.dim(static_cast<int>(axis)));
    }
    state_->set_masked(input.var, std::move(masked));
  } else {
    for (const std::optional<Traced>& length : lengths) CT_CHECK(!length);
  }
  return {shared_from_this(), input.var};
}

}  // namespace ct
