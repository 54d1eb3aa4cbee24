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
    """The square root of each element; NaN of negative reals.

    The derivative at 0 is infinite. Of complex numbers it is the root with a real part that is not negative.

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
    >>> ct.numpy.sqrt([4.0, 2.25])
    Array([2. , 1.5], dtype=float32)

    >>> ct.numpy.sqrt([-4.0 + 0j])
    Array([0.+2.j], dtype=complex64)
    """
    return unary(primitives.sqrt, x)


def cbrt(x: Any, /) -> Array:
    """The real cube root of each element, also of negative ones.

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
    >>> ct.numpy.cbrt([27.0, -8.0])
    Array([ 3., -2.], dtype=float32)
    """
    return _elementary.cbrt(real_only(x, "cbrt"))


@entrance("unary", primitives.exp)
def exp(x: Any, /) -> Array:
    """The exponential function, e to the power of each element.

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
    >>> ct.numpy.exp([0.0, 1.0]).round(4)
    Array([1.    , 2.7183], dtype=float32)
    """
    return unary(primitives.exp, x)


def exp2(x: Any, /) -> Array:
    """Two to the power of each element; exact for whole numbers.

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
    >>> ct.numpy.exp2([3.0, -1.0])
    Array([8. , 0.5], dtype=float32)
    """
    return _elementary.exp2(inexact(x))


@entrance("unary", primitives.expm1)
def expm1(x: Any, /) -> Array:
    """``exp(x) - 1`` of each element, accurate where ``x`` is near 0.

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
    >>> float(ct.numpy.expm1(np.float64(1e-10)) / 1e-10) < 1.0000000002
    True
    """
    return unary(primitives.expm1, x)


@entrance("unary", primitives.log)
def log(x: Any, /) -> Array:
    """The natural logarithm of each element; -inf of 0, NaN of negative reals.

    Of complex numbers it is the principal value: its imaginary part is in (-pi, pi].

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
    >>> ct.numpy.log([1.0, 10.0]).round(4)
    Array([0.    , 2.3026], dtype=float32)
    """
    return unary(primitives.log, x)


@entrance("unary", primitives.log1p)
def log1p(x: Any, /) -> Array:
    """``log(1 + x)`` of each element, accurate where ``x`` is near 0.

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
    >>> ct.numpy.log1p([0.0, 1.0]).round(4)
    Array([0.    , 0.6931], dtype=float32)
    """
    return unary(primitives.log1p, x)


def log2(x: Any, /) -> Array:
    """The logarithm to base 2 of each element; -inf of 0, NaN of negative reals.

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
    >>> ct.numpy.log2([8.0, 0.25])
    Array([ 3., -2.], dtype=float32)
    """
    return _over(unary(primitives.log, x), _LOG2)


def log10(x: Any, /) -> Array:
    """The logarithm to base 10 of each element; -inf of 0, NaN of negative reals.

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
    >>> ct.numpy.log10([1000.0, 0.1]).round(4)
    Array([ 3., -1.], dtype=float32)
    """
    return _over(unary(primitives.log, x), math.log(10.0))


def _times(x: Array, factor: float) -> Array:
    """``x`` times a real number."""
    return x if factor == 1.0 else primitives.mul(x, literal(x, factor))


def _over(x: Array, divisor: float) -> Array:
    """``x`` divided by a real number, a complex one part by part: an infinite part leaves the other one alone."""
    if divisor == 1.0:
        return x
    if kind(x) != "complex":
        return primitives.div(x, literal(x, divisor))
    return primitives.complex(*(_over(part(x), divisor) for part in (primitives.real, primitives.imag)))


def logaddexp(x: Any, y: Any, /) -> Array:
    """The logarithm of a sum of exponentials, ``log(exp(x) + exp(y))``, without overflow.

    Where the result is near 0, its absolute error is a unit in the last place of the larger magnitude of the two.
    Imaginary parts of results are in [-pi, pi].

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
    >>> ct.numpy.logaddexp([1000.0], [1000.0]).round(3)
    Array([1000.693], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    return _log_sum(x, y)


def _log_sum(x: Array, y: Array, unit: float = 1.0) -> Array:
    """`logaddexp` of operands of one dtype, of powers of ``e ** unit``; with imaginary parts from -pi to pi over the unit."""
    difference = primitives.sub(x, y)
    undefined = primitives.ne(difference, difference)  # NaN, or equal infinities
    # Written with a choice instead of |x - y|, so that derivatives of every order are right where x == y.
    below = ordered(primitives.lt, difference, literal(difference, 0.0))
    gap = primitives.select(below, difference, primitives.neg(difference))
    ratio = primitives.exp(_times(choose(undefined, 0.0, gap), unit))
    result = primitives.select(below, y, x) + _over(primitives.log1p(ratio), unit)
    if kind(result) != "complex":
        # Of equal infinities each has half of the derivative, as equal numbers have.
        half = literal(x, 0.5)
        return primitives.select(undefined, primitives.add(primitives.mul(x, half), primitives.mul(y, half)), result)
    result = primitives.select(undefined, primitives.add(x, y), result)
    angle, half_turn = primitives.imag(result), math.pi / unit
    angle = remainder(angle + half_turn, 2 * half_turn) - half_turn
    return primitives.complex(primitives.real(result), angle)


def logaddexp2(x: Any, y: Any, /) -> Array:
    """The logarithm to base 2 of a sum of powers of 2, ``log2(2**x + 2**y)``, without overflow.

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
    >>> ct.numpy.logaddexp2([3.0, 500.0], [3.0, 500.0])
    Array([  4., 501.], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    return _log_sum(x, y, _LOG2)


# ---- Trigonometry ----------------------------------------------------------------------------------------------------


@entrance("unary", primitives.sin)
def sin(x: Any, /) -> Array:
    """The sine of angles in radians.

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
    >>> ct.numpy.sin([0.0, ct.numpy.pi / 6]).round(4)
    Array([0. , 0.5], dtype=float32)
    """
    return unary(primitives.sin, x)


@entrance("unary", primitives.cos)
def cos(x: Any, /) -> Array:
    """The cosine of angles in radians.

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
    >>> ct.numpy.cos([0.0, ct.numpy.pi / 3]).round(4)
    Array([1. , 0.5], dtype=float32)
    """
    return unary(primitives.cos, x)


def tan(x: Any, /) -> Array:
    """The tangent of angles in radians.

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
    >>> ct.numpy.tan([0.0, ct.numpy.pi / 4]).round(4)
    Array([0., 1.], dtype=float32)
    """
    return _elementary.tan(inexact(x))


@entrance("unary", primitives.tanh)
def tanh(x: Any, /) -> Array:
    """The hyperbolic tangent of each element.

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
    >>> ct.numpy.tanh([0.0, 1.0]).round(4)
    Array([0.    , 0.7616], dtype=float32)
    """
    return unary(primitives.tanh, x)


def sinh(x: Any, /) -> Array:
    """The hyperbolic sine of each element.

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
    >>> ct.numpy.sinh([0.0, 1.0]).round(4)
    Array([0.    , 1.1752], dtype=float32)
    """
    return _elementary.sinh(inexact(x))


def cosh(x: Any, /) -> Array:
    """The hyperbolic cosine of each element.

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
    >>> ct.numpy.cosh([0.0, 1.0]).round(4)
    Array([1.    , 1.5431], dtype=float32)
    """
    return _elementary.cosh(inexact(x))


def arctan2(y: Any, x: Any, /) -> Array:
    """The angle of the point (x, y) in the plane, in radians from -pi to pi, by the signs of both.

    Parameters
    ----------
    y, x : array
        The coordinates, y first. Real; promoted to a common floating dtype and broadcast.

    Returns
    -------
    array
        Floating, of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.arctan2([1.0, 1.0], [1.0, -1.0]).round(4)
    Array([0.7854, 2.3562], dtype=float32)
    """
    return promoted(primitives.atan2, y, x, inexact=True)


def arctan(x: Any, /) -> Array:
    """The inverse tangent of each element, in radians; of reals, from -pi/2 to pi/2.

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
    >>> ct.numpy.arctan([0.0, 1.0]).round(4)
    Array([0.    , 0.7854], dtype=float32)
    """
    return _elementary.atan(inexact(x))


def arcsin(x: Any, /) -> Array:
    """The inverse sine of each element, in radians; of reals, from -pi/2 to pi/2, and NaN outside of [-1, 1].

    The derivatives at -1 and 1 are infinite.

    Parameters
    ----------
    x : array
        Real or complex. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating or complex, of the shape of ``x``.

    References
    ----------
    Hull, Fairgrieve, Tang: Implementing the complex arcsine and arccosine functions using exception handling, 1997
    (of complex numbers).

    Examples
    --------
    >>> ct.numpy.arcsin([0.0, 0.5]).round(4)
    Array([0.    , 0.5236], dtype=float32)
    """
    return _elementary.asin(inexact(x))


def arccos(x: Any, /) -> Array:
    """The inverse cosine of each element, in radians; of reals, from 0 to pi, and NaN outside of [-1, 1].

    The derivatives at -1 and 1 are infinite.

    Parameters
    ----------
    x : array
        Real or complex. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating or complex, of the shape of ``x``.

    References
    ----------
    Hull, Fairgrieve, Tang: Implementing the complex arcsine and arccosine functions using exception handling, 1997
    (of complex numbers).

    Examples
    --------
    >>> ct.numpy.arccos([1.0, 0.5]).round(4)
    Array([0.    , 1.0472], dtype=float32)
    """
    return _elementary.acos(inexact(x))


def arcsinh(x: Any, /) -> Array:
    """The inverse hyperbolic sine of each element.

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
    >>> ct.numpy.arcsinh([0.0, 1.0]).round(4)
    Array([0.    , 0.8814], dtype=float32)
    """
    return _elementary.asinh(inexact(x))


def arccosh(x: Any, /) -> Array:
    """The inverse hyperbolic cosine of each element, not negative; of reals below 1, NaN.

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
    >>> ct.numpy.arccosh([1.0, 2.0]).round(4)
    Array([0.   , 1.317], dtype=float32)
    """
    return _elementary.acosh(inexact(x))


def arctanh(x: Any, /) -> Array:
    """The inverse hyperbolic tangent of each element; of reals outside of [-1, 1], NaN.

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
    >>> ct.numpy.arctanh([0.0, 0.5]).round(4)
    Array([0.    , 0.5493], dtype=float32)
    """
    return _elementary.atanh(inexact(x))


acos, asin, atan, atan2 = arccos, arcsin, arctan, arctan2
acosh, asinh, atanh = arccosh, arcsinh, arctanh


def sinc(x: Any, /) -> Array:
    """The sine cardinal, ``sin(pi x) / (pi x)``, and 1 at 0; exactly 0 at other whole numbers.

    It has all derivatives, at 0 too.

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
    >>> ct.numpy.sinc([0.0, 0.5, 2.0]).round(4)
    Array([1.    , 0.6366, 0.    ], dtype=float32)
    """
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
    """Degrees converted to radians, ``x * pi / 180``.

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
    >>> ct.numpy.deg2rad([180.0, 90.0]).round(4)
    Array([3.1416, 1.5708], dtype=float32)
    """
    array = inexact(x)
    return array * literal(array, math.pi / 180.0)


def rad2deg(x: Any, /) -> Array:
    """Radians converted to degrees, ``x * 180 / pi``.

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
    >>> ct.numpy.rad2deg([ct.numpy.pi, ct.numpy.pi / 2])
    Array([180.,  90.], dtype=float32)
    """
    array = inexact(x)
    return array * literal(array, 180.0 / math.pi)


radians, degrees = deg2rad, rad2deg


check_arguments(globals())
