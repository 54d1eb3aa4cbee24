#include "python_bindings/attributes.h"

#include "python_bindings/graph.h"
#include "python_bindings/python_object.h"

namespace ct::python {

int64_t integer_from_python(PyObject* object) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(object));
  if (!index) throw py::error_already_set();
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow == 0) return value;
  PyErr_Format(PyExc_OverflowError, "%R is out of range: sizes and other integers of a program have 64 bits",
               index.ptr());
  throw py::error_already_set();
}

Ints integers_from_python(py::handle objects) {
  Ints result;
  for (py::handle object : objects) result.push_back(integer_from_python(object.ptr()));
  return result;
}

AttrValue attr_from_python(py::handle value) {
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return integer_from_python(object);
  if (PyFloat_Check(object)) return py::cast<double>(value);
  if (PyComplex_Check(object)) {
    const Py_complex number = PyComplex_AsCComplex(object);
    return std::vector<double>{number.real, number.imag};
  }
  if (PyUnicode_Check(object)) return py::cast<std::string>(value);
  if (py::isinstance<GraphHandle>(value)) return py::cast<GraphHandle&>(value).graph;
  if (PyList_Check(object) || PyTuple_Check(object)) {
    const py::sequence items = py::reinterpret_borrow<py::sequence>(value);
    if (items.size() > 0 && py::isinstance<GraphHandle>(items[0])) {
      std::vector<GraphPtr> graphs;
      for (py::handle item : items) graphs.push_back(py::cast<GraphHandle&>(item).graph);
      return graphs;
    }
    if (items.size() > 0 && PyFloat_Check(py::object(items[0]).ptr())) return py::cast<std::vector<double>>(value);
    return integers_from_python(items);
  }
  const bool is_dtype = py::isinstance<py::dtype>(value) || value.is(numpy_dtype(DType::kKey));
  if (is_dtype || PyType_Check(object)) return dtype_from_python(value);
  return PythonObject::of(value);
}

py::object attr_to_python(const AttrValue& value) {
  struct Visitor {
    py::object operator()(const GraphPtr& graph) const { return py::cast(GraphHandle{graph}); }
    py::object operator()(const std::vector<GraphPtr>& graphs) const {
      py::list result;
      for (const GraphPtr& graph : graphs) result.append(GraphHandle{graph});
      return result;
    }
    py::object operator()(DType dtype) const { return numpy_dtype(dtype); }
    py::object operator()(const OpaquePtr& opaque) const {
      const auto* object = dynamic_cast<const PythonObject*>(opaque.get());
      return object != nullptr ? object->object() : py::object(py::str(opaque->to_string()));
    }
    py::object operator()(bool v) const { return py::bool_(v); }
    py::object operator()(int64_t v) const { return py::int_(v); }
    py::object operator()(double v) const { return py::float_(v); }
    py::object operator()(const std::string& v) const { return py::str(v); }
    py::object operator()(const Ints& v) const { return py::cast(v); }
    py::object operator()(const std::vector<double>& v) const { return py::cast(v); }
  };
  return std::visit(Visitor{}, value);
}

py::dict attrs_to_python(const Attrs& attrs) {
  py::dict result;
  for (const auto& [key, value] : attrs.items()) result[py::str(key)] = attr_to_python(value);
  return result;
}

}  // namespace ct::python
