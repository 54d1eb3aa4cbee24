#include "jit/lower/lower.h"

#include <algorithm>

#include "jit/loop/passes/sums.h"
#include "jit/lower/frame.h"
#include "runtime/error.h"
#include "runtime/float_types.h"
#include "runtime/location.h"
#include "runtime/text.h"

namespace ct::jit {
Chunks chunks_of(int64_t size, int64_t each) {
  constexpr int64_t kLeastFolded = 1 << 16, kMostChunks = 64, kLeastIterations = 32, kLeastElements = 4096,
                    kVectorMultiple = 64;
  if (size * each < kLeastFolded) return {};
  int64_t count = std::min(kMostChunks, size / std::max(kLeastIterations, kLeastElements / each));
  if (count < 2) return {};
  // Preferably nothing is left over, as that is code of its own; and chunks begin and end where vectors do.
  for (int64_t multiple : {kVectorMultiple, int64_t{1}}) {
    for (int64_t other = count; other > count / 2; --other) {
      if (size % other == 0 && size / other * each % multiple == 0) return {other, size / other, 0};
    }
  }
  return {count, size / count, size % count};
}

loop::Scalar saturated(loop::Builder& builder, DType dtype, double value) {
  if (is_inexact(dtype)) return builder.constant(dtype, value);
  return dispatch_dtype(dtype, [&](auto tag) {
    const auto element = convert_element<typename decltype(tag)::type>(value);
    return builder.constant_from_bytes(dtype, &element);
  });
}

loop::Program lower(const Graph& graph, std::string_view name, const LoweringOptions& options) {
  loop::Builder builder{std::string(name)};
  std::vector<Source> inputs;
  for (const Aval& aval : graph.input_avals()) {
    inputs.push_back({Place{builder.input(aval.dtype(), aval.size()), 0}, std::nullopt});
  }
  std::vector<std::optional<Place>> outputs;
  for (const Aval& aval : graph.output_avals()) {
    outputs.push_back(Place{builder.output(aval.dtype(), aval.size()), 0});
  }
  Frame(builder, graph, std::move(inputs), std::move(outputs), options).run();
  return builder.finish();
}

Frame::Frame(loop::Builder& builder, const Graph& graph, std::vector<Source> inputs,
             std::vector<std::optional<Place>> wanted, const LoweringOptions& options)
    : b_(builder),
      graph_(graph),
      inputs_(std::move(inputs)),
      wanted_(std::move(wanted)),
      options_(options),
      fusion_(fuse(graph, {.bfloat16_products = options.machine.bfloat16_products})),
      places_(graph.num_vars()),
      registers_(graph.num_vars()),
      limits_(graph, fusion_.limits),
      ready_(graph.num_vars(), false) {
  std::fill_n(ready_.begin(), graph.num_inputs(), true);
  CT_CHECK(inputs_.size() == graph.num_inputs());
  wanted_.resize(graph.outputs().size());
}

std::vector<Source> Frame::run() {
  Scope scope(*this);
  assign_places();
  for (const Step& step : fusion_.steps) {
    if (!b_.at_top()) {
      emit_step(step);
      continue;
    }
    b_.begin_group();
    computed_.clear();
    emit_step(step);
    b_.name_group(group_name(step));
  }
  std::vector<Source> results;
  finish_outputs(results);
  return results;
}

// The primitives that the step computes, in order, what it stores, and a line of the user's.
std::string Frame::group_name(const Step& step) const {
  std::vector<uint32_t> equations = computed_;
  if (step.kind == StepKind::kNest) {
    for (Var var : step.reductions) equations.push_back(fusion_.definition[var]);
  } else {
    equations.push_back(step.equation);
  }
  std::sort(equations.begin(), equations.end());
  std::vector<std::string> names;
  std::string type;
  LocationId location = kNoLocation;
  for (uint32_t i : equations) {
    const Equation& equation = graph_.equations()[i];
    if (std::find(names.begin(), names.end(), equation.primitive->name) == names.end()) {
      names.push_back(equation.primitive->name);
    }
    if (equation.output_count != 0) type = graph_.aval(equation.first_output).to_string();
    if (equation.location != kNoLocation) location = equation.location;
  }
  return concat(join(names, " "), type.empty() ? "" : " -> ", type, location == kNoLocation ? "" : "  ",
                location_string(location));
}

void Frame::assign_places() {
  std::vector<bool> used(graph_.num_vars(), false);
  for (const Equation& equation : graph_.equations()) {
    for (Var var : graph_.operands(equation)) used[var] = true;
  }
  for (Var var = 0; var < graph_.num_inputs(); ++var) {
    places_[var] = inputs_[var].place;
    registers_[var] = inputs_[var].value;
    // Scalars are read once, not in every iteration.
    if (!registers_[var] && graph_.aval(var).size() == 1 && used[var]) {
      registers_[var] = b_.load(places_[var]->buffer, places_[var]->offset);
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Var base = alias_base(graph_, fusion_.definition, graph_.outputs()[i]);
    if (wanted_[i] && fusion_.definition[base] != Fusion::kInput && !places_[base]) {
      places_[base] = wanted_[i];
      spoil_if_checked(b_, wanted_[i]->buffer, wanted_[i]->offset, graph_.aval(base));
    }
  }
  for (Var var = graph_.num_vars(); var-- > 0;) {
    if (fusion_.filled[var] != kNoVar) places_[fusion_.filled[var]] = place(var);
  }
}

Place Frame::new_temporary(const Aval& aval) {
  const Place place{b_.temporary(aval.dtype(), aval.size(), 0), 0};
  spoil_if_checked(b_, place.buffer, place.offset, aval);
  return place;
}

Place Frame::place(Var var) {
  if (!places_[var]) places_[var] = new_temporary(graph_.aval(var));
  return *places_[var];
}

void Frame::set_result(Var var, loop::Scalar value) {
  registers_[var] = value;
  if (places_[var]) b_.store(places_[var]->buffer, places_[var]->offset, value);
}

void Frame::finish_outputs(std::vector<Source>& results) {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Var var = graph_.outputs()[i];
    const Source from = source(var);
    if (!wanted_[i]) {
      results.push_back(from);
      continue;
    }
    copy_to(from, graph_.aval(var), *wanted_[i]);
    results.push_back({wanted_[i], from.value});
  }
}

bool Frame::is_at_hand(Var var) const {
  const Var base = alias_base(graph_, fusion_.definition, var);
  return places_[base] || registers_[base];
}

Source Frame::source(Var var) const {
  const Var base = alias_base(graph_, fusion_.definition, var);
  if (places_[var] || registers_[var]) return {places_[var], registers_[var]};
  CT_CHECK(places_[base] || registers_[base]);
  return {places_[base], registers_[base]};
}

void Frame::copy_to(const Source& source, const Aval& aval, const Place& to) {
  if (source.place) {
    if (source.place->buffer == to.buffer && source.place->offset == to.offset) return;
    b_.copy(to.buffer, to.offset, source.place->buffer, source.place->offset, aval.size());
  } else {
    b_.store(to.buffer, to.offset, *source.value);
  }
}

void Frame::emit_step(const Step& step) {
  if (step.kind == StepKind::kNest) {
    emit_nest(step);
    for (const std::vector<Var>* vars : {&step.elements, &step.reductions, &step.epilogues}) {
      for (Var var : *vars) ready_[var] = true;
    }
    return;
  }
  const Equation& equation = graph_.equations()[step.equation];
  lowering_of(*equation.primitive).emit(*this, equation);
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    ready_[equation.first_output + k] = ready_[transposed(equation.first_output + k)] = true;
  }
}

loop::Scalar Frame::value_of(const Source& source) {
  return source.value ? *source.value : b_.load(source.place->buffer, source.place->offset);
}

loop::Scalar Frame::scalar(Var var) { return value_of(source(var)); }

Place Frame::stored_place(Var var) {
  const Source from = source(var);
  if (from.place) return *from.place;
  const Place place = new_temporary(graph_.aval(var));
  b_.store(place.buffer, place.offset, *from.value);
  places_[var] = place;
  return place;
}

void Frame::set_source(Var var, const Source& source) {
  const Aval& aval = graph_.aval(var);
  if (aval.size() == 1) return set_result(var, value_of(source));
  if (places_[var]) {
    copy_to(source, aval, *places_[var]);
  } else {
    places_[var] = source.place;
  }
}

void Frame::reload(const Equation& equation) {
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    if (graph_.aval(var).size() == 1) registers_[var] = b_.load(places_[var]->buffer, places_[var]->offset);
  }
}

Frame::Strided Frame::strided(Var var) {
  if (!fusion_.stored[var] && fusion_.views[var]) {
    const View& view = *fusion_.views[var];
    Place place = stored_place(view.base);
    place.offset += view.offset;
    return {place, view.strides};
  }
  return {stored_place(var), dense_strides(graph_.aval(var).shape())};
}

Source Frame::in_order(Var var) {
  if (!fusion_.stored[var] && fusion_.views[var]) return {strided(var).place, std::nullopt};
  return source(var);
}

Var Frame::transposed(Var product) const {
  const Var transposed = fusion_.transposed[product];
  return transposed != kNoVar ? transposed : product;
}

void Frame::store_at(Var var, const Position& position, loop::Scalar value) {
  const Place& place = *places_[var];
  b_.store(place.buffer, place.offset + linear(position, graph_.aval(var).shape()), value);
}

void Frame::emit_straight(const Step& step) {
  for (Var var : step.elements) set_result(var, compute(var, {}));
}

}  // namespace ct::jit
