"""Elements repeated: tile and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths, set_length
from cotangent._base.device import Placement
from cotangent._base.dimensions import Dim, as_dimension, bound_of, not_negative
from cotangent._core import Array
from cotangent._ops.binding import literal, own
from cotangent._ops.extents import slice_axis
from cotangent._ops.positions import is_sized, known
from cotangent._ops.reshaping import reshaped
from cotangent._ops.running import cumsum
from cotangent._ops.shapes import ravel
from cotangent._ops.sizes import (
    insert_axes,
    length_of_size,
    normalize_axis,
    ragged_length,
    several,
    size_from,
    static_count,
    static_shape,
    symbolic_sizes,
)
from cotangent._ops.sorting import searchsorted

__all__ = [
    "repeat",
    "tile",
]


@own
def tile(A: Any, reps: int | Sequence[int]) -> Array:
    """An array repeated as a whole along its axes.

    Parameters
    ----------
    A : array
        Numbers of any dtype.
    reps : int or sequence of int
        How often along each axis; of the last axes, if there are fewer than axes, and with new axes if there are
        more.

    Returns
    -------
    array
        The sizes are those of ``A`` times the numbers.

    Raises
    ------
    ValueError
        A number is negative.

    Examples
    --------
    >>> ct.numpy.tile([1, 2], (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    counts: list[Any] = [size_from(i, "tile: a count") for i in (reps if several(reps) else (reps,))]
    if any(isinstance(count, int) and count < 0 for count in counts):
        raise ValueError(
            f"tile: counts must not be negative; got {reps}\n  a count of 0 makes an axis without elements"
        )
    array = _core.array(A)
    if len(counts) > array.ndim:
        array = insert_axes(array, list(range(len(counts) - array.ndim)))
    counts = [1] * (array.ndim - len(counts)) + counts
    ragged = _core.ragged_axes(array)
    if any(isinstance(count, Dim) for count in counts):
        return _tiled(array, counts)
    for axis in ragged:
        if counts[axis] > 1:
            array = primitives.concatenate(*[array] * counts[axis], axis=axis)
            counts[axis] = 1
    if all(count == 1 for count in counts):
        return array
    sizes = array._bound_shape
    wide: list[int] = []
    kept: list[int] = []
    for count, item in zip(counts, sizes, strict=True):
        if count != 1:
            wide.append(count)
        kept.append(len(wide))
        wide.append(item)
    repeated = primitives.broadcast(array, shape=wide, axes=kept)
    return primitives.reshape(repeated, shape=[count * item for count, item in zip(counts, sizes, strict=True)])


def _tiled(array: Array, counts: list[Any]) -> Array:
    """`tile` of so many times that are values: copies beside each axis, which are then merged into it."""
    pairs = [item for axis, count in enumerate(counts) for item in (count, array.shape[axis])]
    sizes, lengths = static_shape(pairs, "tile")
    wide = primitives.broadcast(array, shape=sizes, axes=list(range(1, len(sizes), 2)))
    wide = give_lengths(wide, {axis: length for axis, length in lengths.items() if axis % 2 == 0})
    return reshaped(wide, [count * size for count, size in zip(counts, symbolic_sizes(array), strict=True)])


def _repeated_by_values(array: Array, repeats: Array, axis: int) -> Array:
    """`repeat` of so many times that are values: for each place of the result, the element that has reached it."""
    length = array._bound_shape[axis]
    times = _core.broadcast_to(primitives.max(repeats, literal(repeats, 0)), [length])
    if axis in _core.ragged_axes(array) and not _core.ragged_axes(times):
        times = set_length(times, ragged_length(array, axis), 0)
    if _core.ragged_axes(times):
        times = primitives.fill_padding(times, axes=[0], value=0.0)
    times = _core.convert(times, "int32")
    total = as_dimension(
        primitives.reduce_sum(times, axes=[0]),
        "repeat: the number of elements of the result",
        bounded="total_repeat_length=ct.dimension(repeats.sum(), bound=...)",
    )
    ends = cumsum(times)
    position = primitives.iota(shape=[total.bound], dtype=ends.dtype, axis=0)
    reached = _core.convert(searchsorted(ends, position, side="right"), "int32")
    reached = primitives.min(reached, literal(reached, max(length - 1, 0)))
    return set_length(primitives.gather(array, reached, axis=axis, batch_dims=0), total.value, axis)


def _repeated_by_size(array: Array, count: Any, axis: int) -> Array:
    """`repeat` of each element as often as a size says: an axis of that size behind its own, merged with it."""
    sizes, symbolic = list(array._bound_shape), symbolic_sizes(array)
    wider = primitives.broadcast(
        array,
        shape=[*sizes[: axis + 1], bound_of(count), *sizes[axis + 1 :]],
        axes=[i if i <= axis else i + 1 for i in range(array.ndim)],
    )
    wider = set_length(wider, length_of_size(count), axis + 1)
    return reshaped(wider, [*symbolic[:axis], symbolic[axis] * count, *symbolic[axis + 1 :]])


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Each element of an array repeated in place.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    repeats : int or array of int
        How often: a number for all, or one for each slice of the axis.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    total_repeat_length : int, optional
        The size of the axis of the result, which is cut off, or filled up with the last element. Where the numbers
        are not known the result is else `Ragged`, and a bound must be known for them.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        Of the dtype of ``a``.

    Examples
    --------
    >>> ct.numpy.repeat([1, 2, 3], np.array([2, 0, 1]))
    Array([1, 1, 3], dtype=int32)

    >>> ct.numpy.repeat([[1], [2]], 2, axis=1)
    Array([[1, 1],
           [2, 2]], dtype=int32)
    """
    array = _core.array(a)
    if axis is None:
        array, axis = ravel(array), 0
    axis = normalize_axis(axis, array.ndim, "repeat")
    length = array._bound_shape[axis]
    if np.ndim(repeats) == 1:
        _core.check_sizes([array, repeats], [axis, 0])
    ragged = axis in _core.ragged_axes(array)
    # Behind a length that is a value nothing can be cut or filled up by numbers: the elements are counted in the program.
    counted = ragged and total_repeat_length is not None
    number = None
    if isinstance(repeats, Dim):
        if total_repeat_length is None:
            return _repeated_by_size(array, not_negative(repeats), axis)
        repeats = repeats.value
    total = None if total_repeat_length is None else size_from(total_repeat_length, "repeat: total_repeat_length")
    if isinstance(total, Dim):
        wide = repeat(array, repeats, axis, total_repeat_length=total.bound)
        return set_length(wide, length_of_size(total), axis)
    if total_repeat_length is None and is_sized(repeats):
        return _repeated_by_values(array, repeats, axis)
    if np.ndim(repeats) == 0 and not isinstance(repeats, Array):
        number = static_count(repeats, "repeat: counts")
    if number is not None and not counted:
        sizes = list(array._bound_shape)
        repeated = [*sizes[: axis + 1], number, *sizes[axis + 1 :]]
        kept = [i if i <= axis else i + 1 for i in range(array.ndim)]
        wider = primitives.broadcast(array, shape=repeated, axes=kept)
        if ragged:
            symbolic = symbolic_sizes(array)
            result = reshaped(wider, [*symbolic[:axis], symbolic[axis] * number, *symbolic[axis + 1 :]])
        else:
            sizes[axis] *= number
            result = primitives.reshape(wider, shape=sizes)
    elif total_repeat_length is not None and length > 0:
        times = _core.broadcast_to(_core.array(repeats), [length])
        if ragged and not _core.ragged_axes(times):
            times = set_length(times, ragged_length(array, axis), 0)
        ends = cumsum(times)
        position = primitives.iota(shape=[total_repeat_length], dtype=ends.dtype, axis=0)
        reached = _core.convert(searchsorted(ends, position, side="right"), "int32")
        last = _core.full(reached._bound_shape, length - 1, reached.dtype)
        if _core.ragged_axes(ends):
            last = primitives.max(_core.broadcast_to(ragged_length(ends, 0) - 1, last._bound_shape), last - last)
        reached = primitives.min(reached, last)
        return primitives.gather(array, reached, axis=axis, batch_dims=0)
    else:
        of_none = total_repeat_length is not None and length == 0  # whose counts say nothing
        counts = np.asarray(0 if of_none else known(repeats, "repeat", "pass total_repeat_length="))
        if counts.dtype.kind not in "biu":
            raise TypeError(
                f"repeat: counts must be integers; got {counts.dtype}\n  convert them first: .astype('int32')"
            )
        if counts.size not in (1, length) or counts.ndim > 1:
            raise ValueError(
                f"repeat: counts of shape {counts.shape} for {length} elements along axis {axis}\n"
                f"  give one count for all, or {length}"
            )
        counts = np.broadcast_to(counts, (length,))
        index = np.repeat(np.arange(length, dtype=np.int32), counts)
        result = primitives.gather(array, _core.array(index), axis=axis, batch_dims=0)
    if total_repeat_length is None:
        return result
    available = result._bound_shape[axis]
    if total_repeat_length <= available:
        return slice_axis(result, axis, 0, total_repeat_length)
    index = np.minimum(np.arange(total_repeat_length, dtype=np.int32), available - 1)
    return primitives.gather(result, _core.array(index), axis=axis, batch_dims=0)


check_arguments(globals())
