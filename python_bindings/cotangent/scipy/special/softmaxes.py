"""Softmax under the names of `scipy.special`, over all axes by default."""

from __future__ import annotations

from typing import Any

from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._special.support import floats
from cotangent.nn.normalization import log_softmax as _log_softmax
from cotangent.nn.normalization import softmax as _softmax


def softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Exponentials that sum to 1 over axes, all by default (``ct.nn.softmax`` takes the last)."""
    (array,) = floats("softmax", x)
    return _softmax(array, tuple(range(array.ndim)) if axis is None else axis)


def log_softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of `softmax`, over all axes by default."""
    (array,) = floats("log_softmax", x)
    return _log_softmax(array, tuple(range(array.ndim)) if axis is None else axis)


check_arguments(globals())
