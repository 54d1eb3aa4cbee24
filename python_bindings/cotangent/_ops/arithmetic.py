"""Functions of one element at a time: arithmetic, exponentials, trigonometry, rounding, complex parts.

Arguments are arrays, NumPy arrays, numbers or nested lists; they are promoted to a common dtype and broadcast.
Functions that are not
whole-number operations turn integers into the default floating dtype. Only the primitives are computed natively; the
others are
compositions, so they have every derivative and work under every transform.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive, entrance
from cotangent._ops.binding import (
    apart,
    choose,
    constant,
    inexact,
    is_inexact,
    is_integer,
    kind,
    larger,
    literal,
    ordered,
    own,
    promoted,
    real_only,
)
from cotangent._ops.dtypes import finfo
from cotangent.errors import DTypeError

__all__ = [
    "abs",
    "absolute",
    "angle",
    "around",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "divide",
    "divmod",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "imag",
    "mod",
    "nan_to_num",
    "positive",
    "pow",
    "power",
    "real",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "sign",
    "square",
    "true_divide",
    "trunc",
]


# ---- Arithmetic ------------------------------------------------------------------------------------------------------


@entrance("binary", primitives.add)
def add(x: Any, y: Any, /) -> Array:
    """The sum of two arrays, element by element; of bools, whether either is true.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.add([1.0, 2.0], 0.5)
    Array([1.5, 2.5], dtype=float32)
    """
    return promoted(primitives.add, x, y)


@entrance("binary", primitives.sub)
def subtract(x: Any, y: Any, /) -> Array:
    """The difference of two arrays, element by element.

    Unsigned integers wrap around. Bools have no difference: use `logical_xor`.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.subtract([5.0, 3.0], [1.5, 4.0])
    Array([ 3.5, -1. ], dtype=float32)
    """
    return promoted(primitives.sub, x, y)


@entrance("binary", primitives.mul)
def multiply(x: Any, y: Any, /) -> Array:
    """The product of two arrays, element by element; of bools, whether both are true.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.multiply([1.0, 2.0, 3.0], [2.0, 2.0, 0.5])
    Array([2. , 4. , 1.5], dtype=float32)
    """
    return promoted(primitives.mul, x, y)


@entrance("binary_inexact", primitives.div)
def divide(x: Any, y: Any, /) -> Array:
    """The quotient of two arrays, element by element, in a floating dtype for integers, too.

    Division by zero gives infinities, and NaN for ``0 / 0``.

    Parameters
    ----------
    x, y : array
        Real or complex; promoted to a common floating or complex dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.divide([1, 2, 3], 2)
    Array([0.5, 1. , 1.5], dtype=float32)
    """
    return promoted(primitives.div, x, y, inexact=True)


true_divide = divide


@entrance("unary", primitives.neg)
def negative(x: Any, /) -> Array:
    """The number of opposite sign, element by element; of unsigned integers, modulo their range.

    Parameters
    ----------
    x : array
        Numbers; bools have none, use `logical_not`.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.negative([1.0, -2.5])
    Array([-1. ,  2.5], dtype=float32)
    """
    return primitives.neg(x)


@own
def positive(x: Any, /) -> Array:
    """The array itself, ``+x``.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.positive([1.0, -2.0])
    Array([ 1., -2.], dtype=float32)
    """
    return _core.array(x)


def reciprocal(x: Any, /) -> Array:
    """One over each element, in a floating dtype for integers, too: NumPy's is zero for most of those.

    Parameters
    ----------
    x : array
        Real or complex. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating or complex, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.reciprocal([1, 2, 4])
    Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    array = inexact(x)
    return primitives.div(literal(array, 1.0), array)


def square(x: Any, /) -> Array:
    """The square of each element, in its own dtype.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.square([1.5, -3.0])
    Array([2.25, 9.  ], dtype=float32)
    """
    array = _core.array(x)
    return primitives.mul(array, array)


@entrance("unary", primitives.abs)
def absolute(x: Any, /) -> Array:
    """The absolute value of each element; of complex numbers, their length as a real number.

    The least signed integer is its own absolute value, as in NumPy. The derivative at 0 is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the shape of ``x``; real where that is complex, else of its dtype.

    Examples
    --------
    >>> ct.numpy.absolute([-1.5, 2.0])
    Array([1.5, 2. ], dtype=float32)

    >>> ct.numpy.absolute([3 + 4j])
    Array([5.], dtype=float32)
    """
    array = _core.array(x)
    return apart(array, x) if kind(array) in ("bool", "unsigned") else primitives.abs(array)


abs = absolute  # noqa: A001


def fabs(x: Any, /) -> Array:
    """The absolute value of real numbers, in a floating dtype for integers, too.

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
    >>> ct.numpy.fabs([-1, 2])
    Array([1., 2.], dtype=float32)
    """
    return primitives.abs(real_only(x, "fabs"))


def sign(x: Any, /) -> Array:
    """The sign of each element: -1, 0 or 1; of a complex number z other than 0, ``z / |z|``.

    The sign of NaN is NaN, that of -0.0 is 0.0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.sign([-2.5, 0.0, 7.0])
    Array([-1.,  0.,  1.], dtype=float32)

    >>> ct.numpy.sign([3 + 4j])
    Array([0.6+0.8j], dtype=complex64)
    """
    signs = primitives.sign(x)
    return choose(primitives.eq(signs, literal(signs, 0.0)), 0.0, signs) if kind(signs) == "float" else signs


@entrance("binary_ordered", primitives.max)
def maximum(x: Any, y: Any, /) -> Array:
    """The larger of two numbers, element by element; NaN where either is.

    Complex numbers are ordered by their real, then by their imaginary part. Where both are equal, each has half of
    the derivative. See `fmax` for the one that prefers numbers to NaN.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.maximum([1.0, 5.0], [3.0, 2.0])
    Array([3., 5.], dtype=float32)
    """
    return larger(primitives.max, *_core.promote([x, y]))


@entrance("binary_ordered", primitives.min)
def minimum(x: Any, y: Any, /) -> Array:
    """The smaller of two numbers, element by element; NaN where either is.

    Complex numbers are ordered by their real, then by their imaginary part. Where both are equal, each has half of
    the derivative. See `fmin` for the one that prefers numbers to NaN.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.minimum([1.0, 5.0], [3.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    return larger(primitives.min, *_core.promote([x, y]))


def fmax(x1: Any, x2: Any) -> Array:
    """The larger of two numbers, element by element; where one is NaN, the other.

    Parameters
    ----------
    x1, x2 : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.fmax([1.0, ct.numpy.nan], [3.0, 2.0])
    Array([3., 2.], dtype=float32)
    """
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("float", "complex"):
        return primitives.max(x, y)
    return choose(primitives.or_(primitives.ne(y, y), ordered(primitives.gt, x, y)), x, y)


def fmin(x1: Any, x2: Any) -> Array:
    """The smaller of two numbers, element by element; where one is NaN, the other.

    Parameters
    ----------
    x1, x2 : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.fmin([1.0, ct.numpy.nan], [3.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("float", "complex"):
        return primitives.min(x, y)
    return choose(primitives.or_(primitives.ne(y, y), ordered(primitives.lt, x, y)), x, y)


def integer_power(x: Array, exponent: int) -> Array:
    """By repeated squaring."""
    if exponent == 0:
        return constant(x, 1)
    if exponent < 0:
        return primitives.div(literal(x, 1), integer_power(x, -exponent))
    result: Array | None = None
    square_of = x
    while exponent:
        if exponent & 1:
            result = square_of if result is None else primitives.mul(result, square_of)
        exponent >>= 1
        if exponent:
            square_of = primitives.mul(square_of, square_of)
    assert result is not None
    return result


def power(x: Any, y: Any, /) -> Array:
    """The first array raised to the second, element by element.

    A Python int as exponent is expanded into multiplications, so that it has derivatives everywhere. Negative numbers
    to a fractional power are NaN. Bools are raised as integers.

    Parameters
    ----------
    x, y : array
        Base and exponent: numbers, promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    TypeError
        Integers are raised to a negative Python int.

    Examples
    --------
    >>> ct.numpy.power([1.0, 2.0, 3.0], 2)
    Array([1., 4., 9.], dtype=float32)

    >>> ct.numpy.power([4.0, 9.0], [0.5, -1.0]).round(4)
    Array([2.    , 0.1111], dtype=float32)
    """
    if isinstance(y, int) and not isinstance(y, bool) and -1024 <= y <= 1024:
        array = _core.array(x)
        if kind(array) == "bool":
            array = _core.promote([array, y])[0]
        if y < 0 and not is_inexact(array):
            raise TypeError(
                f"power: integers cannot be raised to the negative power {y}\n"
                "  convert the base to a floating dtype first"
            )
        return apart(integer_power(array, y), x)
    x, y = _core.promote([x, y])
    if kind(x) == "bool":
        dtype = _core.default_int_dtype()
        x, y = _core.convert(x, dtype), _core.convert(y, dtype)
    return primitives.pow(x, y)


pow = power  # noqa: A001


def float_power(x: Any, y: Any, /) -> Array:
    """The first array raised to the second, in a floating dtype for integers, too.

    NumPy computes it in float64; here it has the common floating dtype.

    Parameters
    ----------
    x, y : array
        Base and exponent: real or complex, promoted to a common floating or complex dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.float_power([2, 4], -1)
    Array([0.5 , 0.25], dtype=float32)
    """
    return promoted(primitives.pow, x, y, inexact=True)


def _wraps(remainder: Array, divisor: Array) -> Array:
    """Where a truncated quotient is one more than the floor."""
    zero = literal(remainder, 0)
    differs = primitives.ne(primitives.lt(remainder, zero), primitives.lt(divisor, zero))
    return primitives.and_(primitives.ne(remainder, zero), differs)


def _numbers(x: Any, y: Any) -> list[Array]:
    x, y = _core.promote([x, y])
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
    x, y = _numbers(x, y)
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
    x, y = _numbers(x, y)
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
    x, y = _numbers(x, y)
    rest = primitives.rem(x, y)
    one = literal(x, 1)
    if is_integer(x):
        quotient = primitives.div(x, y)
        if kind(x) != "unsigned":
            quotient = primitives.select(_wraps(rest, y), primitives.sub(quotient, one), quotient)
        return _zero_at_zero(given, y, quotient)
    if kind(x) == "complex":
        raise DTypeError(f"floor_divide takes real arrays; got {x.dtype}")
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


def hypot(x: Any, y: Any, /) -> Array:
    """The length of the hypotenuse, ``sqrt(x**2 + y**2)``, without overflow.

    It is infinite where either leg is, whatever the other one. The derivatives at (0, 0) are 0.

    Parameters
    ----------
    x, y : array
        Real; promoted to a common floating dtype and broadcast.

    Returns
    -------
    array
        Floating, of the broadcast shape.

    Raises
    ------
    DTypeError
        A number is complex.

    Examples
    --------
    >>> ct.numpy.hypot([3.0, 5.0], [4.0, 12.0])
    Array([ 5., 13.], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    if kind(x) == "complex":
        raise DTypeError(
            f"hypot takes real arrays; got {x.dtype}\n  hypot(abs(x), abs(y)) takes the absolute values first"
        )
    x, y = primitives.abs(x), primitives.abs(y)
    large = primitives.stop_gradient(primitives.max(x, y))
    infinite = primitives.or_(primitives.eq(x, literal(x, math.inf)), primitives.eq(y, literal(y, math.inf)))
    # The result does not depend on the scale, so its derivatives of all orders are those of the formula.
    scale = choose(primitives.or_(infinite, primitives.eq(large, literal(large, 0.0))), 1.0, large)
    u, v = primitives.div(x, scale), primitives.div(y, scale)
    return choose(
        infinite, math.inf, scale * primitives.sqrt(primitives.add(primitives.mul(u, u), primitives.mul(v, v)))
    )


# ---- Rounding --------------------------------------------------------------------------------------------------------


def _rounding(primitive: Primitive, x: Any) -> Array:
    array = _core.array(x)
    return primitive(array) if is_inexact(array) else array


@own
def floor(x: Any, /) -> Array:
    """The largest whole number that is not above each element; integers stay as they are.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.floor([1.7, -1.2])
    Array([ 1., -2.], dtype=float32)
    """
    return _rounding(primitives.floor, x)


@own
def ceil(x: Any, /) -> Array:
    """The smallest whole number that is not below each element; integers stay as they are.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.ceil([1.2, -1.7])
    Array([ 2., -1.], dtype=float32)
    """
    return _rounding(primitives.ceil, x)


@own
def trunc(x: Any) -> Array:
    """The whole number next to each element in the direction of zero; integers stay as they are.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.trunc([1.7, -1.7])
    Array([ 1., -1.], dtype=float32)
    """
    array = _core.array(x)
    if not is_inexact(array):
        return array
    return primitives.select(primitives.lt(array, literal(array, 0.0)), primitives.ceil(array), primitives.floor(array))


fix = trunc


def rint(x: Any, /) -> Array:
    """The nearest whole number, halves to the even one, in a floating dtype for integers, too.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Real or complex. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating or complex, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.rint([0.5, 1.5, 2.6])
    Array([0., 2., 3.], dtype=float32)
    """
    return round(inexact(x))


def _round_integer(x: Array, unit: int) -> Array:
    """To multiples of a unit, halves to the even one."""
    limits = np.iinfo(x.dtype)
    if unit > limits.max:
        return constant(x, 0)
    rest = remainder(x, unit)
    down = x - rest
    quotient, half = floor_divide(x, unit), unit // 2
    odd = primitives.ne(remainder(quotient, 2), literal(x, 0))
    up = (rest > half) | ((rest == half) & odd)
    return primitives.select(up, down + literal(x, unit), down)


@own
def round(a: Any, decimals: int = 0, out: None = None) -> Array:  # noqa: A001
    """The nearest number with so many decimals, halves to the even one; integers stay as they are.

    The parts of complex numbers are rounded for themselves. The derivative is 0.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    decimals : int, default 0
        How many digits after the point are kept; negative: how many before it become zero.
    out : None
        Must be None: arrays are immutable.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Examples
    --------
    >>> ct.numpy.round([1.25, 2.375], 1)
    Array([1.2, 2.4], dtype=float32)

    >>> ct.numpy.round([1250, 1350], -2)
    Array([1200, 1400], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("round: the out argument is not supported")
    array = _core.array(a)
    if not is_inexact(array):
        return array if decimals >= 0 else _round_integer(array, 10**-decimals)
    if kind(array) == "complex":
        return primitives.complex(round(real(array), decimals), round(imag(array), decimals))
    if decimals == 0:
        return primitives.round(array)
    wide = _core.convert(array, "float32") if array.dtype.itemsize == 2 else array
    places = decimals if decimals > 0 else -decimals
    if places > (38 if wide.dtype.itemsize == 4 else 308):
        return array if decimals > 0 else array * literal(array, 0.0)
    factor = literal(wide, 10.0**places)
    if decimals < 0:
        return _core.convert(primitives.round(wide / factor) * factor, array.dtype)
    scaled = wide * factor
    # What is too large to scale has no decimals.
    finite = primitives.select(primitives.is_finite(scaled), primitives.round(scaled) / factor, wide)
    return _core.convert(finite, array.dtype)


around = round


@own
def clip(
    arr: Any = None,
    /,
    min: Any = None,  # noqa: A002
    max: Any = None,  # noqa: A002
    *,
    a: Any = None,
    a_min: Any = None,
    a_max: Any = None,
) -> Array:
    """The elements limited to an interval.

    Where a bound is an array, too, all are promoted and broadcast; where ``min`` is above ``max``, the result is
    ``max``. A Python int beyond the range of an integer dtype is no limit. The derivative is 1 inside, 0 outside and
    1/2 on a bound.

    Parameters
    ----------
    arr : array
        Real numbers.
    min, max : array or None, default None
        The bounds; None is none.
    a, a_min, a_max : array
        NumPy's names of the same arguments.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        Numbers or bounds are complex.

    Examples
    --------
    >>> ct.numpy.clip([-1.0, 0.5, 2.0], 0.0, 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    arr = a if arr is None else arr
    min, max = a_min if min is None else min, a_max if max is None else max  # noqa: A001
    if arr is None:
        raise TypeError("clip: an array is required")
    result = _core.array(arr)
    bounds = [item for item in (min, max) if item is not None and type(item) is not int]
    if builtins.any(kind(_core.array(item)) == "complex" for item in (result, *bounds)):
        raise DTypeError("clip takes real arrays; clip the real and imaginary parts")
    if min is not None:
        result = maximum(_within(min, result), result)
    if max is not None:
        result = minimum(_within(max, result), result)
    return result


def _within(bound: Any, x: Array) -> Any:
    """A bound of integers, a Python int beyond their dtype as the end of it: it would wrap to a number inside."""
    if kind(x) not in ("signed", "unsigned") or type(bound) is not int:
        return bound
    limits = np.iinfo(x.dtype)
    return builtins.min(builtins.max(bound, int(limits.min)), int(limits.max))


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced by numbers; parts of complex numbers for themselves.

    Parameters
    ----------
    x : array
        Numbers of any dtype; integers have none of these.
    copy : bool, default True
        Whether the result may be deleted without ``x``, where it has the same elements.
    nan : number, default 0.0
        What replaces NaN.
    posinf, neginf : number, optional
        What replaces infinities. None: the largest and the lowest number of the dtype.

    Returns
    -------
    array
        Of the dtype, which is not weak, and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.nan_to_num([1.0, ct.numpy.nan, ct.numpy.inf], posinf=9.0)
    Array([1., 0., 9.], dtype=float32)
    """
    array = _core.array(x)
    if not is_inexact(array):
        return apart(array, x) if copy else array
    if array.weak_type:
        array = primitives.convert(array, dtype=array.dtype)
    if kind(array) == "complex":
        parts = [nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (real(array), imag(array))]
        return primitives.complex(*parts)
    limits = finfo(array.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    array = choose(primitives.ne(array, array), nan, array)
    array = choose(primitives.eq(array, literal(array, math.inf)), high, array)
    return choose(primitives.eq(array, literal(array, -math.inf)), low, array)


# ---- Complex parts ---------------------------------------------------------------------------------------------------


@own
def real(x: Any, /) -> Array:
    """The real part of each element; a real array is its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Real, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.real([1 + 2j, 3.0])
    Array([1., 3.], dtype=float32)
    """
    array = _core.array(x)
    return primitives.real(array) if kind(array) == "complex" else array


def imag(x: Any, /) -> Array:
    """The imaginary part of each element; of real numbers, 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Real, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.imag([1 + 2j, 3.0])
    Array([2., 0.], dtype=float32)
    """
    array = _core.array(x)
    return primitives.imag(array) if kind(array) == "complex" else constant(array, 0)


@own
def conjugate(x: Any, /) -> Array:
    """The complex conjugate of each element; a real array is its own.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.conjugate([1 + 2j])
    Array([1.-2.j], dtype=complex64)
    """
    array = _core.array(x)
    return primitives.conj(array) if kind(array) == "complex" else array


conj = conjugate


def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers in the plane, in (-pi, pi]; of negative real numbers pi.

    Parameters
    ----------
    z : array
        Real or complex.
    deg : bool, default False
        Whether the angle is in degrees, and not in radians.

    Returns
    -------
    array
        Floating, of the shape of ``z``.

    Examples
    --------
    >>> ct.numpy.angle([1j, 1 + 1j], deg=True)
    Array([90., 45.], dtype=float32)
    """
    array = inexact(z)
    result = primitives.atan2(imag(array), real(array))
    return result * literal(result, 180.0 / math.pi) if deg else result


check_arguments(globals())
