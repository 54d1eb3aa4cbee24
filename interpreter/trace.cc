#include "interpreter/trace.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

#include "interpreter/capture_state.h"
#include "interpreter/evaluate.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/text.h"

namespace ct {
namespace {

// Innermost last.
thread_local std::vector<std::shared_ptr<Capture>> capture_stack;
// Of the innermost, which arrays look at as they are made.
thread_local constinit uint64_t innermost_number = 0;
std::atomic<uint64_t> captures_begun = 0;
// Operations on tensors are evaluated in this one.
thread_local const Capture* folding_capture = nullptr;

std::vector<Tensor> evaluate_graph(const GraphPtr& graph, absl::Span<const Tensor> inputs) {
  return evaluate(*graph, inputs);
}
GraphRunner eager_graph_runner = evaluate_graph;
bool stays_on_host(const Attrs&) { return false; }
bool (*leaves_host)(const Attrs& attrs) = stays_on_host;

}  // namespace

// ---- beginning and ending -------------------------------------------------------------------------------------------

Capture::Capture(CaptureOptions options) : state_(std::make_unique<State>(std::move(options), ++captures_begun)) {}
void Capture::note_innermost() { innermost_number = capture_stack.empty() ? 0 : capture_stack.back()->state_->number; }
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
  note_innermost();
  return capture;
}

void Capture::abandon() {
  const auto found = std::find_if(capture_stack.begin(), capture_stack.end(),
                                  [&](const std::shared_ptr<Capture>& capture) { return capture.get() == this; });
  if (found == capture_stack.end()) return;
  // Captures further in can only be there because whoever began them failed to end them.
  std::vector<std::shared_ptr<Capture>> ended(found, capture_stack.end());
  capture_stack.erase(found, capture_stack.end());
  note_innermost();
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
  note_innermost();
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
uint64_t innermost_capture_number() { return innermost_number; }

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
  Capture::note_innermost();
  ++eager_scopes;
}
EagerScope::~EagerScope() {
  capture_stack = std::move(hidden_);
  Capture::note_innermost();
  --eager_scopes;
}

ConstantScope::ConstantScope() : previous_(std::exchange(folding_capture, innermost_capture())) {}
ConstantScope::~ConstantScope() { folding_capture = previous_; }

// ---- inputs ---------------------------------------------------------------------------------------------------------

std::optional<Datum> Capture::shadow_of(Var input) const {
  const auto found = state_->shadows.find(input);
  return found == state_->shadows.end() ? std::nullopt : std::optional(found->second);
}

Traced Capture::add_input(Aval aval, std::string name, std::optional<Datum> shadow) {
  const Traced input = add_ragged_input(aval, std::move(name), std::vector<std::optional<Traced>>(aval.rank()), shadow);
  if (shadow && datum_aval(*shadow).shape() == aval.shape()) inherit_lengths(input, *shadow, std::nullopt);
  return input;
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
          .hint(kLeakHint)
          .see("escaped-tracer");
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
      throw Error(ErrorKind::kConcretization, concat("a traced array of type ", datum_aval(operand).to_string(),
                                                     " belongs to a function that another thread is running"))
          .at(LocationScope::current())
          .hint("compute with it in the thread that runs the function: what other threads do is not recorded");
    }
    throw Error(ErrorKind::kConcretization, concat("a traced array of type ", datum_aval(operand).to_string(),
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

bool runs_on_device(absl::Span<const Tensor> operands, const Attrs& attrs) {
  const auto is_there = [](const Tensor& operand) { return operand.place() != kHostPlace; };
  return absl::c_any_of(operands, is_there) || leaves_host(attrs);
}

// A program of one equation, where its operands are.
std::vector<Tensor> evaluate_on_device(const Primitive& primitive, absl::Span<const Tensor> operands,
                                       const AttrsPtr& attrs) {
  std::vector<Aval> avals;
  for (const Tensor& operand : operands) avals.push_back(operand.aval());
  const GraphPtr graph = build_graph(
      avals, [&](Builder& builder, const Values& inputs) { return builder.bind(primitive, inputs, attrs); });
  try {
    return eager_graph_runner(graph, operands);
  } catch (Error& error) {
    error.op(primitive.name).at(LocationScope::current());
    throw;
  }
}

std::vector<Tensor> evaluate_anywhere(const Primitive& primitive, absl::Span<const Tensor> operands,
                                      const AttrsPtr& attrs) {
  if (runs_on_device(operands, *attrs)) return evaluate_on_device(primitive, operands, attrs);
  return evaluate_primitive(primitive, operands, attrs);
}

Datum evaluate1(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs) {
  absl::InlinedVector<Tensor, 4> tensors;
  for (const Datum* operand : operands) tensors.push_back(require_tensor(*operand));
  if (runs_on_device(tensors, *attrs)) return std::move(evaluate_on_device(primitive, tensors, attrs).at(0));
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
    const bool runs_graphs =
        primitive.is<structures::While>() || primitive.is<structures::Scan>() || primitive.is<structures::Branches>();
    if (runs_graphs || (primitive.stands_for_others() && !primitive.elementwise && !primitive.element)) scope.emplace();
    return to_data(evaluate_anywhere(primitive, require_tensors(operands), attrs));
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

void set_eager_graph_runner(GraphRunner runner, bool (*elsewhere)(const Attrs& attrs)) {
  eager_graph_runner = runner != nullptr ? runner : evaluate_graph;
  leaves_host = elsewhere != nullptr ? elsewhere : stays_on_host;
}

std::vector<Datum> bind_graph(const GraphPtr& graph, absl::Span<const Datum> operands) {
  if (evaluates(operands)) return to_data(eager_graph_runner(graph, require_tensors(operands)));
  const std::shared_ptr<Capture> capture = capture_stack.back();
  absl::InlinedVector<Value, 8> values;
  for (const Datum& operand : operands) values.push_back(capture->lift(operand));
  std::vector<Datum> results = to_data(capture, capture->state_->builder->inline_graph(*graph, values));
  capture->state_->run_mask_rules();
  return results;
}

}  // namespace ct
