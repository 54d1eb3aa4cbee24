#pragma once

#include "ir/graph.h"

namespace ct {

// The transpose of a product with windows is a product with windows as well: windows.cc.
GraphPtr canonical_windows(const Graph& graph);

}  // namespace ct
