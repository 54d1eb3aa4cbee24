"""Ranges of numbers, and the grids that are made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._base.dimensions import is_scalar_integer, largest, narrowed, not_negative
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import convert, literal
from cotangent._ops.creation import asarray, zeros
from cotangent._ops.positions import is_unknown
from cotangent._ops.sizes import (
    insert_axes,
    is_dimension,
    normalize_axis,
    ragged_length,
    size_from,
    static_int,
    static_shape,
)

__all__ = [
    "arange",
    "geomspace",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "vander",
]


def _iota(size: int, dtype: Any) -> Array:
    return primitives.iota(shape=[size], dtype=_core.canonical_dtype(dtype), axis=0)


def _number(value: Any, name: str) -> Any:
    """A bound of a range as a Python number."""
    if _core.is_python_scalar(value):
        return value
    if np.ndim(value) != 0 and not (isinstance(value, Array) and value.ndim == 0):
        raise TypeError(
            f"{name}: bounds must be scalars; got shape {np.shape(value)}\n"
            "  give numbers; a range for each element is x[:, None] + arange(n)"
        )
    return _core.to_numpy(value).item()


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """The numbers ``start``, ``start + step``, … up to but without ``stop``; one argument is ``stop``.

    The bounds must be known, or be sizes: inside of ``ct.mask``, ``arange(x.shape[0])`` has the length of the ragged
    axis, and ``arange(n // 2, n)`` what its bounds say. A step of floating dtype may give one number more or less
    than wanted: `linspace` does not.

    Parameters
    ----------
    start : number
        The first number; with one argument, where to stop, from 0 on.
    stop : number, optional
        Where to stop.
    step : number, optional
        The distance of the numbers, by default 1; may be negative.
    dtype : dtype, optional
        Of the result. None: that of the bounds.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array, shape (n,)
        The numbers; none where ``stop`` is on the other side.

    Raises
    ------
    ValueError
        The step is 0, or a bound is complex.
    TypeError
        A bound is not a scalar.

    Examples
    --------
    >>> ct.numpy.arange(3)
    Array([0, 1, 2], dtype=int32)

    >>> ct.numpy.arange(1.0, 2.0, 0.25)
    Array([1.  , 1.25, 1.5 , 1.75], dtype=float32)

    >>> rows = ct.ragged([np.float32([1, 2]), np.float32([5])])
    >>> ct.vmap(ct.mask(lambda x: ct.numpy.arange(x.shape[0])))(rows)
    Ragged([[0, 1], [0]], lengths={1: [2, 1]}, dtype=int32)
    """
    if builtins_any(
        is_dimension(part) or (is_scalar_integer(part) and is_unknown(part)) for part in (start, stop, step)
    ):
        return _sized_range(start, stop, step, dtype)
    parts = [part for part in (start, stop, step) if part is not None]
    if start is None:
        raise TypeError(
            f"arange: {'a range needs a number to stop before' if stop is None else 'start must be a number'}; got None\n"
            "  write arange(n) for 0, 1, … below n"
        )
    if dtype is None:
        dtype, _ = _core.promote_types([(lambda a: (a.dtype, a.weak_type))(_core.array(part)) for part in parts])
    dtype = _core.canonical_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    if builtins_any(_core.dtype_kind(_core.array(part).dtype) == "complex" for part in parts):
        raise ValueError("arange takes real start, stop and step\n  multiply a range of real numbers: 1j * arange(n)")
    begin, end, stride = (
        _number(start, "arange"),
        _number(stop, "arange"),
        1 if step is None else _number(step, "arange"),
    )
    if stride == 0:
        raise ValueError("arange: step must not be 0\n  leave the step out for steps of one")
    steps = (end - begin) / stride
    if not math.isfinite(steps):
        raise ValueError(
            f"arange: from {begin} to {end} in steps of {stride} is no number of elements\n"
            "  give finite bounds, and a step that is not NaN"
        )
    size = max(0, math.ceil(steps))
    wide = np.dtype("float32") if dtype.itemsize == 2 and _core.dtype_kind(dtype) == "float" else dtype
    whole = isinstance(begin, int) and isinstance(stride, int)
    if not whole and _core.dtype_kind(dtype) not in ("float", "complex"):
        return convert(_core.array(np.arange(begin, end, stride)), dtype)
    result = _iota(size, wide)
    if stride != 1:
        result = result * literal(result, stride)
    if begin != 0:
        result = result + literal(result, begin)
    return _core.convert(result, dtype)


def _sized_range(start: Any, stop: Any, step: Any, dtype: Any) -> Array:
    """`arange` where a bound is a size, or a value that may become one."""
    first, last = (0, start) if stop is None else (start, stop)
    if _is_fraction(first) or _is_fraction(step) or _is_fraction(last):
        return _range_of_fractions(first, last, 1 if step is None else step, dtype)
    first, last = (size_from(item, "arange: a bound") for item in (first, last))
    stride = 1 if step is None else static_int(step, "arange: the step beside bounds that are sizes")
    if stride == 0:
        raise ValueError("arange: step must not be 0\n  leave the step out for steps of one")
    distance = last - first if stride > 0 else first - last
    count = narrowed(not_negative((distance + (abs(stride) - 1)) // abs(stride)))
    sizes, lengths = static_shape((count,), "arange")
    wide = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    result = _iota(sizes[0], wide)
    if stride != 1:
        result = result * literal(result, stride)
    if is_dimension(first):
        result = result + _core.broadcast_to(_core.convert(first.value, wide), result._bound_shape)
    elif first:
        result = result + literal(result, int(first))
    return give_lengths(result, lengths)


def _is_fraction(value: Any) -> bool:
    return isinstance(value, (float, np.floating))


def _range_of_fractions(start: Any, stop: Any, step: Any, dtype: Any) -> Array:
    """`arange` of floats where one bound is a size: how many numbers there are is asked of NumPy for each length.

    Raises:
        TypeError: both bounds are sizes, or the step is one.
    """
    sizes = [part for part in (start, stop) if is_dimension(part)]
    if len(sizes) != 1 or not all(_core.is_python_scalar(part) for part in (start, stop, step) if part is not sizes[0]):
        raise TypeError(
            "arange: of floats, one of start and stop may be a size, and the step a number\n"
            "  count with integers: start + step * ct.numpy.arange(n)"
        )
    size = narrowed(sizes[0])
    numbers: Any = np.arange
    counts = [
        len(numbers(*(known if is_dimension(part) else part for part in (start, stop)), step))
        for known in range(size.least, size.bound + 1)
    ]
    places = primitives.sub(size.value, literal(size.value, size.least))
    count = primitives.gather(_core.array(np.array(counts, np.int32)), places, axis=0, batch_dims=0)
    wide = _core.canonical_dtype(float if dtype is None else dtype)
    result = _iota(max(counts), wide)
    if step != 1:
        result = result * literal(result, step)
    if is_dimension(start):
        result = result + _core.broadcast_to(_core.convert(start.value, wide), result._bound_shape)
    elif start:
        result = result + literal(result, start)
    return give_lengths(result, {0: count})


def _fractions(num: Any, divisions: Any, dtype: Any) -> Array:
    """``0 … num - 1`` over the number of divisions, where one is a size."""
    sizes, lengths = static_shape((num,), "linspace")
    position = _iota(sizes[0], dtype)
    parts = _core.broadcast_to(_core.convert(largest(divisions, 1).value, dtype), position._bound_shape)
    return give_lengths(position / parts, lengths)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Placement = None,
) -> Any:
    """Evenly spaced numbers between two ends.

    Parameters
    ----------
    start, stop : array
        The ends; promoted to a common floating dtype and broadcast.
    num : int, default 50
        How many numbers.
    endpoint : bool, default True
        Whether ``stop`` is the last of them.
    retstep : bool, default False
        Whether the distance of the numbers is returned, too.
    dtype : dtype, optional
        Of the result. None: floating. Of integers, numbers are rounded down.
    axis : int, default 0
        Where the axis of the numbers is, if the ends are arrays.
    device : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array, or tuple of two arrays
        The numbers; with ``retstep`` also their distance, NaN where there is none.

    Raises
    ------
    ValueError
        ``num`` is negative.

    Examples
    --------
    >>> ct.numpy.linspace(0.0, 1.0, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)

    >>> ct.numpy.linspace([0.0, 10.0], [1.0, 20.0], 3)
    Array([[ 0. , 10. ],
           [ 0.5, 15. ],
           [ 1. , 20. ]], dtype=float32)
    """
    count: Any = _number_of(num, "linspace")
    if dtype is not None and _core.dtype_kind(dtype) in ("float", "complex"):
        start, stop = asarray(start, dtype), asarray(stop, dtype)
    start, stop = _core.promote([start, stop], inexact=True)
    out_dtype = start.dtype if dtype is None else _core.canonical_dtype(dtype)
    whole = _core.dtype_kind(out_dtype) in ("signed", "unsigned")
    # Rounding is seen where numbers are rounded down.
    kept = "float64" if whole and _core.dtype_kind(start.dtype) == "float" else start.dtype
    start, stop = convert(start, kept), convert(stop, kept)
    divisions = count - 1 if endpoint else count
    if is_dimension(count):
        result, gap = _sized_linspace(start, stop, count, divisions, endpoint, whole)
    elif divisions > 0:
        shape = [count, *start._bound_shape]
        number = _iota(count, start.dtype)
        fraction = number if whole else number / literal(number, divisions)
        fraction = primitives.broadcast(fraction, shape=shape, axes=[0])
        first, last = _core.broadcast_to(start, shape), _core.broadcast_to(stop, shape)
        if whole:
            result = first + (last - first) * fraction / literal(fraction, divisions)
        else:
            result = first * (literal(fraction, 1) - fraction) + last * fraction
        if endpoint:
            position = primitives.iota(shape=shape, dtype=np.dtype("int32"), axis=0)
            result = primitives.select(primitives.eq(position, literal(position, count - 1)), last, result)
        gap = (stop - start) / divisions
    else:
        result = _core.broadcast_to(start, [count, *start._bound_shape])
        gap = _core.full((), math.nan, start.dtype)
    if whole:
        result = primitives.floor(result)
    result = _core.convert(result, out_dtype)
    result = _first_axis_to(result, axis, "linspace")
    return (result, gap) if retstep else result


def _sized_linspace(
    start: Array, stop: Array, num: Any, divisions: Any, endpoint: bool, whole: bool
) -> tuple[Array, Array]:
    """The numbers and the gap between them, in the steps in which those of a known number are made."""
    (count,), lengths = static_shape((num,), "linspace")
    fraction = _fractions(num, divisions, start.dtype)
    shape = [count, *start._bound_shape]
    wide = give_lengths(primitives.broadcast(fraction, shape=shape, axes=[0]), lengths)
    first, last = (give_lengths(_core.broadcast_to(x, shape), lengths) for x in (start, stop))
    if whole:
        number = give_lengths(primitives.iota(shape=shape, dtype=start.dtype, axis=0), lengths)
        parts = _core.broadcast_to(_core.convert(largest(divisions, 1).value, start.dtype), shape)
        result = first + (last - first) * number / give_lengths(parts, lengths)
    else:
        result = first * (literal(wide, 1) - wide) + last * wide
    position = give_lengths(primitives.iota(shape=shape, dtype=np.dtype("int32"), axis=0), lengths)
    if endpoint:
        end = give_lengths(_core.broadcast_to(largest(num, 1).value - 1, shape), lengths)
        # Of one number the first is also the last, and the start.
        result = primitives.select(primitives.eq(position, end) & (position > 0), last, result)
    none = _core.convert(largest(divisions, 1).value, start.dtype)
    gap = (stop - start) / _core.broadcast_to(none, start._bound_shape)
    divided = _core.broadcast_to(divisions.value > 0, start._bound_shape)
    return result, primitives.select(divided, gap, literal(gap, math.nan))


def _first_axis_to(x: Array, axis: int, name: str) -> Array:
    position = normalize_axis(axis, x.ndim, name)
    if position == 0:
        return x
    order = list(range(1, x.ndim))
    order.insert(position, 0)
    return primitives.transpose(x, permutation=order)


def _number_of(num: Any, name: str) -> Any:
    """How many numbers: an int, or a size."""
    count = size_from(num, f"{name}: num")
    if not is_dimension(count) and count < 0:
        raise ValueError(f"{name}: num must not be negative; got {count}\n  num=0 makes an array without elements")
    return count


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Array:
    """Numbers with evenly spaced logarithms: ``base ** linspace(start, stop, ...)``.

    Parameters
    ----------
    start, stop : array
        The exponents of the ends; promoted to a common floating dtype and broadcast.
    num : int, default 50
        How many numbers.
    endpoint : bool, default True
        Whether ``base ** stop`` is the last of them.
    base : array, default 10.0
        What is raised; broadcast with the ends.
    dtype : dtype, optional
        Of the result. None: floating.
    axis : int, default 0
        Where the axis of the numbers is, if the ends are arrays.

    Returns
    -------
    array
        The numbers.

    Examples
    --------
    >>> ct.numpy.logspace(0, 3, 4, base=2.0)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    if dtype is not None and _core.dtype_kind(dtype) in ("signed", "unsigned"):
        # Narrower powers of whole numbers are a little less than these sooner, and conversion rounds down.
        wide = np.float64(0)
        start, stop, base = (_core.promote([x, wide])[0] for x in (start, stop, base))
    if getattr(base, "ndim", 0) or isinstance(base, (list, tuple)):
        # The bases are broadcast with the ends, before there is an axis of numbers.
        base = _core.array(base)
        lead = _core.broadcast_shapes([_core.array(x)._bound_shape for x in (start, stop, base)])
        start, base = (_core.broadcast_to(_core.array(x), list(lead)) for x in (start, base))
        base = insert_axes(base, [normalize_axis(axis, base.ndim + 1, "logspace")])
    exponents = linspace(start, stop, _number_of(num, "logspace"), endpoint, axis=axis)
    result = primitives.pow(*_core.promote([base, exponents], inexact=True))
    return result if dtype is None else convert(result, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Array:
    """Numbers between two ends, each the same multiple of the one before.

    Parameters
    ----------
    start, stop : array
        The ends, which are exact: both positive, both negative, or complex; promoted to a common floating dtype and
        broadcast.
    num : int, default 50
        How many numbers.
    endpoint : bool, default True
        Whether ``stop`` is the last of them.
    dtype : dtype, optional
        Of the result. None: floating or complex.
    axis : int, default 0
        Where the axis of the numbers is, if the ends are arrays.

    Returns
    -------
    array
        The numbers.

    Examples
    --------
    >>> ct.numpy.geomspace(1.0, 1000.0, 4).round(3)
    Array([   1.,   10.,  100., 1000.], dtype=float32)
    """
    num = _number_of(num, "geomspace")
    (count,), lengths = static_shape((num,), "geomspace")
    last = num - 1
    start, stop = _core.promote([start, stop], inexact=True)
    out_dtype = start.dtype if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(out_dtype) == "complex" and _core.dtype_kind(start.dtype) == "float":
        # Ends of two signs are on two sides of a circle.
        start, stop = _core.convert(start, out_dtype), _core.convert(stop, out_dtype)
    whole = _core.dtype_kind(out_dtype) in ("signed", "unsigned")
    if _core.dtype_kind(start.dtype) == "float" and (whole or start.dtype.itemsize == 2):
        wide = "float64" if whole else "float32"
        start, stop = _core.convert(start, wide), _core.convert(stop, wide)
    # Turned so that it starts on the positive axis: turned back, real numbers stay real.
    sign = primitives.sign(start)
    exponents = linspace(primitives.log(start / sign), primitives.log(stop / sign), num, endpoint)
    sized = [count, *start._bound_shape]
    result = primitives.exp(exponents) * sign
    if whole and _core.dtype_kind(result.dtype) == "float":
        # Conversion would round down what is a whole number but for the rounding of its exponent.
        near = primitives.round(result)
        result = primitives.select(abs(result - near) <= abs(near) * 4e-14, near, result)
    # The ends are exact.
    position = give_lengths(primitives.iota(shape=sized, dtype=np.dtype("int32"), axis=0), lengths)
    if endpoint:
        end = give_lengths(_core.broadcast_to(stop, sized), lengths)
        result = primitives.select(position == last, end, result)
    begin = give_lengths(_core.broadcast_to(start, sized), lengths)
    result = primitives.select(position == 0, begin, result)
    return _first_axis_to(convert(result, out_dtype), axis, "geomspace")


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Array]:
    """The coordinates of the points of a grid, from those along each axis.

    Parameters
    ----------
    *xi : array, shape (n,)
        The coordinates along each axis.
    copy : bool, default True
        Without effect: arrays are immutable.
    sparse : bool, default False
        Whether the other axes have size 1, instead of repeated values.
    indexing : str, default "xy"
        ``"xy"``: the first two axes of the results are exchanged; ``"ij"``: they are not.

    Returns
    -------
    list of array
        One for each axis of the grid, each with the shape of the grid.

    Raises
    ------
    ValueError
        Coordinates have more than one axis, or there is no such indexing.

    Examples
    --------
    >>> x, y = ct.numpy.meshgrid([1, 2, 3], [10, 20])
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    del copy
    if indexing not in ("xy", "ij"):
        raise not_among("meshgrid", "indexing", indexing, ("xy", "ij"))
    arrays = [_core.array(x) for x in xi]
    if builtins_any(x.ndim > 1 for x in arrays):
        raise ValueError("meshgrid: coordinates must have one axis\n  make one axis of each: x.ravel()")
    arrays = [insert_axes(x, [0]) if x.ndim == 0 else x for x in arrays]
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[0], order[1] = 1, 0
    sizes = [x._bound_shape[0] for x in arrays]
    shape = [0] * len(arrays)
    for i, axis in enumerate(order):
        shape[axis] = sizes[i]
    results = []
    for i, x in enumerate(arrays):
        target = [1] * len(arrays) if sparse else list(shape)
        target[order[i]] = sizes[i]
        results.append(primitives.broadcast(x, shape=target, axes=[order[i]]))
    if not sparse:
        lengths = {order[i]: ragged_length(x, 0) for i, x in enumerate(arrays) if _core.ragged_axes(x)}
        results = [give_lengths(result, lengths) for result in results]
    return results


builtins_any = any


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The index of every point of a grid along each axis.

    Parameters
    ----------
    dimensions : sequence of int
        The sizes of the grid.
    dtype : dtype, optional
        Of the result. None: the default integer dtype.
    sparse : bool, default False
        Whether the result is a tuple of arrays whose other axes have size 1.

    Returns
    -------
    array, shape (len(dimensions), *dimensions)
        The indices; with ``sparse`` a tuple of arrays.

    Examples
    --------
    >>> ct.numpy.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    dtype = _core.default_int_dtype() if dtype is None else dtype
    sizes, lengths = static_shape(tuple(dimensions), "indices")
    grids = []
    for axis, size in enumerate(sizes):
        target = [1] * len(sizes) if sparse else sizes
        target = [*target[:axis], size, *target[axis + 1 :]]
        grid = primitives.iota(shape=target, dtype=_core.canonical_dtype(dtype), axis=axis)
        grids.append(give_lengths(grid, {at: length for at, length in lengths.items() if at == axis or not sparse}))
    if sparse:
        return tuple(grids)
    if not grids:
        return zeros((0,), dtype)
    return primitives.concatenate(*[insert_axes(grid, [0]) for grid in grids], axis=0)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """The powers of numbers as the columns of a matrix.

    Parameters
    ----------
    x : array, shape (n,)
        The numbers.
    N : int, optional
        How many columns. None: n.
    increasing : bool, default False
        Whether the powers increase from 0, and do not decrease to it.

    Returns
    -------
    array, shape (n, N)
        The powers.

    Raises
    ------
    ValueError
        ``x`` does not have one axis.

    Examples
    --------
    >>> ct.numpy.vander([2, 3], 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    array = _core.array(x)
    if array.ndim != 1:
        raise ValueError(
            f"vander needs one axis; got shape {array.shape}\n"
            "  make one axis of it, x.ravel(), or map over the others with ct.vmap"
        )
    (count,), lengths = static_shape(array.shape if N is None else (N,), "vander")
    powers = _iota(count, array.dtype)
    if lengths:
        length = lengths[0]
        if not increasing:
            powers = (
                primitives.broadcast(convert(length, array.dtype), shape=[count], axes=[]) - literal(powers, 1) - powers
            )
        powers = primitives.set_length(powers, length, axis=0)
    elif not increasing:
        powers = literal(powers, count - 1) - powers
    return primitives.pow(*_core.promote([insert_axes(array, [1]), powers]))


check_arguments(globals())
