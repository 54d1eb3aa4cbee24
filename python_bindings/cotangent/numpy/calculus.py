"""Differences, integrals and interpolation of sampled functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.dimensions import check_equal_sizes
from cotangent._core import Array
from cotangent._ops.binding import choose, inexact, is_inexact, kind, literal, own, working_dtype
from cotangent._ops.broadcasting import broadcast_to
from cotangent._ops.choice import where
from cotangent._ops.division import remainder
from cotangent._ops.extents import capacity, slice_axis, stretched, without_padding
from cotangent._ops.joining import concatenate
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.running import cumsum
from cotangent._ops.shapes import ravel
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    insert_axes,
    normalize_axes,
    normalize_axis,
    ragged_length,
    several,
)
from cotangent._ops.sorting import argsort, searchsorted
from cotangent.errors import ShapeError

__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]


@own
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """The differences of neighbours along an axis, n times.

    Parameters
    ----------
    a : array
        Numbers; of bools, whether neighbours differ.
    n : int, default 1
        How often.
    axis : int, default -1
        Along which axis.
    prepend, append : array, optional
        Joined to the axis before; a scalar is one slice.

    Returns
    -------
    array
        Shorter by ``n`` along the axis.

    Raises
    ------
    ValueError
        ``n`` is negative, or ``a`` is a scalar.

    Examples
    --------
    >>> ct.numpy.diff([1, 4, 9, 16])
    Array([3, 5, 7], dtype=int32)

    >>> ct.numpy.diff([1, 4, 9, 16], n=2)
    Array([2, 2], dtype=int32)
    """
    x = _core.array(a)
    if n < 0:
        raise ValueError(f"diff: n must not be negative; got {n}\n  n=0 is the array itself")
    if x.ndim == 0:
        raise ValueError("diff needs an array with at least one axis\n  give it an axis first: x.reshape(1)")
    axis = normalize_axis(axis, x.ndim, "diff")
    if n == 0:
        return x
    pieces = [x]
    for extra, front in ((prepend, True), (append, False)):
        if extra is None:
            continue
        piece = _core.array(extra)
        if piece.ndim == 0:
            piece = stretched(piece, x, {axis: 1})
        pieces = [piece, *pieces] if front else [*pieces, piece]
    if len(pieces) > 1:
        x = concatenate(pieces, axis)
    for _ in range(min(n, capacity(x, axis))):  # then there is none left
        ahead, behind = _neighbours(x, axis)
        x = (primitives.ne if kind(x) == "bool" else primitives.sub)(ahead, behind)
    return x


def _neighbours(x: Array, axis: int) -> tuple[Array, Array]:
    """All but the first, and all but the last element of an axis."""
    size = capacity(x, axis)
    # Slices from 1 first: its length is the smaller one when the axis is ragged.
    ahead = slice_axis(x, axis, min(1, size), size)
    behind = slice_axis(x, axis, 0, max(size - 1, 0))
    if axis in _core.ragged_axes(x):
        behind = set_length(behind, ragged_length(ahead, axis), axis)
    return ahead, behind


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """The differences of neighbours of the flattened array, with other numbers before and behind them.

    Parameters
    ----------
    ary : array
        Numbers.
    to_end, to_begin : array, optional
        What stands behind and before the differences; converted to their dtype.

    Returns
    -------
    array, shape (n,)
        The numbers.

    Examples
    --------
    >>> ct.numpy.ediff1d([1, 4, 9], to_begin=0)
    Array([0, 3, 5], dtype=int32)
    """
    differences = diff(ravel(ary))
    parts = [differences]
    if to_begin is not None:
        parts.insert(0, _core.convert(ravel(to_begin), differences.dtype))
    if to_end is not None:
        parts.append(_core.convert(ravel(to_end), differences.dtype))
    return concatenate(parts) if len(parts) > 1 else differences


def gradient(f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None) -> Any:
    """The derivative of sampled values along axes, by central differences, and by one-sided ones at the ends.

    Parameters
    ----------
    f : array
        The values. Integers are converted to the default floating dtype.
    *varargs : number or array
        The distance of the samples, for all axes or for each; or their coordinates along each axis. By default 1.
    axis : int, sequence of int or None, default None
        Along which axes. None: all.
    edge_order : int, optional
        How exact the slopes at the ends are: 1, which is the default, are those of lines through two samples; 2 those of
        parabolas through three.

    Returns
    -------
    array, or list of array
        One for each axis; the array itself for one axis.

    Raises
    ------
    NotImplementedError
        ``edge_order`` is 2 along a ragged axis.
    ValueError
        An axis has fewer than ``edge_order + 1`` samples, or ``edge_order`` is neither 1 nor 2.
    TypeError
        Distances are not as many as axes.

    Examples
    --------
    >>> ct.numpy.gradient([1.0, 2.0, 4.0, 7.0])
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)

    >>> ct.numpy.gradient([1.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    Array([3., 4., 5.], dtype=float32)

    >>> ct.numpy.gradient([1.0, 4.0, 9.0], [1.0, 2.0, 3.0], edge_order=2)
    Array([2., 4., 6.], dtype=float32)
    """
    if edge_order not in (None, 1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2; got {edge_order}\n  leave edge_order out for 1")
    second = edge_order == 2
    x = inexact(f)
    axes = normalize_axes(axis, x.ndim, "gradient") if not several(axis) else [
        normalize_axis(item, x.ndim, "gradient") for item in axis
    ]  # fmt: skip
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient: {len(varargs)} spacings for {len(axes)} axes\n  give one spacing for all axes, or one for each"
        )
    spacings = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    results = []
    for position, spacing in zip(axes, spacings, strict=True):
        if capacity(x, position) < 2 + second:
            least = "three" if second else "two"
            raise ValueError(
                f"gradient needs {least} elements along axis {position}{' for edge_order=2' if second else ''}; "
                f"the shape is {x.shape}\n  name the axes that have {least} or more: gradient(x, axis=...)"
            )
        distances = _core.array(spacing)
        if distances.ndim and not is_inexact(distances):
            # Before they are subtracted: integers would wrap.
            distances = _core.convert(distances, "float64")
        if position not in _core.ragged_axes(x):
            results.append(_gradient(x, distances, position, second))
        elif second:
            raise NotImplementedError(
                f"gradient: edge_order=2 along axis {position}, which is ragged, is not supported\n"
                "  leave edge_order out, and replace the first and the last slope"
            )
        else:
            results.append(_ragged_gradient(x, distances, position))
    return results[0] if len(results) == 1 else results


def _gradient(x: Array, spacing: Array, axis: int, second: bool) -> Array:
    ahead, behind = _neighbours(x, axis)
    size = capacity(x, axis)
    if spacing.ndim == 0:
        # Not the mean of the slopes on both sides, which would lose the digits, or an infinity, of the element between.
        slopes = (ahead - behind) / spacing
        middle = (slice_axis(x, axis, 2, size) - slice_axis(x, axis, 0, size - 2)) * 0.5 / spacing
    else:
        if spacing.ndim == 1:
            check_equal_sizes("gradient", f"f.shape[{axis}]", size, "the size of its coordinates", spacing.size)
        else:
            raise ShapeError(
                f"gradient: {size} elements along axis {axis} need as many coordinates; got shape {spacing.shape}\n"
                "  give the distance as a number, or the coordinates as one axis"
            )
        steps = insert_axes(diff(spacing), [i for i in range(x.ndim) if i != axis])
        steps = _core.convert(steps, x.dtype)
        slopes = (ahead - behind) / steps
        later, earlier = _neighbours(slopes, axis)
        step_later, step_earlier = _neighbours(steps, axis)
        middle = (later * step_earlier + earlier * step_later) / (step_earlier + step_later)
    count = capacity(slopes, axis)

    def at_end(end: int, next_one: int) -> Array:
        slope = slice_axis(slopes, axis, end, end + 1)
        if not second:
            return slope
        inner = slice_axis(slopes, axis, next_one, next_one + 1)
        if spacing.ndim == 0:
            return slope + (slope - inner) * 0.5
        step, inner_step = (slice_axis(steps, axis, i, i + 1) for i in (end, next_one))
        return slope + (slope - inner) * (step / (step + inner_step))

    return concatenate([at_end(0, 1), middle, at_end(count - 1, count - 2)], axis)


def _ragged_gradient(x: Array, spacing: Array, axis: int) -> Array:
    """`_gradient` along a ragged axis: each element's neighbours by their positions, which at an end are the element and its one neighbour."""
    length = ragged_length(x, axis)
    values = without_padding(x, [axis])
    here = primitives.iota(shape=[capacity(x, axis)], dtype=np.dtype("int32"), axis=0)
    zero = literal(here, 0)

    def held(places: Array, last: Array) -> Array:
        return primitives.max(primitives.min(places, stretched(last, places)), zero)

    def at(source: Array, places: Array) -> Array:
        return primitives.gather(source, places, axis=axis if source.ndim > 1 else 0, batch_dims=0)

    def wide(line: Array) -> Array:
        return insert_axes(_core.convert(line, x.dtype), [i for i in range(x.ndim) if i != axis])

    if spacing.ndim == 0:
        ahead, behind = held(here + literal(here, 1), length - 1), held(here - literal(here, 1), length - 1)
        apart = primitives.max(ahead - behind, literal(here, 1))
        slopes = (at(values, ahead) - at(values, behind)) / wide(apart) / spacing
    else:
        if spacing.ndim != 1:
            raise ShapeError(
                f"gradient: the elements along axis {axis} need as many coordinates; got shape {spacing.shape}\n"
                "  give the distance as a number, or the coordinates as one axis"
            )
        check_equal_sizes("gradient", f"f.shape[{axis}]", x.shape[axis], "the size of its coordinates", spacing.size)
        points = without_padding(spacing)
        sides = []
        for first in (held(here, length - 2), held(here - literal(here, 1), length - 2)):
            second = primitives.min(first + literal(here, 1), literal(here, capacity(x, axis) - 1))
            step = wide(at(points, second) - at(points, first))
            sides.append(((at(values, second) - at(values, first)) / step, step))
        (later, step_later), (earlier, step_earlier) = sides
        slopes = (later * step_earlier + earlier * step_later) / (step_earlier + step_later)
    return set_length(slopes, length, axis)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of sampled values along an axis, by the trapezoidal rule.

    Parameters
    ----------
    y : array
        The values. Integers are converted to the default floating dtype.
    x : array, optional
        The coordinates of the samples, along one axis or with those of ``y``.
    dx : number, default 1.0
        The distance of the samples, without ``x``.
    axis : int, default -1
        Along which axis.

    Returns
    -------
    array
        Without the axis.

    Examples
    --------
    >>> ct.numpy.trapezoid([1.0, 2.0, 4.0])
    Array(4.5, dtype=float32)

    >>> ct.numpy.trapezoid([1.0, 2.0, 4.0], x=[0.0, 1.0, 4.0])
    Array(10.5, dtype=float32)
    """
    values = inexact(y)
    position = normalize_axis(axis, values.ndim, "trapezoid")
    points = None if x is None else inexact(x)
    by = _core.array(dx) if points is None else points
    dtype = _core.promote_types([(values.dtype, values.weak_type), (by.dtype, by.weak_type)])[0]
    if working_dtype(dtype) != dtype:
        wide = _core.convert(values, working_dtype(dtype))
        return _core.convert(trapezoid(wide, points, dx, axis), dtype)
    if points is None:
        steps: Any = by
    else:
        steps = diff(points, axis=0 if points.ndim == 1 else axis)
        if points.ndim == 1:
            steps = insert_axes(steps, list(range(1, values.ndim - position)))
    ahead, behind = _neighbours(values, position)
    return _sum((ahead + behind) * steps, axis) * 0.5


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Array:
    """Angles without jumps: multiples of a period are added so that neighbours differ by half a period at most.

    Parameters
    ----------
    p : array
        Real.
    discont : number, optional
        The least jump that is removed. None: half a period.
    axis : int, default -1
        Along which axis.
    period : number, default 2 pi
        Of the angles; that of integers may be an integer.

    Returns
    -------
    array
        Of the shape of ``p``.

    Raises
    ------
    TypeError
        The angles are complex.

    Examples
    --------
    >>> ct.numpy.unwrap([0, 90, 190, -80], period=360)
    Array([  0,  90, 190, 280], dtype=int32)
    """
    x = _core.array(p)
    if kind(x) == "complex":
        raise TypeError("unwrap takes real arrays\n  unwrap the angles of complex numbers: unwrap(angle(x))")
    if not is_inexact(x):
        x = _core.promote([x, period])[0]
    axis = normalize_axis(axis, x.ndim, "unwrap")
    half = period // 2 if isinstance(period, int) and not is_inexact(x) else period / 2
    ends = -half
    step = diff(x, axis=axis)
    wrapped = remainder(step - ends, period) + ends
    wrapped = where((wrapped == ends) & (step > 0), _core.convert(_core.array(half), wrapped.dtype), wrapped)
    correction = where(abs(step) < (half if discont is None else discont), literal(wrapped, 0), wrapped - step)
    first = slice_axis(x, axis, 0, min(1, capacity(x, axis)))
    rest = slice_axis(x, axis, min(1, capacity(x, axis)), capacity(x, axis))
    return concatenate([first, rest + cumsum(correction, axis)], axis)


def _between(x: Array, ends: tuple[Array, Array], y0: Array, y1: Array) -> Array:
    """Points on the lines between ends with values ``y0`` and ``y1``.

    Where infinite ends leave that undefined: an end itself, the line from above, or the value of both ends.
    """
    if kind(y0) == "complex":
        return primitives.complex(
            *(_between(x, ends, part(y0), part(y1)) for part in (primitives.real, primitives.imag))
        )
    width = ends[1] - ends[0]
    # Points at one place: the line between them is not asked for anywhere else.
    width = choose(width == literal(width, 0.0), 1.0, width)
    line = y0 + (x - ends[0]) / width * (y1 - y0)
    low, high, at, below, above, width = (
        _core.convert(primitives.stop_gradient(item), line.dtype) for item in (y0, y1, x, *ends, width)
    )
    other = (high - low) / width * (at - above) + high
    other = where((other != other) & (low == high), low, other)
    other = where(at == below, low, where(at == above, high, other))
    result: Array = where((line != line) & (at == at), other, line)
    return result


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    """The piecewise linear function through given points, at other coordinates.

    Parameters
    ----------
    x : array
        Where the function is wanted.
    xp : array, shape (n,)
        The coordinates of the points, increasing; with ``period``, in any order.
    fp : array, shape (n,)
        Their values, real or complex.
    left, right : number or str, optional
        The values below the first and above the last point, by default theirs; ``"extrapolate"`` continues the line.
    period : number, optional
        At what distance the function repeats.

    Returns
    -------
    array
        Floating, of the shape of ``x``.

    Raises
    ------
    ValueError
        Points do not have one axis, or are not as many in both.

    Examples
    --------
    >>> ct.numpy.interp([1.5, 2.5], [1.0, 2.0, 3.0], [3.0, 2.0, 0.0])
    Array([2.5, 1. ], dtype=float32)

    >>> float(ct.grad(ct.numpy.interp)(1.5, [1.0, 2.0, 3.0], [3.0, 2.0, 0.0]))
    -1.0
    """
    xp_array, values = inexact(xp), inexact(fp)
    if xp_array.ndim != 1 or values.ndim != 1:
        raise ValueError(
            f"interp: points must have one axis; got shapes {xp_array.shape} and {values.shape}\n"
            "  map over the other axes: ct.vmap(ct.numpy.interp)(x, xp, fp)"
        )
    check_equal_sizes("interp", "xp.size", xp_array.size, "fp.size", values.size, ValueError)
    if capacity(xp_array, 0) == 0:
        raise ValueError("interp: there are no points\n  give one point or more")
    for name, bound in (("left", left), ("right", right)):
        if isinstance(bound, str) and bound != "extrapolate":
            raise ValueError(
                f"interp: {name} must be a number or 'extrapolate'; got {bound!r}\n"
                f"  leave {name} out for the outermost value, or write {name}='extrapolate'"
            )
    where_to, points = _core.promote([x, xp_array[0]], inexact=True)[0], xp_array
    points = _core.convert(points, where_to.dtype)
    if period is not None:
        if _core.array(period).ndim:
            raise ValueError("interp: period must be a scalar\n  give one number, or map over several with ct.vmap")
        length = abs(_core.array(period))
        where_to, points = remainder(where_to, length), remainder(points, length)
        order = argsort(points)
        points, values = points[order], values[order]
        points = concatenate([points[-1:] - length, points, points[:1] + length])
        values = concatenate([values[-1:], values, values[:1]])
    count = axis_size(points, 0)
    if capacity(points, 0) == 1:
        result: Array = broadcast_to(values[0], where_to.shape)
    else:
        upper = searchsorted(points, where_to, side="right")
        last = stretched(as_dtype(count, upper.dtype), upper) - literal(upper, 1)
        lower = primitives.max(primitives.min(upper, last), literal(upper, 1)) - literal(upper, 1)
        upper = primitives.min(lower + literal(upper, 1), last)  # of one point, that
        x0, x1, y0, y1 = points[lower], points[upper], values[lower], values[upper]
        result = _between(where_to, (x0, x1), y0, y1)
    if period is None:
        low = values[0] if left is None else left
        high = values[-1] if right is None else right
        if not isinstance(low, str):
            result = where(where_to < points[0], _core.convert(_core.array(low), result.dtype), result)
        if not isinstance(high, str):
            result = where(where_to > points[-1], _core.convert(_core.array(high), result.dtype), result)
    return result


check_arguments(globals())
