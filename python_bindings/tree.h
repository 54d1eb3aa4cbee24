// Pytrees: nested containers flattened to leaves and rebuilt.
//
// A `TreeDef` is the structure without the leaves, as nodes in pre-order. Containers: tuple, list, dict (sorted keys),
// None, namedtuples, and types registered from Python. `flatten` visits containers in C++.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python_bindings/python.h"

namespace ct::python {

enum class NodeKind : uint8_t { kLeaf, kNone, kTuple, kList, kDict, kNamedTuple, kCustom };

struct TreeNode {
  NodeKind kind = NodeKind::kLeaf;
  uint32_t arity = 0;
  uint32_t num_leaves = 0;  // below and including this node
  uint32_t num_nodes = 1;   // likewise
  py::object type;          // namedtuple, custom
  py::object keys;          // dict: list of sorted keys; custom: auxiliary data
  // dict: one of these keys with None for each, made when first needed. Copying it is quicker than making room key by
  // key.
  mutable py::object sample;
};

// No structure is deeper: functions that walk one may call themselves.
inline constexpr int kDeepestTree = 1000;

struct TreeDef {
  std::vector<TreeNode> nodes;

  uint32_t num_leaves() const { return nodes.empty() ? 0 : nodes[0].num_leaves; }
  bool operator==(const TreeDef& other) const;
  uint64_t hash() const;
};
using TreeDefPtr = std::shared_ptr<const TreeDef>;

// What the flatten function of its class makes of an object of a registered class.
struct CustomParts {
  py::tuple children;
  py::object auxiliary;
};
CustomParts open_custom(py::handle object);
// Whether the node's keys, or its auxiliary data, are these.
bool has_keys(const TreeNode& node, py::handle keys);

// Appends borrowed-then-owned leaves. `is_leaf` may be null.
TreeDefPtr flatten(py::handle tree, std::vector<py::object>& leaves, py::handle is_leaf = {});
py::object unflatten(const TreeDef& tree, absl::Span<py::object> leaves);  // takes the leaves
// Paths like "[0]['weights'].bias", one a leaf.
std::vector<std::string> leaf_paths(const TreeDef& tree);

}  // namespace ct::python
