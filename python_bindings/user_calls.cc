#include "python_bindings/user_calls.h"

#include <algorithm>
#include <functional>

#include "ir/length_form.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "python_bindings/array.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

thread_local UserCall* innermost_call = nullptr;

constexpr int kMostNesting = 2;  // of lists of arrays
constexpr int kMostAxes = 64;    // bits

uint64_t bit(int64_t axis) { return uint64_t{1} << axis; }
bool has(uint64_t axes, int64_t axis) { return (axes >> axis & 1) != 0; }

uint64_t ragged_axes(const Datum& datum) {
  const auto* traced = std::get_if<Traced>(&datum);
  if (traced == nullptr || !traced->capture->live() || !traced->capture->masks()) return 0;
  const Values lengths = traced->capture->lengths_of(traced->var);
  uint64_t axes = 0;
  for (size_t axis = 0; axis < lengths.size(); ++axis) {
    if (lengths[axis]) axes |= bit(static_cast<int64_t>(axis));
  }
  return axes;
}

// Exact axes that have a size to differ from a length. One element is repeated, and none is a bound that has one
// length.
uint64_t sized_axes(const Datum& datum) {
  const Aval aval = datum_aval(datum);
  uint64_t axes = 0;
  for (int axis = 0; axis < aval.rank(); ++axis) {
    if (aval.dim(axis) > 1) axes |= bit(axis);
  }
  return axes & ~ragged_axes(datum);
}

}  // namespace

struct Sized {
  const Datum* datum;
  Aval aval;
  uint64_t user = 0;
  uint64_t ragged = 0;
};

namespace {

// Where an axis of one array and one of another have to be of one size. Of no function known by name: null.
void check_pair(const Sized& x, int64_t i, const Sized& y, int64_t j, PyObject* function) {
  const bool clash = (has(x.user, i) && has(y.ragged, j)) || (has(y.user, j) && has(x.ragged, i));
  if (!clash) return;
  const bool x_is_ragged = has(x.ragged, i);
  const Sized& exact = x_is_ragged ? y : x;
  py::object name;
  if (function != nullptr) name = py::reinterpret_steal<py::object>(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  throw unequal_sizes(exact.aval.dim(static_cast<int>(x_is_ragged ? j : i)), x_is_ragged ? i : j,
                      name ? py::cast<std::string>(name) : std::string());
}

// Where they are of one size counted from the last axis, or at one axis of each.
void check_all(absl::Span<const Sized> arrays, const std::optional<std::vector<int64_t>>& axes, PyObject* function) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Sized &x = arrays[i], &y = arrays[j];
      if (axes) {
        check_pair(x, (*axes)[i], y, (*axes)[j], function);
        continue;
      }
      for (int from_end = 1; from_end <= std::min(x.aval.rank(), y.aval.rank()); ++from_end) {
        check_pair(x, x.aval.rank() - from_end, y, y.aval.rank() - from_end, function);
      }
    }
  }
}

}  // namespace

Error unequal_sizes(int64_t size, int64_t axis, std::string_view function) {
  const std::string where = function.empty() ? "" : concat(function, ": ");
  Error error(ErrorKind::kShape, concat(where, "an axis of ", size, " elements meets a ragged one, axis ", axis,
                                        ": they are of one size for one length only"));
  error.at(user_location())
      .hint(
          "make the array of the size of the ragged axis, as ct.numpy.arange(x.shape[axis]) and ct.numpy.zeros_like(x) "
          "are, or cut it to that: y[:x.shape[axis]]")
      .see("exact-size-meets-ragged");
  return error;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

void UserCall::begin(PyObject* function, PyObject* const* args, Py_ssize_t count) {
  function_ = function;
  capture_ = current_capture();
  first_ = capture_->builder().num_vars();
  for (Py_ssize_t i = 0; i < count; ++i) note_argument(args[i], 0);
  outer_ = std::exchange(innermost_call, this);
  active_ = true;
}

void UserCall::end() { innermost_call = outer_; }

void UserCall::note_argument(PyObject* object, int depth) {
  if (is_array(object)) {
    const auto* tensor = std::get_if<Tensor>(&array_contents(object));
    if (tensor != nullptr && *tensor && tensor->aval().rank() > 0) buffers_.push_back(tensor->buffer());
    return;
  }
  if (py::isinstance<py::array>(object)) arguments_.push_back(object);
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return;
  arguments_.push_back(object);
  if (depth == kMostNesting) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    note_argument(PySequence_Fast_GET_ITEM(object, i), depth + 1);
  }
}

uint64_t UserCall::axes_of(const Datum& datum) const {
  if (const auto* tensor = std::get_if<Tensor>(&datum)) {
    if (std::find(buffers_.begin(), buffers_.end(), tensor->buffer()) != buffers_.end()) return sized_axes(datum);
    const auto known = std::find_if(computed_.begin(), computed_.end(), [&](const auto& computed) {
      return computed.first.buffer() == tensor->buffer() && computed.first.aval().shape() == tensor->aval().shape();
    });
    return known == computed_.end() ? 0 : known->second;
  }
  const auto& traced = std::get<Traced>(datum);
  const auto found = derived_.find({traced.capture.get(), traced.var});
  if (found != derived_.end()) return found->second;
  // Of an enclosing capture it was there before; of one that began in the call it was not.
  const bool before = traced.capture == capture_ ? traced.var < first_ : innermost_capture() == capture_.get();
  return before && traced.capture->live() ? sized_axes(datum) : 0;
}

void note_conversion(PyObject* object, const Datum& datum) {
  UserCall* const call = innermost_call;
  if (call == nullptr) return;
  const auto* tensor = std::get_if<Tensor>(&datum);
  if (tensor == nullptr || tensor->aval().rank() == 0) return;
  if (std::find(call->arguments_.begin(), call->arguments_.end(), object) != call->arguments_.end()) {
    call->buffers_.push_back(tensor->buffer());
  }
}

void note_copy(const Tensor& array, const Tensor& copy) {
  if (innermost_call == nullptr) return;
  if (const uint64_t axes = innermost_call->axes_of(array); axes != 0) {
    innermost_call->computed_.emplace_back(copy, axes);
  }
}

void check_sizes(absl::Span<const Datum> data, const std::optional<std::vector<int64_t>>& axes) {
  if (innermost_call != nullptr) innermost_call->check(data, axes);
}

void UserCall::check(absl::Span<const Datum> data, const std::optional<std::vector<int64_t>>& axes) const {
  std::vector<Sized> arrays;
  for (const Datum& datum : data) arrays.push_back({&datum, datum_aval(datum), axes_of(datum), ragged_axes(datum)});
  check_all(arrays, axes, function_);
}

std::vector<int> users_axes(const Datum& datum) {
  std::vector<int> result;
  const uint64_t axes = innermost_call == nullptr ? 0 : innermost_call->axes_of(datum);
  for (int axis = 0; axis < kMostAxes; ++axis) {
    if (has(axes, axis)) result.push_back(axis);
  }
  return result;
}

namespace {

// Of a function that puts arrays together in another way than by one equation. What a transform makes, as vmap(f), is
// not known as a function of the package: what it is given is the user's where the user calls it.
void check_sizes_of(const py::sequence& arrays, const std::optional<std::vector<int64_t>>& axes) {
  const Capture* capture = innermost_capture();
  if (capture == nullptr || !capture->masks()) return;
  std::vector<Datum> data;
  for (const py::handle& array : arrays) data.push_back(datum_from_python(array));
  if (!called_by_user(/*skipped=*/1)) {
    check_sizes(data, axes);
    return;
  }
  std::vector<Sized> given;
  for (const Datum& datum : data) given.push_back({&datum, datum_aval(datum), sized_axes(datum), ragged_axes(datum)});
  check_all(given, axes, nullptr);
}

}  // namespace

void register_user_calls(py::module_& module) {
  module.def("users_axes", [](const py::object& array) { return users_axes(datum_from_python(array)); });
  module.def("check_sizes", check_sizes_of, py::arg("arrays"), py::arg("axes") = py::none(),
             "An error where an array that the user gave to the function that runs has a size beside a ragged axis.");
}

// ---- equations ------------------------------------------------------------------------------------------------------

UserAxes::UserAxes(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs)
    : call_(innermost_call) {
  if (call_ == nullptr || operands.empty()) return;
  absl::InlinedVector<Sized, 4> sides;
  uint64_t users = 0;
  for (const Datum* datum : operands) {
    sides.push_back({datum, datum_aval(*datum), call_->axes_of(*datum)});
    users |= sides.back().user;
  }
  if (users == 0) {
    call_ = nullptr;
    return;
  }
  if (primitive.length_role == LengthRole::kFill) {  // of an exact axis it is that
    axes_.push_back(sides[0].user);
    return;
  }
  for (Sized& side : sides) side.ragged = ragged_axes(*side.datum);
  ask_mask_rule(primitive, sides, attrs);
}

// The rule is given the user's axes as ragged ones, each with a length of its own: it says where they meet others, and
// which axes of the results they become.
void UserAxes::ask_mask_rule(const Primitive& primitive, absl::Span<const Sized> sides, const AttrsPtr& attrs) {
  struct Place {
    size_t side;
    int64_t axis;
    Value length;  // null: the user's
  };
  std::vector<Place> places;  // by number, less 1
  std::vector<std::vector<int>> sizes;
  Avals avals;
  for (size_t i = 0; i < sides.size(); ++i) {
    const Sized& side = sides[i];
    avals.push_back(side.aval);
    std::vector<int>& numbers = sizes.emplace_back(static_cast<size_t>(side.aval.rank()), 0);
    const auto* traced = std::get_if<Traced>(side.datum);
    const Values lengths = side.ragged != 0 ? traced->capture->lengths_of(traced->var) : Values();
    for (int64_t axis = 0; axis < side.aval.rank(); ++axis) {
      if (!has(side.user | side.ragged, axis)) continue;
      const Value length = has(side.ragged, axis) ? lengths[static_cast<size_t>(axis)] : Value();
      const auto same = std::find_if(places.begin(), places.end(), [&](const Place& place) {
        return length && length.builder == place.length.builder && same_length(length, place.length);
      });
      numbers[static_cast<size_t>(axis)] = static_cast<int>(same - places.begin()) + 1;
      if (same == places.end()) places.push_back({i, axis, length});
    }
  }
  const Meetings meetings = meetings_of(primitive, avals, sizes, attrs);
  for (const auto& [a, b] : meetings.met) {
    const Place &x = places[static_cast<size_t>(a - 1)], &y = places[static_cast<size_t>(b - 1)];
    check_pair(sides[x.side], x.axis, sides[y.side], y.axis, call_->function_);
  }
  const auto is_users = [&](int number) { return number != 0 && !places[static_cast<size_t>(number - 1)].length; };
  for (const std::vector<std::vector<int>>& result : meetings.results) {
    uint64_t& axes = axes_.emplace_back(0);
    for (size_t axis = 0; axis < result.size(); ++axis) {
      const std::vector<int>& numbers = result[axis];
      if (!numbers.empty() && std::all_of(numbers.begin(), numbers.end(), is_users)) {
        axes |= bit(static_cast<int64_t>(axis));
      }
    }
  }
}

void UserAxes::note(absl::Span<const Datum> results) const {
  if (call_ == nullptr) return;
  for (size_t k = 0; k < axes_.size() && k < results.size(); ++k) keep(results[k], axes_[k]);
}

void UserAxes::keep(const Datum& result, uint64_t axes) const {
  axes &= sized_axes(result);
  if (axes == 0) return;
  if (const auto* traced = std::get_if<Traced>(&result)) {
    call_->derived_.insert_or_assign({traced->capture.get(), traced->var}, axes);
  } else {
    call_->computed_.emplace_back(std::get<Tensor>(result), axes);
  }
}

}  // namespace ct::python
