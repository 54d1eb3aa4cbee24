"""Determinants, and their signs and logarithms."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import convert, kind, real_dtype
from cotangent._ops.extents import capacity
from cotangent._ops.matrices import (
    check_square,
    identity,
    matrices,
    trace,
)
from cotangent._ops.matrices import (
    diagonal as diagonal_of,
)
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.lax.linalg import solve_factored, triangular_solve

__all__ = ["det", "slogdet"]


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Array
    logabsdet: Array


# ---- Determinants ----------------------------------------------------------------------------------------------------


def _parity(pivots: Array, dtype: Any) -> Array:
    """The sign of the permutation that pivots make."""
    rows = ops.arange(capacity(pivots, -1), dtype="int32")
    exchanges = ops.sum(convert(pivots != rows, "int32"), -1)
    return convert(1 - 2 * (exchanges % 2), dtype)


def _scales(diagonal: Array) -> tuple[Array, Array, Array]:
    """Powers of two for the factors of a product, so that none of its parts overflows or underflows, and two for the result."""
    info = np.finfo(real_dtype(diagonal.dtype))
    bits, width, bias = np.dtype(f"uint{info.bits}"), int(info.nmant), int(info.maxexp) - 1
    size = ops.abs(primitives.stop_gradient(diagonal))
    size = ops.where(size > 0, size, 1)
    if capacity(size, -1) < bias:
        exponents = convert(primitives.bitcast(size, dtype=bits) >> width, "int32") - bias
    else:  # so many that numbers from 1 to 2 may have a product that overflows
        logarithms = ops.log2(ops.where(ops.isfinite(size), size, 1))
        reached = ops.cumsum(logarithms, -1)
        exponents = convert(ops.round(reached) - ops.round(reached - logarithms), "int32")

    def power(exponent: Array) -> Array:
        biased = convert(ops.clip(exponent, 1 - bias, bias) + bias, bits)
        return convert(primitives.bitcast(biased << width, dtype=info.dtype), diagonal.dtype)

    exponents = ops.clip(exponents, 1 - bias, bias - 1)
    total = ops.sum(exponents, -1)
    half = total >> 1
    return power(-exponents), power(half), power(total - half)


@custom_jvp_by_type
def _det(a: Array) -> Array:
    factors, pivots, _ = primitives.lu(a)
    diagonal = diagonal_of(factors)
    scale, first, second = _scales(diagonal)
    return _parity(pivots, a.dtype) * ops.prod(diagonal * scale, -1) * first * second


@_det.defjvp
def _det_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The trace of adj(A) dA, where adj(A) is det(A) A^-1 for regular A.

    Where U has one zero on its diagonal, in row k, let V be U with a 1 there: adj(U) = det(V) V^-1 e_k e_k^T V^-1. With two
    or more zeros it is 0.
    """
    a, change = primals[0], tangents[0]
    factors, pivots, permutation = primitives.lu(a)
    diagonal = diagonal_of(factors)
    is_zero = diagonal == 0
    count = ops.sum(convert(is_zero, "int32"), -1)
    sign = _parity(pivots, a.dtype)
    # Half of the determinant's magnitude goes in before the systems are solved and half after: it may overflow where adj(A) does not.
    scale, first, second = _scales(diagonal)
    others = sign * ops.prod(ops.where(is_zero, 1, diagonal) * scale, -1) * second
    hole = convert(is_zero, a.dtype)[..., None]
    filled = factors + hole * identity(a)
    solved = solve_factored(a, filled, permutation, change * first[..., None, None])
    beside = ops.matmul(solved, triangular_solve(filled, hole, left_side=True, lower=False))
    one_zero = ops.sum(hole * beside, (-2, -1))
    tangent = others * ops.where(count == 0, trace(solved), ops.where(count == 1, one_zero, 0))
    return sign * ops.prod(diagonal * scale, -1) * first * second, tangent


Elements = list[list[Array]]


def _minor(e: Elements, i: int, j: int) -> Elements:
    """The elements that are in another row and another column."""
    return [[x for column, x in enumerate(row) if column != j] for number, row in enumerate(e) if number != i]


def _expanded(e: Elements) -> Array:
    if len(e) == 1:
        return e[0][0]
    terms = [e[0][j] * _expanded(_minor(e, 0, j)) for j in range(len(e))]
    result: Array = terms[0] - terms[1] if len(e) == 2 else terms[0] - terms[1] + terms[2]
    return result


@custom_jvp_by_type
def _small_det(e: Elements) -> Array:
    """By the products themselves, or, where these overflow, of rows that are scaled by powers of two."""
    plain = _expanded(e)
    largest = [functools.reduce(ops.maximum, [ops.abs(x) for x in row]) for row in e]
    scale, first, second = _scales(ops.stack(largest, -1))
    scaled = _expanded([[x * scale[..., i] for x in row] for i, row in enumerate(e)])
    result: Array = ops.where(ops.isfinite(plain), plain, scaled * first * second)
    return result


@_small_det.defjvp
def _small_det_jvp(primals: tuple[Elements], tangents: tuple[Elements]) -> tuple[Array, Array]:
    """The sum of the changes by their cofactors."""
    (e,), (change,) = primals, tangents
    n = range(len(e))
    minors = [[_minor(e, i, j) for j in n] for i in n]
    cofactors = [[_small_det(minor) if len(minor) > 1 else minor[0][0] for minor in row] for row in minors]
    terms = [(cofactors[i][j] if (i + j) % 2 == 0 else -cofactors[i][j]) * change[i][j] for i in n for j in n]
    return _small_det(e), functools.reduce(operator.add, terms)


@matrices()
def det(a: Any) -> Array:
    """The determinants of square matrices.

    The gradient of a singular matrix is its adjugate, of whatever rank.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (...)
        The determinants.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    Examples
    --------
    >>> ct.numpy.linalg.det([[1.0, 2.0], [3.0, 4.0]])
    Array(-2., dtype=float32)

    >>> ct.grad(ct.numpy.linalg.det)(np.float32([[1, 2], [2, 4]]))
    Array([[ 4., -2.],
           [-2.,  1.]], dtype=float32)
    """
    check_square(a, "det")
    n = capacity(a, -1)
    if n not in (2, 3) or _core.ragged_axes(a):
        general: Array = _det(a)
        return general
    small: Array = _small_det([[a[..., i, j] for j in range(n)] for i in range(n)])
    return small


@custom_jvp_by_type
def _slogdet(a: Array) -> tuple[Array, Array]:
    factors, pivots, _ = primitives.lu(a)
    return _sign_and_log(diagonal_of(factors), pivots)


def _sign_and_log(diagonal: Array, pivots: Array) -> tuple[Array, Array]:
    size = ops.abs(diagonal)
    singular = ops.any(size == 0, -1)
    units = diagonal / ops.where(size == 0, 1, size).astype(diagonal.dtype)
    sign = _parity(pivots, diagonal.dtype) * ops.prod(units, -1)
    log = ops.sum(ops.log(ops.where(size == 0, 1, size)), -1)
    return ops.where(singular, 0, sign).astype(diagonal.dtype), ops.where(singular, -math.inf, log).astype(size.dtype)


@_slogdet.defjvp
def _slogdet_jvp(primals: tuple[Array], tangents: tuple[Array]) -> Any:
    a = primals[0]
    factors, pivots, permutation = primitives.lu(a)
    sign, log = _sign_and_log(diagonal_of(factors), pivots)
    relative = trace(solve_factored(a, factors, permutation, tangents[0]))
    if kind(a) != "complex":
        return (sign, log), (sign * 0, relative)
    growth = ops.real(relative)
    return (sign, log), (sign * (relative - growth), growth)


@matrices()
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign, or phase, of the determinants of square matrices, and the logarithms of their absolute values.

    Of a singular matrix it is 0 and -inf, and the derivative is infinite or NaN.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.
    method : str, optional
        ``"lu"`` (None) or ``"qr"``, which is computed by LU, too.

    Returns
    -------
    named tuple of two arrays, shape (...)
        ``sign`` and ``logabsdet``.

    Raises
    ------
    LinAlgError
        The matrices are not square.
    ValueError
        There is no such method.

    Examples
    --------
    >>> sign, logarithm = ct.numpy.linalg.slogdet([[1.0, 2.0], [3.0, 4.0]])
    >>> float(sign), round(float(logarithm), 4)
    (-1.0, 0.6931)
    """
    check_square(a, "slogdet")
    if method not in (None, "lu", "qr"):
        raise not_among("slogdet", "method", method, (None, "lu", "qr"))
    return SlogdetResult(*_slogdet(a))


check_arguments(globals())
