// Checked functions: flags that are flags, integers that are integers.
//
// Python takes any object for true or false, and a string or a float in place of an integer gets far before something
// notices. A `CheckedFunction` stands in front of a Python function and looks at the arguments whose parameters are
// annotated bool, int or str, several of the first two, or None; `_base/arguments.py` makes them of annotations. It
// raises a TypeError that names the function and the parameter, and costs some nanoseconds when all is well. Every
// public function is one: what the user calls inside of a mask is known by it (user_calls.h).
#include "python_bindings/checked.h"

#include <algorithm>
#include <cstddef>

#include "python_bindings/array.h"
#include "python_bindings/placement.h"
#include "python_bindings/tracebacks.h"
#include "python_bindings/user_calls.h"

namespace ct::python {
namespace {

// The letters of what parameters take; upper case: None as well.
enum Kind : char {
  kAnything = '.',
  kFlag = 'b',
  kFlags = 'f',
  kInteger = 'i',
  kIntegers = 'l',
  kText = 's',
  kKey = 'k',
  kPlacement = 'p'
};

struct CheckedFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;  // __name__, __doc__, __wrapped__
  PyObject* weak_references;
  bool is_placed;                                       // has a parameter that says where its result is
  bool calls_object;                                    // `__call__`: what is called is its first argument
  std::string* positional;                              // a letter for each position
  std::vector<std::pair<PyObject*, char>>* by_keyword;  // interned names
};

bool is_flag(PyObject* object) {
  if (PyBool_Check(object) || PyLong_Check(object)) return true;
  static PyObject* const numpy_bool = py::object(py::module_::import("numpy").attr("bool_")).release().ptr();
  if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy_bool))) return true;
  if (is_array(object)) return array_aval(object).rank() == 0 && is_bool(array_aval(object).dtype());
  if (!py::isinstance<py::array>(object)) return false;
  const auto array = py::reinterpret_borrow<py::array>(object);
  return array.ndim() == 0 && array.dtype().kind() == 'b';
}

// Symbolic sizes of ragged axes are integers too.
bool is_integer_like(PyObject* object) {
  if (is_array(object)) {
    const Aval aval = array_aval(object);
    return aval.rank() == 0 && (is_integer(aval.dtype()) || is_bool(aval.dtype()));
  }
  if (py::isinstance<py::array>(object)) {  // has the slot, whatever its elements
    const auto array = py::reinterpret_borrow<py::array>(object);
    return array.ndim() == 0 && std::string_view("iub").find(array.dtype().kind()) != std::string_view::npos;
  }
  return PyIndex_Check(object) || array_method(object) != nullptr;
}

bool is_text(PyObject* object) { return PyUnicode_Check(object) || PyBytes_Check(object); }

// What may be a random key; what else an object is that becomes an array, the function sees.
bool may_be_key(PyObject* object) {
  if (is_array(object)) {
    const Aval aval = array_aval(object);
    return aval.dtype() == DType::kKey ||
           (aval.dtype() == DType::kUInt32 && aval.rank() > 0 && aval.dim(aval.rank() - 1) == 2);
  }
  if (py::isinstance<py::array>(object)) {
    const auto array = py::reinterpret_borrow<py::array>(object);
    return array.dtype().kind() == 'u' && array.itemsize() == 4 && array.ndim() > 0 &&
           array.shape(array.ndim() - 1) == 2;
  }
  return object != Py_None && !is_text(object) && !PyLong_Check(object) && !PyFloat_Check(object) &&
         !PyComplex_Check(object) && !is_number_of_numpy(object) && !PyList_Check(object) && !PyTuple_Check(object);
}

bool are_flags(PyObject* object) {
  if (is_flag(object)) return true;
  if (is_text(object) || !PySequence_Check(object) || is_array(object)) return false;
  const auto items = py::reinterpret_steal<py::object>(PySequence_Fast(object, "flags"));
  if (!items) throw py::error_already_set();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    if (!is_flag(PySequence_Fast_GET_ITEM(items.ptr(), i))) return false;
  }
  return true;
}

bool fits(PyObject* object, char kind) {
  switch (kind) {
    case kAnything:
    case kPlacement:
      return true;
    case kFlag:
      return object == Py_True || object == Py_False || is_flag(object);
    case kFlags:
      return object == Py_True || object == Py_False || are_flags(object);
    case kIntegers:  // text is a sequence too, of none where it is empty; each item is the function's own business
      return !is_text(object);
    case kInteger:
      return PyLong_CheckExact(object) || is_integer_like(object);
    case kText:
      return PyUnicode_Check(object);
    case kKey:
      return may_be_key(object);
    default:
      return object == Py_None || fits(object, static_cast<char>(kind - 'A' + 'a'));
  }
}

const char* what(char kind) {
  switch (kind) {
    case kFlag:
      return "True or False";
    case kFlags:
      return "True or False, or several of them";
    case kInteger:
      return "an integer";
    case kIntegers:
      return "integers";
    case kText:
      return "a string";
    case kFlag - 'a' + 'A':
      return "True, False or None";
    case kFlags - 'a' + 'A':
      return "True or False, several of them, or None";
    case kInteger - 'a' + 'A':
      return "an integer or None";
    case kIntegers - 'a' + 'A':
      return "integers or None";
    default:
      return "a string or None";
  }
}

// The value that was meant, if it is a whole number in another form, or an example; null where only the function knows
// one.
py::object example(PyObject* given, char kind) {
  switch (kind | ('a' ^ 'A')) {
    case kFlag:
    case kFlags:
      return py::bool_(true);
    case kInteger: {
      auto number = py::reinterpret_steal<py::object>(PyNumber_Long(given));
      if (number && (PyUnicode_Check(given) || PyObject_RichCompareBool(number.ptr(), given, Py_EQ) == 1))
        return number;
      PyErr_Clear();
      return py::int_(1);
    }
    default:
      return {};
  }
}

// What is said of arguments that stand where others do (`_base/misplaced.py`); null where they are in their places.
py::object misplaced(const CheckedFunction& self, PyObject* const* args, Py_ssize_t count, bool began) {
  if (count < 2) return {};
  py::tuple given(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) given[static_cast<size_t>(i)] = py::handle(args[i]);
  py::object function = py::reinterpret_borrow<py::object>(self.function);
  while (py::hasattr(function, "__wrapped__")) function = function.attr("__wrapped__");
  const py::object text = py::module_::import("cotangent._base.misplaced").attr("misplaced")(function, given, began);
  return text.is_none() ? py::object() : text;
}

// `args`: those by position, of which one, or one by name, is refused.
void refuse(const CheckedFunction& self, PyObject* parameter, PyObject* object, char kind, PyObject* const* args,
            Py_ssize_t count) {
  if (kind == kKey) {
    py::module_::import("cotangent._base.arguments")
        .attr("refuse_key")(py::handle(self.function), py::handle(parameter), py::handle(object));
  }
  if (const py::object text = misplaced(self, args, count, false); text) {
    PyErr_SetObject(PyExc_TypeError, text.ptr());
    throw py::error_already_set();
  }
  const auto name = py::reinterpret_steal<py::object>(PyObject_GetAttrString(self.function, "__name__"));
  if (!name) throw py::error_already_set();
  const py::object shown = py::module_::import("cotangent._base.misplaced").attr("shown")(py::handle(object));
  if (const py::object value = example(object, kind); value) {
    PyErr_Format(PyExc_TypeError, "%U: %U must be %s; got %U\n  write %U=%R", name.ptr(), parameter, what(kind),
                 shown.ptr(), parameter, value.ptr());
  } else {
    PyErr_Format(PyExc_TypeError, "%U: %U must be %s; got %U", name.ptr(), parameter, what(kind), shown.ptr());
  }
  throw py::error_already_set();
}

// The name of a parameter by its position.
py::object parameter_at(const CheckedFunction& self, Py_ssize_t position) {
  // Of a decorated function: the one within has the parameters.
  py::object function = py::reinterpret_borrow<py::object>(self.function);
  while (py::hasattr(function, "__wrapped__")) function = function.attr("__wrapped__");
  return function.attr("__code__").attr("co_varnames")[py::int_(position)];
}

char kind_of(const CheckedFunction& self, PyObject* keyword) {
  for (const auto& [name, kind] : *self.by_keyword) {
    if (name == keyword) return kind;
  }
  for (const auto& [name, kind] : *self.by_keyword) {
    if (PyUnicode_Compare(name, keyword) == 0) return kind;
  }
  return kAnything;
}

// A call that the function's parameters do not fit: what Python says of it, with the parameters that there are. A call
// that failed because its arguments stand where others do: that.
void explain_call(const CheckedFunction& self, PyObject* const* args, Py_ssize_t count, bool has_keywords) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  try {
    if (const py::object moved = misplaced(self, args, count, traceback != nullptr); moved) {
      Py_XSETREF(error, py::object(moved).release().ptr());
      PyErr_Restore(type, error, traceback);
      return;
    }
  } catch (const std::exception&) {  // it says what it said
  }
  // A function that hands its keywords on has begun; another one has not.
  if (traceback != nullptr && !has_keywords) {
    PyErr_Restore(type, error, traceback);
    return;
  }
  try {
    const py::object text =
        py::module_::import("cotangent._base.arguments")
            .attr("explained")(py::handle(self.function),
                               py::reinterpret_borrow<py::object>(error == nullptr ? Py_None : error));
    if (!text.is_none()) Py_XSETREF(error, py::object(text).release().ptr());
  } catch (const std::exception&) {  // it says what it said
  }
  PyErr_Restore(type, error, traceback);
}

// `called`: what the user has called, by whose name an error is.
PyObject* run(const CheckedFunction& self, PyObject* called, PyObject* const* args, size_t flags, PyObject* keywords) {
  PyObject* result = PyObject_Vectorcall(self.function, args, flags, keywords);
  if (result != nullptr) return result;
  explain_call(self, args, PyVectorcall_NARGS(flags), keywords != nullptr);
  name_called_function(called);
  return nullptr;
}

PyObject* call_checked(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  const auto& self = *reinterpret_cast<CheckedFunction*>(object);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  PyObject* placement = nullptr;
  const Py_ssize_t known = std::min(count, static_cast<Py_ssize_t>(self.positional->size()));
  for (Py_ssize_t i = 0; i < known; ++i) {
    const char kind = (*self.positional)[static_cast<size_t>(i)];
    if (kind == kPlacement && args[i] != Py_None) placement = args[i];
    if (!fits(args[i], kind)) refuse(self, parameter_at(self, i).ptr(), args[i], kind, args, count);
  }
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, i);
    const char kind = kind_of(self, keyword);
    if (kind == kPlacement && args[count + i] != Py_None) placement = args[count + i];
    if (!fits(args[count + i], kind)) refuse(self, keyword, args[count + i], kind, args, count);
  }
  PyObject* const called = self.calls_object && count > 0 ? args[0] : self.function;
  const UserCall call(called, args, count + named);
  if (!self.is_placed) return run(self, called, args, flags, keywords);
  const PlacedCall places(self.function, placement);
  return places.placed(run(self, called, args, flags, keywords));
}

// Of functions that are no calls by the user of their own: operators and methods.
PyObject* call_leaving(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  const auto& self = *reinterpret_cast<CheckedFunction*>(object);
  return run(self, self.function, args, flags, keywords);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<CheckedFunction*>(object);
  Py_VISIT(self->function);
  Py_VISIT(self->dict);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<CheckedFunction*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->dict);
  return 0;
}

void deallocate(PyObject* object) {
  PyObject_GC_UnTrack(object);
  auto* self = reinterpret_cast<CheckedFunction*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  for (const auto& [name, kind] : *self->by_keyword) Py_DECREF(name);
  delete self->positional;
  delete self->by_keyword;
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}
PyObject* represent(PyObject* object) { return PyObject_Repr(reinterpret_cast<CheckedFunction*>(object)->function); }
// Functions are pickled by name.
PyObject* reduce(PyObject* object, PyObject*) { return PyObject_GetAttrString(object, "__qualname__"); }

PyMethodDef methods[] = {{"__reduce__", kGuarded<reduce>, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CheckedFunction, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CheckedFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CheckedFunction, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef getters[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject* checked_type = nullptr;

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

py::object make_checked(const py::object& function, const std::string& positional, const py::dict& keywords) {
  py::dict dict;
  for (const char* name : {"__name__", "__qualname__", "__module__", "__doc__", "__annotations__"}) {
    dict[name] = function.attr(name);
  }
  for (const auto& [name, value] : py::dict(function.attr("__dict__"))) dict[name] = value;
  dict["__wrapped__"] = function;
  auto by_keyword = std::make_unique<std::vector<std::pair<PyObject*, char>>>();
  for (const auto& [name, kind] : keywords) {
    PyObject* interned = Py_NewRef(name.ptr());
    PyUnicode_InternInPlace(&interned);
    by_keyword->emplace_back(interned, py::cast<std::string>(kind).at(0));
  }
  PyObject* object = checked_type->tp_alloc(checked_type, 0);
  if (object == nullptr) throw py::error_already_set();
  auto* self = reinterpret_cast<CheckedFunction*>(object);
  self->vectorcall = kLeaving<call_checked>;
  self->function = py::object(function).release().ptr();
  self->calls_object = py::str(dict["__name__"]).equal(py::str("__call__"));
  self->dict = dict.release().ptr();
  self->positional = new std::string(positional);
  self->is_placed = std::ranges::any_of(*by_keyword, [](const auto& each) { return each.second == kPlacement; });
  self->by_keyword = by_keyword.release();
  return py::reinterpret_steal<py::object>(object);
}

static py::object make_leaving(const py::object& function) {
  py::object made = make_checked(function, "", py::dict());
  reinterpret_cast<CheckedFunction*>(made.ptr())->vectorcall = kLeaving<call_leaving>;
  return made;
}

void register_checked(py::module_& module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(deallocate)},
                         {Py_tp_traverse, slot(traverse)},
                         {Py_tp_clear, slot(clear)},
                         {Py_tp_call, slot(PyVectorcall_Call)},
                         {Py_tp_descr_get, guarded_slot<bind_method>()},
                         {Py_tp_repr, guarded_slot<represent>()},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {Py_tp_getset, getters},
                         {0, nullptr}};
  PyType_Spec spec = {"cotangent.CheckedFunction", sizeof(CheckedFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  checked_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (checked_type == nullptr) throw py::error_already_set();
  module.attr("CheckedFunction") = py::handle(reinterpret_cast<PyObject*>(checked_type));
  module.def("checked", make_checked, py::arg("function"), py::arg("positional"), py::arg("keywords"),
             "The function behind a check of its flags, integers and strings.");
  module.def("leaving", make_leaving, py::arg("function"),
             "The function, which errors leave without the frames of this package.");
}

}  // namespace ct::python
