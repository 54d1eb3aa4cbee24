// Python values to tensors and back: scalars, NumPy arrays, nested lists. DLPack has a file of its own.
#include <array>
#include <bit>
#include <cstring>

#include "ir/ops.h"
#include "ir/primitives.h"
#include "python_bindings/exchange.h"
#include "python_bindings/operands.h"
#include "python_bindings/user_calls.h"
#include "runtime/hash.h"
#include "runtime/size.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

std::string type_name(py::handle object) { return Py_TYPE(object.ptr())->tp_name; }

DType dtype_of_numpy(const py::array& array) {
  const py::handle description = py::detail::array_proxy(array.ptr())->descr;
  if (const auto known = known_dtype(description)) return *known;
  const std::string name = py::cast<std::string>(array.dtype().attr("name"));
  if (const auto dtype = dtype_from_name(name)) {
    if (description.ptr() == numpy_dtype(*dtype).ptr()) return dtype_from_python(description);  // remembers it
    return *dtype;
  }
  throw Error(ErrorKind::kDType, concat("arrays of dtype ", name, " are not supported"))
      .hint(
          "convert it first: x.astype('float32'), x.astype('int64') of dates; supported: bool, int8-64, uint8-64, "
          "float16, bfloat16, float32, float64, complex64, complex128, and the "
          "float8 "
          "kinds as storage; elements smaller than a byte are not");
}

// Elements that NumPy's masked arrays leave out; an array of that type that leaves none out is its elements.
void check_no_mask(const py::array& source) {
  if (Py_TYPE(source.ptr()) == py::detail::npy_api::get().PyArray_Type_) return;
  if (!py::module_::import("numpy").attr("ma").attr("is_masked")(source).cast<bool>()) return;
  throw Error(ErrorKind::kValue, "a masked array of NumPy has elements that do not count, and arrays here have none")
      .hint("pass x.filled(value), or x.data and x.mask and use ct.numpy.where");
}

Tensor tensor_from_numpy(const py::array& source) {
  check_no_mask(source);
  const DType dtype = dtype_of_numpy(source);
  py::array array = source;
  if (py::detail::array_proxy(source.ptr())->descr != numpy_dtype(dtype).ptr() &&
      py::cast<std::string>(array.dtype().attr("byteorder")) == ">") {
    array = py::cast<py::array>(array.attr("astype")(numpy_dtype(dtype)));
  }
  if (!(array.flags() & py::array::c_style)) {
    array = py::cast<py::array>(py::module_::import("numpy").attr("ascontiguousarray")(array));
  }
  Shape shape;
  for (py::ssize_t axis = 0; axis < source.ndim(); ++axis) shape.push_back(source.shape(axis));
  Tensor tensor{Aval(dtype, shape)};
  copy_elements(dtype, tensor.data(), array.data(), static_cast<size_t>(tensor.aval().bytes()));
  return tensor;
}

}  // namespace

const void* elements_in_place(PyObject* object, const Aval& aval) {
  if (Py_TYPE(object) != py::detail::npy_api::get().PyArray_Type_ || aval.weak()) return nullptr;
  const py::detail::PyArray_Proxy* array = py::detail::array_proxy(object);
  // Of a bool from elsewhere any bit may be set, which copying mends.
  if (is_bool(aval.dtype()) || array->descr != numpy_dtype(aval.dtype()).ptr()) return nullptr;
  const Shape& shape = aval.shape();
  if (!(array->flags & py::array::c_style) || array->nd != static_cast<int>(shape.size())) return nullptr;
  if (!std::equal(shape.begin(), shape.end(), array->dimensions)) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(array->data);
  return address % static_cast<uintptr_t>(dtype_size(aval.dtype())) == 0 ? array->data : nullptr;
}

std::optional<Aval> type_in_place(PyObject* object) {
  if (Py_TYPE(object) != py::detail::npy_api::get().PyArray_Type_) return std::nullopt;
  const py::detail::PyArray_Proxy* array = py::detail::array_proxy(object);
  const auto dtype = known_dtype(array->descr);
  if (!dtype) return std::nullopt;
  const Aval aval(*dtype, Shape(array->dimensions, array->dimensions + array->nd));
  return elements_in_place(object, aval) == nullptr ? std::nullopt : std::optional(aval);
}

namespace {

// Whether a nested list holds Arrays, which NumPy would convert one element at a time, or what makes itself one.
// `depth`: of the lists around it.
bool holds_arrays(py::handle object, int depth = 0) {
  if (is_array(object.ptr())) return true;
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    return !is_python_scalar(object.ptr()) && array_method(object.ptr()) != nullptr;
  }
  if (depth == kMostAxes) {
    throw Error(ErrorKind::kValue, concat("a nested list has more than ", kMostAxes, " levels, or contains itself"))
        .hint("make arrays of parts of it, and join them with ct.numpy.stack");
  }
  for (py::handle item : object) {
    if (holds_arrays(item, depth + 1)) return true;
  }
  return false;
}

// Sequences of Python's that are no lists, such as ranges and deques, count as the lists of what they hold.
bool is_other_sequence(py::handle object) {
  static PyObject* const sequence = py::object(py::module_::import("collections.abc").attr("Sequence")).release().ptr();
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) || !PySequence_Check(object.ptr()) ||
      PyUnicode_Check(object.ptr()) || PyObject_CheckBuffer(object.ptr()) ||
      PyObject_HasAttrString(object.ptr(), "__array__") ||
      PyObject_HasAttrString(object.ptr(), "__array_interface__") || PyObject_HasAttrString(object.ptr(), "dtype")) {
    return false;
  }
  const int is_sequence = PyObject_IsInstance(object.ptr(), sequence);
  if (is_sequence < 0) throw py::error_already_set();
  return is_sequence == 1;
}

// Objects that make themselves arrays may do so by way of others.
constexpr int kMostConversions = 16;
Datum datum_after(py::handle object, int conversions);

bool fits_32_bits(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// A Python int as an element of an integer or bool dtype. An `operand` of an operation on arrays of a narrower dtype,
// which decides the dtype of the result, wraps like the elements do, as long as it fits 32 bits.
int64_t integer_literal(PyObject* object, DType dtype, bool operand = false) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (is_bool(dtype)) return overflow != 0 || value != 0;
  if (overflow > 0 && dtype == DType::kUInt64) {
    const unsigned long long bits = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) return static_cast<int64_t>(bits);
    PyErr_Clear();
  } else if (overflow == 0) {
    const int unused = 64 - 8 * dtype_size(dtype);
    const uint64_t bits = static_cast<uint64_t>(value) << unused;
    const bool has_sign = !is_unsigned_integer(dtype);
    const int64_t wrapped = has_sign ? static_cast<int64_t>(bits) >> unused : static_cast<int64_t>(bits >> unused);
    const bool fits = wrapped == value && (has_sign || value >= 0);
    if (fits || (operand && fits_32_bits(value))) return wrapped;
  }
  PyErr_Format(PyExc_OverflowError,
               "the Python int %R does not fit %s\n  make an array of a wider dtype of it, or a float"
               "\n  see docs/errors.md#number-that-does-not-fit",
               object, std::string(dtype_name(dtype)).c_str());
  throw py::error_already_set();
}

// What to write for a value that is no number.
std::string conversion_hint(py::handle object) {
  std::string text = "arrays hold numbers and bools: ";
  if (object.is_none()) return text + "write float('nan') where a value is missing";
  if (py::isinstance<py::str>(object) || py::isinstance<py::bytes>(object)) {
    return text +
           "write float(text) for the number that it spells, or numbers of words, [vocabulary[word] for word in words]";
  }
  return text + "convert what it holds first, as float(value)";
}

// An error that names what in a nested list is no number, if something is.
void refuse_other_elements(py::handle object) {
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    for (py::handle item : object) refuse_other_elements(item);
  } else if (!is_python_scalar(object.ptr()) && !py::hasattr(object, "dtype")) {
    throw Error(ErrorKind::kDType, concat("cannot make an array of a list with an element of type ", type_name(object)))
        .hint(conversion_hint(object));
  }
}

// Where 64 bits are off, a list of Python numbers does not become an array of them.
[[noreturn]] void throw_out_of_bounds(const py::array& array, DType dtype) {
  const py::object low = array.attr("min")();
  const bool is_low = py::cast<bool>(py::bool_(low < py::int_(INT32_MIN)));
  PyErr_Format(
      PyExc_OverflowError,
      "Python integer %S out of bounds for %s\n  name a dtype that holds it, or compute with 64 bits: ct.enable_x64()"
      "\n  see docs/errors.md#number-that-does-not-fit",
      (is_low ? low : array.attr("max")()).ptr(), std::string(dtype_name(dtype)).c_str());
  throw py::error_already_set();
}

// A nested list's dtype when all leaves are Python numbers: the weak default of the widest kind.
Tensor tensor_from_list(py::handle object) {
  const py::module_ numpy = py::module_::import("numpy");
  py::array array;
  try {
    array = py::cast<py::array>(numpy.attr("asarray")(object));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    refuse_other_elements(object);
    throw Error(ErrorKind::kValue, "the nested list is ragged: its parts have different shapes")
        .hint("use ct.ragged(list_of_arrays) for rows of different lengths");
  }
  const std::string kind = py::cast<std::string>(array.dtype().attr("kind"));
  if (kind == "O" || kind == "U" || kind == "S") {
    refuse_other_elements(object);
    for (py::handle item : array.attr("flat")) {
      if (PyLong_CheckExact(item.ptr())) integer_literal(item.ptr(), scalar_type(item.ptr()).dtype);
    }
    throw Error(ErrorKind::kType,
                concat("cannot make an array of a ", type_name(object), " with elements of NumPy's dtype ",
                       py::cast<std::string>(py::str(array.dtype()))))
        .hint(conversion_hint(kind == "O" ? object : py::str()));
  }
  // NumPy gives Python numbers 64 bits; a list that holds NumPy values keeps theirs.
  bool plain = true;
  std::optional<PromotedType> type;
  std::vector<py::object> pending{py::reinterpret_borrow<py::object>(object)};
  while (!pending.empty()) {
    py::object item = pending.back();
    pending.pop_back();
    if (PyList_Check(item.ptr()) || PyTuple_Check(item.ptr())) {
      for (py::handle part : item) pending.push_back(py::reinterpret_borrow<py::object>(part));
      continue;
    }
    const bool number = is_python_scalar(item.ptr());
    plain = plain && number;
    const PromotedType one = number                       ? scalar_type(item.ptr())
                             : py::hasattr(item, "dtype") ? PromotedType{dtype_from_python(item.attr("dtype")), false}
                                                          : PromotedType{dtype_of_numpy(array), false};
    type = type ? promote_types(*type, one) : one;
  }
  DType dtype = dtype_of_numpy(array);
  if (plain || array.size() == 0) {
    if (is_float(dtype)) dtype = default_float();
    if (is_complex(dtype)) dtype = default_complex();
    if (is_integer(dtype)) {
      const DType narrow = default_int();
      const bool fits = array.size() == 0 || narrow == DType::kInt64 ||
                        (py::cast<bool>(py::bool_(array.attr("min")() >= py::int_(INT32_MIN))) &&
                         py::cast<bool>(py::bool_(array.attr("max")() <= py::int_(INT32_MAX))));
      if (fits) dtype = narrow;
      if (!fits && permitted_dtype(dtype) != dtype) throw_out_of_bounds(array, narrow);
    }
    array = py::cast<py::array>(array.attr("astype")(numpy_dtype(dtype)));
  } else {
    array = py::cast<py::array>(array.attr("astype")(numpy_dtype(permitted_dtype(type->dtype))));
  }
  return tensor_from_numpy(array);
}

// The attributes of `full`, remembered: a program uses few literals, many times.
AttrsPtr literal_attributes(const Aval& aval, AttrValue value) {
  struct Slot {
    Aval aval;
    AttrValue value;
    AttrsPtr attrs;
  };
  constexpr size_t kSlots = 256;
  static auto* slots = new std::array<Slot, kSlots>;  // guarded by the GIL
  uint64_t bits = 0;
  if (const auto* real = std::get_if<double>(&value)) bits = std::bit_cast<uint64_t>(*real);
  if (const auto* integer = std::get_if<int64_t>(&value)) bits = static_cast<uint64_t>(*integer);
  Slot& slot = (*slots)[hash_combine(aval.hash(), bits) % kSlots];
  // Zeros of either sign are equal, but not the same.
  const auto* real = std::get_if<double>(&value);
  if (slot.attrs != nullptr && slot.aval == aval && slot.value == value && (real == nullptr || *real != 0.0)) {
    return slot.attrs;
  }
  AttrsPtr attrs = Attrs::make({{"shape", Ints(aval.shape().begin(), aval.shape().end())},
                                {"dtype", aval.dtype()},
                                {"value", value},
                                {"weak", aval.weak()}});
  slot = {aval, std::move(value), attrs};
  return attrs;
}

}  // namespace

bool is_number_of_numpy(PyObject* object) {
  static PyObject* const generic = py::object(py::module_::import("numpy").attr("generic")).release().ptr();
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(generic));
}

// Of floats and complex numbers the subclasses count, too, but for NumPy's, which have dtypes of their own.
bool is_python_scalar(PyObject* object) {
  if (PyLong_Check(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) return true;
  return (PyFloat_Check(object) || PyComplex_Check(object)) && !is_number_of_numpy(object);
}

PromotedType scalar_type(PyObject* object) {
  if (PyBool_Check(object)) return {DType::kBool, false};
  if (PyFloat_Check(object)) return {default_float(), true};
  if (PyComplex_Check(object)) return {default_complex(), true};
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (overflow != 0) return {overflow > 0 ? DType::kUInt64 : DType::kInt64, true};
  return {fits_32_bits(value) ? default_int() : DType::kInt64, true};
}

Datum scalar_datum(PyObject* object, const Aval& aval, bool operand) {
  const DType dtype = aval.dtype();
  AttrValue literal;
  if (PyComplex_Check(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    if (!is_complex(dtype)) {
      throw Error(ErrorKind::kDType, concat("a complex number does not fit ", dtype_name(dtype)))
          .hint("take a part of it, z.real or z.imag, or name a complex dtype");
    }
    literal = std::vector<double>{value.real, value.imag};
  } else if (PyFloat_Check(object) || (is_inexact(dtype) && PyLong_Check(object))) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) throw py::error_already_set();
    if (is_complex(dtype)) {
      literal = std::vector<double>{value, 0.0};
    } else if (is_float(dtype)) {
      literal = value;
    } else {
      literal = is_bool(dtype) ? int64_t{value != 0} : static_cast<int64_t>(value);
    }
  } else {
    literal = integer_literal(object, dtype, operand);
  }
  if (!current_capture() && aval.rank() == 0) {
    Tensor tensor(aval);
    if (const auto* real = std::get_if<double>(&literal)) store_real(tensor, 0, *real);
    if (const auto* integer = std::get_if<int64_t>(&literal)) store_integer(tensor, 0, *integer);
    if (const auto* pair = std::get_if<std::vector<double>>(&literal))
      store_complex(tensor, 0, {(*pair)[0], (*pair)[1]});
    return tensor;
  }
  return bind1_with_location(kFull, {}, literal_attributes(aval, std::move(literal)));
}

const char* array_method(PyObject* object) {
  if (PyType_Check(object)) return nullptr;
  for (const char* name : {"__ct_array__", "__jax_array__"}) {
    if (PyObject_HasAttrString(object, name) && !py::handle(object).attr(name).is_none()) return name;
  }
  return nullptr;
}

Tensor tensor_from_python(py::handle object) {
  if (is_array(object.ptr())) return concrete(array_datum(object.ptr()));
  if (py::isinstance<py::array>(object)) return tensor_from_numpy(py::reinterpret_borrow<py::array>(object));
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    holds_arrays(object);  // or is too deep
    return tensor_from_list(object);
  }
  if (py::isinstance<py::str>(object) || py::isinstance<py::bytes>(object) || object.is_none() ||
      PyDict_Check(object.ptr())) {
    throw Error(ErrorKind::kType, concat("cannot make an array of a ", type_name(object)))
        .hint(conversion_hint(object));
  }
  if (py::hasattr(object, "__array__") || PyObject_CheckBuffer(object.ptr()) || py::hasattr(object, "dtype") ||
      py::hasattr(object, "__array_interface__")) {
    return tensor_from_numpy(py::cast<py::array>(py::module_::import("numpy").attr("asarray")(object)));
  }
  throw Error(ErrorKind::kType, concat("cannot make an array of a ", type_name(object)))
      .hint("pass an array, a number, a nested list, or anything with __array__ or __dlpack__");
}

py::array tensor_to_numpy(const Tensor& tensor) {
  if (tensor.dtype() == DType::kKey) {
    throw Error(ErrorKind::kDType, "an array of random keys cannot be converted to a NumPy array")
        .hint("read the words of the keys with ct.random.key_data");
  }
  std::vector<py::ssize_t> shape(tensor.shape().begin(), tensor.shape().end());
  auto* owner = new std::shared_ptr<Buffer>(tensor.buffer());
  py::capsule base(owner, [](void* pointer) { delete static_cast<std::shared_ptr<Buffer>*>(pointer); });
  py::array array(py::reinterpret_borrow<py::dtype>(numpy_dtype(tensor.dtype())), shape, tensor.data(), base);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

Datum datum_from_python(py::handle object) {
  Datum result = datum_after(object, 0);
  note_conversion(object.ptr(), result);
  return result;
}

namespace {

Datum datum_after(py::handle object, int conversions) {
  if (is_array(object.ptr())) return array_datum(object.ptr());
  if (is_python_scalar(object.ptr())) {
    const PromotedType type = scalar_type(object.ptr());
    return scalar_datum(object.ptr(), Aval(type.dtype, {}, type.weak));
  }
  if (py::isinstance<py::array>(object)) return tensor_from_numpy(py::reinterpret_borrow<py::array>(object));
  if (const char* method = array_method(object.ptr())) {
    if (conversions == kMostConversions) {
      throw Error(ErrorKind::kType, concat(method, " of a ", type_name(object), " does not lead to an array"))
          .hint("return an array from it, or a number");
    }
    return datum_after(object.attr(method)(), conversions + 1);
  }
  if (is_other_sequence(object)) return datum_after(py::list(py::reinterpret_borrow<py::object>(object)), conversions);
  if ((PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) && holds_arrays(object)) {
    return datum_from_python(py::module_::import("cotangent.numpy").attr("stack")(object));
  }
  return tensor_from_python(object);
}

// An array of `float0`, a derivative of what has none: elements without bytes.
bool is_float0(py::handle object) {
  if (!py::isinstance<py::array>(object)) return false;
  const auto array = py::reinterpret_borrow<py::array>(object);
  if (array.dtype().kind() != 'V' || array.itemsize() != 0) return false;
  const py::object names = array.dtype().attr("names"), expected = py::make_tuple("float0");
  return names.equal(expected);
}

}  // namespace

std::optional<Datum> try_leaf(py::handle object) {
  if (is_array(object.ptr())) return array_datum(object.ptr());
  if (is_python_scalar(object.ptr())) return datum_from_python(object);
  if (is_float0(object)) {  // in programs such derivatives are bools
    const auto array = py::reinterpret_borrow<py::array>(object);
    Tensor zeros{Aval(DType::kBool, Shape(array.shape(), array.shape() + array.ndim()))};
    std::memset(zeros.data(), 0, static_cast<size_t>(zeros.aval().bytes()));
    return zeros;
  }
  if (array_method(object.ptr()) != nullptr || py::isinstance<py::array>(object)) return datum_from_python(object);
  if (py::hasattr(object, "__array__") || py::hasattr(object, "__dlpack__")) return tensor_from_python(object);
  return std::nullopt;
}

Datum leaf_from_python(py::handle object, const std::string& path) {
  if (std::optional<Datum> datum = try_leaf(object)) return *std::move(datum);
  const bool dataclass = !PyType_Check(object.ptr()) && py::hasattr(object, "__dataclass_fields__");
  throw Error(ErrorKind::kType, concat("unsupported type ", type_name(object), " at ", path))
      .hint(concat(
          "leaves of arguments must be arrays or numbers; mark other arguments as static or register the type with ",
          dataclass ? "ct.tree_util.register_dataclass" : "ct.tree_util.register_pytree_node"))
      .see("argument-that-is-no-array");
}

void register_conversions(py::module_& module) {
  // Looked up here, where nobody else computes: pybind11 does it in a `call_once`, waiting for Python's lock inside,
  // and a thread that the end of the interpreter meets there is not stopped but unwound (gil.h).
  py::detail::npy_api::get();
  module.def("leaf", [](const py::object& object, const std::string& path) {
    Datum leaf = leaf_from_python(object, path);
    const DType dtype = datum_aval(leaf).dtype(), permitted = permitted_dtype(dtype);
    if (is_array(object.ptr()) || permitted == dtype) return array_object(leaf);
    if (PyLong_Check(object.ptr())) integer_literal(object.ptr(), permitted);  // which it does not fit
    // By NumPy: no program has an equation for it.
    const py::object narrow = tensor_to_numpy(std::get<Tensor>(leaf)).attr("astype")(numpy_dtype(permitted));
    return array_object(leaf_from_python(narrow, path));
  });
  // To leave the program with; `use` begins the message when a derivative would be cut off.
  module.def(
      "to_numpy",
      [](py::handle object, const std::string& use) {
        LocationScope scope(asking_location());
        return tensor_to_numpy(concrete(datum_from_python(object), use));
      },
      py::arg("object"), py::arg("use") = "conversion to a plain value");
  // To print, and to decide by bools and whole numbers; `use` is what for, where the message is to say what else.
  module.def("peek", [](py::handle object) { return array_object(peek(datum_from_python(object))); });
  module.def(
      "peek_numpy",
      [](py::handle object, const std::string& use) {
        LocationScope scope(asking_location());
        return tensor_to_numpy(peek(datum_from_python(object), use));
      },
      py::arg("object"), py::arg("use") = "");
  module.def("depends", [](py::handle object) { return dependence(datum_from_python(object)) != 0; });
  module.def("scalar_type", [](py::handle object) {
    const PromotedType type = scalar_type(object.ptr());
    return std::make_pair(numpy_dtype(type.dtype), type.weak);
  });
  module.def("has_array_method", [](py::handle object) { return array_method(object.ptr()) != nullptr; });
  module.def("answers_operators", [](py::handle object) { return answers_operators(object.ptr()); });
  register_dlpack(module);
}

}  // namespace ct::python
