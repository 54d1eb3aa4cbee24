// Functions whose flags, integers and names are looked at before they run.
#pragma once

#include "python_bindings/python.h"

namespace ct::python {

// `function` behind a check of the arguments that are named in `positional` and `keywords`: each is the letter of what
// the parameter takes, by its position and by its name.
py::object make_checked(const py::object& function, const std::string& positional, const py::dict& keywords);
void register_checked(py::module_& module);

}  // namespace ct::python
