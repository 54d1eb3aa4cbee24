// See primitive_functions.cc.
#pragma once

#include "python_bindings/python.h"

namespace ct::python {

// What a function of `_core.primitives` stands for; a TypeError for any other object.
const Primitive& primitive_of(PyObject* function);
void register_primitive_functions(py::module_& module);

}  // namespace ct::python
