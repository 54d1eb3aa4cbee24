"""The same elements under another shape: reshape, transpose, squeeze."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import as_list, check_arguments
from cotangent._base.device import Placement
from cotangent._base.words import not_among
from cotangent._core import Array, entrance
from cotangent._ops.binding import apart, separate
from cotangent._ops.extents import drop_axes
from cotangent._ops.reshaping import missing_size, reshaped
from cotangent._ops.sizes import (
    check_rank,
    insert_axes,
    normalize_axes,
    normalize_axis,
    several,
    symbolic_shape,
    type_of,
)
from cotangent._ops.views import as_view, is_contiguous, reshaped_view, whole_view
from cotangent.errors import ConcretizationError

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


def shape(a: Any) -> tuple[Any, ...]:
    """The sizes of the axes of an array.

    Inside of ``ct.mask`` that of a ragged axis is a size to calculate with, which other functions take.

    Parameters
    ----------
    a : array
        Numbers of any dtype; also a `ShapeDtypeStruct`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> ct.numpy.shape([[1, 2, 3]])
    (1, 3)
    """
    return type_of(a)[0]


def ndim(a: Any) -> int:
    """The number of axes of an array.

    Parameters
    ----------
    a : array
        Numbers of any dtype; also a `ShapeDtypeStruct`.

    Returns
    -------
    int

    Examples
    --------
    >>> ct.numpy.ndim([[1, 2, 3]])
    2
    """
    return len(type_of(a)[0])


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array, or along some of its axes.

    Parameters
    ----------
    a : array
        Numbers of any dtype; also a `ShapeDtypeStruct`.
    axis : int, sequence of int or None, default None
        Which axes. None: all.

    Returns
    -------
    int

    Examples
    --------
    >>> ct.numpy.size([[1, 2, 3]]), ct.numpy.size([[1, 2, 3]], axis=1)
    (3, 3)
    """
    shape, _, _ = type_of(a)
    if axis is None:
        return a.size if isinstance(a, Array) else math.prod(shape)
    sizes = [shape[i] for i in normalize_axes(axis, len(shape), "size")]
    return sizes[0] if len(sizes) == 1 else math.prod(sizes)


@entrance("reshape", primitives.reshape)
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Placement = None) -> Array:
    """The elements of an array under another shape.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    shape : int or sequence of int
        The sizes of the axes; one of them may be -1, which the others determine.
    order : str, default "C"
        In which order elements are taken and placed: ``"C"`` (also ``"A"`` and ``"K"``), the last index varies
        fastest; ``"F"``, the first.
    copy : bool or None, default None
        True: an array of its own, also where the shape is the same. None and False: a view of ``a`` where NumPy makes one,
        so that assigning to either changes both.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        Of the shape.

    Raises
    ------
    ShapeError
        The shape has another number of elements.
    ValueError
        Two sizes are -1, or there is no such order.

    Examples
    --------
    >>> ct.numpy.reshape(ct.numpy.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)

    >>> ct.numpy.reshape(ct.numpy.arange(4), (2, 2), order="F")
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    if order not in ("C", "F", "K", "A"):
        raise not_among("reshape", "order", order, ("C", "F", "A", "K"))
    array = _core.array(a)
    sizes = list(symbolic_shape(shape, "reshape", least=-1))
    missing = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if len(missing) > 1:
        raise ValueError(f"reshape: only one size can be -1; got {tuple(sizes)}\n  write the other sizes out")
    if missing:
        sizes[missing[0]] = missing_size(array, sizes)
    result = _under_shape(array, sizes, order)
    if copy:
        result = separate(result, array)
    elif result is array:
        result = as_view(result, array, ...)
    return apart(result, a)


def _under_shape(array: Array, sizes: list[Any], order: str) -> Array:
    if all(isinstance(size, int) for size in sizes) and not _core.ragged_axes(array):
        if tuple(sizes) == array._bound_shape:
            return array
        if order == "F":
            turned = transpose(array)
            return transpose(reshaped_view(primitives.reshape(turned, shape=sizes[::-1]), turned))
        return reshaped_view(primitives.reshape(array, shape=sizes), array)
    if order == "F":
        turned = transpose(array)
        return transpose(reshaped_view(reshaped(turned, sizes[::-1]), turned))
    return reshaped_view(reshaped(array, sizes), array)


@whole_view
def ravel(a: Any, order: str = "C", *, out_sharding: Placement = None) -> Array:
    """All elements of an array along one axis.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    order : str, default "C"
        In which order: ``"C"``, the last index varies fastest; ``"F"``, the first.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array, shape (a.size,)
        The elements.

    Examples
    --------
    >>> ct.numpy.ravel([[1, 2], [3, 4]])
    Array([1, 2, 3, 4], dtype=int32)
    """
    array = _core.array(a)
    result = reshape(array, (array.size,), order)
    return result if is_contiguous(array, order) else separate(result, array)


@entrance("transpose", primitives.transpose)
@whole_view
def transpose(a: Any, axes: Sequence[int] | None = None) -> Array:
    """The axes of an array in reverse order, or in another one.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axes : sequence of int, optional
        For each axis of the result, that of ``a`` which it is. None: the last one first.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    ValueError
        ``axes`` does not name each axis once.

    Examples
    --------
    >>> ct.numpy.transpose([[1, 2], [3, 4]])
    Array([[1, 3],
           [2, 4]], dtype=int32)

    >>> ct.numpy.transpose(np.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    array = _core.array(a)
    if axes is None:
        permutation = list(range(array.ndim))[::-1]
    else:
        permutation = [normalize_axis(axis, array.ndim, "transpose") for axis in as_list("transpose", "axes", axes)]
    if sorted(permutation) != list(range(array.ndim)):
        raise ValueError(
            f"transpose: axes {() if axes is None else tuple(axes)} are not a permutation of the {array.ndim} axes\n"
            f"  name each axis once: {tuple(range(array.ndim))[::-1]} reverses them"
        )
    if permutation == list(range(array.ndim)):
        return array
    return as_view(primitives.transpose(array, permutation=permutation), array, ("transpose", permutation))


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Array:
    """Matrices transposed: the last two axes exchanged.

    Parameters
    ----------
    x : array, shape (..., m, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, m)
        The same elements.

    Raises
    ------
    ValueError
        There are fewer than two axes.

    Examples
    --------
    >>> ct.numpy.matrix_transpose(ct.numpy.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    array = _core.array(x)
    if array.ndim < 2:
        raise ValueError(
            f"matrix_transpose needs at least two axes; got shape {array.shape}\n"
            "  make a matrix of it first: x[:, None] is a column, x[None] a row"
        )
    return swapaxes(array, -1, -2)


@whole_view
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """Two axes of an array exchanged.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis1, axis2 : int
        The axes; negative ones count from the end.

    Returns
    -------
    array
        The same elements.

    Examples
    --------
    >>> ct.numpy.swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    array = _core.array(a)
    order = list(range(array.ndim))
    i, j = normalize_axis(axis1, array.ndim, "swapaxes"), normalize_axis(axis2, array.ndim, "swapaxes")
    order[i], order[j] = j, i
    return transpose(array, order)


@whole_view
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Axes of an array moved to other positions; the others keep their order.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    source : int or sequence of int
        Which axes.
    destination : int or sequence of int
        Where each of them is in the result.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    ValueError
        They are not as many different axes.

    Examples
    --------
    >>> ct.numpy.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    array = _core.array(a)
    sources = [normalize_axis(i, array.ndim, "moveaxis") for i in ([source] if isinstance(source, int) else source)]
    targets = [
        normalize_axis(i, array.ndim, "moveaxis")
        for i in ([destination] if isinstance(destination, int) else destination)
    ]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ValueError(
            f"moveaxis: source {source} and destination {destination} must name as many different axes\n"
            "  name each axis once, in both: moveaxis(x, (0, 1), (1, 0))"
        )
    order = [axis for axis in range(array.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose(array, order)


@whole_view
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """An axis of an array moved before another one; `moveaxis` is easier to read.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int
        The axis that is moved.
    start : int, default 0
        The axis, as counted before, that it is put in front of.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    AxisError
        There is no such place.

    Examples
    --------
    >>> ct.numpy.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    array = _core.array(a)
    axis = normalize_axis(axis, array.ndim, "rollaxis")
    if not -array.ndim <= start <= array.ndim:
        raise np.exceptions.AxisError(
            f"rollaxis: start {start} is out of bounds for an array with {array.ndim} axes\n"
            f"  give a position from {-array.ndim} to {array.ndim}"
        )
    start = start + array.ndim if start < 0 else start
    return moveaxis(array, axis, start - 1 if axis < start else start)


@whole_view
def expand_dims(a: Any, axis: int | Sequence[int]) -> Array:
    """New axes of size 1.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or sequence of int
        Where the new axes are in the result.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    AxisError
        The result has no such axis.

    Examples
    --------
    >>> ct.numpy.expand_dims([1, 2], 0)
    Array([[1, 2]], dtype=int32)
    """
    array = _core.array(a)
    items = axis if several(axis) else [axis]
    rank = check_rank(array.ndim + len(items), "expand_dims")
    return _with_axes(array, normalize_axes(items, rank, "expand_dims")) if len(items) else array


def _with_axes(array: Array, axes: Sequence[int]) -> Array:
    index = tuple(None if axis in axes else slice(None) for axis in range(array.ndim + len(axes)))
    return as_view(insert_axes(array, axes), array, index)


@whole_view
def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Array:
    """An array without its axes of size 1, or without those that are named.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        Which axes. None: all of size 1.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    ValueError
        A named axis has another size.
    ConcretizationError
        No axis is named, and inside of ``ct.mask`` one is ragged: whether it has size 1 depends on the length.

    Examples
    --------
    >>> ct.numpy.squeeze([[[1, 2]]])
    Array([1, 2], dtype=int32)

    >>> ct.numpy.squeeze([[[1, 2]]], axis=0).shape
    (1, 2)
    """
    array = _core.array(a)
    sizes = array._bound_shape
    ragged = _core.ragged_axes(array)
    if axis is None:
        axes = [i for i, item in enumerate(sizes) if item == 1]
        for i in ragged:
            if sizes[i] >= 1:
                raise ConcretizationError(
                    f"squeeze: whether axis {i} has size 1 depends on its length, anything from 0 to {sizes[i]}\n"
                    "  name the axes to remove: squeeze(x, axis=...)"
                )
    else:
        axes = normalize_axes(axis, array.ndim, "squeeze")
        for i in axes:
            if sizes[i] != 1 or i in ragged:
                raise ValueError(
                    f"squeeze: axis {i} has size {array.shape[i]}, not 1; the shape is {array.shape}\n"
                    "  leave axis out for all axes of size 1, or index to drop one: x[0]"
                )
    if not axes:
        return array
    return as_view(
        drop_axes(array, axes), array, tuple(0 if axis in axes else slice(None) for axis in range(array.ndim))
    )


def _atleast(rank: int, args: tuple[Any, ...]) -> Any:
    results = []
    for x in args:
        array = _core.array(x)
        missing = rank - array.ndim
        if missing > 0:
            # Two axes become the first two of three, as in NumPy.
            positions = (
                [0, 2]
                if rank == 3 and array.ndim == 1
                else [2]
                if rank == 3 and array.ndim == 2
                else list(range(missing))
            )
            array = _with_axes(array, positions)
        results.append(array)
    return results[0] if len(results) == 1 else results


@whole_view
def atleast_1d(*args: Any) -> Any:
    """Arrays with at least one axis: scalars get one of size 1.

    Parameters
    ----------
    *args : array
        Numbers of any dtype.

    Returns
    -------
    array, or list of array
        One for each argument; the array itself for a single one.

    Examples
    --------
    >>> ct.numpy.atleast_1d(5.0)
    Array([5.], dtype=float32, weak_type=True)
    """
    return _atleast(1, args)


@whole_view
def atleast_2d(*args: Any) -> Any:
    """Arrays with at least two axes; new ones of size 1 come first.

    Parameters
    ----------
    *args : array
        Numbers of any dtype.

    Returns
    -------
    array, or list of array
        One for each argument; the array itself for a single one.

    Examples
    --------
    >>> ct.numpy.atleast_2d([1, 2])
    Array([[1, 2]], dtype=int32)
    """
    return _atleast(2, args)


@whole_view
def atleast_3d(*args: Any) -> Any:
    """Arrays with at least three axes: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1).

    Parameters
    ----------
    *args : array
        Numbers of any dtype.

    Returns
    -------
    array, or list of array
        One for each argument; the array itself for a single one.

    Examples
    --------
    >>> ct.numpy.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _atleast(3, args)


check_arguments(globals())
