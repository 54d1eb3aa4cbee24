"""Convolutions and trends along axes whose length is a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.sizes import Size, as_dtype, axis_size, ragged_length

__all__ = ["cropped", "ragged_convolution", "ragged_detrended"]

_INT32 = np.dtype("int32")


def cropped(x: Array, axis: int, start: Array, size: Size, bound: int) -> Array:
    """``size`` elements of an axis, ``bound`` at most, from the place ``start`` on."""
    places = cnp.arange(bound, dtype=_INT32) + start
    taken = cnp.take(without_padding(x, [axis]), cnp.clip(places, 0, max(capacity(x, axis) - 1, 0)), axis=axis)
    return give_lengths(taken, {axis: size}) if isinstance(size, Array) else taken


def ragged_convolution(
    convolve: Callable[[Array, Array, str], Array], a: Array, b: Array, axes: Iterable[int], mode: str
) -> Array:
    """A convolution along some axes: all of it, made by ``convolve`` of what stands before the bounds, and of that what the mode says."""
    axes = list(axes)
    full = convolve(without_padding(a, axes), without_padding(b, axes), "full")
    for axis in axes:
        sizes = axis_size(a, axis), axis_size(b, axis)
        m, n = (as_dtype(size, _INT32) for size in sizes)
        bounds = capacity(a, axis), capacity(b, axis)
        start = cnp.zeros((), _INT32)
        count: Array
        if mode == "full":
            count, bound = cnp.maximum(m + n - 1, 0), sum(bounds) - 1
        elif mode == "same":
            start, count, bound = (n - 1) // 2, m, bounds[0]
        else:
            shorter, longer = cnp.minimum(m, n), cnp.maximum(m, n)
            bound = max(bounds)
            start, count = shorter - 1, cnp.minimum(longer - shorter + 1, bound)
        if not any(isinstance(size, Array) for size in sizes):
            bound = (
                sum(bounds) - 1 if mode == "full" else bounds[0] if mode == "same" else max(bounds) - min(bounds) + 1
            )
            full = cropped(full, axis, start, bound, bound)
        else:
            full = cropped(full, axis, start, count, bound)
    return full


def ragged_detrended(rows: Array, breaks: Sequence[int]) -> Array:
    """The rows [..., n] less the line of least squares of each segment from one break to the next, the last up to the end."""
    last = rows.ndim - 1
    size, bound = axis_size(rows, last), capacity(rows, last)
    values = without_padding(rows, [last])
    places = np.arange(bound)
    result: Any = values
    for at, start in enumerate(breaks):
        stop = breaks[at + 1] if at + 1 < len(breaks) else None
        if start >= bound or (stop is not None and stop > bound):
            raise ValueError(
                f"detrend: breakpoints must be between 0 and {bound}\n"
                f"  pass positions below the bound, as in bp=[{bound // 2}]"
            )
        end = cnp.asarray(size if stop is None else stop, _INT32)
        count = cnp.maximum(end - start, 1).astype(rows.dtype)
        inside = (cnp.asarray(places) >= start) & (cnp.asarray(places) < end)
        steps = cnp.where(inside, cnp.asarray(places - start, rows.dtype) - (count - 1) / 2, 0)
        square = (steps * steps).sum()
        slope = (values * steps).sum(-1, keepdims=True) / cnp.where(square == 0, 1, square)
        mean = cnp.where(inside, values, 0).sum(-1, keepdims=True) / count
        result = cnp.where(inside, values - mean - slope * steps, result)
    found: Array = give_lengths(result, {last: ragged_length(rows, last)})
    return found


check_arguments(globals())
