// Attributes of equations as Python values, and back. Numbers, texts, dtypes, lists of numbers and graphs are what they
// are; anything else is carried as the object it is.
#pragma once

#include "ir/attrs.h"
#include "python_bindings/python.h"

namespace ct::python {

// Throws where the object is no integer, or one that needs more than 64 bits.
int64_t integer_from_python(PyObject* object);
Ints integers_from_python(py::handle objects);

AttrValue attr_from_python(py::handle value);
py::object attr_to_python(const AttrValue& value);
py::dict attrs_to_python(const Attrs& attrs);

}  // namespace ct::python
