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
        "logcdf": lambda z: inside(z > 0, cnp.log(-cnp.expm1(-safe(z > 0, z)))),
        "sf": lambda z: cnp.exp(-_positive(z)),
        "logsf": lambda z: -_positive(z),
        "ppf": lambda q: -cnp.log1p(-cnp.where((q >= 0) & (q <= 1), q, math.nan)),
    },
)

laplace = Continuous(
    "laplace",
    (),
    {
        "logpdf": lambda z: -cnp.abs(z) - math.log(2.0),
        "cdf": lambda z: cnp.where(z < 0, 0.5 * cnp.exp(cnp.minimum(z, 0.0)), 1 - 0.5 * cnp.exp(-cnp.maximum(z, 0.0))),
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
        "logpdf": lambda z: -z - 2 * cnp.logaddexp(0.0, -z),
        "cdf": expit,
        "logcdf": lambda z: -cnp.logaddexp(0.0, -z),
        "sf": lambda z: expit(-z),
        "logsf": lambda z: -cnp.logaddexp(0.0, z),
        "ppf": lambda q: cnp.log(q) - cnp.log1p(-q),
        "isf": lambda q: cnp.log1p(-q) - cnp.log(q),
    },
)

cauchy = Continuous(
    "cauchy",
    (),
    {
        "logpdf": lambda z: -math.log(math.pi) - cnp.log1p(z * z),
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

t = Continuous(
    "t",
    ("df",),
    {
        "logpdf": lambda z, df: (
            gammaln(0.5 * (df + 1))
            - gammaln(0.5 * df)
            - 0.5 * cnp.log(math.pi * df)
            - 0.5 * (df + 1) * cnp.log1p(z * z / df)
        ),
        "cdf": lambda z, df: _student_below(z, df),
        "sf": lambda z, df: _student_below(-z, df),
    },
    valid=lambda df: df > 0,
)


def _student_below(z: Array, df: Array) -> Array:
    tail = 0.5 * betainc(0.5 * df, 0.5 * cnp.ones_like(df), df / (df + z * z))
    result: Array = cnp.where(z > 0, 1 - tail, tail)
    return result


gennorm = Continuous(
    "gennorm",
    ("beta",),
    {
        "logpdf": lambda z, power: cnp.log(0.5 * power) - gammaln(1 / power) - cnp.abs(z) ** power,
        "cdf": lambda z, power: 0.5 * (1 + cnp.sign(z) * gammainc(1 / power, cnp.abs(z) ** power)),
    },
    valid=lambda power: power > 0,
)

vonmises = Continuous(
    "vonmises",
    ("kappa",),
    # exp(-kappa) is inside of i0e, so that a large kappa does not overflow.
    {"logpdf": lambda z, kappa: kappa * (cnp.cos(z) - 1) - math.log(2 * math.pi) - cnp.log(i0e(kappa))},
    valid=lambda kappa: kappa >= 0,
)

wrapcauchy = Continuous(
    "wrapcauchy",
    ("c",),
    {
        "logpdf": lambda z, c: inside(
            (z >= 0) & (z <= 2 * math.pi),
            cnp.log1p(-c * c) - math.log(2 * math.pi) - cnp.log(1 + c * c - 2 * c * cnp.cos(z)),
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
    tail = upper + cnp.log1p(-cnp.exp(lower - upper))
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


def _truncated_log_cdf(z: Array, a: Array, b: Array) -> Array:
    return _truncated(z, a, b, lambda x: _log_mass(a, x) - _log_mass(a, b), -math.inf, 0.0)


def _truncated_log_sf(z: Array, a: Array, b: Array) -> Array:
    return _truncated(z, a, b, lambda x: _log_mass(x, b) - _log_mass(a, b), 0.0, -math.inf)


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
