"""Running reductions along an axis."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.numpy._support import normalize_axis

__all__ = ["cummax", "cummin", "cumprod", "cumsum"]


def _running(name: str, operand: Any, axis: int, reverse: bool) -> Array:
    array = _core.array(operand)
    return _core.bind(name, [array], axis=normalize_axis(axis, array.ndim, name), reverse=reverse)[0]


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """Running sums along an axis, from the end when ``reverse``."""
    return _running("cumsum", operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """Running products along an axis, from the end when ``reverse``; the derivative is right at zeros, too."""
    return _running("cumprod", operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The largest element so far along an axis, from the end when ``reverse``; NaN stays."""
    return _running("cummax", operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest element so far along an axis, from the end when ``reverse``; NaN stays."""
    return _running("cummin", operand, axis, reverse)
