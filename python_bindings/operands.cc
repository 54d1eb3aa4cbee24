#include "python_bindings/operands.h"

#include <algorithm>
#include <optional>

#include "device/residency.h"
#include "ir/primitives.h"
#include "jit/backend.h"
#include "python_bindings/bound_error.h"
#include "python_bindings/user_calls.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

// NumPy's float64 and complex128 numbers are Python floats and complex numbers by class, and mostly come from constants
// like np.sqrt(2): while 64 bits are not the default, they yield to an array's dtype as Python's numbers do. Where 64
// bits are off, they are of 32 bits, and do not yield.
bool yields_to_arrays(PyObject* object) {
  return (PyFloat_Check(object) || PyComplex_Check(object)) && !config().enable_x64 && !config().narrow;
}

void describe(PyObject* object, Operand& operand) {
  const Aval aval = datum_aval(*operand.datum);
  operand.type = {aval.dtype(), aval.weak() || (!is_array(object) && yields_to_arrays(object))};
  operand.shape = aval.shape();
}

void read_permitted(PyObject* object, Operand& operand) {
  const Datum datum = datum_from_python(object);
  const Aval aval = datum_aval(datum);
  operand.owned = convert_datum(datum, permitted_dtype(aval.dtype()), aval.weak());
  operand.datum = &operand.owned;
}

bool is_numpy_number(const Operand& operand) {
  return operand.datum != nullptr && operand.type.weak && !datum_aval(*operand.datum).weak();
}

// A number of NumPy's next to a floating array of weak type, which a Python number would not widen.
PromotedType narrowed(const PromotedType& number) {
  return {is_complex(number.dtype) ? DType::kComplex64 : default_float(), true};
}

// An array of the host that is going to be broadcast beside one of a device is brought there before: it is smaller.
Datum brought(Datum datum, absl::Span<const Operand> beside) {
  const auto* tensor = std::get_if<Tensor>(&datum);
  if (tensor == nullptr || tensor->place() != kHostPlace) return datum;
  for (const Operand& other : beside) {
    const auto* there = other.datum == nullptr ? nullptr : std::get_if<Tensor>(other.datum);
    if (there == nullptr || there->place() == kHostPlace) continue;
    return put(*find_backend(backend_at(there->place()))->device, *tensor);
  }
  return datum;
}

Datum materialize(const Operand& operand, PromotedType type, const Shape& shape, absl::Span<const Operand> beside) {
  if (operand.scalar != nullptr) {
    if (innermost_capture() != nullptr) return scalar_datum(operand.scalar, Aval(type.dtype, shape, type.weak), true);
    return broadcast_datum(brought(scalar_datum(operand.scalar, Aval(type.dtype, {}, type.weak), true), beside), shape);
  }
  const Datum converted = convert_datum(*operand.datum, type.dtype, type.weak);
  return operand.shape == shape ? converted : broadcast_datum(brought(converted, beside), shape);
}

// ---- Bounds that differ

// The length of the axis that is `from_end` axes before the last; null where it is exact, or there is none.
std::optional<Traced> length_from_end(const Operand& operand, size_t from_end) {
  if (operand.datum == nullptr || from_end >= operand.shape.size()) return std::nullopt;
  const auto* traced = std::get_if<Traced>(operand.datum);
  if (traced == nullptr || !traced->capture->live() || !traced->capture->masks()) return std::nullopt;
  return traced->capture->length(*traced, static_cast<int>(operand.shape.size() - 1 - from_end));
}

void cut_to_bound(Operand& operand, size_t from_end, const Traced& length, int64_t bound) {
  const size_t axis = operand.shape.size() - 1 - from_end;
  const Ints start(operand.shape.size(), 0), stride(operand.shape.size(), 1);
  operand.shape[axis] = bound;
  const Datum* whole = operand.datum;
  const Datum cut = bind1_with_location(
      kSlice, {&whole, 1},
      Attrs::make({{"start", start}, {"limit", Ints(operand.shape.begin(), operand.shape.end())}, {"stride", stride}}));
  const Datum size = length;
  const Datum* operands[] = {&cut, &size};
  operand.owned =
      bind1_with_location(kSetLength, operands, Attrs::make({{"axis", static_cast<int64_t>(axis)}, {"cuts", true}}));
  operand.datum = &operand.owned;
}

Traced combined(const Primitive& primitive, const Traced& x, const Datum& y) {
  const Datum own = x;
  const Datum* operands[] = {&own, &y};
  return std::get<Traced>(bind1_with_location(primitive, operands));
}

Datum number(int64_t value) {
  return bind1_with_location(
      kFull, {}, Attrs::make({{"dtype", DType::kInt32}, {"shape", Ints()}, {"value", value}, {"weak", false}}));
}

bool at_most(Capture& capture, const Traced& x, const Traced& y) { return capture.same_sizes(combined(kMin, x, y), x); }

void make_exact(Operand& operand, size_t from_end) {
  const auto axis = static_cast<int64_t>(operand.shape.size() - 1 - from_end);
  const Datum* whole = operand.datum;
  operand.owned = bind1_with_location(kFillPadding, {&whole, 1}, Attrs::make({{"axes", Ints{axis}}, {"value", 0.0}}));
  operand.datum = &operand.owned;
}

// An axis of one element at most beside one of n. Where it has an element for every n above 1, the two go together for
// every length: its element is repeated, and where it has none, neither has the result, as n is 1 or 0 then.
bool repeat_one_element(Capture& capture, absl::Span<Operand> operands, Operand& operand, size_t from_end,
                        const Traced& own, const Traced& beside, int64_t size) {
  if (!at_most(capture, combined(kMin, combined(kSub, beside, number(1)), number(1)), own)) return false;
  make_exact(operand, from_end);
  if (at_most(capture, combined(kMin, beside, number(1)), own)) return true;
  const Traced left = combined(kMin, combined(kMul, own, number(size)), beside);
  for (Operand& other : operands) {
    const std::optional<Traced> length = length_from_end(other, from_end);
    if (!length || !capture.same_sizes(*length, beside)) continue;
    cut_to_bound(other, from_end, left, other.shape[other.shape.size() - 1 - from_end]);
  }
  return true;
}

bool is_empty(const Operand& operand, size_t from_end) {
  return operand.shape[operand.shape.size() - 1 - from_end] == 0;
}

// The axis of an operand that is so many before its last, counted from the first.
size_t axis_of(const Operand& operand, size_t from_end) { return operand.shape.size() - 1 - from_end; }

Error may_have_no_element(Capture& capture, const Traced& own, const Traced& beside, size_t axis) {
  const auto [left, right] = capture.size_texts(own, beside);
  Error error(ErrorKind::kShape, concat("axis ", axis, " has ", left, " elements, one at most, beside one of ", right,
                                        ": it is not known to have the one that would be repeated"));
  error.at(user_location())
      .hint("take the element itself, which has no axis: x[1] for x[1:2]; or cut the longer one, y[:x.shape[axis]]")
      .see("lengths-that-differ");
  return error;
}

// Beside an axis of n elements, one of min(n, 1) has its only element wherever there is one beside it, and one of
// max(n, 1) has n, or is repeated as often as that: not at all.
void repeat_single_elements(Capture& capture, absl::Span<Operand> operands, size_t from_end) {
  for (Operand& operand : operands) {
    const std::optional<Traced> own = length_from_end(operand, from_end);
    if (!own) continue;
    const int64_t bound = operand.shape[operand.shape.size() - 1 - from_end];
    std::optional<Traced> longer;
    for (const Operand& other : operands) {
      const std::optional<Traced> beside = length_from_end(other, from_end);
      if (bound == 1 && from_end < other.shape.size() && is_empty(other, from_end)) {
        make_exact(operand, from_end);  // repeated not at all, if there is one
        break;
      }
      if (!beside || capture.same_sizes(*own, *beside)) continue;
      const int64_t size = other.shape[other.shape.size() - 1 - from_end];
      if (bound == 1 && size > 1) {
        longer = beside;
        if (!repeat_one_element(capture, operands, operand, from_end, *own, *beside, size)) continue;
      } else if (bound >= size && capture.same_sizes(*own, combined(kMax, *beside, number(1)))) {
        cut_to_bound(operand, from_end, *beside, size);
      } else {
        continue;
      }
      longer = std::nullopt;
      break;
    }
    if (longer) throw may_have_no_element(capture, *own, *longer, axis_of(operand, from_end));
  }
}

Error unequal_lengths(Capture& capture, const Traced& x, size_t x_axis, const Traced& y, size_t y_axis) {
  const auto [left, right] = capture.size_texts(x, y);
  const std::string axes = x_axis == y_axis
                               ? concat("axis ", x_axis, " has")
                               : concat("axis ", x_axis, " of one array and axis ", y_axis, " of another have");
  const bool computed = (left + right).find_first_of(" (") != std::string::npos;
  Error error(ErrorKind::kShape, concat(axes, " two different ragged lengths: ", left, " and ", right));
  error.at(user_location())
      .hint(concat("they must be equal for every length that there may be: ",
                   computed ? "" : "give both axes the same name in ct.Ragged(..., names=...), or ",
                   "cut both to the smaller one, n = ct.numpy.minimum(x.shape[axis], y.shape[axis]): x[:n] and y[:n]"))
      .see("lengths-that-differ");
  return error;
}

// Axes of one length may be padded to different bounds: to the least of these then. The operands that are left as they
// are stay where they are.
void agree_on_bounds(absl::Span<Operand> operands) {
  Capture* capture = current_capture().get();
  size_t rank = 0;
  for (const Operand& operand : operands) rank = std::max(rank, operand.shape.size());
  for (size_t from_end = 0; from_end < rank; ++from_end) {
    repeat_single_elements(*capture, operands, from_end);
    std::optional<Traced> length;
    size_t axis = 0;  // that has it first
    int64_t bound = 0;
    for (const Operand& operand : operands) {
      const std::optional<Traced> own = length_from_end(operand, from_end);
      if (!own || (length && !capture->same_sizes(*length, *own))) continue;
      const int64_t size = operand.shape[operand.shape.size() - 1 - from_end];
      if (!length) axis = axis_of(operand, from_end);
      bound = length ? std::min(bound, size) : size;
      length = own;
    }
    for (Operand& operand : operands) {
      const std::optional<Traced> own = length_from_end(operand, from_end);
      if (!own || operand.shape[operand.shape.size() - 1 - from_end] == bound) continue;
      if (capture->same_sizes(*length, *own)) {
        cut_to_bound(operand, from_end, *own, bound);
      } else if (bound > 1 && operand.shape[operand.shape.size() - 1 - from_end] > 1) {
        throw unequal_lengths(*capture, *length, axis, *own, axis_of(operand, from_end));
      }
    }
  }
}

// In a function that a user has called: elements of arrays meet here, whatever is made of them.
void check_user_sizes(absl::Span<const Operand> operands) {
  std::vector<Datum> data;
  for (const Operand& operand : operands) {
    if (operand.datum != nullptr && !operand.shape.empty()) data.push_back(*operand.datum);
  }
  check_sizes(data, std::nullopt);
}

// Whether there may be axes that meet others of another bound, or of another length: inside of a mask.
bool may_differ_in_bounds(absl::Span<const Operand> operands) {
  const Capture* capture = innermost_capture();
  if (capture == nullptr || !capture->masks()) return false;
  const auto has_axes = [](const Operand& operand) { return operand.datum != nullptr && !operand.shape.empty(); };
  return std::count_if(operands.begin(), operands.end(), has_axes) > 1;
}

}  // namespace

// Functions of this package make operands for a ragged axis that have as many elements as its bound. A user's array of
// such a size has that size, and meets the axis in an operator as NumPy's arrays do.
void check_sizes_beside_ragged(absl::Span<const Operand> operands) {
  const Capture* capture = innermost_capture();
  if (capture == nullptr || !capture->masks() || !called_by_user()) return;
  size_t rank = 0;
  for (const Operand& operand : operands) rank = std::max(rank, operand.shape.size());
  for (size_t from_end = 0; from_end < rank; ++from_end) {
    const auto ragged = std::find_if(operands.begin(), operands.end(), [&](const Operand& operand) {
      return length_from_end(operand, from_end).has_value();
    });
    if (ragged == operands.end()) continue;
    for (const Operand& operand : operands) {
      if (from_end >= operand.shape.size() || length_from_end(operand, from_end)) continue;
      const int64_t size = operand.shape[operand.shape.size() - 1 - from_end];
      if (size > 1) throw unequal_sizes(size, static_cast<int64_t>(axis_of(*ragged, from_end)), "");
    }
  }
}

bool read_operand(PyObject* object, Operand& operand) {
  if (is_array(object)) {
    operand.datum = &array_datum(object);
  } else if (is_python_scalar(object)) {
    operand.scalar = object;
    operand.type = scalar_type(object);
    return true;
  } else if (py::isinstance<py::array>(object) || array_method(object) != nullptr ||
             PyObject_HasAttrString(object, "__array__")) {
    read_permitted(object, operand);
  } else {
    return false;
  }
  describe(object, operand);
  return true;
}

bool answers_operators(PyObject* object) {
  return !is_array(object) && !is_python_scalar(object) && !py::isinstance<py::array>(object) &&
         PyObject_HasAttrString(object, "__array_ufunc__") && array_method(object) == nullptr;
}

void read_any_operand(PyObject* object, Operand& operand) {
  if (read_operand(object, operand)) return;
  read_permitted(object, operand);
  describe(object, operand);
}

void promote_operands(absl::Span<Operand> operands, Promotion promotion, absl::Span<Datum> made,
                      absl::Span<const Datum*> promoted) {
  const bool floating = std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.datum != nullptr && is_inexact(operand.type.dtype) && !is_numpy_number(operand);
  });
  const auto type_of = [&](const Operand& operand) {
    return floating && is_numpy_number(operand) ? narrowed(operand.type) : operand.type;
  };
  // What this package computes with 64 bits on purpose, such as positions, stays so.
  const bool narrows = config().narrow && std::none_of(operands.begin(), operands.end(), [](const Operand& operand) {
                         return operand.datum != nullptr && permitted_dtype(operand.type.dtype) != operand.type.dtype;
                       });
  PromotedType type = type_of(operands[0]);
  if (may_differ_in_bounds(operands)) {
    check_user_sizes(operands);
    agree_on_bounds(operands);
  }
  Shape shape = operands[0].shape;
  for (const Operand& operand : operands.subspan(1)) {
    type = promote_types(type, type_of(operand), default_float());
    if (narrows) type.dtype = permitted_dtype(type.dtype);
    if (shape != operand.shape) shape = broadcast_shapes(shape, operand.shape);
  }
  if (promotion == Promotion::kInexact) type = inexact_type(type);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.datum != nullptr && operand.type.dtype == type.dtype && operand.shape == shape) {
      promoted[i] = operand.datum;
    } else {
      made[i] = materialize(operand, type, shape, operands);
      promoted[i] = &made[i];
    }
  }
}

Datum bind1_with_location(const Primitive& primitive, absl::Span<const Datum* const> operands, const AttrsPtr& attrs) {
  return bound(primitive, [&]() -> Datum {
    if (innermost_capture() != nullptr) {
      LocationScope scope(user_location());
      const UserAxes axes(primitive, operands, attrs);
      Datum result = bind1(primitive, operands, attrs);
      axes.note({&result, 1});
      return result;
    }
    Datum result = bind1(primitive, operands, attrs);
    if (config().invalid().any()) {
      std::vector<Datum> data;
      for (const Datum* operand : operands) data.push_back(*operand);
      check_results(primitive, data, attrs, {&result, 1});
    }
    return result;
  });
}

namespace {

// Python says of a list that is added to an array that only lists can be, and of a product that there is no such index.
void refuse_lists(PyObject* left, PyObject* right) {
  for (PyObject* operand : {left, right}) {
    if (!PyList_CheckExact(operand) && !PyTuple_CheckExact(operand)) continue;
    throw Error(ErrorKind::kType, concat("an operator has an array and a ", Py_TYPE(operand)->tp_name))
        .hint("make an array of it: ct.numpy.array([1, 2, 3])");
  }
}

}  // namespace

PyObject* bind_operator(const Primitive& primitive, PyObject* left, PyObject* right, Promotion promotion) {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (is_array(left) && is_array(right)) {
      const Datum* operands[] = {&array_datum(left), &array_datum(right)};
      const Aval aval = datum_aval(*operands[0]);
      const Capture* capture = innermost_capture();
      const bool may_be_ragged = capture != nullptr && capture->masks();
      if (!may_be_ragged && aval == datum_aval(*operands[1]) &&
          (promotion == Promotion::kJoin || is_inexact(aval.dtype()))) {
        return make_array(bind1_with_location(primitive, operands));
      }
    }
    Operand operands[2];
    if (answers_operators(right) || !read_operand(left, operands[0]) || !read_operand(right, operands[1])) {
      refuse_lists(left, right);
      Py_RETURN_NOTIMPLEMENTED;
    }
    check_sizes_beside_ragged(operands);
    Datum made[2];
    const Datum* promoted[2];
    promote_operands(absl::MakeSpan(operands), promotion, absl::MakeSpan(made), absl::MakeSpan(promoted));
    return make_array(bind1_with_location(primitive, promoted));
  });
}

}  // namespace ct::python
