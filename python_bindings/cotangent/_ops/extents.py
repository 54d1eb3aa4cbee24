"""What stands beside an array, and its axes joined, dropped and cut: of exact and ragged axes alike.

A ragged axis counts with its capacity, the bound that it is padded to, because attributes of primitives are static. An operand made for it
has that many places, too; what it holds behind the length meets padding. So neither these functions nor those that call them
distinguish the two kinds of axes. Sizes to calculate with are `exact_size` here, and `axis_size` and `element_count` of `sizes`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array
from cotangent._ops.reshaping import reshaped
from cotangent._ops.sizes import index_dtype, is_dimension, refuse_ragged, symbolic_sizes
from cotangent.errors import ShapeError

_INT32 = np.dtype("int32")


# ---- How much there is -----------------------------------------------------------------------------------------------


def capacity(x: Array, axis: int) -> int:
    """How many places an axis has: its size, or the bound of a ragged one.

    For tables, windows and loops that have to reach every place. Places behind the length of a ragged axis are padding: whoever mixes
    elements along the axis fills these first, or leaves that to a primitive.
    """
    return x._bound_shape[axis]


def capacities(x: Array) -> tuple[int, ...]:
    """The `capacity` of each axis: the shape in memory, for attributes of primitives that are applied to ``x``."""
    return x._bound_shape


def alike(*arrays: Array) -> bool:
    """Whether the arrays have one shape; ragged axes count with their capacity."""
    first = arrays[0]._bound_shape
    return all(x._bound_shape == first for x in arrays)


def exact_size(x: Array, axis: int, name: str, why: str) -> int:
    """The size of an axis that the function ``name`` has no ragged version for, because of ``why``.

    Raises:
        NotImplementedError: the axis is ragged.
    """
    axis = axis % x.ndim
    refuse_ragged(name, x, [axis], why)
    return x._bound_shape[axis]


def bound_of(size: Any) -> int:
    """A size, or of a ragged one its bound.

    Raises:
        TypeError: it is no integer.
    """
    return int(size.bound) if is_dimension(size) else operator.index(size)


def without_padding(x: Array, axes: Sequence[int] | None = None, value: float = 0.0) -> Array:
    """``x`` with ragged axes, of ``axes`` or all, made exact: of their capacity, with ``value`` behind the length.

    For functions that calculate with lengths as values. `give_lengths` makes the result ragged again.
    """
    ragged = [axis for axis in _core.ragged_axes(x) if axes is None or axis in axes]
    return primitives.fill_padding(x, axes=ragged, value=value) if ragged else x


# ---- Beside an array -------------------------------------------------------------------------------------------------


def _sizes(like: Array, changed: Mapping[int, int] | None) -> tuple[int, ...] | list[int]:
    if not changed:
        return like._bound_shape
    return [changed.get(axis, size) for axis, size in enumerate(like._bound_shape)]


def stretched(x: Any, like: Array, changed: Mapping[int, int] | None = None) -> Array:
    """``x`` broadcast by NumPy's rules to stand beside ``like``, except for the sizes of ``changed`` axes.

    Axes are ragged where those of ``x`` are.
    """
    return _core.broadcast_to(x, _sizes(like, changed))


def check_stretch(name: str, x: Array, sizes: Sequence[int], lengths: Mapping[int, Array], axes: Sequence[int]) -> None:
    """Checks that ``x``, whose axes are ``axes`` of a shape, may be stretched to it: sizes of ragged axes are equal as sizes.

    Raises:
        ShapeError: one is the size of the other for one length only.
    """
    for axis, (place, bound) in enumerate(zip(axes, x._bound_shape, strict=True)):
        own = _core.length_of(x, axis)
        wanted = lengths.get(place)
        if place < 0 or (own is None and (wanted is None or bound == 1)):
            continue
        if own is None or wanted is None or not (own is wanted or _core.same_length(own, wanted)):
            size = "ragged" if own is not None else f"of {bound} elements"
            other = "ragged" if wanted is not None else f"of {sizes[place]}"
            raise ShapeError(
                f"{name}: axis {axis} is {size}, and that of the shape {other}: they are of one size for one length only\n"
                "  take sizes of the shape from the array: x.shape[axis]"
            )


def spread_over(x: Array, like: Array, axes: Sequence[int]) -> Array:
    """``x``, whose axes are ``axes`` of ``like`` (in increasing order), repeated along the others to stand beside it."""
    return primitives.broadcast(x, shape=list(like._bound_shape), axes=list(axes))


def index_along(like: Array, axis: int, dtype: Any = None) -> Array:
    """The index along one axis of each element of ``like``, beside it."""
    dtype = index_dtype(capacity(like, axis)) if dtype is None else dtype
    return primitives.iota(shape=list(like._bound_shape), dtype=dtype, axis=axis)


# ---- Axes ------------------------------------------------------------------------------------------------------------


def drop_axes(x: Array, axes: Sequence[int]) -> Array:
    """``x`` without some axes, which are exact and of size 1."""
    if any(x._bound_shape[axis] == 1 for axis in _core.ragged_axes(x)):
        # For a reshape one axis of size 1 is like another.
        for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
            x = primitives.gather(x, np.int32(0), axis=axis, batch_dims=0)
        return x
    return primitives.reshape(x, shape=[size for axis, size in enumerate(x._bound_shape) if axis not in axes])


def join_axes(x: Array, start: int, stop: int) -> Array:
    """The axes from ``start`` up to ``stop`` made one, which is ragged where one of them is."""
    sizes = symbolic_sizes(x)
    return reshaped(x, [*sizes[:start], math.prod(sizes[start:stop]), *sizes[stop:]])


def split_axis(x: Array, axis: int, sizes: Sequence[int]) -> Array:
    """An axis cut in several, whose sizes multiply to its own; what `join_axes` made becomes what it was."""
    if axis not in _core.ragged_axes(x):
        others = symbolic_sizes(x)
        return reshaped(x, [*others[:axis], *sizes, *others[axis + 1 :]])
    shape = x._bound_shape
    return primitives.reshape(x, shape=[*shape[:axis], *sizes, *shape[axis + 1 :]])


def shaped_like(x: Array, like: Array) -> Array:
    """The elements of ``x``, in row-major order, in the shape of ``like``."""
    return primitives.reshape(x, shape=list(like._bound_shape))


def slice_axis(x: Array, axis: int, start: int, limit: int, stride: int = 1) -> Array:
    """Every ``stride``-th element of [start, limit) of an axis; of a ragged one, those that it has."""
    starts, limits, strides = [0] * x.ndim, list(x._bound_shape), [1] * x.ndim
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return primitives.slice(x, start=starts, limit=limits, stride=strides)
