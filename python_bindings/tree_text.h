// Structures of pytrees as text: for printing, and for errors.
#pragma once

#include <string>

#include "python_bindings/tree.h"

namespace ct::python {

// The structure below a node, with a star for each leaf: "{'a': (*, *)}". `index` is the node, and then the one behind.
std::string tree_text(const TreeDef& tree, size_t& index);

// What a node of a structure expected, and what was there.
std::string difference(const TreeNode& expected, const TreeNode& found, py::handle object);

}  // namespace ct::python
