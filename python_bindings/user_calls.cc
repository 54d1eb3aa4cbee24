#include "python_bindings/user_calls.h"

#include <algorithm>
#include <functional>

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

struct Side {
  const Datum* datum;
  Aval aval;
  uint64_t user = 0;
  uint64_t ragged = 0;
};

// Where an axis of one array and one of another have to be of one size.
void check_pair(const Side& x, int64_t i, const Side& y, int64_t j, PyObject* function) {
  const bool clash = (has(x.user, i) && has(y.ragged, j)) || (has(y.user, j) && has(x.ragged, i));
  if (!clash) return;
  const Side& other = has(x.ragged, i) ? x : y;
  const int64_t axis = has(x.ragged, i) ? i : j;
  const auto name = py::reinterpret_steal<py::object>(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  throw unequal_sizes(x.aval.dim(static_cast<int>(i)), static_cast<size_t>(other.aval.rank() - 1 - axis),
                      name ? py::cast<std::string>(name) : std::string());
}

// The axes of the result that an operand's axes become, of the same size: by number, -1 for none.
Ints places_in_result(const Primitive& primitive, const Attrs& attrs, const Aval& operand) {
  Ints places(static_cast<size_t>(operand.rank()), -1);
  const auto all = [&](const std::function<int64_t(int64_t)>& place) {
    for (size_t axis = 0; axis < places.size(); ++axis) places[axis] = place(static_cast<int64_t>(axis));
    return places;
  };
  switch (primitive.arrangement) {
    case Arrangement::kBroadcast:
      return attrs.ints("axes");
    case Arrangement::kTranspose: {
      const Ints& permutation = attrs.ints("permutation");
      for (size_t axis = 0; axis < permutation.size(); ++axis) {
        places[static_cast<size_t>(permutation[axis])] = static_cast<int64_t>(axis);
      }
      return places;
    }
    case Arrangement::kReshape: {
      // An axis stays where as many elements are before it as ever.
      const Ints& shape = attrs.ints("shape");
      return all([&](int64_t axis) -> int64_t {
        int64_t before = 1, count = 1;
        for (int64_t i = 0; i < axis; ++i) before *= operand.dim(static_cast<int>(i));
        for (size_t place = 0; place < shape.size(); ++place) {
          if (count == before && shape[place] == operand.dim(static_cast<int>(axis))) {
            return static_cast<int64_t>(place);
          }
          count *= shape[place];
        }
        return -1;
      });
    }
    case Arrangement::kSlice:
    case Arrangement::kPad:
    case Arrangement::kConcatenate:
    case Arrangement::kChoice:
      return all([](int64_t axis) { return axis; });  // where the size is the same
    default:
      break;
  }
  if (primitive.is<structures::Fold>()) {
    const Ints& axes = attrs.ints("axes");
    return all([&](int64_t axis) -> int64_t {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return -1;
      return axis - std::count_if(axes.begin(), axes.end(), [&](int64_t folded) { return folded < axis; });
    });
  }
  const bool in_place =
      primitive.elementwise || primitive.is<structures::RunningFold>() || primitive.length_role == LengthRole::kFill;
  return in_place ? all([](int64_t axis) { return axis; }) : places;
}

}  // namespace

Error unequal_sizes(int64_t size, size_t from_end, std::string_view function) {
  const std::string where = function.empty() ? "" : concat(function, ": ");
  Error error(ErrorKind::kShape, concat(where, "an axis of ", size, " elements meets a ragged one, axis -",
                                        from_end + 1, ": they are of one size for one length only"));
  error.at(user_location())
      .hint("make the array of the size of the other's axis, or cut it to that: y[:x.shape[axis]]");
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
    const bool given = std::find(buffers_.begin(), buffers_.end(), tensor->buffer()) != buffers_.end();
    return given ? sized_axes(datum) : 0;
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

namespace {

// Of a function that puts arrays together in another way than by one equation: throws where, counted from the last
// axis, or at one axis of each, a user's axis meets a ragged one.
void check_sizes(const py::sequence& arrays, const std::optional<std::vector<int64_t>>& axes) {
  UserCall* const call = innermost_call;
  if (call == nullptr) return;
  std::vector<Datum> data;
  for (const py::handle& array : arrays) data.push_back(datum_from_python(array));
  call->check(data, axes);
}

}  // namespace

void UserCall::check(absl::Span<const Datum> data, const std::optional<std::vector<int64_t>>& axes) const {
  std::vector<Side> sides;
  for (const Datum& datum : data) sides.push_back({&datum, datum_aval(datum), axes_of(datum), ragged_axes(datum)});
  for (size_t i = 0; i < sides.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Side &x = sides[i], &y = sides[j];
      if (axes) {
        check_pair(x, (*axes)[i], y, (*axes)[j], function_);
        continue;
      }
      for (int from_end = 1; from_end <= std::min(x.aval.rank(), y.aval.rank()); ++from_end) {
        check_pair(x, x.aval.rank() - from_end, y, y.aval.rank() - from_end, function_);
      }
    }
  }
}

void register_user_calls(py::module_& module) {
  module.def("check_sizes", check_sizes, py::arg("arrays"), py::arg("axes") = py::none(),
             "An error where an array that the user gave to the function that runs has a size beside a ragged axis.");
}

// ---- equations ------------------------------------------------------------------------------------------------------

UserAxes::UserAxes(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs)
    : call_(innermost_call) {
  if (call_ == nullptr || operands.empty()) return;
  absl::InlinedVector<Side, 4> sides;
  uint64_t users = 0;
  for (const Datum* datum : operands) {
    sides.push_back({datum, datum_aval(*datum), call_->axes_of(*datum)});
    users |= sides.back().user;
  }
  if (users == 0) {
    call_ = nullptr;
    return;
  }
  for (Side& side : sides) side.ragged = ragged_axes(*side.datum);
  if (primitive.is<structures::Product>()) {
    const DotDimensions dimensions = DotDimensions::from(*attrs);
    const Side &x = sides[0], &y = sides[1];
    for (size_t i = 0; i < dimensions.lhs_contract.size(); ++i) {
      check_pair(x, dimensions.lhs_contract[i], y, dimensions.rhs_contract[i], call_->function_);
    }
    for (size_t i = 0; i < dimensions.lhs_batch.size(); ++i) {
      check_pair(x, dimensions.lhs_batch[i], y, dimensions.rhs_batch[i], call_->function_);
    }
    int64_t place = 0;
    const auto add = [&](const Side& side, int64_t axis) {
      if (has(side.user, axis)) axes_ |= bit(place);
      shape_.push_back(side.aval.dim(static_cast<int>(axis)));
      ++place;
    };
    for (int64_t axis : dimensions.lhs_batch) add(x, axis);
    for (int64_t axis : free_axes(x.aval.rank(), dimensions.lhs_contract, dimensions.lhs_batch)) add(x, axis);
    for (int64_t axis : free_axes(y.aval.rank(), dimensions.rhs_contract, dimensions.rhs_batch)) add(y, axis);
    return;
  }
  const bool joins = primitive.arrangement == Arrangement::kConcatenate;
  if (primitive.elementwise || joins) {
    const int64_t joined = joins ? attrs->integer("axis") : -1;
    for (const Side& user : sides) {
      if (user.user == 0) continue;
      for (const Side& other : sides) {
        if (other.aval.rank() != user.aval.rank()) continue;
        for (int64_t axis = 0; axis < user.aval.rank(); ++axis) {
          if (axis != joined) check_pair(user, axis, other, axis, call_->function_);
        }
      }
    }
  }
  for (const Side& side : sides) {
    if (side.user == 0) continue;
    if (side.datum != operands[0] && !primitive.elementwise && !joins) continue;
    const Ints places = places_in_result(primitive, *attrs, side.aval);
    const bool sliced = primitive.arrangement == Arrangement::kSlice;
    for (size_t axis = 0; axis < places.size(); ++axis) {
      if (places[axis] < 0 || !has(side.user, static_cast<int64_t>(axis))) continue;
      axes_ |= bit(places[axis]);
      if (shape_.size() <= static_cast<size_t>(places[axis])) shape_.resize(static_cast<size_t>(places[axis]) + 1, -1);
      // One that is cut is of a size that follows from the user's.
      shape_[static_cast<size_t>(places[axis])] =
          sliced ? attrs->ints("limit")[axis] - attrs->ints("start")[axis] : side.aval.dim(static_cast<int>(axis));
    }
  }
}

void UserAxes::note(const Datum& result) const {
  if (call_ == nullptr || axes_ == 0) return;
  const auto* traced = std::get_if<Traced>(&result);
  if (traced == nullptr) return;
  const Aval aval = datum_aval(result);
  uint64_t axes = 0;
  for (int axis = 0; axis < aval.rank() && static_cast<size_t>(axis) < shape_.size(); ++axis) {
    if (has(axes_, axis) && shape_[static_cast<size_t>(axis)] == aval.dim(axis)) axes |= bit(axis);
  }
  axes &= ~ragged_axes(result);
  if (axes != 0) call_->derived_.insert_or_assign({traced->capture.get(), traced->var}, axes);
}

}  // namespace ct::python
