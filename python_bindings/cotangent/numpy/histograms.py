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
from cotangent._base.words import not_among
from cotangent._core import Array
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
from cotangent._ops.positions import is_unknown, known
from cotangent._ops.reductions import max as _max
from cotangent._ops.reductions import min as _min
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.rounding import clip
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

_ESTIMATORS = ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt")

_INT32 = np.dtype("int32")


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | Dim | None = None, out_sharding: Placement = None
) -> Array:
    """How often each of the integers 0, 1, 2, … occurs in an array; or the sums of weights.

    Parameters
    ----------
    x : array of int, shape (n,)
        The numbers; negative ones count as 0.
    weights : array, shape (n,), optional
        What each number counts. None: 1.
    minlength : int, default 0
        The least size of the result.
    length : int, optional
        The size of the result, inside of ``ct.mask`` also that of a ragged axis; needed where ``x`` is not known.
        Larger numbers are left out.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array, shape (length,)
        The counts; without ``length`` up to the largest number.

    Raises
    ------
    TypeError
        The numbers are not integers.
    ValueError
        They do not have one axis, or weights are not as many.
    DataDependentShapeError
        ``x`` is not known, and ``length`` is not given.

    Examples
    --------
    >>> ct.numpy.bincount(np.array([0, 2, 2, 3]))
    Array([1, 0, 2, 1], dtype=int32)

    >>> ct.jit(lambda x: ct.numpy.bincount(x, length=4))(np.array([0, 2, 2]))
    Array([1, 0, 2, 0], dtype=int32)
    """
    index = _core.array(x)
    if bound_size(index) and not is_integer(index) and kind(index) != "bool":
        raise TypeError(f"bincount takes integers; got {index.dtype}\n  convert them first: x.astype('int32')")
    if index.ndim != 1:
        raise ValueError(
            f"bincount takes an array with one axis; got shape {index.shape}\n  make one axis of it: x.ravel()"
        )
    least = static_count(minlength, "bincount: minlength")
    length = size_if_computed(length, "bincount: length")
    if isinstance(length, Dim):
        return set_length(bincount(x, weights, length=bound_of(length)), length_of_size(length), 0)
    if length is None:
        values = known(index, "bincount", "pass length=, the size of the result")
        length = max(max(int(values.max()), 0) + 1 if values.size else 0, least)
    index = clip(_core.convert(index, index.dtype if is_integer(index) else _INT32), 0)
    if weights is None:
        updates = literal(index, 1, _core.default_int_dtype())
    else:
        updates = _core.array(weights)
        _core.check_sizes([updates, index])
        if not alike(updates, index):
            raise ValueError(
                f"bincount: {index.size} numbers need as many weights; got shape {updates.shape}\n"
                f"  give weights of shape {index.shape}"
            )
    start = _core.full((static_count(length, "bincount: length"),), 0, updates.dtype)
    if bound_size(index) == 0:
        return start
    return primitives.scatter_add(start, index, updates, axis=0, batch_dims=0)


def _check_monotonic(name: str, edges: Array, falling: bool) -> None:
    """ValueError for edges that are known now and in no order."""
    if is_unknown(edges) or _core.ragged_axes(edges):
        return
    steps = np.diff(np.asarray(_core.peek_numpy(edges), np.float64))
    if (steps < 0).any() and not (falling and (steps <= 0).all()):
        raise ValueError(
            f"{name}: bins must be monotonic: they {'either increase or decrease' if falling else 'increase'}; "
            f"edge {int(np.argmax(steps < 0)) + 1} is less than the one before\n  sort them first: sort(bins)"
        )


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Array:
    """The number of the bin in which each element lies.

    Parameters
    ----------
    x : array
        Real numbers.
    bins : array, shape (n,)
        The edges, which increase or decrease.
    right : bool, default False
        Whether bins include their right edge, instead of the left one.
    method : str, optional
        As of `searchsorted`.

    Returns
    -------
    array of int
        From 0, before the first edge, to n; of the shape of ``x``.

    Raises
    ------
    ValueError
        The edges do not have one axis, or are known and neither increase nor decrease.

    Examples
    --------
    >>> ct.numpy.digitize([0.5, 1.0, 3.5], [1.0, 2.0, 3.0])
    Array([0, 1, 3], dtype=int32)
    """
    values, edges = _core.array(x), _core.array(bins)
    if edges.ndim != 1:
        raise ValueError(
            f"digitize: bins must have one axis; got shape {edges.shape}\n  make one axis of them: bins.ravel()"
        )
    if capacity(edges, 0) == 0:
        return constant(values, 0, _core.default_int_dtype())
    _check_monotonic("digitize", edges, falling=True)
    increasing = edges[-1] >= edges[0]
    rising = primitives.select(stretched(increasing, edges), edges, primitives.reverse(edges, axes=[0]))
    found = searchsorted(rising, values, "left" if right else "right", method=method or "scan")
    count = stretched(as_dtype(axis_size(edges, 0), found.dtype), found)
    return primitives.select(stretched(increasing, found), found, count - found)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:  # noqa: A002
    """The edges of the bins that `histogram` counts in.

    Parameters
    ----------
    a : array
        Real numbers.
    bins : int, str or array, default 10
        How many bins of equal width; or how NumPy chooses it, such as ``"auto"``, where values are known; or the
        edges.
    range : tuple of two numbers, optional
        The first and the last edge. None: the least and the largest element.
    weights : array, optional
        Without effect.

    Returns
    -------
    array, shape (bins + 1,)
        The edges, floating.

    Examples
    --------
    >>> ct.numpy.histogram_bin_edges([0.0, 1.0, 4.0], bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    del weights
    x = _core.array(a)
    if isinstance(bins, str):
        if bins not in _ESTIMATORS:
            raise not_among("histogram", "bins", bins, _ESTIMATORS)
        known(x, "histogram_bin_edges", "pass the number of bins or their edges")
        values = _core.to_numpy(x, f"histogram_bin_edges(bins={bins!r})")
        return inexact(_core.array(np.histogram_bin_edges(values, bins, range)))
    edges = _core.array(bins)
    if edges.ndim == 1:
        if capacity(edges, 0) == 0:
            raise ValueError("histogram: there are no edges\n  give two edges or more, or the number of bins")
        _check_monotonic("histogram", edges, falling=False)
        return inexact(edges) if not is_inexact(edges) else edges
    if edges.ndim > 1:
        raise ValueError(
            f"histogram: bins must be a number or edges along one axis; got shape {edges.shape}\n"
            "  make one axis of them: bins.ravel()"
        )
    count = static_count(bins, "histogram: the number of bins")
    if count == 0:
        raise ValueError(
            "histogram: the number of bins must be positive; got 0\n  write bins=1 for all elements in one"
        )
    dtype = inexact(x).dtype
    if range is None:
        x = ravel(x)
        low, high = (_min(x), _max(x)) if bound_size(x) else (_core.full((), 0, dtype), _core.full((), 1, dtype))
        low, high = _core.convert(low, dtype), _core.convert(high, dtype)
        elements = element_count(x, [0])
        if isinstance(elements, Array):  # a ragged axis may have no elements
            low, high = where(elements > 0, low, 0), where(elements > 0, high, 1)
    else:
        first, last = range
        numbers = all(isinstance(bound, (int, float, np.number)) for bound in range)
        if numbers and not (first <= last and math.isfinite(first) and math.isfinite(last)):
            raise ValueError(
                f"histogram: range must go from the least to the largest edge; got {range}\n"
                "  write the smaller number first, both finite"
            )
        low, high = (_core.convert(_core.array(bound), dtype) for bound in (first, last))
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
    """How many elements lie in each of several bins.

    Bins include their left edge; the last one includes its right edge, too.

    Parameters
    ----------
    a : array
        Real numbers; flattened.
    bins : int, str or array, default 10
        How many bins of equal width; or how NumPy chooses it, such as ``"auto"``, where values are known; or the
        edges.
    range : tuple of two numbers, optional
        The first and the last edge. None: the least and the largest element.
    weights : array, optional
        What each element counts. None: 1.
    density : bool, optional
        Whether counts are divided by their sum and the widths of the bins, so that the integral is 1.

    Returns
    -------
    tuple of two arrays
        The counts, floating, and the edges.

    Raises
    ------
    ValueError
        The weights are not as many as the elements.

    Examples
    --------
    >>> counts, edges = ct.numpy.histogram([1.0, 1.5, 2.0, 4.0], bins=3)
    >>> counts.tolist(), edges.tolist()
    ([2.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    """
    x = ravel(a)
    edges = histogram_bin_edges(x, bins, range)
    dtype = inexact(x).dtype
    w = literal(x, 1, dtype) if weights is None else inexact(ravel(weights))
    if not alike(w, x):
        raise ValueError(
            f"histogram: {x.size} elements need as many weights; got {w.size}\n"
            f"  give one weight for each element: weights of shape {x.shape}"
        )
    # Counts would stop where 1 is less than the rounding: whole numbers are counted. Narrow floats would not hold many.
    result_dtype = working_dtype(w.dtype) if weights is None else w.dtype
    w = _core.convert(w, "int32" if weights is None else working_dtype(w.dtype))
    counts = _core.full((capacity(edges, 0) - 1,), 0, w.dtype)
    x, compared = _core.promote([x, edges[0]])[0], edges
    if bound_size(x):
        index = _bin_of(_core.convert(x, compared.dtype), compared)
        counts = primitives.scatter_add(counts, index, w, axis=0, batch_dims=0)
    if _core.ragged_axes(edges):
        bins = ragged_length(edges, 0)
        counts = set_length(counts, primitives.max(bins - 1, literal(bins, 0)), 0)
    if density:
        counts, widths = (convert(x, working_dtype(result_dtype)) for x in (counts, edges[1:] - edges[:-1]))
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
    """How many points lie in each cell of a grid of bins.

    Parameters
    ----------
    x, y : array
        The coordinates of the points; flattened.
    bins : int, array or sequence of two of them, default 10
        How many bins of equal width along each axis, or their edges.
    range : sequence of two pairs of numbers, optional
        The first and the last edge along each axis. None: from the least to the largest coordinate.
    weights : array, optional
        What each point counts. None: 1.
    density : bool, optional
        Whether counts are divided by their sum and the areas of the cells, so that the integral is 1.

    Returns
    -------
    tuple of three arrays
        The counts, the edges along ``x`` and those along ``y``.

    Examples
    --------
    >>> ct.numpy.histogram2d([0.0, 1.0, 1.0], [0.0, 0.0, 1.0], bins=2)[0]
    Array([[1, 0],
           [1, 1]], dtype=int32)
    """
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
    """How many points lie in each cell of a grid of bins, in any number of dimensions.

    Parameters
    ----------
    sample : array, shape (points, n), or sequence of n arrays
        The coordinates of the points. A list or tuple holds the coordinates along each axis.
    bins : int or sequence of int and array, default 10
        How many bins of equal width along each axis, or their edges.
    range : sequence of pairs of numbers, optional
        The first and the last edge along each axis. None: from the least to the largest coordinate.
    weights : array, shape (points,), optional
        What each point counts. None: 1.
    density : bool, optional
        Whether counts are divided by their sum and the volumes of the cells, so that the integral is 1.

    Returns
    -------
    tuple of an array and a list of array
        The counts, and the edges along each axis.

    Raises
    ------
    ValueError
        Bins or ranges are not as many as coordinates.

    Examples
    --------
    >>> ct.numpy.histogramdd(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), bins=2)[0]
    Array([[1, 0],
           [1, 1]], dtype=int32)
    """
    points = _core.array(sample)
    if points.ndim == 2 and isinstance(sample, (list, tuple)):
        points = transpose(points)
    if points.ndim == 1:
        points = insert_axes(points, [1])
    if points.ndim != 2:
        raise ValueError(
            f"histogramdd takes points as rows; got shape {points.shape}\n"
            "  make one row of each point: x.reshape(-1, x.shape[-1])"
        )
    rank = exact_size(points, 1, "histogramdd", "it says how many axes the result has")
    if rank == 0:
        raise ValueError(
            f"histogramdd needs points of one coordinate or more; got shape {points.shape}\n  give one column or more"
        )
    if range is not None and len(range) != rank:
        raise ValueError(
            f"histogramdd: {len(range)} ranges for {rank} coordinates\n"
            "  give a pair for each coordinate, None for that of the data"
        )
    per_axis = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * rank
    per_axis = per_axis * rank if len(per_axis) == 1 else per_axis
    if len(per_axis) != rank:
        raise ValueError(
            f"histogramdd: bins of {len(per_axis)} axes for {rank} coordinates\n"
            "  give a number or edges for each coordinate, or one number for all"
        )
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
