"""The incomplete gamma and beta functions, regularised, with derivatives in all arguments.

Everything is computed in float64; iterations go as far as the precision of the result asks for. Where one converges slowly
(the gamma function near x = a, both large) Temme's uniform expansion takes its place: N. M. Temme, "The asymptotic expansion
of the incomplete gamma functions" (1979).
Derivatives in the parameters are those of the iterations, in forward mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.dtypes import finfo
from cotangent._ops.per_element import Elementwise, elementwise, pick, polynomial
from cotangent._special import tables
from cotangent._special.error import _erfc
from cotangent._special.gammas import _digamma, stirling_correction
from cotangent._special.support import floats, where_needed
from cotangent._transforms.control_flow import while_loop
from cotangent._transforms.forward import jvp

__all__ = ["betainc", "gammainc", "gammaincc", "igamma_grad_a", "random_gamma_grad"]

_SPARE_BITS = 12  # by which sums are more exact than results of fewer bits than float64
_SETTLED = 6  # iterations without change, for derivatives to settle too
_MOST = 5000
_STEPS_AT_ONCE = 4
_TEMME_FROM = 20.0


def _and(x: Array, *others: Array) -> Array:
    for other in others:
        x = primitives.and_(x, other)
    return x


def _not(x: Array) -> Array:
    return primitives.not_(x)


def _wide(*operands: Array) -> list[Array]:
    return [x if x.dtype.itemsize == 8 else _core.convert(x, "float64") for x in operands]


def _number(value: float) -> Array:
    return _core.full((), value, "float64")


def _enough(dtype: Any) -> float:
    """The relative change below which an iteration for a result of that dtype has converged."""
    return max(2.0**-52, float(finfo(dtype).eps) * 2.0**-_SPARE_BITS)


def _digits(x: Array) -> str:
    """Which fits are as exact as the dtype of the result asks for."""
    return "64" if x.dtype.itemsize == 8 else "32"


def _iterate(step: Callable[..., Any], state: tuple[Array, ...], needed: Array, enough: float) -> Any:
    """Repeats ``step(n, *state) -> (*state, change)`` until the relative change has not been above ``enough`` for a while.

    Elements that are not needed do not take part.
    """

    def proceed(carry: Any) -> Array:
        return primitives.and_(carry[1] < _SETTLED, carry[0] < _MOST)

    def body(carry: Any) -> Any:
        count, quiet, *values = carry
        *values, change = step(_core.convert(count, "float64"), *values)
        still = primitives.abs(change) <= enough
        return (count + 1, pick(still, quiet + 1, 0), *values)

    start = _core.full((), 1, "int32"), pick(needed, _core.full((), 0, "int32"), _SETTLED)
    return while_loop(proceed, body, (*start, *state))[2:]


def _repeat(step: Callable[..., Any], state: tuple[Array, ...], go_on: Callable[..., Array]) -> Any:
    """Repeats ``step(*state) -> state`` until ``go_on(*state)`` fails, which is asked after every few steps."""

    def body(carry: Any) -> Any:
        for _ in range(_STEPS_AT_ONCE):
            carry = step(*carry)
        return carry

    return while_loop(lambda carry: go_on(*carry), body, state)


def _deviation(u: Array, ratio: Array) -> Array:
    """``log(1 + u) - u``, for all u > -1; ``ratio`` is 1 + u with the digits that u has lost near -1."""
    near = primitives.abs(u) < 0.35
    return pick(near, _small_deviation(pick(near, u, 0.0)), _log_ratio(u, ratio) - u)


def _small_deviation(u: Array) -> Array:
    """``log(1 + u) - u``, for |u| < 0.35."""
    eta = _eta(u)
    return -0.5 * eta * eta


def _log_ratio(excess: Array, ratio: Array) -> Array:
    """The logarithm of a ratio that is also known less 1."""
    small = excess < -0.5
    return pick(small, primitives.log(pick(small, ratio, 1.0)), primitives.log1p(pick(small, 0.0, excess)))


def _eta(u: Array) -> Array:
    """Temme's eta for x = (1 + u) a: its half square is ``u - log(1 + u)``; |u| < 0.35."""
    return u * polynomial(u, tables.TEMME_ETA64[1])


# ---- The gamma function ----------------------------------------------------------------------------------------------
# P + Q = 1. With D = x^a exp(-x) / gamma(a + 1), P = D S (a series) and Q = D a C (a continued fraction).


def _power(a: Array, x: Array, digits: str) -> Array:
    """D."""
    large = a > 10.0
    little = pick(large, 1.0, a)
    # By Stirling's formula for gamma(a + 3).
    z = little + 3.0
    inverse = 1.0 / z
    tiny = x < 1e-290  # where the quotient would be subnormal
    ratio = primitives.log(pick(tiny, x * 2.0**64, x) * inverse) - pick(tiny, _number(64.0 * math.log(2.0)), 0.0)
    exponent = little * ratio + (z - x) - _stirling(inverse, digits)
    rising = (little + 1.0) * inverse * ((little + 2.0) * inverse) * inverse
    result = primitives.exp(exponent) * (rising * primitives.sqrt(z * (0.5 / math.pi)))

    def uniform() -> Array:
        # Without the cancellation between a log(x) and log gamma(a).
        big = pick(large, a, 10.0)
        exponent = big * _deviation((x - big) / big, x / big) - _stirling(1.0 / big, digits)
        return primitives.exp(exponent) / primitives.sqrt(2.0 * math.pi * big)

    return where_needed(large, uniform, result)


def _stirling(inverse: Array, digits: str) -> Array:
    """What Stirling's formula for ``log gamma(1 / inverse)`` lacks."""
    centre, coefficients = getattr(tables, "STIRLING" + digits)
    return polynomial(inverse * inverse - centre, coefficients) * inverse


def _series(a: Array, x: Array, needed: Array, enough: float) -> Array:
    """S, for x <= a: sum of x^n / ((a + 1) ... (a + n)), on one common denominator."""
    # So that the denominator overflows for no a.
    scale = primitives.stop_gradient(1.0 / pick(a > 1.0, a, 1.0))
    ratio = x * scale

    def step(factor: Array, power: Array, above: Array, below: Array) -> Any:
        factor, power = factor + scale, power * ratio
        return factor, power, above * factor + power, below * factor

    def go_on(factor: Array, power: Array, above: Array, below: Array) -> Array:
        # The derivative by a is of the size of the sum without its first term.
        return primitives.and_(needed, power > enough * (above - below))

    one = _number(1.0)
    _, _, above, below = _repeat(step, (a * scale, one, one, one), go_on)
    return above / below  # type: ignore[no-any-return]


def _fraction(a: Array, x: Array, needed: Array, enough: float) -> Array:
    """C, by the recurrence of its convergents; for x > a and x >= 1.5."""

    def converged() -> Array:
        scale = primitives.stop_gradient(1.0 / x)

        def step(
            n: Array, b: Array, above: Array, above_before: Array, below: Array, below_before: Array, gap: Array
        ) -> Any:
            n, b = n + 1.0, b + 2.0 * scale
            factor = n * scale * ((a - n) * scale)
            # What two convergents differ by, on a common denominator; that of a neighbouring a where a factor vanishes,
            # as the derivative has more terms.
            gap = gap * (primitives.abs(factor) + n * scale * scale)
            return n, b, b * above + factor * above_before, above, b * below + factor * below_before, below, gap

        zero, one = _number(0.0), _number(1.0)
        first = (x - a + 1.0) * scale
        state = _repeat(
            step,
            (zero, first, one, zero, first, one, one),
            lambda n, b, above, above_before, below, below_before, gap: (
                gap > enough * primitives.abs(above * below_before)
            ),
        )
        return state[2] / state[4] * scale  # type: ignore[no-any-return]

    return where_needed(needed, converged, _number(1.0))


def _log_gamma_above_one(a: Array, digits: str) -> Array:
    """``log gamma(1 + a) / a``, for 0 < a < 1.65."""
    centre, coefficients = getattr(tables, "LGAMMA_ABOVE_ONE" + digits)
    return polynomial(a - centre, coefficients)


# For x < 1.5.
_COMPLEMENT_TERMS = {"32": 14, "64": 22}


def _complement(a: Array, x: Array, digits: str) -> Array:
    """Q for small x, where P is close to 1 because a is small."""
    logarithm = a * (primitives.log(x) - _log_gamma_above_one(a, digits))
    # The sum of (-x)^n / (n! (a + n)) from n = 1, on one common denominator.
    above, below, power = _number(0.0), _number(1.0), _number(1.0)
    for n in range(1, _COMPLEMENT_TERMS[digits] + 1):
        factor, power = a + float(n), power * x
        above = above * factor + power * below * ((-1.0) ** n / math.factorial(n))
        below = below * factor
    growth = primitives.expm1(logarithm)
    return -growth - (growth + 1.0) * (a * (above / below))


def _temme(a: Array, x: Array) -> tuple[Array, Array]:
    """P and Q for a >= 20 and x within 30 % of a."""
    eta = _eta((x - a) / a)
    inverse = 1.0 / a
    total = polynomial(eta, tables.TEMME[-1])
    for row in reversed(tables.TEMME[:-1]):
        total = total * inverse + polynomial(eta, row)
    rest = primitives.exp(-0.5 * a * eta * eta) * total / primitives.sqrt(2.0 * math.pi * a)
    reach = eta * primitives.sqrt(0.5 * a)
    return 0.5 * _erfc(-reach) - rest, 0.5 * _erfc(reach) + rest


def _regions(a: Array, x: Array) -> tuple[Array, Array, Array]:
    """Where arguments are ordinary; where Temme's expansion serves; where x > a otherwise."""
    ordinary = _and(a > 0.0, x > 0.0, primitives.is_finite(a), primitives.is_finite(x))
    uniform = _and(ordinary, a >= _TEMME_FROM, primitives.abs(x - a) < 0.3 * a)
    return ordinary, uniform, _and(ordinary, _not(uniform), x > a)


def _gamma_pair(a: Array, x: Array) -> tuple[Array, Array]:
    """P and Q in float64, as exact as the dtype of the arguments asks for."""
    enough, digits = _enough(x.dtype), _digits(x)
    # Where 1 - P would cancel: there a < 1.65.
    small = x < 0.5
    steep = pick(small, -0.4 / primitives.log(pick(small, x, 0.5)), x * 1.1)
    little = _and(x < 1.5, a < steep)
    a, x = _wide(a, x)
    ordinary, uniform, right = _regions(a, x)
    a_in, x_in = pick(ordinary, a, 1.0), pick(ordinary, x, 1.0)
    little = _and(ordinary, little)
    right = _and(right, _not(little))
    left = _and(ordinary, _not(primitives.or_(uniform, primitives.or_(right, little))))
    nan = _number(math.nan)

    def by_power() -> tuple[Array, Array]:
        power = _power(a_in, x_in, digits)
        p = power * _series(a_in, x_in, left, enough)
        q = power * a_in * _fraction(a_in, x_in, right, enough)
        return pick(left, p, 1.0 - q), pick(left, 1.0 - p, q)

    def by_complement() -> tuple[Array, Array]:
        q = _complement(pick(little, a_in, 0.5), pick(little, x_in, 0.5), digits)
        return 1.0 - q, q

    p, q = where_needed(primitives.or_(left, right), by_power, (nan, nan))
    p, q = where_needed(little, by_complement, (p, q))
    p, q = where_needed(uniform, lambda: _temme(pick(uniform, a, 30.0), pick(uniform, x, 30.0)), (p, q))
    # At the ends; NaN where one of the arguments is, or is negative.
    at_zero = _and(x == 0.0, a > 0.0)
    full = _and(x > 0.0, primitives.or_(a == 0.0, _and(x == math.inf, a > 0.0, a < math.inf)))
    nothing = primitives.or_(at_zero, _and(a == math.inf, x >= 0.0, x < math.inf))
    for case, low in ((full, 1.0), (nothing, 0.0)):
        p, q = pick(case, low, p), pick(case, 1.0 - low, q)
    return p, q


def _density(a: Array, x: Array, result: Array) -> Array:
    """The derivative of P by x: the density of the gamma distribution."""
    a_wide, x_wide = _wide(a, x)
    ordinary = _and(a_wide > 0.0, x_wide > 0.0, primitives.is_finite(a_wide), primitives.is_finite(x_wide))
    a_in, x_in = pick(ordinary, a_wide, 1.0), pick(ordinary, x_wide, 1.0)
    density = _power(a_in, x_in, _digits(x)) * a_in / x_in
    start = pick(a_wide < 1.0, math.inf, pick(a_wide == 1.0, _number(1.0), 0.0))
    end = pick(_and(x_wide == 0.0, a_wide > 0.0), start, 0.0)
    return _core.convert(pick(ordinary, density, end), x.dtype)


def _lower(a: Array, x: Array) -> Array:
    return _core.convert(_gamma_pair(a, x)[0], x.dtype)


def _upper(a: Array, x: Array) -> Array:
    return _core.convert(_gamma_pair(a, x)[1], x.dtype)


_igamma = Elementwise(_lower, (None, _density), "igamma")
_igammac = Elementwise(_upper, (None, lambda a, x, result: -_density(a, x, result)), "igammac")


def _lower_by_parameter(a: Array, x: Array) -> Array:
    return _igamma.forward(0)(a, x, x)


def _density_by_parameter(a: Array, x: Array, result: Array) -> Array:
    """The derivative of `_lower_by_parameter` by x: that of the density by a."""
    density = _density(a, x, result)
    inside = density > 0.0
    return pick(inside, density * (primitives.log(pick(inside, x, 1.0)) - _digamma(pick(inside, a, 1.0))), 0.0)


_igamma_grad_a = Elementwise(_lower_by_parameter, (None, _density_by_parameter), "igamma_grad_a")


@elementwise()
def _random_gamma_grad(a: Array, x: Array) -> Array:
    """By the factors of the density in P and Q, which may underflow."""
    a_wide, x_wide = _wide(a, x)
    ordinary, uniform, right = _regions(a_wide, x_wide)
    right = _and(right, x_wide > 1.5)
    left = _and(ordinary, _not(primitives.or_(uniform, right)))
    one, enough = _number(1.0), _enough(x.dtype)

    def by_a(function: Callable[[Array], Array], at: Array) -> Any:
        return jvp(function, (at,), (one,))

    x_left = pick(left, x_wide, 1.0)
    s, s_moved = by_a(lambda a: _series(a, x_left, left, enough), pick(left, a_wide, 1.0))
    x_right = pick(right, x_wide, 2.0)
    c, c_moved = by_a(lambda a: _fraction(a, x_right, right, enough), pick(right, a_wide, 1.0))
    a_in, x_in = pick(ordinary, a_wide, 1.0), pick(ordinary, x_wide, 1.0)
    # Of log D, and of log (D a).
    slope = primitives.log(x_in) - _digamma(a_in)
    from_left = -(x_in / a_in) * (s_moved + s * (slope - 1.0 / a_in))
    from_right = x_in * (c_moved + c * slope)

    def from_both() -> Array:
        a_uniform, x_uniform = pick(uniform, a_wide, 30.0), pick(uniform, x_wide, 30.0)
        _, (p_moved, _) = by_a(lambda a: _temme(a, x_uniform), a_uniform)  # type: ignore[arg-type,return-value]
        density = _density(a_uniform, x_uniform, x_uniform)
        vanishes = density < 1e-290
        # So far out, the square root of a sample moves like that of its mean.
        return pick(vanishes, primitives.sqrt(x_uniform / a_uniform), -p_moved / pick(vanishes, 1.0, density))

    result = where_needed(uniform, from_both, pick(left, from_left, from_right))
    result = pick(ordinary, result, pick(_and(x_wide == 0.0, a_wide > 0.0), 0.0, _number(math.nan)))
    return _core.convert(result, x.dtype)


# ---- The beta function -----------------------------------------------------------------------------------------------


def _log_of_beta_power(a: Array, b: Array, x: Array) -> Array:
    """The logarithm of ``x**a (1 - x)**b / beta(a, b)``, without cancellation of large terms."""
    y = 1.0 - x
    total = a + b
    u, v = (b * x - a * y) / a, (a * y - b * x) / b
    near = _and(primitives.abs(u) < 0.35, primitives.abs(v) < 0.35)
    close = a * _small_deviation(pick(near, u, 0.0)) + b * _small_deviation(pick(near, v, 0.0))
    far = a * _log_ratio(u, x * (total / a)) + b * _log_ratio(v, y * (total / b))
    corrections = stirling_correction(total) - stirling_correction(a) - stirling_correction(b)
    return pick(near, close, far) + corrections + 0.5 * primitives.log(a / (2.0 * math.pi) * (b / total))


def _beta_fraction(a: Array, b: Array, x: Array, needed: Array, enough: float) -> Array:
    """The continued fraction of the incomplete beta function, two steps at a time."""

    def step(n: Array, c: Array, d: Array, total: Array) -> Any:
        even = n * (b - n) * x / ((a + 2.0 * n - 1.0) * (a + 2.0 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2.0 * n) * (a + 2.0 * n + 1.0))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        factor = c * d
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        factor = factor * (c * d)
        return c, d, total * factor, factor - 1.0

    start = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    return _iterate(step, (_number(1.0), start, start), needed, enough)[2]  # type: ignore[no-any-return]


def _beta_parts(a: Array, b: Array, x: Array) -> tuple[Array, Array]:
    """Where arguments are ordinary, and the logarithm of the power there."""
    ordinary = _and(a > 0.0, b > 0.0, x > 0.0, x < 1.0, primitives.is_finite(a), primitives.is_finite(b))
    power = _log_of_beta_power(pick(ordinary, a, 1.0), pick(ordinary, b, 1.0), pick(ordinary, x, 0.5))
    return ordinary, power


def _regularised_beta(a: Array, b: Array, x: Array) -> Array:
    a_wide, b_wide, x_wide = _wide(a, b, x)
    ordinary, power = _beta_parts(a_wide, b_wide, x_wide)
    # The fraction converges below the mean; above it, that of the mirrored function.
    turned = x_wide * (a_wide + b_wide + 2.0) > a_wide + 1.0
    p = pick(ordinary, pick(turned, b_wide, a_wide), 1.0)
    q = pick(ordinary, pick(turned, a_wide, b_wide), 1.0)
    z = pick(ordinary, pick(turned, 1.0 - x_wide, x_wide), 0.5)
    value = primitives.exp(power) / p * _beta_fraction(p, q, z, ordinary, _enough(x.dtype))
    # Rounding makes no probability negative.
    value = pick(turned, primitives.max(1.0 - value, _number(0.0)), value)
    inside = _and(a_wide >= 0.0, b_wide >= 0.0, x_wide >= 0.0, x_wide <= 1.0)
    # Parameters at their ends put all weight at one end of the interval.
    low = primitives.or_(a_wide == 0.0, b_wide == math.inf)
    high = primitives.or_(b_wide == 0.0, a_wide == math.inf)
    edge = pick(low, pick(x_wide > 0.0, _number(1.0), 0.0), pick(high, pick(x_wide < 1.0, _number(0.0), 1.0), x_wide))
    edge = pick(_and(inside, _not(_and(low, high))), edge, math.nan)
    return _core.convert(pick(ordinary, value, edge), x.dtype)


def _beta_density(a: Array, b: Array, x: Array, result: Array) -> Array:
    a_wide, b_wide, x_wide = _wide(a, b, x)
    ordinary, power = _beta_parts(a_wide, b_wide, x_wide)
    x_in = pick(ordinary, x_wide, 0.5)
    value = primitives.exp(power) / (x_in * (1.0 - x_in))
    left = x_wide == 0.0
    here, there = pick(left, a_wide, b_wide), pick(left, b_wide, a_wide)
    end = pick(here < 1.0, math.inf, pick(here == 1.0, there, 0.0))
    end = pick(primitives.or_(left, x_wide == 1.0), end, 0.0)
    return _core.convert(pick(ordinary, value, end), x.dtype)


_betainc = Elementwise(_regularised_beta, (None, None, _beta_density), "betainc")


# ---- Public functions ------------------------------------------------------------------------------------------------


def gammainc(a: Any, x: Any) -> Array:
    """The lower incomplete gamma function, regularised: the probability of a gamma sample up to ``x``.

    NaN for negative arguments. In float64 the relative error is that of an exponential: small results have
    ``|log(result)|`` times up to 16 units in the last place.

    Parameters
    ----------
    a : array
        The shape parameter, from 0 on; real.
    x : array
        From 0 on; real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    - NIST Digital Library of Mathematical Functions, sections 8.2 and 8.7.
    - N. M. Temme, "The asymptotic expansion of the incomplete gamma functions", 1979, where ``a`` and ``x`` are
      large and close.

    Examples
    --------
    >>> ct.scipy.special.gammainc(1.0, ct.numpy.array([0.5, 2.0])).round(4)
    Array([0.3935, 0.8647], dtype=float32)
    """
    return _igamma(*floats("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Array:
    """The upper incomplete gamma function, regularised: the probability of a gamma sample above ``x``.

    It keeps its digits where the lower one is close to 1, and has the errors of that.

    Parameters
    ----------
    a : array
        The shape parameter, from 0 on; real.
    x : array
        From 0 on; real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 8.2 and 8.9.

    Examples
    --------
    >>> ct.scipy.special.gammaincc(1.0, ct.numpy.array([0.5, 2.0])).round(4)
    Array([0.6065, 0.1353], dtype=float32)
    """
    return _igammac(*floats("gammaincc", a, x))


def igamma_grad_a(a: Any, x: Any) -> Array:
    """The derivative of `gammainc` by ``a``."""
    return _igamma_grad_a(*floats("igamma_grad_a", a, x))


def random_gamma_grad(a: Any, x: Any) -> Array:
    """How a sample ``x`` of the gamma distribution moves with ``a`` while ``gammainc(a, x)`` stays the same."""
    return _random_gamma_grad(*floats("random_gamma_grad", a, x))


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The incomplete beta function, regularised: the probability of a beta sample up to ``x``.

    NaN for negative parameters, and for x outside of [0, 1]. In float64 the relative error is that of an
    exponential: small results have ``|log(result)|`` times up to 16 units in the last place.

    Parameters
    ----------
    a, b : array
        The shape parameters, from 0 on; real.
    x : array
        In [0, 1]; real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 8.17 and 8.17.22 (the continued fraction).

    Examples
    --------
    >>> ct.scipy.special.betainc(2.0, 3.0, ct.numpy.array([0.25, 0.5])).round(4)
    Array([0.2617, 0.6875], dtype=float32)
    """
    return _betainc(*floats("betainc", a, b, x))


check_arguments(globals())
