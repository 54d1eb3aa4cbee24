"""The polar decomposition, by the name that JAX has for its algorithm."""

from __future__ import annotations

from typing import Any

from cotangent import numpy as cnp
from cotangent.jax.narrowing import narrowed_function
from cotangent.scipy import linalg

__all__ = ["qdwh"]


def _inside(x: Any, sizes: tuple[Any, Any]) -> Any:
    """The matrix with zeros behind some rows and columns."""
    rows, columns = (cnp.arange(axis) < size for axis, size in zip(x.shape[-2:], sizes, strict=True))
    return cnp.where(rows[:, None] & columns, x, 0)


def _qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The factors of ``x = u h``, u with orthonormal columns and h Hermitian; the iterations, which are none; and that it is done.

    Args:
        x: a matrix with at least as many rows as columns.
        dynamic_shape: how many rows and columns count; the others are padding.
    """
    del is_hermitian, max_iterations, eps
    given = x if dynamic_shape is None else _inside(x, dynamic_shape)
    u, h = linalg.polar(given)
    if dynamic_shape is not None:
        u, h = _inside(u, dynamic_shape), _inside(h, (dynamic_shape[1], dynamic_shape[1]))
    return u, h, cnp.array(0), cnp.array(True)


qdwh = narrowed_function(_qdwh)
