"""Indices of parts of arrays: triangles, diagonals, grids of combinations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import as_list, check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.dimensions import Dim
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import is_integer, kind
from cotangent._ops.division import remainder
from cotangent._ops.positions import _INT32, _integers, known, nonzero
from cotangent._ops.rounding import clip
from cotangent._ops.sizes import (
    bound_size,
    insert_axes,
    refuse_ragged,
    size_from,
    static_shape,
)
from cotangent._ops.views import as_view

__all__ = [
    "diag_indices_from",
    "ix_",
    "mask_indices",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
]


def ravel_multi_index(
    multi_index: Any, dims: Sequence[int], mode: str | Sequence[str] = "raise", order: str = "C", *, dtype: Any = None
) -> Array:
    """The positions in a flattened array of indices along each axis.

    Parameters
    ----------
    multi_index : sequence of array of int
        The indices along each axis; broadcast.
    dims : sequence of int
        The shape of the array before it is flattened.
    mode : str or sequence of str, default "raise"
        For indices outside: ``"raise"``, where they are known; ``"clip"``: the nearest; ``"wrap"``: modulo the size;
        ``"ignore"``: they are used as they are. A sequence has one for each axis.
    order : str, default "C"
        ``"C"``: the last index varies fastest; ``"F"``: the first.
    dtype : dtype, optional
        Of the result. None: that of the indices.

    Returns
    -------
    array of int
        The positions.

    Raises
    ------
    ValueError
        An index is outside with mode "raise"; the numbers of indices and sizes differ; there is no such mode or
        order.

    Examples
    --------
    >>> ct.numpy.ravel_multi_index((np.array([0, 1]), np.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int64)
    """
    of_each = "give one array of indices for each size: ravel_multi_index([rows, columns], (3, 4))"
    multi_index = as_list("ravel_multi_index", "multi_index", multi_index, of_each)
    dims = tuple(as_list("ravel_multi_index", "dims", dims, of_each))
    if len(multi_index) != len(dims):
        raise ValueError(
            f"ravel_multi_index: {len(multi_index)} indices for {len(dims)} sizes\n"
            f"  give one array of indices for each of the sizes {tuple(dims)}"
        )
    modes = [mode] * len(dims) if isinstance(mode, str) else list(mode)
    if len(modes) != len(dims):
        raise ValueError(
            f"ravel_multi_index: {len(modes)} modes for {len(dims)} sizes\n  give one mode for each size, or one word for all"
        )
    for word in modes:
        if word not in ("raise", "clip", "wrap", "ignore"):
            raise not_among("ravel_multi_index", "mode", word, ("raise", "clip", "wrap", "ignore"))
    if order not in ("C", "F"):
        raise not_among("ravel_multi_index", "order", order, ("C", "F"))
    result: Any = 0
    axes = list(zip(_core.promote(list(multi_index)), dims, modes, strict=True)) if len(dims) else []
    for index, size, mode in axes if order == "C" else axes[::-1]:
        if not is_integer(index):
            raise TypeError(
                f"ravel_multi_index takes integers; got {index.dtype}\n  convert them with .astype('int32')"
            )
        if mode == "raise":
            values = known(index, "ravel_multi_index", "pass mode='clip' or mode='wrap'")
            if ((values < 0) | (values >= size)).any():
                raise ValueError(
                    f"invalid entry in coordinates array: ravel_multi_index has an index outside of [0, {size})\n  pass mode='clip' or mode='wrap'"
                )
        elif mode == "clip":
            index = clip(index, 0, size - 1)
        elif mode == "wrap":
            index = remainder(index, size)
        result = result * size + index
    result = _core.array(result)
    return _core.convert(result, _core.default_int_dtype() if dtype is None else dtype) if dtype or not dims else result


def _triangle(name: str, n: Any, k: Any, m: Any) -> tuple[Array, Array]:
    """The indices of a triangle of an n × m matrix. Where a size or the diagonal is a value, so is their number."""
    sizes = [size_from(n, f"{name}: n"), size_from(n if m is None else m, f"{name}: m")]
    diagonal = size_from(k, f"{name}: k")
    lower = name.startswith("tril")
    if not any(isinstance(size, Dim) for size in (*sizes, diagonal)):
        rows, columns = (np.tril_indices if lower else np.triu_indices)(int(sizes[0]), int(diagonal), int(sizes[1]))
        return _integers(rows), _integers(columns)
    places, lengths = static_shape(sizes, name)
    row, column = (primitives.iota(shape=places, dtype=_INT32, axis=axis) for axis in (0, 1))
    offset = column - row
    edge = _core.broadcast_to(_core.array(diagonal), places)
    inside = offset <= edge if lower else offset >= edge
    return nonzero(give_lengths(inside, lengths))  # type: ignore[return-value]


def _sizes_of_matrix(name: str, arr: Any, k: Any) -> tuple[Any, Any, Any]:
    shape = _core.array(arr).shape
    if len(shape) != 2:
        raise ValueError(
            f"{name} takes a matrix; got shape {shape}\n  give the sizes to {name.removesuffix('_from')}, or a matrix"
        )
    return shape[0], k, shape[1]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements of a matrix on and below one diagonal.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    m : int, optional
        The number of columns. None: n.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Examples
    --------
    >>> ct.numpy.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle("tril_indices", n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements of a matrix on and above one diagonal.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    m : int, optional
        The number of columns. None: n.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Examples
    --------
    >>> ct.numpy.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle("triu_indices", n, k, m)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """The indices of the elements of a given matrix on and below one diagonal.

    Parameters
    ----------
    arr : array, shape (n, m)
        The matrix, of which only the shape counts.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Raises
    ------
    ValueError
        ``arr`` does not have two axes.

    Examples
    --------
    >>> x = ct.numpy.array([[1, 2], [3, 4]])
    >>> x[ct.numpy.tril_indices_from(x)]
    Array([1, 3, 4], dtype=int32)
    """
    return _triangle("tril_indices_from", *_sizes_of_matrix("tril_indices_from", arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """The indices of the elements of a given matrix on and above one diagonal.

    Parameters
    ----------
    arr : array, shape (n, m)
        The matrix, of which only the shape counts.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Raises
    ------
    ValueError
        ``arr`` does not have two axes.

    Examples
    --------
    >>> x = ct.numpy.array([[1, 2], [3, 4]])
    >>> x[ct.numpy.triu_indices_from(x)]
    Array([1, 2, 4], dtype=int32)
    """
    return _triangle("triu_indices_from", *_sizes_of_matrix("triu_indices_from", arr, k))


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """The indices of the main diagonal of a given array, whose axes have one size.

    Parameters
    ----------
    arr : array, shape (n, n, ...)
        The array, of which only the shape counts.

    Returns
    -------
    tuple of array of int, shape (n,)
        The indices along each axis.

    Raises
    ------
    ValueError
        There are fewer than two axes, or their sizes differ.

    Examples
    --------
    >>> x = ct.numpy.array([[1, 2], [3, 4]])
    >>> x[ct.numpy.diag_indices_from(x)]
    Array([1, 4], dtype=int32)
    """
    array = _core.array(arr)
    refuse_ragged("diag_indices_from", array, range(array.ndim), "the number of indices depends on its length")
    shape = array._bound_shape
    if len(shape) < 2 or len(set(shape)) != 1:
        raise ValueError(
            f"diag_indices_from takes an array of two or more axes of equal size; got shape {shape}\n"
            "  use diag_indices(n, ndim) of the smallest size n"
        )
    return (_integers(np.arange(shape[0]), array),) * len(shape)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0, *, size: int | None = None) -> tuple[Array, ...]:
    """The indices at which a function that masks matrices, such as `triu`, leaves elements.

    Parameters
    ----------
    n : int
        The size of the matrix.
    mask_func : callable
        Called as ``mask_func(ones((n, n)), k)``.
    k : int, default 0
        Passed on.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns where the result is not zero.

    Examples
    --------
    >>> ct.numpy.mask_indices(2, ct.numpy.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return nonzero(mask_func(_core.full((n, n), 1, _core.default_int_dtype()), k), size=size)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Index arrays that select the grid of all combinations of indices.

    Parameters
    ----------
    *args : array, shape (n,)
        The indices along each axis; of bools those where they are true.

    Returns
    -------
    tuple of array
        One for each, with the indices along its own axis and size 1 along the others.

    Raises
    ------
    ValueError
        An argument does not have one axis.

    Examples
    --------
    >>> x = ct.numpy.arange(9).reshape(3, 3)
    >>> x[ct.numpy.ix_([0, 2], [1, 2])]
    Array([[1, 2],
           [7, 8]], dtype=int32)
    """
    results = []
    for i, arg in enumerate(args):
        array = _core.array(list(arg) if isinstance(arg, range) else arg)
        if array.ndim != 1:
            raise ValueError(
                f"ix_ takes sequences of one axis; argument {i} has shape {array.shape}\n"
                "  give it positions along each axis, flat: positions.ravel()"
            )
        if kind(array) == "bool":
            (array,) = nonzero(array)
        elif bound_size(array) == 0:
            array = _core.convert(array, _core.default_int_dtype())
        index = tuple(slice(None) if axis == i else None for axis in range(len(args)))
        results.append(as_view(insert_axes(array, [axis for axis in range(len(args)) if axis != i]), array, index))
    return tuple(results)


check_arguments(globals())
