// Entrances: the common case of an array function without Python.
//
// An `Entrance` stands in front of a Python function and is called in its place. A rule (one of the functions below)
// looks at the arguments; if they are what it knows, it binds the very primitives that the Python function would bind,
// else the Python function runs. So a rule never raises an error of its own and never has a case that is not also the
// Python function's: tests compare the two.
//
// Inside of a mask axes may be ragged: that is the Python functions' business.
#include <algorithm>
#include <cstring>

#include "ir/primitives.h"
#include "python_bindings/functions.h"
#include "python_bindings/operands.h"
#include "python_bindings/primitive_functions.h"
#include "python_bindings/slots.h"
#include "python_bindings/tracebacks.h"
#include "python_bindings/user_calls.h"
#include "python_bindings/views.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

struct Call {
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* keywords;  // tuple of names, or null
  Py_ssize_t keyword_count() const { return keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords); }
};

struct Entrance {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;  // what does everything
  PyObject* dict;      // __name__, __doc__, __wrapped__
  PyObject* weak_references;
  bool (*rule)(const Entrance& self, const Call& call, Datum& result);  // false: not a case for here
  const Primitive* primitive;  // the one that gives the function its name, if one does
  bool makes_views;            // of its first argument
};

// The contents of an argument that is an Array with the dtype and shape that it says.
const Datum* array_argument(PyObject* object) { return is_array(object) ? &array_datum(object) : nullptr; }

Datum bind1_of(const Primitive& primitive, const Datum& x, const AttrsPtr& attrs) {
  const Datum* operand = &x;
  return bind1_with_location(primitive, {&operand, 1}, attrs);
}

Ints ints(const Shape& shape) { return Ints(shape.begin(), shape.end()); }

// ---- Element by element
// ----------------------------------------------------------------------------------------------

bool unary(const Entrance& self, const Call& call, Datum& result) {
  if (call.count != 1 || call.keywords != nullptr) return false;
  const Datum* x = array_argument(call.args[0]);
  if (x == nullptr || !is_inexact(datum_aval(*x).dtype())) return false;
  result = bind1_of(*self.primitive, *x, Attrs::empty());
  return true;
}

bool binary_of(const Entrance& self, const Call& call, Promotion promotion, Datum& result) {
  if (call.count != 2 || call.keywords != nullptr) return false;
  if (!is_array(call.args[0]) && !is_array(call.args[1])) return false;
  Operand operands[2];
  for (int i = 0; i < 2; ++i) {
    if (!is_array(call.args[i]) && !is_python_scalar(call.args[i])) return false;
    read_operand(call.args[i], operands[i]);
  }
  Datum made[2];
  const Datum* promoted[2];
  promote_operands(absl::MakeSpan(operands), promotion, absl::MakeSpan(made), absl::MakeSpan(promoted));
  result = bind1_with_location(*self.primitive, promoted);
  return true;
}
bool binary(const Entrance& self, const Call& call, Datum& result) {
  return binary_of(self, call, Promotion::kJoin, result);
}
// Complex numbers are ordered by parts, which takes more than the primitive.
bool binary_ordered(const Entrance& self, const Call& call, Datum& result) {
  for (Py_ssize_t i = 0; i < call.count; ++i) {
    if (PyComplex_Check(call.args[i])) return false;
    if (is_array(call.args[i]) && !is_float(array_aval(call.args[i]).dtype()) &&
        !is_integer(array_aval(call.args[i]).dtype()) && !is_bool(array_aval(call.args[i]).dtype())) {
      return false;
    }
  }
  return binary_of(self, call, Promotion::kJoin, result);
}
bool binary_inexact(const Entrance& self, const Call& call, Datum& result) {
  return binary_of(self, call, Promotion::kInexact, result);
}

bool where(const Entrance& self, const Call& call, Datum& result) {
  if (call.count != 3 || call.keywords != nullptr) return false;
  const Datum* condition = array_argument(call.args[0]);
  if (condition == nullptr || !is_bool(datum_aval(*condition).dtype())) return false;
  Operand operands[2];
  for (int i = 0; i < 2; ++i) {
    if (!is_array(call.args[i + 1]) && !is_python_scalar(call.args[i + 1])) return false;
    read_operand(call.args[i + 1], operands[i]);
  }
  Datum made[2];
  const Datum* values[2];
  promote_operands(absl::MakeSpan(operands), Promotion::kJoin, absl::MakeSpan(made), absl::MakeSpan(values));
  const Shape shape = broadcast_shapes(datum_aval(*condition).shape(), datum_aval(*values[0]).shape());
  const Datum parts[] = {broadcast_datum(*condition, shape), broadcast_datum(*values[0], shape),
                         broadcast_datum(*values[1], shape)};
  const Datum* pointers[] = {&parts[0], &parts[1], &parts[2]};
  result = bind1_with_location(*self.primitive, pointers);
  return true;
}

// ---- Reductions
// ------------------------------------------------------------------------------------------------------

// The array, its sorted axes, and whether they are kept, of reduce(a, axis=None, *, keepdims=False).
struct Reduction {
  const Datum* x = nullptr;
  Aval aval;
  Ints axes;
  bool keep = false;
};

bool read_axis(PyObject* object, int rank, Ints& axes) {
  if (!PyLong_CheckExact(object)) return false;
  const Py_ssize_t axis = PyNumber_AsSsize_t(object, nullptr);
  if (axis < -rank || axis >= rank) return false;
  axes.push_back(axis < 0 ? axis + rank : axis);
  return true;
}

bool read_reduction(const Call& call, Reduction& reduction) {
  if (call.count < 1 || call.count > 2) return false;
  reduction.x = array_argument(call.args[0]);
  if (reduction.x == nullptr) return false;
  reduction.aval = datum_aval(*reduction.x);
  if (reduction.aval.weak()) return false;
  PyObject* axis = call.count == 2 ? call.args[1] : Py_None;
  for (Py_ssize_t k = 0; k < call.keyword_count(); ++k) {
    PyObject* name = PyTuple_GET_ITEM(call.keywords, k);
    PyObject* value = call.args[call.count + k];
    if (call.count == 1 && PyUnicode_CompareWithASCIIString(name, "axis") == 0) {
      axis = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0 && PyBool_Check(value)) {
      reduction.keep = value == Py_True;
    } else if (value != Py_None || (PyUnicode_CompareWithASCIIString(name, "where") != 0 &&
                                    PyUnicode_CompareWithASCIIString(name, "initial") != 0)) {
      return false;
    }
  }
  const int rank = reduction.aval.rank();
  Ints& axes = reduction.axes;
  if (axis == Py_None) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  } else if (PyTuple_CheckExact(axis)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); ++i) {
      if (!read_axis(PyTuple_GET_ITEM(axis, i), rank, axes)) return false;
    }
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return false;
  } else if (!read_axis(axis, rank, axes)) {
    return false;
  }
  return true;
}

Datum fold(const Primitive& primitive, const Reduction& reduction) {
  Datum result = bind1_of(primitive, *reduction.x, Attrs::make({{"axes", reduction.axes}}));
  if (!reduction.keep || reduction.axes.empty()) return result;
  Ints shape = ints(reduction.aval.shape());
  Ints kept;
  for (int axis = 0; axis < reduction.aval.rank(); ++axis) {
    if (std::binary_search(reduction.axes.begin(), reduction.axes.end(), axis)) {
      shape[static_cast<size_t>(axis)] = 1;
    } else {
      kept.push_back(axis);
    }
  }
  return bind1_of(kBroadcast, result, Attrs::make({{"shape", std::move(shape)}, {"axes", std::move(kept)}}));
}

// Whether sums of this dtype are computed and given in it.
bool sums_in_itself(DType dtype) { return is_complex(dtype) || (is_float(dtype) && dtype_size(dtype) >= 4); }

bool sum(const Entrance& self, const Call& call, Datum& result) {
  Reduction reduction;
  if (!read_reduction(call, reduction) || !sums_in_itself(reduction.aval.dtype())) return false;
  result = fold(*self.primitive, reduction);
  return true;
}

bool extreme(const Entrance& self, const Call& call, Datum& result) {
  Reduction reduction;
  if (!read_reduction(call, reduction) || is_complex(reduction.aval.dtype()) || reduction.aval.size() == 0)
    return false;
  result = fold(*self.primitive, reduction);
  return true;
}

bool mean(const Entrance& self, const Call& call, Datum& result) {
  Reduction reduction;
  if (!read_reduction(call, reduction) || !sums_in_itself(reduction.aval.dtype())) return false;
  int64_t count = 1;
  for (int64_t axis : reduction.axes) count *= reduction.aval.dim(static_cast<int>(axis));
  const Datum total = fold(*self.primitive, reduction);
  const py::int_ number(count);
  const Datum size =
      broadcast_datum(scalar_datum(number.ptr(), Aval(reduction.aval.dtype(), {})), datum_aval(total).shape());
  const Datum* operands[] = {&total, &size};
  result = bind1_with_location(kDiv, operands);
  return true;
}

// ---- Products and shapes
// ---------------------------------------------------------------------------------------------

bool matmul(const Entrance& self, const Call& call, Datum& result) {
  if (call.count != 2 || call.keywords != nullptr) return false;
  const Datum* x = array_argument(call.args[0]);
  const Datum* y = array_argument(call.args[1]);
  if (x == nullptr || y == nullptr) return false;
  const Aval a = datum_aval(*x);
  const Aval b = datum_aval(*y);
  if (a.dtype() != b.dtype() || is_bool(a.dtype()) || a.rank() < 1 || a.rank() > 2 || b.rank() < 1 || b.rank() > 2) {
    return false;
  }
  const int i = a.rank() - 1;
  const int j = std::max(b.rank() - 2, 0);
  if (a.dim(i) != b.dim(j)) return false;
  static const auto* attributes = [] {
    auto* table = new std::array<AttrsPtr, 2>;
    for (int64_t axis = 0; axis < 2; ++axis) {
      (*table)[static_cast<size_t>(axis)] = Attrs::make(
          {{"lhs_contract", Ints{axis}}, {"rhs_contract", Ints{0}}, {"lhs_batch", Ints{}}, {"rhs_batch", Ints{}}});
    }
    return table;
  }();
  const Datum* operands[] = {x, y};
  result = bind1_with_location(*self.primitive, operands, (*attributes)[static_cast<size_t>(i)]);
  return true;
}

bool reshape(const Entrance& self, const Call& call, Datum& result) {
  if (call.count != 2 || call.keywords != nullptr) return false;
  const Datum* x = array_argument(call.args[0]);
  // Whether NumPy copies to reshape a view is the Python function's business.
  if (x == nullptr || is_view(call.args[0])) return false;
  PyObject* shape = call.args[1];
  const bool several = PyTuple_CheckExact(shape);
  const Py_ssize_t rank = several ? PyTuple_GET_SIZE(shape) : 1;
  const Aval aval = datum_aval(*x);
  Ints sizes;
  int64_t known = 1;
  Py_ssize_t open = -1;
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject* item = several ? PyTuple_GET_ITEM(shape, i) : shape;
    if (!PyLong_CheckExact(item)) return false;
    const int64_t size = PyNumber_AsSsize_t(item, nullptr);
    if (size < -1 || (size == -1 && open >= 0)) return false;
    if (size == -1) {
      open = i;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return false;
    }
    sizes.push_back(size);
  }
  if (open >= 0) {
    if (known == 0 || aval.size() % known != 0) return false;
    sizes[static_cast<size_t>(open)] = aval.size() / known;
  } else if (known != aval.size()) {
    return false;
  }
  if (absl::MakeConstSpan(sizes) == absl::MakeConstSpan(aval.shape())) {
    result = *x;
  } else {
    result = bind1_of(*self.primitive, *x, Attrs::make({{"shape", std::move(sizes)}}));
  }
  return true;
}

bool transpose(const Entrance& self, const Call& call, Datum& result) {
  if (call.count < 1 || call.count > 2 || call.keywords != nullptr) return false;
  const Datum* x = array_argument(call.args[0]);
  if (x == nullptr) return false;
  const int rank = datum_aval(*x).rank();
  Ints order;
  if (call.count == 1 || call.args[1] == Py_None) {
    for (int axis = rank; axis-- > 0;) order.push_back(axis);
  } else {
    PyObject* axes = call.args[1];
    if (!PyTuple_CheckExact(axes) || PyTuple_GET_SIZE(axes) != rank) return false;
    for (int i = 0; i < rank; ++i) {
      if (!read_axis(PyTuple_GET_ITEM(axes, i), rank, order)) return false;
    }
    Ints sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
  }
  if (std::is_sorted(order.begin(), order.end())) {
    result = *x;
  } else {
    result = bind1_of(*self.primitive, *x, Attrs::make({{"permutation", std::move(order)}}));
  }
  return true;
}

// ---- Conversion

bool from_numpy(const Entrance&, const Call& call, Datum& result) {
  if (call.count != 1 || call.keywords != nullptr || config().backend != nullptr) return false;
  if (!py::isinstance<py::array>(call.args[0])) return false;
  result = tensor_from_python(call.args[0]);
  return true;
}

// ---- The type
// --------------------------------------------------------------------------------------------------------

struct RuleRow {
  const char* name;
  bool (*rule)(const Entrance&, const Call&, Datum&);
  bool makes_views = false;
};
constexpr RuleRow kRules[] = {{"unary", unary},
                              {"binary", binary},
                              {"binary_inexact", binary_inexact},
                              {"binary_ordered", binary_ordered},
                              {"where", where},
                              {"sum", sum},
                              {"extreme", extreme},
                              {"mean", mean},
                              {"matmul", matmul},
                              {"reshape", reshape, true},
                              {"transpose", transpose, true},
                              {"from_numpy", from_numpy}};

// Its second argument says how the first became the result.
void link_result(const Entrance& self, PyObject* const* args, Py_ssize_t count, PyObject* result) {
  static PyObject* const name = PyUnicode_InternFromString("__name__");
  PyObject* how = PyTuple_Pack(2, PyDict_GetItem(self.dict, name), count > 1 ? args[1] : Py_None);
  if (how == nullptr) throw py::error_already_set();
  link_view(result, args[0], how);
  Py_DECREF(how);
}

PyObject* call_entrance(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto* self = reinterpret_cast<Entrance*>(object);
  const Capture* capture = innermost_capture();
  if (capture == nullptr || !capture->masks()) {
    bool done = false;
    PyObject* result = guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      Datum datum;
      done = self->rule(*self, {args, PyVectorcall_NARGS(flags), keywords}, datum);
      PyObject* made = done ? make_array(std::move(datum)) : nullptr;
      if (made != nullptr && self->makes_views) link_result(*self, args, PyVectorcall_NARGS(flags), made);
      return made;
    });
    if (done) return result;
    if (PyErr_Occurred()) {
      name_called_function(self->function);
      return nullptr;
    }
  }
  const UserCall call(self->function, args,
                      PyVectorcall_NARGS(flags) + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords)));
  return PyObject_Vectorcall(self->function, args, flags, keywords);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Entrance*>(object);
  Py_VISIT(self->function);
  Py_VISIT(self->dict);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<Entrance*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->dict);
  return 0;
}

void deallocate(PyObject* object) {
  PyObject_GC_UnTrack(object);
  if (reinterpret_cast<Entrance*>(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

PyObject* represent(PyObject* object) { return PyObject_Repr(reinterpret_cast<Entrance*>(object)->function); }

// Functions are pickled by name.
PyObject* reduce(PyObject* object, PyObject*) { return PyObject_GetAttrString(object, "__qualname__"); }

PyMethodDef methods[] = {{"__reduce__", kGuarded<reduce>, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Entrance, vectorcall), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(Entrance, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Entrance, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef getters[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject* entrance_type = nullptr;

py::object make_entrance(const std::string& rule, const py::object& primitive, const py::object& function) {
  const auto* row =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const RuleRow& r) { return rule == r.name; });
  if (row == std::end(kRules)) throw Error(ErrorKind::kInternal, "there is no entrance of kind " + rule);
  py::dict dict;
  for (const char* name : {"__name__", "__qualname__", "__module__", "__doc__", "__annotations__"}) {
    dict[name] = function.attr(name);
  }
  dict["__wrapped__"] = function;
  PyObject* object = entrance_type->tp_alloc(entrance_type, 0);
  if (object == nullptr) throw py::error_already_set();
  auto* self = reinterpret_cast<Entrance*>(object);
  self->vectorcall = kLeaving<call_entrance>;
  self->function = py::object(function).release().ptr();
  self->dict = dict.release().ptr();
  self->rule = row->rule;
  self->makes_views = row->makes_views;
  self->primitive = primitive.is_none() ? nullptr : &primitive_of(primitive.ptr());
  return py::reinterpret_steal<py::object>(object);
}

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void register_entrances(py::module_& module) {
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
  PyType_Spec spec = {"cotangent.Entrance", sizeof(Entrance), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  entrance_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (entrance_type == nullptr) throw py::error_already_set();
  module.def(
      "entrance",
      [](const std::string& rule, const py::object& primitive) {
        return py::cpp_function(
            [rule, primitive](const py::object& function) { return make_entrance(rule, primitive, function); });
      },
      py::arg("rule"), py::arg("primitive") = py::none(),
      "A decorator: the common case of the function, as the rule of that name knows it, runs without Python.");
  module.attr("Entrance") = py::handle(reinterpret_cast<PyObject*>(entrance_type));
  module.def(
      "set_entrance_function",
      [](const py::object& entrance, const py::object& function) {
        CT_CHECK(Py_TYPE(entrance.ptr()) == entrance_type);
        auto* self = reinterpret_cast<Entrance*>(entrance.ptr());
        Py_XSETREF(self->function, Py_NewRef(function.ptr()));
      },
      py::arg("entrance"), py::arg("function"), "What runs where the entrance's rule knows no answer.");
}

}  // namespace ct::python
