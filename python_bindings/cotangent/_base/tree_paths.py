"""Paths from a pytree's root to its leaves, and what goes by them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.carriers import map_contents_with_path
from cotangent._base.trees import tree_flatten, tree_structure
from cotangent._core import PyTreeDef

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "SequenceKey",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "keystr",
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
]


class KeyEntry:
    """One step of a path from a tree's root to a leaf.

    What paths are made of: `SequenceKey`, `DictKey`, `GetAttrKey` and `FlattenedIndexKey`. Two of one class and value
    are equal.

    Examples
    --------
    >>> path = (ct.tree_util.DictKey("w"), ct.tree_util.SequenceKey(0))
    >>> ct.tree_util.keystr(path)
    "['w'][0]"
    """

    __slots__ = ("_value",)
    _field = "value"
    _text = "[{!r}]"
    _value: Any

    def __str__(self) -> str:
        return self._text.format(self._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._field}={self._value!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._value == other._value

    def __hash__(self) -> int:
        return hash((type(self), self._value))


class SequenceKey(KeyEntry):
    """An item of a list or tuple, as a step of a path.

    Parameters
    ----------
    idx : int
        Its position.

    Examples
    --------
    >>> ct.tree_util.SequenceKey(2), str(ct.tree_util.SequenceKey(2))
    (SequenceKey(idx=2), '[2]')
    """

    __slots__ = ()
    __match_args__ = ("idx",)
    _field = "idx"
    idx = property(lambda self: self._value, doc="The position of the item.")

    def __init__(self, idx: int) -> None:
        self._value = idx


class DictKey(KeyEntry):
    """An item of a dict, as a step of a path.

    Parameters
    ----------
    key : hashable
        Its key.

    Examples
    --------
    >>> ct.tree_util.DictKey("w"), str(ct.tree_util.DictKey("w"))
    (DictKey(key='w'), "['w']")
    """

    __slots__ = ()
    __match_args__ = ("key",)
    _field = "key"
    key = property(lambda self: self._value, doc="The key of the item.")

    def __init__(self, key: Hashable) -> None:
        self._value = key


class GetAttrKey(KeyEntry):
    """An attribute of an object, as a step of a path.

    Parameters
    ----------
    name : str
        Its name.

    Examples
    --------
    >>> ct.tree_util.GetAttrKey("w"), str(ct.tree_util.GetAttrKey("w"))
    (GetAttrKey(name='w'), '.w')
    """

    __slots__ = ()
    __match_args__ = ("name",)
    _field = "name"
    _text = ".{}"
    name = property(lambda self: self._value, doc="The name of the attribute.")

    def __init__(self, name: str) -> None:
        self._value = name


class FlattenedIndexKey(KeyEntry):
    """A child of a node that was registered without keys, as a step of a path.

    Parameters
    ----------
    key : int
        Its position among the children.

    Examples
    --------
    >>> ct.tree_util.FlattenedIndexKey(0), str(ct.tree_util.FlattenedIndexKey(0))
    (FlattenedIndexKey(key=0), '[<flat index 0>]')
    """

    __slots__ = ()
    __match_args__ = ("key",)
    _field = "key"
    _text = "[<flat index {}>]"
    key = property(lambda self: self._value, doc="The position of the child.")

    def __init__(self, key: int) -> None:
        self._value = key


KeyPath = tuple[Any, ...]
KEYED: dict[type, Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]] = {}


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """Takes one node apart: its children, and its auxiliary data.

    Parameters
    ----------
    tree : pytree
        A container, or None.

    Returns
    -------
    tuple
        The list of children, which may be trees, and the data that belong to the structure: the keys of a dict, None
        for lists and tuples.

    Raises
    ------
    ValueError
        The value is a leaf.

    Examples
    --------
    >>> ct.tree_util.flatten_one_level({"b": [1, 2], "a": 3})
    ([3, [1, 2]], ['a', 'b'])
    """
    if tree is None:
        return [], None
    found = _one_level(tree)
    if found is None:
        raise ValueError(
            f"flatten_one_level: {type(tree).__name__} is a leaf, not a container\n"
            "  call it for containers alone; ct.tree_util.register_pytree_node makes one of a class"
        )
    return found


def _one_level(tree: Any) -> tuple[list[Any], Any] | None:
    """The children of a container, and its auxiliary data; None for a leaf."""
    children, structure = tree_flatten(tree, lambda candidate: candidate is not tree)
    if structure.num_nodes == structure.num_leaves == 1:
        return None
    data = structure.node_data()
    return children, None if data is None else data[1]


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Takes one node apart: its children, each with its key, and its auxiliary data.

    Parameters
    ----------
    tree : pytree
        A container, or None.

    Returns
    -------
    tuple
        The list of pairs of key and child, and the data that belong to the structure.

    Raises
    ------
    ValueError
        The value is a leaf.

    Examples
    --------
    >>> ct.tree_util.flatten_one_level_with_keys((5, [6]))[0]
    [(SequenceKey(idx=0), 5), (SequenceKey(idx=1), [6])]
    """
    children, data = flatten_one_level(tree)
    return list(zip(_child_keys(tree, len(children), data), children, strict=True)), data


def _child_keys(node: Any, count: int, data: Any) -> list[Any]:
    keyed = KEYED.get(type(node))
    if keyed is not None:
        return [key for key, _ in keyed(node)[0]]
    if _core.is_registered(type(node)):
        return [FlattenedIndexKey(index) for index in range(count)]
    if isinstance(node, dict):
        return [DictKey(key) for key in data]
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return [GetAttrKey(name) for name in node._fields]
    if isinstance(node, list | tuple):
        return [SequenceKey(index) for index in range(count)]
    return [FlattenedIndexKey(index) for index in range(count)]


def _visit_with_path(
    tree: Any, is_leaf: Callable[[KeyPath, Any], bool], found: list[tuple[KeyPath, Any]], leaf: list[bool]
) -> None:
    pending: list[tuple[KeyPath, Any]] = [((), tree)]  # not by recursion: Python's ends before a pytree's depth does
    while pending:
        prefix, node = pending.pop()
        if len(prefix) >= _core.DEEPEST_TREE:
            raise ValueError(
                f"a pytree nests deeper than {_core.DEEPEST_TREE} levels, or contains itself\n"
                "  pass is_leaf=, to stop at nodes above that"
            )
        stop = bool(is_leaf(prefix, node))
        leaf.append(stop)
        level = None if stop else _one_level(node)
        if level is None:
            found.append((prefix, node))
            continue
        children, data = level
        keys = _child_keys(node, len(children), data)
        pending += [((*prefix, key), child) for key, child in zip(reversed(keys), reversed(children), strict=True)]


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Takes a pytree apart: its leaves with their paths, and its structure.

    Parameters
    ----------
    tree : pytree
        Any pytree.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.
    is_leaf_takes_path : bool, default False
        ``is_leaf`` is called with the path of the node first.

    Returns
    -------
    tuple
        The list of pairs of path, a tuple of keys, and leaf; and the `PyTreeDef`.

    Examples
    --------
    >>> pairs, structure = ct.tree.flatten_with_path({"w": [1, 2]})
    >>> pairs[1]
    ((DictKey(key='w'), SequenceKey(idx=1)), 2)
    """
    found: list[tuple[KeyPath, Any]] = []
    decisions: list[bool] = []

    def stops(path: KeyPath, node: Any) -> bool:
        if is_leaf is None:
            return False
        return is_leaf(path, node) if is_leaf_takes_path else is_leaf(node)

    _visit_with_path(tree, stops, found, decisions)
    # Nodes are visited in the same order, so that the structure is that of the same decisions.
    following = iter(decisions)
    return found, tree_structure(tree, None if is_leaf is None else lambda _: next(following))


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Lists the leaves of a pytree, as `tree_leaves` has them, each with its path.

    Parameters
    ----------
    tree : pytree
        Any pytree.
    is_leaf : callable, optional
        What else is a leaf: a function of a node.
    is_leaf_takes_path : bool, default False
        ``is_leaf`` is called with the path of the node first.

    Returns
    -------
    list of tuple
        Pairs of path, a tuple of keys, and leaf.

    Examples
    --------
    >>> [(ct.tree_util.keystr(path), leaf) for path, leaf in ct.tree_util.tree_leaves_with_path({"w": [1, 2]})]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    found: list[tuple[KeyPath, Any]] = []
    tree_map_with_path(lambda *pair: found.append(pair), tree, is_leaf=is_leaf, is_leaf_takes_path=is_leaf_takes_path)
    return found


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Applies a function to corresponding leaves of pytrees, with their path.

    Parameters
    ----------
    f : callable
        ``f(path, leaf, *leaves of rest)``.
    tree : pytree
        The first tree, whose structure the result has.
    *rest : pytrees
        Further ones, as of `tree_map`.
    is_leaf : callable, optional
        What else is a leaf of ``tree``: a function of a node.
    is_leaf_takes_path : bool, default False
        ``is_leaf`` is called with the path of the node first.

    Returns
    -------
    pytree
        Of the structure of ``tree``, with what ``f`` returned as leaves.

    Raises
    ------
    ValueError
        A tree of ``rest`` does not have the structure of ``tree``.

    Examples
    --------
    >>> ct.tree.map_with_path(lambda path, x: f"{ct.tree_util.keystr(path)}={x}", {"w": [1, 2]})
    {'w': ["['w'][0]=1", "['w'][1]=2"]}
    """
    given: Callable[..., bool] = is_leaf or (lambda *_: False)

    def stops(path: KeyPath, node: Any) -> bool:
        return bool(given(path, node) if is_leaf_takes_path else given(node))

    return map_contents_with_path(f, (tree, *rest), stops, tree_flatten_with_path)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Returns a path as text.

    Parameters
    ----------
    keys : tuple of keys
        A path.
    simple : bool, default False
        Only the names, without brackets and points.
    separator : str, default ""
        What stands between two keys.

    Returns
    -------
    str
        ``['w'][0].bias``, say.

    Examples
    --------
    >>> [(path, _)] = ct.tree_util.tree_leaves_with_path({"w": [1]})
    >>> ct.tree_util.keystr(path), ct.tree_util.keystr(path, simple=True, separator=".")
    ("['w'][0]", 'w.0')
    """
    if simple:
        return separator.join(str(key._value) if isinstance(key, KeyEntry) else str(key) for key in keys)
    return separator.join(map(str, keys))


check_arguments(globals())
