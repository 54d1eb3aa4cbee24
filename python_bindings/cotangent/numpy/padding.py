"""Arrays made larger at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.capture import give_lengths
from cotangent._base.dimensions import Dim, bound_of, narrowed, not_negative, size_if_computed
from cotangent._core import Array
from cotangent._ops import means, reductions
from cotangent._ops.binding import literal, own
from cotangent._ops.choice import where
from cotangent._ops.extents import capacity, drop_axes, slice_axis, stretched, without_padding
from cotangent._ops.joining import concatenate
from cotangent._ops.positions import known
from cotangent._ops.ranges import linspace
from cotangent._ops.rounding import round as _round
from cotangent._ops.sizes import (
    insert_axes,
    length_of_size,
    normalize_axis,
    several,
    static_int,
    symbolic_size,
)
from cotangent._ops.turning import flip
from cotangent.numpy.functional import apply_along_axis
from cotangent.numpy.quantiles import median
from cotangent.numpy.ragged_padding import last_elements, pad_ragged

__all__ = ["pad"]


def _width(width: Any) -> Any:
    width = size_if_computed(width, "pad: a width")
    return narrowed(width) if isinstance(width, Dim) else static_int(width, "pad: a width")


def _pad_widths(pad_width: Any, rank: int) -> list[tuple[Any, Any]]:
    widths: list[tuple[Any, Any]]
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * rank
        for axis, pair in pad_width.items():
            low, high = pair if several(pair) else (pair, pair)
            widths[normalize_axis(axis, rank, "pad")] = (_width(low), _width(high))
    else:
        if isinstance(pad_width, Array) and pad_width.ndim == 2:
            pad_width = known(pad_width, "pad", "give the widths as ints")
        if isinstance(pad_width, np.ndarray):
            pad_width = pad_width.tolist()
        rows = list(pad_width) if several(pad_width) else [pad_width]
        if not any(several(row) for row in rows):
            rows = [rows]
        rows = [list(row) if several(row) else [row] for row in rows]
        if len(rows) not in (1, rank) or any(len(row) not in (1, 2) for row in rows):
            raise ValueError(
                f"pad: widths of {rank} axes are a number, a pair, or a pair for each axis; got {pad_width}\n"
                "  write pad(x, 1), pad(x, (1, 2)) or pad(x, ((1, 2), (0, 0))) for two axes"
            )
        widths = [(_width(row[0]), _width(row[-1])) for row in (rows * rank if len(rows) == 1 else rows)]
    if any((width.bound if isinstance(width, Dim) else width) < 0 for pair in widths for width in pair):
        raise ValueError(f"pad: widths must not be negative; got {pad_width}\n  cut with a slice: x[1:-1]")
    return widths


# What each mode of pad takes besides the widths.
_PAD_OPTIONS = {
    "constant": "constant_values",
    "edge": "",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": "",
    "maximum": "stat_length",
    "minimum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "linear_ramp": "end_values",
    "empty": "",
}


@own
def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = None, **kwargs: Any) -> Array:
    """An array with elements added before and behind along its axes.

    With constants, widths may also be sizes: inside of ``ct.mask``, ``pad(x, (0, 8 - x.shape[0]))`` has 8 elements;
    one that is negative adds none.

    Parameters
    ----------
    array : array
        Numbers of any dtype.
    pad_width : int, pair, sequence of pairs or dict
        How many: one number for all ends, (before, behind) for all axes, one pair for each axis, or a dict of axes to
        numbers or pairs.
    mode : str or callable, default "constant"
        ``"constant"``; ``"edge"``, ``"reflect"``, ``"symmetric"`` and ``"wrap"``: elements of the array;
        ``"maximum"``, ``"minimum"``, ``"mean"`` and ``"median"`` of the ``stat_length`` elements next to the end;
        ``"linear_ramp"`` to ``end_values``; ``"empty"``: zeros; or a function of (line, (before, behind), axis,
        options) that returns the line filled.
    constant_values : array, optional
        Of mode "constant": a number, a pair, or a pair for each axis. None: 0.
    **kwargs : object
        The options of other modes: ``stat_length``, ``end_values``, ``reflect_type``; all for a function.

    Returns
    -------
    array
        Of the dtype of ``array``.

    Raises
    ------
    ValueError
        A width is negative, or an option is another mode's.
    NotImplementedError
        There is no such mode.

    Examples
    --------
    >>> ct.numpy.pad([1, 2, 3], (1, 2))
    Array([0, 1, 2, 3, 0, 0], dtype=int32)

    >>> ct.numpy.pad([1, 2, 3], 2, mode="reflect")
    Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)

    >>> rows = ct.ragged([np.float32([1, 2]), np.float32([5])])
    >>> ct.vmap(ct.mask(lambda x: ct.numpy.pad(x, (0, 3 - x.shape[0]))))(rows)
    Array([[1., 2., 0.],
           [5., 0., 0.]], dtype=float32)
    """
    x = _core.array(array)
    widths = _pad_widths(pad_width, x.ndim)
    given = kwargs if constant_values is None else {"constant_values": constant_values, **kwargs}
    if any(isinstance(width, Dim) for pair in widths for width in pair) and mode not in ("constant", "empty"):
        raise NotImplementedError(
            f"pad: mode {mode!r} with a width that is the size of a ragged axis is not supported\n"
            '  pad with mode="constant", and replace what was added: ct.numpy.where'
        )
    if callable(mode):
        return _pad_by_function(x, widths, mode, given)
    if mode not in _PAD_OPTIONS:
        supported = ", ".join(_PAD_OPTIONS)
        raise NotImplementedError(
            f"pad: mode {mode!r} is not supported{suggestion(mode, _PAD_OPTIONS)}\n  the modes are {supported}, and functions"
        )
    others = [name for name in given if name != _PAD_OPTIONS[mode]]
    if others:
        takes = f"the option {_PAD_OPTIONS[mode]}" if _PAD_OPTIONS[mode] else "no options"
        raise ValueError(
            f"pad: mode {mode!r} takes {takes}; got {', '.join(others)}\n"
            f"  leave out what the mode does not take: {', '.join(others)}"
        )
    if mode in ("constant", "empty"):
        values = 0 if constant_values is None else constant_values
        if np.ndim(values) == 0 or isinstance(values, Array):
            return _pad_constant(x, widths, values)
        pairs = np.broadcast_to(np.asarray(values), (x.ndim, 2))
        for axis, (low, high) in enumerate(pairs.tolist()):
            for side, value in ((0, low), (1, high)):
                only = [(0, 0)] * x.ndim
                only[axis] = (widths[axis][0], 0) if side == 0 else (0, widths[axis][1])
                x = _pad_constant(x, only, value)
        return x
    statistics = ("maximum", "minimum", "mean", "median", "linear_ramp")
    if kwargs.get("stat_length") is not None:
        _check_stat_length(kwargs["stat_length"], mode)
    odd = kwargs.get("reflect_type", "even") == "odd" and mode in ("reflect", "symmetric")
    for axis, (low, high) in enumerate(widths):
        if low == high == 0:
            continue
        if capacity(x, axis) == 0:
            raise ValueError(
                f"pad: axis {axis} is empty, and mode {mode!r} adds what it makes of the elements there; the shape is {x.shape}\n"
                "  an empty axis cannot be extended by modes other than 'constant' and 'empty': pass mode='constant'"
            )
        if mode in statistics:
            x = _pad_with_statistics(x, axis, low, high, mode, kwargs)
            continue
        if axis in _core.ragged_axes(x):
            x = pad_ragged(x, axis, low, high, mode, odd)
            continue
        if odd:
            x = _pad_odd(x, axis, low, high, mode == "reflect")
            continue
        index = np.pad(np.arange(capacity(x, axis), dtype=np.int32), (low, high), mode=mode, **kwargs)
        x = _at_known(x, axis, index)
    return x


def _check_stat_length(stat_length: Any, mode: str) -> None:
    counts = np.asarray(stat_length)
    if (counts < 0).any():
        raise ValueError(
            f"pad: stat_length must not be negative; got {stat_length}\n"
            "  give the number of elements next to the end, or leave it out for all"
        )
    if mode in ("maximum", "minimum") and (counts == 0).any():
        raise ValueError(
            f"pad: stat_length of 0 yields no value for padding: of no elements there is no {mode}; got {stat_length}\n"
            "  give 1 or more, or leave it out for all"
        )


def _at_known(x: Array, axis: int, index: np.ndarray[Any, Any]) -> Array:
    """The elements of one axis at indices that are known now: slices, turned round or repeated, where these are few."""
    most_runs = 5
    runs: list[tuple[int, int, int]] = []  # first index, step, count
    begin = 0
    while begin < len(index) and len(runs) <= most_runs:
        step = int(index[begin + 1] - index[begin]) if begin + 1 < len(index) else 1
        if step not in (-1, 0, 1):  # the next one begins another run, as behind the one element that is wrapped round
            runs.append((int(index[begin]), 1, 1))
            begin += 1
            continue
        different = np.flatnonzero(np.diff(index[begin:]) != step)
        count = int(different[0]) + 1 if len(different) else len(index) - begin
        runs.append((int(index[begin]), step, count))
        begin += count
    if len(runs) > most_runs:
        return primitives.gather(x, _core.array(index), axis=axis, batch_dims=0)
    parts = []
    for first, step, count in runs:
        if step == 1:
            parts.append(slice_axis(x, axis, first, first + count))
        elif step == -1:
            parts.append(flip(slice_axis(x, axis, first - count + 1, first + 1), axis))
        else:
            parts.append(stretched(slice_axis(x, axis, first, first + 1), x, {axis: count}))
    return parts[0] if len(parts) == 1 else primitives.concatenate(*parts, axis=axis)


def _pad_odd(x: Array, axis: int, low: int, high: int, skip_edge: bool) -> Array:
    """Reflected in the element at each end: twice that element less the reflection, again and again until it is long enough."""
    skip = 1 if skip_edge else 0
    while low > 0 or high > 0:
        size = capacity(x, axis)
        if size - skip < 1:
            # Of one element without its edge, the element itself.
            index = np.zeros(size + low + high, np.int32)
            return primitives.gather(x, _core.array(index), axis=axis, batch_dims=0)
        before, after = min(low, size - skip), min(high, size - skip)
        first, last = slice_axis(x, axis, 0, 1), slice_axis(x, axis, size - 1, size)
        parts = [x]
        if before:
            near = flip(slice_axis(x, axis, skip, skip + before), axis)
            parts.insert(0, primitives.sub(stretched(first + first, near), near))
        if after:
            near = flip(slice_axis(x, axis, size - skip - after, size - skip), axis)
            parts.append(primitives.sub(stretched(last + last, near), near))
        x = primitives.concatenate(*parts, axis=axis)
        low, high = low - before, high - after
    return x


def _pad_by_function(x: Array, widths: list[tuple[int, int]], function: Any, options: dict[str, Any]) -> Array:
    """Zeros, which ``function(line, (before, after), axis, options)`` replaces in every line along each axis in turn."""
    x = _pad_constant(x, widths, 0)
    for axis, width in enumerate(widths):
        x = apply_along_axis(function, axis, x, width, axis, options)
    return x


def _pad_with_statistics(x: Array, axis: int, low: int, high: int, mode: str, options: dict[str, Any]) -> Array:
    """Both ends of one axis filled with a number made of the elements next to them."""
    size = capacity(x, axis)
    whole = _core.dtype_kind(x.dtype) not in ("float", "complex")

    def of_dtype(y: Array) -> Array:
        rounded = _round(y) if whole and _core.dtype_kind(y.dtype) == "float" else y
        return _core.convert(rounded, x.dtype)

    option = options.get("end_values", 0) if mode == "linear_ramp" else options.get("stat_length")
    pairs = [[option] * 2] * x.ndim if option is None else np.broadcast_to(np.asarray(option), (x.ndim, 2)).tolist()
    parts = [x]
    for width, value, front in ((low, pairs[axis][0], True), (high, pairs[axis][1], False)):
        if width == 0:
            continue
        if mode == "linear_ramp":
            edge = drop_axes(without_padding(_near(x, axis, 1, front), [axis]), [axis])
            ramp = linspace(value, edge, width, endpoint=False, dtype=x.dtype, axis=axis)
            piece = ramp if front else flip(ramp, axis)
        else:
            near = x if value is None else _near(x, axis, min(int(value), size), front)
            if value == 0 and mode == "median":
                mode = "mean"  # NaN, too
            fold: Any = {
                "maximum": reductions.max,
                "minimum": reductions.min,
                "mean": means.mean,
                "median": median,
            }[mode]
            piece = stretched(of_dtype(fold(near, axis, keepdims=True)), x, {axis: width})
        parts = [piece, *parts] if front else [*parts, piece]
    return concatenate(parts, axis)


def _near(x: Array, axis: int, count: int, front: bool) -> Array:
    """``count`` elements at one end of an axis."""
    if front:
        return slice_axis(x, axis, 0, count)
    if axis in _core.ragged_axes(x):
        return last_elements(x, axis, count)
    size = capacity(x, axis)
    return slice_axis(x, axis, size - count, size)


def _pad_constant(x: Array, widths: list[tuple[Any, Any]], value: Any) -> Array:
    if all(isinstance(width, int) and width == 0 for pair in widths for width in pair):
        return x
    fill = (
        _core.full((), value, x.dtype, x.weak_type) if _core.is_python_scalar(value) else _core.convert(value, x.dtype)
    )
    for axis, (before, after) in enumerate(widths):
        if isinstance(before, Dim) or isinstance(after, Dim):
            x = _pad_by_sizes(x, axis, not_negative(before), not_negative(after), fill)
            widths = [*widths[:axis], (0, 0), *widths[axis + 1 :]]
    low, high = (list(column) for column in zip(*widths, strict=True))
    return primitives.pad(x, fill, low=low, high=high, interior=[0] * x.ndim)


def _pad_by_sizes(x: Array, axis: int, low: Any, high: Any, fill: Array) -> Array:
    """One axis with as many elements more as sizes say: each element of the result looks where it is in the array."""
    size = symbolic_size(x, axis)
    total = narrowed(low + size + high)
    count = bound_of(total)
    place = primitives.iota(shape=[count], dtype=np.dtype("int32"), axis=0) - _scalar(low)
    others = [other for other in range(x.ndim) if other != axis]
    inside = insert_axes((place >= 0) & (place < _scalar(size)), others)
    if capacity(x, axis) == 0:
        x = primitives.pad(
            x, fill, low=[0] * x.ndim, high=[int(i == axis) for i in range(x.ndim)], interior=[0] * x.ndim
        )
    else:
        x = without_padding(x, [axis])
    last = capacity(x, axis) - 1
    place = primitives.max(primitives.min(place, literal(place, last)), literal(place, 0))
    result = where(inside, primitives.gather(x, place, axis=axis, batch_dims=0), fill)
    return (
        give_lengths(result, {axis: length_of_size(total)})
        if isinstance(total, Dim) and total.least < total.bound
        else result
    )


def _scalar(size: Any) -> Any:
    return size.value if isinstance(size, Dim) else np.int32(size)


check_arguments(globals())
