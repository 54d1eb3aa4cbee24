"""Containers that carry some of their children along: a ragged array carries the lengths of its rows.

For transforms all children are leaves: they are traced, mapped and returned like any array. What computes with leaves, `tree.map`
and its like, is given the *content* of a carrier only, and what is carried stays beside the result. docs/design/032 says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cotangent import _core
from cotangent._base.messages import kind_of
from cotangent._core import PyTreeDef

IsLeaf = Callable[[Any], bool] | None


class Carrier(NamedTuple):
    """How a class of carriers is taken apart and put together.

    Args:
        key: what `tree.map_with_path` calls the way to the content.
        content: carrier -> what functions of leaves are given, a pytree.
        with_content: (carriers of several trees, what the content was mapped to) -> the carrier of the result. It raises an error where
            the carriers do not carry the same, or it does not fit.
    """

    key: Any
    content: Callable[[Any], Any]
    with_content: Callable[[Sequence[Any], Any], Any]


_CARRIERS: dict[type, Carrier] = {}


# What the last carrier left when it was opened. Each leaves another object, whichever thread it is in: who finds the one that was there
# before has opened none.
_last_opened = object()


def register_carrier(nodetype: type, carrier: Carrier) -> None:
    """Says of a registered container that it is a carrier. Its flatten function has to call `note_opened`."""
    _CARRIERS[nodetype] = carrier


def carrier_of(node: Any) -> Carrier | None:
    """How a node is taken apart; None if it is no carrier."""
    return _CARRIERS.get(type(node))


def note_opened() -> None:
    """Called where a carrier is flattened: most trees have none, and pay nothing for it."""
    global _last_opened
    _last_opened = object()


def last_opened() -> object:
    """An object that is another one after a carrier was flattened."""
    return _last_opened


def flatten_noting(tree: Any, is_leaf: IsLeaf) -> tuple[list[Any], PyTreeDef, bool]:
    """The leaves of a tree and its structure, and whether there may be a carrier in it."""
    before = _last_opened
    leaves, structure = _core.tree_flatten(tree, is_leaf)
    return leaves, structure, _last_opened is not before


def flatten_to_carriers(tree: Any, is_leaf: IsLeaf) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, carriers as a whole among them, and its structure."""
    return _core.tree_flatten(tree, lambda node: type(node) in _CARRIERS or (is_leaf is not None and is_leaf(node)))


def content_leaves(leaves: Sequence[Any], is_leaf: IsLeaf) -> list[Any]:
    """The leaves with those of its content in place of each carrier."""
    found: list[Any] = []
    for leaf in leaves:
        carrier = carrier_of(leaf)
        if carrier is None or (is_leaf is not None and is_leaf(leaf)):
            found.append(leaf)
        else:
            inner, _ = flatten_to_carriers(carrier.content(leaf), is_leaf)
            found += content_leaves(inner, is_leaf)
    return found


def map_contents(function: Callable[..., Any], trees: Sequence[Any], is_leaf: IsLeaf) -> Any:
    """`tree.map` of trees with carriers in the first of them."""
    leaves, structure = flatten_to_carriers(trees[0], is_leaf)
    columns = [leaves, *(structure.flatten_up_to(other) for other in trees[1:])]
    mapped: list[Any] = []
    for row in zip(*columns, strict=True):
        carrier = carrier_of(row[0])
        if carrier is None or (is_leaf is not None and is_leaf(row[0])):
            mapped.append(function(*row))
            continue
        check_carriers(row)
        inside = map_contents(function, [carrier.content(node) for node in row], is_leaf)
        mapped.append(carrier.with_content(row, inside))
    return structure.unflatten(mapped)


def map_contents_with_path(
    function: Callable[..., Any],
    trees: Sequence[Any],
    stops: Callable[[tuple[Any, ...], Any], bool],
    flatten: Callable[..., Any],
    prefix: tuple[Any, ...] = (),
) -> Any:
    """`tree.map_with_path`; ``stops(path, node)`` says what else is a leaf, and ``flatten`` is `tree.flatten_with_path`."""

    def stops_below(path: tuple[Any, ...], node: Any) -> bool:
        return type(node) in _CARRIERS or stops((*prefix, *path), node)

    leaves, structure = flatten(trees[0], stops_below, True)
    columns = [structure.flatten_up_to(other) for other in trees[1:]]
    mapped: list[Any] = []
    for (below, leaf), *others in zip(leaves, *columns, strict=True):
        path, row = (*prefix, *below), (leaf, *others)
        carrier = carrier_of(leaf)
        if carrier is None or stops(path, leaf):
            mapped.append(function(path, *row))
            continue
        check_carriers(row)
        contents = [carrier.content(node) for node in row]
        inside = map_contents_with_path(function, contents, stops, flatten, (*path, carrier.key))
        mapped.append(carrier.with_content(row, inside))
    return structure.unflatten(mapped)


def check_carriers(nodes: Sequence[Any]) -> None:
    """Raises ValueError where the others are not carriers of the kind of the first."""
    for node in nodes[1:]:
        if type(node) is not type(nodes[0]):
            raise ValueError(
                f"tree structures differ: there is {kind_of(node)} where another tree has {kind_of(nodes[0])}\n"
                f"  give trees of the same containers, {kind_of(nodes[0])} in each"
                "\n  see docs/errors.md#structures-that-differ"
            )


def map_every_leaf(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree.map` without regard to carriers: for what is done to values, and not computed with them."""
    leaves, structure = _core.tree_flatten(tree, is_leaf)
    columns = [leaves, *(structure.flatten_up_to(other) for other in rest)]
    return structure.unflatten([function(*row) for row in zip(*columns, strict=True)])
