"""Matrices of a given size: Hilbert, Pascal, Helmert, Hadamard and Fourier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import bound_of
from cotangent._ops.sizes import is_dimension, length_of_size
from cotangent.scipy.linalg import ragged_matrices as ragged

__all__ = ["dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"]


# ---- Matrices of given size ------------------------------------------------------------------------------------------


def _constant(values: Any, dtype: Any = None) -> Array:
    return cnp.asarray(np.asarray(values, np.float64)).astype(dtype or _core.default_float_dtype())


def _of_size(matrix: Array, n: Any) -> Array:
    """A square matrix whose elements do not depend on its size, of that size."""
    if not is_dimension(n):
        return matrix
    size = length_of_size(n)
    return ragged.sized(matrix, size, size)


def hilbert(n: int) -> Array:
    """The Hilbert matrix of elements ``1 / (i + j + 1)``.

    Parameters
    ----------
    n : int
        Its size.

    Returns
    -------
    array, shape (n, n)
        Of the default floating dtype.

    Examples
    --------
    >>> ct.scipy.linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    size = bound_of(n)
    places = np.arange(size)
    return _of_size(_constant(1.0 / (places[:, None] + places + 1)), n)


# Above these orders matrices have elements above the range of float64.
_HIGHEST_ORDERS = {"invhilbert": 203, "pascal": 515, "invpascal": 517}
_HIGHEST_ORDER_OF_A_TRIANGLE = 1030


def _check_order(name: str, n: int, highest: int) -> None:
    if n > highest:
        raise OverflowError(
            f"{name}: elements of the matrix of order {n} are above the range of float64\n  pass an order up to {highest}"
        )


def invhilbert(n: int) -> Array:
    """The inverse of `hilbert`, which is made of integers.

    Parameters
    ----------
    n : int
        Its size.

    Returns
    -------
    array, shape (n, n)
        Of the default floating dtype, each element rounded once.

    Raises
    ------
    OverflowError
        Elements are above the range of float64.

    References
    ----------
    Man-Duen Choi, "Tricks or treats with the Hilbert matrix", 1983.

    Examples
    --------
    >>> ct.scipy.linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    if is_dimension(n):
        return ragged.by_size(length_of_size(n), bound_of(n), invhilbert, 0, "invhilbert")
    _check_order("invhilbert", n, _HIGHEST_ORDERS["invhilbert"])

    def element(i: int, j: int) -> int:
        binomials = math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1) * math.comb(i + j, i) ** 2
        return binomials * (i + j + 1) * (1 if (i + j) % 2 == 0 else -1)

    return _constant([[float(element(i, j)) for j in range(n)] for i in range(n)] or np.zeros((0, 0)))


def _pascal(n: int, kind: str | None, name: str, signed: bool) -> Array:
    check_word(name, "kind", kind, ("symmetric", "lower", "upper", None))
    if is_dimension(n):
        # The product of the signed triangles is of all their rows; every other element is the same for all sizes.
        if signed and kind in (None, "symmetric"):
            return ragged.by_size(length_of_size(n), bound_of(n), invpascal, 0, name)
        return _of_size(_pascal(bound_of(n), kind, name, signed), n)
    _check_order(name, n, _HIGHEST_ORDERS[name] if kind in (None, "symmetric") else _HIGHEST_ORDER_OF_A_TRIANGLE)
    lower = [[math.comb(i, j) * (-1) ** (i - j if signed else 0) for j in range(n)] for i in range(n)]
    if kind in (None, "symmetric"):
        # Integers, so that nothing is rounded before the end.
        pairs = zip(*lower, strict=True) if signed else lower
        rows = [list(row) for row in pairs]
        values = [[sum(x * y for x, y in zip(p, q, strict=True)) for q in rows] for p in rows]
    else:
        values = lower if kind == "lower" else [list(row) for row in zip(*lower, strict=True)]
    return _constant([[float(v) for v in row] for row in values] or np.zeros((0, 0)))


def pascal(n: int, kind: str | None = None) -> Array:
    """The Pascal matrix of binomial coefficients.

    Parameters
    ----------
    n : int
        Its size.
    kind : str, optional
        "symmetric" (the default) for (i + j choose i), "lower" or "upper" for a triangle of (i choose j).

    Returns
    -------
    array, shape (n, n)
        Of the default floating dtype, each element rounded once.

    Raises
    ------
    ValueError
        The kind is unknown.
    OverflowError
        Elements are above the range of float64.

    Examples
    --------
    >>> ct.scipy.linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    return _pascal(n, kind, "pascal", False)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of `pascal`, which is made of integers.

    Parameters
    ----------
    n : int
        Its size.
    kind : str, optional
        As of `pascal`.

    Returns
    -------
    array, shape (n, n)
        Of the default floating dtype, each element rounded once.

    Raises
    ------
    ValueError
        The kind is unknown.
    OverflowError
        Elements are above the range of float64.

    Examples
    --------
    >>> ct.scipy.linalg.invpascal(3)
    Array([[ 3., -3.,  1.],
           [-3.,  5., -2.],
           [ 1., -2.,  1.]], dtype=float32)
    """
    return _pascal(n, kind, "invpascal", True)


def helmert(n: int, full: bool = False) -> Array:
    """The Helmert matrix: orthonormal rows that are orthogonal to (1, ..., 1).

    Parameters
    ----------
    n : int
        The number of columns, at least 1.
    full : bool
        Whether the multiple of (1, ..., 1) of length 1 comes first.

    Returns
    -------
    array, shape (n - 1, n) or (n, n)
        Of the default floating dtype.

    Raises
    ------
    ValueError
        ``n`` is not positive.

    Examples
    --------
    >>> ct.scipy.linalg.helmert(3).round(4)
    Array([[ 0.7071, -0.7071,  0.    ],
           [ 0.4082,  0.4082, -0.8165]], dtype=float32)
    """
    if is_dimension(n):
        return ragged.by_size(
            length_of_size(n), bound_of(n), lambda size: helmert(size, full), 0 if full else 1, "helmert"
        )
    if n < 1:
        raise ValueError(f"helmert: n must be positive; got {n}\n  pass the number of columns, 1 or more")
    rows, columns = np.arange(n)[:, None], np.arange(n)
    values = np.where(columns < rows, 1.0, np.where(columns == rows, -rows, 0.0))
    values[0] = 1.0
    values /= np.sqrt(np.where(rows == 0, n, rows * (rows + 1)))
    return _constant(values if full else values[1:])


def hadamard(n: int, dtype: Any = int) -> Array:
    """Sylvester's Hadamard matrix: of 1 and -1, with orthogonal rows.

    Parameters
    ----------
    n : int
        Its size, a power of 2.
    dtype : dtype
        By default the default integer dtype.

    Returns
    -------
    array, shape (n, n)
        The matrix.

    Raises
    ------
    ValueError
        ``n`` is no power of 2.

    Examples
    --------
    >>> ct.scipy.linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    if n < 1 or n & (n - 1):
        raise ValueError(
            f"hadamard: n must be a positive power of 2; got {n}\n"
            f"  pass {1 << max(n - 1, 0).bit_length()}, and cut the matrix"
        )
    values = np.ones((1, 1), np.int8)
    while len(values) < n:
        values = np.block([[values, values], [values, -values]])
    return cnp.asarray(values).astype(dtype)


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Parameters
    ----------
    n : int
        Its size.
    scale : str, optional
        What it is divided by: None for 1, "sqrtn" or "n".
    dtype : dtype, optional
        complex64 or complex128; by default the default complex dtype.

    Returns
    -------
    array, shape (n, n)
        The matrix.

    Raises
    ------
    ValueError
        The scale is unknown, or the dtype is not complex.

    Examples
    --------
    >>> ct.scipy.linalg.dft(2).round(4)
    Array([[ 1.+0.j,  1.+0.j],
           [ 1.+0.j, -1.-0.j]], dtype=complex64)
    """
    check_word("dft", "scale", scale, (None, "sqrtn", "n"))
    dtype = _core.default_complex_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) != "complex":
        raise ValueError(
            f"dft: the dtype must be complex; got {dtype}\n  pass dtype='complex64'; the real part is dft(n).real"
        )
    if is_dimension(n):
        matrix = ragged.ragged_dft(length_of_size(n), bound_of(n), dtype)
        return matrix * ragged.factor(scale, length_of_size(n), matrix.dtype)
    places = np.arange(n)
    values = np.exp(-2j * np.pi * (places[:, None] * places % max(n, 1)) / max(n, 1))
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}[scale]
    return cnp.asarray(values / divisor).astype(dtype)


check_arguments(globals())
