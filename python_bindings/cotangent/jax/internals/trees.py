"""Where two pytrees differ, in JAX's words: what `jax.tree_util` says of structures that do not fit, and its private helpers that ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from cotangent import tree_util
from cotangent._core import PyTreeDef

__all__ = [
    "Difference",
    "broadcast_flattened_prefix_with_treedef",
    "broadcast_prefix",
    "checked_flatten_up_to",
    "describe",
    "equality_errors",
    "equality_errors_pytreedef",
    "is_leaf_structure",
    "mismatch",
    "prefix_errors",
    "structure_text",
]

IsLeaf = Callable[[Any], bool] | None


class Difference(NamedTuple):
    """A place where two trees differ: its path, the two nodes, and what of them is not the same."""

    path: tuple[Any, ...]
    kind: str  # "type", "length", "children" or "data"
    first: Any
    second: Any


def is_leaf_structure(structure: PyTreeDef) -> bool:
    """Whether a structure is that of one leaf; an empty container is none."""
    return structure.num_nodes == structure.num_leaves == 1


def _is_leaf(tree: Any, is_leaf: IsLeaf) -> bool:
    return is_leaf_structure(tree_util.tree_structure(tree, is_leaf))


def _kind_of_difference(first: Any, second: Any) -> str | None:
    if type(first) is not type(second):
        return "type"
    if isinstance(first, (list, tuple)) and len(first) != len(second):
        return "length"
    (children, data), (others, other_data) = tree_util.flatten_one_level(first), tree_util.flatten_one_level(second)
    if len(children) != len(others):
        return "children"
    return None if data == other_data else "data"


def _differences(
    path: tuple[Any, ...], first: Any, second: Any, stops: Callable[[Any, Any], bool]
) -> Iterator[Difference]:
    if stops(first, second):
        return
    kind = _kind_of_difference(first, second)
    if kind is not None:
        yield Difference(path, kind, first, second)
        return
    pairs = tree_util.flatten_one_level_with_keys(first)[0]
    for (key, child), other in zip(pairs, tree_util.flatten_one_level(second)[0], strict=True):
        yield from _differences((*path, key), child, other, stops)


def _keys(node: Any) -> list[Any]:
    return [getattr(key, "_value", key) for key, _ in tree_util.flatten_one_level_with_keys(node)[0]]


def _keys_of_one(first: Any, second: Any) -> list[Any]:
    mine, others = _keys(first), _keys(second)
    return [key for key in mine if key not in others] + [key for key in others if key not in mine]


def describe(difference: Difference, name: str) -> str:
    """What is wrong with a tree called ``name`` that has to be the upper part of another."""
    path, kind, first, second = difference
    word = type(first).__name__
    if kind == "type":
        head, mine, other = "different types", f"{type(first)}", f"{type(second)}"
    elif kind == "length":
        head, mine, other = f"different lengths of {word}", f"length {len(first)}", f"length {len(second)}"
    elif kind == "children":
        mine, other = (" ".join(map(str, _keys(node))) for node in (first, second))
        difference_text = " ".join(map(str, _keys_of_one(first, second)))
        head, mine = "different numbers of pytree children", f"a {word} of the keys\n    {mine}"
        other = f"\n    {other}\nso the symmetric difference on key sets is\n    {difference_text}"
    else:
        head = "different pytree metadata"
        mine, other = (f"{word} with {tree_util.flatten_one_level(node)[1]}" for node in (first, second))
    return (
        f"pytree structure error: {head} at key path\n    {name}{tree_util.keystr(path)}\n"
        f"there the prefix has {mine}, and the full tree {other}"
    )


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Callable[[str], ValueError]]:
    """For each place where a tree is not the upper part of another, a function from its name in the message to the error."""
    found = _differences((), prefix_tree, full_tree, lambda first, _: _is_leaf(first, is_leaf))
    return [lambda name, difference=each: ValueError(describe(difference, name)) for each in found]  # type: ignore[misc]


def _explain(difference: Difference) -> tuple[tuple[Any, ...], str, str, str]:
    path, kind, first, second = difference
    if kind == "type":
        return path, str(type(first)), str(type(second)), "their Python types differ"
    if kind == "length":
        mine, other = (f"{type(node).__name__} of length {len(node)}" for node in (first, second))
        return path, mine, other, "the lengths do not match"
    if kind == "children":
        counts = [len(tree_util.flatten_one_level(node)[0]) for node in (first, second)]
        mine, other = (f"{type(first)} with {n} child{'ren' if n != 1 else ''}" for n in counts)
        keys = " ".join(map(repr, _keys_of_one(first, second)))
        return (
            path,
            mine,
            other,
            f"the numbers of children do not match, with the symmetric difference of key sets: {{{keys}}}",
        )
    mine, other = (
        f"{type(node)} with pytree metadata {tree_util.flatten_one_level(node)[1]}" for node in (first, second)
    )
    return path, mine, other, "the pytree node metadata does not match"


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf = None) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    """For each place where two trees differ: its path, what each of them has there, and what follows."""
    found = _differences((), tree1, tree2, lambda *pair: all(_is_leaf(tree, is_leaf) for tree in pair))
    return map(_explain, found)


def equality_errors_pytreedef(tree1: PyTreeDef, tree2: PyTreeDef) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    """`equality_errors` of two structures."""
    leaf = _Leaf()
    return equality_errors(*(tree.unflatten([leaf] * tree.num_leaves) for tree in (tree1, tree2)))


class _LeafType(type):
    def __repr__(cls) -> str:
        return "pytree leaf"


class _Leaf(metaclass=_LeafType):
    """A leaf of a structure, whose values are not there."""


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree that is the upper part of another, each as often as there are leaves of the other below it.

    Raises:
        ValueError: the tree is no upper part of the other.
    """
    leaves, structure = tree_util.tree_flatten(prefix_tree, is_leaf)
    try:
        parts = structure.flatten_up_to(full_tree)
    except ValueError:
        found = prefix_errors(prefix_tree, full_tree, is_leaf)
        if not found:
            raise
        raise ValueError(
            f"{found[0]('broadcast_prefix prefix_tree')}\n  give a prefix of the same structure, down to its leaves"
        ) from None
    return _repeated(leaves, parts)


def _repeated(leaves: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
    """Each leaf as often as the tree beside it has leaves."""
    counts = [tree_util.tree_structure(part).num_leaves for part in parts]
    return [leaf for leaf, count in zip(leaves, counts, strict=True) for _ in range(count)]


def broadcast_flattened_prefix_with_treedef(
    prefix_leaves: Sequence[Any], prefix_treedef: PyTreeDef, full_treedef: PyTreeDef
) -> list[Any]:
    """`broadcast_prefix` of flattened trees."""
    full = full_treedef.unflatten([_Leaf()] * full_treedef.num_leaves)
    return _repeated(prefix_leaves, prefix_treedef.flatten_up_to(full))


def mismatch(structure: PyTreeDef, value: Any) -> str | None:
    """In which way a value is not of a structure, down to the structure's leaves; None where it is."""
    if is_leaf_structure(structure):
        return None
    data = structure.node_data()
    if data is None:
        return None if value is None else f"Expected None, got {value!r}."
    kind, auxiliary = data
    children = structure.children()
    wrong = _mismatch_here(kind, auxiliary, len(children), value)
    if wrong is not None:
        return wrong
    parts = tree_util.flatten_one_level(value)[0]
    return next(filter(None, map(mismatch, children, parts)), None)


def _mismatch_here(kind: type, auxiliary: Any, count: int, value: Any) -> str | None:
    name = kind.__name__
    if kind in (list, tuple, dict):
        if type(value) is not kind:
            return f"Expected {name}, got {value!r}."
        if kind is dict:
            keys = list(auxiliary)
            return None if set(keys) == set(value) else f"Dict key mismatch; expected keys: {keys}; dict: {value!r}."
        if len(value) != count:
            return f"{name.capitalize()} arity mismatch: {len(value)} != {count}; {name}: {value!r}."
        return None
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and auxiliary is None:
        if not (isinstance(value, tuple) and hasattr(value, "_fields")):
            return f"Expected named tuple, got {value!r}."
        return None if type(value) is kind else f"Named tuple type mismatch: expected type: {kind}, tuple: {value!r}."
    if type(value) is not kind:
        return f"Custom node type mismatch: expected type: {kind}, value: {value!r}."
    children, own = tree_util.flatten_one_level(value)
    if own != auxiliary:
        return f"Mismatch custom node data: {auxiliary!r} != {own!r}; value: {value!r}."
    return (
        None if len(children) == count else f"Custom type arity mismatch: {len(children)} != {count}; value: {value!r}."
    )


def checked_flatten_up_to(own: Callable[[PyTreeDef, Any], list[Any]]) -> Callable[[PyTreeDef, Any], list[Any]]:
    """`PyTreeDef.flatten_up_to`, whose errors say in JAX's words as well what is not of the structure."""

    def flatten_up_to(structure: PyTreeDef, tree: Any) -> list[Any]:
        try:
            return own(structure, tree)
        except ValueError as error:
            wrong = mismatch(structure, tree)
            if wrong is None or wrong in str(error):
                raise
            text, see, where = str(error).partition("\n  see ")
            raise ValueError(f"{text}\n  {wrong}{see}{where}") from None

    return flatten_up_to


def _text(structure: PyTreeDef) -> str:
    if is_leaf_structure(structure):
        return "*"
    data = structure.node_data()
    if data is None:
        return "None"
    kind, auxiliary = data
    children = [_text(child) for child in structure.children()]
    if kind is dict:
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in zip(auxiliary, children, strict=True)) + "}"
    if kind is tuple:
        return f"({', '.join(children)}{',' if len(children) == 1 else ''})"
    inside = f"[{', '.join(children)}]"
    if kind is list:
        return inside
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and auxiliary is None:
        return f"CustomNode(namedtuple[{kind.__name__}], {inside})"
    return f"CustomNode({kind.__name__}[{auxiliary}], {inside})"


def structure_text(structure: PyTreeDef) -> str:
    """A structure as JAX prints it: ``PyTreeDef({'a': *, 'b': (*, None)})``."""
    return f"PyTreeDef({_text(structure)})"
