"""Matrices with a name: Toeplitz, Hankel, Hilbert, Pascal and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.extents import bound_of, capacity
from cotangent._ops.sizes import is_dimension, length_of_size
from cotangent.lax.window_geometry import sliding
from cotangent.scipy.linalg import ragged_matrices as ragged

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
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
            raise ValueError(f"block_diag takes arrays with at most two axes; argument {i} has shape {block.shape}")
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
        raise ValueError("hankel takes vectors; got a scalar")
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
            f"leslie takes f with at least two elements and s with one less; got {first.shape} and {below.shape}"
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
        raise ValueError(f"{name} needs at least {least} elements; got shape {x.shape}")
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
        raise ValueError(f"convolution_matrix: n must be positive; got {n}")
    if x.ndim == 0 or capacity(x, -1) == 0:
        raise ValueError(f"convolution_matrix takes vectors with elements; got shape {x.shape}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix: mode must be 'full', 'same' or 'valid'; got {mode!r}")
    if is_dimension(n) or ragged.last_ragged(x):
        return ragged.ragged_convolution_matrix(x, cnp.asarray(n, "int32"), columns, mode)
    m = capacity(x, -1)
    trim = 0 if mode == "full" else min(columns, m) - 1
    top = trim // 2 if mode == "same" else trim
    bottom = trim - top if mode == "same" else trim
    rows = m + columns - 1 - bottom - top
    return _sloped(cnp.flip(x, -1), (rows, columns), -1, m - 1 - top)


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


# Above this order each of these matrices has elements above the range of float64; before the first is worked out.
_HIGHEST_ORDER = 1030


def _check_order(name: str, n: int) -> None:
    if n > _HIGHEST_ORDER:
        raise OverflowError(f"{name}: elements of the matrix of order {n} are above the range of float64")


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
    _check_order("invhilbert", n)

    def element(i: int, j: int) -> int:
        binomials = math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1) * math.comb(i + j, i) ** 2
        return binomials * (i + j + 1) * (1 if (i + j) % 2 == 0 else -1)

    return _constant([[float(element(i, j)) for j in range(n)] for i in range(n)] or np.zeros((0, 0)))


def _pascal(n: int, kind: str | None, name: str, signed: bool) -> Array:
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"{name}: kind must be 'symmetric', 'lower' or 'upper'; got {kind!r}")
    if is_dimension(n):
        # The product of the signed triangles is of all their rows; every other element is the same for all sizes.
        if signed and kind in (None, "symmetric"):
            return ragged.by_size(length_of_size(n), bound_of(n), invpascal, 0, name)
        return _of_size(_pascal(bound_of(n), kind, name, signed), n)
    _check_order(name, n)
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
        raise ValueError(f"helmert: n must be positive; got {n}")
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
        raise ValueError(f"hadamard: n must be a positive power of 2; got {n}")
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
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale must be None, 'sqrtn' or 'n'; got {scale!r}")
    dtype = _core.default_complex_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) != "complex":
        raise ValueError(f"dft: the dtype must be complex; got {dtype}")
    if is_dimension(n):
        matrix = ragged.ragged_dft(length_of_size(n), bound_of(n), dtype)
        return matrix * ragged.factor(scale, length_of_size(n), matrix.dtype)
    places = np.arange(n)
    values = np.exp(-2j * np.pi * (places[:, None] * places % max(n, 1)) / max(n, 1))
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}[scale]
    return cnp.asarray(values / divisor).astype(dtype)


check_arguments(globals())
