"""Pytrees: nested tuples, lists, dicts, None, namedtuples, dataclasses and registered classes, with arrays as leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from cotangent import _core
from cotangent._core import PyTreeDef

__all__ = [
    "PyTreeDef",
    "all_leaves",
    "register_pytree_node",
    "register_pytree_node_class",
    "tree_all",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_reduce",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
]


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a pytree, in order, and its structure.

    >>> import cotangent as ct
    >>> leaves, structure = ct.tree_util.tree_flatten({"b": 1, "a": (2, 3)})
    >>> leaves
    [2, 3, 1]
    """
    return _core.tree_flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The pytree of a structure and its leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a pytree."""
    return _core.tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a pytree."""
    return _core.tree_flatten(tree, is_leaf)[1]


def tree_map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Applies ``function`` to corresponding leaves; ``rest`` may have whole sub-trees where ``tree`` has leaves.

    >>> import cotangent as ct
    >>> ct.tree_util.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, structure = _core.tree_flatten(tree, is_leaf)
    columns = [leaves, *(structure.flatten_up_to(other) for other in rest)]
    return structure.unflatten([function(*row) for row in zip(*columns, strict=True)])


def tree_reduce(function: Callable[[Any, Any], Any], tree: Any, *initializer: Any) -> Any:
    """Folds ``function`` over the leaves."""
    return functools.reduce(function, tree_leaves(tree), *initializer)


def tree_all(tree: Any) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree))


def all_leaves(items: Iterable[Any]) -> bool:
    """Whether every item is a leaf."""
    return all(tree_structure(item).num_nodes == 1 and item is not None for item in items)


def tree_transpose(outer: PyTreeDef, inner: PyTreeDef, tree: Any) -> Any:
    """Turns a tree of structure ``outer`` with ``inner`` trees as leaves inside out."""
    rows = [inner.flatten_up_to(row) for row in outer.flatten_up_to(tree)]
    return inner.unflatten([outer.unflatten(list(column)) for column in zip(*rows, strict=True)])


def register_pytree_node(
    node_type: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Iterable[Any]], Any]
) -> None:
    """Registers a class as a container.

    Args:
        node_type: the class.
        flatten: object -> (children, auxiliary data); the data is part of the structure and must be comparable.
        unflatten: (auxiliary data, children) -> object.
    """
    _core.register_node(node_type, flatten, unflatten)


def register_pytree_node_class(cls: Any) -> Any:
    """Class decorator: registers a class with ``tree_flatten`` and ``tree_unflatten`` methods."""
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls
