"""Arrays stretched to a common shape."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.binding import own
from cotangent._ops.extents import check_stretch
from cotangent._ops.sizes import (
    common_shape,
    ragged_length,
    static_shape,
    symbolic_shape,
)

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to"]


@own
def broadcast_to(array: Any, shape: Any, *, out_sharding: Placement = None) -> Array:
    """An array stretched to a shape: axes of size 1 are repeated, new ones come first.

    Parameters
    ----------
    array : array
        Numbers of any dtype.
    shape : int or sequence of int
        The sizes of the axes.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        Of the shape.

    Raises
    ------
    ShapeError
        A size is neither equal nor 1.

    Examples
    --------
    >>> ct.numpy.broadcast_to([1, 2], (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x = _core.array(array)
    sizes, lengths = static_shape(shape, "broadcast_to")
    check_stretch("broadcast_to", x, sizes, lengths, range(len(sizes) - x.ndim, len(sizes)))
    wide = _core.broadcast_to(x, sizes)
    ragged = _core.ragged_axes(wide) if lengths else ()
    return give_lengths(wide, {axis: length for axis, length in lengths.items() if axis not in ragged})


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape of arrays of given shapes, when they are broadcast.

    Parameters
    ----------
    *shapes : int or sequence of int
        The shapes.

    Returns
    -------
    tuple of int

    Raises
    ------
    ShapeError
        There is none.

    Examples
    --------
    >>> ct.numpy.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return common_shape([symbolic_shape(item, "broadcast_shapes") for item in shapes])


@own
def broadcast_arrays(*args: Any) -> list[Array]:
    """Arrays stretched to their common shape.

    Parameters
    ----------
    *args : array
        Numbers of any dtype.

    Returns
    -------
    list of array
        Of one shape, each of its own dtype.

    Raises
    ------
    ShapeError
        There is no common shape.

    Examples
    --------
    >>> ct.numpy.broadcast_arrays([[1], [2]], [3, 4])
    [Array([[1, 1],
           [2, 2]], dtype=int32), Array([[3, 4],
           [3, 4]], dtype=int32)]
    """
    arrays = [_core.array(x) for x in args]
    _core.check_sizes(arrays)
    common = _core.broadcast_shapes([x._bound_shape for x in arrays])
    lengths = {
        axis + len(common) - x.ndim: ragged_length(x, axis) for x in reversed(arrays) for axis in _core.ragged_axes(x)
    }
    return [give_lengths(_core.broadcast_to(x, common), lengths) for x in arrays]


check_arguments(globals())
