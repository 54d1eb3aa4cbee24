"""``jax.scipy.special``: associated Legendre functions, which SciPy has given up."""

from __future__ import annotations

import math
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
from cotangent.jax.narrowing import narrow

__all__ = ["lpmn", "lpmn_values"]


def _steps(m: int, degree: int, is_normalized: bool) -> tuple[float, float]:
    """How the function of a degree is made of x times the one before and the one before that, for degrees above the order m."""
    if not is_normalized:
        return (2 * degree - 1) / (degree - m), (degree + m - 1) / (degree - m)
    scale = math.sqrt((4 * degree * degree - 1) / (degree * degree - m * m))
    before = (degree - 1) ** 2
    return scale, scale * math.sqrt((before - m * m) / (4 * before - 1)) if degree > m + 1 else 0.0


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    """The associated Legendre functions of orders up to m and degrees up to n at points in [-1, 1], with the phase (-1)^m.

    Args:
        m: the largest order, equal to ``n``.
        n: the largest degree.
        z: the points, of shape (k,).
        is_normalized: whether they are those of spherical harmonics.

    Returns:
        An array of shape (m + 1, n + 1, k): zeros where the order is above the degree.
    """
    if m != n:
        raise NotImplementedError(
            "Computations for m!=n are not yet supported.\n"
            "  pass m=n, and take the first orders of the result: [:m + 1]"
        )
    x = cnp.asarray(narrow(z))
    if x.ndim != 1:
        raise ValueError(
            f"z must be a 1D array; got shape {x.shape}\n  pass z.ravel(), and reshape the last axis of the result"
        )
    across = cnp.sqrt(1 - x * x)
    diagonal = cnp.full_like(x, math.sqrt(0.25 / math.pi) if is_normalized else 1.0)
    rows = []
    for order in range(m + 1):
        if order:
            diagonal = diagonal * across * -(math.sqrt(1 + 0.5 / order) if is_normalized else 2 * order - 1)
        row, last = [cnp.zeros_like(x)] * order + [diagonal], cnp.zeros_like(x)
        for degree in range(order + 1, n + 1):
            first, second = _steps(order, degree, is_normalized)
            row.append(first * x * row[-1] - second * last)
            last = row[-2]
        rows.append(cnp.stack(row))
    return cnp.stack(rows)


def lpmn(m: int, n: int, z: Any) -> tuple[Any, Any]:
    """The associated Legendre functions as `lpmn_values` has them, not normalized, and their derivatives."""
    x = cnp.asarray(narrow(z))
    return ct.jvp(lambda points: lpmn_values(m, n, points, False), (x,), (cnp.ones_like(x),))  # type: ignore[no-any-return]
