"""Shapes and positions: broadcasting, reshaping, slicing, padding, joining, taking apart."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths, set_length
from cotangent._base.device import Placement
from cotangent._base.dimensions import Dim
from cotangent._core import Array
from cotangent._ops.extents import (
    alike,
    bound_of,
    capacities,
    capacity,
    check_stretch,
    drop_axes,
    exact_size,
    join_axes,
)
from cotangent._ops.reshaping import reshaped
from cotangent._ops.sized_slices import resolve_slice, take_slice
from cotangent._ops.sizes import (
    axis_size,
    bound_size,
    check_rank,
    common_shape,
    insert_axes,
    is_dimension,
    length_of_size,
    normalize_axis,
    size_from,
    static_int,
    static_shape,
    symbolic_shape,
    symbolic_size,
)
from cotangent._transforms.lengths import require
from cotangent.errors import ShapeError
from cotangent.lax._operands import as_array, one_dtype

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "concatenate",
    "expand_dims",
    "index_in_dim",
    "pad",
    "reshape",
    "rev",
    "slice",
    "slice_in_dim",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]


def _integers(name: str, values: Any, what: str) -> list[int]:
    try:
        return [static_int(value, f"lax.{name}: {what}") for value in values]
    except TypeError as error:
        if hasattr(values, "__iter__"):
            raise
        raise TypeError(f"lax.{name}: {what} must be a sequence of integers; got {values!r}") from error


def _axes(name: str, dimensions: Any, rank: int) -> list[int]:
    """Distinct axes, negative ones counted from the end."""
    axes = [normalize_axis(axis, rank, f"lax.{name}") for axis in _integers(name, dimensions, "the axes")]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"lax.{name}: an axis is named twice in {tuple(dimensions)}")
    return axes


# ---- Broadcasting ----------------------------------------------------------------------------------------------------


def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Placement = None) -> Array:
    """Puts new axes in front of an array and repeats it along them.

    Parameters
    ----------
    operand : array
        Of shape (...).
    sizes : sequence of int
        The sizes of the new axes.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of shape (*sizes, ...).

    Examples
    --------
    >>> ct.lax.broadcast(ct.numpy.array([1, 2]), (3,))
    Array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int32)
    """
    array = as_array("broadcast", operand)
    lead = list(sizes)
    return broadcast_in_dim(
        array, (*lead, *array.shape), range(len(lead), len(lead) + array.ndim), out_sharding=out_sharding
    )


def broadcast_in_dim(
    operand: Any, shape: Any, broadcast_dimensions: Sequence[int], *, out_sharding: Placement = None
) -> Array:
    """Broadcasts an array to a shape, with its axes at given places.

    Parameters
    ----------
    operand : array
        The axis i is the axis ``broadcast_dimensions[i]`` of the result.
    shape : sequence of int
        The shape of the result.
    broadcast_dimensions : sequence of int
        One axis of the result for each axis of ``operand``, distinct.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    ShapeError
        A size is neither 1 nor that of the result, or there are not as many places as axes.

    Examples
    --------
    >>> ct.lax.broadcast_in_dim(ct.numpy.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    array = as_array("broadcast_in_dim", operand)
    sizes, lengths = static_shape(shape, "lax.broadcast_in_dim")
    axes = _axes("broadcast_in_dim", broadcast_dimensions, len(sizes))
    if len(axes) != array.ndim:
        raise ShapeError(
            f"lax.broadcast_in_dim: {array.ndim} axes need as many positions; got {tuple(broadcast_dimensions)}"
        )
    for size, axis in zip(capacities(array), axes, strict=True):
        if size not in (1, sizes[axis]):
            raise ShapeError(
                f"lax.broadcast_in_dim: shape {array.shape} does not fit {tuple(sizes)} at axes {tuple(axes)}"
            )
    check_stretch("lax.broadcast_in_dim", array, sizes, lengths, axes)
    order = sorted(range(len(axes)), key=axes.__getitem__)
    if order != list(range(len(axes))):
        array, axes = primitives.transpose(array, permutation=order), sorted(axes)
    wide = primitives.broadcast(array, shape=sizes, axes=axes)
    kept = {axis: length for axis, length in lengths.items() if axis not in _core.ragged_axes(wide)}
    return give_lengths(wide, kept)


def broadcast_like(arr: Any, like_arr: Any) -> Array:
    """Broadcasts an array, by NumPy's rules, to the shape of another one.

    Parameters
    ----------
    arr : array
        What is broadcast.
    like_arr : array
        Only its shape counts.

    Returns
    -------
    array
        Of the shape of ``like_arr`` and the dtype of ``arr``.

    Examples
    --------
    >>> ct.lax.broadcast_like(ct.numpy.array([1, 2]), ct.numpy.zeros((2, 2)))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return ops.broadcast_to(as_array("broadcast_like", arr), as_array("broadcast_like", like_arr).shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to, by NumPy's rules.

    Parameters
    ----------
    *shapes : sequence of int
        Any number of shapes.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ValueError
        The shapes do not fit.

    Examples
    --------
    >>> ct.lax.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    return common_shape([symbolic_shape(shape, "lax.broadcast_shapes") for shape in shapes])


def broadcast_to_rank(x: Any, rank: int) -> Array:
    """Puts axes of size 1 in front, up to a number of axes.

    Parameters
    ----------
    x : array
        Of any shape.
    rank : int
        The wanted number of axes; an array that has more is returned as it is.

    Returns
    -------
    array
        Of at least ``rank`` axes.

    Examples
    --------
    >>> ct.lax.broadcast_to_rank(ct.numpy.array([1, 2]), 3).shape
    (1, 1, 2)
    """
    array = as_array("broadcast_to_rank", x)
    rank = check_rank(rank, "lax.broadcast_to_rank")
    return expand_dims(array, range(rank - array.ndim)) if rank > array.ndim else array


# ---- Shapes ----------------------------------------------------------------------------------------------------------


def reshape(
    operand: Any, new_sizes: Any, dimensions: Sequence[int] | None = None, *, out_sharding: Placement = None
) -> Array:
    """Gives the elements, in row-major order, another shape.

    Parameters
    ----------
    operand : array
        Of any shape.
    new_sizes : sequence of int
        The shape; every size is given (`cotangent.numpy.reshape` takes -1).
    dimensions : sequence of int, optional
        The order that the axes are put into first.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    ShapeError
        The sizes do not have the same product.

    Examples
    --------
    >>> ct.lax.reshape(ct.numpy.arange(6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    >>> ct.lax.reshape(ct.numpy.array([[1, 2], [3, 4]]), (4,), (1, 0))
    Array([1, 3, 2, 4], dtype=int32)
    """
    array = as_array("reshape", operand)
    if dimensions is not None:
        array = transpose(array, dimensions)
    static_shape(new_sizes, "lax.reshape", negative="ct.numpy.reshape takes -1")
    sizes = symbolic_shape(new_sizes, "lax.reshape")
    if not _core.ragged_axes(array) and all(isinstance(size, int) for size in sizes):
        if math.prod(sizes) != bound_size(array):
            raise ShapeError(f"lax.reshape: {array.size} elements of shape {array.shape} do not fill {tuple(sizes)}")
        return array if sizes == capacities(array) else primitives.reshape(array, shape=list(sizes))
    return reshaped(array, sizes)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Makes consecutive axes one.

    Parameters
    ----------
    operand : array
        Of any shape.
    start_dimension : int
        The first of the axes; negative ones count from the end.
    stop_dimension : int, optional
        The axis behind the last of them; by default the end.

    Returns
    -------
    array
        With one axis in the place of those.

    Examples
    --------
    >>> ct.lax.collapse(ct.numpy.ones((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    array = as_array("collapse", operand)
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(array.ndim)
    return array if stop == start + 1 else join_axes(array, start, max(start, stop))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Array:
    """Inserts axes of size 1.

    Parameters
    ----------
    array : array
        Of any shape.
    dimensions : sequence of int
        The positions of the new axes in the result.

    Returns
    -------
    array
        With as many axes more.

    Examples
    --------
    >>> ct.lax.expand_dims(ct.numpy.array([1, 2]), (0, 2)).shape
    (1, 2, 1)
    """
    operand = as_array("expand_dims", array)
    rank = check_rank(operand.ndim + len(dimensions), "lax.expand_dims")
    return insert_axes(operand, _axes("expand_dims", dimensions, rank))


def squeeze(array: Any, dimensions: Sequence[int]) -> Array:
    """Takes away axes of size 1.

    Parameters
    ----------
    array : array
        Of any shape.
    dimensions : sequence of int
        Which axes; all of them have size 1.

    Returns
    -------
    array
        Without these axes.

    Raises
    ------
    ValueError
        An axis has another size.

    Examples
    --------
    >>> ct.lax.squeeze(ct.numpy.ones((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    operand = as_array("squeeze", array)
    axes = _axes("squeeze", dimensions, operand.ndim)
    for axis in axes:
        if capacity(operand, axis) != 1 or axis in _core.ragged_axes(operand):
            raise ValueError(f"lax.squeeze: axis {axis} of shape {operand.shape} has not size 1")
    return drop_axes(operand, axes)


def transpose(operand: Any, permutation: Sequence[int]) -> Array:
    """Reorders the axes of an array.

    Parameters
    ----------
    operand : array
        Of any shape.
    permutation : sequence of int
        The axis i of the result is the axis ``permutation[i]`` of ``operand``.

    Returns
    -------
    array
        With the same elements.

    Raises
    ------
    ValueError
        ``permutation`` does not name every axis once.

    Examples
    --------
    >>> ct.lax.transpose(ct.numpy.array([[1, 2], [3, 4]]), (1, 0))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    array = as_array("transpose", operand)
    order = _integers("transpose", permutation, "the order")
    if sorted(order) != list(range(array.ndim)):
        raise ValueError(f"lax.transpose: {tuple(order)} is not an order of the axes of shape {array.shape}")
    return primitives.transpose(array, permutation=order)


def rev(operand: Any, dimensions: Sequence[int]) -> Array:
    """Reverses the elements along axes.

    Parameters
    ----------
    operand : array
        Of any shape.
    dimensions : sequence of int
        The axes; distinct.

    Returns
    -------
    array
        Of the same shape.

    Examples
    --------
    >>> ct.lax.rev(ct.numpy.array([1, 2, 3]), (0,))
    Array([3, 2, 1], dtype=int32)
    """
    array = as_array("rev", operand)
    return primitives.reverse(array, axes=sorted(_axes("rev", dimensions, array.ndim)))


# ---- Slices ----------------------------------------------------------------------------------------------------------


def slice(  # noqa: A001
    operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """The elements from start up to limit in steps, along every axis.

    Indices are not counted from the end, and must lie inside; `slice_in_dim` cuts one axis.

    Parameters
    ----------
    operand : array
        Of n axes.
    start_indices : sequence of int
        n starts.
    limit_indices : sequence of int
        n positions behind the last element.
    strides : sequence of int, optional
        n steps, from 1 on; by default 1.

    Returns
    -------
    array
        Of n axes.

    Raises
    ------
    ValueError
        Not ``0 <= start <= limit <= size``, a step below 1, or not n of each.

    Examples
    --------
    >>> ct.lax.slice(ct.numpy.arange(8), (1,), (7,), (2,))
    Array([1, 3, 5], dtype=int32)
    """
    array = as_array("slice", operand)
    start = _integers("slice", start_indices, "the starts")
    ends = {axis: end for axis, end in enumerate(limit_indices) if is_dimension(end)}
    limit = _integers(
        "slice", [bound_of(end) if axis in ends else end for axis, end in enumerate(limit_indices)], "the limits"
    )
    steps = [1] * len(start) if strides is None else _integers("slice", strides, "the steps")
    if not len(start) == len(limit) == len(steps) == array.ndim:
        raise ValueError(f"lax.slice: an array of shape {array.shape} needs {array.ndim} starts, limits and steps")
    for axis, size in enumerate(capacities(array)):
        if not 0 <= start[axis] <= limit[axis] <= size or steps[axis] < 1:
            raise ValueError(
                f"lax.slice: axis {axis} of shape {array.shape} cannot be cut from {start[axis]} to {limit[axis]} in "
                f"steps of {steps[axis]}"
            )
    result = primitives.slice(array, start=start, limit=limit, stride=steps)
    for axis, end in ends.items():
        length = axis_size(array, axis)
        if not (isinstance(length, Array) and _core.same_length(length, _core.array(end))):
            room = _core.array(end) - _core.full((), start[axis], "int32")
            kept = primitives.max(room + (steps[axis] - 1), _core.full((), 0, "int32"))
            result = set_length(result, primitives.div(kept, _core.full((), steps[axis], "int32")), axis)
    return result


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """Cuts one axis, as Python's slices do.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    start_index : int or None
        The first position; None is the start, and negative numbers count from the end.
    limit_index : int or None
        The position behind the last; None is the end.
    stride : int
        The step, by default 1.
    axis : int
        Which axis, by default 0.

    Returns
    -------
    array
        Of as many axes.

    Raises
    ------
    ValueError
        A position lies outside.

    Examples
    --------
    >>> ct.lax.slice_in_dim(ct.numpy.arange(5), 1, -1)
    Array([1, 2, 3], dtype=int32)
    """
    array = as_array("slice_in_dim", operand)
    axis = normalize_axis(axis, array.ndim, "lax.slice_in_dim")
    if axis in _core.ragged_axes(array):  # whose end is not where the bound is
        return array[(builtins.slice(None),) * axis + (builtins.slice(start_index, limit_index, stride),)]
    size = capacity(array, axis)
    first, last = (
        default if given is None else operator.index(given) + (size if operator.index(given) < 0 else 0)
        for given, default in ((start_index, 0), (limit_index, size))
    )
    start, limit, strides = [0] * array.ndim, list(capacities(array)), [1] * array.ndim
    start[axis], limit[axis], strides[axis] = first, last, stride
    return slice(array, start, limit, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One slice of an axis, at a position that is known when the program is captured.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    index : int
        The position; negative ones count from the end.
    axis : int
        Which axis, by default 0.
    keepdims : bool
        Whether the axis stays, with size 1 (the default).

    Returns
    -------
    array
        The slice.

    Raises
    ------
    IndexError
        The position is outside.

    Examples
    --------
    >>> ct.lax.index_in_dim(ct.numpy.array([[1, 2], [3, 4]]), -1, keepdims=False)
    Array([3, 4], dtype=int32)
    """
    array = as_array("index_in_dim", operand)
    axis = normalize_axis(axis, array.ndim, "lax.index_in_dim")
    position, size = static_int(index, "the index of index_in_dim"), capacity(array, axis)
    if not -size <= position < size:
        raise IndexError(f"lax.index_in_dim: index {position} is out of bounds for axis {axis} with size {size}")
    if axis in _core.ragged_axes(array):
        found = expand_dims(array[(builtins.slice(None),) * axis + (position,)], (axis,))
    else:
        found = slice_in_dim(array, position % size, position % size + 1, 1, axis)
    return found if keepdims else squeeze(found, (axis,))


def split(operand: Any, sizes: Sequence[int | Dim], axis: int = 0) -> list[Array]:
    """Cuts an axis into consecutive pieces of given sizes.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    sizes : sequence of int
        The sizes of the pieces, which add up to that of the axis. Inside ``mask`` they may be sizes of arrays.
    axis : int
        Which axis, by default 0.

    Returns
    -------
    list of array
        The pieces.

    Raises
    ------
    ValueError
        The sizes do not add up to that of the axis, or one is negative.

    Examples
    --------
    >>> [piece.tolist() for piece in ct.lax.split(ct.numpy.arange(5), (2, 3))]
    [[0, 1], [2, 3, 4]]
    """
    array = as_array("split", operand)
    axis = normalize_axis(axis, array.ndim, "lax.split")
    if not hasattr(sizes, "__iter__"):
        raise TypeError(f"lax.split: the sizes must be a sequence of integers; got {sizes!r}")
    counts = [size_from(size, "lax.split: a size") for size in sizes]
    _check_parts(array, axis, counts)
    ends: list[Any] = [sum(counts[:i]) for i in range(len(counts) + 1)]
    total = symbolic_size(array, axis)
    pieces = [resolve_slice(total, builtins.slice(ends[i], ends[i + 1]), 1, axis) for i in range(len(counts))]
    return [take_slice(array, axis, piece) for piece in pieces]


def _check_parts(array: Array, axis: int, counts: Sequence[int | Dim]) -> None:
    """ValueError unless sizes of parts are not negative and add up to an axis: at once, or where lengths are known."""
    total, together = symbolic_size(array, axis), sum(counts)
    shown = ", ".join(size.owner if isinstance(size, Dim) else str(size) for size in counts)
    what = f"sizes ({shown}) do not add up to"
    equal = together == total
    if equal is False or any(isinstance(count, int) and count < 0 for count in counts):
        raise ValueError(
            f"lax.split: {what} {bound_of(total)}, the {'bound' if isinstance(total, Dim) else 'size'} of axis {axis}"
        )
    length, whole = (
        _core.full((), size, "int32") if isinstance(size, int) else length_of_size(size) for size in (total, together)
    )
    if equal is not True:
        fault = "whose length is another"
        require([length, whole], lambda n, m: n == m, f"lax.split: {what} axis {axis}", fault)
    for count in counts:
        if isinstance(count, Dim) and count.least < 0:
            text = f"lax.split: the size {count.owner} is negative, for axis {axis}"
            require([length, count.value], lambda n, m: m >= 0, text, "whose length is too small")


def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an axis, without that axis.

    Parameters
    ----------
    x : array
        Of any shape with that axis, which is not ragged.
    axis : int
        Which axis, by default 0.

    Returns
    -------
    tuple of array
        As many as the axis is long.

    Examples
    --------
    >>> [row.tolist() for row in ct.lax.unstack(ct.numpy.array([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    array = as_array("unstack", x)
    axis = normalize_axis(axis, array.ndim, "lax.unstack")
    count = exact_size(array, axis, "lax.unstack", "the number of slices depends on its length")
    return tuple(index_in_dim(array, i, axis, keepdims=False) for i in range(count))


# ---- Joining ---------------------------------------------------------------------------------------------------------


def concatenate(operands: Any, dimension: int) -> Array:
    """Joins arrays along an axis.

    Nothing is promoted; `cotangent.numpy.concatenate` does.

    Parameters
    ----------
    operands : sequence of array, or array
        Arrays of one dtype, whose shapes differ in the joined axis at most; of an array, its slices are joined.
    dimension : int
        The axis, from 0 on.

    Returns
    -------
    array
        Of the dtype of the operands.

    Raises
    ------
    ShapeError
        The shapes differ in other axes.
    ValueError
        There is no array, or no such axis.

    Examples
    --------
    >>> ct.lax.concatenate([ct.numpy.array([1, 2]), ct.numpy.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    pieces = unstack(operands) if isinstance(operands, Array) else list(operands)
    if not pieces:
        raise ValueError("lax.concatenate needs at least one array")
    arrays = one_dtype("concatenate", pieces)
    shapes = [capacities(x) for x in arrays]
    axis = static_int(dimension, "the axis of concatenate")
    if not 0 <= axis < arrays[0].ndim:
        raise ValueError(f"lax.concatenate: axis {axis} is out of bounds for arrays with {arrays[0].ndim} axes")
    if len({(len(shape), *shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        raise ShapeError(f"lax.concatenate: shapes {', '.join(map(str, shapes))} differ in other axes than {axis}")
    return primitives.concatenate(*arrays, axis=axis)


def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """Joins arrays of one shape along a new axis.

    Parameters
    ----------
    operands : sequence of array
        Of one shape and dtype; at least one.
    axis : int
        The position of the new axis in the result, by default 0.

    Returns
    -------
    array
        With one axis more.

    Raises
    ------
    ShapeError
        The shapes are not equal.

    Examples
    --------
    >>> ct.lax.stack([ct.numpy.array([1, 2]), ct.numpy.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    pieces = list(operands)
    if not pieces:
        raise ValueError("lax.stack needs at least one array")
    arrays = one_dtype("stack", pieces)
    if not alike(*arrays):
        raise ShapeError(f"lax.stack: shapes {', '.join(str(x.shape) for x in arrays)} are not equal")
    position = normalize_axis(axis, arrays[0].ndim + 1, "lax.stack")
    return primitives.concatenate(*[expand_dims(x, (position,)) for x in arrays], axis=position)


def tile(operand: Any, reps: Sequence[int]) -> Array:
    """Repeats an array along its axes.

    Parameters
    ----------
    operand : array
        Of n axes.
    reps : sequence of int
        n numbers of repetitions.

    Returns
    -------
    array
        The size of each axis times its number of repetitions.

    Raises
    ------
    ValueError
        There are not as many numbers as axes.

    Examples
    --------
    >>> ct.lax.tile(ct.numpy.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    array, counts = as_array("tile", operand), _integers("tile", reps, "the repetitions")
    if len(counts) != array.ndim:
        raise ValueError(
            f"lax.tile: an array of shape {array.shape} needs {array.ndim} repetitions; got {tuple(counts)}"
        )
    if any(counts[axis] != 1 for axis in _core.ragged_axes(array)):
        return ops.tile(array, counts)
    shape = capacities(array)
    pairs = [number for pair in zip(counts, shape, strict=True) for number in pair]
    wide = primitives.broadcast(array, shape=pairs, axes=list(range(1, 2 * array.ndim, 2)))
    return primitives.reshape(wide, shape=[n * size for n, size in zip(counts, shape, strict=True)])


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Puts a number around an array and between its elements.

    Parameters
    ----------
    operand : array
        Of n axes.
    padding_value : array
        A scalar of the dtype of ``operand``.
    padding_config : sequence of (int, int, int)
        n triples: how many in front, how many behind, and how many between two elements. The first two may be
        negative, which cuts elements off.

    Returns
    -------
    array
        Of the dtype of ``operand``.

    Raises
    ------
    ValueError
        There are not n triples, or a third number is negative.

    Examples
    --------
    >>> ct.lax.pad(ct.numpy.array([1, 2]), 0, [(1, 0, 1)])
    Array([0, 1, 0, 2], dtype=int32)
    >>> ct.lax.pad(ct.numpy.array([1, 2, 3]), 0, [(-1, 1, 0)])
    Array([2, 3, 0], dtype=int32)
    """
    array, value = one_dtype("pad", (operand, padding_value))
    if value.ndim:
        raise ShapeError(f"lax.pad: the padding must be a scalar; got shape {value.shape}")
    config = [_integers("pad", triple, "the padding") for triple in padding_config]
    if len(config) != array.ndim or any(len(triple) != 3 for triple in config):
        raise ValueError(f"lax.pad: shape {array.shape} needs {array.ndim} triples (low, high, interior); got {config}")
    if any(interior < 0 for _, _, interior in config):
        raise ValueError(f"lax.pad: interior padding must be nonnegative; got {config}")
    low, high, interior = ([triple[i] for triple in config] for i in range(3))
    return primitives.pad(array, value, low=low, high=high, interior=interior)


check_arguments(globals())
