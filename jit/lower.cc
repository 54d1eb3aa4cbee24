#include "jit/lower.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/float_types.h"
#include "jit/lower_frame.h"

namespace ct::jit {
namespace {

// The loops of a nest: maximal runs of axes that are longer than 1, alike in being reduced or not, and not cut.
std::vector<AxisGroup> group_axes(const Shape& shape, const Ints& reduced, Cuts cuts) {
  auto is_reduced = [&](int axis) { return std::find(reduced.begin(), reduced.end(), axis) != reduced.end(); };
  std::vector<AxisGroup> groups;
  bool cut = false;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    cut = cut || (axis > 0 && (cuts >> (axis - 1) & 1) != 0);
    if (shape[axis] == 1) continue;
    if (!groups.empty() && !cut && is_reduced(groups.back().last) == is_reduced(axis)) {
      groups.back().last = axis;
    } else {
      groups.push_back({axis, axis, 0});
    }
    cut = false;
  }
  return groups;
}

int64_t extent(const AxisGroup& group, const Shape& shape) {
  return num_elements(absl::MakeConstSpan(shape).subspan(group.first, group.last - group.first + 1));
}

}  // namespace

loop::Scalar Frame::identity(const Primitive& primitive, DType dtype) {
  const double value = primitive.identity(dtype);
  if (is_inexact(dtype)) return b_.constant(dtype, value);
  // Infinities become the highest and the lowest number.
  return dispatch_dtype(dtype, [&](auto tag) {
    const auto element = convert_element<typename decltype(tag)::type>(value);
    return b_.constant_from_bytes(dtype, &element);
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
      fusion_(fuse(graph)),
      places_(graph.num_vars()),
      registers_(graph.num_vars()) {
  CT_CHECK(inputs_.size() == graph.num_inputs());
  wanted_.resize(graph.outputs().size());
}

std::vector<Source> Frame::run() {
  Scope scope(*this);
  assign_places();
  for (const Step& step : fusion_.steps) emit_step(step);
  std::vector<Source> results;
  finish_outputs(results);
  return results;
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
    if (!registers_[var] && graph_.aval(var).size() == 1 && used[var] && !options_.kernels) {
      registers_[var] = b_.load(places_[var]->buffer, places_[var]->offset);
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Var base = alias_base(graph_, fusion_.definition, graph_.outputs()[i]);
    if (wanted_[i] && fusion_.definition[base] != Fusion::kInput && !places_[base]) places_[base] = wanted_[i];
  }
}

Place Frame::new_temporary(const Aval& aval) { return {b_.temporary(aval.dtype(), aval.size(), 0), 0}; }

void Frame::ensure_place(Var var) {
  if (!places_[var]) places_[var] = new_temporary(graph_.aval(var));
}

void Frame::set_result(Var var, loop::Scalar value) {
  if (options_.kernels) {
    ensure_place(var);
  } else {
    registers_[var] = value;
  }
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
  if (step.kind == StepKind::kNest) return emit_nest(step);
  const Equation& equation = graph_.equations()[step.equation];
  switch (step.kind) {
    case StepKind::kDot:
      return emit_dot(equation);
    case StepKind::kCumulative:
      return emit_cumulative(equation);
    case StepKind::kScatter:
      return emit_scatter(equation);
    case StepKind::kUpdate:
      return emit_update(equation);
    case StepKind::kHost:
      return emit_host(equation);
    default:
      return emit_control(equation);
  }
}

void Frame::store_at(Var var, const Position& position, loop::Scalar value) {
  const Place& place = *places_[var];
  b_.store(place.buffer, place.offset + linear(position, graph_.aval(var).shape()), value);
}

void Frame::emit_nest(const Step& step) {
  if (step.reductions.empty() && num_elements(step.shape) == 1) return emit_straight(step);
  if (num_elements(kept_shape(step.shape, step.reduced)) == 0) {
    for (Var var : step.elements) ensure_place(var);
    for (Var var : step.reductions) ensure_place(var);
    for (Var var : step.epilogues) ensure_place(var);
    return;
  }
  const bool to_registers = !options_.kernels && num_elements(kept_shape(step.shape, step.reduced)) == 1;
  for (Var var : step.elements) ensure_place(var);
  for (Var var : step.epilogues) ensure_place(var);
  if (!to_registers) {
    for (Var var : step.reductions) ensure_place(var);
  }
  CT_CHECK(step.shape.size() < 64);
  nest_shape_ = &step.shape;
  // Start with as few loops as there can be. Each cut that the body asks for makes one more.
  Cuts cuts = 0;
  for (;;) {
    const loop::Builder::Mark mark = b_.mark();
    requested_ = 0;
    if (try_nest(step, cuts)) break;
    b_.rollback(mark);
    cuts |= requested_;
  }
  nest_shape_ = nullptr;
  nest_loops_.clear();
}

void Frame::emit_straight(const Step& step) {
  for (Var var : step.elements) set_result(var, compute(var, {}));
}

bool Frame::try_nest(const Step& step, Cuts cuts) {
  const Shape& shape = step.shape;
  auto is_reduced = [&](int axis) {
    return std::find(step.reduced.begin(), step.reduced.end(), axis) != step.reduced.end();
  };
  std::vector<AxisGroup> groups = group_axes(shape, step.reduced, cuts);
  nest_loops_.clear();
  auto enter = [&](AxisGroup& group, loop::LoopOptions options, absl::Span<const loop::Builder::CarrySpec> carries) {
    const loop::Index index = b_.begin_for(extent(group, shape), options, carries).variable;
    group.index = index;
    nest_loops_.push_back({*index.as_value(), group.first, group.last});
  };
  int kept_loops = 0;
  Scope kept_scope(*this);
  for (AxisGroup& group : groups) {
    if (is_reduced(group.first)) continue;
    enter(group, {.vectorize = true, .parallel = true}, {});
    ++kept_loops;
  }

  // Inside, each level contributes its fold to the one around it.
  std::vector<loop::Builder::CarrySpec> carries;
  for (Var var : step.reductions) {
    const Primitive& primitive = *graph_.equations()[fusion_.definition[var]].primitive;
    carries.push_back({identity(primitive, graph_.aval(var).dtype()), primitive.combine});
  }
  int reduced_loops = 0;
  for (AxisGroup& group : groups) {
    if (!is_reduced(group.first)) continue;
    enter(group, {.vectorize = true, .parallel = false}, carries);
    ++reduced_loops;
  }
  loop::Scalars results;
  {
    Scope scope(*this);
    const Position position(groups.begin(), groups.end());
    for (Var var : step.elements) {
      const loop::Scalar value = compute(var, position);
      remember(var, position, value);
      store_at(var, position, value);
    }
    for (Var var : step.reductions) {
      const Equation& equation = graph_.equations()[fusion_.definition[var]];
      results.push_back(element(graph_.operands(equation)[0], position));
    }
  }
  for (int i = 0; i < reduced_loops; ++i) results = b_.end_for(results);

  if (!step.reductions.empty()) {
    Position kept;
    for (const AxisGroup& group : groups) {
      if (is_reduced(group.first)) continue;
      const auto before = [&](int axis) {
        return static_cast<int>(
            std::count_if(step.reduced.begin(), step.reduced.end(), [&](int64_t r) { return r < axis; }));
      };
      kept.push_back({group.first - before(group.first), group.last - before(group.last), group.index});
    }
    for (size_t i = 0; i < step.reductions.size(); ++i) {
      const Var var = step.reductions[i];
      remember(var, kept, results[i]);
      if (places_[var] && kept_loops > 0) store_at(var, kept, results[i]);
    }
    for (Var var : step.epilogues) {
      const loop::Scalar value = compute(var, kept);
      remember(var, kept, value);
      store_at(var, kept, value);
    }
  }
  for (int i = 0; i < kept_loops; ++i) b_.end_for();
  if ((requested_ & ~cuts) != 0) return false;
  if (kept_loops == 0) {
    for (size_t i = 0; i < step.reductions.size(); ++i) set_result(step.reductions[i], results[i]);
  }
  return true;
}

}  // namespace ct::jit
