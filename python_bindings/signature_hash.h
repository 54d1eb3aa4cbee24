// A number for what a jitted function was called with: equal for calls that one compiled signature serves, mostly
// different for others. It looks at shapes, structure and static arguments and builds nothing where containers are
// tuples, lists and dictionaries, so that the right one of thousands of signatures is found in the time of one.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

namespace ct::python {

// Of an argument. Dtypes are left out: what a Python number or an array of NumPy becomes depends on the configuration.
uint64_t signature_hash(PyObject* argument);
// Of a static argument, compared by value; none if it cannot be hashed.
std::optional<uint64_t> static_hash(PyObject* argument);

}  // namespace ct::python
