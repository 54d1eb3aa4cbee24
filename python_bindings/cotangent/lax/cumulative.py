"""Running reductions along an axis."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.numpy._support import normalize_axis

__all__ = [
    "cumsum",
]


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """Running sums along an axis, from the end when ``reverse``."""
    array = _core.array(operand)
    return _core.bind("cumsum", [array], axis=normalize_axis(axis, array.ndim, "cumsum"), reverse=reverse)[0]
