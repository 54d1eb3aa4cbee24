"""The gamma function, its logarithm and derivatives, beta, binomials, and what is made of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.elementary import sin_of_pi
from cotangent._ops.per_element import by_precision, elementwise
from cotangent._ops.sizes import static_count
from cotangent._special import digamma, gammaln, tables
from cotangent._special import gamma as _real_gamma
from cotangent._special.complex import complex_gamma, complex_loggamma
from cotangent._special.gammas import polygamma as _polygamma
from cotangent._special.gammas import zeta as _hurwitz_zeta
from cotangent._special.support import fitted, floats, where_needed


def gamma(x: Any) -> Array:
    """The gamma function of real or complex numbers.

    NaN at negative integers, infinite with the sign of zero at a real 0.

    Parameters
    ----------
    x : array
        Real or complex numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.2.

    Examples
    --------
    >>> ct.scipy.special.gamma(ct.numpy.array([0.5, 5.0])).round(4)
    Array([ 1.7725, 24.    ], dtype=float32)
    """
    (array,) = _core.promote([x], inexact=True)
    return complex_gamma(array) if cnp.iscomplexobj(array) else _real_gamma(array)


def _rgamma_slope(x: Array, result: Array) -> Array:
    # Below a half that of the reflection sin(pi x) / pi gamma(1 - x), which is finite at the poles of digamma.
    low = x < 0.5
    mirrored = cnp.where(low, 1 - x, 1.0)
    turned = cnp.where(low, x, 0.0)
    other = _real_gamma(mirrored)
    left = sin_of_pi(turned + 0.5) * other - sin_of_pi(turned) / math.pi * other * digamma(mirrored)
    right = cnp.where(low, 1.0, x)
    slope = cnp.where(low, left, -digamma(right) * _rgamma(right))
    return cnp.where(x == math.inf, 0.0, slope)  # type: ignore[no-any-return]


@elementwise(_rgamma_slope)
def _rgamma(x: Array) -> Array:
    pole = (x <= 0) & (x == cnp.floor(x))  # of -inf, too, as in SciPy
    return cnp.where(pole, 0.0, 1.0 / _real_gamma(cnp.where(pole, 1.0, x)))  # type: ignore[no-any-return]


def rgamma(z: Any) -> Array:
    """The reciprocal of the gamma function of real numbers, which is 0 at the poles of that one.

    Parameters
    ----------
    z : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``z``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.7.

    Examples
    --------
    >>> ct.scipy.special.rgamma(ct.numpy.array([-1.0, 0.5, 5.0])).round(4)
    Array([0.    , 0.5642, 0.0417], dtype=float32)
    """
    return _rgamma(*floats("rgamma", z))


def loggamma(x: Any) -> Array:
    """The principal branch of the logarithm of the gamma function.

    Real numbers below 0 give NaN, where `gammaln` has the logarithm of the magnitude.

    Parameters
    ----------
    x : array
        Real or complex numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 5.2 and 5.11.

    Examples
    --------
    >>> ct.scipy.special.loggamma(ct.numpy.array([0.5, 10.0])).round(4)
    Array([ 0.5724, 12.8018], dtype=float32)
    """
    (x,) = _core.promote([x], inexact=True)
    if cnp.iscomplexobj(x):
        return complex_loggamma(x)
    result: Array = cnp.where(x < 0, cnp.nan, gammaln(x))
    return result


def gammasgn(x: Any) -> Array:
    """The sign of the gamma function: -1 or 1.

    NaN at negative whole numbers, and the sign of zero at zero.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.scipy.special.gammasgn(ct.numpy.array([-1.5, -0.5, 2.0]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    (x,) = floats("gammasgn", x)
    floor = cnp.floor(x)
    odd = cnp.floor(floor / 2) * 2 != floor
    sign = cnp.where((x < 0) & odd, -1.0, 1.0)
    sign = cnp.where((x < 0) & (floor == x), cnp.nan, sign)
    result: Array = cnp.where(x == 0, cnp.copysign(1.0, x), cnp.where(cnp.isnan(x), cnp.nan, sign)).astype(x.dtype)
    return result


def factorial(n: Any, exact: bool = False) -> Array:
    """The factorial ``n!`` as a floating number; 0 for negative n.

    Of fractions it is ``gamma(n + 1)``.

    Parameters
    ----------
    n : array
        Real numbers.
    exact : bool
        Must be false: integers of any size are not arrays.

    Returns
    -------
    array
        Of the shape of ``n``.

    Raises
    ------
    NotImplementedError
        ``exact`` is true.

    Examples
    --------
    >>> ct.scipy.special.factorial(ct.numpy.array([0, 3, 5]))
    Array([  1.       ,   5.9999995, 119.99999  ], dtype=float32)
    """
    if exact:
        raise NotImplementedError(
            "factorial: exact=True is not supported\n  use math.factorial for an int, or leave it out"
        )
    (n,) = floats("factorial", n)
    result: Array = cnp.where(n < 0, 0.0, gamma(cnp.where(n < 0, 0.0, n) + 1))
    return result


# Stirling's correction as a series in 1 / x**2: Bernoulli numbers over 2k (2k - 1) (DLMF 5.11.1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling(x: Array) -> Array:
    inverse = 1 / (x * x)
    total = cnp.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        total = total * inverse + coefficient
    return total / x


@elementwise(lambda a, b, result: digamma(a) - digamma(a + b), lambda a, b, result: digamma(b) - digamma(a + b))
def _betaln(a: Array, b: Array) -> Array:
    small, large = cnp.minimum(a, b), cnp.maximum(a, b)
    # For a large argument two huge logarithms would cancel: Stirling's formula with the difference taken by hand.
    far = (large >= 10) & (small > 0)
    big, little = cnp.where(far, large, 10.0), cnp.where(far, small, 1.0)
    first, other = gammaln(small), cnp.where(far, 1.0, large)
    near = first + gammaln(other) - gammaln(cnp.where(far, 1.0, a + b))

    def with_large() -> Array:
        difference = _stirling(big) - _stirling(big + little)
        difference = difference - (big - 0.5) * cnp.log1p(little / big) - little * cnp.log(big + little) + little
        result: Array = first + difference
        return result

    return where_needed(far, with_large, near)


def betaln(a: Any, b: Any) -> Array:
    """The logarithm of the magnitude of the beta function.

    Parameters
    ----------
    a, b : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.12.

    Examples
    --------
    >>> ct.scipy.special.betaln(ct.numpy.array([1.0, 2.0]), 3.0).round(4)
    Array([-1.0986, -2.4849], dtype=float32)
    """
    return _betaln(*floats("betaln", a, b))


def beta(a: Any, b: Any) -> Array:
    """The beta function ``gamma(a) gamma(b) / gamma(a + b)``, to about 128 units in the last place for arguments up to 12.

    Parameters
    ----------
    a, b : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.12.

    Examples
    --------
    >>> ct.scipy.special.beta(ct.numpy.array([1.0, 2.0]), 3.0).round(4)
    Array([0.3333, 0.0833], dtype=float32)
    """
    a, b = floats("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * cnp.exp(_betaln(a, b))


def comb(N: Any, k: Any, exact: bool = False, repetition: bool = False) -> Array:
    """The number of ways to choose k of N things, as a floating number.

    Parameters
    ----------
    N : array
        How many things there are; real.
    k : array
        How many are chosen; real. More than there are, or fewer than none, can be chosen in 0 ways.
    exact : bool
        Must be false: integers of any size are not arrays.
    repetition : bool
        Whether a thing may be chosen several times.

    Returns
    -------
    array
        Of the common shape.

    Raises
    ------
    NotImplementedError
        ``exact`` is true.

    Examples
    --------
    >>> ct.scipy.special.comb(5, ct.numpy.array([0, 2, 6]))
    Array([ 1., 10.,  0.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("comb: exact=True is not supported\n  use math.comb for ints, or leave it out")
    n, k = floats("comb", N, k)
    if n.dtype.itemsize == 2:
        wide = comb(_core.convert(n, "float32"), _core.convert(k, "float32"), repetition=repetition)
        return _core.convert(wide, n.dtype)
    if repetition:
        # Nothing of nothing in one way.
        n = cnp.where((n == 0) & (k == 0), 0.0, n + k - 1)
    possible = (k >= 0) & (k <= n) & (n >= 0)
    n, k = cnp.where(possible, n, 1.0), cnp.where(possible, k, 0.0)
    ways = cnp.exp(-cnp.log1p(n) - _betaln(n - k + 1, k + 1))
    whole = (n == cnp.floor(n)) & (k == cnp.floor(k)) & (ways < by_precision(n, 2.0**20, 2.0**45))
    ways = cnp.where(whole, ways + primitives.stop_gradient(cnp.round(ways) - ways), ways)
    result: Array = cnp.where(possible, ways, 0.0)
    return result


def _log_gamma_ratio(z: Array, m: Array) -> Array:
    """``gammaln(z + m) - gammaln(z)``; of large numbers without the difference of logarithms that are larger still."""
    far = (z >= 10) & (z + m >= 10)
    big, step = cnp.where(far, z, 10.0), cnp.where(far, m, 0.0)
    top = big + step
    difference = (big - 0.5) * cnp.log1p(step / big) - step + step * cnp.log(top) + (_stirling(top) - _stirling(big))
    near = cnp.where(far, 1.0, z)
    result: Array = cnp.where(far, difference, gammaln(cnp.where(far, 1.0, z + m)) - gammaln(near))
    return result


def _digamma_difference(z: Array, m: Array) -> Array:
    """``digamma(z + m) - digamma(z)``; of large numbers without the difference of logarithms."""
    far = (z >= 10) & (z + m >= 10)
    big, step = cnp.where(far, z, 10.0), cnp.where(far, m, 0.0)
    top = big + step

    def rest(x: Array) -> Array:
        inverse = 1 / (x * x)
        result: Array = inverse * fitted(inverse, tables, "DIGAMMA_TAIL")
        return result

    difference = cnp.log1p(step / big) + step / (2 * big * top) - (rest(top) - rest(big))
    result: Array = cnp.where(far, difference, digamma(cnp.where(far, 1.0, z + m)) - digamma(cnp.where(far, 1.0, z)))
    return result


def _without_poles(z: Array, m: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The start, the step and the end of a rising factorial of the same magnitude; where they are turned around, and where z is a pole, and z + m."""
    end = z + m
    pole, pole_at_end = (z <= 0) & (z == cnp.floor(z)), (end <= 0) & (end == cnp.floor(end))
    # (z)_m = (-1)^m (1 - z - m)_m for whole m: no poles, and below 0 no digits of z lost against those of m.
    turned = (pole & pole_at_end) | ((m == cnp.floor(m)) & (m < 0) & (z < 1))
    zero, infinite = pole & ~pole_at_end & ~turned, pole_at_end & ~pole & ~turned
    one = zero | infinite
    start = cnp.where(turned, 1 - end, cnp.where(one, 1.0, z))
    end = cnp.where(turned, 1 - z, cnp.where(one, 1.0, end))
    return start, cnp.where(one, 0.0, m), end, turned, zero, infinite


def _poch_slope_in_z(z: Array, m: Array, result: Array) -> Array:
    start, step, _, turned, zero, infinite = _without_poles(z, m)
    slope = result * _digamma_difference(start, step)
    value: Array = cnp.where(zero | infinite | (m == 0), 0.0, cnp.where(turned, -slope, slope))
    return value


def _poch_slope_in_m(z: Array, m: Array, result: Array) -> Array:
    _, _, end, turned, zero, infinite = _without_poles(z, m)
    # The function of all m, not of whole ones alone.
    end = cnp.where(turned & (z + m != cnp.floor(z + m)), z + m, end)
    slope: Array = cnp.where(zero | infinite, 0.0, result * digamma(end))
    return slope


@elementwise(_poch_slope_in_z, _poch_slope_in_m)
def _poch(z: Array, m: Array) -> Array:
    start, step, end, turned, zero, infinite = _without_poles(z, m)
    limit = by_precision(z, 30.0, 150.0)
    small = (start > 0) & (end > 0) & (end < limit) & (start < limit)
    value = gamma(cnp.where(small, end, 1.0)) / gamma(cnp.where(small, start, 1.0))

    def by_logarithms() -> Array:
        sign = cnp.where(turned, cnp.where(cnp.floor(m / 2) * 2 == m, 1.0, -1.0), gammasgn(end) * gammasgn(start))
        result = cnp.where(small, value, cnp.exp(_log_gamma_ratio(start, cnp.where(small, 0.0, step)))) * sign
        result = cnp.where(zero, 0.0, cnp.where(infinite, cnp.inf, result))
        special: Array = cnp.where(cnp.isnan(z) | cnp.isnan(m), cnp.nan, result)
        return special

    value = where_needed(~small | turned | zero | infinite, by_logarithms, value)
    result: Array = cnp.where(m == 0, 1.0, value)
    return result


def poch(z: Any, m: Any) -> Array:
    """The rising factorial ``gamma(z + m) / gamma(z)``, to about 64 units in the last place for z and m from 0 to 10.

    Beyond, it is the exponential of a difference of logarithms, with about ``|log(result)|`` times a few units.
    Where both are poles of the gamma function it is the limit for whole m, where only the divisor is one it is 0,
    and where only the numerator is one it is infinite.

    Parameters
    ----------
    z, m : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.2(iii).

    Examples
    --------
    >>> ct.scipy.special.poch(ct.numpy.array([1.0, 2.0]), 3).round(3)
    Array([ 6., 24.], dtype=float32)
    """
    return _poch(*floats("poch", z, m))


def multigammaln(a: Any, d: int) -> Array:
    """The logarithm of the multivariate gamma function: an integral over the positive definite d x d matrices.

    Parameters
    ----------
    a : array
        Real numbers above (d - 1) / 2.
    d : int
        The dimension, from 1 on.

    Returns
    -------
    array
        Of the shape of ``a``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 35.3.

    Examples
    --------
    >>> ct.scipy.special.multigammaln(ct.numpy.array([2.0, 3.0]), 2).round(4)
    Array([0.4516, 1.5502], dtype=float32)
    """
    d = static_count(d, "multigammaln: the dimension")
    (a,) = floats("multigammaln", a)
    halves = cnp.arange(d, dtype=a.dtype) / 2
    return 0.25 * d * (d - 1) * math.log(math.pi) + cnp.sum(gammaln(a[..., None] - halves), -1)


def zeta(x: Any, q: Any = None) -> Array:
    """Hurwitz' zeta function: the sum of ``1 / (k + q)**x`` over k = 0, 1, 2, ...

    NaN for x < 1, where the sum diverges (its continuation is not computed), and for fractional x where q is
    negative. Relative errors are below 16 units in the last place for x up to 30.

    Parameters
    ----------
    x : array
        The exponent; real.
    q : array, optional
        Where the sum begins; real. By default 1, which is Riemann's zeta function.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 25.2 and 25.11.

    Examples
    --------
    >>> ct.scipy.special.zeta(ct.numpy.array([2.0, 4.0])).round(4)
    Array([1.6449, 1.0823], dtype=float32)
    """
    return _hurwitz_zeta(x, 1.0 if q is None else q)


_LAST_FINITE_BERNOULLI = 258  # behind it they are above the range of float64


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers from 0 to n, with B1 = -1/2.

    They are infinities of their signs where float64 does not reach.

    Parameters
    ----------
    n : int
        The last number; at least three are returned.

    Returns
    -------
    array, shape (n + 1,)
        Of the default floating dtype.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 24.2.

    Examples
    --------
    >>> ct.scipy.special.bernoulli(4).round(4)
    Array([ 1.    , -0.5   ,  0.1667,  0.    , -0.0333], dtype=float32)
    """
    n = static_count(n, "bernoulli: n")
    result = np.zeros(n + 1)
    result[_LAST_FINITE_BERNOULLI + 2 :: 4] = -np.inf
    result[_LAST_FINITE_BERNOULLI + 4 :: 4] = np.inf
    numbers = [Fraction(1)]
    for m in range(1, min(n, _LAST_FINITE_BERNOULLI) + 1):
        total = sum((math.comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-total / (m + 1))
    # SciPy and JAX give at least the first three.
    result[: len(numbers)] = [float(value) for value in numbers]
    return cnp.asarray(result).astype(_core.default_float_dtype())


def polygamma(n: Any, x: Any) -> Array:
    """The derivative of order ``n`` of `digamma`; NaN for other than whole n from 0 on.

    Relative errors are below 32 units in the last place for n up to 6; for negative x, between whose poles the
    function may go through 0, absolute errors are relative to ``n! 2**(n + 1)``.

    Parameters
    ----------
    n : array
        The order: whole numbers from 0 on.
    x : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.15.

    Examples
    --------
    >>> ct.scipy.special.polygamma(1, ct.numpy.array([1.0, 2.0])).round(4)
    Array([1.6449, 0.6449], dtype=float32)
    """
    return _polygamma(n, x)


check_arguments(globals())
