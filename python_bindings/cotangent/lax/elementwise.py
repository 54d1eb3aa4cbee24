"""Functions of one element at a time, under their names in ``jax.lax``: no implicit broadcasting or promotion beyond Python numbers."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.tree_util import tree_map

__all__ = [
    "convert_element_type",
    "erf",
    "rsqrt",
    "select",
    "stop_gradient",
]


def stop_gradient(x: Any) -> Any:
    """``x`` with zero derivative; leaf by leaf on a pytree."""
    return tree_map(lambda leaf: _core.bind("stop_gradient", [leaf])[0], x)


def erf(x: Any) -> Array:
    """The error function of a floating array, element by element."""
    return _core.bind("erf", [x])[0]


def rsqrt(x: Any) -> Array:
    """``1 / sqrt(x)``."""
    return 1.0 / _core.bind("sqrt", [x])[0]


def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """Elements of ``on_true`` where ``pred`` holds, else of ``on_false``; shapes equal, or ``pred`` a scalar."""
    on_true, on_false = _core.promote([on_true, on_false])
    return _core.bind("select", [_core.broadcast_to(pred, on_true._bound_shape), on_true, on_false])[0]


def convert_element_type(x: Any, new_dtype: Any) -> Array:
    """``x`` with another dtype."""
    return _core.convert(x, new_dtype)
