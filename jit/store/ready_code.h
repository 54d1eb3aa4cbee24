// Graphs that are not compiled, because there is code for them: that of a library which was exported.
#pragma once

#include "device/loaded.h"
#include "ir/graph.h"

namespace ct {

// Calls of the graph that is this object run the code, while the graph lives.
void set_ready_code(const GraphPtr& graph, LoadedPtr loaded);
// Null: there is none.
LoadedPtr ready_code(const GraphPtr& graph);

}  // namespace ct
