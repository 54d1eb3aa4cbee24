"""Modified Bessel functions of the first kind, of any order from 0 on."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.elementary import is_odd
from cotangent._ops.per_element import Elementwise, by_precision, elementwise, polynomial
from cotangent._special.exponential_integrals import series
from cotangent._special.gammas import gammaln
from cotangent._special.support import floats
from cotangent._transforms.control_flow import fori_loop, while_loop

__all__ = ["iv", "ive"]

# (terms of the expansion for large orders, the orders from which on it is used)
_EXPANSION = {4: (6, 12), 8: (13, 32)}


@functools.cache
def _debye(terms: int) -> tuple[tuple[float, ...], ...]:
    """The polynomials u_k of DLMF 10.41.9 divided by p^k, in p^2, the highest coefficient first."""
    current = [Fraction(1)]  # in p
    result = []
    for k in range(terms):
        result.append(tuple(float(c) for c in current[k::2][::-1]))
        # u' of the next is half of p^2 (1 - p^2) u' and an eighth of the integral of (1 - 5 t^2) u.
        following = [Fraction(0)] * (len(current) + 3)
        for power, c in enumerate(current):
            following[power + 1] += c * (Fraction(power, 2) + Fraction(1, 8 * (power + 1)))
            following[power + 3] -= c * (Fraction(power, 2) + Fraction(5, 8 * (power + 3)))
        current = following
    return tuple(result)


def _large_order(v: Array, x: Array, terms: int) -> Array:
    """``exp(-x) I_v(x)`` of large v, whatever x (DLMF 10.41.3)."""
    radius = ops.hypot(v, x)
    # The exponent sqrt(v^2 + x^2) - x - v asinh(v / x), without its cancellation.
    exponent = v * (v / (radius + x)) - v * ops.asinh(v / x)
    p = v / radius
    square, step = p * p, 1.0 / radius  # (p / v) ^ k beside polynomials in p^2
    total = _core.full((), 0.0, x.dtype)
    for coefficients in reversed(_debye(terms)):
        total = total * step + polynomial(square, coefficients)
    result: Array = ops.exp(exponent) * total / ops.sqrt(2.0 * math.pi * radius)
    return result


def _beside(function: Elementwise, v: Array, x: Array, result: Array) -> Array:
    """The derivative of I_v, or of it times a constant: DLMF 10.29.1; of orders between 0 and 1, 10.29.2."""
    whole = (v == ops.floor(v)) | (v >= 1)
    above = function(v + 1, x)
    below = function(ops.where(whole, ops.abs(v - 1), v), x)
    other = above + v / ops.where(whole, 1.0, x) * result
    return ops.where(whole, 0.5 * (below + above), other)  # type: ignore[no-any-return]


def _ive_slope(v: Array, x: Array, result: Array) -> Array:
    return _beside(_ive, v, x, result) - ops.sign(x) * result


@elementwise(None, _ive_slope)
def _ive(v: Array, x: Array) -> Array:
    terms, least = _EXPANSION[x.dtype.itemsize]
    whole = v == ops.floor(v)
    order = ops.where(whole, ops.abs(v), v)
    size = ops.abs(x)
    defined = (order >= 0) & ((x >= 0) | whole)
    order = ops.where(defined, order, 0.0)
    near = size < by_precision(x, 4.0, 8.0)
    # By its power series, whose terms are positive (DLMF 10.25.2).
    close = ops.where(near, size, 0.0)
    half = 0.5 * close
    square = half * half
    total = series(ops.ones_like(x), lambda n: square / (n * (n + order)))
    power = ops.where(order == 0, 1.0, ops.exp(order * ops.log(ops.where(half > 0, half, 1.0)) - gammaln(order + 1)))
    small = ops.where((half > 0) | (order == 0), power * ops.exp(-close) * total, 0.0)
    # Beyond, from two large orders downwards (DLMF 10.29.1), which adds positive terms.
    finite = size < math.inf
    far = ops.where(near | ~finite, 8.0, size)
    steps = ops.where(order < least, float(least), 0.0)
    highest = order + steps
    above, here = fori_loop(
        0, 2, lambda k, s: (s[1], _large_order(highest + (1 - ops.astype(k, x.dtype)), far, terms)), (far, far)
    )
    # Counted: an order that is no whole number, and 1 less 32 times, may not be what it was.
    here = while_loop(
        lambda s: s[0] > 0,
        lambda s: (s[0] - 1, s[2], s[1] + 2.0 * (order + s[0]) / far * s[2]),
        (steps, above, here),
    )[2]
    value = ops.where(near, small, ops.where(finite, here, 0.0))
    value = ops.where((x < 0) & is_odd(order), -value, value)
    value = ops.where(defined, value, ops.nan)
    return ops.where(ops.isnan(x) | ops.isnan(v), x + v, value)  # type: ignore[no-any-return]


def _iv_slope(v: Array, x: Array, result: Array) -> Array:
    return _beside(_iv, v, x, result)


@elementwise(None, _iv_slope)
def _iv(v: Array, x: Array) -> Array:
    scaled = _ive.program(v, x)
    size = ops.abs(x)
    # In two factors: the exponential may overflow where the function does not.
    half = ops.exp(0.5 * size)
    value = scaled * half * half
    infinite = ops.where((x < 0) & is_odd(ops.where(ops.isnan(scaled), 0.0, v)), -ops.inf, ops.inf)
    return ops.where((size == math.inf) & (scaled == 0), infinite, value)  # type: ignore[no-any-return]


def ive(v: Any, z: Any) -> Array:
    """The modified Bessel function of the first kind, times ``exp(-|z|)``, so that it does not overflow.

    Parameters
    ----------
    v : array
        The orders, from 0 on; of whole numbers the negative ones, too. There is no derivative by it.
    z : array
        Real numbers; negative ones where the order is whole. Elsewhere the result is NaN.

    Returns
    -------
    array
        Of the common shape. The relative error is at most about 100 units in the last place for orders up to 10; it grows with the
        logarithm of the result.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 10.25 and 10.41.

    Examples
    --------
    >>> ct.scipy.special.ive(1.5, ct.numpy.array([1.0, 2.0])).round(4)
    Array([0.108 , 0.1488], dtype=float32)
    """
    return _ive(*floats("ive", v, z))


def iv(v: Any, z: Any) -> Array:
    """The modified Bessel function of the first kind.

    Parameters
    ----------
    v : array
        The orders, from 0 on; of whole numbers the negative ones, too. There is no derivative by it.
    z : array
        Real numbers; negative ones where the order is whole. Elsewhere the result is NaN.

    Returns
    -------
    array
        Of the common shape. The relative error is at most about 100 units in the last place for orders up to 10; it grows with the
        logarithm of the result.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 10.25 and 10.41.

    Examples
    --------
    >>> ct.scipy.special.iv(1.5, ct.numpy.array([1.0, 2.0])).round(4)
    Array([0.2935, 1.0995], dtype=float32)
    """
    return _iv(*floats("iv", v, z))


check_arguments(globals())
