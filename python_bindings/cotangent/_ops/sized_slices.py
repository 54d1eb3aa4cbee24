"""Slices whose bounds, or whose axis, have sizes that are values: ``x[: n // 2]``, ``x[k:]``, ``x[::-2]`` of a ragged axis.

The rules are those of Python's slices, worked out in sizes. What results is a window: where it begins, how many elements it has, how far
they are apart, and whether they are taken backward.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.capture import set_length
from cotangent._base.dimensions import (
    Dim,
    as_dimension,
    bound_of,
    is_scalar_integer,
    largest,
    narrowed,
    not_negative,
    smallest,
)
from cotangent._core import Array
from cotangent._ops.binding import literal
from cotangent._ops.extents import slice_axis
from cotangent._ops.sizes import length_of_size, symbolic_size

_INT32 = np.dtype("int32")

Extent = Any  # int | Dim: sums of the one are the other


class SizedSlice(NamedTuple):
    """Elements of an axis: ``count`` of them from ``start``, ``stride`` apart; ``backward``: the last of them first."""

    start: Extent
    count: Extent
    stride: int
    backward: bool

    def places(self, size: int) -> tuple[Array, Array]:
        """For each of ``size`` places of the axis, whether the window has it, and at which of its own places; if not, at any."""
        offset = primitives.iota(shape=[size], dtype=_INT32, axis=0) - _scalar(self.start)
        place = primitives.div(offset, literal(offset, self.stride))
        inside = (offset >= 0) & (place < _scalar(self.count))
        if self.stride > 1:
            inside = inside & primitives.eq(place * literal(place, self.stride), offset)
        if self.backward:
            place = _scalar(self.count) - 1 - place
        last = max(bound_of(self.count) - 1, 0)
        return inside, primitives.max(primitives.min(place, literal(place, last)), literal(place, 0))


def _scalar(size: Extent) -> Any:
    return size.value if isinstance(size, Dim) else np.int32(size)


def _never_negative(size: Extent) -> bool:
    return bool((size.least if isinstance(size, Dim) else size) >= 0)


def is_sized(item: slice) -> bool:
    """Whether a bound of a slice is a value of the program."""
    return any(isinstance(bound, Dim) or is_scalar_integer(bound) for bound in (item.start, item.stop))


def _extent(value: Any, axis: int, size: Extent) -> Extent:
    """A bound of a slice; one that nothing is known of counts as anything from before the axis to behind it."""
    if isinstance(value, (int, Dim)):
        return narrowed(value)
    found = as_dimension(value, f"a slice bound of axis {axis}", 0)
    most = bound_of(size)
    return smallest(largest(found, -most), most)


def _resolved(value: Extent, size: Extent, least: int, most: Extent) -> Extent:
    """A position that counts from the end where it is negative, held to ``least`` … ``most``."""
    if _never_negative(value):
        return smallest(value, most)
    if (value.bound if isinstance(value, Dim) else value) < 0:
        return largest(size + value, least)
    # The size where it is negative, else 0: lengths that arithmetic makes are compared as expressions, and made anew in
    # derivatives. Times the bound, a number, rather than the size, so that the expression is linear.
    negative = smallest(largest(-value, 0), 1)
    return largest(smallest(value + smallest(negative * bound_of(size), size), most), least)


def resolve_slice(size: Extent, item: slice, step: int, axis: int) -> SizedSlice:
    """The window of a slice of an axis of ``size`` elements; ``step`` is the slice's, and not 0."""
    start, stop = (None if bound is None else _extent(bound, axis, size) for bound in (item.start, item.stop))
    if step > 0:
        # Beyond the end there are no elements, wherever the window begins.
        first = 0 if start is None else start if _never_negative(start) else _resolved(start, size, 0, size)
        last = size if stop is None else _resolved(stop, size, 0, size)
        count = narrowed(not_negative((last - first + (step - 1)) // step))
        return SizedSlice(first, smallest(count, -(-bound_of(size) // step)), step, False)
    first = size - 1 if start is None else _resolved(start, size, -1, size - 1)
    last = -1 if stop is None else _resolved(stop, size, -1, size - 1)
    count = narrowed(not_negative((first - last + (-step - 1)) // -step))
    count = smallest(count, -(-bound_of(size) // -step))
    # The same elements forward; of none, any place will do.
    return SizedSlice(largest(first + (count - 1) * step, 0), count, -step, True)


def take_slice(x: Array, axis: int, window: SizedSlice) -> Array:
    """The elements of a window."""
    start, count, stride, backward = window
    bound, size = bound_of(count), x._bound_shape[axis]
    extent = (bound - 1) * stride + 1 if bound else 0
    if isinstance(start, int):
        begin = min(start, size)
        result = slice_axis(x, axis, begin, max(min(begin + extent, size), begin), stride)
    else:
        if axis in _core.ragged_axes(x):
            x = primitives.fill_padding(x, axes=[axis], value=0.0)
        # Room for a window that begins at the end.
        nothing = [0] * x.ndim
        high = [extent if at == axis else 0 for at in range(x.ndim)]
        zero = _core.full((), 0, x.dtype)
        padded = primitives.pad(x, zero, low=nothing, high=high, interior=nothing)
        sizes = [extent if at == axis else item for at, item in enumerate(x._bound_shape)]
        none = _core.full((), 0, _INT32)
        starts = [start.value if at == axis else none for at in range(x.ndim)]
        result = primitives.dynamic_slice(padded, *starts, batch_dims=0, sizes=sizes)
        result = slice_axis(result, axis, 0, extent, stride)
    if isinstance(count, Dim):
        result = set_length(result, length_of_size(count), axis)
    return primitives.reverse(result, axes=[axis]) if backward else result


def slice_sized(x: Array, axis: int, start: Extent, stop: Extent) -> Array:
    """``x[start:stop]`` of an axis, of sizes with ``0 <= start <= stop <= size`` for all lengths."""
    return take_slice(x, axis, SizedSlice(start, smallest(narrowed(stop - start), symbolic_size(x, axis)), 1, False))
