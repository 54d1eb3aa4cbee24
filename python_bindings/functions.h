// See functions.cc.
#pragma once

#include "python_bindings/python.h"

namespace ct::python {

void register_functions(py::module_& module);
void register_entrances(py::module_& module);

}  // namespace ct::python
