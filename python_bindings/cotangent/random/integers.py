"""Integers evenly distributed between two ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._base.keys import Key
from cotangent._core import Array
from cotangent._ops.binding import convert, is_integer, literal
from cotangent._ops.extents import capacities
from cotangent._ops.keys import _words_of
from cotangent._ops.sizes import static_shape
from cotangent.errors import DTypeError
from cotangent.random.basic import _bits, check_broadcast, split
from cotangent.random.orders import look_at_orders

__all__ = ["randint"]

_INT32 = np.dtype("int32")


def randint(
    key: Key, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Placement = None
) -> Array:
    """Integers evenly distributed over [minval, maxval).

    Where the range is empty the result is ``minval``. Ends that are floats lose their fraction. The shape comes before the
    ends, other than in NumPy; arguments that make sense in NumPy's order only are warned of.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result.
    minval, maxval : array
        The lowest number, and the one above the highest; real, broadcast to ``shape``.
    dtype : dtype, optional
        Of integers, by default the default integer dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array of int
        Of the given shape.

    Raises
    ------
    DTypeError
        The dtype is none of integers, or an end is complex.
    ShapeError
        The ends do not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.randint(ct.random.key(0), (5,), 0, 10)
    Array([9, 0, 2, 3, 1], dtype=int32)
    """
    dtype = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) not in ("signed", "unsigned"):
        raise DTypeError(
            f"randint: the dtype must be an integer; got {dtype}\n  leave it out, or use ct.random.uniform for floats"
        )
    info = np.iinfo(dtype)
    for name, end, most in (("minval", minval, info.max), ("maxval", maxval, info.max + 1)):
        if type(end) is int and dtype.itemsize >= 4 and not info.min <= end <= most:
            raise OverflowError(
                f"randint: {name}={end} does not fit {dtype}\n"
                "  pass dtype='int64' where ct.enable_x64() holds, or draw floats with ct.random.uniform\n"
                "  see docs/errors.md#number-that-does-not-fit"
            )
    low, high = _core.array(minval), _core.array(maxval)
    for end in (low, high):
        if not is_integer(end) and _core.dtype_kind(end.dtype) != "float":
            raise DTypeError(f"randint: the ends must be real numbers; got {end.dtype}\n  pass integers")
    low, high = (end if is_integer(end) else _core.convert(end, dtype) for end in (low, high))
    sampled = dtype
    if dtype.itemsize < 4:
        sampled = _INT32
        low = _clip(_core.convert(low, sampled), int(info.min), int(info.max))
        high = _clip(_core.convert(high, sampled), int(info.min), int(info.max) + 1)
    beyond = _beyond(high, sampled)
    low, high = _fit(low, sampled), _fit(high, sampled)
    width = 8 * sampled.itemsize
    unsigned = np.dtype(f"uint{width}")
    sizes, lengths = static_shape(shape, "randint")
    check_broadcast("randint", sizes, [low, high], optional=False)
    keys = split(_words_of(key, "randint"))
    upper = _bits(keys[0], width, sizes, lengths)
    lower = _bits(keys[1], width, sizes, lengths)
    span = _core.convert(high - low, unsigned)
    empty = high <= low
    span = primitives.select(*_same_shape(empty, literal(span, 1), span))
    more = primitives.and_(*_core.promote([beyond, primitives.not_(empty)]))
    span = primitives.select(*_same_shape(more, span + literal(span, 1), span))
    # (upper * 2**width + lower) mod span, without numbers of twice the width.
    factor = primitives.rem(literal(span, 2 ** (width // 2)), span)
    factor = primitives.rem(factor * factor, span)
    spans, factors = _core.broadcast_to(span, sizes), _core.broadcast_to(factor, sizes)
    offset = primitives.rem(upper, spans) * factors + primitives.rem(lower, spans)
    offset = primitives.rem(offset, spans)
    result = _core.broadcast_to(low, sizes) + _core.convert(offset, sampled)
    return _core.convert(result, dtype)


def _same_shape(predicate: Array, x: Array, y: Array) -> list[Array]:
    shape = _core.broadcast_shapes([capacities(predicate), capacities(x)])
    return [_core.broadcast_to(operand, shape) for operand in (predicate, x, y)]


def _clip(x: Array, low: int, high: int) -> Array:
    return primitives.min(primitives.max(x, literal(x, low)), literal(x, high))


def _beyond(x: Array, dtype: Any) -> Array:
    """Whether an end lies above the largest number of a dtype."""
    limit = int(np.iinfo(dtype).max)
    if limit >= int(np.iinfo(x.dtype).max):
        return primitives.ne(literal(x, 0), literal(x, 0))
    return primitives.gt(x, literal(x, limit))


def _fit(x: Array, dtype: Any) -> Array:
    """``x`` as another integer dtype, limited to its range."""
    target, source = np.iinfo(dtype), np.iinfo(x.dtype)
    return convert(_clip(x, max(int(target.min), int(source.min)), min(int(target.max), int(source.max))), dtype)


look_at_orders(globals())
check_arguments(globals())
