#include <array>
#include <new>
#include <stdexcept>

#include "python_bindings/bound_error.h"
#include "python_bindings/errors_documentation.h"
#include "python_bindings/python.h"
#include "python_bindings/tracebacks.h"
#include "runtime/marked_shapes.h"

namespace ct::python {
namespace {

struct ExceptionSpec {
  ErrorKind kind;
  const char* name;  // null: the builtin `base` itself
  PyObject* base;
  const char* doc;
  bool is_value_error = false;  // besides being a `base`: NumPy raises ValueError there, and so do functions of JAX
};

std::array<PyObject*, static_cast<size_t>(ErrorKind::kInternal) + 1> exceptions{};

// On errors of what a primitive was bound to: its name.
constexpr const char* kPrimitive = "_primitive";

// Whether the arguments of a call are to blame: what a transform says of a primitive is about that primitive.
bool is_of_arguments(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kValue:
    case ErrorKind::kType:
    case ErrorKind::kShape:
    case ErrorKind::kDType:
    case ErrorKind::kIndex:
      return true;
    default:
      return false;
  }
}

void name_in_message(py::handle error, py::handle function) {
  if (!py::hasattr(error, kPrimitive)) return;
  const std::string begin = py::cast<std::string>(error.attr(kPrimitive)) + ": ";
  py::delattr(error, kPrimitive);
  const auto name = py::cast<std::string>(function.attr("__name__"));
  const py::tuple arguments = error.attr("args");
  if (arguments.size() != 1 || name.starts_with('_')) return;
  const auto message = py::cast<std::string>(arguments[0]);
  if (!message.starts_with(begin)) return;
  error.attr("args") = py::make_tuple(name + ": " + message.substr(begin.size()));
}

}  // namespace

void register_errors(py::module_& module) {
  const ExceptionSpec specs[] = {
      {ErrorKind::kValue, nullptr, PyExc_ValueError, ""},
      {ErrorKind::kType, nullptr, PyExc_TypeError, ""},
      {ErrorKind::kShape, "ShapeError", PyExc_TypeError, documentation::kShapeError, true},
      {ErrorKind::kDType, "DTypeError", PyExc_TypeError, documentation::kDTypeError, true},
      {ErrorKind::kIndex, nullptr, PyExc_IndexError, ""},
      {ErrorKind::kConcretization, "ConcretizationError", PyExc_TypeError,

       documentation::kConcretizationError},
      {ErrorKind::kTracerLeak, "TracerLeakError", PyExc_RuntimeError,

       documentation::kTracerLeakError},
      {ErrorKind::kCorruptFile, "CorruptFileError", PyExc_ValueError,

       documentation::kCorruptFileError},
      {ErrorKind::kNotDifferentiable, "NotDifferentiableError", PyExc_TypeError,

       documentation::kNotDifferentiableError},
      {ErrorKind::kUnsupported, nullptr, PyExc_NotImplementedError, ""},
      {ErrorKind::kMemory, nullptr, PyExc_MemoryError, ""},
      {ErrorKind::kDevice, "DeviceError", PyExc_RuntimeError,

       documentation::kDeviceError},
      {ErrorKind::kFloatingPoint, nullptr, PyExc_FloatingPointError, ""},
      {ErrorKind::kInternal, "InternalError", PyExc_RuntimeError, documentation::kInternalError},
  };
  for (const ExceptionSpec& spec : specs) {
    PyObject*& slot = exceptions[static_cast<size_t>(spec.kind)];
    if (spec.name == nullptr) {
      slot = Py_NewRef(spec.base);
      continue;
    }
    const std::string qualified = std::string("cotangent.errors.") + spec.name;
    const py::object bases = spec.is_value_error
                                 ? py::object(py::make_tuple(py::handle(spec.base), py::handle(PyExc_ValueError)))
                                 : py::reinterpret_borrow<py::object>(spec.base);
    slot = PyErr_NewExceptionWithDoc(qualified.c_str(), spec.doc, bases.ptr(), nullptr);
    if (slot == nullptr) throw py::error_already_set();
    module.attr(spec.name) = py::handle(slot);
  }
  module.def("marked_shapes", [](const std::vector<std::pair<std::vector<std::string>, std::vector<int>>>& shapes) {
    std::vector<MarkedShape> marked;
    for (const auto& [sizes, axes] : shapes) marked.push_back({sizes, axes});
    return marked_shapes(marked);
  });
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (...) {
      set_python_exception();
    }
  });
}

void set_python_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    set_python_error(error);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::cast_error& error) {
    PyErr_SetString(PyExc_TypeError, error.what());  // an object of another type than was asked for
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::length_error&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

PyObject* python_exception(ErrorKind kind) { return exceptions[static_cast<size_t>(kind)]; }

void set_python_error(const Error& error) {
  note_site(error);
  // A message may hold what a damaged file does, which need not be UTF-8.
  const std::string_view text = error.what();
  PyObject* message = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (message == nullptr) return;
  PyObject* const type = exceptions[static_cast<size_t>(error.kind())];
  PyObject* const made = PyObject_CallOneArg(type, message);
  Py_DECREF(message);
  if (made == nullptr) return;
  const auto* of_primitive = dynamic_cast<const BoundError*>(&error);
  if (of_primitive != nullptr && is_of_arguments(error.kind())) {
    PyObject* const name = PyUnicode_FromString(of_primitive->primitive().c_str());
    if (name == nullptr || PyObject_SetAttrString(made, kPrimitive, name) != 0) PyErr_Clear();
    Py_XDECREF(name);
  }
  PyErr_SetObject(type, made);
  Py_DECREF(made);
}

void name_called_function(PyObject* function) noexcept {
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  if (error != nullptr && PyExceptionInstance_Check(error) != 0 && !has_frames_of_user(traceback) && called_by_user()) {
    try {
      name_in_message(py::handle(error), py::handle(function));
    } catch (const std::exception&) {  // it names the primitive
    }
  }
  PyErr_Restore(type, error, traceback);
}

}  // namespace ct::python
