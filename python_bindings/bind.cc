// The entrance of operations from Python: attribute conversion, `bind`, capture and applying whole graphs.
#include <algorithm>
#include <array>

#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitives.h"
#include "ir/print.h"
#include "python_bindings/array.h"
#include "python_bindings/attributes.h"
#include "python_bindings/bound_error.h"
#include "python_bindings/gil.h"
#include "python_bindings/graph.h"
#include "python_bindings/operands.h"
#include "python_bindings/user_calls.h"
#include "runtime/marked_shapes.h"
#include "runtime/text.h"
#include "transforms/find_invalid.h"

namespace ct::python {
namespace {

py::list arrays(const std::vector<Datum>& data) {
  py::list result;
  for (const Datum& datum : data) result.append(array_object(datum));
  return result;
}

std::vector<Datum> data(py::handle objects) {
  std::vector<Datum> result;
  for (py::handle object : objects) result.push_back(datum_from_python(object));
  return result;
}

Aval aval_from_python(py::handle spec) {
  const py::tuple parts = py::cast<py::tuple>(spec);  // (shape, dtype, weak)
  return Aval(dtype_from_python(parts[1]), integers_from_python(parts[0]), py::cast<bool>(parts[2]));
}

CaptureMode mode_from_text(const std::string& mode) {
  if (mode == "transform") return CaptureMode::kTransform;
  if (mode == "jit") return CaptureMode::kJit;
  if (mode == "batch") return CaptureMode::kBatch;
  if (mode == "mask") return CaptureMode::kMask;
  if (mode == "rearrange") return CaptureMode::kJit;
  throw Error(ErrorKind::kInternal, "unknown capture mode " + mode);
}

// Pops the capture when the user's function throws.
class CaptureScope {
 public:
  explicit CaptureScope(CaptureOptions options) : capture_(Capture::begin(std::move(options))) { stop_at_the_end(); }
  ~CaptureScope() {
    if (!finished_) capture_->abandon();
  }
  Capture& operator*() { return *capture_; }
  Capture::Result finish(absl::Span<const Datum> outputs) {
    Capture::Result result = capture_->finish(outputs);
    finished_ = true;
    return result;
  }

 private:
  std::shared_ptr<Capture> capture_;
  bool finished_ = false;
};

// What an input of a capture is made from: an aval, the value that it stands for, or (value, axis) for one element of
// the value along the axis. Inside a mask it is as ragged as that value.
struct Source {
  Aval aval;
  std::optional<Datum> value;
  std::optional<int> element_axis;
};

Source source_from_python(py::handle object) {
  if (is_array(object.ptr())) {
    const Datum& datum = array_datum(object.ptr());
    return {datum_aval(datum), datum, std::nullopt};
  }
  const py::tuple parts = py::cast<py::tuple>(object);
  if (parts.size() != 2) return {aval_from_python(object), std::nullopt, std::nullopt};
  Source source = source_from_python(parts[0]);
  const int axis = py::cast<int>(parts[1]);
  Shape shape = source.aval.shape();
  shape.erase(shape.begin() + axis);
  return {source.aval.with_shape(shape), source.value, axis};
}

// Calls `function` with one traced Array a source and records what it does until it returns its outputs. Returns the
// graph, the captured outside values (its extra inputs), and what else the function returned.
//
// `differentiated`: the inputs that a transform differentiates with respect to. `dependent_as` makes the function a
// rule that a derivative applies: for each input None, or an array that depends on what the input does.
// `ragged` (mask only): for each input a dict axis -> position of the length input made before it. Of lengths the names
// are what messages call them.
// `finish_in_capture`: called with the capture still live and the outputs; its list is appended to the outputs.
py::tuple capture(const py::function& function, const py::list& sources, const std::vector<std::string>& names,
                  const std::string& mode, const std::string& function_name, const py::object& shadows,
                  const py::object& ragged, const py::object& axis, const std::vector<bool>& differentiated,
                  const py::object& dependent_as) {
  CaptureOptions options;
  options.mode = mode_from_text(mode);
  options.function_name = function_name;
  options.concrete_shadow = !shadows.is_none();
  options.outside_masks = mode == "rearrange";
  options.derivative_rule = !dependent_as.is_none();
  if (!axis.is_none()) std::tie(options.axis_name, options.axis_size) = py::cast<std::pair<std::string, int64_t>>(axis);
  CaptureScope scope(std::move(options));
  py::list inputs;
  std::vector<Traced> traced;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source source = source_from_python(sources[i]);
    const Aval& aval = source.aval;
    const std::string name = i < names.size() ? names[i] : "";
    std::optional<Datum> shadow;
    if (!shadows.is_none() && !py::object(shadows[py::int_(i)]).is_none()) {
      shadow = datum_from_python(shadows[py::int_(i)]);
    }
    Traced value;
    py::dict axes;
    if (!ragged.is_none()) axes = py::cast<py::dict>(ragged[py::int_(i)]);
    if (axes.size() > 0) {
      std::vector<std::optional<Traced>> lengths(static_cast<size_t>(aval.rank()));
      for (const auto& [axis, position] : axes) lengths[py::cast<size_t>(axis)] = traced[py::cast<size_t>(position)];
      value = (*scope).add_ragged_input(aval, name, lengths, shadow);
    } else {
      value = (*scope).add_input(aval, name, shadow);
      if (source.value) (*scope).inherit_lengths(value, *source.value, source.element_axis);
    }
    if (i < differentiated.size() && differentiated[i]) (*scope).differentiate(value);
    if (!dependent_as.is_none() && !py::object(dependent_as[py::int_(i)]).is_none()) {
      (*scope).inherit_dependence(value, datum_from_python(dependent_as[py::int_(i)]));
    }
    traced.push_back(value);
    inputs.append(array_object(value));
  }
  const py::tuple returned = py::cast<py::tuple>(function(inputs));  // (outputs, anything)
  const std::vector<Datum> outputs = data(returned[0]);
  Capture::Result result = scope.finish(outputs);
  return py::make_tuple(GraphHandle{result.graph}, arrays(result.captured), returned[1]);
}

// `with EagerScope():` in Python, and the like.
template <class Scope>
struct Context {
  std::unique_ptr<Scope> scope;
};

template <class Scope>
void register_context(py::module_& module, const char* name, const char* text) {
  py::class_<Context<Scope>>(module, name, text)
      .def(py::init<>())
      .def("__enter__", [](Context<Scope>& self) { self.scope = std::make_unique<Scope>(); })
      .def("__exit__", [](Context<Scope>& self, const py::args&) { self.scope.reset(); });
}

}  // namespace

void check_results(const Primitive& primitive, absl::Span<const Datum> operands, const AttrsPtr& attrs,
                   absl::Span<const Datum> results) {
  if (operands.empty()) return;  // a literal is what the user wanted
  const Invalid what = config().invalid();
  const auto is_valid = [&](const Datum& datum) {
    const auto* tensor = std::get_if<Tensor>(&datum);
    return tensor == nullptr || find_invalid(*tensor, what).empty();
  };
  if (std::all_of(results.begin(), results.end(), is_valid)) return;
  std::vector<Tensor> inputs;
  Avals avals;
  for (const Datum& operand : operands) inputs.push_back(concrete(operand));
  for (const Tensor& input : inputs) avals.push_back(input.aval());
  LocationScope location(LocationScope::current() != kNoLocation ? LocationScope::current() : calling_location());
  const GraphPtr graph = build_graph(
      avals, [&](Builder& builder, const Values& values) { return builder.bind(primitive, values, attrs); });
  const auto origin = find_invalid(*graph, inputs, what);
  // Handing one on is not making one.
  if (origin && !origin->primitive.empty()) throw invalid_error(*origin);
}

std::vector<Datum> bind_with_location(const Primitive& primitive, absl::Span<const Datum> operands,
                                      const AttrsPtr& attrs) {
  return bound(primitive, [&] {
    if (innermost_capture() == nullptr) {
      std::vector<Datum> results = bind(primitive, operands, attrs);
      if (config().invalid().any()) check_results(primitive, operands, attrs, results);
      return results;
    }
    LocationScope scope(user_location());
    std::vector<const Datum*> pointers;
    for (const Datum& operand : operands) pointers.push_back(&operand);
    const UserAxes axes(primitive, pointers, attrs);
    std::vector<Datum> results = bind(primitive, operands, attrs);
    axes.note(results);
    return results;
  });
}

Datum convert_datum(const Datum& x, DType dtype, bool weak) {
  if (datum_aval(x).dtype() == dtype) return x;
  static const auto* attributes = [] {
    auto* table = new std::array<AttrsPtr, 2 * kNumDTypes>;
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto target = static_cast<DType>(i);
      (*table)[static_cast<size_t>(i)] = Attrs::make({{"dtype", target}});
      (*table)[static_cast<size_t>(i + kNumDTypes)] = Attrs::make({{"dtype", target}, {"weak", true}});
    }
    return table;
  }();
  const Datum* operand = &x;
  const size_t row = static_cast<size_t>(dtype) + (weak ? kNumDTypes : 0);
  return bind1_with_location(kConvert, {&operand, 1}, (*attributes)[row]);
}

Shape broadcast_shapes(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape shape(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      const MarkedShape shapes[] = {marked_shape(a, {static_cast<int>(a.size() - 1 - i)}),
                                    marked_shape(b, {static_cast<int>(b.size() - 1 - i)})};
      throw Error(ErrorKind::kShape,
                  concat("shapes ", shape_string(a), " and ", shape_string(b), " do not broadcast: sizes ", x, " and ",
                         y, " meet in axis -", i + 1, marked_shapes(shapes)))
          .at(user_location())
          .hint("sizes must be equal or 1, counted from the last axis; insert axes with x[:, None] or reshape")
          .see("shape-mismatch");
    }
    shape[rank - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

Datum broadcast_datum(const Datum& x, absl::Span<const int64_t> shape) {
  const Aval aval = datum_aval(x);
  if (absl::MakeConstSpan(aval.shape()) == shape) return x;
  Ints axes;
  const int64_t offset = static_cast<int64_t>(shape.size()) - aval.rank();
  CT_CHECK(offset >= 0);  // callers have joined the shapes
  for (int64_t axis = 0; axis < aval.rank(); ++axis) axes.push_back(offset + axis);
  const Datum* operand = &x;
  return bind1_with_location(kBroadcast, {&operand, 1},
                             Attrs::make({{"shape", Ints(shape.begin(), shape.end())}, {"axes", std::move(axes)}}));
}

void register_bind(py::module_& module) {
  module.def("capture", capture, py::arg("function"), py::arg("sources"), py::arg("names"), py::arg("mode"),
             py::arg("function_name"), py::arg("shadows") = py::none(), py::arg("ragged") = py::none(),
             py::arg("axis") = py::none(), py::arg("differentiated") = std::vector<bool>(),
             py::arg("dependent_as") = py::none());
  // The axes that collectives may name here: (name, size), innermost first.
  module.def("named_axes", named_axes);
  module.def("apply_graph", [](const GraphHandle& handle, const py::list& operands) {
    LocationScope scope(user_location());
    return arrays(bind_graph(handle.graph, data(operands)));
  });
  register_context<EagerScope>(module, "EagerScope", "While it is entered, nothing is captured: operations evaluate.");
  register_context<ConstantScope>(module, "ConstantScope",
                                  "While it is entered, operations on known values evaluate, others are captured.");
  register_context<KeepLengths>(
      module, "KeepLengths",
      "While it is entered, derivatives say how long ragged axes are: for programs that are masked.");
  module.def("keeps_lengths", keeps_lengths);
  // Of the innermost capture; no other has it while that lives.
  module.def("capture_number", innermost_capture_number);
  module.def("capture_mode", []() -> py::object {
    const auto capture = current_capture();
    if (!capture) return py::none();
    static const char* const kNames[] = {"transform", "jit", "batch", "mask"};
    return py::str(kNames[static_cast<int>(capture->options().mode)]);
  });
}

}  // namespace ct::python
