// Primitives as Python functions: `_core.primitives` has one for each record, by name, which takes operands by position
// and attributes by keyword. A primitive whose record says that it has `several_results` returns a list, any other its
// array.
#include "python_bindings/primitive_functions.h"

#include <structmember.h>

#include "absl/container/inlined_vector.h"
#include "python_bindings/attributes.h"
#include "python_bindings/operands.h"
#include "python_bindings/slots.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

struct PrimitiveFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Primitive* primitive;
};

PyTypeObject* function_type = nullptr;

// Operands where they are; what is no Array is converted.
class Operands {
 public:
  Operands(PyObject* const* objects, Py_ssize_t count) {
    pointers_.reserve(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (is_array(objects[i])) {
        pointers_.push_back(&array_datum(objects[i]));
      } else {
        made_.push_back(std::make_unique<Datum>(datum_from_python(objects[i])));
        pointers_.push_back(made_.back().get());
      }
    }
  }
  absl::Span<const Datum* const> pointers() const { return pointers_; }
  std::vector<Datum> values() const {
    std::vector<Datum> result;
    result.reserve(pointers_.size());
    for (const Datum* pointer : pointers_) result.push_back(*pointer);
    return result;
  }

 private:
  absl::InlinedVector<const Datum*, 4> pointers_;
  absl::InlinedVector<std::unique_ptr<Datum>, 2> made_;
};

AttrsPtr read_attributes(PyObject* const* values, PyObject* keywords) {
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  if (count == 0) return Attrs::empty();
  std::vector<Attrs::Item> items;
  items.reserve(static_cast<size_t>(count));
  for (Py_ssize_t k = 0; k < count; ++k) {
    Py_ssize_t length = 0;
    const char* key = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(keywords, k), &length);
    if (key == nullptr) throw py::error_already_set();
    items.emplace_back(std::string(key, static_cast<size_t>(length)), attr_from_python(values[k]));
  }
  return Attrs::make(std::move(items));
}

PyObject* list_of(std::vector<Datum> results) {
  py::list list(results.size());
  for (size_t i = 0; i < results.size(); ++i) list[i] = array_object(std::move(results[i]));
  return list.release().ptr();
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Primitive& primitive = *reinterpret_cast<PrimitiveFunction*>(self)->primitive;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  const Operands operands(args, count);
  const AttrsPtr attributes = read_attributes(args + count, keywords);
  if (primitive.several_results) return list_of(bind_with_location(primitive, operands.values(), attributes));
  return make_array(bind1_with_location(primitive, operands.pointers(), attributes));
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<primitive %s>", reinterpret_cast<PrimitiveFunction*>(self)->primitive->name.c_str());
}

PyObject* name_of(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<PrimitiveFunction*>(self)->primitive->name.c_str());
}

PyObject* several_results(PyObject* self, void*) {
  return PyBool_FromLong(static_cast<long>(reinterpret_cast<PrimitiveFunction*>(self)->primitive->several_results));
}

// (name, what it holds, whether it may be left out) of each attribute.
PyObject* attributes_of(PyObject* self, void*) {
  static constexpr const char* kKinds[] = {"flag",  "integer", "real",   "text",   "dtype", "integers",
                                           "reals", "graph",   "graphs", "opaque", "number"};
  py::list result;
  for (const AttributeRecord& record : reinterpret_cast<PrimitiveFunction*>(self)->primitive->attributes) {
    result.append(py::make_tuple(record.name, kKinds[static_cast<size_t>(record.kind)], record.optional));
  }
  return py::tuple(result).release().ptr();
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PrimitiveFunction, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef getters[] = {
    {"name", kGuarded<name_of>, nullptr, "As in graphs.", nullptr},
    {"__name__", kGuarded<name_of>, nullptr, nullptr, nullptr},
    {"attributes", kGuarded<attributes_of>, nullptr, "Names, kinds, whether optional.", nullptr},
    {"several_results", kGuarded<several_results>, nullptr, "Whether a call returns a list.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

py::object make_function(const Primitive& primitive) {
  PyObject* object = function_type->tp_alloc(function_type, 0);
  if (object == nullptr) throw py::error_already_set();
  auto* self = reinterpret_cast<PrimitiveFunction*>(object);
  self->vectorcall = kGuarded<call>;
  self->primitive = &primitive;
  return py::reinterpret_steal<py::object>(object);
}

// bind(name, operands, **attributes): for tools, which have the name of a primitive from a graph. Always a list.
PyObject* bind_by_name(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  Py_ssize_t length = 0;
  const char* name = count == 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8AndSize(args[0], &length) : nullptr;
  if (name == nullptr) {
    PyErr_Clear();
    throw Error(ErrorKind::kType, "the name of a primitive must be a str: bind(name, operands, /, **attributes)");
  }
  const Primitive& primitive = get_primitive(std::string_view(name, static_cast<size_t>(length)));
  const AttrsPtr attrs = read_attributes(args + count, keywords);
  if (const auto wrong = check_attributes(primitive, *attrs)) {
    throw Error(ErrorKind::kType, wrong->problem).hint("leave it to the function of ct.lax that computes this");
  }
  std::vector<Datum> values;
  for (py::handle operand : py::reinterpret_borrow<py::iterable>(args[1])) values.push_back(datum_from_python(operand));
  return list_of(bind_with_location(primitive, values, attrs));
}

}  // namespace

const Primitive& primitive_of(PyObject* function) {
  if (Py_TYPE(function) == function_type) return *reinterpret_cast<PrimitiveFunction*>(function)->primitive;
  throw py::type_error(concat("a function of _core.primitives is expected, not ", Py_TYPE(function)->tp_name));
}

void register_primitive_functions(py::module_& module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(deallocate)},
                         {Py_tp_call, slot(PyVectorcall_Call)},
                         {Py_tp_repr, guarded_slot<represent>()},
                         {Py_tp_members, members},
                         {Py_tp_getset, getters},
                         {0, nullptr}};
  PyType_Spec spec = {"cotangent._core.Primitive", sizeof(PrimitiveFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (function_type == nullptr) throw py::error_already_set();
  module.attr("Primitive") = py::handle(reinterpret_cast<PyObject*>(function_type));
  py::dict functions;
  for (const Primitive* primitive : all_primitives()) functions[py::str(primitive->name)] = make_function(*primitive);
  module.attr("primitives") = functions;
  static PyMethodDef methods[] = {
      {"bind", reinterpret_cast<PyCFunction>(guarded_slot<bind_by_name>()), METH_FASTCALL | METH_KEYWORDS,
       "The results of a primitive by its name: bind(name, operands, **attributes)."},
      {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module.ptr(), methods) != 0) throw py::error_already_set();
}

}  // namespace ct::python
