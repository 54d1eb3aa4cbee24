"""Signs, digits and neighbours of floating numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import (
    choose,
    constant,
    is_inexact,
    kind,
    literal,
    no_out,
    real_only,
)
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.errors import DTypeError

__all__ = ["copysign", "frexp", "heaviside", "ldexp", "modf", "nextafter", "signbit", "spacing"]


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
    if kind(array) == "complex":
        real_only(array, "signbit")
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
    x = real_only(x, "copysign")
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
    x = real_only(x, "heaviside")
    zero = literal(x, 0.0)
    step = choose(primitives.gt(x, zero), 1.0, primitives.select(primitives.ne(x, x), x, zero))
    return primitives.select(primitives.eq(x, zero), y, step)


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
        raise DTypeError(
            f"ldexp: the exponent must be an integer; got {n.dtype}\n"
            "  convert it: n.astype('int32'), or write x * 2.0**n"
        )
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
        Must be None: write ``out[...] = `` what is returned.

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
        raise DTypeError(f"nextafter takes real arrays; got {x.dtype}\n  give it the parts, x.real and x.imag")
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


check_arguments(globals())
