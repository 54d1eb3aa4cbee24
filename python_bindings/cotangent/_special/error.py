"""The error function's relatives: its complement, scaled, and its inverse."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import choose
from cotangent._ops.per_element import by_precision, elementwise, pick, polynomial
from cotangent._special import tables
from cotangent._special.support import (
    exp_of_minus_rest,
    exp_of_minus_square,
    fitted,
    floats,
    split_square,
    where_needed,
)

__all__ = ["erf", "erfc", "erfcinv", "erfcx", "erfinv", "ndtri"]

_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def erf(x: Any) -> Array:
    """The error function: the integral of ``2 / sqrt(pi) * exp(-t**2)`` from 0 to ``x``.

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
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> ct.scipy.special.erf(ct.numpy.array([0.0, 0.5])).round(4)
    Array([0.    , 0.5205], dtype=float32)
    """
    return primitives.erf(*floats("erf", x))


def scaled_erfc(x: Array) -> Array:
    """``exp(x**2) erfc(x)`` for ``x >= 0``."""
    far = x > 1e18
    near = pick(far, 1.0, x)
    series = fitted((near - 3.75) / (near + 3.75), tables, "ERFCX")
    return pick(far, 0.5 * _TWO_OVER_ROOT_PI, series) / pick(far, x, 1.0 + 2.0 * near)


def _erf_near(x: Array) -> Array:
    """`erf` for ``|x| < 0.5``, by as many terms of its power series as that takes."""
    terms = by_precision(x, 7, 13)
    series = tuple(_TWO_OVER_ROOT_PI * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in reversed(range(terms)))
    return x * polynomial(x * x, series)


@elementwise(lambda x, result: -_TWO_OVER_ROOT_PI * primitives.exp(-x * x))
def _erfc(x: Array) -> Array:
    magnitude = primitives.abs(x)
    tail = exp_of_minus_square(magnitude) * scaled_erfc(magnitude)
    return pick(magnitude < 0.5, 1.0 - _erf_near(x), pick(x < 0.0, 2.0 - tail, tail))


def normal_tail(x: Array, factor: Array | float = 1.0) -> Array:
    """``factor`` times the probability that a standard normal variable exceeds ``x >= 0``.

    The exponential is of ``x**2 / 2`` itself: rounding ``x / sqrt(2)`` first would cost ``x**2`` units in the last place. It is
    the last factor, so that what it loses where it is subnormal is not multiplied.
    """
    square, rest = split_square(x)
    scaled = (0.5 * factor) * scaled_erfc(x * math.sqrt(0.5))
    return (scaled * exp_of_minus_rest(0.5 * rest)) * primitives.exp(-0.5 * square)


def normal_density(x: Array) -> Array:
    """The density of the standard normal distribution."""
    square, rest = split_square(x)
    return (math.sqrt(0.5 / math.pi) * exp_of_minus_rest(0.5 * rest)) * primitives.exp(-0.5 * square)


def _below(x: Array, magnitude: Array) -> Array:
    """The probability that a standard normal variable is below ``x``, whose absolute value is ``magnitude``.

    Both sides of 0.7, as tails on all lanes cost less than a branch for each vector.
    """
    tail, middle = normal_tail(magnitude), 0.5 + 0.5 * _erf_near(x * math.sqrt(0.5))
    return pick(magnitude < 0.7, middle, pick(x < 0.0, tail, 1.0 - tail))


@elementwise(lambda x, result: normal_density(x))
def ndtr_of_one(x: Array) -> Array:
    """The distribution function of the standard normal distribution."""
    return _below(x, primitives.abs(x))


def _gelu_slope(x: Array, _: Array) -> Array:
    magnitude = primitives.abs(x)
    # The density is 0 that far, and infinity times 0 is NaN.
    return _below(x, magnitude) + pick(magnitude > 100.0, 0.0, x) * normal_density(magnitude)


@elementwise(_gelu_slope)
def gelu_of_one(x: Array) -> Array:
    """``x`` times the distribution function of the standard normal distribution."""
    magnitude = primitives.abs(x)
    middle = x * (0.5 + 0.5 * _erf_near(x * math.sqrt(0.5)))
    tail = normal_tail(magnitude, pick(x > 100.0, 1.0, magnitude))  # 0 that far, and infinity times 0 is NaN
    return pick(magnitude < 0.7, middle, pick(x < 0.0, -tail, x - tail))


def _excess_of_fraction(terms: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Laplace's continued fraction ``1 / (1 + w / (1 + 3/2 w / (1 + 2 w / ...)))`` as a quotient of polynomials in w."""
    above, below = [1], [1]  # of the innermost, 1 / 1; integers: coefficients by powers of w / 2
    for k in reversed(range(2, terms + 1)):
        # 1 / (1 + k w / 2 above / below)
        inner = [0, *(k * a for a in above)]
        wide = below + [0] * (len(inner) - len(below))
        above, below = below, [a + b for a, b in zip(wide, inner, strict=True)]
    in_w = [[a / 2**power for power, a in enumerate(part)] for part in (above, below)]
    return tuple(reversed(in_w[0])), tuple(reversed(in_w[1]))


# So many terms that second derivatives have all digits, too.
_EXCESS_FROM = 2.5
_EXCESS = {4: _excess_of_fraction(14), 8: _excess_of_fraction(44)}


@elementwise()
def excess(x: Array) -> Array:
    """``1 / (sqrt(pi) erfcx(x)) - x`` for x > 0, without cancellation: about ``1 / (2 x)`` for large x."""
    far = x > _EXCESS_FROM
    inverse = 1.0 / pick(far, x, _EXCESS_FROM)
    w = inverse * inverse
    above, below = _EXCESS[x.dtype.itemsize]
    series = (0.5 * inverse) * (polynomial(w, above) / polynomial(w, below))
    near = pick(far, 1.0, x)
    return pick(far, series, (0.5 * _TWO_OVER_ROOT_PI) / _erfcx(near) - near)


def _erfcx_slope(x: Array, result: Array) -> Array:
    far = x > _EXCESS_FROM
    near = 2.0 * pick(far, 0.0, x) * result - _TWO_OVER_ROOT_PI
    return where_needed(far, lambda: -2.0 * excess(pick(far, x, _EXCESS_FROM)) * result, near)


@elementwise(_erfcx_slope)
def _erfcx(x: Array) -> Array:
    magnitude = primitives.abs(x)
    value = scaled_erfc(magnitude)
    # exp(x**2), with what rounding the square loses.
    growth = 2.0 / exp_of_minus_square(magnitude)
    return pick(x < 0.0, growth - value, value)


def erfc(x: Any) -> Array:
    """The complement ``1 - erf(x)``, which keeps its digits where erf is close to 1.

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
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> ct.scipy.special.erfc(ct.numpy.array([0.5, 2.0])).round(4)
    Array([0.4795, 0.0047], dtype=float32)
    """
    return _erfc(*floats("erfc", x))


def erfcx(x: Any) -> Array:
    """``exp(x**2) erfc(x)``, which does not underflow."""
    return _erfcx(*floats("erfcx", x))


def _ratio_near(w: Array) -> Array:
    """``erf_inv(x) / x`` at ``w = -log(1 - x**2)``, for w below `_near_limit`."""
    return fitted(w, tables, "ERF_INV_NEAR")


def _ratio_far(w: Array) -> Array:
    """The same beyond, up to 17 for float32 and 38 for float64."""
    root = primitives.sqrt(w)
    far = fitted(root, tables, "ERF_INV_FAR")
    return pick(w < 16.0, fitted(root, tables, "ERF_INV_MIDDLE"), far) if w.dtype.itemsize == 8 else far


def _ratio_outer(w: Array) -> Array:
    """The same further out, to where ``1 - x`` underflows."""
    root = primitives.sqrt(w)
    outer = fitted(root, tables, "ERF_INV_OUTER")
    return pick(root < 13.0, outer, fitted(root, tables, "ERF_INV_LAST")) if w.dtype.itemsize == 8 else outer


def _near_limit(x: Array) -> float:
    return by_precision(x, 5.0, 6.25)  # type: ignore[no-any-return]


@elementwise(lambda x, result: (0.5 * math.sqrt(math.pi)) * primitives.exp(result * result))
def _erf_inv(x: Array) -> Array:
    magnitude = primitives.abs(x)
    inside = magnitude < 1.0
    safe = pick(inside, x, 0.0)
    # Factored: squaring would lose digits of 1 - x**2. Near 0, where w is small, its absolute error is what counts.
    w = -primitives.log((1.0 - safe) * (1.0 + safe))
    limit = _near_limit(x)
    near = w < limit
    # Both: the second costs less than a branch for each vector.
    ratio = pick(near, _ratio_near(pick(near, w, 0.0)), _ratio_far(pick(near, limit, w)))
    ends = pick(magnitude > 1.0, math.nan, pick(x < 0.0, -math.inf, _core.full((), math.inf, x.dtype)))
    return pick(inside, ratio * safe, pick(primitives.ne(x, x), x, ends))


@elementwise(lambda p, result: math.sqrt(2.0 * math.pi) * primitives.exp(0.5 * result * result))
def _ndtri(p: Array) -> Array:
    """The square root of 2 times erf_inv(2 p - 1), without losing digits of small p."""
    inside = primitives.and_(p > 0.0, p < 1.0)
    middle = pick(inside, p, 0.5)
    lower = pick(middle > 0.5, 1.0 - middle, middle)
    w = -primitives.log(4.0 * lower * (1.0 - lower))
    limit, last = _near_limit(p), by_precision(p, 17.0, 38.0)
    far, outer = w >= limit, w >= last
    ratio = _ratio_near(pick(far, 0.0, w))
    ratio = where_needed(far, lambda: _ratio_far(pick(far, pick(outer, last, w), limit)), ratio)
    ratio = where_needed(outer, lambda: _ratio_outer(pick(outer, w, last)), ratio)
    value = ratio * ((2.0 * middle - 1.0) * math.sqrt(2.0))
    ends = pick(p == 0.0, -math.inf, pick(p == 1.0, math.inf, _core.full((), math.nan, p.dtype)))
    return pick(inside, value, ends)


def erfinv(x: Any) -> Array:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond.

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
    NIST Digital Library of Mathematical Functions, section 7.17.

    Examples
    --------
    >>> ct.scipy.special.erfinv(ct.numpy.array([0.0, 0.5])).round(4)
    Array([0.    , 0.4769], dtype=float32)
    """
    return _erf_inv(*floats("erfinv", x))


def erfcinv(y: Any) -> Array:
    """The inverse of `erfc`: infinite at 0 and 2, NaN beyond.

    Parameters
    ----------
    y : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``y``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.17.

    Examples
    --------
    >>> ct.scipy.special.erfcinv(ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.4769, 0.    ], dtype=float32)
    """
    (y,) = floats("erfcinv", y)
    small = y < 0.5
    # From a half on, 1 - y is exact.
    tail, rest = choose(small, y, 0.5), choose(small, 1.0, y)
    return choose(small, -math.sqrt(0.5) * _ndtri(0.5 * tail), _erf_inv(1.0 - rest))


def ndtri(p: Any) -> Array:
    """The inverse of the standard normal distribution function: infinite at 0 and 1, NaN beyond.

    Parameters
    ----------
    p : array
        Probabilities; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``p``: the quantiles.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.17.

    Examples
    --------
    >>> ct.scipy.special.ndtri(ct.numpy.array([0.5, 0.975])).round(3)
    Array([0.  , 1.96], dtype=float32)
    """
    return _ndtri(*floats("ndtri", p))


check_arguments(globals())
