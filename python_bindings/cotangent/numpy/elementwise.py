"""Functions of one element at a time: arithmetic, exponentials, trigonometry, rounding, complex parts.

Arguments are arrays, NumPy arrays, numbers or nested lists; they are promoted to a common dtype and broadcast.
Functions that are not
whole-number operations turn integers into the default floating dtype. Only the primitives are computed natively; the
others are
compositions, so they have every derivative and work under every transform.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import Array
from cotangent.errors import DTypeError
from cotangent.numpy._support import bind1, inexact, is_inexact, is_integer, kind, literal

_LOG2 = math.log(2.0)


def _binary(name: str, x: Any, y: Any, inexact: bool = False) -> Array:
    return _core.bind(name, _core.promote([x, y], inexact=inexact))[0]


def _unary(name: str, x: Any) -> Array:
    return _core.bind(name, _core.promote([x], inexact=True))[0]


def _choose(condition: Array, x: Any, y: Any) -> Array:
    """Elements of x or y; y may be a number."""
    like = x if isinstance(x, Array) else y
    x = x if isinstance(x, Array) else literal(like, x)
    y = y if isinstance(y, Array) else literal(like, y)
    return bind1("select", condition, x, y)


def _real_only(x: Any, name: str) -> Array:
    array = inexact(x)
    if kind(array) == "complex":
        raise DTypeError(f"{name} takes real arrays; got {array.dtype}\n  use the real and imaginary parts")
    return array


# ---- Arithmetic ------------------------------------------------------------------------------------------------------


def add(x: Any, y: Any, /) -> Array:
    """``x + y``; of bools, or."""
    return _binary("add", x, y)


def subtract(x: Any, y: Any, /) -> Array:
    """``x - y``."""
    return _binary("sub", x, y)


def multiply(x: Any, y: Any, /) -> Array:
    """``x * y``; of bools, and."""
    return _binary("mul", x, y)


def divide(x: Any, y: Any, /) -> Array:
    """``x / y``, floating also for integers."""
    return _binary("div", x, y, inexact=True)


true_divide = divide


def negative(x: Any, /) -> Array:
    """``-x``."""
    return bind1("neg", x)


def positive(x: Any, /) -> Array:
    """``x`` as an array."""
    return _core.array(x)


def reciprocal(x: Any, /) -> Array:
    """``1 / x``."""
    array = inexact(x)
    return bind1("div", literal(array, 1.0), array)


def square(x: Any, /) -> Array:
    """``x * x``."""
    array = _core.array(x)
    return bind1("mul", array, array)


def absolute(x: Any, /) -> Array:
    """The magnitude: of a complex number, a real."""
    array = _core.array(x)
    return array if kind(array) in ("bool", "unsigned") else bind1("abs", array)


abs = absolute  # noqa: A001


def fabs(x: Any, /) -> Array:
    """The magnitude of real numbers, as floating numbers."""
    return bind1("abs", _real_only(x, "fabs"))


def sign(x: Any, /) -> Array:
    """-1, 0 or 1; NaN of NaN; of complex z, ``z / |z|``."""
    return bind1("sign", x)


def maximum(x: Any, y: Any, /) -> Array:
    """The larger of two; NaN if either is."""
    return _binary("max", x, y)


def minimum(x: Any, y: Any, /) -> Array:
    """The smaller of two; NaN if either is."""
    return _binary("min", x, y)


def fmax(x: Any, y: Any, /) -> Array:
    """The larger of two; if one is NaN, the other."""
    x, y = _core.promote([x, y])
    if kind(x) != "float":
        return bind1("max", x, y)
    return _choose(bind1("or", bind1("ne", y, y), bind1("gt", x, y)), x, y)


def fmin(x: Any, y: Any, /) -> Array:
    """The smaller of two; if one is NaN, the other."""
    x, y = _core.promote([x, y])
    if kind(x) != "float":
        return bind1("min", x, y)
    return _choose(bind1("or", bind1("ne", y, y), bind1("lt", x, y)), x, y)


def _integer_power(x: Array, exponent: int) -> Array:
    """By repeated squaring."""
    if exponent == 0:
        return literal(x, 1)
    if exponent < 0:
        return bind1("div", literal(x, 1), _integer_power(x, -exponent))
    result: Array | None = None
    square_of = x
    while exponent:
        if exponent & 1:
            result = square_of if result is None else bind1("mul", result, square_of)
        exponent >>= 1
        if exponent:
            square_of = bind1("mul", square_of, square_of)
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
        return _integer_power(array, y)
    x, y = _core.promote([x, y])
    if kind(x) == "bool":
        dtype = _core.default_int_dtype()
        x, y = _core.convert(x, dtype), _core.convert(y, dtype)
    return bind1("pow", x, y)


pow = power  # noqa: A001


def float_power(x: Any, y: Any, /) -> Array:
    """``x ** y`` in a floating dtype, also for integers."""
    return _binary("pow", x, y, inexact=True)


def _wraps(remainder: Array, divisor: Array) -> Array:
    """Where a truncated quotient is one more than the floor."""
    zero = literal(remainder, 0)
    differs = bind1("ne", bind1("lt", remainder, zero), bind1("lt", divisor, zero))
    return bind1("and", bind1("ne", remainder, zero), differs)


def _numbers(x: Any, y: Any) -> list[Array]:
    x, y = _core.promote([x, y])
    if kind(x) == "bool":
        dtype = _core.default_int_dtype()
        return [_core.convert(x, dtype), _core.convert(y, dtype)]
    return [x, y]


def remainder(x: Any, y: Any, /) -> Array:
    """The remainder with the sign of the divisor, as Python's ``%``."""
    x, y = _numbers(x, y)
    rest = bind1("rem", x, y)
    if kind(x) == "unsigned":
        return rest
    return bind1("select", _wraps(rest, y), bind1("add", rest, y), rest)


mod = remainder


def fmod(x: Any, y: Any, /) -> Array:
    """The remainder with the sign of the dividend, as C's."""
    return bind1("rem", *_numbers(x, y))


def floor_divide(x: Any, y: Any, /) -> Array:
    """The quotient rounded down, as Python's ``//``."""
    x, y = _numbers(x, y)
    if kind(x) == "unsigned":
        return bind1("div", x, y)
    rest = bind1("rem", x, y)
    one = literal(x, 1)
    if is_integer(x):
        quotient = bind1("div", x, y)
        return bind1("select", _wraps(rest, y), bind1("sub", quotient, one), quotient)
    if kind(x) == "complex":
        raise DTypeError(f"floor_divide takes real arrays; got {x.dtype}")
    quotient = bind1("div", bind1("sub", x, rest), y)
    return bind1("round", bind1("select", _wraps(rest, y), bind1("sub", quotient, one), quotient))


def divmod(x: Any, y: Any, /) -> tuple[Array, Array]:  # noqa: A001
    """Quotient rounded down, and remainder."""
    return floor_divide(x, y), remainder(x, y)


def hypot(x: Any, y: Any, /) -> Array:
    """``sqrt(x**2 + y**2)`` without overflow."""
    x, y = (bind1("abs", operand) for operand in _core.promote([x, y], inexact=True))
    large, small = bind1("max", x, y), bind1("min", x, y)
    zero = bind1("eq", large, literal(large, 0.0))
    ratio = bind1("div", small, _choose(zero, 1.0, large))
    result = large * bind1("sqrt", bind1("add", literal(ratio, 1.0), bind1("mul", ratio, ratio)))
    return _choose(bind1("eq", large, literal(large, math.inf)), math.inf, result)


# ---- Exponentials and logarithms -------------------------------------------------------------------------------------


def sqrt(x: Any, /) -> Array:
    """The square root; NaN of negative reals."""
    return _unary("sqrt", x)


def cbrt(x: Any, /) -> Array:
    """The real cube root."""
    array = _real_only(x, "cbrt")
    below = bind1("lt", array, literal(array, 0.0))
    magnitude = bind1("select", below, bind1("neg", array), array)
    root = bind1("pow", magnitude, literal(magnitude, 1.0 / 3.0))
    return bind1("select", below, bind1("neg", root), root)


def exp(x: Any, /) -> Array:
    """``e ** x``."""
    return _unary("exp", x)


def exp2(x: Any, /) -> Array:
    """``2 ** x``."""
    array = inexact(x)
    return bind1("pow", literal(array, 2.0), array)


def expm1(x: Any, /) -> Array:
    """``exp(x) - 1``, accurate near 0."""
    return _unary("expm1", x)


def log(x: Any, /) -> Array:
    """The natural logarithm."""
    return _unary("log", x)


def log1p(x: Any, /) -> Array:
    """``log(1 + x)``, accurate near 0."""
    return _unary("log1p", x)


def log2(x: Any, /) -> Array:
    """The logarithm to base 2."""
    result = _unary("log", x)
    return bind1("div", result, literal(result, _LOG2))


def log10(x: Any, /) -> Array:
    """The logarithm to base 10."""
    result = _unary("log", x)
    return bind1("div", result, literal(result, math.log(10.0)))


def logaddexp(x: Any, y: Any, /) -> Array:
    """``log(exp(x) + exp(y))`` without overflow."""
    x, y = _core.promote([x, y], inexact=True)
    difference = bind1("sub", x, y)
    undefined = bind1("ne", difference, difference)  # NaN, or equal infinities
    # Written with a choice instead of |x - y|, so that derivatives of every order are right where x == y.
    below = bind1("lt", difference, literal(difference, 0.0))
    gap = bind1("select", below, difference, bind1("neg", difference))
    result = bind1("select", below, y, x) + bind1("log1p", bind1("exp", _choose(undefined, 0.0, gap)))
    return bind1("select", undefined, bind1("add", x, y), result)


def logaddexp2(x: Any, y: Any, /) -> Array:
    """``log2(2**x + 2**y)`` without overflow."""
    x, y = _core.promote([x, y], inexact=True)
    result = logaddexp(x * literal(x, _LOG2), y * literal(y, _LOG2))
    return bind1("div", result, literal(result, _LOG2))


# ---- Trigonometry ----------------------------------------------------------------------------------------------------


def sin(x: Any, /) -> Array:
    """The sine of radians."""
    return _unary("sin", x)


def cos(x: Any, /) -> Array:
    """The cosine of radians."""
    return _unary("cos", x)


def tan(x: Any, /) -> Array:
    """The tangent of radians."""
    array = inexact(x)
    return bind1("div", bind1("sin", array), bind1("cos", array))


def tanh(x: Any, /) -> Array:
    """The hyperbolic tangent."""
    return _unary("tanh", x)


def sinh(x: Any, /) -> Array:
    """The hyperbolic sine."""
    array = inexact(x)
    half = literal(array, math.log(0.5))
    large = bind1("sub", bind1("exp", bind1("add", array, half)), bind1("exp", bind1("sub", half, array)))
    if kind(array) == "complex":
        return large
    near = bind1("lt", bind1("abs", array), literal(array, 1.0))
    grown = bind1("expm1", _choose(near, array, 0.0))
    small = literal(array, 0.5) * (grown + grown / (grown + literal(array, 1.0)))
    return bind1("select", near, small, large)


def cosh(x: Any, /) -> Array:
    """The hyperbolic cosine."""
    array = inexact(x)
    half = literal(array, math.log(0.5))
    return bind1("add", bind1("exp", bind1("add", array, half)), bind1("exp", bind1("sub", half, array)))


def arctan2(y: Any, x: Any, /) -> Array:
    """The angle of the point (x, y), in (-pi, pi]."""
    return _binary("atan2", y, x, inexact=True)


def arctan(x: Any, /) -> Array:
    """The inverse tangent, in [-pi/2, pi/2]."""
    array = _real_only(x, "arctan")
    return bind1("atan2", array, literal(array, 1.0))


def arcsin(x: Any, /) -> Array:
    """The inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    array = _real_only(x, "arcsin")
    one = literal(array, 1.0)
    return bind1("atan2", array, bind1("sqrt", (one - array) * (one + array)))


def arccos(x: Any, /) -> Array:
    """The inverse cosine, in [0, pi]; NaN outside of [-1, 1]."""
    array = _real_only(x, "arccos")
    one = literal(array, 1.0)
    return bind1("atan2", bind1("sqrt", (one - array) * (one + array)), array)


def arcsinh(x: Any, /) -> Array:
    """The inverse hyperbolic sine."""
    array = _real_only(x, "arcsinh")
    one = literal(array, 1.0)
    below = bind1("lt", array, literal(array, 0.0))
    size = bind1("select", below, bind1("neg", array), array)
    # Beyond the threshold the square could overflow, and 1 does not count.
    large = bind1("gt", size, literal(array, 1e3 if array.dtype.itemsize == 2 else 1e9))
    safe = _choose(large, 1.0, size)
    squared = safe * safe
    near = bind1("log1p", safe + squared / (one + bind1("sqrt", one + squared)))
    far = bind1("log", _choose(large, size, 1.0)) + literal(array, _LOG2)
    result = bind1("select", large, far, near)
    return bind1("select", below, bind1("neg", result), result)


def arccosh(x: Any, /) -> Array:
    """The inverse hyperbolic cosine; NaN below 1."""
    array = _real_only(x, "arccosh")
    above = array - literal(array, 1.0)
    return bind1("log1p", above + bind1("sqrt", above) * bind1("sqrt", above + literal(array, 2.0)))


def arctanh(x: Any, /) -> Array:
    """The inverse hyperbolic tangent; NaN outside of [-1, 1]."""
    array = inexact(x)
    return (bind1("log1p", array) - bind1("log1p", bind1("neg", array))) * literal(array, 0.5)


acos, asin, atan, atan2 = arccos, arcsin, arctan, arctan2
acosh, asinh, atanh = arccosh, arcsinh, arctanh


def sinc(x: Any, /) -> Array:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    array = _real_only(x, "sinc")
    t = array * literal(array, math.pi)
    near = bind1("lt", bind1("abs", t), literal(t, 0.1))
    far_t = _choose(near, 1.0, t)
    far = bind1("div", bind1("sin", far_t), far_t)
    # The Taylor series: exact to rounding, with all derivatives at 0.
    small = _choose(near, t, 0.0)
    squared = small * small
    series = literal(t, 1.0 / math.factorial(11) * -1.0)
    for n in (9, 7, 5, 3, 1):
        series = series * squared + literal(t, (-1.0) ** (n // 2) / math.factorial(n))
    return bind1("select", near, series, far)


def deg2rad(x: Any, /) -> Array:
    """Degrees to radians."""
    array = inexact(x)
    return array * literal(array, math.pi / 180.0)


def rad2deg(x: Any, /) -> Array:
    """Radians to degrees."""
    array = inexact(x)
    return array * literal(array, 180.0 / math.pi)


radians, degrees = deg2rad, rad2deg


# ---- Rounding --------------------------------------------------------------------------------------------------------


def _rounding(name: str, x: Any) -> Array:
    array = _core.array(x)
    return bind1(name, array) if is_inexact(array) else array


def floor(x: Any, /) -> Array:
    """Rounded down; integers stay as they are."""
    return _rounding("floor", x)


def ceil(x: Any, /) -> Array:
    """Rounded up; integers stay as they are."""
    return _rounding("ceil", x)


def trunc(x: Any, /) -> Array:
    """Rounded toward zero; integers stay as they are."""
    array = _core.array(x)
    if not is_inexact(array):
        return array
    return bind1("select", bind1("lt", array, literal(array, 0.0)), bind1("ceil", array), bind1("floor", array))


fix = trunc


def rint(x: Any, /) -> Array:
    """Rounded to the nearest whole number, halves to even, floating."""
    return _unary("round", x)


def round(x: Any, decimals: int = 0, out: None = None) -> Array:  # noqa: A001
    """Rounded to a number of decimals, halves to even; integers stay as they are."""
    if out is not None:
        raise NotImplementedError("round: the out argument is not supported")
    array = _core.array(x)
    if not is_inexact(array):
        if decimals < 0:
            raise NotImplementedError(
                "round of integers to negative decimals is not supported\n  convert to a floating dtype first"
            )
        return array
    if kind(array) == "complex":
        return bind1("complex", round(real(array), decimals), round(imag(array), decimals))
    if decimals == 0:
        return bind1("round", array)
    wide = _core.convert(array, "float32") if array.dtype.itemsize == 2 else array
    factor = literal(wide, 10.0 ** (decimals if decimals > 0 else -decimals))
    scaled = wide * factor if decimals > 0 else wide / factor
    rounded = bind1("round", scaled)
    return _core.convert(rounded / factor if decimals > 0 else rounded * factor, array.dtype)


around = round


def clip(arr: Any, /, min: Any = None, max: Any = None) -> Array:  # noqa: A002
    """``arr`` limited to [min, max]; None is no limit.

    >>> import cotangent as ct
    >>> ct.numpy.clip(ct.numpy.array([-1.0, 0.5, 2.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    result = _core.array(arr)
    if kind(result) == "complex":
        raise DTypeError("clip takes real arrays; complex numbers have no order")
    if min is not None:
        result = maximum(min, result)
    if max is not None:
        result = minimum(max, result)
    return result


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced by numbers: by default 0, the largest and the lowest of the dtype."""
    del copy
    array = _core.array(x)
    if not is_inexact(array):
        return array
    if kind(array) == "complex":
        parts = [nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (real(array), imag(array))]
        return bind1("complex", *parts)
    from cotangent.numpy.creation import finfo

    limits = finfo(array.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    array = _choose(bind1("ne", array, array), nan, array)
    array = _choose(bind1("eq", array, literal(array, math.inf)), high, array)
    return _choose(bind1("eq", array, literal(array, -math.inf)), low, array)


# ---- Signs and bits --------------------------------------------------------------------------------------------------


def signbit(x: Any, /) -> Array:
    """Whether the sign bit is set: true of -0.0 too."""
    array = _core.array(x)
    if kind(array) in ("bool", "unsigned"):
        return _core.full(array._bound_shape, False, bool)
    if kind(array) == "float":
        array = bind1("bitcast", array, dtype=np.dtype(f"int{8 * array.dtype.itemsize}"))
    return bind1("lt", array, literal(array, 0))


def copysign(x: Any, y: Any, /) -> Array:
    """The magnitude of x with the sign of y."""
    x, y = _core.promote([x, y], inexact=True)
    flip = bind1("ne", signbit(x), signbit(y))
    return bind1("select", flip, bind1("neg", x), x)


def heaviside(x: Any, y: Any, /) -> Array:
    """0 below 0, 1 above, ``y`` at 0."""
    x, y = _core.promote([x, y], inexact=True)
    zero = literal(x, 0.0)
    step = _choose(bind1("gt", x, zero), 1.0, bind1("select", bind1("ne", x, x), x, zero))
    return bind1("select", bind1("eq", x, zero), y, step)


def bitwise_and(x: Any, y: Any, /) -> Array:
    """Bits set in both."""
    return _binary("and", x, y)


def bitwise_or(x: Any, y: Any, /) -> Array:
    """Bits set in either."""
    return _binary("or", x, y)


def bitwise_xor(x: Any, y: Any, /) -> Array:
    """Bits set in one of both."""
    return _binary("xor", x, y)


def bitwise_not(x: Any, /) -> Array:
    """All bits flipped; of bools, not."""
    return bind1("not", x)


bitwise_invert = invert = bitwise_not


def left_shift(x: Any, y: Any, /) -> Array:
    """Bits moved up by ``y``."""
    return _binary("shift_left", x, y)


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any, /) -> Array:
    """Bits moved down by ``y``; the sign is kept."""
    x, y = _core.promote([x, y])
    return bind1("shift_right_logical" if kind(x) == "unsigned" else "shift_right_arithmetic", x, y)


bitwise_right_shift = right_shift


# ---- Complex parts ---------------------------------------------------------------------------------------------------


def real(x: Any, /) -> Array:
    """The real part; a real array is its own."""
    array = _core.array(x)
    return bind1("real", array) if kind(array) == "complex" else array


def imag(x: Any, /) -> Array:
    """The imaginary part; zeros of a real array."""
    array = _core.array(x)
    return bind1("imag", array) if kind(array) == "complex" else literal(array, 0)


def conjugate(x: Any, /) -> Array:
    """The complex conjugate; a real array is its own."""
    array = _core.array(x)
    return bind1("conj", array) if kind(array) == "complex" else array


conj = conjugate


def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers in the plane."""
    array = inexact(z)
    result = bind1("atan2", imag(array), real(array))
    return rad2deg(result) if deg else result


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with coefficients ``p``, the highest power first, at ``x``."""
    coefficients = _core.array(p)
    if coefficients.ndim != 1:
        raise ValueError(f"polyval: coefficients must have one axis; got shape {coefficients.shape}")
    result, x = _core.promote([_core.full((), 0, coefficients.dtype), x])
    for i in range(coefficients._bound_shape[0]):
        result = result * x + coefficients[i]
    return result
