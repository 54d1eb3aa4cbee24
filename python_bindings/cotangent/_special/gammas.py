"""The gamma function, its logarithm and that one's derivatives, and the zeta function of Hurwitz."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.elementary import is_odd, sin_of_pi
from cotangent._ops.per_element import by_precision, elementwise, pick
from cotangent._special import tables
from cotangent._special.support import fitted, floats, is_integral, where_needed

__all__ = ["digamma", "gamma", "gammaln", "polygamma", "zeta"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# How many terms of the zeta function are summed one by one, and the coefficients of Euler and Maclaurin's series for the
# rest: so many that its terms are at their smallest, near rounding.
_TERMS = {4: (3, tables.BERNOULLI[:7]), 8: (6, tables.BERNOULLI)}


def _power(base: Array, s: Array, unit: Array | None) -> Array:
    return primitives.pow(base, -s) if unit is None else primitives.pow(unit / base, s)


def _hurwitz(s: Array, q: Array, unit: Array | None = None) -> Array:
    """``sum (q + k)**-s`` over k from 0, for s > 1 and q > 0; with ``unit``, times ``unit**s``, which may be large where the sum is small."""
    count, coefficients = _TERMS[s.dtype.itemsize]
    a = q + float(count)
    power = primitives.pow(a, 1.0 - s) if unit is None else _power(a, s, unit) * pick(a < math.inf, a, 1.0)
    inverse = 1.0 / a
    rising = s * inverse
    tail = 0.5 + rising * coefficients[0]
    for j, coefficient in enumerate(coefficients[1:], 1):
        rising = rising * ((s + (2.0 * j - 1.0)) * inverse) * ((s + 2.0 * j) * inverse)
        tail = tail + rising * coefficient
    tail = 1.0 / (s - 1.0) + tail * inverse
    first = _power(q, s, unit)
    result = pick(primitives.and_(power > 0.0, first < math.inf), power * tail, 0.0)
    for k in reversed(range(1, count)):
        result = result + _power(q + float(k), s, unit)
    return result + first


@elementwise()
def _zeta(s: Array, q: Array) -> Array:
    return _zeta_in(None, s, q)


def _zeta_in(unit: Array | None, s: Array, q: Array) -> Array:
    """The zeta function, times ``unit**s`` if there is a unit."""
    ordinary = s > 1.0
    order = pick(ordinary, s, 2.0)
    left = primitives.and_(q < 0.0, primitives.is_finite(q))
    right = pick(left, 1.0 - q, q)
    result = _hurwitz(order, pick(right > 0.0, right, 1.0), unit)
    # Below 0, for whole s: the sum over all of the line, less what lies below q.
    whole = is_integral(s)
    below = primitives.and_(primitives.and_(left, ordinary), primitives.and_(whole, primitives.not_(is_integral(q))))

    def of_negative() -> Array:
        # From the nearest whole number, so that q close to one keeps its digits: the pole is a term of its own.
        rest = pick(below, q - primitives.round(q), 0.5)
        left_of_it = _hurwitz(order, 1.0 - rest, unit) - result
        size = _power(primitives.abs(rest), order, unit)
        pole = pick(primitives.and_(rest < 0.0, is_odd(order)), -size, size)
        others = _hurwitz(order, 1.0 + rest, unit) + pick(is_odd(order), -left_of_it, left_of_it)
        # The nearest pole outweighs the others, which may be infinite as well; all but from the middle of two.
        alone = primitives.and_(size == math.inf, primitives.abs(rest) < 0.5)
        # In the middle of two, pairs of odd powers cancel as far as there are terms on the left of 0; the rest is on the right.
        middle = primitives.and_(primitives.abs(rest) == 0.5, is_odd(order))
        return pick(middle, result, pick(alone, 0.0, others) + pole)

    result = where_needed(below, of_negative, result)
    undefined = primitives.and_(q < 0.0, primitives.not_(whole))
    infinite = primitives.and_(q <= 0.0, is_integral(q))
    result = pick(infinite, math.inf, pick(undefined, math.nan, result))
    result = pick(s == 1.0, math.inf, pick(s < 1.0, math.nan, result))
    return pick(primitives.or_(primitives.ne(s, s), primitives.ne(q, q)), math.nan, result)


@elementwise(lambda x, result: -2.0 * _zeta(pick(x < math.inf, 3.0, x), x))
def _trigamma(x: Array) -> Array:
    count, coefficients = _TERMS[x.dtype.itemsize]
    low = x <= 0.0
    y = pick(low, 1.0 - x, x)
    inverse = 1.0 / (y + float(count))
    squared = inverse * inverse
    # The same sums as of zeta, for s = 2: (2j)! of the coefficients and of the rising factorial meet.
    tail = coefficients[-1] * math.factorial(2 * len(coefficients)) * squared
    for j in reversed(range(1, len(coefficients))):
        tail = (tail + coefficients[j - 1] * math.factorial(2 * j)) * squared
    result = inverse + (0.5 * inverse + tail) * inverse
    for k in reversed(range(count)):
        shifted = 1.0 / (y + float(k))
        result = result + shifted * shifted

    def reflected() -> Array:
        # trigamma(x) + trigamma(1 - x) = (pi / sin(pi x))^2
        sine = sin_of_pi(pick(low, x, 0.5)) / math.pi
        return 1.0 / (sine * sine) - result

    return where_needed(low, reflected, result)


@elementwise(lambda x, result: _trigamma(x))
def _digamma(x: Array) -> Array:
    low = x <= 0.0
    y = pick(low, 1.0 - x, x)
    tiny, near = y < 1.0, y < 2.0
    close = pick(near, y, 1.0)
    close = pick(tiny, close + 1.0, close)
    head, tail = by_precision(x, tables.DIGAMMA_ROOT32, tables.DIGAMMA_ROOT)
    around_root = ((close - head) - tail) * fitted(close, tables, "DIGAMMA")
    around_root = around_root - pick(tiny, 1.0 / pick(tiny, y, 1.0), 0.0)
    far = pick(near, 2.0, y)
    inverse = 1.0 / far
    squared = inverse * inverse
    asymptotic = primitives.log(far) - (0.5 * inverse + squared * fitted(squared, tables, "DIGAMMA_TAIL"))
    positive = pick(near, around_root, asymptotic)

    def reflected() -> Array:
        # digamma(1 - x) - digamma(x) = pi / tan(pi x)
        turned = pick(low, x, 0.25)
        cotangent = sin_of_pi(turned + 0.5) / sin_of_pi(turned)
        return pick(is_integral(turned), math.nan, positive - math.pi * cotangent)

    return where_needed(low, reflected, positive)


def _below_three(y: Array) -> tuple[Array, Array]:
    """For 0 < y < 2.5: ``log gamma(y + k)`` and what ``gamma(y + k) / gamma(y)`` is, for k such that y + k is in [1.5, 2.5]."""
    tiny, small = y < 0.5, y < 1.5
    t = pick(tiny, y, y - pick(small, 1.0, _core.full((), 2.0, y.dtype)))
    factor = pick(tiny, y * (1.0 + y), pick(small, y, 1.0))
    return t * fitted(t, tables, "LGAMMA"), factor


def stirling_correction(z: Array) -> Array:
    """``log gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2)``, for z > 0."""
    near = z < 2.5
    close = pick(near, z, 1.0)
    far = pick(near, 2.5, z)
    inverse = 1.0 / far
    series = fitted(inverse * inverse, tables, "STIRLING") * inverse
    above, factor = _below_three(close)
    exact = above - primitives.log(factor) - ((close - 0.5) * primitives.log(close) - close + _HALF_LOG_TWO_PI)
    return pick(near, exact, series)


@elementwise(lambda x, result: _digamma(x))
def _lgamma(x: Array) -> Array:
    y = primitives.abs(x)
    near = y < 2.5
    close = pick(near, y, 1.0)
    above, factor = _below_three(close)
    far = pick(near, 2.5, y)
    logarithm = primitives.log(pick(near, factor, far))
    inverse = 1.0 / far
    # Arranged so that infinity gives no infinity less infinity.
    stirling = (far - 0.5) * (logarithm - 1.0) + (_HALF_LOG_TWO_PI - 0.5)
    stirling = stirling + fitted(inverse * inverse, tables, "STIRLING") * inverse
    positive = pick(near, above - logarithm, stirling)

    def reflected() -> Array:
        # gamma(y) gamma(-y) = -pi / (y sin(pi y))
        sine = primitives.abs(sin_of_pi(y))
        result = (primitives.log(math.pi / sine) - primitives.log(y)) - positive
        # Close to 0 the sine may be subnormal, and both signs have the same logarithm; large numbers are whole, poles all of them.
        return pick(y < by_precision(x, 1e-9, 1e-18), positive, pick(is_integral(y), math.inf, result))

    return where_needed(x < 0.0, reflected, positive)


@elementwise(lambda x, result: result * _digamma(x))
def _gamma(x: Array) -> Array:
    y = primitives.abs(x)
    near = y < 2.5
    above, factor = _below_three(pick(near, y, 1.0))
    far = pick(near, 2.5, y)
    overflows = far > by_precision(x, 36.0, 172.0)
    last = by_precision(x, 44.0, 200.0)  # from there on the result is infinite or 0, and powers would be infinite
    far = pick(far > last, last, far)

    def factors() -> tuple[Array, Array]:
        inverse = 1.0 / far
        # Half of the power at a time: the whole would overflow before the result does.
        power = primitives.pow(far, 0.5 * far - 0.25)
        return power, primitives.exp(fitted(inverse * inverse, tables, "STIRLING") * inverse) * primitives.exp(-far)

    one = _core.full((), 1.0, x.dtype)
    half, rest = where_needed(primitives.not_(near), factors, (one, one))
    stirling = pick(overflows, math.inf, math.sqrt(2.0 * math.pi) * half * (half * rest))
    positive = pick(near, primitives.exp(above) / factor, stirling)

    def reflected() -> Array:
        # gamma(y) gamma(-y) = -pi / (y sin(pi y)); close to 0, where the product in the divisor would underflow, y gamma(y) is 1.
        close = y < by_precision(x, 1e-8, 1e-16)
        sine = sin_of_pi(y)
        divisor = pick(close, 1.0, sine) * pick(close, -y, y * positive)
        result = pick(close, 1.0, _core.full((), -math.pi, x.dtype)) / divisor
        # Far out half of the power at a time again: the divisor would overflow where the result is still subnormal.
        distant = (-math.sqrt(0.5 * math.pi) / (far * pick(near, 0.25, sine) * (half * rest))) / half
        return pick(is_integral(y), math.nan, pick(near, result, distant))

    return pick(x == 0.0, 1.0 / x, where_needed(x < 0.0, reflected, positive))


def _next_polygamma(m: Array, x: Array, result: Array) -> Array:
    return _polygamma(m + 1.0, x)


@elementwise(None, _next_polygamma)
def _polygamma(m: Array, x: Array) -> Array:
    first = m < 0.5
    order = pick(first, 1.0, m)
    # The factorial may overflow, and the sum underflow, where their product does neither.
    far = (order + 1.0) * primitives.log1p(primitives.abs(x)) > by_precision(x, 80.0, 700.0)
    extreme = primitives.or_(far, order > by_precision(x, 34.0, 170.0))
    modest = pick(extreme, 1.0, order) + 1.0

    def at_once() -> Array:
        s = pick(extreme, order, 1.0) + 1.0
        return _zeta_in(primitives.exp(_lgamma(s) / s), s, x)

    value = where_needed(extreme, at_once, _gamma(modest) * _zeta(modest, x))
    value = pick(first, _digamma(x), pick(is_odd(order), value, -value))
    return pick(primitives.and_(m >= 0.0, is_integral(m)), value, math.nan)


def gammaln(x: Any) -> Array:
    """The logarithm of the magnitude of the gamma function; infinite at its poles.

    Near its zeros below 0 the absolute error is a few units in the last place of 1; at 1 and 2 relative errors are.

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
    NIST Digital Library of Mathematical Functions, sections 5.2 and 5.11.

    Examples
    --------
    >>> ct.scipy.special.gammaln(ct.numpy.array([0.5, 10.0])).round(4)
    Array([ 0.5724, 12.8018], dtype=float32)
    """
    return _lgamma(*floats("gammaln", x))


def gamma(x: Any) -> Array:
    """The gamma function; NaN at negative integers, infinite with the sign of zero at 0.

    >>> float(gamma(5.0))
    24.0
    """
    return _gamma(*floats("gamma", x))


def digamma(x: Any) -> Array:
    """The derivative of the logarithm of the gamma function; NaN at its poles.

    Near its zeros below 0 the absolute error is a few units in the last place of 1; at that near 1.46 the relative
    error is.

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
    NIST Digital Library of Mathematical Functions, sections 5.2 and 5.11.

    Examples
    --------
    >>> ct.scipy.special.digamma(ct.numpy.array([0.5, 10.0])).round(4)
    Array([-1.9635,  2.2518], dtype=float32)
    """
    return _digamma(*floats("digamma", x))


def polygamma(m: Any, x: Any) -> Array:
    """The derivative of order ``m`` of `digamma`; NaN for other than whole m from 0 on.

    Relative errors are below 32 units in the last place for m up to 6; for negative x, between whose poles the function may go
    through 0, absolute errors are relative to ``m! 2**(m + 1)``.
    """
    return _polygamma(*floats("polygamma", m, x))


def zeta(s: Any, q: Any) -> Array:
    """The sum of ``(q + k)**-s`` over k = 0, 1, …, for s > 1; NaN for s < 1, and for fractional s with q < 0."""
    return _zeta(*floats("zeta", s, q))


check_arguments(globals())
