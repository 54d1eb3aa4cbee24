"""Shapes: broadcasting, reshaping, new axes, the order of axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence, Sized
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.binding import own
from cotangent._ops.extents import (
    capacities,
    capacity,
    check_stretch,
    drop_axes,
    join_axes,
)
from cotangent._ops.reshaping import reshaped
from cotangent._ops.sizes import (
    bound_size,
    check_rank,
    common_shape,
    insert_axes,
    normalize_axis,
    static_int,
    static_shape,
    symbolic_shape,
)
from cotangent.errors import ShapeError
from cotangent.lax._operands import as_array, listed

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "expand_dims",
    "reshape",
    "rev",
    "squeeze",
    "transpose",
]


def _integers(name: str, values: Any, what: str) -> list[int]:
    return [static_int(value, f"lax.{name}: {what}") for value in listed(name, what, values)]


def _axes(name: str, dimensions: Any, rank: int) -> list[int]:
    """Distinct axes, negative ones counted from the end."""
    axes = [normalize_axis(axis, rank, f"lax.{name}") for axis in _integers(name, dimensions, "the axes")]
    if len(set(axes)) != len(axes):
        raise ShapeError(
            f"lax.{name}: an axis is named twice in {tuple(dimensions)}\n"
            "  name each axis once; negative ones count from the end"
        )
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
    lead = listed("broadcast", "sizes", sizes)
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
            f"lax.broadcast_in_dim: {array.ndim} axes need as many positions; got {tuple(broadcast_dimensions)}\n"
            "  say for each axis of the array which axis of the result it is, or use ct.numpy.broadcast_to"
        )
    for size, axis in zip(capacities(array), axes, strict=True):
        if size not in (1, sizes[axis]):
            raise ShapeError(
                f"lax.broadcast_in_dim: shape {array.shape} does not fit {tuple(sizes)} at axes {tuple(axes)}\n"
                "  each size must be 1 or that of the axis it becomes: choose other axes, or reshape the array"
            )
    check_stretch("lax.broadcast_in_dim", array, sizes, lengths, axes)
    order = sorted(range(len(axes)), key=axes.__getitem__)
    if order != list(range(len(axes))):
        array, axes = primitives.transpose(array, permutation=order), sorted(axes)
    wide = primitives.broadcast(array, shape=sizes, axes=axes)
    kept = {axis: length for axis, length in lengths.items() if axis not in _core.ragged_axes(wide)}
    return give_lengths(wide, kept)


@own
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


@own
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


@own
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
            raise ShapeError(
                f"lax.reshape: {array.size} elements of shape {array.shape} do not fill {tuple(sizes)}\n"
                f"  the sizes must multiply to {array.size}\n  see docs/errors.md#reshape-mismatch"
            )
        return array if sizes == capacities(array) else primitives.reshape(array, shape=list(sizes))
    return reshaped(array, sizes)


@own
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
    # A range may have more than a list can.
    count = len(dimensions) if isinstance(dimensions, Sized) else len(listed("expand_dims", "the axes", dimensions))
    rank = check_rank(operand.ndim + count, "lax.expand_dims")
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
            raise ValueError(
                f"lax.squeeze: axis {axis} of shape {operand.shape} has not size 1\n"
                "  name axes of size 1; ct.numpy.squeeze without axes drops all of them"
            )
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
        raise ValueError(
            f"lax.transpose: {tuple(order)} is not an order of the axes of shape {array.shape}\n"
            f"  name each of its axes once, as in {tuple(reversed(range(array.ndim)))}"
        )
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


check_arguments(globals())
