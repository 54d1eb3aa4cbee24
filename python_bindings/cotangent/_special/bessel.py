"""Modified Bessel functions of the first kind, orders 0 and 1, scaled so that they do not overflow."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import by_precision, elementwise, pick, polynomial
from cotangent._special import tables
from cotangent._special.support import fitted, floats

__all__ = ["i0", "i0e", "i1", "i1e"]


def _scaled(magnitude: Array, near_fit: str, far_fit: str) -> tuple[Array, Array]:
    """The fit for up to 8, and the result beyond."""
    near = magnitude < 8.0
    far = pick(near, 8.0, magnitude)
    inverse = 1.0 / far
    return (
        fitted(pick(near, magnitude, 0.0), tables, near_fit),
        fitted(inverse, tables, far_fit) / primitives.sqrt(far),
    )


def _i0e_slope(x: Array, result: Array) -> Array:
    return _i1e(x) - primitives.sign(x) * result


@elementwise(_i0e_slope)
def _i0e(x: Array) -> Array:
    magnitude = primitives.abs(x)
    near, far = _scaled(magnitude, "I0E_NEAR", "I0E_FAR")
    return pick(magnitude < 8.0, near, far)


# The first derivative of i1 is i0(x) - i1(x) / x. Its own derivative by the same formula would cancel near 0, all digits of it;
# it is i1(x) - x I_2(x) / x^2 as well, of which the quotient is a power series with positive terms.


def _second_over_square(x: Array, scaled: bool) -> Array:
    """``I_2(x) / x**2``, times ``exp(-|x|)`` if scaled; written out, so that its derivatives are short programs."""
    magnitude = primitives.abs(x)
    near = magnitude < 8.0
    close = pick(near, magnitude, 0.0)
    terms = by_precision(x, 16, 26)
    series = [0.25 / (4.0**k * math.factorial(k) * math.factorial(2 + k)) for k in reversed(range(terms))]
    small = polynomial(close * close, tuple(series))
    far = pick(near, 8.0, magnitude)
    inverse = 1.0 / far
    large = (_i0e.program(far) - 2.0 * inverse * _i1e.program(far)) * inverse * inverse
    if scaled:
        return pick(near, small * primitives.exp(-close), large)
    return pick(near, small, large * primitives.exp(far))


def _ratio(x: Array, value: Array) -> Array:
    zero = x == 0.0
    return pick(zero, 0.5, value / pick(zero, 1.0, x))


@elementwise(
    lambda x, result, slope: -x * _second_over_square(x, True) - 2.0 * primitives.sign(x) * slope,
    lambda x, result, slope: _core.full((), 0.0, x.dtype),
)
def _i1e_slope_of(x: Array, result: Array) -> Array:
    return _i0e(x) - primitives.sign(x) * result - _ratio(x, result)


def _i1e_slope(x: Array, result: Array) -> Array:
    return _i1e_slope_of(x, result)


@elementwise(_i1e_slope)
def _i1e(x: Array) -> Array:
    magnitude = primitives.abs(x)
    near, far = _scaled(magnitude, "I1E_NEAR", "I1E_FAR")
    return pick(magnitude < 8.0, near * x, pick(x < 0.0, -far, far))


def _i0_slope(x: Array, result: Array) -> Array:
    return _i1(x)


@elementwise(_i0_slope)
def _i0(x: Array) -> Array:
    return _i0e(x) * primitives.exp(primitives.abs(x))


@elementwise(
    lambda x, result, slope: result - x * _second_over_square(x, False),
    lambda x, result, slope: _core.full((), 0.0, x.dtype),
)
def _i1_slope_of(x: Array, result: Array) -> Array:
    return _i0(x) - _ratio(x, result)


def _i1_slope(x: Array, result: Array) -> Array:
    return _i1_slope_of(x, result)


@elementwise(_i1_slope)
def _i1(x: Array) -> Array:
    return _i1e(x) * primitives.exp(primitives.abs(x))


def i0e(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 0, times ``exp(-|x|)``, so that it does not overflow.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.25.

    Examples
    --------
    >>> ct.scipy.special.i0e(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 0.4658], dtype=float32)
    """
    return _i0e(*floats("i0e", x))


def i1e(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 1, times ``exp(-|x|)``, so that it does not overflow.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.25.

    Examples
    --------
    >>> ct.scipy.special.i1e(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.2079], dtype=float32)
    """
    return _i1e(*floats("i1e", x))


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 0.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.25.

    Examples
    --------
    >>> ct.scipy.special.i0(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 1.2661], dtype=float32)
    """
    return _i0(*floats("i0", x))


def i1(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 1.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.25.

    Examples
    --------
    >>> ct.scipy.special.i1(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.5652], dtype=float32)
    """
    return _i1(*floats("i1", x))


check_arguments(globals())
