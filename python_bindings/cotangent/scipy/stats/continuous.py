"""Continuous distributions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent.scipy._distributions import Continuous, inside, safe
from cotangent.scipy.special import (
    betainc,
    betaln,
    expit,
    gammainc,
    gammaincc,
    gammaln,
    i0e,
    log_ndtr,
    ndtr,
    ndtri,
    xlog1py,
    xlogy,
)

__all__ = [
    "beta",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "gennorm",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "norm",
    "pareto",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _normal_log_density(z: Array) -> Array:
    return -0.5 * z * z - _HALF_LOG_TWO_PI


norm = Continuous(
    "norm",
    (),
    {
        "logpdf": _normal_log_density,
        "cdf": ndtr,
        "logcdf": log_ndtr,
        "sf": lambda z: ndtr(-z),
        "logsf": lambda z: log_ndtr(-z),
        "ppf": ndtri,
        "isf": lambda q: -ndtri(q),
    },
)

uniform = Continuous(
    "uniform",
    (),
    {
        "logpdf": lambda z: inside((z >= 0) & (z <= 1), cnp.zeros_like(z)),
        "cdf": lambda z: cnp.clip(z, 0.0, 1.0),
        "sf": lambda z: cnp.clip(1 - z, 0.0, 1.0),
        "ppf": lambda q: cnp.where((q >= 0) & (q <= 1), q, math.nan),
    },
)


def _positive(z: Array) -> Array:
    return safe(z >= 0, z, 0.0)


expon = Continuous(
    "expon",
    (),
    {
        "logpdf": lambda z: inside(z >= 0, -z),
        "cdf": lambda z: -cnp.expm1(-_positive(z)),
        "sf": lambda z: cnp.exp(-_positive(z)),
        "logsf": lambda z: -_positive(z),
        "ppf": lambda q: -cnp.log1p(-cnp.where((q >= 0) & (q <= 1), q, math.nan)),
    },
)


def _laplace_log_below(z: Array) -> Array:
    low = z < 0
    result: Array = cnp.where(low, safe(low, z, 0.0) - math.log(2.0), cnp.log1p(-0.5 * cnp.exp(-safe(~low, z, 0.0))))
    return result


laplace = Continuous(
    "laplace",
    (),
    {
        "logpdf": lambda z: -cnp.abs(z) - math.log(2.0),
        "cdf": lambda z: cnp.where(z < 0, 0.5 * cnp.exp(cnp.minimum(z, 0.0)), 1 - 0.5 * cnp.exp(-cnp.maximum(z, 0.0))),
        "logcdf": _laplace_log_below,
        "logsf": lambda z: _laplace_log_below(-z),
        "sf": lambda z: cnp.where(z > 0, 0.5 * cnp.exp(-cnp.maximum(z, 0.0)), 1 - 0.5 * cnp.exp(cnp.minimum(z, 0.0))),
        "ppf": lambda q: cnp.where(
            q < 0.5, cnp.log(2 * safe(q < 0.5, q, 0.5)), -cnp.log(2 * (1 - safe(q >= 0.5, q, 0.5)))
        ),
    },
)

logistic = Continuous(
    "logistic",
    (),
    {
        "logpdf": lambda z: -2 * cnp.logaddexp(0.5 * z, -0.5 * z),
        "cdf": expit,
        "logcdf": lambda z: -cnp.logaddexp(0.0, -z),
        "sf": lambda z: expit(-z),
        "logsf": lambda z: -cnp.logaddexp(0.0, z),
        "ppf": lambda q: cnp.log(q) - cnp.log1p(-q),
        "isf": lambda q: cnp.log1p(-q) - cnp.log(q),
    },
)


def _log1p_of_square(z: Array) -> Array:
    """``log1p(z * z)``, whose square does not overflow."""
    far = cnp.abs(z) > float(cnp.finfo(z.dtype).eps) ** -0.5
    near = safe(~far, z, 0.0)
    result: Array = cnp.where(far, 2 * cnp.log(cnp.abs(safe(far, z))), cnp.log1p(near * near))
    return result


cauchy = Continuous(
    "cauchy",
    (),
    {
        "logpdf": lambda z: -math.log(math.pi) - _log1p_of_square(z),
        "cdf": lambda z: cnp.arctan2(cnp.ones_like(z), -z) / math.pi,
        "sf": lambda z: cnp.arctan2(cnp.ones_like(z), z) / math.pi,
        "ppf": lambda q: _cauchy_quantile(q),
        "isf": lambda q: -_cauchy_quantile(q),
    },
)


def _cauchy_quantile(q: Array) -> Array:
    """``-1 / tan(pi q)``, in the middle without dividing by an infinite tangent."""
    middle = cnp.abs(q - 0.5) < 0.25
    low = q < 0.5
    near = cnp.tan(math.pi * (safe(middle, q, 0.5) - 0.5))
    # From the end that is closer, which is exact.
    far = 1 / cnp.tan(math.pi * safe(~middle, cnp.where(low, q, 1 - q), 0.25))
    result: Array = cnp.where(middle, near, cnp.where(low, -far, far))
    return inside((q >= 0) & (q <= 1), result, math.nan)


gumbel_r = Continuous(
    "gumbel_r",
    (),
    {
        "logpdf": lambda z: -z - cnp.exp(-z),
        "cdf": lambda z: cnp.exp(-cnp.exp(-z)),
        "logcdf": lambda z: -cnp.exp(-z),
        "sf": lambda z: -cnp.expm1(-cnp.exp(-z)),
        "ppf": lambda q: -cnp.log(-cnp.log(q)),
        "isf": lambda q: -cnp.log(-cnp.log1p(-q)),
    },
)

gumbel_l = Continuous(
    "gumbel_l",
    (),
    {
        "logpdf": lambda z: z - cnp.exp(z),
        "cdf": lambda z: -cnp.expm1(-cnp.exp(z)),
        "sf": lambda z: cnp.exp(-cnp.exp(z)),
        "logsf": lambda z: -cnp.exp(z),
        "ppf": lambda q: cnp.log(-cnp.log1p(-q)),
        "isf": lambda q: cnp.log(-cnp.log(q)),
    },
)


def _gamma_log_density(z: Array, a: Array) -> Array:
    return inside(z >= 0, xlogy(a - 1, safe(z >= 0, z)) - z - gammaln(a))


gamma = Continuous(
    "gamma",
    ("a",),
    {
        "logpdf": _gamma_log_density,
        "cdf": lambda z, a: gammainc(a, _positive(z)),
        "sf": lambda z, a: gammaincc(a, _positive(z)),
    },
    valid=lambda a: a > 0,
)

chi2 = Continuous(
    "chi2",
    ("df",),
    {
        "logpdf": lambda z, df: _gamma_log_density(0.5 * z, 0.5 * df) - math.log(2.0),
        "cdf": lambda z, df: gammainc(0.5 * df, 0.5 * _positive(z)),
        "sf": lambda z, df: gammaincc(0.5 * df, 0.5 * _positive(z)),
    },
    valid=lambda df: df > 0,
)


def _beta_log_density(z: Array, a: Array, b: Array) -> Array:
    ok = (z >= 0) & (z <= 1)
    x = safe(ok, z, 0.5)
    return inside(ok, xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


beta = Continuous(
    "beta",
    ("a", "b"),
    {
        "logpdf": _beta_log_density,
        "cdf": lambda z, a, b: betainc(a, b, cnp.clip(z, 0.0, 1.0)),
        "sf": lambda z, a, b: betainc(b, a, 1 - cnp.clip(z, 0.0, 1.0)),
    },
    valid=lambda a, b: (a > 0) & (b > 0),
)

pareto = Continuous(
    "pareto",
    ("b",),
    {
        "logpdf": lambda z, b: inside(z >= 1, cnp.log(b) - (b + 1) * cnp.log(safe(z >= 1, z))),
        "cdf": lambda z, b: -cnp.expm1(-b * cnp.log(safe(z >= 1, z))),
        "sf": lambda z, b: cnp.exp(-b * cnp.log(safe(z >= 1, z))),
        "logsf": lambda z, b: -b * cnp.log(safe(z >= 1, z)),
        "ppf": lambda q, b: cnp.exp(-cnp.log1p(-cnp.where((q >= 0) & (q <= 1), q, math.nan)) / b),
    },
    valid=lambda b: b > 0,
)

# gammaln(x + 1/2) - gammaln(x) - log(x) / 2 as a series in 1 / x**2, without its factor 1 / x (DLMF 5.11.8).
_HALF_STEP = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432)


def _log_gamma_half_step(x: Array) -> Array:
    """``gammaln(x + 1/2) - gammaln(x) - log(x) / 2``, for large numbers without a difference of larger ones."""
    far = x >= 20
    big, little = safe(far, x, 20.0), safe(~far, x)
    square = 1 / big / big
    series = cnp.zeros_like(big)
    for coefficient in reversed(_HALF_STEP):
        series = series * square + coefficient
    near = gammaln(little + 0.5) - gammaln(little) - 0.5 * cnp.log(little)
    result: Array = cnp.where(far, series / big, near)
    return result


def _student_log_density(z: Array, df: Array) -> Array:
    endless = df == math.inf
    finite = safe(~endless, df)
    power = 0.5 * (finite + 1) * _log1p_of_square(z / cnp.sqrt(finite))
    power = cnp.where(endless, 0.5 * z * z, power)
    result: Array = _log_gamma_half_step(0.5 * df) - _HALF_LOG_TWO_PI - power
    return result


def _student_below(z: Array, df: Array) -> Array:
    """By the incomplete beta function, from the end that keeps digits; for many degrees of freedom by the normal distribution."""
    many = df > 1e5
    few = safe(~many, df)
    square = (z / cnp.sqrt(few)) ** 2
    middle = square < cnp.minimum(1.0, 1.0 / few)
    half = 0.5 * cnp.ones_like(few)
    p, q = cnp.where(middle, half, 0.5 * few), cnp.where(middle, 0.5 * few, half)
    part = 0.5 * betainc(p, q, safe(middle, square) / (1 + square))
    tail = cnp.where(middle, 0.5 - part, part)
    below = cnp.where(z > 0, 1 - tail, tail)
    result: Array = cnp.where(many, ndtr(_normal_of_student(z, safe(many, df, 1e6))), below)
    return result


def _normal_of_student(z: Array, df: Array) -> Array:
    """The normal number with the same probability below it, for many degrees of freedom (Hill, 1970)."""
    endless = df == math.inf
    near = cnp.clip(z, -60.0, 60.0)  # nothing is left below and above
    a = safe(~endless, df, 1e6) - 0.5
    y = a * cnp.log1p(near * near / (a + 0.5))
    b = 48 * a * a
    correction = ((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3) / b + 1
    seen = near * near > 0
    moved = near * correction * cnp.sqrt(safe(seen, y) / safe(seen, near * near))
    result: Array = cnp.where(endless, near, moved)
    return result


t = Continuous(
    "t",
    ("df",),
    {
        "logpdf": _student_log_density,
        "cdf": _student_below,
        "sf": lambda z, df: _student_below(-z, df),
    },
    valid=lambda df: df > 0,
)


def _general_normal_below(z: Array, power: Array) -> Array:
    tail = 0.5 * gammaincc(1 / power, cnp.abs(z) ** power)
    result: Array = cnp.where(z > 0, 1 - tail, tail)
    return result


gennorm = Continuous(
    "gennorm",
    ("beta",),
    {
        "logpdf": lambda z, power: cnp.log(0.5 * power) - gammaln(1 / power) - cnp.abs(z) ** power,
        "cdf": _general_normal_below,
        "sf": lambda z, power: _general_normal_below(-z, power),
    },
    valid=lambda power: power > 0,
)

vonmises = Continuous(
    "vonmises",
    ("kappa",),
    # exp(-kappa) is inside of i0e, so that a large kappa does not overflow.
    {"logpdf": lambda z, kappa: -2 * kappa * cnp.sin(0.5 * z) ** 2 - math.log(2 * math.pi) - cnp.log(i0e(kappa))},
    valid=lambda kappa: kappa >= 0,
)

wrapcauchy = Continuous(
    "wrapcauchy",
    ("c",),
    {
        "logpdf": lambda z, c: inside(
            (z >= 0) & (z <= 2 * math.pi),
            cnp.log1p(-c)
            + cnp.log1p(c)
            - math.log(2 * math.pi)
            - cnp.log((1 - c) ** 2 + 4 * c * cnp.sin(0.5 * z) ** 2),
        )
    },
    valid=lambda c: (c >= 0) & (c < 1),
)


def _log_mass(a: Array, b: Array) -> Array:
    """The logarithm of the normal probability between a < b, on the side where it is accurate."""
    right = a > 0
    low, high = cnp.where(right, -b, a), cnp.where(right, -a, b)
    # Both at or below 0, or around it.
    upper, lower = log_ndtr(high), log_ndtr(low)
    tail = upper + cnp.log1p(-cnp.exp(safe(upper > -math.inf, lower - upper, -1.0)))
    around = cnp.log1p(-ndtr(low) - ndtr(-high))
    result: Array = cnp.where(high > 0, around, tail)
    return result


def _truncated(
    z: Array, a: Array, b: Array, log_probability: Callable[[Array], Array], below: float, above: float
) -> Array:
    ok = (z > a) & (z < b)
    value = log_probability(cnp.where(ok, z, 0.5 * (a + b)))
    result: Array = cnp.where(z <= a, below, cnp.where(z >= b, above, value))
    return result


def _log_of_part(part: Array, rest: Array, whole: Array) -> Array:
    """The logarithm of a part's probability; close to 1, its digits are those of the rest."""
    this, other = part - whole, rest - whole
    most = this > -math.log(2.0)
    result: Array = cnp.where(most, cnp.log1p(-cnp.exp(safe(most, other, -1.0))), this)
    return result


def _truncated_log_cdf(z: Array, a: Array, b: Array) -> Array:
    return _truncated(
        z, a, b, lambda x: _log_of_part(_log_mass(a, x), _log_mass(x, b), _log_mass(a, b)), -math.inf, 0.0
    )


def _truncated_log_sf(z: Array, a: Array, b: Array) -> Array:
    return _truncated(
        z, a, b, lambda x: _log_of_part(_log_mass(x, b), _log_mass(a, x), _log_mass(a, b)), 0.0, -math.inf
    )


truncnorm = Continuous(
    "truncnorm",
    ("a", "b"),
    {
        "logpdf": lambda z, a, b: inside((z >= a) & (z <= b), _normal_log_density(z) - _log_mass(a, b)),
        "logcdf": _truncated_log_cdf,
        "cdf": lambda z, a, b: cnp.exp(_truncated_log_cdf(z, a, b)),
        "logsf": _truncated_log_sf,
        "sf": lambda z, a, b: cnp.exp(_truncated_log_sf(z, a, b)),
    },
    valid=lambda a, b: a < b,
)


check_arguments(globals())
