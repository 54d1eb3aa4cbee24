"""``jax._src.tree_util``."""

from __future__ import annotations

from typing import Any

from cotangent import _core, tree_util
from cotangent._core import PyTreeDef
from cotangent.jax.internals.trees import (
    broadcast_flattened_prefix_with_treedef,
    broadcast_prefix,
    equality_errors,
    equality_errors_pytreedef,
    is_leaf_structure,
    prefix_errors,
)

__all__ = [
    "_registry",
    "broadcast_flattened_prefix_with_treedef",
    "broadcast_prefix",
    "equality_errors",
    "equality_errors_pytreedef",
    "prefix_errors",
    "tree_leaves_checked",
    "treedef_is_strict_leaf",
]

treedef_is_strict_leaf = is_leaf_structure


def tree_leaves_checked(treedef_expected: PyTreeDef, tree: Any) -> list[Any]:
    """The leaves of a tree of this structure.

    Raises:
        AssertionError: it has another one.
    """
    leaves, structure = tree_util.tree_flatten(tree)
    assert structure == treedef_expected
    return leaves


class _Registry:
    """The types that are registered as pytree nodes: what can be asked is whether one is."""

    def __contains__(self, kind: Any) -> bool:
        return kind in (tuple, list, dict, type(None)) or _core.is_registered(kind)


_registry = _Registry()
