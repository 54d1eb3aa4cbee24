"""Arguments that are no arrays: functions, strings, configurations, and Python numbers, which programs branch on and make shapes of.

Where a transform does not change an argument, such objects are handed through as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.capture import ShapeDtypeStruct, wraps
from cotangent._core import Array

Function = Callable[..., Any]


class Object:
    """In the place of an object among arguments: a container without leaves. It has a number, so that structures keep no objects."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


_core.register_node(Object, lambda node: ((), node.number), lambda number, _: Object(number))


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, (Array, np.ndarray, ShapeDtypeStruct)):
        return True
    if isinstance(leaf, np.generic) or _core.is_python_scalar(leaf):
        return False
    try:
        _core.leaf(leaf, "")
    except TypeError:
        return False
    return True


def hand_objects_through(
    fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any], allowed: Callable[[], Sequence[bool]]
) -> tuple[Function, tuple[Any, ...], dict[str, Any]]:
    """A function and arguments for it, of arrays only, that do what these do.

    Args:
        allowed: gives for each leaf of ``(args, kwargs)`` whether it may be an object. Where it may not, it stays.
    """
    leaves, structure = _core.tree_flatten((args, kwargs))
    if all(isinstance(leaf, (Array, np.ndarray)) for leaf in leaves):
        return fun, args, kwargs
    objects: list[Any] = []
    hidden: list[Any] = []
    for leaf, may_be in zip(leaves, allowed(), strict=True):
        if not may_be or _is_array(leaf):
            hidden.append(leaf)
            continue
        hidden.append(Object(len(objects)))
        objects.append(leaf)
    if not objects:
        return fun, args, kwargs

    @wraps(fun)
    def with_objects(*arrays: Any, **keywords: Any) -> Any:
        nodes, structure = _core.tree_flatten((arrays, keywords), lambda node: isinstance(node, Object))
        shown = structure.unflatten([objects[node.number] if isinstance(node, Object) else node for node in nodes])
        return fun(*shown[0], **shown[1])

    args, kwargs = structure.unflatten(hidden)
    return with_objects, args, kwargs
