// The Python type `Array`: an array that is either concrete (a Tensor) or traced (a variable of a capture). Elements
// never change: `x[i] = y` gives the object another datum, which only what was made in the innermost capture may get.
#pragma once

#include "python_bindings/python.h"
// After Python.h, which it needs.
// clang-format off
#include <structmember.h>
// clang-format on

namespace ct::python {

struct ViewLinks;

struct ArrayObject {
  PyObject_HEAD Datum datum;
  PyObject* weak_references;
  uint64_t made_in;  // the number of the capture that was innermost; 0: none was
  ViewLinks* views;  // the arrays that it is a part of, and its parts; null: there are none
};

extern PyTypeObject* array_type;
extern PyTypeObject* traced_type;  // derived from it: of those that are traced

inline bool is_array(PyObject* object) { return PyObject_TypeCheck(object, array_type); }
inline Datum& array_contents(PyObject* object) { return reinterpret_cast<ArrayObject*>(object)->datum; }
inline Aval array_aval(PyObject* object) { return datum_aval(array_contents(object)); }
// An array whose memory a jitted function was given keeps its type, without elements.
[[noreturn]] void throw_donated(const Aval& aval);
inline const Datum& array_datum(PyObject* object) {
  const Datum& datum = array_contents(object);
  if (const auto* tensor = std::get_if<Tensor>(&datum); tensor != nullptr && !*tensor) throw_donated(tensor->aval());
  return datum;
}
// From now on the object is what another one is.
void become(PyObject* object, PyObject* other);
PyObject* make_array(Datum datum);  // new reference, or null with a Python error
// A concrete array whose elements are still to be written, before anything else sees it: at `data`.
PyObject* make_unwritten_array(Aval aval, void*& data);
inline py::object array_object(Datum datum) {
  PyObject* object = make_array(std::move(datum));
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

}  // namespace ct::python
