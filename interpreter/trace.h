// Capture: the one current trace of a thread, which records a user function into a Builder.
//
// A `Capture` is live while the user's Python runs. The front end's array type holds either a Tensor or a `Traced`
// (capture id and variable). `bind` is the single entrance of every op, from Python or C++: with no live capture it
// evaluates; with one it lifts operands into the innermost capture and records. Values that are not of the innermost
// capture (tensors, values of enclosing captures) become extra inputs of its graph: closure conversion.
//
// An eager grad/jvp/vjp gives its capture concrete shadows of the inputs; `concrete` then evaluates the recorded
// prefix on demand, so that Python's `if` and printing work on traced values. Under jit there is no shadow, and none of
// the arguments under vmap, and `concrete` throws ErrorKind::kConcretization. A Traced whose capture has ended throws
// ErrorKind::kTracerLeak, but what vmap and derivatives leave behind that does not depend on the function's arguments
// is made again where it is used.
//
// A value that leaves a program takes no derivative along. So `concrete`, by which values leave, refuses those that
// depend on what an enclosing transform differentiates; `peek`, for printing and decisions, does not ask.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/builder.h"
#include "ir/length_range.h"
#include "ir/primitive.h"
#include "runtime/tensor.h"

namespace ct {

class Capture;

struct Traced {
  std::shared_ptr<Capture> capture;
  Var var = kNoVar;
};

// An operand or result as the front end sees it.
using Datum = std::variant<Tensor, Traced>;
Aval datum_aval(const Datum& datum);

enum class CaptureMode : uint8_t { kTransform, kJit, kBatch, kMask };  // names what errors talk about

struct CaptureOptions {
  CaptureMode mode = CaptureMode::kTransform;
  std::string function_name;  // of the user's function, for messages
  bool concrete_shadow = false;
  bool outside_masks = false;  // every axis is exact: a captured graph is put together anew
  std::string axis_name{};     // of a batch that collectives may name
  int64_t axis_size = 0;
  // The function is a rule that a derivative applies, the innermost one that its inputs take part in: with respect to
  // that one its values are constant.
  bool derivative_rule = false;
};

// The captures that differentiate with respect to something that a value depends on: a bit for each by its depth, one
// for all from 63 on.
using Levels = uint64_t;

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  // Pushes a new innermost capture on this thread.
  static std::shared_ptr<Capture> begin(CaptureOptions options);
  // Pops it (it must be innermost) without a result; also what an exception does.
  void abandon();

  // Adds an input; all inputs come before the first operation. `shadow`: the concrete or enclosing value it stands for,
  // needed when options.concrete_shadow. Inside a mask an input is as ragged as an enclosing shadow of its shape.
  Traced add_input(Aval aval, std::string name, std::optional<Datum> shadow = std::nullopt);
  // Inside a mask: the input is as ragged as an enclosing value, or as one element of it along `element_axis`.
  void inherit_lengths(const Traced& input, const Datum& from, std::optional<int> element_axis);
  // A transform differentiates with respect to the input.
  void differentiate(const Traced& input);
  // The input depends on what `source` depends on. Inputs with a value do on what the value does.
  void inherit_dependence(const Traced& input, const Datum& source);
  // Of a kMask capture, or of one nested in it: an input whose axes with non-null entries are ragged, measured by
  // int32 scalars of this capture (inputs made before) or of enclosing ones.
  Traced add_ragged_input(Aval aval, std::string name, const std::vector<std::optional<Traced>>& lengths,
                          std::optional<Datum> shadow = std::nullopt);

  // What an input stands for, if it was made with a shadow.
  std::optional<Datum> shadow_of(Var input) const;

  // From here on uses of `outside`, which may be of a capture that has ended, are uses of this input: a function that
  // closes over values is captured later than where it was written.
  void stand_in(const Traced& input, const Traced& outside);

  struct Result {
    GraphPtr graph;               // inputs: the declared ones in order, then the captured ones
    std::vector<Datum> captured;  // what the extra inputs stand for
  };
  // Pops and freezes. Outputs that are not traced here are lifted first. When that throws, the capture is still there
  // to be abandoned.
  Result finish(absl::Span<const Datum> outputs);

  // This datum as a value of this capture's builder, lifted as an extra input if it comes from outside.
  Value lift(const Datum& datum);
  Builder& builder();
  const CaptureOptions& options() const;
  bool live() const;
  bool masks() const;  // in a kMask capture or nested in one: values may be ragged

  // The lengths of a traced value's axes (null: exact), found by running the mask rules alongside in a kMask capture
  // and those nested in it; without a mask every axis is exact. Values of the rules' scratch builder; compare by
  // identity.
  Values lengths_of(Var var);
  // The int32 scalar traced value that is the length of `axis`; an exact axis gives nullopt.
  std::optional<Traced> length(const Traced& value, int axis);
  // Between which numbers an integer scalar inside a mask lies, as far as the program says.
  std::optional<Range> range_of_size(const Traced& value);
  // Whether two int32 scalars of this capture or of enclosing ones are the same number whatever the lengths.
  bool same_sizes(const Traced& x, const Traced& y);
  // Two sizes as messages show them.
  std::pair<std::string, std::string> size_texts(const Traced& x, const Traced& y);

  ~Capture();

 private:
  friend Aval datum_aval(const Datum& datum);
  friend std::vector<Datum> bind(const Primitive&, absl::Span<const Datum>, const AttrsPtr&);
  friend Datum bind1(const Primitive&, absl::Span<const Datum* const>, const AttrsPtr&);
  friend std::vector<Datum> bind_graph(const GraphPtr&, absl::Span<const Datum>);
  friend Tensor concrete(const Datum& datum, std::string_view use);
  friend Tensor peek(const Datum& datum, std::string_view use);
  friend Levels dependence(const Datum& datum);
  friend class EagerScope;
  struct State;
  explicit Capture(CaptureOptions options);
  static void note_innermost();  // after the stack has changed
  std::unique_ptr<State> state_;
};

std::shared_ptr<Capture> current_capture();  // null: eager
// Whether what is captured may be differentiated later: some live capture is of jit, or of a transform but vmap and
// mask.
bool may_be_differentiated();
const Capture* innermost_capture();  // the same, to look at
// A number of its own, which no capture of this process had before; 0: eager.
uint64_t innermost_capture_number();

// The axes that collectives may name here, with their sizes, innermost first.
std::vector<std::pair<std::string, int64_t>> named_axes();

// While one lives, this thread has no current capture: operations evaluate. For host callbacks that run in the midst of
// somebody's capture.
class EagerScope {
 public:
  EagerScope();
  ~EagerScope();
  EagerScope(const EagerScope&) = delete;
  EagerScope& operator=(const EagerScope&) = delete;

 private:
  std::vector<std::shared_ptr<Capture>> hidden_;
};

// While one lives, operations in the capture that was innermost are evaluated where all operands are tensors; the
// others are recorded as ever.
class ConstantScope {
 public:
  ConstantScope();
  ~ConstantScope();
  ConstantScope(const ConstantScope&) = delete;
  ConstantScope& operator=(const ConstantScope&) = delete;

 private:
  const Capture* previous_;
};

// Evaluates or records. This is what every front-end operation becomes.
std::vector<Datum> bind(const Primitive& primitive, absl::Span<const Datum> operands,
                        const AttrsPtr& attrs = Attrs::empty());
// The same for a primitive with one result, of operands that stay where they are.
Datum bind1(const Primitive& primitive, absl::Span<const Datum* const> operands,
            const AttrsPtr& attrs = Attrs::empty());
// The same for a whole graph: inlined when capturing; run when eager. `runner` runs it (default: evaluate), so that
// the compiled, cached path can be plugged in by the front end.
using GraphRunner = std::vector<Tensor> (*)(const GraphPtr& graph, absl::Span<const Tensor> inputs);
// `leaves_host` says whether an operation of arrays of the host, with these attributes, runs elsewhere, by the runner,
// too (default: none does).
void set_eager_graph_runner(GraphRunner runner, bool (*leaves_host)(const Attrs& attrs) = nullptr);
std::vector<Datum> bind_graph(const GraphPtr& graph, absl::Span<const Datum> operands);

// The value of a datum now, the tensor itself or the evaluated shadow, to leave the program with. Throws
// ErrorKind::kConcretization when that would cut a derivative off: the dtype is floating or complex and the value
// depends on what is differentiated. `use` says what the value was wanted for: it begins that message, and of a value
// that is not there the message says what to write instead of that.
Tensor concrete(const Datum& datum, std::string_view use = "conversion to a plain value");
// The same where no number is made of it: for printing, and for bools and whole numbers.
Tensor peek(const Datum& datum, std::string_view use = "");
Levels dependence(const Datum& datum);

}  // namespace ct
