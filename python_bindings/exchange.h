// Elements that come from other libraries' memory.
#pragma once

#include <cstddef>

#include "python_bindings/python.h"

namespace ct::python {

// Copies the bytes of elements. Those of bools become 0 or 1, as which code here reads and counts them, while elsewhere
// every other byte may stand for true, too.
void copy_elements(DType dtype, void* to, const void* from, size_t bytes);
// Whether all bytes are 0 or 1.
bool canonical_bools(const void* data, size_t bytes);

void register_dlpack(py::module_& module);

}  // namespace ct::python
