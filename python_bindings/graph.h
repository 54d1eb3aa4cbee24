// A Graph as a Python object: `ct.ir.Graph`.
#pragma once

#include "ir/graph.h"
#include "python_bindings/python.h"

namespace ct::python {

struct GraphHandle {
  GraphPtr graph;
};

// (shape, dtype, weak)
py::tuple aval_tuple(const Aval& aval);

}  // namespace ct::python
