"""Ragged axes made larger at their ends: what stands there is found by its position, because where the end is is a value."""

from __future__ import annotations

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array
from cotangent._ops.binding import choose, literal
from cotangent._ops.division import floor_divide, remainder
from cotangent._ops.extents import capacity, stretched, without_padding
from cotangent._ops.sizes import insert_axes, ragged_length

__all__ = ["last_elements", "pad_ragged"]

_INT32 = np.dtype("int32")


def _clipped(positions: Array, bound: int) -> Array:
    return primitives.max(primitives.min(positions, literal(positions, max(bound - 1, 0))), literal(positions, 0))


def last_elements(x: Array, axis: int, count: int) -> Array:
    """The last ``count`` elements of a ragged axis, or all that it has, from its first place on."""
    length = ragged_length(x, axis)
    count = min(count, capacity(x, axis))
    most = _core.full((), count, _INT32)
    start = primitives.max(length - most, _core.full((), 0, _INT32))
    places = _clipped(primitives.iota(shape=[count], dtype=_INT32, axis=0) + start, capacity(x, axis))
    found = primitives.gather(without_padding(x, [axis]), places, axis=axis, batch_dims=0)
    return set_length(found, primitives.min(length, most), axis)


def pad_ragged(x: Array, axis: int, low: int, high: int, mode: str, odd: bool) -> Array:
    """One ragged axis padded with elements of the array: mode "edge", "reflect", "symmetric" or "wrap".

    Reflections repeat after two lengths (less the ends that they skip); odd ones are higher then by twice the difference of the ends.
    """
    length, bound = ragged_length(x, axis), capacity(x, axis)
    values = without_padding(x, [axis])
    one = _core.full((), 1, _INT32)
    last = primitives.max(length - one, _core.full((), 0, _INT32))
    place = primitives.iota(shape=[bound + low + high], dtype=_INT32, axis=0)
    place = place - literal(place, low)
    turns = None
    if mode == "edge":
        source = primitives.max(primitives.min(place, stretched(last, place)), literal(place, 0))
    elif mode == "wrap":
        source = remainder(place, primitives.max(length, one))
    else:
        turning = last + last if mode == "reflect" else last + last + one  # where the way back ends
        period = primitives.max(last + last if mode == "reflect" else length + length, one)
        within = remainder(place, period)
        back = within > last
        source = choose(back, turning - within, within)
        if odd:
            turns = floor_divide(place, period)
    result = primitives.gather(values, _clipped(source, bound), axis=axis, batch_dims=0)
    if turns is not None:
        others = [at for at in range(x.ndim) if at != axis]
        first = primitives.gather(values, _core.full((1,), 0, _INT32), axis=axis, batch_dims=0)
        end = primitives.gather(values, insert_axes(_clipped(last, bound), [0]), axis=axis, batch_dims=0)
        rise = stretched(end - first, result) * stretched(
            insert_axes(_core.convert(turns + turns, x.dtype), others), result
        )
        end = stretched(end, result)
        result = choose(stretched(insert_axes(back, others), result), end + end - result, result) + rise
    return set_length(result, length + _core.full((), low + high, _INT32), axis)


check_arguments(globals())
