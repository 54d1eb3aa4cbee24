// Docstrings of PyTreeDef, in the style of all: numpydoc's sections, with an example that is executed.
#pragma once

namespace ct::python::documentation {

inline constexpr char kTreeDef[] = R"(The structure of a pytree, without its leaves.

What `ct.tree.structure` returns. Two of equal pytrees are equal, and can be keys; ``num_leaves`` and ``num_nodes`` count.

Examples
--------
>>> structure = ct.tree.structure({"a": (1, 2), "b": 3})
>>> structure, structure.num_leaves
(PyTreeDef({'a': (*, *), 'b': *}), 3)
)";

inline constexpr char kUnflatten[] = R"(Makes the pytree of these leaves.

Parameters
----------
leaves : iterable
    As many as the structure has; any objects.

Returns
-------
pytree
    Of the structure.

Raises
------
ValueError
    There are more or fewer leaves.

Examples
--------
>>> ct.tree.structure({"a": (1, 2), "b": 3}).unflatten("xyz")
{'a': ('x', 'y'), 'b': 'z'}
)";

inline constexpr char kChildren[] = R"(Lists the structures of the children of the root.

Returns
-------
list of PyTreeDef
    Empty for a leaf.

Examples
--------
>>> ct.tree.structure({"a": (1, 2), "b": 3}).children()
[PyTreeDef((*, *)), PyTreeDef(*)]
)";

inline constexpr char kCompose[] = R"(Returns this structure with another in place of each leaf.

Parameters
----------
inner : PyTreeDef
    The other structure.

Returns
-------
PyTreeDef
    Of trees of such trees.

Examples
--------
>>> ct.tree.structure([0, 0]).compose(ct.tree.structure((0, 0)))
PyTreeDef([(*, *), (*, *)])
)";

inline constexpr char kWalk[] = R"(Folds the structure, from its leaves to its root.

Parameters
----------
on_node : callable
    ``on_node(results of the children, node's data)``.
on_leaf : callable or None
    ``on_leaf(leaf)``; None leaves them as they are.
leaves : list
    As many as the structure has.

Returns
-------
object
    What ``on_node`` returned for the root.

Examples
--------
>>> ct.tree.structure([0, (0, 0)]).walk(lambda children, _: sum(children), lambda leaf: 10 * leaf, [1, 2, 3])
60
)";

inline constexpr char kNodeData[] = R"(Returns the class of the root and the data that belong to it.

Returns
-------
tuple or None
    None for a leaf. The data of a dict are its keys, those of lists and tuples None.

Examples
--------
>>> ct.tree.structure({"a": (1, 2), "b": 3}).node_data()
(<class 'dict'>, ['a', 'b'])
)";

inline constexpr char kPaths[] = R"(Lists the paths of the leaves, as text.

Returns
-------
list of str
    In the order of the leaves.

Examples
--------
>>> ct.tree.structure({"a": (1, 2), "b": 3}).paths()
["['a'][0]", "['a'][1]", "['b']"]
)";

inline constexpr char kFlattenUpTo[] = R"(Takes a pytree apart as deep as this structure goes.

Parameters
----------
tree : pytree
    One of this structure, which may have sub-trees in place of leaves.

Returns
-------
list
    What stands in place of each leaf.

Raises
------
ValueError
    The tree has another structure; the message says where.

Examples
--------
>>> ct.tree.structure({"a": (1, 2), "b": 3}).flatten_up_to({"a": (1, [2, 4]), "b": 5})
[1, [2, 4], 5]
)";

}  // namespace ct::python::documentation
