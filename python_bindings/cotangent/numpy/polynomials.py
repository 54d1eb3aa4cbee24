"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._core import Array

__all__ = [
    "polyval",
]


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with coefficients ``p``, the highest power first, at ``x``."""
    coefficients = _core.array(p)
    if coefficients.ndim != 1:
        raise ValueError(f"polyval: coefficients must have one axis; got shape {coefficients.shape}")
    result, x = _core.promote([_core.full((), 0, coefficients.dtype), x])
    for i in range(coefficients._bound_shape[0]):
        result = result * x + coefficients[i]
    return result
