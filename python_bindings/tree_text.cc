#include "python_bindings/tree_text.h"

#include <cctype>

#include "python_bindings/tree.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

void append_paths(const TreeDef& tree, size_t& node_index, const std::string& prefix, std::vector<std::string>& paths) {
  const TreeNode& node = tree.nodes[node_index++];
  if (node.kind == NodeKind::kLeaf) {
    paths.push_back(prefix);
    return;
  }
  for (uint32_t i = 0; i < node.arity; ++i) {
    std::string step = concat("[", i, "]");
    if (node.kind == NodeKind::kDict) {
      step = "[" + py::cast<std::string>(py::repr(py::object(node.keys[py::int_(i)]))) + "]";
    } else if (node.kind == NodeKind::kNamedTuple) {
      step = "." + py::cast<std::string>(py::object(node.type.attr("_fields")[py::int_(i)]));
    }
    append_paths(tree, node_index, prefix + step, paths);
  }
}

}  // namespace

std::string tree_text(const TreeDef& tree, size_t& index) {
  const TreeNode& node = tree.nodes[index++];
  if (node.kind == NodeKind::kLeaf) return "*";
  if (node.kind == NodeKind::kNone) return "None";
  std::vector<std::string> children;
  for (uint32_t i = 0; i < node.arity; ++i) {
    std::string child = tree_text(tree, index);
    if (node.kind == NodeKind::kDict) {
      child = py::cast<std::string>(py::repr(py::object(node.keys[py::int_(i)]))) + ": " + child;
    }
    children.push_back(std::move(child));
  }
  const std::string inside = join(children, ", ");
  switch (node.kind) {
    case NodeKind::kTuple:
      return node.arity == 1 ? "(" + inside + ",)" : "(" + inside + ")";
    case NodeKind::kList:
      return "[" + inside + "]";
    case NodeKind::kDict:
      return "{" + inside + "}";
    default:
      return py::cast<std::string>(py::str(node.type.attr("__name__"))) + "(" + inside + ")";
  }
}

namespace {

// Which keys of two dicts the other one has not.
std::string keys_apart(const py::object& expected, const py::object& found) {
  const auto without = [](const py::object& keys, const py::object& others) {
    std::string names;
    for (const py::handle key : keys) {
      if (others.contains(key)) continue;
      names += concat(names.empty() ? "" : ", ", py::cast<std::string>(py::repr(key)));
    }
    return names;
  };
  const std::string lacking = without(expected, found), besides = without(found, expected);
  return concat(lacking.empty() ? "" : concat(" There is no ", lacking, "."),
                besides.empty() ? "" : concat(" There is ", besides, " besides."));
}

}  // namespace

std::string difference(const TreeNode& expected, const TreeNode& found, py::handle object) {
  const auto text = [](py::handle value) {
    return py::cast<std::string>(py::module_::import("cotangent._base.misplaced").attr("shown")(value));
  };
  const auto kind = [&]() -> std::string {
    switch (expected.kind) {
      case NodeKind::kNone:
        return "None";
      case NodeKind::kTuple:
        return "tuple";
      case NodeKind::kList:
        return "list";
      case NodeKind::kDict:
        return "dict";
      case NodeKind::kNamedTuple:
        return "named tuple";
      case NodeKind::kLeaf:
      case NodeKind::kCustom:
        break;
    }
    return text(expected.type);
  };
  std::string name = kind();
  if (found.kind != expected.kind) return concat("Expected ", name, ", got ", text(object), ".");
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  if (expected.kind == NodeKind::kDict) {
    return concat("Dict key mismatch; expected keys: ", text(expected.keys), "; dict: ", text(object), ".",
                  keys_apart(expected.keys, found.keys));
  }
  if (expected.kind == NodeKind::kTuple || expected.kind == NodeKind::kList) {
    return concat(name, " arity mismatch: ", found.arity, " != ", expected.arity, "; ", kind(), ": ", text(object),
                  ".");
  }
  return concat(expected.kind == NodeKind::kCustom ? "Custom node" : name, " type mismatch: expected ",
                text(expected.type), ", got ", text(object), ".");
}

std::vector<std::string> leaf_paths(const TreeDef& tree) {
  std::vector<std::string> paths;
  size_t index = 0;
  if (!tree.nodes.empty()) append_paths(tree, index, "", paths);
  return paths;
}

}  // namespace ct::python
