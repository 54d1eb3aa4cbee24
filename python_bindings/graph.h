// A Graph as a Python object: `ct.ir.Graph`.
#pragma once

#include "ir/graph.h"

namespace ct::python {

struct GraphHandle {
  GraphPtr graph;
};

}  // namespace ct::python
