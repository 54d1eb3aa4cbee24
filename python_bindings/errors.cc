#include <array>
#include <new>
#include <stdexcept>

#include "python_bindings/python.h"

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

}  // namespace

void register_errors(py::module_& module) {
  const ExceptionSpec specs[] = {
      {ErrorKind::kValue, nullptr, PyExc_ValueError, ""},
      {ErrorKind::kType, nullptr, PyExc_TypeError, ""},
      {ErrorKind::kShape, "ShapeError", PyExc_TypeError,
       R"(Shapes that an operation cannot combine.

Raised by nearly every function of arrays, when it is called or captured. Look at the shapes in the message; bring them
together by indexing with ``None``, ``reshape`` or ``broadcast_to``. It is a TypeError and a ValueError.

Examples
--------
>>> np.float32([1, 2]) + ct.numpy.ones(3)
Traceback (most recent call last):
    ...
cotangent.errors.ShapeError: ...
)",
       true},
      {ErrorKind::kDType, "DTypeError", PyExc_TypeError,
       R"(A dtype that an operation does not take.

Raised by functions that are not defined for integers, bools, complex numbers or random keys, and by derivatives of
integers. Convert with ``astype``, or differentiate with respect to another argument. It is a TypeError and a ValueError.

Examples
--------
>>> ct.grad(lambda n: n * 2.0)(3)
Traceback (most recent call last):
    ...
cotangent.errors.DTypeError: ...
)",
       true},
      {ErrorKind::kIndex, nullptr, PyExc_IndexError, ""},
      {ErrorKind::kConcretization, "ConcretizationError", PyExc_TypeError,

       R"(The value of a traced array was asked for while there is none, or to leave a program that is differentiated.

Raised in functions under `jit`, `vmap`, `mask` and loops, by ``if``, ``while``, ``int``, ``float``, ``range`` and NumPy. Use
``ct.numpy.where``, ``ct.lax.cond`` or ``ct.lax.while_loop``; or make the argument static, ``jit(f, static_argnums=...)``.

Examples
--------
>>> ct.jit(lambda x: x if x > 0 else -x)(1.0)
Traceback (most recent call last):
    ...
cotangent.errors.ConcretizationError: ...
)"},
      {ErrorKind::kTracerLeak, "TracerLeakError", PyExc_RuntimeError,

       R"(A traced array was used after the function that made it had returned.

Raised where a function under a transform has stored an array outside of itself: in a list, a global, an attribute. Return it
instead.

Examples
--------
>>> kept = []
>>> _ = ct.jit(lambda x: kept.append(x) or x)(1.0)
>>> kept[0] + 1
Traceback (most recent call last):
    ...
cotangent.errors.TracerLeakError: ...
)"},
      {ErrorKind::kCorruptFile, "CorruptFileError", PyExc_ValueError,

       R"(A saved file that is damaged or of another format.

Raised by `ct.export.load`, `ct.ir.deserialize`, `ct.Ragged.load` and `ct.interop.safetensors.load`. Write the file again. It
is a ValueError.

Examples
--------
>>> ct.ir.deserialize(b"nothing")
Traceback (most recent call last):
    ...
cotangent.errors.CorruptFileError: ...
)"},
      {ErrorKind::kNotDifferentiable, "NotDifferentiableError", PyExc_TypeError,

       R"(A derivative that does not exist or that the operation does not define.

Raised by `grad`, `jvp` and the others, for callbacks, forward mode through `custom_vjp`, and operations that are not linear
under `linear_transpose`. Give the function a rule with `custom_jvp` or `custom_vjp`, or keep it out of the derivative with
``ct.lax.stop_gradient``.

Examples
--------
>>> f = lambda x: ct.pure_callback(np.sinh, x, x)
>>> ct.grad(f)(1.0)
Traceback (most recent call last):
    ...
cotangent.errors.NotDifferentiableError: ...
)"},
      {ErrorKind::kUnsupported, nullptr, PyExc_NotImplementedError, ""},
      {ErrorKind::kMemory, nullptr, PyExc_MemoryError, ""},
      {ErrorKind::kDevice, "DeviceError", PyExc_RuntimeError,

       R"(A device that is not there, or whose driver reports a failure.

Raised by `ct.devices`, `ct.device_put`, programs for a GPU, and by what waits for their results. The message has what the
driver says. ``backend="cpu"`` runs the program on the processor.

Examples
--------
>>> try:
...     found = ct.devices("cuda")
... except ct.errors.DeviceError:
...     found = []
>>> len(found) == len(ct.devices()) - 1
True
)"},
      {ErrorKind::kFloatingPoint, nullptr, PyExc_FloatingPointError, ""},
      {ErrorKind::kInternal, "InternalError", PyExc_RuntimeError,
       R"(A bug of cotangent.

Raised where the library finds itself in a state that cannot be. Report the message with the program that causes it.

Examples
--------
>>> issubclass(ct.errors.InternalError, RuntimeError)
True
)"},
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
  // A message may hold what a damaged file does, which need not be UTF-8.
  const std::string_view text = error.what();
  PyObject* message = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (message == nullptr) return;
  PyErr_SetObject(exceptions[static_cast<size_t>(error.kind())], message);
  Py_DECREF(message);
}

}  // namespace ct::python
