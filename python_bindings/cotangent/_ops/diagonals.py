"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._core import Array, Primitive
from cotangent._ops.binding import literal
from cotangent._ops.creation import _check_order
from cotangent._ops.ranges import _iota
from cotangent._ops.sizes import (
    axis_size,
    bound_size,
    normalize_axis,
    static_shape,
)

__all__ = [
    "diag",
    "diag_indices",
    "diagflat",
    "diagonal",
    "eye",
    "identity",
    "tri",
    "tril",
    "triu",
]


def _offsets(rows: int, columns: int) -> Array:
    """Column - row of each element of a matrix."""
    int32 = np.dtype("int32")
    return primitives.iota(shape=[rows, columns], dtype=int32, axis=1) - primitives.iota(
        shape=[rows, columns], dtype=int32, axis=0
    )


def _diagonal(k: Any, rows: int, columns: int) -> int:
    """The number of a diagonal, one just outside of the matrix for all that are outside."""
    return max(-rows, min(int(k), columns))


def eye(
    N: Any, M: Any = None, k: int = 0, dtype: Any = None, order: str | None = "C", *, device: Placement = None
) -> Array:
    """A matrix with ones on one diagonal, and zeros elsewhere.

    Parameters
    ----------
    N : int
        The number of rows.
    M : int, optional
        The number of columns. None: N.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.
    order : str or None, default "C"
        Checked only; there is one order of memory.
    device : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array, shape (N, M)
        The matrix.

    Examples
    --------
    >>> ct.numpy.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    _check_order(order, "eye")
    return _eye("eye", N, M, k, dtype)


def _eye(name: str, N: Any, M: Any, k: int, dtype: Any) -> Array:
    (rows, columns), lengths = static_shape((N, N if M is None else M), name)
    offset = _offsets(rows, columns)
    ones = _core.convert(
        _compared(primitives.eq, offset, k),
        _core.default_float_dtype() if dtype is None else dtype,
    )
    return give_lengths(ones, lengths)


def identity(n: int, dtype: Any = None) -> Array:
    """The identity matrix.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.

    Returns
    -------
    array, shape (n, n)
        The matrix.

    Examples
    --------
    >>> ct.numpy.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _eye("identity", n, None, 0, dtype)


def tri(N: int, M: int | None = None, k: Any = 0, dtype: Any = None) -> Array:
    """A matrix with ones on and below one diagonal, and zeros above it.

    Parameters
    ----------
    N : int
        The number of rows.
    M : int, optional
        The number of columns. None: N.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.

    Returns
    -------
    array, shape (N, M)
        The matrix.

    Examples
    --------
    >>> ct.numpy.tri(3, dtype=int)
    Array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]], dtype=int32)
    """
    (rows, columns), lengths = static_shape((N, N if M is None else M), "tri")
    ones = _core.convert(_up_to(_offsets(rows, columns), k), _core.default_float_dtype() if dtype is None else dtype)
    return give_lengths(ones, lengths)


def _compared(primitive: Primitive, offset: Array, k: Any) -> Array:
    """Offsets compared with ``k``, which may be a value, or beyond what offsets can be."""
    if isinstance(k, Array):
        wide = np.dtype("int64")
        return primitive(_core.convert(offset, wide), _core.broadcast_to(_core.convert(k, wide), offset._bound_shape))
    return primitive(offset, literal(offset, _diagonal(k, *offset._bound_shape)))


def _up_to(offset: Array, k: Any) -> Array:
    return _compared(primitives.le, offset, k)


def _triangle(m: Any, k: int, lower: bool, name: str) -> Array:
    x = _core.array(m)
    if x.ndim < 2:
        raise ValueError(
            f"{name} needs at least two axes; got shape {x.shape}\n  make a matrix of it first: atleast_2d(x)"
        )
    rows, columns = x._bound_shape[-2:]
    offset = _offsets(rows, columns)
    keep = _up_to(offset, k) if lower else primitives.not_(_up_to(offset, k - 1))
    keep = primitives.broadcast(keep, shape=list(x._bound_shape), axes=[x.ndim - 2, x.ndim - 1])
    return primitives.select(keep, x, literal(x, 0))


def tril(m: Any, k: int = 0) -> Array:
    """The lower triangle of matrices, with zeros above one diagonal.

    Parameters
    ----------
    m : array, shape (..., m, n)
        The matrices.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    array, shape (..., m, n)
        The triangles.

    Raises
    ------
    ValueError
        There are fewer than two axes.

    Examples
    --------
    >>> ct.numpy.tril([[1, 2], [3, 4]])
    Array([[1, 0],
           [3, 4]], dtype=int32)
    """
    return _triangle(m, k, True, "tril")


def triu(m: Any, k: int = 0) -> Array:
    """The upper triangle of matrices, with zeros below one diagonal.

    Parameters
    ----------
    m : array, shape (..., m, n)
        The matrices.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    array, shape (..., m, n)
        The triangles.

    Raises
    ------
    ValueError
        There are fewer than two axes.

    Examples
    --------
    >>> ct.numpy.triu([[1, 2], [3, 4]])
    Array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle(m, k, False, "triu")


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array whose axes have one size.

    Parameters
    ----------
    n : int
        The size of the axes.
    ndim : int, default 2
        The number of axes.

    Returns
    -------
    tuple of array, shape (n,)
        The indices along each axis.

    Examples
    --------
    >>> ct.numpy.ones((2, 2))[ct.numpy.diag_indices(2)]
    Array([1., 1.], dtype=float32)
    """
    (size,), lengths = static_shape(n, "diag_indices")
    return (give_lengths(_iota(size, _core.default_int_dtype()), lengths),) * ndim


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the matrices in two axes.

    Parameters
    ----------
    a : array
        Two or more axes.
    offset : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    axis1, axis2 : int, default 0 and 1
        The axes of the rows and of the columns of the matrices.

    Returns
    -------
    array
        The other axes, then one of the diagonal.

    Raises
    ------
    ValueError
        There are fewer than two axes, or both are the same.

    Examples
    --------
    >>> ct.numpy.diagonal([[1, 2, 3], [4, 5, 6]], offset=1)
    Array([2, 6], dtype=int32)
    """
    x = _core.array(a)
    if x.ndim < 2:
        raise ValueError(
            f"diagonal needs at least two axes; got shape {x.shape}\n"
            "  make a matrix of it first: atleast_2d(x); diag(x) makes one with the elements of a vector on its diagonal"
        )
    i, j = normalize_axis(axis1, x.ndim, "diagonal"), normalize_axis(axis2, x.ndim, "diagonal")
    if i == j:
        raise ValueError("diagonal: axis1 and axis2 must be different\n  pass two different axes, as axis1=0, axis2=1")
    rest = [axis for axis in range(x.ndim) if axis not in (i, j)]
    x = primitives.transpose(x, permutation=[*rest, i, j])
    shape = list(x._bound_shape)
    rows, columns = shape[-2:]
    start_row, start_column = max(0, -offset), max(0, offset)
    size = max(0, min(rows - start_row, columns - start_column))
    if any(axis >= x.ndim - 2 for axis in _core.ragged_axes(x)):
        return _ragged_diagonal(x, offset, start_row, start_column, size)
    flat = primitives.reshape(x, shape=[*shape[:-2], rows * columns])
    position = _iota(size, "int32") * literal(_iota(size, "int32"), columns + 1)
    position = position + literal(position, start_row * columns + start_column)
    return primitives.gather(flat, position, axis=x.ndim - 2, batch_dims=0)


def _ragged_diagonal(x: Array, offset: int, start_row: int, start_column: int, bound: int) -> Array:
    """A diagonal of matrices whose sizes are values, the elements alone in their rows."""
    last = x.ndim - 2
    between = _offsets(*x._bound_shape[-2:])
    chosen = primitives.broadcast(
        primitives.eq(between, literal(between, offset)), shape=list(x._bound_shape), axes=[last, last + 1]
    )
    rows = primitives.reduce_sum(primitives.select(chosen, x, literal(x, 0)), axes=[last + 1])
    if last in _core.ragged_axes(rows):
        rows = primitives.fill_padding(rows, axes=[last], value=0.0)
    start, limit = [0] * last + [start_row], [*rows._bound_shape[:last], start_row + bound]
    found = primitives.slice(rows, start=start, limit=limit, stride=[1] * (last + 1))
    zero = _core.full((), 0, "int32")
    left = [
        primitives.sub(_core.array(axis_size(x, axis)).astype("int32"), _core.full((), start, "int32"))
        for axis, start in ((last, start_row), (last + 1, start_column))
    ]
    return primitives.set_length(found, primitives.max(primitives.min(*left), zero), axis=last)


def diag(v: Any, k: int = 0) -> Array:
    """The diagonal of a matrix; or, of a vector, the matrix that has it as its diagonal.

    Parameters
    ----------
    v : array, shape (m, n) or (n,)
        A matrix or a vector.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    array
        One axis, of a matrix; of a vector a square matrix.

    Raises
    ------
    ValueError
        ``v`` has no axes, or more than two.

    Examples
    --------
    >>> ct.numpy.diag([[1, 2], [3, 4]])
    Array([1, 4], dtype=int32)

    >>> ct.numpy.diag([5, 6])
    Array([[5, 0],
           [0, 6]], dtype=int32)
    """
    x = _core.array(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(
            f"diag needs one or two axes; got shape {x.shape}\n"
            "  use diagonal(x, k) for several matrices, atleast_1d(x) for a number"
        )
    size = x._bound_shape[0] + abs(k)
    padded = primitives.pad(x, _core.full((), 0, x.dtype), low=[max(k, 0)], high=[max(-k, 0)], interior=[0])
    offset = _offsets(size, size)
    wide = primitives.broadcast(padded, shape=[size, size], axes=[1])
    if _core.ragged_axes(padded):
        wide = primitives.set_length(wide, primitives.dimension_size(padded, axis=0), axis=0)
    return primitives.select(primitives.eq(offset, literal(offset, k)), wide, literal(wide, 0))


def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix that has the elements of an array as its diagonal.

    Parameters
    ----------
    v : array
        Of any shape; n elements.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    array, shape (n + abs(k), n + abs(k))
        The matrix.

    Examples
    --------
    >>> ct.numpy.diagflat([[1], [2]], k=1)
    Array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]], dtype=int32)
    """
    x = _core.array(v)
    return diag(primitives.reshape(x, shape=[bound_size(x)]), k)


check_arguments(globals())
