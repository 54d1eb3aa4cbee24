"""The same elements at other places of the same axes: flip, rot90, roll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array
from cotangent._ops.binding import own
from cotangent._ops.division import remainder
from cotangent._ops.extents import slice_axis
from cotangent._ops.reshaping import reshaped
from cotangent._ops.shapes import ravel, swapaxes
from cotangent._ops.sizes import (
    axis_size,
    normalize_axes,
    normalize_axis,
    several,
    symbolic_sizes,
)
from cotangent._ops.views import as_view, whole_view

__all__ = ["flip", "fliplr", "flipud", "roll", "rot90"]


@whole_view
def flip(m: Any, axis: int | Sequence[int] | None = None) -> Array:
    """The elements of an array in reverse order along axes.

    Parameters
    ----------
    m : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        Which axes. None: all.

    Returns
    -------
    array
        Of the dtype and the shape of ``m``.

    Examples
    --------
    >>> ct.numpy.flip([[1, 2], [3, 4]], axis=1)
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return _flipped("flip", m, axis)


def _flipped(name: str, m: Any, axis: int | Sequence[int] | None) -> Array:
    array = _core.array(m)
    axes = normalize_axes(axis, array.ndim, name)
    if not axes:
        return array
    index = tuple(slice(None, None, -1 if axis in axes else None) for axis in range(array.ndim))
    return as_view(primitives.reverse(array, axes=axes), array, index)


def fliplr(m: Any) -> Array:
    """The elements of an array in reverse order along the second axis: left and right exchanged.

    Parameters
    ----------
    m : array
        Two or more axes.

    Returns
    -------
    array
        Of the dtype and the shape of ``m``.

    Examples
    --------
    >>> ct.numpy.fliplr([[1, 2], [3, 4]])
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return _flipped("fliplr", m, 1)


def flipud(m: Any) -> Array:
    """The elements of an array in reverse order along the first axis: up and down exchanged.

    Parameters
    ----------
    m : array
        One or more axes.

    Returns
    -------
    array
        Of the dtype and the shape of ``m``.

    Examples
    --------
    >>> ct.numpy.flipud([[1, 2], [3, 4]])
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return _flipped("flipud", m, 0)


@whole_view
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """An array rotated by quarter turns in the plane of two axes.

    Parameters
    ----------
    m : array
        Two or more axes.
    k : int, default 1
        How many quarter turns, from the first axis toward the second; negative: back.
    axes : tuple of two ints, default (0, 1)
        The plane.

    Returns
    -------
    array
        The same elements.

    Raises
    ------
    ValueError
        Both axes are the same.

    Examples
    --------
    >>> ct.numpy.rot90([[1, 2], [3, 4]])
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    array = _core.array(m)
    i, j = (normalize_axis(axis, array.ndim, "rot90") for axis in axes)
    if i == j:
        raise ValueError(f"rot90: axes must be different; got {axes}\n  name two axes: axes=(0, 1)")
    turns = k % 4
    if turns == 0:
        return array
    if turns == 2:
        return flip(array, (i, j))
    return swapaxes(flip(array, j), i, j) if turns == 1 else flip(swapaxes(array, i, j), j)


@own
def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Array:
    """The elements of an array moved along axes; those pushed out at one end come in at the other.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    shift : int, array or sequence of int
        How far, toward higher positions; a value, or one for each axis.
    axis : int, sequence of int or None, default None
        Along which axes. None: along that of the flattened array, whose shape is restored.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Raises
    ------
    ValueError
        The numbers of shifts and axes differ.

    Examples
    --------
    >>> ct.numpy.roll([1, 2, 3, 4], 1)
    Array([4, 1, 2, 3], dtype=int32)
    """
    array = _core.array(a)
    if isinstance(shift, (Array, np.ndarray)) and shift.ndim:
        shift = tuple(shift)
    if axis is None:
        return reshaped(roll(ravel(array), shift, 0), symbolic_sizes(array))
    axes = [normalize_axis(i, array.ndim, "roll") for i in (axis if several(axis) else (axis,))]
    shifts = list(shift) if several(shift) else [shift]
    if len(shifts) != len(axes):
        if 1 not in (len(axes), len(shifts)):
            raise ValueError(
                f"roll: {len(shifts)} shifts for {len(axes)} axes\n  give one shift for each axis, or one for all"
            )
        count = max(len(axes), len(shifts))
        axes, shifts = axes * (count // len(axes)), shifts * (count // len(shifts))
    for amount, position in zip(shifts, axes, strict=True):
        length = array._bound_shape[position]
        if length == 0:
            continue
        if isinstance(amount, Array) or position in _core.ragged_axes(array):
            array = _roll_dynamic(array, amount, position)
            continue
        cut = -int(amount) % length
        if cut:
            array = primitives.concatenate(
                slice_axis(array, position, cut, length),
                slice_axis(array, position, 0, cut),
                axis=position,
            )
    return array


def _roll_dynamic(x: Array, shift: Any, axis: int) -> Array:
    """By computed positions, for a shift or a size that is a value."""
    count = axis_size(x, axis)
    index = primitives.iota(shape=[x._bound_shape[axis]], dtype=np.dtype("int32"), axis=0)
    if isinstance(count, Array):
        index = set_length(index, count, 0)
    index = remainder(index - _core.convert(shift, "int32"), count)
    result = primitives.gather(x, index, axis=axis, batch_dims=0)
    return set_length(result, count, axis) if isinstance(count, Array) else result


check_arguments(globals())
