"""Matrices with a name: Toeplitz, Hankel, Hilbert, Pascal and others."""

from __future__ import annotations

from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import bound_of, capacity
from cotangent._ops.sizes import is_dimension
from cotangent.lax.window_geometry import sliding
from cotangent.scipy.linalg import ragged_matrices as ragged

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "fiedler",
    "fiedler_companion",
    "hankel",
    "leslie",
    "toeplitz",
]


def _vectors(x: Any) -> Array:
    """An array of vectors [..., n]."""
    array = _core.array(x)
    return array[None] if array.ndim == 0 else array


def _placed(x: Array, index: np.ndarray[Any, Any]) -> Array:
    """The matrices [..., m, n] of the elements of vectors that ``index`` names; 0 where it is negative."""
    taken = cnp.take(x, cnp.asarray(np.maximum(index, 0)), axis=-1)
    return taken if (index >= 0).all() else cnp.where(cnp.asarray(index >= 0), taken, 0).astype(x.dtype)


def _sloped(x: Array, shape: tuple[int, int], slope: int, offset: int) -> Array:
    """The matrices of that shape with elements [i, j] x[..., j + slope * i + offset], and 0 where that is outside.

    As windows of the vector, which fuse with what reads them and whose derivative is a sum along diagonals: over the
    rows, or over the columns where these are fewer.
    """
    last = x.ndim - 1
    rows, columns = shape
    if rows <= columns:
        return sliding(x, [last], [rows], [columns], [1], [slope], [1], [-offset], at=last)
    if slope < 0:
        x, offset = cnp.flip(x, -1), capacity(x, -1) - 1 - offset
    return sliding(x, [last], [columns], [rows], [1], [slope], [1], [-offset], at=last + 1)


def block_diag(*arrs: Any) -> Array:
    """The matrix with the given matrices on its diagonal and 0 elsewhere.

    Parameters
    ----------
    *arrs : array
        Of two axes; vectors are rows, scalars 1 x 1. Several dtypes are promoted.

    Returns
    -------
    array
        As many rows and columns as all of them together.

    Raises
    ------
    ValueError
        An argument has more than two axes.

    Examples
    --------
    >>> ct.scipy.linalg.block_diag(ct.numpy.array([[1, 2]]), 3)
    Array([[1, 2, 0],
           [0, 0, 3]], dtype=int32)
    """
    blocks = [cnp.atleast_2d(x) for x in arrs] or [cnp.zeros((1, 0))]
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"block_diag takes arrays with at most two axes; argument {i} has shape {block.shape}\n"
                "  pass its matrices one by one: block_diag(*x)"
            )
    dtype = _core.promote_types([(b.dtype, b.weak_type) for b in blocks])[0]
    if any(_core.ragged_axes(block) for block in blocks):
        return ragged.ragged_block_diag([block.astype(dtype) for block in blocks])
    width, start, rows = sum(capacity(b, 1) for b in blocks), 0, []
    for block in blocks:
        columns = capacity(block, 1)
        rows.append(cnp.pad(block.astype(dtype), ((0, 0), (start, width - columns - start))))
        start += columns
    return cnp.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Array:
    """The matrix with constant diagonals of a given first column and row.

    Parameters
    ----------
    c : array, shape (..., m)
        The first column.
    r : array, shape (..., n), optional
        The first row, whose first element does not count; by default the conjugate of ``c``.

    Returns
    -------
    array, shape (..., m, n)
        The matrices.

    Examples
    --------
    >>> ct.scipy.linalg.toeplitz(ct.numpy.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 1, 2],
           [3, 2, 1]], dtype=int32)
    """
    column = _vectors(c)
    row = cnp.conj(column) if r is None else _vectors(r)
    m, n = capacity(column, -1), capacity(row, -1)
    batch = cnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    dtype = cnp.result_type(column, row)
    if ragged.last_ragged(column, row):
        return ragged.ragged_toeplitz(column.astype(dtype), row.astype(dtype))
    if m == 0 or n == 0:
        return cnp.zeros((*batch, m, n), dtype)
    column, row = cnp.broadcast_to(column, (*batch, m)), cnp.broadcast_to(row, (*batch, n))
    elements = cnp.concatenate([cnp.flip(column, -1).astype(dtype), row[..., 1:].astype(dtype)], -1)
    return _sloped(elements, (m, n), -1, m - 1)


def hankel(c: Any, r: Any = None) -> Array:
    """The matrix with constant anti-diagonals of a given first column and last row.

    Parameters
    ----------
    c : array, shape (..., m)
        The first column.
    r : array, shape (..., n), optional
        The last row, whose first element does not count; by default zeros.

    Returns
    -------
    array, shape (..., m, n)
        The matrices.

    Raises
    ------
    ValueError
        An argument is a scalar.

    Examples
    --------
    >>> ct.scipy.linalg.hankel(ct.numpy.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int32)
    """
    column = _core.array(c)
    row = cnp.zeros_like(column) if r is None else _core.array(r)
    if column.ndim == 0 or row.ndim == 0:
        raise ValueError("hankel takes vectors; got a scalar\n  pass ct.numpy.atleast_1d(c)")
    m, n = capacity(column, -1), capacity(row, -1)
    batch = cnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    dtype = cnp.result_type(column, row)
    if ragged.last_ragged(column, row):
        return ragged.ragged_hankel(column.astype(dtype), row.astype(dtype))
    column, row = cnp.broadcast_to(column, (*batch, m)), cnp.broadcast_to(row, (*batch, n))
    elements = cnp.concatenate([column.astype(dtype), row[..., 1:].astype(dtype)], -1)
    return _sloped(elements, (m, n), 1, 0)


def circulant(c: Any) -> Array:
    """The matrix of a given first column whose other columns are each the last one moved down by one.

    Parameters
    ----------
    c : array, shape (..., n)
        The first column.

    Returns
    -------
    array, shape (..., n, n)
        The matrices.

    Examples
    --------
    >>> ct.scipy.linalg.circulant(ct.numpy.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    x = _vectors(c)
    n = capacity(x, -1)
    if ragged.last_ragged(x):
        return ragged.ragged_circulant(x)
    backwards = cnp.flip(x, -1)
    return _sloped(cnp.concatenate([backwards, backwards], -1), (n, n), -1, n - 1)


def leslie(f: Any, s: Any) -> Array:
    """The matrix of the growth of a population in classes of age.

    Parameters
    ----------
    f : array, shape (..., n)
        The fecundities, its first row; n is at least 2.
    s : array, shape (..., n - 1)
        The survivals, its lower diagonal.

    Returns
    -------
    array, shape (..., n, n)
        The matrices.

    Raises
    ------
    ValueError
        The lengths do not fit.

    References
    ----------
    Patrick H. Leslie, "On the use of matrices in certain population mathematics", 1945.

    Examples
    --------
    >>> ct.scipy.linalg.leslie(ct.numpy.array([0.0, 2.0, 1.0]), ct.numpy.array([0.5, 0.25]))
    Array([[0.  , 2.  , 1.  ],
           [0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]], dtype=float32)
    """
    first, below = _vectors(f), _vectors(s)
    n = capacity(first, -1)
    if n < 2 or capacity(below, -1) != n - 1:
        raise ValueError(
            f"leslie takes f with at least two elements and s with one less; got {first.shape} and {below.shape}\n"
            f"  pass s[:{max(n - 1, 0)}], or more elements of f"
        )
    dtype = cnp.result_type(first, below)
    if ragged.last_ragged(first, below):
        return ragged.ragged_leslie(first.astype(dtype), below.astype(dtype))
    batch = cnp.broadcast_shapes(first.shape[:-1], below.shape[:-1])
    under = cnp.where(cnp.eye(n - 1, dtype=bool), below.astype(dtype)[..., None, :], 0).astype(dtype)
    under = cnp.concatenate([under, cnp.zeros((*below.shape[:-1], n - 1, 1), dtype)], -1)
    rows = [first.astype(dtype)[..., None, :], under]
    return cnp.concatenate([cnp.broadcast_to(row, (*batch, *row.shape[-2:])) for row in rows], -2)


def _inexact_vectors(a: Any, least: int, name: str) -> Array:
    x = _vectors(_core.promote([a], inexact=True)[0])
    if capacity(x, -1) < least:
        raise ValueError(
            f"{name} needs at least {least} elements; got shape {x.shape}\n"
            f"  pass a vector of the coefficients, {least} or more"
        )
    return x


def companion(a: Any) -> Array:
    """The matrix whose eigenvalues are the roots of a polynomial.

    Parameters
    ----------
    a : array, shape (..., n + 1)
        The coefficients, the highest first; at least two.

    Returns
    -------
    array, shape (..., n, n)
        The matrices.

    Raises
    ------
    ValueError
        There are fewer than two coefficients.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 7.4.

    Examples
    --------
    >>> ct.scipy.linalg.companion(ct.numpy.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    x = _inexact_vectors(a, 2, "companion")
    if ragged.last_ragged(x):
        return ragged.ragged_companion(x)
    n = capacity(x, -1) - 1
    first = (-x[..., 1:] / x[..., :1])[..., None, :]
    return cnp.concatenate([first, cnp.broadcast_to(cnp.eye(n - 1, n, dtype=x.dtype), (*x.shape[:-1], n - 1, n))], -2)


def fiedler(a: Any) -> Array:
    """The absolute differences of all pairs of elements.

    Parameters
    ----------
    a : array, shape (..., n)
        Numbers.

    Returns
    -------
    array, shape (..., n, n)
        The matrices.

    Examples
    --------
    >>> ct.scipy.linalg.fiedler(ct.numpy.array([1, 4, 6]))
    Array([[0, 3, 5],
           [3, 0, 2],
           [5, 2, 0]], dtype=int32)
    """
    x = _vectors(a)
    return cnp.abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: Any) -> Array:
    """Fiedler's companion matrix, with five diagonals, whose eigenvalues are the roots of a polynomial.

    Parameters
    ----------
    a : array, shape (..., n + 1)
        The coefficients, the highest first.

    Returns
    -------
    array, shape (..., n, n)
        The matrices.

    Raises
    ------
    ValueError
        There are no coefficients.

    References
    ----------
    Miroslav Fiedler, "A note on companion matrices", 2003.

    Examples
    --------
    >>> ct.scipy.linalg.fiedler_companion(ct.numpy.array([1.0, -6.0, 11.0, -6.0]))
    Array([[  6., -11.,   1.],
           [  1.,   0.,   0.],
           [  0.,   6.,   0.]], dtype=float32)
    """
    x = _inexact_vectors(a, 1, "fiedler_companion")
    n = capacity(x, -1) - 1
    i, j = np.arange(n)[:, None], np.arange(n)
    even = i % 2 == 0
    coefficient = np.full((n, n), -1)
    coefficient = np.where(even & (j == i + 1), i + 2, coefficient)
    coefficient = np.where(even & (j == i - 1) & (i >= 2), i + 1, coefficient)
    coefficient = np.where((i == 0) & (j == 0), 1, coefficient)
    ones = ((i == 1) & (j == 0)) | (even & (j == i + 2)) | (~even & (j == i - 2) & (i >= 3))
    if ragged.last_ragged(x):
        placed = ragged.ragged_placed(-x / x[..., 0][..., None], coefficient, 1)
    else:
        placed = _placed(-x / x[..., :1], coefficient)
    return placed + cnp.asarray(ones).astype(x.dtype)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector is its convolution with ``a``.

    Parameters
    ----------
    a : array, shape (..., m)
        What is convolved with.
    n : int
        The number of columns: the size of the vector.
    mode : str
        "full" (the default), "same" or "valid", as of `cotangent.numpy.convolve`.

    Returns
    -------
    array, shape (..., k, n)
        The matrices; k is the size of the convolution.

    Raises
    ------
    ValueError
        ``n`` is not positive, ``a`` has no elements, or the mode is unknown.

    Examples
    --------
    >>> ct.scipy.linalg.convolution_matrix(ct.numpy.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    columns = bound_of(n)
    x = _core.array(a)
    if columns <= 0:
        raise ValueError(
            f"convolution_matrix: n must be positive; got {n}\n"
            "  pass the length of the vector that the matrix is multiplied with"
        )
    if x.ndim == 0 or capacity(x, -1) == 0:
        raise ValueError(
            f"convolution_matrix takes vectors with elements; got shape {x.shape}\n"
            "  pass ct.numpy.atleast_1d(a), of one element or more"
        )
    check_word("convolution_matrix", "mode", mode, ("full", "same", "valid"))
    if is_dimension(n) or ragged.last_ragged(x):
        return ragged.ragged_convolution_matrix(x, cnp.asarray(n, "int32"), columns, mode)
    m = capacity(x, -1)
    trim = 0 if mode == "full" else min(columns, m) - 1
    top = trim // 2 if mode == "same" else trim
    bottom = trim - top if mode == "same" else trim
    rows = m + columns - 1 - bottom - top
    return _sloped(cnp.flip(x, -1), (rows, columns), -1, m - 1 - top)


check_arguments(globals())
