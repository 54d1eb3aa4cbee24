"""Pytrees as a whole: taken apart and put together, mapped, folded, and what their structures say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.carriers import content_leaves, flatten_noting, flatten_to_carriers, map_contents
from cotangent._core import PyTreeDef

__all__ = [
    "all_leaves",
    "is_tree_node",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[[Any], bool] | None
_MISSING = object()

# ---- flattening and mapping ------------------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Takes a pytree apart: its leaves, in order, and its structure.

    Items of dicts come in the order of their sorted keys. None is a container without leaves. Of a `Ragged` data and
    lengths are leaves, so that both come back.

    Parameters
    ----------
    tree : pytree
        Nested tuples, lists, dicts, named tuples and registered classes; whatever else there is, is a leaf.
    is_leaf : callable, optional
        What else is a leaf: ``is_leaf(node)`` is asked for every node, before its children.

    Returns
    -------
    tuple
        The list of leaves, and the `PyTreeDef`.

    Raises
    ------
    TypeError
        The keys of a dict cannot be sorted.
    ValueError
        The tree contains itself, or nests deeper than 1000 levels.

    Examples
    --------
    >>> leaves, structure = ct.tree.flatten({"b": 1, "a": (2, 3)})
    >>> leaves, structure
    ([2, 3, 1], PyTreeDef({'a': (*, *), 'b': *}))
    """
    return _core.tree_flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Makes the pytree of a structure and its leaves.

    Parameters
    ----------
    treedef : PyTreeDef
        Of `tree_flatten` or `tree_structure`.
    leaves : iterable
        As many as the structure has leaves; any objects.

    Returns
    -------
    pytree
        The inverse of `tree_flatten`.

    Raises
    ------
    ValueError
        There are more or fewer leaves.

    Examples
    --------
    >>> leaves, structure = ct.tree.flatten({"b": 1, "a": (2, 3)})
    >>> ct.tree.unflatten(structure, ["x", "y", "z"])
    {'a': ('x', 'y'), 'b': 'z'}
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Lists the leaves of a pytree, to compute with.

    As `tree_flatten`, but that a `Ragged` has its data as the one leaf, without the lengths: `tree_unflatten` takes what
    `tree_flatten` gives.

    Parameters
    ----------
    tree : pytree
        Any pytree.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.

    Returns
    -------
    list
        The leaves, in order.

    Examples
    --------
    >>> ct.tree.leaves({"b": 1, "a": (2, None, [3])})
    [2, 3, 1]
    >>> rows = ct.ragged([[1.0, 2.0], [3.0]])
    >>> len(ct.tree.leaves(rows)), len(ct.tree.flatten(rows)[0])
    (1, 2)
    """
    leaves, _, carriers = flatten_noting(tree, is_leaf)
    return content_leaves(flatten_to_carriers(tree, is_leaf)[0], is_leaf) if carriers else leaves


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Returns the structure of a pytree.

    Structures are compared with ``==`` and may be keys of dicts.

    Parameters
    ----------
    tree : pytree
        Any pytree.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.

    Returns
    -------
    PyTreeDef
        What `tree_unflatten` takes.

    Examples
    --------
    >>> ct.tree.structure([1, (2,)]) == ct.tree.structure(["a", ("b",)])
    True
    >>> ct.tree.structure([1, (2,)]).num_leaves
    2
    """
    return _core.tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Applies a function to corresponding leaves of pytrees.

    Of a `Ragged` it is given the data; the lengths stay what they are. Several of them must have equal lengths, unless
    ``f`` stacks them.

    Parameters
    ----------
    f : callable
        A function of as many leaves as there are trees.
    tree : pytree
        The first tree, whose structure the result has.
    *rest : pytrees
        Further ones; they may have whole sub-trees where ``tree`` has leaves.
    is_leaf : callable, optional
        What else is a leaf of ``tree``: a function of a node.

    Returns
    -------
    pytree
        Of the structure of ``tree``, with what ``f`` returned as leaves.

    Raises
    ------
    ValueError
        A tree of ``rest`` does not have the structure of ``tree``.
    ShapeError
        `Ragged` arrays of several trees have different lengths, or ``f`` takes away what the lengths are of.

    Examples
    --------
    >>> ct.tree_util.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, structure, carriers = flatten_noting(tree, is_leaf)
    if carriers:
        return map_contents(f, (tree, *rest), is_leaf)
    columns = [leaves, *(structure.flatten_up_to(other) for other in rest)]
    return structure.unflatten([f(*row) for row in zip(*columns, strict=True)])


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _MISSING, is_leaf: IsLeaf = None
) -> Any:
    """Folds a function over the leaves of a pytree, from the left.

    Parameters
    ----------
    function : callable
        ``function(result so far, leaf)``.
    tree : pytree
        Any pytree.
    initializer : object, optional
        What the fold begins with; without it, the first leaf.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.

    Returns
    -------
    object
        What the last call of ``function`` returned.

    Raises
    ------
    TypeError
        There is no leaf and no initializer.

    Examples
    --------
    >>> ct.tree.reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]}, 100)
    106
    """
    leaves = tree_leaves(tree, is_leaf)
    return (
        functools.reduce(function, leaves)
        if initializer is _MISSING
        else functools.reduce(function, leaves, initializer)
    )


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _MISSING, is_leaf: IsLeaf = None
) -> Any:
    """Combines the leaves of a pytree pairwise, as a balanced tree.

    Fewer steps one after the other than `tree_reduce`: ``f(f(a, b), f(c, d))``. The order of the leaves is kept.

    Parameters
    ----------
    operation : callable
        An associative function of two leaves.
    tree : pytree
        Any pytree.
    identity : object, optional
        The result where there is no leaf.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.

    Returns
    -------
    object
        The one that is left.

    Raises
    ------
    TypeError
        There is no leaf and no identity.

    Examples
    --------
    >>> ct.tree.reduce_associative(lambda a, b: f"({a}{b})", ["a", "b", "c", "d"])
    '((ab)(cd))'
    """
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is _MISSING:
            raise TypeError(
                "tree_reduce_associative: the tree has no leaves\n  give identity=, what the result is then: identity=0"
            )
        return identity
    while len(values) > 1:
        pairs = [operation(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Returns whether all leaves of a pytree are true.

    Parameters
    ----------
    tree : pytree
        Of values that have a truth.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.

    Returns
    -------
    bool
        True where there is no leaf.

    Examples
    --------
    >>> ct.tree.all({"a": True, "b": [1, 0]})
    False
    """
    return all(tree_leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Returns whether every item is a leaf, and no container.

    Parameters
    ----------
    iterable : iterable
        Any objects.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.

    Returns
    -------
    bool
        None is a container.

    Examples
    --------
    >>> ct.tree_util.all_leaves([1, "a"]), ct.tree_util.all_leaves([1, (2,)])
    (True, False)
    """
    structures = [tree_structure(item, is_leaf) for item in iterable]
    return all(structure.num_nodes == structure.num_leaves == 1 for structure in structures)


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turns a tree of trees inside out.

    Without an inner structure it is that of the first leaf.

    Parameters
    ----------
    outer_treedef : PyTreeDef
        The structure of the outer tree.
    inner_treedef : PyTreeDef or None
        The structure of each of its leaves; None: that of the first.
    pytree_to_transpose : pytree
        A tree of the outer structure with trees of the inner one as leaves.

    Returns
    -------
    pytree
        A tree of the inner structure with trees of the outer one as leaves.

    Raises
    ------
    TypeError
        The tree has not the leaves of the outer structure times those of the inner one.

    Examples
    --------
    >>> outer, inner = ct.tree.structure([0, 0]), ct.tree.structure({"a": 0})
    >>> ct.tree.transpose(outer, inner, [{"a": 1}, {"a": 2}])
    {'a': [1, 2]}
    """
    leaves, structure = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        parts = outer_treedef.flatten_up_to(pytree_to_transpose)
        inner_treedef = tree_structure(parts[0] if parts else None)
    rows, columns = outer_treedef.num_leaves, inner_treedef.num_leaves
    if not rows or not columns:
        raise TypeError(
            "tree_transpose: a structure has no leaves\n  give structures with a leaf at least, ct.tree.structure([0, 0])"
        )
    if len(leaves) != rows * columns:
        raise TypeError(
            f"tree_transpose: mismatch of {structure} and {outer_treedef.compose(inner_treedef)}, the outer structure with the "
            "inner one as leaves\n  give first the structure that is outside in the tree, then the one of each of its leaves"
        )
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::columns]) for i in range(columns)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Repeats the leaves of a prefix of a tree for the sub-trees that they stand for.

    Parameters
    ----------
    prefix_tree : pytree
        A tree that has leaves where ``full_tree`` may have sub-trees.
    full_tree : pytree
        The whole tree.
    is_leaf : callable, optional
        What else is a leaf of either: a function of a node.

    Returns
    -------
    pytree
        Of the structure of ``full_tree``, with leaves of ``prefix_tree``.

    Raises
    ------
    ValueError
        It is no prefix of the whole tree.

    Examples
    --------
    >>> ct.tree_util.tree_broadcast((0, 1), ([5, 6], 7))
    ([0, 0], 1)
    """
    leaves, structure = tree_flatten(prefix_tree, is_leaf)
    parts = structure.flatten_up_to(full_tree)
    spread = [tree_map(lambda _, x=x: x, part, is_leaf=is_leaf) for x, part in zip(leaves, parts, strict=True)]
    return structure.unflatten(spread)


# ---- structures ------------------------------------------------------------------------------------------------------


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Lists the structures of a node's children.

    Parameters
    ----------
    treedef : PyTreeDef
        Of `tree_structure`.

    Returns
    -------
    list of PyTreeDef
        Empty for a leaf.

    Examples
    --------
    >>> [child.num_leaves for child in ct.tree_util.treedef_children(ct.tree.structure((1, [2, 3])))]
    [1, 2]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Returns whether a structure is a single node: a leaf, or an empty container.

    Parameters
    ----------
    treedef : PyTreeDef
        Of `tree_structure`.

    Returns
    -------
    bool
        Also True for ``()`` and None.

    Examples
    --------
    >>> ct.tree_util.treedef_is_leaf(ct.tree.structure(1)), ct.tree_util.treedef_is_leaf(ct.tree.structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Returns the structure of a tuple of trees.

    Parameters
    ----------
    treedefs : iterable of PyTreeDef
        The structures of the trees.

    Returns
    -------
    PyTreeDef
        Of the tuple.

    Examples
    --------
    >>> one = ct.tree.structure(1)
    >>> ct.tree_util.treedef_tuple([one, one]) == ct.tree.structure((1, 1))
    True
    """
    return _core.treedef_tuple(list(treedefs))


def is_tree_node(typ: type) -> bool:
    """Returns whether the instances of a type are containers (or None) rather than leaves.

    Parameters
    ----------
    typ : type
        The type.

    Returns
    -------
    bool
        True for registered classes and named tuples, too.

    Examples
    --------
    >>> ct.tree_util.is_tree_node(dict), ct.tree_util.is_tree_node(str)
    (True, False)
    """
    if typ in (tuple, list, dict, type(None)) or _core.is_registered(typ):
        return True
    return issubclass(typ, tuple) and hasattr(typ, "_fields")


check_arguments(globals())
