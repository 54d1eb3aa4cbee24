"""Sylvester's equation by Schur forms: what derivatives of matrix functions come down to."""

from __future__ import annotations

from collections.abc import Callable

import cotangent.numpy as cnp
from cotangent._core import Array
from cotangent.custom import custom_jvp
from cotangent.lax import linalg as lax_linalg
from cotangent.lax.control_flow import scan
from cotangent.numpy._matrices import adjoint, identity
from cotangent.numpy._support import convert, kind


def to_complex(x: Array) -> Array:
    """``x`` with a complex dtype."""
    return x if kind(x) == "complex" else convert(x, "complex128" if x.dtype.itemsize == 8 else "complex64")


def by_columns(start: Array, columns: tuple[Array, ...], step: Callable[..., tuple[Array, Array]]) -> Array:
    """A matrix Y [..., m, n] column after column, each by an upper triangular system.

    Args:
        start: Y before the first step.
        columns: arrays [..., n] and [..., m, n], of which each step gets its column.
        step: ``(y, j, *columns) -> (matrix, right)``: column j solves ``matrix x = right``.
    """
    positions = cnp.arange(start._bound_shape[-1])

    def body(y: Array, item: tuple[Array, ...]) -> tuple[Array, None]:
        matrix, right = step(y, *item)
        column = lax_linalg.triangular_solve(matrix, right, left_side=True, lower=False)
        return cnp.where(positions == item[0], column[..., None], y), None

    y: Array = scan(body, start, (positions, *[cnp.moveaxis(c, -1, 0) for c in columns]))[0]
    return y


def schur_form(a: Array) -> tuple[Array, Array]:
    """The complex Schur form (T, Z)."""
    t, z = lax_linalg.schur(to_complex(a))
    return t, z


def solve_triangular_sylvester(t: Array, r: Array, f: Array) -> Array:
    """Y with ``t Y + Y r = f``, for upper triangular ``t`` and ``r``."""
    one = identity(t)

    def step(y: Array, j: Array, r_column: Array, diagonal: Array, f_column: Array) -> tuple[Array, Array]:
        del j
        known = cnp.matmul(y, r_column[..., None])[..., 0]
        return t + diagonal[..., None, None] * one, f_column - known

    return by_columns(cnp.zeros_like(f), (r, cnp.diagonal(r, axis1=-2, axis2=-1), f), step)


@custom_jvp
def sylvester(a: Array, b: Array, c: Array) -> Array:
    """The X with ``a X + X b = c``, of the dtype of ``c``."""
    t, u = schur_form(a)
    r, v = schur_form(b)
    y = solve_triangular_sylvester(t, r, cnp.matmul(cnp.matmul(adjoint(u), to_complex(c)), v))
    x = cnp.matmul(cnp.matmul(u, y), adjoint(v))
    return x if kind(c) == "complex" else cnp.real(x)


@sylvester.defjvp
def _sylvester_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    a, b, c = primals
    da, db, dc = tangents
    x = sylvester(a, b, c)
    return x, sylvester(a, b, dc - cnp.matmul(da, x) - cnp.matmul(x, db))
