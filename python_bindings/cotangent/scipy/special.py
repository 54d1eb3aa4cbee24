"""Special functions under their names in `scipy.special`, of real arrays unless said otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import by_precision, elementwise, polynomial
from cotangent._ops.sizes import static_count
from cotangent._special import (
    betainc,
    digamma,
    erf,
    erfc,
    i0,
    i0e,
    i1,
    i1e,
    ndtri,
    tables,
)
from cotangent._special import erf_inv as erfinv
from cotangent._special import erfcx as _real_erfcx
from cotangent._special import gamma as _real_gamma
from cotangent._special import igamma as gammainc
from cotangent._special import igammac as gammaincc
from cotangent._special import lgamma as gammaln
from cotangent._special.complex import complex_gamma, complex_loggamma
from cotangent._special.error import excess, normal_density, normal_tail, scaled_erfc
from cotangent._special.gammas import polygamma as _polygamma
from cotangent._special.gammas import zeta as _hurwitz_zeta
from cotangent._special.integrals import dawsn, exp1, expi, expn, fresnel, ndtr, owens_t, sici, spence, wofz
from cotangent._special.logistic import sigmoid
from cotangent._special.series import bessel_jn, hyp1f1, hyp2f1, sph_harm_y
from cotangent._special.support import fitted, floats, where_needed
from cotangent._transforms.forward import jvp
from cotangent.nn.normalization import log_softmax as _log_softmax
from cotangent.nn.normalization import logsumexp
from cotangent.nn.normalization import softmax as _softmax

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "psi",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_LOGIT_MIDDLE = 0.82  # up to there tables.LOGIT serves
_FAR_BELOW = -3.6  # where the ratio of the normal density to the distribution function is close to -x

psi = digamma

# ---- logistic and entropy functions ----------------------------------------------------------------------------------


def expit(x: Any) -> Array:
    """The logistic function ``1 / (1 + exp(-x))``."""
    return sigmoid(*floats("expit", x))


@elementwise(lambda x, result: 1 / (x * (1 - x)))
def _logit(x: Array) -> Array:
    # 2 artanh(2 x - 1): near 1/2 a logarithm would be of a rounded quotient that is close to 1.
    turned = 2 * x - 1
    middle = cnp.abs(turned) <= _LOGIT_MIDDLE
    close = cnp.where(middle, turned, 0.0)
    square = close * close
    near = 2 * close + close * (square * fitted(square, tables, "LOGIT"))
    result: Array = where_needed(~middle, lambda: cnp.log(x / (1 - x)), near)
    return result


def logit(x: Any) -> Array:
    """``log(x / (1 - x))``, the inverse of `expit`."""
    return _logit(*floats("logit", x))


@elementwise(lambda x, y, result: cnp.log(y), lambda x, y, result: x / y)
def _xlogy(x: Array, y: Array) -> Array:
    zero = (x == 0) & ~cnp.isnan(y)
    result: Array = cnp.where(zero, 0.0, x * cnp.log(y))
    return result


def xlogy(x: Any, y: Any) -> Array:
    """``x * log(y)``, and 0 where x is 0."""
    return _xlogy(*_core.promote([x, y], inexact=True))


@elementwise(lambda x, y, result: cnp.log1p(y), lambda x, y, result: x / (1 + y))
def _xlog1py(x: Array, y: Array) -> Array:
    zero = (x == 0) & ~cnp.isnan(y)
    result: Array = cnp.where(zero, 0.0, x * cnp.log1p(y))
    return result


def xlog1py(x: Any, y: Any) -> Array:
    """``x * log(1 + y)``, and 0 where x is 0."""
    return _xlog1py(*_core.promote([x, y], inexact=True))


@elementwise(lambda x, result: cnp.where(x < 0, 0.0, -cnp.log(x) - 1))
def _entr(x: Array) -> Array:
    result: Array = cnp.where(x < 0, -cnp.inf, -_xlogy(x, x))
    return result


def entr(x: Any) -> Array:
    """``-x * log(x)``: 0 at 0, minus infinity below."""
    return _entr(*floats("entr", x))


@elementwise(lambda p, q, result: 1 / p, lambda p, q, result: -1 / q)
def _log_of_ratio(p: Array, q: Array) -> Array:
    """``log(p / q)`` of positive numbers."""
    more, less = cnp.maximum(p, q), cnp.minimum(p, q)
    # Of close numbers the difference is exact, and the logarithm of the rounded quotient is not.
    excess_of_ratio = (more - less) / less
    # A quotient may be infinite where its logarithm is not.
    huge = excess_of_ratio == cnp.inf
    root = where_needed(huge, lambda: cnp.sqrt(more) / cnp.sqrt(less), excess_of_ratio)
    logarithm = cnp.log1p(root)
    logarithm = cnp.where(huge, 2 * logarithm, logarithm)
    result: Array = cnp.where(p < q, -logarithm, logarithm)
    return result


def _rel_entr_slope(p: Array, q: Array, result: Array) -> Array:
    both = (p > 0) & (q > 0)
    logarithm = _log_of_ratio(cnp.where(both, p, 1.0), cnp.where(both, q, 1.0))
    # Where one of them is not positive, as the logarithm of a quotient would go.
    end = cnp.where(p == 0, cnp.where(q == 0, 0.0, -cnp.inf), cnp.where((p > 0) & (q == 0), cnp.inf, cnp.nan))
    end = cnp.where(cnp.isnan(q), cnp.nan, end)
    slope: Array = cnp.where(both, logarithm + 1, end)
    return slope


def _rel_entr_slope_of_second(p: Array, q: Array, result: Array) -> Array:
    none = (p == 0) & (q == 0)
    slope: Array = -p / cnp.where(none, 1.0, q)
    return slope


# Nothing is left of what has no probability at all: there the derivatives are 0.
@elementwise(_rel_entr_slope, _rel_entr_slope_of_second)
def _rel_entr(p: Array, q: Array) -> Array:
    both = (p > 0) & (q > 0)
    result: Array = cnp.where(both, p * _log_of_ratio(p, q), cnp.where((p == 0) & (q >= 0), 0.0, cnp.inf))
    return cnp.where(cnp.isnan(p) | cnp.isnan(q), cnp.nan, result)  # type: ignore[no-any-return]


def rel_entr(p: Any, q: Any) -> Array:
    """``p * log(p / q)``: 0 where p is 0, infinite where a number is negative or only q is 0."""
    return _rel_entr(*floats("rel_entr", p, q))


@elementwise()
def _kl_div(p: Array, q: Array) -> Array:
    result: Array = _rel_entr(p, q) - p + q
    return result


def kl_div(p: Any, q: Any) -> Array:
    """``p * log(p / q) - p + q``, with the conventions of `rel_entr`."""
    return _kl_div(*floats("kl_div", p, q))


def _power_of_one_plus(x: Array, power: Array) -> Array:
    """``(1 + x)**power``, with what rounding takes from ``1 + x``."""
    base = 1 + x
    rest = cnp.where(cnp.abs(x) > 1, 1 - (base - x), x - (base - 1))
    relative = cnp.where((base > 0) & (base < cnp.inf), rest / base, 0.0)
    raised = base**power
    corrected: Array = cnp.where((raised == 0) | (raised == cnp.inf), raised, raised * cnp.exp(power * relative))
    return corrected


def _boxcox_of(x: Array, power: Array, logarithm: Array, raise_to: Callable[[Array, Array], Array]) -> Array:
    """Of the logarithm and the powers of a function of ``x``."""
    scaled = power * logarithm
    # An exponential has the rounding error of its large argument, a power has not; near 1 only the former does not cancel.
    near = logarithm * cnp.where(scaled == 0, 1.0, cnp.expm1(scaled) / cnp.where(scaled == 0, 1.0, scaled))
    # The power may overflow where the quotient does not.
    large = scaled > by_precision(x, 40.0, 350.0)
    raised = raise_to(x, cnp.where(large, power / 2, power))
    divisor = cnp.where(power == 0, 1.0, power)
    far = cnp.where(large, raised / divisor * raised, (raised - 1) / divisor)
    result: Array = cnp.where(power == 0, logarithm, cnp.where(cnp.abs(scaled) > 1, far, near))
    return result


def _boxcox_slope(logarithm: Array, raised: Array, power: Array, result: Array) -> Array:
    """The derivative in the power: ``logarithm**2`` times that of ``expm1(t) / t``."""
    scaled = power * logarithm
    near = polynomial(
        cnp.where(cnp.isnan(scaled), 0.0, scaled), tuple((k + 1) / math.factorial(k + 2) for k in range(18, -1, -1))
    )
    far = (cnp.where(raised == 0, 0.0, raised * logarithm) - result) / cnp.where(power == 0, 1.0, power)
    far = cnp.where(raised == cnp.inf, cnp.inf, far)
    slope: Array = cnp.where(cnp.abs(scaled) > 1, far, logarithm * logarithm * near)
    return slope


@elementwise(
    lambda x, power, result: x ** (power - 1),
    lambda x, power, result: _boxcox_slope(cnp.log(x), x**power, power, result),
)
def _boxcox(x: Array, power: Array) -> Array:
    return _boxcox_of(x, power, cnp.log(x), lambda x, power: x**power)


@elementwise(
    lambda x, power, result: _power_of_one_plus(x, power - 1),
    lambda x, power, result: _boxcox_slope(cnp.log1p(x), _power_of_one_plus(x, power), power, result),
)
def _boxcox1p(x: Array, power: Array) -> Array:
    return _boxcox_of(x, power, cnp.log1p(x), _power_of_one_plus)


def boxcox(x: Any, lmbda: Any) -> Array:
    """``(x**lmbda - 1) / lmbda``, and ``log(x)`` where lmbda is 0 (Box & Cox, 1964)."""
    return _boxcox(*floats("boxcox", x, lmbda))


def boxcox1p(x: Any, lmbda: Any) -> Array:
    """`boxcox` of ``1 + x``, accurate for small x."""
    return _boxcox1p(*floats("boxcox1p", x, lmbda))


# ---- gamma and beta --------------------------------------------------------------------------------------------------


def gamma(x: Any) -> Array:
    """The gamma function of real or complex numbers; NaN at negative integers, infinite with the sign of zero at a real 0.

    >>> float(gamma(5.0))
    24.0
    """
    (array,) = _core.promote([x], inexact=True)
    return complex_gamma(array) if cnp.iscomplexobj(array) else _real_gamma(array)


def loggamma(x: Any) -> Array:
    """The principal branch of the logarithm of the gamma function, of real or complex numbers; real ones below 0 give NaN."""
    (x,) = _core.promote([x], inexact=True)
    if cnp.iscomplexobj(x):
        return complex_loggamma(x)
    result: Array = cnp.where(x < 0, cnp.nan, gammaln(x))
    return result


def erfcx(x: Any) -> Array:
    """``exp(x**2) erfc(x)`` of real or complex numbers, which does not underflow."""
    (array,) = _core.promote([x], inexact=True)
    return wofz(1j * array) if cnp.iscomplexobj(array) else _real_erfcx(array)


def gammasgn(x: Any) -> Array:
    """The sign of the gamma function; NaN at negative whole numbers and the sign of zero at zero."""
    (x,) = floats("gammasgn", x)
    floor = cnp.floor(x)
    odd = cnp.floor(floor / 2) * 2 != floor
    sign = cnp.where((x < 0) & odd, -1.0, 1.0)
    sign = cnp.where((x < 0) & (floor == x), cnp.nan, sign)
    result: Array = cnp.where(x == 0, cnp.copysign(1.0, x), cnp.where(cnp.isnan(x), cnp.nan, sign)).astype(x.dtype)
    return result


def factorial(n: Any, exact: bool = False) -> Array:
    """``n!`` as a floating number; 0 for negative n.

    Raises:
        NotImplementedError: for ``exact=True``, which needs integers of any size.
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not supported; use math.factorial")
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
    """The logarithm of the magnitude of the beta function."""
    return _betaln(*floats("betaln", a, b))


def beta(a: Any, b: Any) -> Array:
    """The beta function ``gamma(a) gamma(b) / gamma(a + b)``, to about 128 units in the last place for arguments up to 12."""
    a, b = floats("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * cnp.exp(_betaln(a, b))


def comb(N: Any, k: Any, exact: bool = False, repetition: bool = False) -> Array:
    """The number of ways to choose k of N things, as a floating number.

    Raises:
        NotImplementedError: for ``exact=True``.
    """
    if exact:
        raise NotImplementedError("comb: exact=True is not supported; use math.comb")
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


def _without_poles(z: Array, m: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The start, the step and the end of a rising factorial of the same magnitude; where z is a pole of gamma, and z + m."""
    end = z + m
    pole, pole_at_end = (z <= 0) & (z == cnp.floor(z)), (end <= 0) & (end == cnp.floor(end))
    both, one = pole & pole_at_end, pole ^ pole_at_end
    # (z)_m = (-1)^m (1 - z - m)_m for whole m.
    start = cnp.where(both, 1 - end, cnp.where(one, 1.0, z))
    end = cnp.where(both, 1 - z, cnp.where(one, 1.0, end))
    return start, cnp.where(one, 0.0, m), end, pole, pole_at_end


def _poch_slope_in_z(z: Array, m: Array, result: Array) -> Array:
    start, step, _, pole, pole_at_end = _without_poles(z, m)
    slope = result * _digamma_difference(start, step)
    slope = cnp.where(pole & pole_at_end, -slope, slope)
    value: Array = cnp.where((pole ^ pole_at_end) | (m == 0), 0.0, slope)
    return value


def _poch_slope_in_m(z: Array, m: Array, result: Array) -> Array:
    _, _, end, pole, pole_at_end = _without_poles(z, m)
    slope: Array = cnp.where(pole ^ pole_at_end, 0.0, result * digamma(end))
    return slope


@elementwise(_poch_slope_in_z, _poch_slope_in_m)
def _poch(z: Array, m: Array) -> Array:
    start, step, end, pole, pole_at_end = _without_poles(z, m)
    limit = by_precision(z, 30.0, 150.0)
    small = (start > 0) & (end > 0) & (end < limit) & (start < limit)
    value = gamma(cnp.where(small, end, 1.0)) / gamma(cnp.where(small, start, 1.0))

    def by_logarithms() -> Array:
        both = pole & pole_at_end
        sign = cnp.where(both, cnp.where(cnp.floor(m / 2) * 2 == m, 1.0, -1.0), gammasgn(end) * gammasgn(start))
        result = cnp.where(small, value, cnp.exp(_log_gamma_ratio(start, cnp.where(small, 0.0, step)))) * sign
        result = cnp.where(pole & ~pole_at_end, 0.0, cnp.where(pole_at_end & ~pole, cnp.inf, result))
        special: Array = cnp.where(cnp.isnan(z) | cnp.isnan(m), cnp.nan, result)
        return special

    value = where_needed(~small | pole | pole_at_end, by_logarithms, value)
    result: Array = cnp.where(m == 0, 1.0, value)
    return result


def poch(z: Any, m: Any) -> Array:
    """The rising factorial ``gamma(z + m) / gamma(z)``, to about 64 units in the last place for z and m from 0 to 10.

    Beyond, it is the exponential of a difference of logarithms, with about ``|log(result)|`` times a few units. Where both are
    poles of the gamma function it is the limit for whole m, where only the divisor is one it is 0, and where only the numerator
    is one it is infinite.
    """
    return _poch(*floats("poch", z, m))


def multigammaln(a: Any, d: int) -> Array:
    """The logarithm of the gamma function of dimension d: of symmetric positive matrices."""
    d = static_count(d, "multigammaln: the dimension")
    (a,) = floats("multigammaln", a)
    halves = cnp.arange(d, dtype=a.dtype) / 2
    return 0.25 * d * (d - 1) * math.log(math.pi) + cnp.sum(gammaln(a[..., None] - halves), -1)


def zeta(x: Any, q: Any = None) -> Array:
    """The zeta function of Hurwitz: the sum of ``1 / (k + q)**x`` over k >= 0; Riemann's for ``q = 1``, the default.

    NaN for x < 1, where the sum diverges (its continuation is not computed), and for fractional x where q is negative. Relative
    errors are below 16 units in the last place for x up to 30.
    """
    return _hurwitz_zeta(x, 1.0 if q is None else q)


_LAST_FINITE_BERNOULLI = 258  # behind it they are above the range of float64


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers from 0 to n, with B1 = -1/2; infinities of their signs where float64 does not reach."""
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


# ---- the normal distribution -----------------------------------------------------------------------------------------


def _mills_far_below(x: Array) -> Array:
    """`_inverse_mills` for x up to `_FAR_BELOW`, and of that for others: nearly -x, by the difference from that."""
    low: Array = cnp.where(x < _FAR_BELOW, x, _FAR_BELOW)
    result: Array = _ROOT_TWO * excess(-_ROOT_HALF * low) - low
    return result


def _slope_of_mills(x: Array, result: Array) -> Array:
    far_below = jvp(_mills_far_below, (x,), (cnp.ones_like(x),))[1]
    slope: Array = cnp.where(x < _FAR_BELOW, far_below, -result * (x + result))
    return slope


@elementwise(_slope_of_mills)
def _inverse_mills(x: Array) -> Array:
    """The normal density over the distribution function."""
    low = x < 0
    scaled = scaled_erfc(_ROOT_HALF * cnp.abs(x))
    density = normal_density(cnp.where(low, 0.0, x))
    # For x < 0 both have lost the factor exp(-x**2 / 2).
    tail = cnp.where(low, 0.5 * scaled, 1 - 0.5 * scaled * (density * _ROOT_TWO_PI))
    result: Array = where_needed(x < _FAR_BELOW, lambda: _mills_far_below(x), density / tail)
    return result


@elementwise(lambda x, result: _inverse_mills(x))
def _log_ndtr(x: Array) -> Array:
    low, high = x < -1, x > 1
    middle = -cnp.exp(fitted(cnp.where(low | high, 0.0, x), tables, "LOG_NDTR"))

    def below() -> Array:
        scaled = scaled_erfc(-_ROOT_HALF * cnp.where(low, x, -1.0))
        logarithm: Array = cnp.log(0.5 * scaled) - 0.5 * x * x
        return logarithm

    def above() -> Array:
        logarithm: Array = cnp.log1p(-normal_tail(cnp.where(high, x, 1.0)))
        return logarithm

    return where_needed(high, above, where_needed(low, below, middle))


def log_ndtr(x: Any, series_order: int = 3) -> Array:
    """The logarithm of the standard normal distribution function, also where that underflows.

    ``series_order`` is accepted for JAX's signature.
    """
    del series_order
    return _log_ndtr(*floats("log_ndtr", x))


def polygamma(n: Any, x: Any) -> Array:
    """The derivative of order ``n`` of `digamma`; NaN for other than whole n from 0 on."""
    return _polygamma(n, x)


# ---- softmax ---------------------------------------------------------------------------------------------------------


def softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Exponentials that sum to 1 over axes, all by default (``ct.nn.softmax`` takes the last)."""
    (array,) = floats("softmax", x)
    return _softmax(array, tuple(range(array.ndim)) if axis is None else axis)


def log_softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of `softmax`, over all axes by default."""
    (array,) = floats("log_softmax", x)
    return _log_softmax(array, tuple(range(array.ndim)) if axis is None else axis)


check_arguments(globals())
