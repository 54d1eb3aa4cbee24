"""Quantiles, percentiles and medians, with NaN or without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.binding import choose, convert, inexact, literal, no_out
from cotangent._ops.extents import alike, capacities, capacity, join_axes, spread_over, stretched
from cotangent._ops.joining import concatenate
from cotangent._ops.reshaping import reshaped
from cotangent._ops.shapes import reshape
from cotangent._ops.sizes import (
    as_dtype,
    element_count,
    insert_axes,
    normalize_axes,
    symbolic_size,
)
from cotangent._ops.sorting import check_real, sort, sort_together

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

_INT32 = np.dtype("int32")


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


def _is_written(q: Any) -> bool:
    return isinstance(q, (int, float)) or (isinstance(q, (list, tuple)) and all(map(_is_written, q)))


def _levels(q: Any, scale: float = 1.0) -> Array:
    """The levels in units of ``scale``. Python's numbers keep their digits whatever dtype is the default: 0.1 means a tenth."""
    if _is_written(q):
        return _core.array(np.asarray(q, np.float64) / scale)
    levels = inexact(q)
    return levels if scale == 1 else levels / scale


# Whether "nearest" takes the element of even position of two that are as near, as in NumPy; the lower one, as in programs for JAX, else.
ties_are_even = True


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
        goes_up = (fraction > half) | ((fraction == half) & ~even) if ties_are_even else fraction > half
        fraction = choose(goes_up, one, zero)
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
        methods = [*_CONTINUOUS, *_DISCRETE]
        raise ValueError(
            f"{name}: unknown method {method!r}{suggestion(method, methods)}\n  the methods are {', '.join(methods)}"
        )
    x = inexact(a)
    check_real(x, name)
    axes = normalize_axes(axis, x.ndim, name)
    kept = [1 if i in axes else symbolic_size(x, i) for i in range(x.ndim)]
    # The reduced axes are brought to the end and made one.
    rest = [i for i in range(x.ndim) if i not in axes]
    lines = primitives.transpose(x, permutation=[*rest, *axes]) if axes != list(range(x.ndim))[len(rest) :] else x
    total = element_count(x, axes)
    if len(axes) != 1:
        lines = join_axes(lines, len(rest), x.ndim)
    if capacity(lines, -1) == 0:
        raise ValueError(f"{name} of zero elements has no value\n  test the size first")
    if weights is not None:
        found = _weighted(name, x, lines, levels, axes, rest, method, weights, skip_nan)
    else:
        found = _unweighted(lines, levels, total, method, skip_nan)
    if _core.is_traced(levels) or np.isnan(np.asarray(levels)).any():
        flat = reshape(levels, (levels.size,))
        found = choose(spread_over(flat != flat, found, [found.ndim - 1]), np.nan, found)
    # The axis of q first.
    found = primitives.transpose(found, permutation=[found.ndim - 1, *range(found.ndim - 1)])
    lead = list(capacities(levels))
    shape = kept if keepdims else [symbolic_size(x, i) for i in rest]
    return convert(reshaped(found, [*lead, *shape]), x.dtype)


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
        shape = [*capacities(count), flat.size]
        q = primitives.broadcast(flat, shape=shape, axes=[len(shape) - 1])
        count = primitives.broadcast(count, shape=shape, axes=list(range(count.ndim)))
    else:
        q, count = flat, stretched(as_dtype(total, wide), flat)
    low, high, fraction = _places(q, count, method, rounding)
    below, above = (
        primitives.gather(ordered, _core.convert(at, _INT32), axis=axis, batch_dims=axis if skip_nan else 0)
        for at in (low, high)
    )
    fraction = _core.convert(fraction, lines.dtype)
    if not skip_nan:
        fraction = spread_over(fraction, below, [axis])
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
    if isinstance(total, Array):
        empty = empty | stretched(total <= 0, empty)
    return choose(spread_over(empty, result, range(axis)), math.nan, result)


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
        raise ValueError(f"{name}: weights need method='inverted_cdf'; got {method!r}\n  write method='inverted_cdf'")
    w = inexact(weights)
    if not alike(w, x):
        if w.ndim != 1 or len(axes) != 1 or capacity(w, 0) != capacity(x, axes[0]):
            raise ValueError(
                f"{name}: weights of shape {w.shape} do not fit an array of shape {x.shape}\n"
                "  give weights of the shape of the array, or one for each element along one axis"
            )
        w = spread_over(w, x, axes)
    w = primitives.transpose(w, permutation=[*rest, *axes])
    w = join_axes(w, len(rest), w.ndim) if len(axes) != 1 else w
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
        target = whole * stretched(_core.convert(level, whole.dtype), whole)
        reached = running >= insert_axes(target, [axis])
        reached = reached & (w > literal(w, 0.0))
        first = primitives.reduce_sum(
            _core.convert(primitives.cumsum(_core.convert(reached, _INT32), axis=axis, reverse=False) == 0, _INT32),
            axes=[axis],
        )
        first = primitives.min(first, literal(first, capacity(lines, axis) - 1))
        found.append(insert_axes(primitives.gather(ordered, first, axis=axis, batch_dims=axis), [axis]))
    result = concatenate(found, axis) if found else ordered[..., :0]
    empty = (primitives.reduce_min if skip_nan else primitives.reduce_max)(missing, axes=[axis])
    return choose(spread_over(empty, result, range(axis)), math.nan, result)


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
    """The values below which given shares of the elements along axes lie.

    It is NaN where any element is; see `nanquantile`.

    Parameters
    ----------
    a : array
        Real numbers.
    q : array
        The shares, from 0 to 1; others count as the nearest of these.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    overwrite_input : bool, default False
        Must be False: the array stays as it is.
    method : str, default "linear"
        What to take between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``, or
        another of the methods that NumPy has.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    weights : array, optional
        Of the elements; with ``method="inverted_cdf"`` only.

    Returns
    -------
    array
        Floating: the axes of ``q``, then those that are not reduced.

    Raises
    ------
    ValueError
        There are no elements, there is no such method, weights are given with another one, or ``overwrite_input`` is
        True.

    Examples
    --------
    >>> ct.numpy.quantile([1.0, 2.0, 3.0, 4.0], [0.5, 0.75])
    Array([2.5 , 3.25], dtype=float32)
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
    """The values below which given shares of the elements along axes lie that are not NaN; of none, NaN.

    Parameters
    ----------
    a : array
        Real numbers.
    q : array
        The shares, from 0 to 1; others count as the nearest of these.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    overwrite_input : bool, default False
        Must be False: the array stays as it is.
    method : str, default "linear"
        What to take between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``, or
        another of the methods that NumPy has.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    weights : array, optional
        Of the elements; with ``method="inverted_cdf"`` only.

    Returns
    -------
    array
        Floating: the axes of ``q``, then those that are not reduced.

    Raises
    ------
    ValueError
        There are no elements, there is no such method, weights are given with another one, or ``overwrite_input`` is
        True.

    Examples
    --------
    >>> ct.numpy.nanquantile([1.0, 2.0, ct.numpy.nan, 4.0], 0.5)
    Array(2., dtype=float32)
    """
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
    out_sharding: Placement = None,
) -> Array:
    """The values below which given percentages of the elements along axes lie.

    It is NaN where any element is; see `nanpercentile`.

    Parameters
    ----------
    a : array
        Real numbers.
    q : array
        The percentages, from 0 to 100; others count as the nearest of these.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    overwrite_input : bool, default False
        Must be False: the array stays as it is.
    method : str, default "linear"
        What to take between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``, or
        another of the methods that NumPy has.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    weights : array, optional
        Of the elements; with ``method="inverted_cdf"`` only.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        Floating: the axes of ``q``, then those that are not reduced.

    Raises
    ------
    ValueError
        There are no elements, there is no such method, weights are given with another one, or ``overwrite_input`` is
        True.

    Examples
    --------
    >>> ct.numpy.percentile([1.0, 2.0, 3.0, 4.0], [50, 75])
    Array([2.5 , 3.25], dtype=float32)
    """
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
    """The values below which given percentages of the elements along axes lie that are not NaN; of none, NaN.

    Parameters
    ----------
    a : array
        Real numbers.
    q : array
        The percentages, from 0 to 100; others count as the nearest of these.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    overwrite_input : bool, default False
        Must be False: the array stays as it is.
    method : str, default "linear"
        What to take between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``, or
        another of the methods that NumPy has.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    weights : array, optional
        Of the elements; with ``method="inverted_cdf"`` only.

    Returns
    -------
    array
        Floating: the axes of ``q``, then those that are not reduced.

    Raises
    ------
    ValueError
        There are no elements, there is no such method, weights are given with another one, or ``overwrite_input`` is
        True.

    Examples
    --------
    >>> ct.numpy.nanpercentile([1.0, 2.0, ct.numpy.nan, 4.0], 50)
    Array(2., dtype=float32)
    """
    _no_overwrite(out, overwrite_input, "nanpercentile")
    return _quantile("nanpercentile", a, _levels(q, 100.0), axis, method, keepdims, True, weights)


def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The element in the middle of the order along axes, or the mean of the two there; NaN where any element is.

    Parameters
    ----------
    a : array
        Real numbers.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    overwrite_input : bool, default False
        Must be False: the array stays as it is.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.

    Returns
    -------
    array
        Floating, without the reduced axes.

    Raises
    ------
    ValueError
        There are no elements, or ``overwrite_input`` is True.

    Examples
    --------
    >>> ct.numpy.median([[1.0, 5.0, 2.0], [4.0, 0.0, 9.0]], axis=1)
    Array([2., 4.], dtype=float32)

    >>> rows = ct.ragged([np.float32([1, 2]), np.float32([5])])
    >>> ct.vmap(ct.mask(ct.numpy.median))(rows)
    Array([1.5, 5. ], dtype=float32)
    """
    _no_overwrite(out, overwrite_input, "median")
    return _quantile("median", a, _levels(0.5), axis, "midpoint", keepdims, False)


def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The element in the middle of the order along axes, or the mean of the two there, without those that are NaN.

    Parameters
    ----------
    a : array
        Real numbers.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    overwrite_input : bool, default False
        Must be False: the array stays as it is.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.

    Returns
    -------
    array
        Floating, without the reduced axes; NaN where all elements are.

    Raises
    ------
    ValueError
        There are no elements, or ``overwrite_input`` is True.

    Examples
    --------
    >>> ct.numpy.nanmedian([1.0, ct.numpy.nan, 2.0])
    Array(1.5, dtype=float32)
    """
    _no_overwrite(out, overwrite_input, "nanmedian")
    return _quantile("nanmedian", a, _levels(0.5), axis, "midpoint", keepdims, True)


def _no_overwrite(out: Any, overwrite_input: bool, name: str) -> None:
    no_out(out, name)
    if overwrite_input:
        raise ValueError(f"{name}: overwrite_input is not supported\n  leave it out: the array stays as it is")


check_arguments(globals())
