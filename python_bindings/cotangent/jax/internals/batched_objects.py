"""Objects that `jax.vmap` maps over as what they stand for: their shape, which is no array, loses the mapped axis, too.

A class says so by `register`, and has two methods: ``mapped_along(axis)``, the object with the shape of one element and its arrays as they
are, and ``stacked_along(axis)``, an object of that shape whose arrays have been stacked along an axis.
"""

from __future__ import annotations

from typing import Any

from cotangent import tree_util

__all__ = ["elements_of", "register", "stacks_of"]

_classes: list[type] = []


def register(kind: type) -> type:
    """Has objects of a class be mapped over as what they stand for."""
    _classes.append(kind)
    return kind


def _is_mappable(x: Any) -> bool:
    return isinstance(x, tuple(_classes))


def _converted(tree: Any, axes: Any, method: str) -> Any:
    if axes is None:
        return tree
    if isinstance(axes, int):
        return tree_util.tree_map(
            lambda leaf: getattr(leaf, method)(axes) if _is_mappable(leaf) else leaf, tree, is_leaf=_is_mappable
        )
    if isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list)) and len(axes) == len(tree):
        parts = [_converted(part, axis, method) for part, axis in zip(tree, axes, strict=True)]
        return parts if isinstance(tree, list) else type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        return {key: _converted(part, axes[key], method) for key, part in tree.items()}
    return tree


def elements_of(args: tuple[Any, ...], in_axes: Any) -> tuple[Any, ...]:
    """Arguments of a mapped function."""
    axes = (in_axes,) * len(args) if isinstance(in_axes, int) else in_axes
    return _converted(args, axes, "mapped_along") if _classes else args


def stacks_of(result: Any, out_axes: Any) -> Any:
    """A result of a mapped function."""
    return _converted(result, out_axes, "stacked_along") if _classes else result
