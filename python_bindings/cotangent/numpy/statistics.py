"""Order statistics, histograms, counts, covariances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import check_placement
from cotangent._core import Array
from cotangent._ops.arithmetic import clip, conjugate, real
from cotangent._ops.binding import (
    choose,
    constant,
    convert,
    inexact,
    is_inexact,
    is_integer,
    kind,
    literal,
    no_out,
    working_dtype,
)
from cotangent._ops.choice import where
from cotangent._ops.diagonals import diagonal
from cotangent._ops.joining import concatenate
from cotangent._ops.positions import known
from cotangent._ops.products import dot
from cotangent._ops.reductions import average
from cotangent._ops.reductions import max as _max
from cotangent._ops.reductions import min as _min
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.shapes import ravel, reshape, transpose
from cotangent._ops.sizes import (
    as_dtype,
    bound_size,
    element_count,
    insert_axes,
    normalize_axes,
    refuse_ragged,
    static_count,
)
from cotangent._ops.sorting import check_real, searchsorted, sort, sort_together
from cotangent.errors import ConcretizationError

__all__ = [
    "bincount",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

_INT32 = np.dtype("int32")


# ---- Quantiles -------------------------------------------------------------------------------------------------------

# Where the q-quantile of n sorted elements lies, counted from 0: q (n + 1 - a - b) - (1 - a) (Hyndman and Fan, 1996).
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_DISCRETE = ("lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def _levels(q: Any, scale: float = 1.0) -> Array:
    """The levels in units of ``scale``. Python's numbers keep their digits whatever dtype is the default: 0.1 means a tenth."""
    if isinstance(q, (int, float)) or (isinstance(q, (list, tuple)) and all(isinstance(x, (int, float)) for x in q)):
        return _core.array(np.asarray(q, np.float64) / scale)
    levels = inexact(q)
    return levels if scale == 1 else levels / scale


def _exact(at: Array, rounding: float) -> Array:
    """Positions: whole and half ones where only the rounding of the level, relative to it, keeps them from it."""
    two = literal(at, 2.0)
    off = primitives.round(at * two) / two - at
    # A level that rounds by more than this between two elements cannot tell them apart, and is taken as it is.
    reach = primitives.min(at * literal(at, rounding), literal(at, 1 / 64))
    return at + primitives.stop_gradient(choose(primitives.abs(off) <= reach, off, 0.0))


def _places(q: Array, count: Array, method: str, rounding: float) -> tuple[Array, Array, Array]:
    """The positions on both sides of a quantile, and how far it lies toward the upper one."""
    a, b = _CONTINUOUS.get(method, (1.0, 1.0))
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        a, b = 0.0, 1.0
    at = _exact(q * (count + literal(q, 1.0 - a - b)), rounding) - literal(q, 1.0 - a)
    low = primitives.floor(at)
    fraction = at - low
    half, one, zero = literal(q, 0.5), literal(q, 1.0), literal(q, 0.0)
    if method == "lower":
        fraction = zero
    elif method == "higher":
        fraction = choose(fraction > zero, one, zero)
    elif method == "midpoint":
        fraction = choose(fraction > zero, half, zero)
    elif method == "nearest":
        even = primitives.rem(low, literal(low, 2.0)) == zero
        fraction = choose((fraction > half) | ((fraction == half) & ~even), one, zero)
    elif method == "inverted_cdf":
        fraction = choose(fraction > zero, one, zero)
    elif method == "averaged_inverted_cdf":
        fraction = choose(fraction > zero, one, half)
    elif method == "closest_observation":
        nearest = primitives.round(at + one) - one  # halves to even
        low, fraction = nearest, zero
    last = count - one

    def limit(x: Array) -> Array:
        return primitives.max(primitives.min(x, last), zero)

    fraction = choose(at < zero, 0.0, choose(at > last, 1.0, fraction)) if method in _CONTINUOUS else fraction
    return limit(low), limit(low + one), fraction


def _quantile(
    name: str, a: Any, levels: Array, axis: Any, method: str, keepdims: bool, skip_nan: bool, weights: Any = None
) -> Array:
    if method not in _CONTINUOUS and method not in _DISCRETE:
        raise ValueError(f"{name}: unknown method {method!r}; there are {', '.join([*_CONTINUOUS, *_DISCRETE])}")
    x = inexact(a)
    check_real(x, name)
    if levels.ndim > 1:
        raise ValueError(f"{name}: q must be a number or have one axis; got shape {levels.shape}")
    axes = normalize_axes(axis, x.ndim, name)
    kept = [1 if i in axes else size for i, size in enumerate(x._bound_shape)]
    # The reduced axes are brought to the end and made one.
    rest = [i for i in range(x.ndim) if i not in axes]
    lines = primitives.transpose(x, permutation=[*rest, *axes]) if axes != list(range(x.ndim))[len(rest) :] else x
    total = element_count(x, axes)
    if len(axes) != 1:
        lines = primitives.reshape(
            lines, shape=[*(x._bound_shape[i] for i in rest), math.prod(x._bound_shape[i] for i in axes)]
        )
    if lines._bound_shape[-1] == 0:
        raise ValueError(f"{name} of zero elements has no value")
    if weights is not None:
        found = _weighted(name, x, lines, levels, axes, rest, method, weights, skip_nan)
    else:
        found = _unweighted(lines, levels, total, method, skip_nan)
    # The axis of q first.
    found = primitives.transpose(found, permutation=[found.ndim - 1, *range(found.ndim - 1)])
    lead = list(levels._bound_shape)
    shape = kept if keepdims else [x._bound_shape[i] for i in rest]
    return convert(reshape(found, [*lead, *shape]), x.dtype)


def _unweighted(lines: Array, levels: Array, total: Any, method: str, skip_nan: bool) -> Array:
    """The quantiles of each line: [..., levels]."""
    # Positions among many elements have more digits than float32.
    wide = np.dtype("float64")
    rounding = 2.0**-53 if levels.dtype.itemsize == 8 else 2.0**-24
    axis = lines.ndim - 1
    ordered = sort(lines, axis)
    missing = lines != lines
    flat = reshape(_core.convert(levels, wide), (levels.size,))
    if skip_nan:
        valid = primitives.reduce_sum(_core.convert(~missing, _INT32), axes=[axis])
        count = _core.convert(valid, wide)
        shape = [*count._bound_shape, flat.size]
        q = primitives.broadcast(flat, shape=shape, axes=[len(shape) - 1])
        count = primitives.broadcast(count, shape=shape, axes=list(range(count.ndim)))
    else:
        q, count = flat, _core.broadcast_to(as_dtype(total, wide), flat._bound_shape)
    low, high, fraction = _places(q, count, method, rounding)
    below, above = (
        primitives.gather(ordered, _core.convert(at, _INT32), axis=axis, batch_dims=axis if skip_nan else 0)
        for at in (low, high)
    )
    fraction = _core.convert(fraction, lines.dtype)
    if not skip_nan:
        fraction = primitives.broadcast(fraction, shape=list(below._bound_shape), axes=[axis])
    # Equal neighbours, infinite ones too, are the quantile; half the gap between others is finite where both are.
    same = below == above
    half, one, two = (literal(fraction, number) for number in (0.5, 1.0, 2.0))
    gap = choose(same, 0.0, above * half - below * half)
    result = primitives.select(fraction < half, below + gap * (fraction * two), above - gap * ((one - fraction) * two))
    # Next to an infinite one the quantile is infinite, but at the other exactly.
    infinite = ~primitives.is_finite(gap)
    result = primitives.select(infinite, below * (one - fraction) + above * fraction, result)
    result = primitives.select(same | (infinite & (fraction == literal(fraction, 0.0))), below, result)
    result = primitives.select(infinite & (fraction == one), above, result)
    empty = (primitives.reduce_min if skip_nan else primitives.reduce_max)(missing, axes=[axis])
    return choose(
        primitives.broadcast(empty, shape=list(result._bound_shape), axes=list(range(axis))), math.nan, result
    )


def _weighted(
    name: str,
    x: Array,
    lines: Array,
    levels: Array,
    axes: list[int],
    rest: list[int],
    method: str,
    weights: Any,
    skip_nan: bool,
) -> Array:
    """The smallest element at which the running share of weights reaches the level."""
    if method != "inverted_cdf":
        raise ValueError(f"{name}: weights need method='inverted_cdf'; got {method!r}")
    w = inexact(weights)
    if w._bound_shape != x._bound_shape:
        if w.ndim != 1 or len(axes) != 1 or w._bound_shape[0] != x._bound_shape[axes[0]]:
            raise ValueError(f"{name}: weights of shape {w.shape} do not fit an array of shape {x.shape}")
        w = primitives.broadcast(w, shape=list(x._bound_shape), axes=axes)
    w = reshape(primitives.transpose(w, permutation=[*rest, *axes]), lines._bound_shape)
    axis = lines.ndim - 1
    missing = lines != lines
    if skip_nan:
        w = choose(missing, 0.0, w)
    ordered, w = sort_together([lines, w], axis)
    running = primitives.cumsum(w, axis=axis, reverse=False)
    whole = primitives.reduce_sum(w, axes=[axis])
    found = []
    for i in range(levels.size):
        level = reshape(levels, (levels.size,))[i]
        target = whole * _core.broadcast_to(_core.convert(level, whole.dtype), whole._bound_shape)
        reached = running >= insert_axes(target, [axis])
        reached = reached & (w > literal(w, 0.0))
        first = primitives.reduce_sum(
            _core.convert(primitives.cumsum(_core.convert(reached, _INT32), axis=axis, reverse=False) == 0, _INT32),
            axes=[axis],
        )
        first = primitives.min(first, literal(first, lines._bound_shape[axis] - 1))
        found.append(insert_axes(primitives.gather(ordered, first, axis=axis, batch_dims=axis), [axis]))
    result = concatenate(found, axis) if found else ordered[..., :0]
    empty = (primitives.reduce_min if skip_nan else primitives.reduce_max)(missing, axes=[axis])
    return choose(
        primitives.broadcast(empty, shape=list(result._bound_shape), axes=list(range(axis))), math.nan, result
    )


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """The values below which the shares ``q`` of the elements along axes lie; NaN if any element is.

    Args:
        q: numbers in [0, 1]; an axis of them comes first in the result.
        method: what to take between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``,
            and NumPy's other names.
        weights: of the elements, with ``method="inverted_cdf"``.

    >>> import cotangent as ct
    >>> float(ct.numpy.quantile(ct.numpy.array([1.0, 2.0, 3.0, 4.0]), 0.5))
    2.5
    """
    _no_overwrite(out, overwrite_input, "quantile")
    return _quantile("quantile", a, _levels(q), axis, method, keepdims, False, weights)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """As `quantile`, of the elements that are not NaN."""
    _no_overwrite(out, overwrite_input, "nanquantile")
    return _quantile("nanquantile", a, _levels(q), axis, method, keepdims, True, weights)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Array:
    """As `quantile`, with ``q`` in percent."""
    check_placement(out_sharding, "percentile")
    _no_overwrite(out, overwrite_input, "percentile")
    return _quantile("percentile", a, _levels(q, 100.0), axis, method, keepdims, False, weights)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """As `percentile`, of the elements that are not NaN."""
    _no_overwrite(out, overwrite_input, "nanpercentile")
    return _quantile("nanpercentile", a, _levels(q, 100.0), axis, method, keepdims, True, weights)


def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The element in the middle of the order, or the mean of the two there; NaN if any element is."""
    _no_overwrite(out, overwrite_input, "median")
    return _quantile("median", a, _levels(0.5), axis, "midpoint", keepdims, False)


def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """As `median`, of the elements that are not NaN."""
    _no_overwrite(out, overwrite_input, "nanmedian")
    return _quantile("nanmedian", a, _levels(0.5), axis, "midpoint", keepdims, True)


def _no_overwrite(out: Any, overwrite_input: bool, name: str) -> None:
    no_out(out, name)
    if overwrite_input:
        raise ValueError(f"{name}: overwrite_input is not supported; arrays are immutable")


# ---- Counting --------------------------------------------------------------------------------------------------------


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None, out_sharding: Any = None
) -> Array:
    """How often each of the integers 0, 1, 2, … occurs; with weights, their sums. Negative ones count as 0.

    Args:
        minlength: the least size of the result.
        length: its size; needed where ``x`` is not known. Larger numbers are left out.
    """
    check_placement(out_sharding, "bincount")
    index = _core.array(x)
    if bound_size(index) and not is_integer(index) and kind(index) != "bool":
        raise TypeError(f"bincount takes integers; got {index.dtype}")
    if index.ndim != 1:
        raise ValueError(f"bincount takes an array with one axis; got shape {index.shape}")
    least = static_count(minlength, "bincount: minlength")
    if length is None:
        values = known(index, "bincount", "pass length=, the size of the result")
        length = max(int(values.max()) + 1 if values.size else 0, least)
    index = clip(_core.convert(index, index.dtype if is_integer(index) else _INT32), 0)
    if weights is None:
        updates = _core.full(index._bound_shape, 1, _core.default_int_dtype())
    else:
        updates = _core.array(weights)
        if updates._bound_shape != index._bound_shape:
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
    if edges.size == 0:
        return constant(values, 0, _core.default_int_dtype())
    increasing = edges[-1] >= edges[0]
    rising = primitives.select(
        _core.broadcast_to(increasing, edges._bound_shape), edges, primitives.reverse(edges, axes=[0])
    )
    found = searchsorted(rising, values, "left" if right else "right", method=method or "scan")
    return primitives.select(
        _core.broadcast_to(increasing, found._bound_shape), found, literal(found, edges.size) - found
    )


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
    inside = choose(x == edges[-1], edges.size - 1, found)
    inside = inside - literal(inside, 1)
    return choose((inside >= 0) & (inside < edges.size - 1), inside, -1)


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
    w = _core.full(x._bound_shape, 1, dtype) if weights is None else inexact(ravel(weights))
    if w._bound_shape != x._bound_shape:
        raise ValueError(f"histogram: {x.size} elements need as many weights; got {w.size}")
    # Counts in narrow numbers would stop where 1 is less than their rounding.
    result_dtype = w.dtype
    w = _core.convert(w, working_dtype(result_dtype))
    counts = _core.full((edges.size - 1,), 0, w.dtype)
    x, compared = _core.promote([x, edges[0]])[0], edges
    if bound_size(x):
        index = _bin_of(_core.convert(x, compared.dtype), compared)
        counts = primitives.scatter_add(counts, index, w, axis=0, batch_dims=0)
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
    refuse_ragged("histogramdd", points, [1], "it says how many axes the result has")
    number, rank = points._bound_shape
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


# ---- Covariance ------------------------------------------------------------------------------------------------------


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Array:
    """The covariances of variables, which are rows (columns if not ``rowvar``) of observations.

    Args:
        y: further variables.
        bias: divide by the number of observations N, and not by N - 1.
        ddof: divide by N - ddof.
        fweights: how often each observation was made; integers.
        aweights: the importance of each observation.

    The result for one variable has no axes.

    Raises:
        ConcretizationError: the number of variables is ragged inside ``ct.mask``, so whether there is one is a matter of the length.
    """
    x = inexact(m)
    parts = [x] if y is None else [x, inexact(y)]
    if dtype is not None:
        if _core.dtype_kind(_core.canonical_dtype(dtype)) not in ("float", "complex"):
            raise ValueError(f"cov: the dtype must be floating or complex; got {_core.canonical_dtype(dtype)}")
        parts = [convert(part, dtype) for part in parts]
    for part in parts:
        if part.ndim > 2:
            raise ValueError(f"cov takes one or two axes; got shape {part.shape}")
    rows = [insert_axes(part, list(np.arange(2 - part.ndim).tolist())) if part.ndim < 2 else part for part in parts]
    rows = [
        primitives.transpose(row, permutation=[1, 0]) if not rowvar and part.ndim == 2 else row
        for row, part in zip(rows, parts, strict=True)
    ]
    x = concatenate(rows) if len(rows) > 1 else rows[0]
    if working_dtype(x.dtype) != x.dtype:
        wide = convert(x, working_dtype(x.dtype))
        return convert(cov(wide, None, True, bias, ddof, fweights, aweights), x.dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    w: Array | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        one = _core.array(given)
        if one._bound_shape != (x._bound_shape[1],):
            raise ValueError(f"cov: {x._bound_shape[1]} observations need as many {name}; got shape {one.shape}")
        if name == "fweights" and not is_integer(one):
            raise TypeError(f"cov: fweights must be integers; got {one.dtype}")
        w = one if w is None else w * one
    if x._bound_shape[0] == 0:
        return _core.full((0, 0), 0.0, x.dtype)
    if 0 in _core.ragged_axes(x):
        raise ConcretizationError(
            "cov: the number of variables is ragged, and for one variable the result has no axes\n"
            "  write the product out: d = x - x.mean(1, keepdims=True); d @ d.T / (x.shape[1] - 1)"
        )
    mean, total = average(x, axis=1, weights=w, returned=True)
    total = total[0]
    if w is None:
        factor = total - ddof
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = total - ddof
    else:
        factor = total - ddof * _sum(w * _core.array(aweights)) / total
    factor = choose(real(factor) > 0, factor, 0.0)
    centered = x - insert_axes(mean, [1])
    weighted = centered if w is None else centered * w
    result = dot(weighted, conjugate(primitives.transpose(centered, permutation=[1, 0]))) / factor
    return primitives.reshape(result, shape=[]) if result._bound_shape == (1, 1) else result


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Array:
    """The correlation coefficients of variables: covariances divided by the standard deviations of both."""
    result_dtype = (
        _core.canonical_dtype(dtype)
        if dtype is not None
        else inexact(_core.promote([x] if y is None else [x, y])[0]).dtype
    )
    if working_dtype(result_dtype) != result_dtype:
        return convert(corrcoef(x, y, rowvar, working_dtype(result_dtype)), result_dtype)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = primitives.sqrt(real(diagonal(c)))
    c = c / insert_axes(deviation, [1]) / insert_axes(deviation, [0])
    if c.dtype.kind == "c":
        return primitives.complex(clip(real(c), -1, 1), clip(primitives.imag(c), -1, 1))
    return clip(c, -1, 1)


check_arguments(globals())
