// Which arrays are parts of others. `row = x[0]; row[1] = 5` changes `x`, as it does for arrays of NumPy's, and what
// changes `x` changes `row`: elements never change, so both objects are given other data (cotangent/_array_views.py).
// Here are only the links: who was made of whom, and how. No array is kept alive by them.
#pragma once

#include "python_bindings/array.h"

namespace ct::python {

// `view` was made of `base`; `how` is the index, or an object that says how to read one and write the other.
void link_view(PyObject* view, PyObject* base, PyObject* how);
bool is_view(PyObject* array);
// An array of a basic index is a view, but one element, which is none without `...`; lists and arrays of positions and
// masks make copies.
bool makes_view(PyObject* index, const Aval& result);
// The object is about to end.
void end_links(ArrayObject* array);

}  // namespace ct::python
