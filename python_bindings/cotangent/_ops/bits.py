"""Signs, bits, the parts of floating numbers, divisors of whole numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array
from cotangent._ops.binding import (
    choose,
    constant,
    is_inexact,
    kind,
    literal,
    no_out,
    own,
    promoted,
    real_dtype,
    real_only,
)
from cotangent._ops.extents import without_padding
from cotangent._ops.reshaping import flattened
from cotangent._ops.sizes import insert_axes, move_last, ragged_length
from cotangent._transforms.control_flow import while_loop
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.errors import DTypeError, ShapeError

__all__ = [
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_right_shift",
    "copysign",
    "frexp",
    "gcd",
    "heaviside",
    "invert",
    "lcm",
    "ldexp",
    "left_shift",
    "modf",
    "nextafter",
    "packbits",
    "right_shift",
    "signbit",
    "spacing",
    "unpackbits",
]

# ---- Signs and bits --------------------------------------------------------------------------------------------------


def signbit(x: Any, /) -> Array:
    """Whether the sign bit of each element is set: that of -0.0 is, too.

    Parameters
    ----------
    x : array
        Real numbers.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.signbit([-1.5, -0.0, 2.0])
    Array([ True,  True, False], dtype=bool)
    """
    array = _core.array(x)
    if kind(array) in ("bool", "unsigned"):
        return constant(array, False, bool)
    if kind(array) == "float":
        array = primitives.bitcast(array, dtype=np.dtype(f"int{8 * array.dtype.itemsize}"))
    return primitives.lt(array, literal(array, 0))


def copysign(x: Any, y: Any, /) -> Array:
    """The magnitude of one number with the sign of another one, element by element; the sign of -0.0 is negative.

    Parameters
    ----------
    x, y : array
        Real; promoted to a common floating dtype and broadcast.

    Returns
    -------
    array
        Floating, of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.copysign([1.5, -2.0], [-1.0, 0.0])
    Array([-1.5,  2. ], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    flip = primitives.ne(signbit(x), signbit(y))
    return primitives.select(flip, primitives.neg(x), x)


def heaviside(x: Any, y: Any, /) -> Array:
    """The step function: 0 of negative numbers, 1 of positive ones, and a given value at 0; of NaN, NaN.

    Parameters
    ----------
    x : array
        Real; promoted with ``y`` to a common floating dtype and broadcast.
    y : array
        The values at 0.

    Returns
    -------
    array
        Floating, of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.heaviside([-2.0, 0.0, 3.0], 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    zero = literal(x, 0.0)
    step = choose(primitives.gt(x, zero), 1.0, primitives.select(primitives.ne(x, x), x, zero))
    return primitives.select(primitives.eq(x, zero), y, step)


def bitwise_and(x: Any, y: Any, /) -> Array:
    """The bits that are set in both integers, element by element; of bools, whether both are true.

    Parameters
    ----------
    x, y : array
        Integers or bools; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.bitwise_and([12, 10], 6)
    Array([4, 2], dtype=int32)
    """
    return promoted(primitives.and_, x, y)


def bitwise_or(x: Any, y: Any, /) -> Array:
    """The bits that are set in either integer, element by element; of bools, whether either is true.

    Parameters
    ----------
    x, y : array
        Integers or bools; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.bitwise_or([12, 10], 6)
    Array([14, 14], dtype=int32)
    """
    return promoted(primitives.or_, x, y)


def bitwise_xor(x: Any, y: Any, /) -> Array:
    """The bits that are set in exactly one integer, element by element; of bools, whether exactly one is true.

    Parameters
    ----------
    x, y : array
        Integers or bools; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.bitwise_xor([12, 10], 6)
    Array([10, 12], dtype=int32)
    """
    return promoted(primitives.xor, x, y)


def bitwise_not(x: Any, /) -> Array:
    """All bits of each integer flipped; of bools, the opposite.

    Parameters
    ----------
    x : array
        Integers or bools.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.bitwise_not([0, 5])
    Array([-1, -6], dtype=int32)
    """
    return primitives.not_(x)


bitwise_invert = invert = bitwise_not


def left_shift(x: Any, y: Any, /) -> Array:
    """The bits of integers moved up, element by element: multiplication by powers of 2, modulo their range.

    Parameters
    ----------
    x : array
        Integers; promoted with ``y`` to a common dtype and broadcast.
    y : array
        By how many bits. By as many as the dtype has, or more, the result is 0.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.left_shift([1, 3], [4, 1])
    Array([16,  6], dtype=int32)
    """
    return promoted(primitives.shift_left, x, y)


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any, /) -> Array:
    """The bits of integers moved down, element by element, the sign kept: division by powers of 2, rounded down.

    Parameters
    ----------
    x : array
        Integers; promoted with ``y`` to a common dtype and broadcast.
    y : array
        By how many bits.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.right_shift([16, -7], [4, 1])
    Array([ 1, -4], dtype=int32)
    """
    x, y = _core.promote([x, y])
    shift = primitives.shift_right_logical if kind(x) == "unsigned" else primitives.shift_right_arithmetic
    return shift(x, y)


bitwise_right_shift = right_shift


def bitwise_count(x: Any, /) -> Array:
    """How many bits are set in the magnitude of each integer.

    Parameters
    ----------
    x : array
        Integers or bools.

    Returns
    -------
    array of uint8
        Of the shape of ``x``.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.bitwise_count([0, 7, -8])
    Array([0, 3, 1], dtype=uint8)
    """
    array = _core.array(x)
    if kind(array) not in ("bool", "signed", "unsigned"):
        raise DTypeError(f"bitwise_count takes integers; got {array.dtype}")
    if kind(array) == "signed":
        array = primitives.abs(array)
    width = 8 * array.dtype.itemsize
    bits = _core.convert(array, f"uint{width}")
    # Neighbouring counts are added: of single bits, of pairs, of groups of four, ...
    group = 1
    while group < width:
        ones = (1 << group) - 1
        mask = literal(bits, sum(ones << shift for shift in range(0, width, 2 * group)))
        bits = (bits & mask) + (primitives.shift_right_logical(bits, literal(bits, group)) & mask)
        group *= 2
    return _core.convert(bits, "uint8")


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Truth values packed as bits, eight in a byte; the last byte is filled up with zeros.

    Parameters
    ----------
    a : array
        Integers or bools, of which those that are not zero are true.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    bitorder : str, default "big"
        Which bit the first of eight values is: ``"big"``, the highest; ``"little"``, the lowest.

    Returns
    -------
    array of uint8
        An eighth as long along the axis.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.packbits([1, 0, 0, 0, 0, 1, 0, 1])
    Array([133], dtype=uint8)
    """
    array = _core.array(a)
    if is_inexact(array):
        raise DTypeError(f"packbits takes integers or bools; got {array.dtype}")
    array, position = flattened(array, axis, "packbits")
    moved = move_last(primitives.ne(array, literal(array, 0)), position)
    last = moved.ndim - 1
    length = ragged_length(moved, last) if last in _core.ragged_axes(moved) else None
    moved = without_padding(moved, [last])
    size = moved._bound_shape[-1]
    high = [0] * (moved.ndim - 1) + [-size % 8]
    bits = primitives.pad(
        _core.convert(moved, "uint8"),
        _core.full((), 0, "uint8"),
        low=[0] * moved.ndim,
        high=high,
        interior=[0] * moved.ndim,
    )
    bits = primitives.reshape(bits, shape=[*bits._bound_shape[:-1], -(-size // 8), 8])
    weights = primitives.shift_left(_core.full((8,), 1, "uint8"), _bit_positions(bitorder, "packbits"))
    weights = primitives.broadcast(weights, shape=list(bits._bound_shape), axes=[bits.ndim - 1])
    packed = primitives.reduce_sum(bits * weights, axes=[bits.ndim - 1])
    if length is not None:
        eight = _core.full((), 8, "int32")
        packed = set_length(packed, primitives.div(length + literal(length, 7), eight), packed.ndim - 1)
    return move_last(packed, position, back=True)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of bytes as elements 0 and 1; the inverse of `packbits`.

    Parameters
    ----------
    a : array of uint8
        The bytes.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    count : int, optional
        How many bits there are, cut off or filled up with zeros; negative: how many are left out at the end.
    bitorder : str, default "big"
        Which bit comes first: ``"big"``, the highest; ``"little"``, the lowest.

    Returns
    -------
    array of uint8
        Eight times as long along the axis, or as ``count`` says.

    Raises
    ------
    DTypeError
        The dtype is not uint8.

    Examples
    --------
    >>> ct.numpy.unpackbits(np.array([133], np.uint8))
    Array([1, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    array = _core.array(a)
    if array.dtype != np.dtype("uint8"):
        raise DTypeError(f"unpackbits takes uint8; got {array.dtype}")
    array, position = flattened(array, axis, "unpackbits")
    moved = move_last(array, position)
    shape = [*moved._bound_shape, 8]
    shifts = primitives.broadcast(_bit_positions(bitorder, "unpackbits"), shape=shape, axes=[moved.ndim])
    wide = primitives.broadcast(moved, shape=shape, axes=list(range(moved.ndim)))
    bits = primitives.shift_right_logical(wide, shifts) & literal(wide, 1)
    bits = primitives.reshape(bits, shape=[*shape[:-2], 8 * shape[-2]])
    if count is not None:
        last = bits.ndim - 1
        length = ragged_length(bits, last) if last in _core.ragged_axes(bits) else None
        bits = without_padding(bits, [last])
        size = bits._bound_shape[-1]
        limit = max(size + count, 0) if count < 0 else count
        none = [0] * (bits.ndim - 1)
        bits = primitives.pad(
            bits, _core.full((), 0, "uint8"), low=[*none, 0], high=[*none, limit - size], interior=[*none, 0]
        )
        if length is not None and count < 0:
            left = length + _core.full((), count, "int32")
            bits = set_length(bits, primitives.max(left, _core.full((), 0, "int32")), last)
    return move_last(bits, position, back=True)


def _bit_positions(bitorder: str, name: str) -> Array:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little'; got {bitorder!r}")
    positions = primitives.iota(shape=[8], dtype=np.dtype("uint8"), axis=0)
    return positions if bitorder == "little" else primitives.reverse(positions, axes=[0])


# ---- Parts of floating numbers ---------------------------------------------------------------------------------------

_MANTISSA_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def _integers_of(x: Array) -> Array:
    """The bits of floating numbers as signed integers."""
    return primitives.bitcast(x, dtype=np.dtype(f"int{8 * x.dtype.itemsize}"))


def _power_of_two(exponent: Array, like: Array) -> Array:
    """``2 ** exponent``, exactly; the exponent must be that of a normal number."""
    mantissa = _MANTISSA_BITS[like.dtype.name]
    bias = (1 << (8 * like.dtype.itemsize - 2 - mantissa)) - 1
    integers = _core.convert(exponent, f"int{8 * like.dtype.itemsize}")
    bits = primitives.shift_left(integers + literal(integers, bias), literal(integers, mantissa))
    return primitives.bitcast(bits, dtype=like.dtype)


def frexp(x: Any, /) -> tuple[Array, Array]:
    """The mantissa and the exponent of each element: ``x == mantissa * 2 ** exponent``.

    Zero, infinities and NaN are their own mantissa, with exponent 0.

    Parameters
    ----------
    x : array
        Real. Integers are converted to the default floating dtype.

    Returns
    -------
    tuple of two arrays
        The mantissa, of a magnitude in [0.5, 1), and the exponent, an integer.

    Raises
    ------
    DTypeError
        ``x`` is complex.

    Examples
    --------
    >>> ct.numpy.frexp([6.0, -0.375])
    (Array([ 0.75, -0.75], dtype=float32), Array([ 3, -1], dtype=int32))
    """
    array = real_only(x, "frexp")
    if array.dtype.itemsize == 2:
        mantissa, exponent = frexp(_core.convert(array, "float32"))
        return _core.convert(mantissa, array.dtype), exponent
    bits = _MANTISSA_BITS[array.dtype.name]
    special = ~primitives.is_finite(array) | (array == literal(array, 0.0))
    # Numbers below the normal ones are scaled up first.
    lift = literal(array, 2.0 ** (bits + 1))
    tiny = primitives.abs(array) < literal(array, 2.0 ** (2 - (1 << (8 * array.dtype.itemsize - 2 - bits))))
    normal = primitives.select(tiny, array * lift, array)
    integers = _integers_of(primitives.abs(primitives.stop_gradient(normal)))
    bias = (1 << (8 * array.dtype.itemsize - 2 - bits)) - 2
    raised = primitives.shift_right_arithmetic(integers, literal(integers, bits)) - literal(integers, bias)
    # Four times what is wanted, which is a normal number for every exponent.
    scale = _power_of_two(primitives.select(special, literal(raised, 0), literal(raised, 2) - raised), normal)
    mantissa = primitives.select(special, array, normal * scale * literal(normal, 0.25))
    exponent = primitives.select(tiny, raised - literal(raised, bits + 1), raised)
    return mantissa, _core.convert(primitives.select(special, literal(exponent, 0), exponent), "int32")


def ldexp(x1: Any, x2: Any, /) -> Array:
    """A number times a power of 2, ``x1 * 2 ** x2``, rounded once.

    Parameters
    ----------
    x1 : array
        Real. Integers are converted to the default floating dtype.
    x2 : array of int
        The exponents; broadcast.

    Returns
    -------
    array
        Floating, of the broadcast shape.

    Raises
    ------
    DTypeError
        ``x2`` are not integers, or ``x1`` is complex.

    Examples
    --------
    >>> ct.numpy.ldexp([1.5, 5.0], np.array([3, -1]))
    Array([12. ,  2.5], dtype=float32)
    """
    x, n = _core.array(x1), _core.array(x2)
    if is_inexact(n):
        raise DTypeError(f"ldexp: the exponent must be an integer; got {n.dtype}")
    x = real_only(x, "ldexp")
    if x.dtype.itemsize == 2:
        return _core.convert(ldexp(_core.convert(x, "float32"), n), x.dtype)
    shape = _core.broadcast_shapes([x._bound_shape, n._bound_shape])
    x = _core.broadcast_to(x, shape)
    mantissa, exponent = frexp(x)
    n = _core.broadcast_to(_core.convert(n, "int64"), shape)
    top = 1 << (8 * x.dtype.itemsize - 2 - _MANTISSA_BITS[x.dtype.name])  # 128, 1024
    total = primitives.max(primitives.min(n, literal(n, 4 * top)), literal(n, -4 * top)) + _core.convert(
        exponent, "int64"
    )
    # In two steps, of which only the second may round.
    first = primitives.max(primitives.min(total, literal(total, top - 1)), literal(total, 4 - top))
    rest = total - first
    second = primitives.max(primitives.min(rest, literal(rest, top - 1)), literal(rest, 2 - top))
    return mantissa * _power_of_two(first, x) * _power_of_two(second, x)


def modf(x: Any, /, out: None = None) -> tuple[Array, Array]:
    """The fractional part and the whole part of each element, both with its sign.

    Parameters
    ----------
    x : array
        Real. Integers are converted to the default floating dtype.
    out : None
        Must be None: arrays are immutable.

    Returns
    -------
    tuple of two arrays
        The fractional part and the whole part, floating, of the shape of ``x``.

    Raises
    ------
    DTypeError
        ``x`` is complex.

    Examples
    --------
    >>> ct.numpy.modf([2.75, -1.5])
    (Array([ 0.75, -0.5 ], dtype=float32), Array([ 2., -1.], dtype=float32))
    """
    no_out(out, "modf")
    array = real_only(x, "modf")
    zero = literal(array, 0.0)
    whole = primitives.select(array < zero, primitives.ceil(array), primitives.floor(array))
    return _fraction(array, whole), copysign(whole, array)


@custom_jvp_by_type
def _fraction(x: Array, whole: Array) -> Array:
    infinite = primitives.abs(x) == literal(x, math.inf)
    return copysign(primitives.select(infinite, literal(x, 0.0), x - whole), x)


# The whole part has derivative 0. The sign that a zero gets and the choice at infinities are no part of the derivative.
_fraction.defjvp(lambda primals, tangents: (_fraction(*primals), tangents[0]))


def nextafter(x: Any, y: Any, /) -> Array:
    """The next number of the dtype in a direction, element by element.

    Parameters
    ----------
    x : array
        Real; promoted with ``y`` to a common floating dtype and broadcast.
    y : array
        In whose direction.

    Returns
    -------
    array
        Floating, of the broadcast shape; ``y`` where both are equal.

    Raises
    ------
    DTypeError
        A number is complex.

    Examples
    --------
    >>> float(ct.numpy.nextafter(np.float32(1), np.float32(2))) - 1 == 2.0**-23
    True
    """
    x, y = _core.promote([x, y], inexact=True)
    if kind(x) == "complex":
        raise DTypeError(f"nextafter takes real arrays; got {x.dtype}")
    result: Array = _neighbor(x, y)
    return result


@custom_jvp_by_type
def _neighbor(x: Array, y: Array) -> Array:
    integers = _integers_of(x)
    zero, one = literal(x, 0.0), literal(integers, 1)
    away = (y > x) == (x > zero)
    moved = primitives.select(away, integers + one, integers - one)
    smallest = _integers_of(copysign(_smallest_subnormal(x), y))
    result = primitives.bitcast(primitives.select(x == zero, smallest, moved), dtype=x.dtype)
    result = primitives.select(x == y, y, result)
    return choose((x != x) | (y != y), math.nan, result)


# Bits have no derivative; the neighbor of x is x and a gap that is constant between powers of 2.
_neighbor.defjvp(lambda primals, tangents: (_neighbor(*primals), tangents[0]))


def _smallest_subnormal(like: Array) -> Array:
    integers = _integers_of(literal(like, 0.0))
    return primitives.bitcast(literal(integers, 1), dtype=like.dtype)


def spacing(x: Any, /) -> Array:
    """The distance of each element to the next number of its dtype away from 0, with its sign.

    It is NaN of infinities. In float16 it is the distance to the next larger number, as in NumPy and JAX, and never
    negative.

    Parameters
    ----------
    x : array
        Real. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating, of the shape of ``x``.

    Raises
    ------
    DTypeError
        ``x`` is complex.

    Examples
    --------
    >>> float(ct.numpy.spacing(np.float32(1))) == 2.0**-23
    True
    """
    array = real_only(x, "spacing")
    if array.dtype == np.float16:
        return choose(primitives.is_finite(array), nextafter(array, literal(array, math.inf)) - array, math.nan)
    magnitude = primitives.abs(array)
    gap = nextafter(magnitude, literal(magnitude, math.inf)) - magnitude
    signed = primitives.select(array < literal(array, 0.0), primitives.neg(gap), gap)
    return choose(primitives.is_finite(array), signed, math.nan)


# ---- Whole numbers ---------------------------------------------------------------------------------------------------


def _magnitudes(x1: Any, x2: Any, name: str) -> tuple[Array, Array, Any]:
    """Unsigned, as the magnitude of the lowest number is none of the signed ones; and the dtype of the result."""
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("signed", "unsigned"):
        raise DTypeError(f"{name} takes integers; got {x.dtype}")
    if kind(x) == "unsigned":
        return x, y, x.dtype
    unsigned = _unsigned(x.dtype.itemsize)
    return _core.convert(primitives.abs(x), unsigned), _core.convert(primitives.abs(y), unsigned), x.dtype


def _divisor(x: Array, y: Array) -> Array:
    def unfinished(pair: tuple[Array, Array]) -> Array:
        return primitives.reduce_max(primitives.ne(pair[1], literal(pair[1], 0)), axes=list(range(pair[1].ndim)))

    def step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        x, y = pair
        done = primitives.eq(y, literal(y, 0))
        rest = primitives.rem(x, choose(done, 1, y))
        return primitives.select(done, x, y), primitives.select(done, y, rest)

    return while_loop(unfinished, step, (x, y))[0]  # type: ignore[no-any-return]


def gcd(x1: Any, x2: Any) -> Array:
    """The greatest common divisor of two integers, element by element; of 0 and 0, 0.

    A divisor that the dtype does not have (128 of int8) wraps around, as NumPy's does.

    Parameters
    ----------
    x1, x2 : array
        Integers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Not negative; of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.gcd([12, 0, -9], 18)
    Array([ 6, 18,  9], dtype=int32)
    """
    x, y, dtype = _magnitudes(x1, x2, "gcd")
    return _core.convert(_divisor(x, y), dtype)


def lcm(x1: Any, x2: Any) -> Array:
    """The least common multiple of two integers, element by element; with 0, 0.

    One that the dtype does not hold wraps around, as products do.

    Parameters
    ----------
    x1, x2 : array
        Integers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Not negative; of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.lcm([4, 6], [6, 0])
    Array([12,  0], dtype=int32)
    """
    x, y, dtype = _magnitudes(x1, x2, "lcm")
    divisor = _divisor(x, y)
    multiple = primitives.mul(x, primitives.div(y, choose(divisor == literal(divisor, 0), 1, divisor)))
    return _core.convert(multiple, dtype)


# ---- Bytes -----------------------------------------------------------------------------------------------------------


def _unsigned(size: int) -> Any:
    return np.dtype(f"uint{8 * size}")


def reinterpret(x: Array, dtype: Any) -> Array:
    """The same bytes as elements of another dtype, the lowest byte first; the last axis grows or shrinks.

    Raises:
        ShapeError: the bytes of the last axis are not a whole number of elements.
    """
    dtype = _core.canonical_dtype(dtype)
    if x.dtype == dtype:
        return x
    if kind(x) == "complex":
        parts = primitives.concatenate(
            *[insert_axes(part(x), [x.ndim]) for part in (primitives.real, primitives.imag)], axis=x.ndim
        )
        if x.ndim == 0:
            raise ShapeError("view: an array without axes cannot change the size of its elements")
        return reinterpret(primitives.reshape(parts, shape=[*x._bound_shape[:-1], 2 * x._bound_shape[-1]]), dtype)
    if _core.dtype_kind(dtype) == "complex":
        part = reinterpret(x, real_dtype(dtype))
        if part.ndim == 0 or part._bound_shape[-1] % 2:
            raise ShapeError(f"view: shape {x.shape} of {x.dtype} is not a whole number of {dtype}")
        pairs = primitives.reshape(part, shape=[*part._bound_shape[:-1], part._bound_shape[-1] // 2, 2])
        return primitives.complex(pairs[..., 0], pairs[..., 1])
    if kind(x) == "bool":
        x = _core.convert(x, "uint8")
    if dtype == np.dtype(bool):
        return primitives.ne(reinterpret(x, "uint8"), literal(reinterpret(x, "uint8"), 0))
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return primitives.bitcast(x, dtype=dtype)
    if x.ndim == 0:
        raise ShapeError("view: an array without axes cannot change the size of its elements")
    integers = primitives.bitcast(x, dtype=_unsigned(old)) if x.dtype != _unsigned(old) else x
    shape = list(x._bound_shape)
    if new < old:
        pieces = [
            insert_axes(
                _core.convert(primitives.shift_right_logical(integers, literal(integers, 8 * new * i)), _unsigned(new)),
                [x.ndim],
            )
            for i in range(old // new)
        ]
        wide = primitives.concatenate(*pieces, axis=x.ndim)
        result = primitives.reshape(wide, shape=[*shape[:-1], shape[-1] * (old // new)])
    else:
        count = new // old
        if shape[-1] % count:
            raise ShapeError(f"view: shape {x.shape} of {x.dtype} is not a whole number of {dtype}")
        groups = primitives.reshape(integers, shape=[*shape[:-1], shape[-1] // count, count])
        result = _core.convert(groups[..., 0], _unsigned(new))
        for i in range(1, count):
            piece = _core.convert(groups[..., i], _unsigned(new))
            result = result | primitives.shift_left(piece, literal(piece, 8 * old * i))
    return result if dtype == _unsigned(new) else primitives.bitcast(result, dtype=dtype)


@own
def byteswap(a: Any, inplace: bool = False) -> Array:
    """The elements with their bytes in reverse order.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    inplace : bool, default False
        Must be False: arrays are immutable.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Raises
    ------
    ValueError
        ``inplace`` is True.

    Examples
    --------
    >>> ct.numpy.array(np.array([1, 256], np.int16)).byteswap()
    Array([256,   1], dtype=int16)
    """
    if inplace:
        raise ValueError("byteswap: arrays are immutable\n  leave inplace as False, and use the array that is returned")
    x = _core.array(a)
    size = real_dtype(x.dtype).itemsize
    if size == 1:
        return x
    bytes_ = reinterpret(insert_axes(x, [x.ndim]), "uint8")
    shape = list(bytes_._bound_shape)
    groups = primitives.reshape(bytes_, shape=[*shape[:-1], shape[-1] // size, size])
    swapped = primitives.reshape(primitives.reverse(groups, axes=[groups.ndim - 1]), shape=shape)
    return primitives.reshape(reinterpret(swapped, x.dtype), shape=list(x._bound_shape))


check_arguments(globals())
