"""Convolutions in which every feature has filters of its own: the sum, over the places of a window, of the input moved by them times a number.

No matrix is in it, so products of matrices have nothing to work on. Each moved input is a slice, which is read where it lies, and the compiler makes
one pass over all of them; so is the derivative, by the input and by the filters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, kind
from cotangent._ops.extents import capacities

__all__: list[str] = []

# Each place of a window is a slice, a product and a sum of the program: more take longer to compile than they save.
_MOST_TAPS = 64


def has_few_taps(x: Array, windows: Sequence[int], counts: Sequence[int]) -> bool:
    """Whether `tap_sums` is the way to convolve ``x`` with windows of these sizes at so many places."""
    return 0 < math.prod(windows) <= _MOST_TAPS and kind(x) != "bool" and 0 not in (*capacities(x), *counts)


def tap_sums(
    x: Array,
    filters: Array,
    feature_axis: int,
    counts: Sequence[int],
    strides: Sequence[int],
    spacing: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[tuple[int, int]],
    known: np.ndarray | None = None,
) -> Array:
    """Convolves each feature with its filters.

    Args:
        x: the input, exact along its spatial axes, which are all but axis 0 and the features.
        filters: [window..., feature, filter of the feature].
        feature_axis: of ``x``.
        counts: at how many places windows fit, a spatial axis.
        strides, spacing, dilation: of the windows, of their elements, and of those of ``x``.
        pads: in front of and behind each spatial axis.
        known: the filters, if their numbers are known when a function is captured: then they are numbers of the program, and of these 1 is none.
            Products with 0 are left, which are NaN for NaN.

    Returns:
        As ``x``, with a place where it has an element and each feature's filters, in order, where it has the feature.
    """
    dtype = x.dtype
    if kind(x) == "float" and dtype.itemsize == 2:
        x, filters = _core.convert(x, "float32"), _core.convert(filters, "float32")
        return _core.convert(tap_sums(x, filters, feature_axis, counts, strides, spacing, dilation, pads, known), dtype)
    *windows, features, each = capacities(filters)
    spatial = [axis for axis in range(1, x.ndim) if axis != feature_axis]
    x = _padded(x, spatial, dilation, pads)
    shape = list(capacities(x))
    for axis, count in zip(spatial, counts, strict=True):
        shape[axis] = count
    features_of = [feature_axis] if each == 1 else [feature_axis, feature_axis + 1]
    shape[feature_axis : feature_axis + 1] = [features, each][: len(features_of)]
    kept = [axis for axis in range(len(shape)) if axis not in features_of[1:]]

    def factor(place: tuple[int, ...]) -> Array:
        if known is not None and (known[place] == known[place].flat[0]).all():
            return _core.full(shape, known[place].flat[0].item(), x.dtype)
        start, limit = [*place, 0, 0], [*(i + 1 for i in place), features, each]
        tap = primitives.slice(filters, start=start, limit=limit, stride=[1] * filters.ndim)
        tap = primitives.reshape(tap, shape=[features, each][: len(features_of)])
        return primitives.broadcast(tap, shape=shape, axes=features_of)

    result: Array | None = None
    for place in itertools.product(*map(range, windows)):
        first = [position * gap for position, gap in zip(place, spacing, strict=True)]
        moved = _slice(x, spatial, first, counts, strides)
        if each > 1:
            moved = primitives.broadcast(moved, shape=shape, axes=kept)
        part = moved if known is not None and (known[place] == 1).all() else moved * factor(place)
        result = part if result is None else result + part
    assert result is not None
    if each == 1:
        return result
    shape[feature_axis : feature_axis + 2] = [features * each]
    return primitives.reshape(result, shape=shape)


def _padded(x: Array, axes: Sequence[int], dilation: Sequence[int], pads: Sequence[tuple[int, int]]) -> Array:
    if all(gap == 1 for gap in dilation) and not any(low or high for low, high in pads):
        return x
    low, high, interior = [0] * x.ndim, [0] * x.ndim, [0] * x.ndim
    for axis, gap, (front, behind) in zip(axes, dilation, pads, strict=True):
        low[axis], high[axis], interior[axis] = front, behind, gap - 1
    return primitives.pad(x, _core.full((), 0, x.dtype), low=low, high=high, interior=interior)


def _slice(x: Array, axes: Sequence[int], first: Sequence[int], counts: Sequence[int], strides: Sequence[int]) -> Array:
    start, limit, stride = [0] * x.ndim, list(capacities(x)), [1] * x.ndim
    for axis, begin, count, step in zip(axes, first, counts, strides, strict=True):
        start[axis], limit[axis], stride[axis] = begin, begin + (count - 1) * step + 1, step
    return primitives.slice(x, start=start, limit=limit, stride=stride)


check_arguments(globals())
