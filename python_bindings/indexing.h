// `x[index]` for the indexes that need no look-up: integers, slices, None and the ellipsis, read here; anything else,
// and every error, is the business of the Python function that `set_index_hook` is given. `x[index] = value` is all
// that of another one.
#pragma once

#include "python_bindings/array.h"

namespace ct::python {

PyObject* get_item(PyObject* self, PyObject* index);
void set_index_hook(PyObject* hook);                  // (array, index) -> array; takes the reference
int set_item(PyObject* self, PyObject* index, PyObject* value);
// (array, index, value, whether anybody holds the array who could see the change) -> None; takes the reference
void set_assignment_hook(PyObject* hook);

}  // namespace ct::python
