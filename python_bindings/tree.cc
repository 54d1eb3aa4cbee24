#include "python_bindings/tree.h"

#include <unordered_map>

#include "python_bindings/array.h"
#include "python_bindings/tree_documentation.h"
#include "python_bindings/tree_text.h"
#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

struct CustomType {
  py::object to_children;    // object -> (children, auxiliary)
  py::object from_children;  // (auxiliary, children) -> object
};

std::unordered_map<PyObject*, CustomType>& registry() {
  static auto* instance = new std::unordered_map<PyObject*, CustomType>;
  return *instance;
}

bool is_namedtuple(PyObject* object) {
  return PyTuple_Check(object) && !PyTuple_CheckExact(object) && PyObject_HasAttrString(object, "_fields");
}

py::list sorted_keys(py::handle dict) {
  PyObject* keys = PyDict_Keys(dict.ptr());
  if (keys == nullptr) throw py::error_already_set();
  py::list result = py::reinterpret_steal<py::list>(keys);
  if (PyList_GET_SIZE(keys) > 1 && PyList_Sort(keys) < 0) {
    PyErr_Clear();
    throw Error(ErrorKind::kType,
                "a dict in a pytree has keys that cannot be sorted: " + py::cast<std::string>(py::repr(result)))
        .hint("use keys of one type")
        .see("keys-that-cannot-be-sorted");
  }
  return result;
}

// What the flatten function of a registered class returned for an object.
CustomParts parts_of(py::object made, py::handle object) {
  const auto wrong = [&](const char* what) {
    return Error(ErrorKind::kValue,
                 concat("the flatten function of ", py::cast<std::string>(py::str(py::type::of(object))),
                        " must return (children, auxiliary data)", what, "; it returned ",
                        py::cast<std::string>(py::repr(made))))
        .hint("return a tuple of the children and of what is no array: return (node.x, node.y), None");
  };
  const bool is_tuple = PyTuple_Check(made.ptr());
  if ((!is_tuple && !PyList_Check(made.ptr())) || Py_SIZE(made.ptr()) != 2) throw wrong("");
  const auto item = [&](Py_ssize_t i) {
    return py::reinterpret_borrow<py::object>(is_tuple ? PyTuple_GET_ITEM(made.ptr(), i)
                                                       : PyList_GET_ITEM(made.ptr(), i));
  };
  PyObject* children = PySequence_Tuple(item(0).ptr());
  if (children == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    throw wrong(" with children that can be iterated over");
  }
  return {py::reinterpret_steal<py::tuple>(children), item(1)};
}

CustomParts opened_by(const CustomType& type, py::handle object) {
  PyObject* made = PyObject_CallOneArg(type.to_children.ptr(), object.ptr());
  if (made == nullptr) throw py::error_already_set();
  return parts_of(py::reinterpret_steal<py::object>(made), object);
}

// The children of one container, borrowed from it or made for this walk.
class Children {
 public:
  void borrow(PyObject* child) { handles_.emplace_back(child); }
  // All that a tuple has, which lives as long as this.
  void keep(py::tuple children) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(children.ptr()); ++i) borrow(PyTuple_GET_ITEM(children.ptr(), i));
    made_ = std::move(children);
  }
  absl::Span<const py::handle> handles() const { return handles_; }

 private:
  absl::InlinedVector<py::handle, 8> handles_;
  py::object made_;
};

void describe(TreeNode& node, NodeKind kind, size_t arity, py::handle type = {}, py::object keys = {}) {
  node.kind = kind;
  node.arity = static_cast<uint32_t>(arity);
  node.type = py::reinterpret_borrow<py::object>(type);
  node.keys = std::move(keys);
}

// One level of a tree: what kind of node an object is, and its children. A leaf leaves `node` as it was made.
void open_node(py::handle object, TreeNode& node, Children& children) {
  PyObject* pointer = object.ptr();
  const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(pointer)));
  if (is_array(pointer)) return;
  if (PyTuple_CheckExact(pointer) || PyList_CheckExact(pointer)) {
    const bool is_list = PyList_CheckExact(pointer);
    const Py_ssize_t size = Py_SIZE(pointer);
    describe(node, is_list ? NodeKind::kList : NodeKind::kTuple, static_cast<size_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i) {
      children.borrow(is_list ? PyList_GET_ITEM(pointer, i) : PyTuple_GET_ITEM(pointer, i));
    }
  } else if (PyDict_CheckExact(pointer)) {
    py::list keys = sorted_keys(object);
    for (py::handle key : keys) {
      PyObject* child = PyDict_GetItemWithError(pointer, key.ptr());
      if (child == nullptr && PyErr_Occurred()) throw py::error_already_set();
      if (child == nullptr) throw py::key_error(py::cast<std::string>(py::repr(key)));
      children.borrow(child);
    }
    const size_t size = keys.size();
    describe(node, NodeKind::kDict, size, {}, std::move(keys));
  } else if (object.is_none()) {
    describe(node, NodeKind::kNone, 0);
  } else if (PyFloat_CheckExact(pointer) || PyLong_CheckExact(pointer)) {
    return;
  } else if (const auto custom = registry().find(type.ptr()); custom != registry().end()) {
    CustomParts parts = opened_by(custom->second, object);
    describe(node, NodeKind::kCustom, parts.children.size(), type, std::move(parts.auxiliary));
    children.keep(std::move(parts.children));
  } else if (is_namedtuple(pointer)) {
    const Py_ssize_t size = PyTuple_GET_SIZE(pointer);
    describe(node, NodeKind::kNamedTuple, static_cast<size_t>(size), type);
    for (Py_ssize_t i = 0; i < size; ++i) children.borrow(PyTuple_GET_ITEM(pointer, i));
  }
}

Error too_deep() {
  return std::move(
      Error(ErrorKind::kValue, concat("a pytree nests deeper than ", kDeepestTree, " levels, or contains itself"))
          .hint("stack what nests into arrays, or flatten it before"));
}

class Flattener {
 public:
  Flattener(TreeDef& tree, std::vector<py::object>& leaves, py::handle is_leaf)
      : tree_(tree), leaves_(leaves), is_leaf_(is_leaf) {}

  void visit(py::handle object) {
    if (++depth_ > kDeepestTree) throw too_deep();
    const size_t index = tree_.nodes.size();
    tree_.nodes.emplace_back();
    const size_t first_leaf = leaves_.size();
    if (is_leaf_.ptr() != nullptr && !is_leaf_.is_none() && py::cast<bool>(py::bool_(py::object(is_leaf_(object))))) {
      leaf(object);
    } else {
      container(object, index);
    }
    TreeNode& node = tree_.nodes[index];
    node.num_leaves = static_cast<uint32_t>(leaves_.size() - first_leaf);
    node.num_nodes = static_cast<uint32_t>(tree_.nodes.size() - index);
    --depth_;
  }

 private:
  void leaf(py::handle object) { leaves_.push_back(py::reinterpret_borrow<py::object>(object)); }

  void container(py::handle object, size_t index) {
    TreeNode& node = tree_.nodes[index];
    Children children;
    open_node(object, node, children);
    // Not `node`: the children's nodes may have moved it.
    for (const py::handle child : children.handles()) visit(child);
    if (tree_.nodes[index].kind == NodeKind::kLeaf) leaf(object);
  }

  TreeDef& tree_;
  std::vector<py::object>& leaves_;
  py::handle is_leaf_;
  int depth_ = 0;
};

class Unflattener {
 public:
  Unflattener(const TreeDef& tree, absl::Span<py::object> leaves) : tree_(tree), leaves_(leaves) {}

  py::object build() {
    const TreeNode& node = tree_.nodes[node_++];
    switch (node.kind) {
      case NodeKind::kLeaf:
        return std::move(leaves_[leaf_++]);
      case NodeKind::kNone:
        return py::none();
      case NodeKind::kTuple: {
        py::tuple result(node.arity);
        for (uint32_t i = 0; i < node.arity; ++i) PyTuple_SET_ITEM(result.ptr(), i, build().release().ptr());
        return result;
      }
      case NodeKind::kList: {
        py::list result(node.arity);
        for (uint32_t i = 0; i < node.arity; ++i) PyList_SET_ITEM(result.ptr(), i, build().release().ptr());
        return result;
      }
      case NodeKind::kDict: {
        if (!node.sample) node.sample = sample_of(node);
        auto result = py::reinterpret_steal<py::object>(PyDict_Copy(node.sample.ptr()));
        if (!result) throw py::error_already_set();
        for (uint32_t i = 0; i < node.arity; ++i) {
          const py::object value = build();
          if (PyDict_SetItem(result.ptr(), PyList_GET_ITEM(node.keys.ptr(), i), value.ptr()) != 0)
            throw py::error_already_set();
        }
        return result;
      }
      case NodeKind::kNamedTuple: {
        py::tuple fields(node.arity);
        for (uint32_t i = 0; i < node.arity; ++i) fields[i] = build();
        return node.type(*fields);
      }
      case NodeKind::kCustom: {
        py::tuple children(node.arity);
        for (uint32_t i = 0; i < node.arity; ++i) children[i] = build();
        return registry().at(node.type.ptr()).from_children(node.keys, children);
      }
    }
    check_failed("node kind", __FILE__, __LINE__);
  }

 private:
  static py::dict sample_of(const TreeNode& node) {
    py::dict sample;
    for (py::handle key : node.keys) sample[key] = py::none();
    return sample;
  }

  const TreeDef& tree_;
  absl::Span<py::object> leaves_;
  size_t node_ = 0;
  size_t leaf_ = 0;
};

struct TreeDefHandle {
  TreeDefPtr tree;
};

// Counts the nodes and leaves below each node.
void count(TreeDef& tree) {
  std::vector<uint32_t> open;  // children to come of the nodes around
  for (const TreeNode& node : tree.nodes) {
    while (!open.empty() && open.back() == 0) open.pop_back();
    if (!open.empty()) --open.back();
    open.push_back(node.arity);
    if (open.size() > static_cast<size_t>(kDeepestTree)) throw too_deep();
  }
  for (size_t root = tree.nodes.size(); root-- > 0;) {
    TreeNode& node = tree.nodes[root];
    node.num_leaves = node.kind == NodeKind::kLeaf;
    size_t child = root + 1;
    for (uint32_t i = 0; i < node.arity; ++i) {
      node.num_leaves += tree.nodes[child].num_leaves;
      child += tree.nodes[child].num_nodes;
    }
    node.num_nodes = static_cast<uint32_t>(child - root);
  }
}

// tree_flatten(tree, is_leaf=None) -> (leaves, structure)
PyObject* tree_flatten(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const bool named = keywords != nullptr && PyTuple_GET_SIZE(keywords) == 1 &&
                       PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "is_leaf") == 0;
    if (count < 1 || count + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords)) > 2 ||
        (keywords != nullptr && !named))
      throw py::type_error("tree_flatten(tree, is_leaf=None)");
    std::vector<py::object> leaves;
    TreeDefPtr structure = flatten(args[0], leaves, count + named == 2 ? py::handle(args[1]) : py::handle());
    py::list list(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) list[i] = std::move(leaves[i]);
    return py::make_tuple(std::move(list), TreeDefHandle{std::move(structure)}).release().ptr();
  });
}

// The structure that starts at a node.
TreeDefPtr subtree(const TreeDef& tree, size_t root) {
  auto result = std::make_shared<TreeDef>();
  const auto first = tree.nodes.begin() + static_cast<std::ptrdiff_t>(root);
  result->nodes.assign(first, first + tree.nodes[root].num_nodes);
  return result;
}

TreeDefPtr tuple_of(absl::Span<const TreeDefPtr> trees) {
  auto result = std::make_shared<TreeDef>();
  TreeNode root;
  root.kind = NodeKind::kTuple;
  root.arity = static_cast<uint32_t>(trees.size());
  result->nodes.push_back(root);
  for (const TreeDefPtr& tree : trees) {
    result->nodes.insert(result->nodes.end(), tree->nodes.begin(), tree->nodes.end());
  }
  count(*result);
  return result;
}

// `outer` with `inner` in place of each leaf.
TreeDefPtr compose(const TreeDef& outer, const TreeDef& inner) {
  auto result = std::make_shared<TreeDef>();
  for (const TreeNode& node : outer.nodes) {
    if (node.kind == NodeKind::kLeaf) {
      result->nodes.insert(result->nodes.end(), inner.nodes.begin(), inner.nodes.end());
    } else {
      result->nodes.push_back(node);
    }
  }
  count(*result);
  return result;
}

void check_leaves(const TreeDef& tree, size_t count) {
  if (count == tree.num_leaves()) return;
  throw Error(ErrorKind::kValue, concat("a structure of ", tree.num_leaves(), " leaves was given ", count))
      .hint("give a leaf for each * that the structure prints");
}

// Calls on_leaf for the leaves and on_node for the containers, children first.
py::object walk(const TreeDef& tree, const py::object& on_node, const py::object& on_leaf,
                const std::vector<py::object>& leaves) {
  check_leaves(tree, leaves.size());
  size_t index = 0, leaf = 0;
  const std::function<py::object()> visit = [&]() -> py::object {
    const TreeNode& node = tree.nodes[index++];
    if (node.kind == NodeKind::kLeaf) return on_leaf.is_none() ? leaves[leaf++] : on_leaf(leaves[leaf++]);
    py::tuple children(node.arity);
    for (uint32_t i = 0; i < node.arity; ++i) children[i] = visit();
    return on_node(children, node.keys ? node.keys : py::none());
  };
  return visit();
}

// A structure as plain Python data and back.
py::tuple to_state(const TreeDef& tree) {
  py::list nodes;
  for (const TreeNode& node : tree.nodes) {
    nodes.append(py::make_tuple(static_cast<int>(node.kind), node.arity, node.type ? node.type : py::none(),
                                node.keys ? node.keys : py::none()));
  }
  return py::make_tuple(nodes);
}

TreeDefPtr from_state(const py::tuple& state) {
  const auto check = [](bool is_right) {
    if (is_right) return;
    throw Error(ErrorKind::kValue,
                "the pickled structure of a pytree is damaged, or has a class that is not registered")
        .hint("register its classes before it is loaded, or pickle it again");
  };
  auto result = std::make_shared<TreeDef>();
  uint64_t expected = 1;  // nodes that are still to come
  for (py::handle item : py::cast<py::list>(state[0])) {
    const auto [kind, arity, type, keys] = py::cast<std::tuple<int, uint32_t, py::object, py::object>>(item);
    TreeNode node;
    node.kind = static_cast<NodeKind>(kind);
    node.arity = arity;
    const bool typed = node.kind >= NodeKind::kNamedTuple;
    const bool named = node.kind == NodeKind::kDict;
    check(kind >= 0 && kind <= static_cast<int>(NodeKind::kCustom) && expected != 0);
    check(node.kind > NodeKind::kNone || arity == 0);
    check(!typed || PyType_Check(type.ptr()));
    check(!named || (PyList_Check(keys.ptr()) && py::len(keys) == arity));
    check(node.kind != NodeKind::kCustom || registry().count(type.ptr()) != 0);
    if (typed) node.type = type;
    if (named || node.kind == NodeKind::kCustom) node.keys = keys;
    expected = expected - 1 + arity;
    result->nodes.push_back(std::move(node));
  }
  check(expected == 0);
  count(*result);
  return result;
}

// (type, auxiliary data) of the root, None for a leaf.
py::object node_data(const TreeDef& tree) {
  const TreeNode& root = tree.nodes[0];
  const auto with = [&](PyTypeObject& type, const py::object& data) {
    return py::make_tuple(py::handle(reinterpret_cast<PyObject*>(&type)), data);
  };
  switch (root.kind) {
    case NodeKind::kLeaf:
    case NodeKind::kNone:
      return py::none();
    case NodeKind::kTuple:
      return with(PyTuple_Type, py::none());
    case NodeKind::kList:
      return with(PyList_Type, py::none());
    case NodeKind::kDict:
      return with(PyDict_Type, py::list(root.keys));
    default:
      return py::make_tuple(root.type, root.keys ? root.keys : py::none());
  }
}

// The error in flight as one about the auxiliary data of a node.
Error incomparable(const TreeNode& node) {
  const py::error_already_set cause;
  return Error(ErrorKind::kValue,
               concat("the data of ", node.type ? py::cast<std::string>(py::str(node.type)) : "a node",
                      " in a pytree's structure cannot be compared: ", py::cast<std::string>(py::str(cause.value()))))
      .hint("make fields that are arrays children of the node; static ones must be hashable and comparable");
}

}  // namespace

bool TreeDef::operator==(const TreeDef& other) const {
  if (nodes.size() != other.nodes.size()) return false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const TreeNode& a = nodes[i];
    const TreeNode& b = other.nodes[i];
    if (a.kind != b.kind || a.arity != b.arity || a.type.ptr() != b.type.ptr()) return false;
    if (!has_keys(a, b.keys)) return false;
  }
  return true;
}

bool has_keys(const TreeNode& node, py::handle keys) {
  if (node.keys.ptr() == keys.ptr()) return true;
  if (!node.keys || !keys) return false;
  const int equal = PyObject_RichCompareBool(node.keys.ptr(), keys.ptr(), Py_EQ);
  if (equal < 0) throw incomparable(node);
  return equal != 0;
}

CustomParts open_custom(py::handle object) {
  return opened_by(registry().at(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))), object);
}

uint64_t TreeDef::hash() const {
  uint64_t result = nodes.size();
  for (const TreeNode& node : nodes) {
    result = hash_combine(result, static_cast<uint64_t>(node.kind) << 32 | node.arity);
    result = hash_combine(result, reinterpret_cast<uintptr_t>(node.type.ptr()));
    if (node.kind == NodeKind::kDict) {
      for (py::handle key : node.keys) result = hash_combine(result, static_cast<uint64_t>(py::hash(key)));
    }
  }
  return result;
}

TreeDefPtr flatten(py::handle tree, std::vector<py::object>& leaves, py::handle is_leaf) {
  auto result = std::make_shared<TreeDef>();
  Flattener(*result, leaves, is_leaf).visit(tree);
  return result;
}

py::object unflatten(const TreeDef& tree, absl::Span<py::object> leaves) {
  check_leaves(tree, leaves.size());
  return Unflattener(tree, leaves).build();
}

namespace {

// Flattens `tree` only as deep as this structure: the leaves may be whole sub-trees.
py::list flatten_up_to(const TreeDefHandle& self, const py::object& tree) {
  std::vector<py::object> parts;
  size_t index = 0;
  const std::function<void(py::handle)> visit = [&](py::handle object) {
    const TreeNode& node = self.tree->nodes[index++];
    if (node.kind == NodeKind::kLeaf) {
      parts.push_back(py::reinterpret_borrow<py::object>(object));
      return;
    }
    TreeNode root;
    Children children;
    open_node(object, root, children);
    bool same = root.kind == node.kind && root.arity == node.arity && root.type.ptr() == node.type.ptr();
    if (same && node.kind == NodeKind::kDict) same = root.keys.equal(node.keys);
    if (!same) {
      size_t at = 0;
      const py::object shown = py::module_::import("cotangent._base.misplaced").attr("shown")(tree);
      throw Error(ErrorKind::kValue, concat("structures differ: expected ", tree_text(*self.tree, at), ", got ",
                                            py::cast<std::string>(shown)))
          .hint(difference(node, root, object))
          .see("structures-that-differ");
    }
    for (const py::handle child : children.handles()) visit(child);
  };
  visit(tree);
  return py::list(py::cast(parts));
}

}  // namespace

void register_tree(py::module_& module) {
  py::class_<TreeDefHandle>(module, "PyTreeDef", documentation::kTreeDef)
      .def_property_readonly(
          "num_leaves", [](const TreeDefHandle& self) { return self.tree->num_leaves(); }, "The number of leaves.")
      .def_property_readonly(
          "num_nodes", [](const TreeDefHandle& self) { return self.tree->nodes.size(); },
          "The number of containers and leaves.")
      .def(
          "unflatten",
          [](const TreeDefHandle& self, const py::iterable& leaves) {
            std::vector<py::object> items;
            for (py::handle leaf : leaves) items.push_back(py::reinterpret_borrow<py::object>(leaf));
            return unflatten(*self.tree, absl::MakeSpan(items));
          },
          documentation::kUnflatten, py::arg("leaves"))
      .def(
          "children",
          [](const TreeDefHandle& self) {
            py::list result;
            size_t child = 1;
            for (uint32_t i = 0; i < self.tree->nodes[0].arity; ++i) {
              result.append(TreeDefHandle{subtree(*self.tree, child)});
              child += self.tree->nodes[child].num_nodes;
            }
            return result;
          },
          documentation::kChildren)
      .def(
          "compose",
          [](const TreeDefHandle& self, const TreeDefHandle& inner) {
            return TreeDefHandle{compose(*self.tree, *inner.tree)};
          },
          documentation::kCompose, py::arg("inner"))
      .def(
          "walk",
          [](const TreeDefHandle& self, const py::object& on_node, const py::object& on_leaf,
             const std::vector<py::object>& leaves) { return walk(*self.tree, on_node, on_leaf, leaves); },
          documentation::kWalk, py::arg("on_node"), py::arg("on_leaf"), py::arg("leaves"))
      .def(py::pickle([](const TreeDefHandle& self) { return to_state(*self.tree); },
                      [](const py::tuple& state) { return TreeDefHandle{from_state(state)}; }))
      .def(
          "node_data", [](const TreeDefHandle& self) { return node_data(*self.tree); }, documentation::kNodeData)
      .def(
          "paths", [](const TreeDefHandle& self) { return leaf_paths(*self.tree); }, documentation::kPaths)
      .def("flatten_up_to", flatten_up_to, documentation::kFlattenUpTo, py::arg("tree"))
      .def("__eq__",
           [](const TreeDefHandle& self, const py::object& other) {
             return py::isinstance<TreeDefHandle>(other) && *self.tree == *py::cast<TreeDefHandle&>(other).tree;
           })
      .def("__hash__", [](const TreeDefHandle& self) { return self.tree->hash(); })
      .def("__repr__", [](const TreeDefHandle& self) {
        size_t index = 0;
        return "PyTreeDef(" + tree_text(*self.tree, index) + ")";
      });
  module.def("treedef_tuple", [](const std::vector<TreeDefHandle>& parts) {
    std::vector<TreeDefPtr> trees;
    for (const TreeDefHandle& part : parts) trees.push_back(part.tree);
    return TreeDefHandle{tuple_of(trees)};
  });
  static PyMethodDef functions[] = {
      {"tree_flatten", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tree_flatten)),
       METH_FASTCALL | METH_KEYWORDS, "The leaves and the structure of a pytree."},
      {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module.ptr(), functions) != 0) throw py::error_already_set();
  module.attr("DEEPEST_TREE") = kDeepestTree;
  module.def("is_registered", [](const py::object& type) { return registry().count(type.ptr()) > 0; });
  module.def("register_node", [](const py::object& type, py::object to_children, py::object from_children) {
    if (!PyType_Check(type.ptr())) {
      throw Error(ErrorKind::kType,
                  concat("register_pytree_node needs a class; got ", py::cast<std::string>(py::repr(type))))
          .hint("pass the class itself: type(object) is that of an object");
    }
    if (registry().count(type.ptr())) {
      throw Error(ErrorKind::kValue, concat("the type is registered already: ", py::cast<std::string>(py::repr(type))))
          .hint("register a class once: where its module is run again, define the class again, too");
    }
    Py_INCREF(type.ptr());
    registry()[type.ptr()] = {std::move(to_children), std::move(from_children)};
  });
}

}  // namespace ct::python
