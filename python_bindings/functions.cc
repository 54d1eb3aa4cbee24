// The functions of the extension module that array functions are made of, in CPython's own calling convention:
// pybind11's dispatch would cost more than most of what they do.
#include "python_bindings/functions.h"

#include "python_bindings/attributes.h"
#include "python_bindings/operands.h"
#include "python_bindings/primitive_functions.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

// Arguments of a call by position or by name. Missing ones are null; a TypeError for what does not fit.
template <size_t kCount>
std::array<PyObject*, kCount> read_arguments(const char* function, const char* const (&names)[kCount], size_t required,
                                             PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  std::array<PyObject*, kCount> result{};
  bool fits = static_cast<size_t>(count) <= kCount;
  for (Py_ssize_t i = 0; fits && i < count; ++i) result[static_cast<size_t>(i)] = args[i];
  const Py_ssize_t keyword_count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; fits && k < keyword_count; ++k) {
    size_t position = 0;
    while (position < kCount && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, k), names[position]) != 0) {
      ++position;
    }
    fits = position < kCount && result[position] == nullptr;
    if (fits) result[position] = args[count + k];
  }
  for (size_t i = 0; fits && i < required; ++i) fits = result[i] != nullptr;
  if (!fits) {
    std::vector<std::string> expected(names, names + kCount);
    throw py::type_error(concat(function, "() takes (", join(expected, ", "), "), the first ", required, " required"));
  }
  return result;
}

// The items of a list or tuple, or of a list made from another iterable.
class Items {
 public:
  explicit Items(PyObject* object)
      : sequence_(py::reinterpret_steal<py::object>(PySequence_Fast(object, "a sequence"))) {
    if (!sequence_) throw py::error_already_set();
  }
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(sequence_.ptr()); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(sequence_.ptr(), i); }

 private:
  py::object sequence_;
};

Ints read_ints(PyObject* object) {
  Items items(object);
  Ints result;
  result.reserve(static_cast<size_t>(items.size()));
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    result.push_back(integer_from_python(items[i]));
  }
  return result;
}

PyObject* int_tuple(absl::Span<const int64_t> values) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; tuple != nullptr && i < values.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  }
  return tuple;
}

bool is_true(PyObject* object) {
  const int result = object == nullptr ? 0 : PyObject_IsTrue(object);
  if (result < 0) throw py::error_already_set();
  return result == 1;
}

void need_arguments(Py_ssize_t count, Py_ssize_t least, const char* usage) {
  if (count < least) throw py::type_error(usage);
}

// The promoted objects as Arrays: the same ones where nothing had to be done.
template <class Use>
void with_promoted(PyObject* const* objects, Py_ssize_t count, Promotion promotion, Use&& use) {
  const auto size = static_cast<size_t>(count);
  constexpr size_t kFew = 4;
  Operand few[kFew];
  std::vector<Operand> more(size > kFew ? size : 0);
  const absl::Span<Operand> operands = size > kFew ? absl::MakeSpan(more) : absl::MakeSpan(few, size);
  for (size_t i = 0; i < size; ++i) read_any_operand(objects[i], operands[i]);
  absl::InlinedVector<Datum, kFew> made(size);
  absl::InlinedVector<const Datum*, kFew> promoted(size);
  promote_operands(absl::MakeSpan(operands), promotion, absl::MakeSpan(made), absl::MakeSpan(promoted));
  use(absl::MakeConstSpan(promoted), absl::MakeSpan(made));
}

PyObject* promote(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [objects, inexact] = read_arguments("promote", {"objects", "inexact"}, 1, args, count, keywords);
  Items items(objects);
  py::list result(static_cast<size_t>(items.size()));
  if (items.size() == 0) return result.release().ptr();
  std::vector<PyObject*> pointers;
  for (Py_ssize_t i = 0; i < items.size(); ++i) pointers.push_back(items[i]);
  with_promoted(pointers.data(), items.size(), is_true(inexact) ? Promotion::kInexact : Promotion::kJoin,
                [&](absl::Span<const Datum* const> promoted, absl::Span<Datum> made) {
                  for (size_t i = 0; i < promoted.size(); ++i) {
                    const bool same = is_array(pointers[i]) && promoted[i] == &array_contents(pointers[i]);
                    result[i] = same ? py::reinterpret_borrow<py::object>(pointers[i])
                                     : array_object(promoted[i] == &made[i] ? std::move(made[i]) : Datum(*promoted[i]));
                  }
                });
  return result.release().ptr();
}

PyObject* promoted(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  need_arguments(count, 2, "promoted(primitive, /, *operands, inexact=False)");
  const Primitive& primitive = primitive_of(args[0]);
  const auto [inexact] = read_arguments("promoted", {"inexact"}, 0, args + count, 0, keywords);
  PyObject* result = nullptr;
  with_promoted(args + 1, count - 1, is_true(inexact) ? Promotion::kInexact : Promotion::kJoin,
                [&](absl::Span<const Datum* const> operands, absl::Span<Datum>) {
                  result = make_array(bind1_with_location(primitive, operands));
                });
  return result;
}

// ---- Arrays
// ----------------------------------------------------------------------------------------------------------

PyObject* array(PyObject* object) {
  return is_array(object) ? (static_cast<void>(array_datum(object)), Py_NewRef(object))
                          : make_array(datum_from_python(object));
}

PyObject* convert(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [x, spec] = read_arguments("convert", {"x", "dtype"}, 2, args, count, keywords);
  const DType dtype = dtype_from_python(spec);
  if (is_array(x)) {
    const Datum& datum = array_datum(x);
    return datum_aval(datum).dtype() == dtype ? Py_NewRef(x) : make_array(convert_datum(datum, dtype));
  }
  // A number of Python's keeps its digits: it would be a float32 on the way.
  const bool is_wide = dtype == DType::kComplex128 || (dtype == DType::kFloat64 && !PyComplex_Check(x));
  const bool is_counted = is_integer(dtype) && PyLong_CheckExact(x);
  if ((is_wide && is_python_scalar(x)) || is_counted) {
    constexpr bool kOperand = true;  // narrow elements wrap, as those of the array do that it is an operand beside
    return make_array(scalar_datum(x, Aval(dtype, {}), kOperand));
  }
  return make_array(convert_datum(datum_from_python(x), dtype));
}

PyObject* full(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [shape, value, dtype, weak] =
      read_arguments("full", {"shape", "value", "dtype", "weak"}, 3, args, count, keywords);
  // NumPy's float64 and complex128 are Python numbers by inheritance.
  if (!is_python_scalar(value) && !PyFloat_Check(value) && !PyComplex_Check(value)) {
    throw Error(ErrorKind::kType, concat("a value that fills an array must be a number; got ", Py_TYPE(value)->tp_name))
        .hint("give a number, as 0 or 0.5");
  }
  return make_array(scalar_datum(value, Aval(dtype_from_python(dtype), read_ints(shape), is_true(weak))));
}

PyObject* broadcast_to(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [x, sizes] = read_arguments("broadcast_to", {"x", "shape"}, 2, args, count, keywords);
  const Ints shape = read_ints(sizes);
  const Datum datum = datum_from_python(x);
  const Aval aval = datum_aval(datum);
  if (absl::MakeConstSpan(aval.shape()) == absl::MakeConstSpan(shape)) return array(x);
  const Shape joined = broadcast_shapes(aval.shape(), shape);
  if (absl::MakeConstSpan(joined) != absl::MakeConstSpan(shape)) {
    throw Error(ErrorKind::kShape,
                concat("cannot broadcast shape ", shape_string(aval.shape()), " to ", shape_string(shape)))
        .at(user_location())
        .hint(shape.size() < aval.shape().size()
                  ? "sum or index the axes that the target has not: x.sum(axis=0), x[0]"
                  : "only axes of size 1 can be stretched: ct.numpy.repeat and tile repeat others");
  }
  return make_array(broadcast_datum(datum, shape));
}

PyObject* broadcast_shapes_of(PyObject* shapes) {
  Items items(shapes);
  Shape result;
  for (Py_ssize_t i = 0; i < items.size(); ++i) result = broadcast_shapes(result, read_ints(items[i]));
  return int_tuple(result);
}

// ---- Questions
// -------------------------------------------------------------------------------------------------------

// A value of a capture that knows of ragged axes; null for any other.
const Traced* perhaps_ragged(PyObject* x) {
  if (!is_array(x)) return nullptr;
  const auto* traced = std::get_if<Traced>(&array_datum(x));
  return traced != nullptr && traced->capture->live() && traced->capture->masks() ? traced : nullptr;
}

PyObject* length_of(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [x, axis] = read_arguments("length_of", {"x", "axis"}, 2, args, count, keywords);
  const Traced* traced = perhaps_ragged(x);
  if (traced == nullptr) Py_RETURN_NONE;
  auto length = traced->capture->length(*traced, py::cast<int>(py::handle(axis)));
  if (!length) Py_RETURN_NONE;
  return make_array(*std::move(length));
}

PyObject* range_of_size(PyObject* x) {
  const Traced* traced = perhaps_ragged(x);
  const std::optional<Range> range = traced == nullptr ? std::nullopt : traced->capture->range_of_size(*traced);
  if (!range) Py_RETURN_NONE;
  return py::make_tuple(range->least, range->most).release().ptr();
}

PyObject* in_mask(PyObject*, PyObject*) {
  const Capture* capture = innermost_capture();
  return PyBool_FromLong(capture != nullptr && capture->masks());
}

PyObject* same_length(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [x, y] = read_arguments("same_length", {"x", "y"}, 2, args, count, keywords);
  const Traced* left = perhaps_ragged(x);
  const Traced* right = perhaps_ragged(y);
  const bool same = left != nullptr && right != nullptr && left->capture->same_sizes(*left, *right);
  return PyBool_FromLong(same);
}

PyObject* length_texts(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto [x, y] = read_arguments("length_texts", {"x", "y"}, 2, args, count, keywords);
  const Traced* left = perhaps_ragged(x);
  const Traced* right = perhaps_ragged(y);
  if (left == nullptr || right == nullptr) return py::make_tuple("?", "?").release().ptr();
  const auto [first, second] = left->capture->size_texts(*left, *right);
  return py::make_tuple(first, second).release().ptr();
}

PyObject* ragged_axes(PyObject* x) {
  const Traced* traced = perhaps_ragged(x);
  if (traced == nullptr) return PyList_New(0);
  std::vector<int> axes;
  const Values lengths = traced->capture->lengths_of(traced->var);
  for (size_t axis = 0; axis < lengths.size(); ++axis) {
    if (lengths[axis]) axes.push_back(static_cast<int>(axis));
  }
  return py::cast(axes).release().ptr();
}

// The input of a live capture stands for a value of another, which may have ended.
PyObject* stand_in(PyObject* const* args, Py_ssize_t count, PyObject*) {
  need_arguments(count, 2, "stand_in(input, outside)");
  const auto* input = is_array(args[0]) ? std::get_if<Traced>(&array_datum(args[0])) : nullptr;
  const auto* outside = is_array(args[1]) ? std::get_if<Traced>(&array_datum(args[1])) : nullptr;
  if (input == nullptr || outside == nullptr) throw py::type_error("stand_in: both must be traced");
  input->capture->stand_in(*input, *outside);
  Py_RETURN_NONE;
}

// The same variable of the same capture, or the same memory with the same type.
PyObject* same_value(PyObject* const* args, Py_ssize_t count, PyObject*) {
  need_arguments(count, 2, "same_value(x, y)");
  if (!is_array(args[0]) || !is_array(args[1])) Py_RETURN_FALSE;
  const Datum &x = array_datum(args[0]), &y = array_datum(args[1]);
  if (const auto* a = std::get_if<Traced>(&x)) {
    const auto* b = std::get_if<Traced>(&y);
    return PyBool_FromLong(b != nullptr && a->capture == b->capture && a->var == b->var);
  }
  const auto *a = std::get_if<Tensor>(&x), *b = std::get_if<Tensor>(&y);
  if (a == nullptr || b == nullptr || !(a->aval() == b->aval())) Py_RETURN_FALSE;
  const bool is_here = a->place() == kHostPlace && b->place() == kHostPlace;
  return PyBool_FromLong(is_here ? a->data() == b->data() : a->buffer() == b->buffer());
}

// Of an input of a capture that has shadows: the value of the captures around, or the array.
PyObject* stands_for(PyObject* x) {
  if (!is_array(x)) return Py_NewRef(x);
  Datum datum = array_datum(x);
  while (const auto* traced = std::get_if<Traced>(&datum)) {
    if (!traced->capture->live()) break;
    std::optional<Datum> outside = traced->capture->shadow_of(traced->var);
    if (!outside) break;
    datum = *std::move(outside);
  }
  return make_array(std::move(datum));
}

PyObject* dependence_of(PyObject* x) {
  return PyLong_FromUnsignedLongLong(is_array(x) ? dependence(array_datum(x)) : 0);
}

PyObject* is_traced(PyObject* x) {
  return PyBool_FromLong(is_array(x) && std::holds_alternative<Traced>(array_datum(x)));
}

PyObject* is_scalar(PyObject* x) { return PyBool_FromLong(is_python_scalar(x)); }

PyObject* kind_of(PyObject* spec) {
  static PyObject* const kNames[] = {PyUnicode_InternFromString("bool"),     PyUnicode_InternFromString("signed"),
                                     PyUnicode_InternFromString("unsigned"), PyUnicode_InternFromString("float"),
                                     PyUnicode_InternFromString("complex"),  PyUnicode_InternFromString("key")};
  return Py_NewRef(kNames[static_cast<int>(dtype_kind(dtype_from_python(spec)))]);
}

PyObject* kind_of_array(PyObject* x) {
  if (is_array(x)) {
    const PyObject* dtype = numpy_dtype(array_aval(x).dtype()).ptr();
    return kind_of(const_cast<PyObject*>(dtype));
  }
  return kind_of(py::object(py::handle(x).attr("dtype")).ptr());
}

PyObject* canonical(PyObject* spec) { return numpy_dtype(dtype_from_python(spec)).release().ptr(); }

// ---- The table
// -------------------------------------------------------------------------------------------------------

using Fast = PyObject* (*)(PyObject* const*, Py_ssize_t, PyObject*);
using OfOne = PyObject* (*)(PyObject*);

template <Fast kFunction>
PyObject* entry(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded(static_cast<PyObject*>(nullptr), [&] { return kFunction(args, count, keywords); });
}
template <OfOne kFunction>
PyObject* entry1(PyObject*, PyObject* x) {
  return guarded(static_cast<PyObject*>(nullptr), [&] { return kFunction(x); });
}
template <Fast kFunction>
PyMethodDef row(const char* name, const char* text) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<kFunction>)),
          METH_FASTCALL | METH_KEYWORDS, text};
}
template <OfOne kFunction>
PyMethodDef row1(const char* name, const char* text) {
  return {name, entry1<kFunction>, METH_O, text};
}

PyObject* differentiable_later(PyObject*, PyObject*) { return PyBool_FromLong(may_be_differentiated()); }
PyObject* capturing(PyObject*, PyObject*) { return PyBool_FromLong(innermost_capture() != nullptr); }

}  // namespace

void register_functions(py::module_& module) {
  static PyMethodDef functions[] = {
      row<promote>("promote", "Objects as arrays of one dtype and shape."),
      row<promoted>("promoted", "A primitive of operands that are brought to one dtype and shape first."),
      row1<array>("array", "An object as an array."),
      row<convert>("convert", "An object as an array of a dtype."),
      row<full>("full", "A number as an array of a dtype and shape, as a literal when capturing."),
      row<broadcast_to>("broadcast_to", "An object as an array of a shape."),
      row1<broadcast_shapes_of>("broadcast_shapes", "The shape that shapes broadcast to."),
      row<length_of>("length_of", "The int32 scalar that is the ragged length of an axis; None for an exact axis."),
      row<same_length>("same_length", "Whether two int32 scalars inside a mask are one size, whatever the lengths."),
      row<length_texts>("length_texts", "Two int32 scalars inside a mask as a message shows them: n and n - 1."),
      row1<range_of_size>("range_of_size", "The least and the most that an integer scalar inside a mask is; or None."),
      {"in_mask", in_mask, METH_NOARGS, "Whether a function is being captured by mask, or inside of one that is."},
      row1<ragged_axes>("ragged_axes", "The axes of a traced value that are ragged."),
      row1<is_traced>("is_traced", "Whether an object is a traced array."),
      row1<is_scalar>("is_python_scalar", "Whether an object is a Python number or bool."),
      row1<kind_of>("dtype_kind", "bool, signed, unsigned, float, complex or key."),
      row1<kind_of_array>("kind", "The kind of an array's dtype."),
      row1<canonical>("canonical_dtype", "The numpy.dtype that a spec stands for."),
      {"is_capturing", capturing, METH_NOARGS, "Whether a function is being captured."},
      row<stand_in>("stand_in", "From here on uses of a value of another capture are uses of this input."),
      row1<dependence_of>("dependence",
                          "The captures whose derivative a value takes part in: a bit for each by its depth."),
      row1<stands_for>("stands_for", "The value outside that an input of a capture stands for, or the array itself."),
      row<same_value>("same_value", "Whether two arrays are one value."),
      {"may_be_differentiated", differentiable_later, METH_NOARGS,
       "Whether what is being captured may be differentiated later."},
      {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module.ptr(), functions) != 0) throw py::error_already_set();
}

}  // namespace ct::python
