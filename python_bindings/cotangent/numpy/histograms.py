"""Counts of values: histograms, bins, digitize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.device import Placement
from cotangent._base.dimensions import Dim, bound_of, size_if_computed
from cotangent._core import Array
from cotangent._ops.arithmetic import clip
from cotangent._ops.binding import (
    choose,
    constant,
    convert,
    inexact,
    is_inexact,
    is_integer,
    kind,
    literal,
    working_dtype,
)
from cotangent._ops.choice import where
from cotangent._ops.extents import alike, capacity, exact_size, stretched
from cotangent._ops.joining import concatenate
from cotangent._ops.positions import known
from cotangent._ops.reductions import max as _max
from cotangent._ops.reductions import min as _min
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.shapes import ravel, reshape, transpose
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    bound_size,
    element_count,
    insert_axes,
    length_of_size,
    ragged_length,
    static_count,
)
from cotangent._ops.sorting import searchsorted

__all__ = [
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]

_INT32 = np.dtype("int32")


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | Dim | None = None, out_sharding: Placement = None
) -> Array:
    """How often each of the integers 0, 1, 2, … occurs; with weights, their sums. Negative ones count as 0.

    Args:
        minlength: the least size of the result.
        length: its size, inside ``mask`` also that of a ragged axis; needed where ``x`` is not known. Larger numbers are left out.
    """
    index = _core.array(x)
    if bound_size(index) and not is_integer(index) and kind(index) != "bool":
        raise TypeError(f"bincount takes integers; got {index.dtype}")
    if index.ndim != 1:
        raise ValueError(f"bincount takes an array with one axis; got shape {index.shape}")
    least = static_count(minlength, "bincount: minlength")
    length = size_if_computed(length, "bincount: length")
    if isinstance(length, Dim):
        return set_length(bincount(x, weights, length=bound_of(length)), length_of_size(length), 0)
    if length is None:
        values = known(index, "bincount", "pass length=, the size of the result")
        length = max(int(values.max()) + 1 if values.size else 0, least)
    index = clip(_core.convert(index, index.dtype if is_integer(index) else _INT32), 0)
    if weights is None:
        updates = literal(index, 1, _core.default_int_dtype())
    else:
        updates = _core.array(weights)
        _core.check_sizes([updates, index])
        if not alike(updates, index):
            raise ValueError(f"bincount: {index.size} numbers need as many weights; got shape {updates.shape}")
    start = _core.full((static_count(length, "bincount: length"),), 0, updates.dtype)
    if bound_size(index) == 0:
        return start
    return primitives.scatter_add(start, index, updates, axis=0, batch_dims=0)


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Array:
    """The number of the bin that each element lies in, for edges that increase or decrease.

    Args:
        right: whether bins include their right edge instead of the left one.
    """
    values, edges = _core.array(x), _core.array(bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must have one axis; got shape {edges.shape}")
    if capacity(edges, 0) == 0:
        return constant(values, 0, _core.default_int_dtype())
    increasing = edges[-1] >= edges[0]
    rising = primitives.select(stretched(increasing, edges), edges, primitives.reverse(edges, axes=[0]))
    found = searchsorted(rising, values, "left" if right else "right", method=method or "scan")
    count = stretched(as_dtype(axis_size(edges, 0), found.dtype), found)
    return primitives.select(stretched(increasing, found), found, count - found)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:  # noqa: A002
    """The edges of the bins of `histogram`."""
    del weights
    x = _core.array(a)
    if isinstance(bins, str):
        known(x, "histogram_bin_edges", "pass the number of bins or their edges")
        values = _core.to_numpy(x, f"histogram_bin_edges(bins={bins!r})")
        return inexact(_core.array(np.histogram_bin_edges(values, bins, range)))
    edges = _core.array(bins)
    if edges.ndim == 1:
        return inexact(edges) if not is_inexact(edges) else edges
    count = static_count(bins, "histogram: the number of bins")
    dtype = inexact(x).dtype
    if range is None:
        x = ravel(x)
        low, high = (_min(x), _max(x)) if bound_size(x) else (_core.full((), 0, dtype), _core.full((), 1, dtype))
        low, high = _core.convert(low, dtype), _core.convert(high, dtype)
        elements = element_count(x, [0])
        if isinstance(elements, Array):  # a ragged axis may have no elements
            low, high = where(elements > 0, low, 0), where(elements > 0, high, 1)
    else:
        low, high = (_core.convert(_core.array(bound), dtype) for bound in range)
    flat = low == high
    low, high = where(flat, low - 0.5, low), where(flat, high + 0.5, high)
    # An edge that is a whole number must be that exactly: elements on it belong to the bin that it begins.
    wide = [_core.convert(end, "float64") for end in (low, high)]
    step = (wide[1] - wide[0]) / count
    number = primitives.iota(shape=[count + 1], dtype=np.dtype("float64"), axis=0)
    return _core.convert(where(number < count, wide[0] + number * step, wide[1]), dtype)


def _bin_of(x: Array, edges: Array) -> Array:
    """The bin of each element, -1 outside; the last one includes its right edge."""
    found = searchsorted(edges, x, "right")
    bins = as_dtype(axis_size(edges, 0), found.dtype) - 1
    inside = choose(x == edges[-1], stretched(bins, found), found)
    inside = inside - literal(inside, 1)
    return choose((inside >= 0) & (inside < bins), inside, -1)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> Any:  # noqa: A002
    """How many elements lie in each bin, and the edges of the bins.

    Args:
        bins: how many, between the least and largest element or ``range``; or their edges.
        weights: of the elements; the result is their sums.
        density: divide by the whole and the widths, so that the integral is 1.
    """
    x = ravel(a)
    edges = histogram_bin_edges(x, bins, range)
    dtype = inexact(x).dtype
    w = literal(x, 1, dtype) if weights is None else inexact(ravel(weights))
    if not alike(w, x):
        raise ValueError(f"histogram: {x.size} elements need as many weights; got {w.size}")
    # Counts in narrow numbers would stop where 1 is less than their rounding.
    result_dtype = w.dtype
    w = _core.convert(w, working_dtype(result_dtype))
    counts = _core.full((capacity(edges, 0) - 1,), 0, w.dtype)
    x, compared = _core.promote([x, edges[0]])[0], edges
    if bound_size(x):
        index = _bin_of(_core.convert(x, compared.dtype), compared)
        counts = primitives.scatter_add(counts, index, w, axis=0, batch_dims=0)
    if _core.ragged_axes(edges):
        bins = ragged_length(edges, 0)
        counts = set_length(counts, primitives.max(bins - 1, literal(bins, 0)), 0)
    if density:
        widths = convert(edges[1:] - edges[:-1], counts.dtype)
        counts = counts / widths / _sum(counts)
    return _core.convert(counts, result_dtype), edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """How many points lie in each cell of a grid of bins, and the edges along both axes."""
    columns = _core.promote([ravel(x), ravel(y)])
    listed = isinstance(bins, (list, tuple))
    count = len(bins) if listed or getattr(bins, "ndim", 0) == 1 else 1
    if count not in (1, 2):
        bins = [bins, bins]
    sample = concatenate([insert_axes(column, [1]) for column in columns], 1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,  # noqa: A002
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """How many rows of ``sample``, points of N coordinates, lie in each cell of a grid of bins, and the edges.

    A list or tuple holds the N coordinates, each of all points, as NumPy has it.
    """
    points = _core.array(sample)
    if points.ndim == 2 and isinstance(sample, (list, tuple)):
        points = transpose(points)
    if points.ndim == 1:
        points = insert_axes(points, [1])
    if points.ndim != 2:
        raise ValueError(f"histogramdd takes points as rows; got shape {points.shape}")
    rank = exact_size(points, 1, "histogramdd", "it says how many axes the result has")
    if rank == 0:
        raise ValueError(f"histogramdd needs points of one coordinate or more; got shape {points.shape}")
    if range is not None and len(range) != rank:
        raise ValueError(f"histogramdd: {len(range)} ranges for {rank} coordinates")
    per_axis = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * rank
    per_axis = per_axis * rank if len(per_axis) == 1 else per_axis
    if len(per_axis) != rank:
        raise ValueError(f"histogramdd: bins of {len(per_axis)} axes for {rank} coordinates")
    edges = [
        histogram_bin_edges(points[:, i], per_axis[i], None if range is None else range[i])
        for i in np.arange(rank).tolist()
    ]
    shape = [edge.size - 1 for edge in edges]
    number = capacity(points, 0)
    w = _core.full((number,), 1, _core.default_int_dtype()) if weights is None else inexact(weights)
    result_dtype = inexact(w).dtype if density else w.dtype
    w = _core.convert(w, working_dtype(w.dtype))
    counts = _core.full((math.prod(shape),), 0, w.dtype)
    if number:
        cell: Any = 0
        inside: Any = True
        for i, edge in enumerate(edges):
            at = _bin_of(_core.convert(points[:, i], edge.dtype), edge)
            cell = cell * shape[i] + at
            inside = (at >= 0) & inside
        counts = primitives.scatter_add(counts, choose(inside, cell, -1), w, axis=0, batch_dims=0)
    counts = reshape(counts, shape)
    if density:
        counts = inexact(counts) / _sum(counts)
        for i, edge in enumerate(edges):
            widths = insert_axes(edge[1:] - edge[:-1], [axis for axis in np.arange(rank).tolist() if axis != i])
            counts = counts / convert(widths, counts.dtype)
    return _core.convert(counts, result_dtype), edges


check_arguments(globals())
