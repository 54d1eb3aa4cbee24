#include "interpreter/trace.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "interpreter/dependence.h"
#include "interpreter/evaluate.h"
#include "ir/error.h"
#include "ir/interrupt.h"
#include "ir/length_form.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/primitives.h"
#include "ir/text.h"

namespace ct {
namespace {

// Innermost last.
thread_local std::vector<std::shared_ptr<Capture>> capture_stack;
// Operations on tensors are evaluated in this one.
thread_local const Capture* folding_capture = nullptr;

std::vector<Tensor> evaluate_graph(const GraphPtr& graph, absl::Span<const Tensor> inputs) {
  return evaluate(*graph, inputs);
}
GraphRunner eager_graph_runner = evaluate_graph;

std::string_view mode_name(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::kTransform:
      return "a transform";
    case CaptureMode::kJit:
      return "jit";
    case CaptureMode::kBatch:
      return "vmap";
    case CaptureMode::kMask:
      return "mask";
  }
  return "";
}

std::string_view concretization_hint(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::kTransform:
      return "the function is captured without values here; use ct.numpy.where or ct.lax.cond for `if` on values and "
             "ct.lax.while_loop for `while`";
    case CaptureMode::kJit:
      return "use ct.numpy.where or ct.lax.cond instead of `if`, ct.lax.while_loop or ct.lax.fori_loop instead of a "
             "loop that depends on values, or pass the argument as static (static_argnums, static_argnames)";
    case CaptureMode::kBatch:
      return "under vmap the value differs from example to example; use ct.numpy.where or ct.lax.cond instead of `if`, "
             "ct.lax.while_loop instead of `while`";
    case CaptureMode::kMask:
      return "one masked program serves every length; use ct.numpy.where or ct.lax.cond for `if` on values. Sizes "
             "(x.shape[i]) may be compared in Python where the bound settles the answer";
  }
  return "";
}

std::string quoted_function(const CaptureOptions& options) {
  return options.function_name.empty() ? "the function" : "'" + options.function_name + "'";
}

// What is left of a variable when its capture has ended: enough for an error about its use.
struct Remains {
  Aval aval;
  const Primitive* primitive = nullptr;  // null: an input
  LocationId location = kNoLocation;
};

// Whether the value differs from example to example even where the operands do not.
bool names_an_axis(const Attrs& attrs) {
  const auto within = [](const GraphPtr& graph) {
    return std::any_of(graph->equations().begin(), graph->equations().end(),
                       [&](const Equation& equation) { return names_an_axis(*graph->attrs_ptr(equation)); });
  };
  return std::any_of(attrs.items().begin(), attrs.items().end(), [&](const Attrs::Item& item) {
    if (const GraphPtr* graph = std::get_if<GraphPtr>(&item.second)) return within(*graph);
    const std::vector<GraphPtr>* graphs = std::get_if<std::vector<GraphPtr>>(&item.second);
    return item.first == "axis_name" || (graphs != nullptr && std::any_of(graphs->begin(), graphs->end(), within));
  });
}

// Whether an equation may be made again elsewhere, where its operands are the same.
bool repeatable(const Primitive& primitive, const Attrs& attrs) {
  return !has_side_effects(primitive, attrs) && !names_an_axis(attrs);
}

// An equation of a capture that has ended, none of whose operands depends on what the function was captured for.
struct OutsideEquation {
  const Primitive* primitive;
  AttrsPtr attrs;
  absl::InlinedVector<Var, 2> operands;
  Var first_output;
  uint32_t output_count;
  LocationId location;
};

std::string described(const Remains& remains) {
  std::string text = concat("a value of type ", remains.aval.to_string());
  if (remains.primitive == nullptr) {
    text += " (an argument)";
  } else {
    text += concat(" (made by '", remains.primitive->name, "'");
    const std::string place = location_string(remains.location);
    if (!place.empty()) text += " at " + place;
    text += ")";
  }
  return text;
}

constexpr std::string_view kLeakHint =
    "return the value from the function instead of keeping it in a global, an attribute, a closure or a list";

Error no_value(const CaptureOptions& options, const Remains& wanted) {
  return Error(ErrorKind::kConcretization,
               concat("the value of ", described(wanted), " is needed here, but ", quoted_function(options),
                      " is being captured by ", mode_name(options.mode), " and has no values yet"))
      .at(LocationScope::current())
      .hint(concretization_hint(options.mode));
}

}  // namespace

// The mask rules' own program, shared by a mask capture and the captures nested in it. Only its lengths are wanted.
struct MaskShadow {
  Builder scratch;
};

struct Capture::State {
  explicit State(CaptureOptions given) : options(std::move(given)), builder(std::make_unique<Builder>()) {}

  CaptureOptions options;
  std::unique_ptr<Builder> builder;  // null when the capture has ended
  std::vector<Remains> remains;      // then
  // And then, of vmap and of derivatives: what does not depend on the function's arguments, and is made again where the
  // function left it to later code. Under jit it belongs to that program.
  std::vector<OutsideEquation> outside_equations;
  absl::flat_hash_map<Var, Datum> outside_values;
  Capture* enclosing = nullptr;
  Var declared = 0;  // variables before this one are the function's arguments

  // Closure conversion: what the inputs beyond the declared ones stand for, and where they went.
  std::vector<Datum> captured;
  absl::flat_hash_map<std::pair<const Buffer*, uint64_t>, Var> lifted_tensors;  // by buffer and aval hash
  absl::flat_hash_map<std::pair<const Capture*, Var>, Var> lifted_values;
  // Inputs that stand for values of captures that need not be live; the values keep those captures' addresses taken.
  absl::flat_hash_map<std::pair<const Capture*, Var>, Var> stand_ins;
  std::vector<Traced> stood_for;

  // Concrete shadow: values of variables, as far as somebody asked; what each input stands for.
  std::vector<Tensor> values;
  absl::flat_hash_map<Var, Datum> shadows;

  // What values depend on, as far as somebody asked. Inputs: what they stand for, and what is differentiated here.
  size_t depth = 0;
  std::vector<std::optional<Levels>> dependence;
  absl::flat_hash_map<Var, Levels> input_dependence;
  Levels applied_by = 0;  // of a derivative's rule: the derivative

  // Raggedness of each variable, up to equation `masked_equations`; `length_vars` finds the int32 scalar here that is
  // a given value of the scratch builder.
  std::shared_ptr<MaskShadow> mask;
  std::optional<KeepLengths> lengths_kept;  // while there is a mask
  std::vector<Masked> masked;
  size_t masked_equations = 0;
  absl::flat_hash_map<Var, Var> length_vars;

  Remains describe(Var var) const {
    if (builder == nullptr) return remains[var];
    const Equation* equation = builder->producer(var);
    if (equation == nullptr) return {builder->aval(var)};
    return {builder->aval(var), equation->primitive, equation->location};
  }

  void note_remains() {
    remains.resize(builder->num_vars());
    for (Var var = 0; var < remains.size(); ++var) remains[var].aval = builder->aval(var);
    for (const Equation& equation : builder->equations()) {
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        Remains& output = remains[equation.first_output + k];
        output.primitive = equation.primitive;
        output.location = equation.location;
      }
    }
    if (keeps_outside()) note_outside();
  }

  bool keeps_outside() const {
    return (options.mode == CaptureMode::kTransform || options.mode == CaptureMode::kBatch) && mask == nullptr;
  }

  void note_outside() {
    std::vector<bool> outside(remains.size());
    for (Var var = declared; var < remains.size(); ++var) {
      const auto shadow = remains[var].primitive == nullptr ? shadows.find(var) : shadows.end();
      if (shadow == shadows.end()) continue;
      outside[var] = true;
      outside_values.emplace(var, shadow->second);
    }
    for (const Equation& equation : builder->equations()) {
      const auto operands = builder->operands(equation);
      if (!std::all_of(operands.begin(), operands.end(), [&](Var var) { return outside[var]; })) continue;
      const AttrsPtr attrs = builder->attrs_ptr(equation);
      if (!repeatable(*equation.primitive, *attrs)) continue;
      outside_equations.push_back({equation.primitive,
                                   attrs,
                                   {operands.begin(), operands.end()},
                                   equation.first_output,
                                   equation.output_count,
                                   equation.location});
      for (uint32_t k = 0; k < equation.output_count; ++k) outside[equation.first_output + k] = true;
    }
  }

  const OutsideEquation* outside_producer(Var var) const {
    const auto after = std::upper_bound(outside_equations.begin(), outside_equations.end(), var,
                                        [](Var v, const OutsideEquation& e) { return v < e.first_output; });
    if (after == outside_equations.begin()) return nullptr;
    const OutsideEquation& equation = *(after - 1);
    return var < equation.first_output + equation.output_count ? &equation : nullptr;
  }

  // Everything but what was noted goes: shadows may hold large arrays and enclosing captures.
  void end() {
    builder.reset();
    enclosing = nullptr;
    captured = {};
    lifted_tensors = {};
    lifted_values = {};
    stand_ins = {};
    stood_for = {};
    values = {};
    shadows = {};
    dependence = {};
    input_dependence = {};
    mask.reset();
    lengths_kept.reset();
    masked = {};
    length_vars = {};
  }

  void set_masked(Var var, Masked value) {
    if (masked.size() <= var) masked.resize(var + 1);
    if (value.value && value.value.rank() == 0 && value.value.dtype() == DType::kInt32) {
      length_vars.try_emplace(value.value.var, var);
    }
    masked[var] = std::move(value);
  }

  void run_mask_rules();
  void note_lengths(const Equation& equation);
  Tensor value_of(Var var);
  Levels dependence_of(Var var);
  // Of a capture that has ended.
  bool is_outside(Var var) const { return outside_values.contains(var) || outside_producer(var) != nullptr; }
  Datum outside_value(Var var);
  Levels outside_dependence(Var var) const;
};

// ---- raggedness -----------------------------------------------------------------------------------------------------

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

bool Capture::same_sizes(const Traced& x, const Traced& y) {
  const auto masked_of = [&](const Traced& traced) -> Value {
    CT_CHECK(traced.capture->live());
    State& state = *traced.capture->state_;
    if (state.mask == nullptr || state.mask != state_->mask) return {};
    state.run_mask_rules();
    return state.masked[traced.var].value;
  };
  const Value left = masked_of(x), right = masked_of(y);
  return left && right && same_length(left, right);
}

// ---- beginning and ending -------------------------------------------------------------------------------------------

Capture::Capture(CaptureOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Capture::~Capture() = default;

std::shared_ptr<Capture> Capture::begin(CaptureOptions options) {
  const bool mask = options.mode == CaptureMode::kMask;
  std::shared_ptr<Capture> capture(new Capture(std::move(options)));
  if (!capture_stack.empty()) {
    capture->state_->enclosing = capture_stack.back().get();
    capture->state_->depth = capture_stack.back()->state_->depth + 1;
    if (!capture->options().outside_masks) capture->state_->mask = capture_stack.back()->state_->mask;
  }
  if (mask && capture->state_->mask == nullptr) capture->state_->mask = std::make_shared<MaskShadow>();
  if (capture->state_->mask != nullptr) capture->state_->lengths_kept.emplace();
  capture_stack.push_back(capture);
  return capture;
}

void Capture::abandon() {
  const auto found = std::find_if(capture_stack.begin(), capture_stack.end(),
                                  [&](const std::shared_ptr<Capture>& capture) { return capture.get() == this; });
  if (found == capture_stack.end()) return;
  // Captures further in can only be there because whoever began them failed to end them.
  std::vector<std::shared_ptr<Capture>> ended(found, capture_stack.end());
  capture_stack.erase(found, capture_stack.end());
  for (const std::shared_ptr<Capture>& capture : ended) {
    capture->state_->note_remains();
    capture->state_->end();
  }
}

Capture::Result Capture::finish(absl::Span<const Datum> outputs) {
  CT_CHECK(!capture_stack.empty() && capture_stack.back().get() == this);
  Values values;
  values.reserve(outputs.size());
  for (const Datum& output : outputs) values.push_back(lift(output));
  const std::shared_ptr<Capture> self = std::move(capture_stack.back());
  capture_stack.pop_back();
  state_->note_remains();
  Result result;
  result.captured = std::move(state_->captured);
  result.graph = state_->builder->finish(values);
  state_->end();
  return result;
}

Builder& Capture::builder() {
  CT_CHECK(live());
  return *state_->builder;
}
const CaptureOptions& Capture::options() const { return state_->options; }
bool Capture::live() const { return state_->builder != nullptr; }
bool Capture::masks() const { return state_->mask != nullptr; }

std::shared_ptr<Capture> current_capture() { return capture_stack.empty() ? nullptr : capture_stack.back(); }

const Capture* innermost_capture() { return capture_stack.empty() ? nullptr : capture_stack.back().get(); }

bool may_be_differentiated() {
  return std::any_of(capture_stack.begin(), capture_stack.end(), [](const std::shared_ptr<Capture>& capture) {
    const CaptureMode mode = capture->options().mode;
    return mode == CaptureMode::kJit || mode == CaptureMode::kTransform;
  });
}

std::vector<std::pair<std::string, int64_t>> named_axes() {
  std::vector<std::pair<std::string, int64_t>> result;
  for (size_t i = capture_stack.size(); i-- > 0;) {
    const CaptureOptions& options = capture_stack[i]->options();
    if (!options.axis_name.empty()) result.emplace_back(options.axis_name, options.axis_size);
  }
  return result;
}

namespace {
thread_local int eager_scopes = 0;
}  // namespace

EagerScope::EagerScope() : hidden_(std::move(capture_stack)) {
  capture_stack.clear();
  ++eager_scopes;
}
EagerScope::~EagerScope() {
  capture_stack = std::move(hidden_);
  --eager_scopes;
}

ConstantScope::ConstantScope() : previous_(std::exchange(folding_capture, innermost_capture())) {}
ConstantScope::~ConstantScope() { folding_capture = previous_; }

// ---- inputs ---------------------------------------------------------------------------------------------------------

Traced Capture::add_input(Aval aval, std::string name, std::optional<Datum> shadow) {
  const Traced input = add_ragged_input(aval, std::move(name), std::vector<std::optional<Traced>>(aval.rank()), shadow);
  if (shadow && datum_aval(*shadow).shape() == aval.shape()) inherit_lengths(input, *shadow, std::nullopt);
  return input;
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
  const Value input = state_->builder->input(aval, std::move(name));
  state_->declared = input.var + 1;
  if (shadow) state_->shadows.emplace(input.var, *std::move(shadow));
  if (state_->mask != nullptr) {
    Masked masked{state_->mask->scratch.input(aval), Values(aval.rank())};
    for (size_t axis = 0; axis < lengths.size(); ++axis) {
      if (!lengths[axis]) continue;
      Capture& owner = *lengths[axis]->capture;
      CT_CHECK(owner.live() && owner.state_->mask == state_->mask);
      owner.state_->run_mask_rules();
      masked.lengths[axis] = owner.state_->masked[lengths[axis]->var].value;
    }
    state_->set_masked(input.var, std::move(masked));
  } else {
    for (const std::optional<Traced>& length : lengths) CT_CHECK(!length);
  }
  return {shared_from_this(), input.var};
}

void Capture::differentiate(const Traced& input) {
  CT_CHECK(live() && input.capture.get() == this);
  state_->input_dependence[input.var] |= Levels{1} << std::min<size_t>(state_->depth, 63);
}

void Capture::inherit_dependence(const Traced& input, const Datum& source) {
  CT_CHECK(live() && input.capture.get() == this);
  const Levels levels = ct::dependence(source);
  state_->input_dependence[input.var] |= levels;
  if (state_->options.derivative_rule) state_->applied_by = std::max(state_->applied_by, std::bit_floor(levels));
}

void Capture::stand_in(const Traced& input, const Traced& outside) {
  CT_CHECK(live() && input.capture.get() == this);
  if (state_->stand_ins.try_emplace({outside.capture.get(), outside.var}, input.var).second) {
    state_->stood_for.push_back(outside);
  }
}

Value Capture::lift(const Datum& datum) {
  State& state = *state_;
  if (const Traced* traced = std::get_if<Traced>(&datum)) {
    if (traced->capture.get() == this && state.builder != nullptr) return {state.builder.get(), traced->var};
    CT_CHECK(traced->capture != nullptr && live());
    Capture& owner = *traced->capture;
    Capture* outer = state.enclosing;
    while (outer != nullptr && outer != &owner) outer = outer->state_->enclosing;
    for (Capture* capture = this; outer == nullptr && capture != nullptr; capture = capture->state_->enclosing) {
      const auto found = capture->state_->stand_ins.find({&owner, traced->var});
      if (found != capture->state_->stand_ins.end()) return lift(Traced{capture->shared_from_this(), found->second});
    }
    if (outer == nullptr && owner.state_->is_outside(traced->var))
      return lift(owner.state_->outside_value(traced->var));
    if (outer == nullptr) {
      const Remains remains = owner.state_->describe(traced->var);
      throw Error(ErrorKind::kTracerLeak,
                  concat(described(remains), " escaped from the capture of ", quoted_function(owner.options()), " by ",
                         mode_name(owner.options().mode),
                         owner.live() ? ": it was used in another thread, or while that capture is set aside"
                                      : ": it was used after that capture had ended"))
          .at(LocationScope::current())
          .hint(kLeakHint);
    }
    const auto it = state.lifted_values.find({&owner, traced->var});
    if (it != state.lifted_values.end()) return {state.builder.get(), it->second};
    const Value input = state.builder->input(owner.state_->builder->aval(traced->var));
    if (state.mask != nullptr) {
      owner.state_->run_mask_rules();
      // An enclosing capture outside of the mask knows no raggedness: its values are exact.
      Masked masked = owner.state_->mask == state.mask
                          ? owner.state_->masked[traced->var]
                          : Masked{state.mask->scratch.input(input.aval()), Values(input.rank())};
      state.set_masked(input.var, std::move(masked));
    }
    state.lifted_values.emplace(std::make_pair(&owner, traced->var), input.var);
    state.captured.push_back(datum);
    state.shadows.emplace(input.var, datum);
    return input;
  }
  const Tensor& tensor = std::get<Tensor>(datum);
  CT_CHECK(tensor && live());
  const std::pair<const Buffer*, uint64_t> key(tensor.buffer().get(), tensor.aval().hash());
  const auto it = state.lifted_tensors.find(key);
  if (it != state.lifted_tensors.end() && state.builder->aval(it->second) == tensor.aval()) {
    return {state.builder.get(), it->second};
  }
  const Value input = state.builder->input(tensor.aval());
  if (state.mask != nullptr) {
    state.set_masked(input.var, {state.mask->scratch.input(tensor.aval()), Values(tensor.aval().rank())});
  }
  state.lifted_tensors.insert_or_assign(key, input.var);
  state.captured.push_back(datum);  // keeps the buffer, and with it the key, alive
  state.shadows.emplace(input.var, datum);
  return input;
}

// ---- binding --------------------------------------------------------------------------------------------------------

namespace {

// Nothing is being captured, so every operand must be a tensor.
Tensor require_tensor(const Datum& operand) {
  if (const Tensor* tensor = std::get_if<Tensor>(&operand)) return *tensor;
  // Live all the same: of another thread, or set aside by an EagerScope.
  if (std::get<Traced>(operand).capture->live()) {
    if (eager_scopes == 0) {
      throw Error(ErrorKind::kConcretization, concat("a traced value of type ", datum_aval(operand).to_string(),
                                                     " belongs to a function that another thread is running"))
          .at(LocationScope::current())
          .hint("compute with it in the thread that runs the function: what other threads do is not recorded");
    }
    throw Error(ErrorKind::kConcretization, concat("a traced value of type ", datum_aval(operand).to_string(),
                                                   " cannot be computed with where everything is evaluated at once"))
        .at(LocationScope::current())
        .hint("inside ensure_compile_time_eval() use only values that are known when the function is captured");
  }
  return peek(operand);  // throws: its capture has ended
}

bool is_tensor(const Datum& datum) { return std::holds_alternative<Tensor>(datum); }

// Whether the operation is evaluated now: nothing is being captured, or nothing of it depends on what is.
bool evaluates(absl::Span<const Datum> operands) {
  if (capture_stack.empty()) return true;
  return folding_capture == capture_stack.back().get() && std::all_of(operands.begin(), operands.end(), is_tensor);
}
bool evaluates(absl::Span<const Datum* const> operands) {
  if (capture_stack.empty()) return true;
  return folding_capture == capture_stack.back().get() &&
         std::all_of(operands.begin(), operands.end(), [](const Datum* operand) { return is_tensor(*operand); });
}

absl::InlinedVector<Tensor, 4> require_tensors(absl::Span<const Datum> operands) {
  absl::InlinedVector<Tensor, 4> tensors;
  tensors.reserve(operands.size());
  for (const Datum& operand : operands) tensors.push_back(require_tensor(operand));
  return tensors;
}

std::vector<Datum> to_data(std::vector<Tensor> tensors) {
  std::vector<Datum> result;
  result.reserve(tensors.size());
  for (Tensor& tensor : tensors) result.emplace_back(std::move(tensor));
  return result;
}

Datum evaluate1(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs) {
  absl::InlinedVector<Tensor, 4> tensors;
  for (const Datum* operand : operands) tensors.push_back(require_tensor(*operand));
  return evaluate_primitive1(primitive, tensors, attrs);
}

std::vector<Datum> to_data(const std::shared_ptr<Capture>& capture, absl::Span<const Value> values) {
  std::vector<Datum> result;
  result.reserve(values.size());
  for (const Value& value : values) result.emplace_back(Traced{capture, value.var});
  return result;
}

}  // namespace

Aval datum_aval(const Datum& datum) {
  if (const Tensor* tensor = std::get_if<Tensor>(&datum)) return tensor->aval();
  const Traced& traced = std::get<Traced>(datum);
  const Capture::State& state = *traced.capture->state_;
  return state.builder != nullptr ? state.builder->aval(traced.var) : state.remains[traced.var].aval;
}

std::vector<Datum> bind(const Primitive& primitive, absl::Span<const Datum> operands, const AttrsPtr& attrs) {
  if (evaluates(operands)) {
    // Loops may go on for long, or for ever.
    std::optional<Interruptible> scope;
    if (primitive.lowering == Lowering::kWhile || primitive.lowering == Lowering::kScan ||
        primitive.lowering == Lowering::kCond || primitive.lowering == Lowering::kExpand) {
      scope.emplace();
    }
    return to_data(evaluate_primitive(primitive, require_tensors(operands), attrs));
  }
  // A copy: the type rule may run front-end code that begins captures of its own.
  const std::shared_ptr<Capture> capture = capture_stack.back();
  absl::InlinedVector<Value, 4> values;
  for (const Datum& operand : operands) values.push_back(capture->lift(operand));
  std::vector<Datum> results = to_data(capture, capture->state_->builder->bind(primitive, values, attrs));
  if (capture->state_->mask != nullptr) capture->state_->run_mask_rules();
  return results;
}

Datum bind1(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs) {
  if (evaluates(operands)) return evaluate1(primitive, operands, attrs);
  const std::shared_ptr<Capture> capture = capture_stack.back();
  absl::InlinedVector<Value, 4> values;
  for (const Datum* operand : operands) values.push_back(capture->lift(*operand));
  const Value result = capture->state_->builder->bind1(primitive, values, attrs);
  if (capture->state_->mask != nullptr) capture->state_->run_mask_rules();
  return Traced{capture, result.var};
}

void set_eager_graph_runner(GraphRunner runner) { eager_graph_runner = runner != nullptr ? runner : evaluate_graph; }

std::vector<Datum> bind_graph(const GraphPtr& graph, absl::Span<const Datum> operands) {
  if (evaluates(operands)) return to_data(eager_graph_runner(graph, require_tensors(operands)));
  const std::shared_ptr<Capture> capture = capture_stack.back();
  absl::InlinedVector<Value, 8> values;
  for (const Datum& operand : operands) values.push_back(capture->lift(operand));
  std::vector<Datum> results = to_data(capture, capture->state_->builder->inline_graph(*graph, values));
  capture->state_->run_mask_rules();
  return results;
}

// ---- concrete values ------------------------------------------------------------------------------------------------

Tensor Capture::State::value_of(Var wanted) {
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
      if (shadow == shadows.end()) throw no_value(options, describe(options.concrete_shadow ? var : wanted));
      values[var] = peek(shadow->second);
      pending.pop_back();
      continue;
    }
    if (!options.concrete_shadow && !repeatable(*equation->primitive, *builder->attrs_ptr(*equation))) {
      throw no_value(options, describe(wanted));
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

Tensor peek(const Datum& datum) {
  if (const Tensor* tensor = std::get_if<Tensor>(&datum)) return *tensor;
  const Traced& traced = std::get<Traced>(datum);
  Capture::State& state = *traced.capture->state_;
  const CaptureOptions& options = state.options;
  if (state.builder == nullptr && state.is_outside(traced.var)) return peek(state.outside_value(traced.var));
  if (state.builder == nullptr) {
    throw Error(ErrorKind::kTracerLeak,
                concat(described(state.describe(traced.var)), " escaped from the capture of ", quoted_function(options),
                       " by ", mode_name(options.mode), ": it was used after that capture had ended"))
        .at(LocationScope::current())
        .hint(kLeakHint);
  }
  // Under vmap what does not depend on the examples has a value all the same.
  if (!options.concrete_shadow && !(options.mode == CaptureMode::kBatch && state.mask == nullptr)) {
    throw no_value(options, state.describe(traced.var));
  }
  EagerScope eager;
  return state.value_of(traced.var);
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
    const bool known = std::all_of(operands.begin(), operands.end(), is_tensor);
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
  Tensor value = peek(datum);
  if (dependence(datum) == 0) return value;
  const Traced& traced = std::get<Traced>(datum);
  throw Error(ErrorKind::kConcretization,
              concat(use, " of ", described(traced.capture->state_->describe(traced.var)),
                     ", which depends on what is differentiated: the plain value would be a constant, and the "
                     "derivative through it silently zero"))
      .at(LocationScope::current())
      .hint(
          "compute with the function of ct.numpy or ct.scipy, which takes the array itself, or make it a constant "
          "with ct.lax.stop_gradient(x) first");
}

}  // namespace ct
