"""Circular and hyperbolic functions of each element."""

from __future__ import annotations

import math
from typing import Any

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, entrance
from cotangent._ops import elementary as _elementary
from cotangent._ops.binding import choose, inexact, kind, literal, promoted, unary
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
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "rad2deg",
    "radians",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]


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

    >>> round(float(ct.grad(ct.grad(ct.numpy.sinc))(0.0)), 4)
    -3.2899
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
