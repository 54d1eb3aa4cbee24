"""Distributions of integers."""

from __future__ import annotations

import math

from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent.scipy._distributions import Discrete, inside, safe
from cotangent.scipy.special import (
    betaln,
    gammainc,
    gammaincc,
    gammaln,
    xlog1py,
    xlogy,
)

__all__ = [
    "bernoulli",
    "betabinom",
    "binom",
    "geom",
    "nbinom",
    "poisson",
]


def _is_probability(p: Array) -> Array:
    return (p >= 0) & (p <= 1)


def _is_count(n: Array) -> Array:
    return (n >= 0) & (n == cnp.floor(n))


bernoulli = Discrete(
    "bernoulli",
    ("p",),
    {
        "logpmf": lambda k, p: inside((k == 0) | (k == 1), xlogy(k, p) + xlog1py(1 - k, -p)),
        "cdf": lambda k, p: cnp.where(k < 0, 0.0, cnp.where(k < 1, 1 - p, 1.0)),
        "sf": lambda k, p: cnp.where(k < 0, 1.0, cnp.where(k < 1, p, 0.0)),
        "ppf": lambda q, p: inside(
            _is_probability(q), cnp.where(q <= 1 - p, cnp.where(q == 0, -1.0, 0.0), 1.0), math.nan
        ),
    },
    valid=_is_probability,
)


def _log_choose(n: Array, k: Array) -> Array:
    return -cnp.log1p(n) - betaln(n - k + 1, k + 1)


def _binom(k: Array, n: Array, p: Array) -> Array:
    ok = (k >= 0) & (k <= n)
    k = safe(ok, k, 0.0)
    return inside(ok, _log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p))


binom = Discrete("binom", ("n", "p"), {"logpmf": _binom}, valid=lambda n, p: _is_count(n) & _is_probability(p))


def _betabinom(k: Array, n: Array, a: Array, b: Array) -> Array:
    ok = (k >= 0) & (k <= n)
    k = safe(ok, k, 0.0)
    return inside(ok, _log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b))


betabinom = Discrete(
    "betabinom", ("n", "a", "b"), {"logpmf": _betabinom}, valid=lambda n, a, b: _is_count(n) & (a > 0) & (b > 0)
)
geom = Discrete(
    "geom",
    ("p",),
    {"logpmf": lambda k, p: inside(k >= 1, xlog1py(safe(k >= 1, k) - 1, -p) + cnp.log(p))},
    valid=lambda p: (p > 0) & (p <= 1),
)


def _nbinom(k: Array, n: Array, p: Array) -> Array:
    ok = k >= 0
    k = safe(ok, k, 0.0)
    # gamma(k + n) / (k! gamma(n)) = 1 / ((k + n) B(k + 1, n))
    return inside(ok, -cnp.log(k + n) - betaln(k + 1, n) + xlogy(n, p) + xlog1py(k, -p))


nbinom = Discrete("nbinom", ("n", "p"), {"logpmf": _nbinom}, valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1))


def _poisson_entropy(mu: Array) -> Array:
    """By summation over the numbers that matter for small means, by its asymptotic series for large ones (Evans & Boersma, 1988)."""
    small = mu < 100
    low = safe(small & (mu > 0), mu)
    k = cnp.arange(300, dtype=mu.dtype)
    log_mass = _poisson(k, low[..., None])
    summed = -cnp.sum(cnp.exp(log_mass) * log_mass, axis=-1)
    high = safe(~small, mu, 100.0)
    series = 0.5 * cnp.log(2 * math.pi * math.e * high) - (1 / 12 + (1 / 24 + 19 / 360 / high) / high) / high
    result: Array = cnp.where(mu == 0, 0.0, cnp.where(mu < 0, math.nan, cnp.where(small, summed, series)))
    return result


def _poisson(k: Array, mu: Array) -> Array:
    ok = k >= 0
    k = safe(ok, k, 0.0)
    return inside(ok, xlogy(k, mu) - gammaln(k + 1) - mu)


poisson = Discrete(
    "poisson",
    ("mu",),
    {
        "logpmf": _poisson,
        "cdf": lambda k, mu: cnp.where(k < 0, 0.0, gammaincc(safe(k >= 0, k, 0.0) + 1, mu)),
        "sf": lambda k, mu: cnp.where(k < 0, 1.0, gammainc(safe(k >= 0, k, 0.0) + 1, mu)),
        "entropy": _poisson_entropy,
    },
    valid=lambda mu: mu >= 0,
)


check_arguments(globals())
