// See functions.cc.
#pragma once

#include "python_bindings/python.h"

namespace ct::python {

// The primitive of a name given as a str; throws an Error that suggests a name when there is none.
const Primitive& primitive_named(PyObject* name);
void register_functions(py::module_& module);
void register_entrances(py::module_& module);

}  // namespace ct::python
