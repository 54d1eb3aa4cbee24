"""Exponentials, logarithms, circular and hyperbolic functions of each element."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, entrance
from cotangent._ops import elementary as _elementary
from cotangent._ops.arithmetic import remainder
from cotangent._ops.binding import choose, inexact, kind, literal, ordered, promoted, real_only, unary
from cotangent._ops.elementary import sin_of_pi

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "rad2deg",
    "radians",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

_LOG2 = math.log(2.0)


# ---- Exponentials and logarithms -------------------------------------------------------------------------------------


@entrance("unary", primitives.sqrt)
def sqrt(x: Any, /) -> Array:
    """The square root; NaN of negative reals."""
    return unary(primitives.sqrt, x)


def cbrt(x: Any, /) -> Array:
    """The real cube root."""
    return _elementary.cbrt(real_only(x, "cbrt"))


@entrance("unary", primitives.exp)
def exp(x: Any, /) -> Array:
    """``e ** x``."""
    return unary(primitives.exp, x)


def exp2(x: Any, /) -> Array:
    """``2 ** x``."""
    return _elementary.exp2(inexact(x))


@entrance("unary", primitives.expm1)
def expm1(x: Any, /) -> Array:
    """``exp(x) - 1``, accurate near 0."""
    return unary(primitives.expm1, x)


@entrance("unary", primitives.log)
def log(x: Any, /) -> Array:
    """The natural logarithm."""
    return unary(primitives.log, x)


@entrance("unary", primitives.log1p)
def log1p(x: Any, /) -> Array:
    """``log(1 + x)``, accurate near 0."""
    return unary(primitives.log1p, x)


def log2(x: Any, /) -> Array:
    """The logarithm to base 2."""
    return _over(unary(primitives.log, x), _LOG2)


def log10(x: Any, /) -> Array:
    """The logarithm to base 10."""
    return _over(unary(primitives.log, x), math.log(10.0))


def _over(x: Array, divisor: float) -> Array:
    """``x`` divided by a real number, a complex one part by part: an infinite part leaves the other one alone."""
    if kind(x) != "complex":
        return primitives.div(x, literal(x, divisor))
    return primitives.complex(*(_over(part(x), divisor) for part in (primitives.real, primitives.imag)))


def logaddexp(x: Any, y: Any, /) -> Array:
    """``log(exp(x) + exp(y))`` without overflow.

    Where it is near 0, the absolute error is a unit in the last place of the larger magnitude of the two.
    """
    x, y = _core.promote([x, y], inexact=True)
    return _log_sum(x, y)


def _log_sum(x: Array, y: Array) -> Array:
    """`logaddexp` of operands of one dtype, with imaginary parts from -pi to pi."""
    difference = primitives.sub(x, y)
    undefined = primitives.ne(difference, difference)  # NaN, or equal infinities
    # Written with a choice instead of |x - y|, so that derivatives of every order are right where x == y.
    below = ordered(primitives.lt, difference, literal(difference, 0.0))
    gap = primitives.select(below, difference, primitives.neg(difference))
    result = primitives.select(below, y, x) + primitives.log1p(primitives.exp(choose(undefined, 0.0, gap)))
    if kind(result) != "complex":
        # Of equal infinities each has half of the derivative, as equal numbers have.
        half = literal(x, 0.5)
        return primitives.select(undefined, primitives.add(primitives.mul(x, half), primitives.mul(y, half)), result)
    result = primitives.select(undefined, primitives.add(x, y), result)
    angle = primitives.imag(result)
    angle = remainder(angle + math.pi, 2 * math.pi) - math.pi
    return primitives.complex(primitives.real(result), angle)


def logaddexp2(x: Any, y: Any, /) -> Array:
    """``log2(2**x + 2**y)`` without overflow."""
    x, y = _core.promote([x, y], inexact=True)
    result = _log_sum(x * literal(x, _LOG2), y * literal(y, _LOG2))
    return _over(result, _LOG2)


# ---- Trigonometry ----------------------------------------------------------------------------------------------------


@entrance("unary", primitives.sin)
def sin(x: Any, /) -> Array:
    """The sine of radians."""
    return unary(primitives.sin, x)


@entrance("unary", primitives.cos)
def cos(x: Any, /) -> Array:
    """The cosine of radians."""
    return unary(primitives.cos, x)


def tan(x: Any, /) -> Array:
    """The tangent of radians."""
    return _elementary.tan(inexact(x))


@entrance("unary", primitives.tanh)
def tanh(x: Any, /) -> Array:
    """The hyperbolic tangent."""
    return unary(primitives.tanh, x)


def sinh(x: Any, /) -> Array:
    """The hyperbolic sine."""
    return _elementary.sinh(inexact(x))


def cosh(x: Any, /) -> Array:
    """The hyperbolic cosine."""
    return _elementary.cosh(inexact(x))


def arctan2(y: Any, x: Any, /) -> Array:
    """The angle of the point (x, y), in (-pi, pi]."""
    return promoted(primitives.atan2, y, x, inexact=True)


def arctan(x: Any, /) -> Array:
    """The inverse tangent, in [-pi/2, pi/2]."""
    return _elementary.atan(inexact(x))


def arcsin(x: Any, /) -> Array:
    """The inverse sine, in [-pi/2, pi/2]; of reals outside of [-1, 1], NaN."""
    return _elementary.asin(inexact(x))


def arccos(x: Any, /) -> Array:
    """The inverse cosine, in [0, pi]; of reals outside of [-1, 1], NaN."""
    return _elementary.acos(inexact(x))


def arcsinh(x: Any, /) -> Array:
    """The inverse hyperbolic sine."""
    return _elementary.asinh(inexact(x))


def arccosh(x: Any, /) -> Array:
    """The inverse hyperbolic cosine; of reals below 1, NaN."""
    return _elementary.acosh(inexact(x))


def arctanh(x: Any, /) -> Array:
    """The inverse hyperbolic tangent; of reals outside of [-1, 1], NaN."""
    return _elementary.atanh(inexact(x))


acos, asin, atan, atan2 = arccos, arcsin, arctan, arctan2
acosh, asinh, atanh = arccosh, arcsinh, arctanh


def sinc(x: Any, /) -> Array:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    array = inexact(x)
    t = array * literal(array, math.pi)
    size = primitives.abs(t)
    near = primitives.lt(size, literal(size, 0.1))
    far_t = choose(near, 1.0, t)
    if kind(array) == "complex":
        sine = primitives.sin(far_t)
    else:
        # Of x less the nearest whole number: exactly 0 at those, and near them not rounded away.
        sine = sin_of_pi(choose(near, 1.0, array))
    far = primitives.div(sine, far_t)
    # The Taylor series: exact to rounding, with all derivatives at 0.
    small = choose(near, t, 0.0)
    squared = small * small
    series = literal(t, 1.0 / math.factorial(11) * -1.0)
    for n in (9, 7, 5, 3, 1):
        series = series * squared + literal(t, (-1.0) ** (n // 2) / math.factorial(n))
    return primitives.select(near, series, far)


def deg2rad(x: Any, /) -> Array:
    """Degrees to radians."""
    array = inexact(x)
    return array * literal(array, math.pi / 180.0)


def rad2deg(x: Any, /) -> Array:
    """Radians to degrees."""
    array = inexact(x)
    return array * literal(array, 180.0 / math.pi)


radians, degrees = deg2rad, rad2deg


check_arguments(globals())
