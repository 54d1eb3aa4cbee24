"""Division with remainder: quotients rounded down, and what is left."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.messages import called
from cotangent._core import Array
from cotangent._ops.binding import (
    choose,
    is_inexact,
    is_integer,
    kind,
    literal,
)
from cotangent.errors import DTypeError

__all__ = ["divmod", "floor_divide", "fmod", "mod", "remainder"]


def _wraps(remainder: Array, divisor: Array) -> Array:
    """Where a truncated quotient is one more than the floor."""
    zero = literal(remainder, 0)
    differs = primitives.ne(primitives.lt(remainder, zero), primitives.lt(divisor, zero))
    return primitives.and_(primitives.ne(remainder, zero), differs)


def _numbers(x: Any, y: Any, name: str) -> list[Array]:
    x, y = _core.promote([x, y])
    if kind(x) == "complex":
        raise DTypeError(
            f"{called(name)} takes real arrays; got {x.dtype}\n  give it the parts, x.real and x.imag, or divide with / and round them"
        )
    if kind(x) == "bool":
        dtype = _core.default_int_dtype()
        return [_core.convert(x, dtype), _core.convert(y, dtype)]
    return [x, y]


def _zero_at_zero(given: Any, divisor: Array, result: Array) -> Array:
    """What a division of integers gives, with 0 where the divisor is 0: nowhere, if the divisor was given as another number.

    Not by dividing by something else there: `checkify` looks at what is divided by.
    """
    if not is_integer(divisor) or (isinstance(given, (int, np.integer)) and given != 0):
        return result
    return choose(primitives.eq(divisor, literal(divisor, 0)), 0, result)


def remainder(x: Any, y: Any, /) -> Array:
    """The remainder of a division that rounds down, with the sign of the divisor, as Python's ``%``.

    Integers modulo 0 give 0, floating numbers NaN.

    Parameters
    ----------
    x, y : array
        Real numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.remainder([-7, 7], [3, -3])
    Array([ 2, -2], dtype=int32)
    """
    given = y
    x, y = _numbers(x, y, "remainder")
    rest = primitives.rem(x, y)
    if kind(x) == "unsigned":
        return _zero_at_zero(given, y, rest)
    if not is_inexact(x):
        return _zero_at_zero(given, y, primitives.select(_wraps(rest, y), primitives.add(rest, y), rest))
    zero = literal(x, 0.0)
    negative = primitives.lt(y, zero)
    rest = primitives.select(negative, primitives.neg(rest), rest)
    # Adding zero makes a zero positive.
    rest = primitives.add(rest, primitives.select(primitives.lt(rest, zero), primitives.abs(y), literal(y, 0.0)))
    return primitives.select(negative, primitives.neg(rest), rest)


mod = remainder


def fmod(x: Any, y: Any, /) -> Array:
    """The remainder of a division that rounds toward zero, with the sign of the dividend, as C's ``fmod``.

    Integers modulo 0 give 0, floating numbers NaN.

    Parameters
    ----------
    x, y : array
        Real numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.fmod([-7, 7], [3, -3])
    Array([-1,  1], dtype=int32)
    """
    given = y
    x, y = _numbers(x, y, "fmod")
    return _zero_at_zero(given, y, primitives.rem(x, y))


def floor_divide(x: Any, y: Any, /) -> Array:
    """The quotient rounded down, as Python's ``//``.

    Integers over 0 give 0. Floating numbers over 0 give infinities and NaN, as the array API standard has it.

    Parameters
    ----------
    x, y : array
        Real numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        A number is complex.

    Examples
    --------
    >>> ct.numpy.floor_divide([7.0, -7.0], 2.0)
    Array([ 3., -4.], dtype=float32)
    """
    given = y
    x, y = _numbers(x, y, "floor_divide")
    rest = primitives.rem(x, y)
    one = literal(x, 1)
    if is_integer(x):
        quotient = primitives.div(x, y)
        if kind(x) != "unsigned":
            quotient = primitives.select(_wraps(rest, y), primitives.sub(quotient, one), quotient)
        return _zero_at_zero(given, y, quotient)
    exact = primitives.div(x, y)
    whole = primitives.div(primitives.sub(x, rest), y)
    whole = primitives.round(primitives.select(_wraps(rest, y), primitives.sub(whole, one), whole))
    whole = choose(primitives.eq(whole, literal(x, 0.0)), 0.0, whole)  # the quotient of equal signs: a positive zero
    # There is nothing to round: zeros with their sign, infinities, what is not a number.
    limits = primitives.eq(x, literal(x, 0.0)), primitives.eq(primitives.abs(y), literal(y, math.inf))
    finite = primitives.lt(primitives.abs(exact), literal(x, math.inf))
    return primitives.select(
        primitives.and_(finite, primitives.not_(primitives.or_(*limits))), whole, primitives.stop_gradient(exact)
    )


def divmod(x: Any, y: Any, /) -> tuple[Array, Array]:  # noqa: A001
    """The quotient rounded down, and the remainder: `floor_divide` and `remainder`.

    Parameters
    ----------
    x, y : array
        Real numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    tuple of two arrays
        Quotient and remainder, of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.divmod([7, -7], 2)
    (Array([ 3, -4], dtype=int32), Array([1, 1], dtype=int32))
    """
    return floor_divide(x, y), remainder(x, y)


check_arguments(globals())
