"""``jax.tree_util``: functions whose errors JAX words otherwise, beside those that `cotangent.tree_util` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent.tree_util as own
from cotangent.jax.internals.trees import broadcast_prefix, prefix_errors
from cotangent.jax.tracebacks import api_boundary

__all__ = [
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "register_dataclass",
    "tree_broadcast",
    "tree_map_with_path",
    "tree_transpose",
]

flatten_one_level = api_boundary(own.flatten_one_level)
flatten_one_level_with_keys = api_boundary(own.flatten_one_level_with_keys)
register_dataclass = api_boundary(own.register_dataclass)
tree_transpose = api_boundary(own.tree_transpose)


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree with the structure of ``full_tree``: each leaf of the prefix repeated for the sub-tree it stands for.

    Raises:
        ValueError: the first tree is no upper part of the second.
    """
    return own.tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, **options: Any) -> Any:
    """`cotangent.tree_util.tree_map_with_path`, whose error says which path has no counterpart in another tree."""
    try:
        return own.tree_map_with_path(f, tree, *rest, **options)
    except ValueError:
        for other in rest if "is_leaf" not in options else ():
            found = prefix_errors(tree, other)
            if found:
                raise ValueError(
                    f"{found[0]('tree_map_with_path tree')}\n  give trees of the same structure, down to the leaves of the first"
                ) from None
        raise
