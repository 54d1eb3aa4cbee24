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
    """``x + y``; of bools, or."""
    return promoted(primitives.add, x, y)


@entrance("binary", primitives.sub)
def subtract(x: Any, y: Any, /) -> Array:
    """``x - y``."""
    return promoted(primitives.sub, x, y)


@entrance("binary", primitives.mul)
def multiply(x: Any, y: Any, /) -> Array:
    """``x * y``; of bools, and."""
    return promoted(primitives.mul, x, y)


@entrance("binary_inexact", primitives.div)
def divide(x: Any, y: Any, /) -> Array:
    """``x / y``, floating also for integers."""
    return promoted(primitives.div, x, y, inexact=True)


true_divide = divide


@entrance("unary", primitives.neg)
def negative(x: Any, /) -> Array:
    """``-x``."""
    return primitives.neg(x)


@own
def positive(x: Any, /) -> Array:
    """``x`` as an array."""
    return _core.array(x)


def reciprocal(x: Any, /) -> Array:
    """``1 / x``."""
    array = inexact(x)
    return primitives.div(literal(array, 1.0), array)


def square(x: Any, /) -> Array:
    """``x * x``."""
    array = _core.array(x)
    return primitives.mul(array, array)


@entrance("unary", primitives.abs)
def absolute(x: Any, /) -> Array:
    """The magnitude: of a complex number, a real."""
    array = _core.array(x)
    return apart(array, x) if kind(array) in ("bool", "unsigned") else primitives.abs(array)


abs = absolute  # noqa: A001


def fabs(x: Any, /) -> Array:
    """The magnitude of real numbers, as floating numbers."""
    return primitives.abs(real_only(x, "fabs"))


def sign(x: Any, /) -> Array:
    """-1, 0 or 1; NaN of NaN; of complex z, ``z / |z|``. That of -0.0 is 0.0, as NumPy's and the array API standard's is."""
    signs = primitives.sign(x)
    return choose(primitives.eq(signs, literal(signs, 0.0)), 0.0, signs) if kind(signs) == "float" else signs


@entrance("binary_ordered", primitives.max)
def maximum(x: Any, y: Any, /) -> Array:
    """The larger of two; NaN if either is."""
    return larger(primitives.max, *_core.promote([x, y]))


@entrance("binary_ordered", primitives.min)
def minimum(x: Any, y: Any, /) -> Array:
    """The smaller of two; NaN if either is."""
    return larger(primitives.min, *_core.promote([x, y]))


def fmax(x1: Any, x2: Any) -> Array:
    """The larger of two; if one is NaN, the other."""
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("float", "complex"):
        return primitives.max(x, y)
    return choose(primitives.or_(primitives.ne(y, y), ordered(primitives.gt, x, y)), x, y)


def fmin(x1: Any, x2: Any) -> Array:
    """The smaller of two; if one is NaN, the other."""
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
    """``x ** y``. A Python int as exponent is expanded into multiplications.

    Raises:
        TypeError: integers to a negative Python int.

    >>> import cotangent as ct
    >>> ct.numpy.power(ct.numpy.array([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
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
    """``x ** y`` in a floating dtype, also for integers."""
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
    """The remainder with the sign of the divisor, as Python's ``%``; so has a remainder of zero. Integers ``% 0`` give 0, as NumPy's."""
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
    """The remainder with the sign of the dividend, as C's; of integers and 0 it is 0, as NumPy's."""
    given = y
    x, y = _numbers(x, y)
    return _zero_at_zero(given, y, primitives.rem(x, y))


def floor_divide(x: Any, y: Any, /) -> Array:
    """The quotient rounded down, as Python's ``//``; with infinities as the array API standard has it, zero over them included.

    Integers ``// 0`` give 0, as NumPy's.
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
    """Quotient rounded down, and remainder."""
    return floor_divide(x, y), remainder(x, y)


def hypot(x: Any, y: Any, /) -> Array:
    """``sqrt(x**2 + y**2)`` without overflow; infinite where either is, whatever the other."""
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
    """Rounded down; integers stay as they are."""
    return _rounding(primitives.floor, x)


@own
def ceil(x: Any, /) -> Array:
    """Rounded up; integers stay as they are."""
    return _rounding(primitives.ceil, x)


@own
def trunc(x: Any) -> Array:
    """Rounded toward zero; integers stay as they are."""
    array = _core.array(x)
    if not is_inexact(array):
        return array
    return primitives.select(primitives.lt(array, literal(array, 0.0)), primitives.ceil(array), primitives.floor(array))


fix = trunc


def rint(x: Any, /) -> Array:
    """Rounded to the nearest whole number, halves to even, floating."""
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
    """Rounded to a number of decimals, halves to even; integers stay as they are."""
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
    """``arr`` limited to [min, max]; None is no limit. ``a``, ``a_min`` and ``a_max`` are NumPy's names of the arguments.

    >>> import cotangent as ct
    >>> ct.numpy.clip(ct.numpy.array([-1.0, 0.5, 2.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
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


@own
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced by numbers: by default 0, the largest and the lowest of the dtype, which is not weak then."""
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
    """The real part; a real array is its own."""
    array = _core.array(x)
    return primitives.real(array) if kind(array) == "complex" else array


def imag(x: Any, /) -> Array:
    """The imaginary part; zeros of a real array."""
    array = _core.array(x)
    return primitives.imag(array) if kind(array) == "complex" else constant(array, 0)


@own
def conjugate(x: Any, /) -> Array:
    """The complex conjugate; a real array is its own."""
    array = _core.array(x)
    return primitives.conj(array) if kind(array) == "complex" else array


conj = conjugate


def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers in the plane."""
    array = inexact(z)
    result = primitives.atan2(imag(array), real(array))
    return result * literal(result, 180.0 / math.pi) if deg else result


check_arguments(globals())
