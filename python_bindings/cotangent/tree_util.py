"""Pytrees: nested tuples, lists, dicts, None, namedtuples and registered classes (dataclasses, say), with arrays as leaves."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.carriers import (
    content_leaves,
    flatten_noting,
    flatten_to_carriers,
    map_contents,
    map_contents_with_path,
)
from cotangent._core import PyTreeDef

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
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
    """The leaves of a pytree, in order, and its structure. Of a `Ragged` data and lengths are leaves, so that both come back.

    >>> import cotangent as ct
    >>> leaves, structure = ct.tree_util.tree_flatten({"b": 1, "a": (2, 3)})
    >>> leaves
    [2, 3, 1]
    """
    return _core.tree_flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The pytree of a structure and its leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a pytree, to compute with: of a `Ragged` its data, without the lengths."""
    leaves, _, carriers = flatten_noting(tree, is_leaf)
    return content_leaves(flatten_to_carriers(tree, is_leaf)[0], is_leaf) if carriers else leaves


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a pytree."""
    return _core.tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Applies ``f`` to corresponding leaves; ``rest`` may have whole sub-trees where ``tree`` has leaves.

    Of a `Ragged` it is given the data; the lengths stay what they are. Several of them must have equal lengths, unless ``f`` stacks them.

    Raises:
        ValueError: a tree of ``rest`` does not have the structure of ``tree``.
        ShapeError: `Ragged` arrays of several trees have different lengths, or ``f`` takes away what the lengths are of.

    >>> import cotangent as ct
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
    """Folds ``function`` over the leaves, from the left."""
    leaves = tree_leaves(tree, is_leaf)
    return (
        functools.reduce(function, leaves)
        if initializer is _MISSING
        else functools.reduce(function, leaves, initializer)
    )


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _MISSING, is_leaf: IsLeaf = None
) -> Any:
    """Combines the leaves pairwise, as a balanced tree: fewer steps one after the other than `tree_reduce`.

    Raises:
        TypeError: there is no leaf and no identity.
    """
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is _MISSING:
            raise TypeError("tree_reduce_associative: the tree has no leaves; give identity=")
        return identity
    while len(values) > 1:
        pairs = [operation(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every item is a leaf."""
    structures = [tree_structure(item, is_leaf) for item in iterable]
    return all(structure.num_nodes == structure.num_leaves == 1 for structure in structures)


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turns a tree of structure ``outer_treedef`` with ``inner_treedef`` trees as leaves inside out.

    Without an inner structure it is that of the first leaf.

    Raises:
        TypeError: the tree has not the leaves of the outer structure times those of the inner one.

    >>> import cotangent as ct
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
        raise TypeError("tree_transpose: a structure has no leaves")
    if len(leaves) != rows * columns:
        raise TypeError(
            f"tree_transpose: mismatch of {structure} and {outer_treedef.compose(inner_treedef)}, the outer structure with the "
            "inner one as leaves"
        )
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::columns]) for i in range(columns)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree with the structure of ``full_tree``: each leaf of the prefix repeated for the sub-tree it stands for.

    >>> import cotangent as ct
    >>> ct.tree_util.tree_broadcast((0, 1), ([5, 6], 7))
    ([0, 0], 1)
    """
    leaves, structure = tree_flatten(prefix_tree, is_leaf)
    parts = structure.flatten_up_to(full_tree)
    spread = [tree_map(lambda _, x=x: x, part, is_leaf=is_leaf) for x, part in zip(leaves, parts, strict=True)]
    return structure.unflatten(spread)


# ---- structures ------------------------------------------------------------------------------------------------------


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of a node's children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, or an empty container."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees."""
    return _core.treedef_tuple(list(treedefs))


def _is_container(value: Any) -> bool:
    structure = tree_structure(value, lambda candidate: candidate is not value)
    return not structure.num_nodes == structure.num_leaves == 1


def is_tree_node(typ: type) -> bool:
    """Whether the instances of a type are containers (or None) rather than leaves."""
    if typ in (tuple, list, dict, type(None)) or _core.is_registered(typ):
        return True
    return issubclass(typ, tuple) and hasattr(typ, "_fields")


# ---- paths -----------------------------------------------------------------------------------------------------------


class KeyEntry:
    """One step of a path from a tree's root to a leaf."""

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
    """An item of a list or tuple."""

    __slots__ = ()
    __match_args__ = ("idx",)
    _field = "idx"
    idx = property(lambda self: self._value)

    def __init__(self, idx: int) -> None:
        self._value = idx


class DictKey(KeyEntry):
    """An item of a dict."""

    __slots__ = ()
    __match_args__ = ("key",)
    _field = "key"
    key = property(lambda self: self._value)

    def __init__(self, key: Hashable) -> None:
        self._value = key


class GetAttrKey(KeyEntry):
    """An attribute of an object."""

    __slots__ = ()
    __match_args__ = ("name",)
    _field = "name"
    _text = ".{}"
    name = property(lambda self: self._value)

    def __init__(self, name: str) -> None:
        self._value = name


class FlattenedIndexKey(KeyEntry):
    """A child of a node that was registered without keys."""

    __slots__ = ()
    __match_args__ = ("key",)
    _field = "key"
    _text = "[<flat index {}>]"
    key = property(lambda self: self._value)

    def __init__(self, key: int) -> None:
        self._value = key


KeyPath = tuple[Any, ...]
_KEYED: dict[type, Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]] = {}


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """The children of a node and its auxiliary data.

    Raises:
        ValueError: the value is a leaf.
    """
    if tree is None:
        return [], None
    if not _is_container(tree):
        raise ValueError(f"flatten_one_level: {type(tree).__name__} is a leaf, not a container")
    children, structure = tree_flatten(tree, lambda candidate: candidate is not tree)
    data = structure.node_data()
    return children, None if data is None else data[1]


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The children of a node, each with its key, and its auxiliary data."""
    children, data = flatten_one_level(tree)
    return list(zip(_child_keys(tree, len(children), data), children, strict=True)), data


def _child_keys(node: Any, count: int, data: Any) -> list[Any]:
    keyed = _KEYED.get(type(node))
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
            raise ValueError(f"a pytree nests deeper than {_core.DEEPEST_TREE} levels, or contains itself")
        stop = bool(is_leaf(prefix, node))
        leaf.append(stop)
        if stop or not _is_container(node):
            found.append((prefix, node))
        else:
            pending += [((*prefix, key), child) for key, child in reversed(flatten_one_level_with_keys(node)[0])]


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """The leaves with their paths, and the structure.

    Args:
        tree: a pytree.
        is_leaf: what else is a leaf: a function of a node.
        is_leaf_takes_path: ``is_leaf`` is called with the path of the node first.
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
    """The leaves of a pytree, as `tree_leaves` has them, each with its path. Arguments are `tree_flatten_with_path`'s.

    >>> import cotangent as ct
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
    """`tree_map` whose function takes a leaf's path first. Other arguments are `tree_flatten_with_path`'s."""
    given: Callable[..., bool] = is_leaf or (lambda *_: False)

    def stops(path: KeyPath, node: Any) -> bool:
        return bool(given(path, node) if is_leaf_takes_path else given(node))

    return map_contents_with_path(f, (tree, *rest), stops, tree_flatten_with_path)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: ``['w'][0].bias``, or with ``simple`` only the names, joined by the separator."""
    if simple:
        return separator.join(str(key._value) if isinstance(key, KeyEntry) else str(key) for key in keys)
    return separator.join(map(str, keys))


# ---- registration ----------------------------------------------------------------------------------------------------


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Registers a class as a container.

    Args:
        nodetype: the class.
        flatten_func: object -> (children, auxiliary data); the data is part of the structure and must be comparable.
        unflatten_func: (auxiliary data, children) -> object.
        flatten_with_keys_func: object -> ((key, child) pairs, auxiliary data), for paths.

    Raises:
        ValueError: the class is registered already.
    """
    _core.register_node(nodetype, flatten_func, unflatten_func)
    if flatten_with_keys_func is not None:
        _KEYED[nodetype] = flatten_with_keys_func


def register_pytree_node_class(cls: Any) -> Any:
    """Class decorator: registers a class with ``tree_flatten`` and ``tree_unflatten`` methods."""
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Registers a class as a container whose children have keys: ``flatten_with_keys`` gives (key, child) pairs."""

    def without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, data = flatten_with_keys(node)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Any) -> Any:
    """Class decorator: registers a class with ``tree_flatten_with_keys`` and ``tree_unflatten`` methods."""
    flatten_func = (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda node: node.tree_flatten_with_keys(), cls.tree_unflatten, flatten_func)
    return cls


def register_dataclass(
    nodetype: Any,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Registers a dataclass: ``data_fields`` are children, ``meta_fields`` belong to the structure.

    Without fields they are read from the class: those declared with ``metadata={"static": True}`` are meta fields. Dataclasses
    that are not registered are leaves.

    Raises:
        ValueError: a field is missing, or only one of the two lists is given.
    """
    if (data_fields is None) != (meta_fields is None):
        raise ValueError("register_dataclass: give both data_fields and meta_fields, or neither")
    if data_fields is None or meta_fields is None:
        declared = getattr(nodetype, "__dataclass_fields__", None)
        if declared is None:
            raise ValueError(f"register_dataclass: {nodetype!r} is not a dataclass; give data_fields and meta_fields")
        kept = {name: field for name, field in declared.items() if field.init and name not in drop_fields}
        meta_fields = [name for name, field in kept.items() if field.metadata.get("static", False)]
        data_fields = [name for name in kept if name not in meta_fields]
    elif hasattr(nodetype, "__dataclass_fields__"):
        expected = {name for name, field in nodetype.__dataclass_fields__.items() if field.init} - set(drop_fields)
        given = {*data_fields, *meta_fields}
        if expected != given:
            raise ValueError(
                f"register_dataclass: the fields of {nodetype.__name__} are {sorted(expected)}, but data_fields and meta_fields "
                f"name {sorted(given)}"
            )
    data_names, meta_names = tuple(data_fields), tuple(meta_fields)
    if both := sorted({*data_names} & {*meta_names}):
        raise ValueError(f"register_dataclass: fields both in data_fields and in meta_fields: {both}")

    def flatten_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], Any]:
        return [(GetAttrKey(name), getattr(node, name)) for name in data_names], flatten(node)[1]

    def flatten(node: Any) -> tuple[tuple[Any, ...], Any]:
        return tuple(getattr(node, name) for name in data_names), tuple(getattr(node, name) for name in meta_names)

    def unflatten(meta: Any, data: Iterable[Any]) -> Any:
        return nodetype(**dict(zip(data_names, data, strict=True)), **dict(zip(meta_names, meta, strict=True)))

    register_pytree_node(nodetype, flatten, unflatten, flatten_with_keys)
    return nodetype


def static(**options: Any) -> Any:
    """A field of a dataclass that `register_dataclass` makes a part of the structure. Options are `dataclasses.field`'s."""
    import dataclasses  # whose import takes a while

    return dataclasses.field(**{**options, "metadata": {"static": True, **(options.get("metadata") or {})}})


def register_static(cls: Any) -> Any:
    """Class decorator: instances have no leaves and belong to the structure, so they must be hashable and comparable."""
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


class _Once:
    """A `functools.partial` as a function that `Partial` does not take apart; it is the partial in comparisons."""

    def __init__(self, wrapped: functools.partial[Any]) -> None:
        functools.update_wrapper(self, wrapped)
        self._wrapped = wrapped

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self._wrapped == (other._wrapped if isinstance(other, _Once) else other))

    def __hash__(self) -> int:
        return hash(self._wrapped)

    def __repr__(self) -> str:
        return repr(self._wrapped)


class Partial(functools.partial):  # type: ignore[type-arg]
    """`functools.partial` as a pytree: its arguments are children, so that it can be passed through transforms.

    Arguments that the function was given before, by `functools.partial`, stay a part of the function.

    >>> import cotangent as ct
    >>> power = ct.tree_util.Partial(lambda n, x: x**n, 3)
    >>> int(ct.jit(lambda f, x: f(x))(power, 2))
    8
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:  # noqa: D102
        if isinstance(func, functools.partial):
            return super().__new__(cls, _Once(func), *args, **keywords)
        return super().__new__(cls, func, *args, **keywords)


# ---- containers of the standard library ------------------------------------------------------------------------------


def _sorted_items(node: defaultdict[Any, Any]) -> tuple[list[tuple[DictKey, Any]], Any]:
    keys = tuple(sorted(node))
    return [(DictKey(key), node[key]) for key in keys], (node.default_factory, keys)


register_pytree_with_keys(
    OrderedDict,
    lambda node: ([(DictKey(key), value) for key, value in node.items()], tuple(node)),
    lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
    lambda node: (list(node.values()), tuple(node)),
)
register_pytree_with_keys(
    defaultdict, _sorted_items, lambda data, values: defaultdict(data[0], zip(data[1], values, strict=True))
)
register_pytree_with_keys(
    Partial,
    lambda node: (((GetAttrKey("args"), node.args), (GetAttrKey("keywords"), node.keywords)), node.func),
    lambda func, children: _partial(func, *children),
)


def _partial(func: Any, args: Any, keywords: Any) -> Partial:
    return Partial(func, *args, **keywords)


check_arguments(globals())
