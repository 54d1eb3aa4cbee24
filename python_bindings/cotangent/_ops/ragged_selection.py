"""Elements taken out of ragged axes and put into them: where each goes is worked out with the length as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.binding import choose, is_integer, kind, literal
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.shapes import moveaxis
from cotangent._ops.sizes import Size, as_dtype, axis_size, bound_size, insert_axes, is_dimension
from cotangent._ops.sorting import argsort
from cotangent._transforms.lengths import require

__all__ = ["delete_ragged", "insert_ragged"]

_INT32 = np.dtype("int32")


def _places(count: int) -> Array:
    return primitives.iota(shape=[count], dtype=_INT32, axis=0)


def _number(value: Any) -> Array:
    """An int32 scalar of a number, a value or a symbolic size."""
    if isinstance(value, (Array, np.ndarray)) or is_dimension(value):
        return _core.convert(_core.array(value), _INT32)
    return _core.full((), int(value), _INT32)


def _clamped(value: Array, low: Array, high: Array) -> Array:
    return primitives.max(primitives.min(value, high), low)


def _slice_of(item: slice, length: Array) -> tuple[Array, Array, int]:
    """The first place, the number of places and the step of a slice of an axis of ``length`` elements, as `slice.indices` has them."""
    step = 1 if item.step is None else int(item.step)
    if step == 0:
        raise ValueError(
            "slice step cannot be zero\n  write x[start:stop] for every element, x[::-1] for the reverse order"
        )
    zero, one = literal(length, 0), literal(length, 1)
    low, high = (zero, length) if step > 0 else (primitives.neg(one), length - one)

    def end(given: Any, default: Array) -> Array:
        if given is None:
            return default
        number = _number(given)
        if isinstance(given, (Array, np.ndarray)) or is_dimension(given):
            return _clamped(primitives.select(number < zero, number + length, number), low, high)
        return _clamped(number + length if int(given) < 0 else number, low, high)

    start, stop = end(item.start, zero if step > 0 else high), end(item.stop, high if step > 0 else low)
    way = stop - start if step > 0 else start - stop
    count = primitives.div(primitives.max(way + literal(way, abs(step) - 1), zero), _number(abs(step)))
    return start, count, step


def _indices(obj: Any, length: Array, bound: int, name: str) -> tuple[Array, Size]:
    """Positions along an axis from its front, and how many of them there are."""
    if isinstance(obj, slice):
        start, count, step = _slice_of(obj, length)
        return start + _places(bound) * literal(_places(bound), step), count
    index = _core.array(np.asarray(obj, _INT32) if isinstance(obj, (list, tuple)) and not len(obj) else obj)
    if kind(index) == "bool":
        if index.ndim != 1:
            raise ValueError(
                f"{name}: a bool array must have one axis; got shape {index.shape}\n  make one axis of it: mask.ravel()"
            )
        chosen = without_padding(index)
        count = primitives.reduce_sum(_core.convert(chosen, _INT32), axes=[0])
        return _core.convert(argsort(~chosen, stable=True), _INT32), count
    if not is_integer(index):
        raise TypeError(
            f"{name}: positions must be integers; got {index.dtype}\n  convert them first: .astype('int32')"
        )
    if index.ndim > 1:
        raise ValueError(
            f"{name}: positions must be an int or have one axis; got shape {index.shape}\n"
            "  make one axis of them: positions.ravel()"
        )
    index = _core.convert(index, _INT32)
    size: Size = axis_size(index, 0) if index.ndim else 1
    index = without_padding(index) if index.ndim else insert_axes(index, [0])
    return choose(index < literal(index, 0), index + length, index), size


def _require_inside(x: Array, obj: Any, axis: int, name: str, least_size: Callable[[int], int]) -> None:
    """Known positions are in the axis, which has ``least_size(highest)`` elements at least then."""
    size = as_dtype(axis_size(x, axis), _INT32)
    if is_dimension(obj):
        last = least_size(0)  # how far in front of the end the last position is
        what, sizes = obj.owner, [size, obj.value]
        holds: Callable[..., Any] = lambda n, i: (i <= n - last) & (i >= -n)  # noqa: E731
    else:
        if isinstance(obj, (slice, Array)) or (isinstance(obj, (list, tuple)) and not all(map(_is_int, obj))):
            return
        places = np.asarray(obj)
        if not places.size or places.dtype.kind not in "iu":
            return
        low, high = int(places.min()), int(places.max())
        needed, sizes = max(least_size(high), -low), [size]
        what = str(high if needed == least_size(high) else low)
        holds = lambda n: n >= needed  # noqa: E731
    require(sizes, holds, f"{name}: index {what} is out of bounds for axis {axis}", error=IndexError)


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def delete_ragged(x: Array, obj: Any, axis: int) -> Array:
    """`delete` along a ragged axis."""
    length, bound = as_dtype(axis_size(x, axis), _INT32), capacity(x, axis)
    index, count = _indices(obj, length, bound, "delete")
    index = primitives.max(
        index, literal(index, 0)
    )  # in front of a shorter axis: its first element, as that of an exact one
    _require_inside(x, obj, axis, "delete", lambda place: place + 1)
    number = capacity(index, 0)
    place = _places(bound)
    wide = [primitives.broadcast(item, shape=[number, bound], axes=[at]) for at, item in enumerate((index, place))]
    named = primitives.eq(*wide)
    if isinstance(count, Array):
        named = named & primitives.broadcast(_places(number) < count, shape=[number, bound], axes=[0])
    inside = place < length
    gone = (primitives.reduce_sum(_core.convert(named, _INT32), axes=[0]) > literal(place, 0)) & inside
    different = _different(obj, count)
    taken_out = (
        primitives.reduce_sum(_core.convert(gone, _INT32), axes=[0]) if different is None else _number(different)
    )
    left = primitives.max(length - taken_out, literal(length, 0))
    order = _core.convert(argsort(gone | ~inside, stable=True), _INT32)
    if isinstance(count, int) and count:  # one at least is taken out
        order = primitives.slice(order, start=[0], limit=[bound - 1], stride=[1])
    return give_lengths(primitives.gather(without_padding(x, [axis]), order, axis=axis, batch_dims=0), {axis: left})


def _different(obj: Any, count: Size) -> Size | None:
    """How many places are named, if no place is twice: then the length of what is left is an expression."""
    if isinstance(obj, slice) or (isinstance(count, int) and count == 1):
        return count
    if isinstance(obj, Array) and _core.is_traced(obj):
        return None
    places = np.asarray(obj)
    distinct = (
        places.dtype != bool and len(np.unique(places)) == places.size and (np.all(places < 0) or np.all(places >= 0))
    )
    return int(places.size) if distinct else None


def insert_ragged(x: Array, obj: Any, values: Any, axis: int) -> Array:
    """`insert` along a ragged axis; what is put in may be ragged, too."""
    length, bound = as_dtype(axis_size(x, axis), _INT32), capacity(x, axis)
    one_place = not isinstance(obj, slice) and _core.array(obj).ndim == 0 and kind(_core.array(obj)) != "bool"
    index, count = _indices(obj, length, bound, "insert")
    _require_inside(x, obj, axis, "insert", lambda place: place)
    added = _core.convert(_core.array(values), x.dtype)
    if added.ndim < x.ndim:
        added = insert_axes(added, list(range(x.ndim - added.ndim)))
    if one_place:
        added = moveaxis(added, 0, axis)  # one place takes the first axis of the values
    if bound_size(index) == 1 and isinstance(count, int):
        count = axis_size(added, axis)
        number = capacity(added, axis)
        index = _core.broadcast_to(index, (number,))
    else:
        number = bound_size(index)
    shape = list(x._bound_shape)
    shape[axis] = number
    added = _core.broadcast_to(without_padding(added, [axis]), shape)
    joined = primitives.concatenate(without_padding(x, [axis]), added, axis=axis)
    where = primitives.max(primitives.min(index, _core.broadcast_to(length, (number,))), literal(index, 0))
    # Sorting what was there (its position counts half more) and what comes in by position gives the order.
    old, new, last = _places(bound), _places(number), 2 * (bound + 1)
    old_keys = choose(old < length, old + old + literal(old, 1), last)
    new_keys = where + where
    if isinstance(count, Array):
        new_keys = choose(new < count, new_keys, last)
    order = argsort(primitives.concatenate(old_keys, new_keys, axis=0), stable=True)
    result = primitives.gather(joined, _core.convert(order, _INT32), axis=axis, batch_dims=0)
    return give_lengths(result, {axis: length + as_dtype(count, _INT32)})


check_arguments(globals())
