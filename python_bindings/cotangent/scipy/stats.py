"""Distributions and statistics under their names in `scipy.stats`.

A distribution is an object with functions such as ``norm.logpdf(x, loc, scale)``; shape parameters come before ``loc`` and ``scale``,
and everything is broadcast. Outside of the support densities are 0 and their logarithms minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from cotangent import _core, random
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.sizes import as_dtype, bound_size, element_count, normalize_axis
from cotangent._transforms.batching import vmap
from cotangent.lax.linalg import cholesky, triangular_solve
from cotangent.scipy._distributions import Continuous, Discrete, inside, safe
from cotangent.scipy.special import (
    betainc,
    betaln,
    expit,
    gammainc,
    gammaincc,
    gammaln,
    i0e,
    log_ndtr,
    logsumexp,
    ndtr,
    ndtri,
    xlog1py,
    xlogy,
)
from cotangent.tree_util import register_pytree_node

__all__ = [
    "ModeResult",
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

# ---- continuous distributions ----------------------------------------------------------------------------------------


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
        "ppf": lambda q: cnp.tan(math.pi * (q - 0.5)),
        "isf": lambda q: cnp.tan(math.pi * (0.5 - q)),
    },
)

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
)

chi2 = Continuous(
    "chi2",
    ("df",),
    {
        "logpdf": lambda z, df: _gamma_log_density(0.5 * z, 0.5 * df) - math.log(2.0),
        "cdf": lambda z, df: gammainc(0.5 * df, 0.5 * _positive(z)),
        "sf": lambda z, df: gammaincc(0.5 * df, 0.5 * _positive(z)),
    },
)


def _beta_log_density(z: Array, a: Array, b: Array) -> Array:
    ok = (z >= 0) & (z <= 1)
    x = safe(ok, z, 0.5)
    value = inside(ok, xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))
    result: Array = cnp.where((a > 0) & (b > 0), value, math.nan)
    return result


beta = Continuous(
    "beta",
    ("a", "b"),
    {
        "logpdf": _beta_log_density,
        "cdf": lambda z, a, b: betainc(a, b, cnp.clip(z, 0.0, 1.0)),
        "sf": lambda z, a, b: betainc(b, a, 1 - cnp.clip(z, 0.0, 1.0)),
    },
)

pareto = Continuous(
    "pareto",
    ("b",),
    {
        "logpdf": lambda z, b: inside(z >= 1, cnp.log(b) - (b + 1) * cnp.log(safe(z >= 1, z))),
        "cdf": lambda z, b: -cnp.expm1(-b * cnp.log(safe(z >= 1, z))),
        "sf": lambda z, b: cnp.exp(-b * cnp.log(safe(z >= 1, z))),
        "logsf": lambda z, b: -b * cnp.log(safe(z >= 1, z)),
        "ppf": lambda q, b: cnp.exp(-cnp.log1p(-q) / b),
    },
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
)

vonmises = Continuous(
    "vonmises",
    ("kappa",),
    # exp(-kappa) is inside of i0e, so that a large kappa does not overflow.
    {"logpdf": lambda z, kappa: kappa * (cnp.cos(z) - 1) - math.log(2 * math.pi) - cnp.log(i0e(kappa))},
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
    return cnp.where(a >= b, math.nan, result)  # type: ignore[no-any-return]


def _truncated_log_cdf(z: Array, a: Array, b: Array) -> Array:
    return _truncated(z, a, b, lambda x: _log_mass(a, x) - _log_mass(a, b), -math.inf, 0.0)


def _truncated_log_sf(z: Array, a: Array, b: Array) -> Array:
    return _truncated(z, a, b, lambda x: _log_mass(x, b) - _log_mass(a, b), 0.0, -math.inf)


truncnorm = Continuous(
    "truncnorm",
    ("a", "b"),
    {
        "logpdf": lambda z, a, b: cnp.where(
            a >= b, math.nan, inside((z >= a) & (z <= b), _normal_log_density(z) - _log_mass(a, b))
        ),
        "logcdf": _truncated_log_cdf,
        "cdf": lambda z, a, b: cnp.exp(_truncated_log_cdf(z, a, b)),
        "logsf": _truncated_log_sf,
        "sf": lambda z, a, b: cnp.exp(_truncated_log_sf(z, a, b)),
    },
)

# ---- discrete distributions ------------------------------------------------------------------------------------------

bernoulli = Discrete(
    "bernoulli",
    ("p",),
    {
        "logpmf": lambda k, p: inside((k == 0) | (k == 1), xlogy(k, p) + xlog1py(1 - k, -p)),
        "cdf": lambda k, p: cnp.where((p < 0) | (p > 1), math.nan, cnp.where(k < 0, 0.0, cnp.where(k < 1, 1 - p, 1.0))),
        "ppf": lambda q, p: cnp.where(
            (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1),
            cnp.where(q <= 1 - p, cnp.where(q == 0, -1.0, 0.0), 1.0),
            math.nan,
        ),
    },
)


def _log_choose(n: Array, k: Array) -> Array:
    return -cnp.log1p(n) - betaln(n - k + 1, k + 1)


def _binom(k: Array, n: Array, p: Array) -> Array:
    ok = (k >= 0) & (k <= n)
    k = safe(ok, k, 0.0)
    return inside(ok, _log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p))


binom = Discrete("binom", ("n", "p"), {"logpmf": _binom})


def _betabinom(k: Array, n: Array, a: Array, b: Array) -> Array:
    ok = (k >= 0) & (k <= n)
    k = safe(ok, k, 0.0)
    return inside(ok, _log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b))


betabinom = Discrete("betabinom", ("n", "a", "b"), {"logpmf": _betabinom})
geom = Discrete("geom", ("p",), {"logpmf": lambda k, p: inside(k >= 1, xlog1py(safe(k >= 1, k) - 1, -p) + cnp.log(p))})


def _nbinom(k: Array, n: Array, p: Array) -> Array:
    ok = k >= 0
    k = safe(ok, k, 0.0)
    # gamma(k + n) / (k! gamma(n)) = 1 / ((k + n) B(k + 1, n))
    return inside(ok, -cnp.log(k + n) - betaln(k + 1, n) + xlogy(n, p) + xlog1py(k, -p))


nbinom = Discrete("nbinom", ("n", "p"), {"logpmf": _nbinom})


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
        "entropy": _poisson_entropy,
    },
)

# ---- distributions of vectors ----------------------------------------------------------------------------------------


class _Multinomial:
    """Counts of n draws among categories with probabilities p, along the last axis."""

    @staticmethod
    def logpmf(x: Any, n: Any, p: Any) -> Array:
        """The logarithm of the probability of the counts ``x``."""
        x, p = _core.promote([x, p], inexact=True)
        n = cnp.asarray(n, x.dtype)
        possible = (cnp.sum(x, axis=-1) == n) & cnp.all((x >= 0) & (x == cnp.floor(x)), axis=-1)
        value = gammaln(n + 1) + cnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
        return inside(possible, value)

    @staticmethod
    def pmf(x: Any, n: Any, p: Any) -> Array:
        """The probability of the counts ``x``."""
        return cnp.exp(_Multinomial.logpmf(x, n, p))


multinomial = _Multinomial()


class _Dirichlet:
    """Points of the simplex, along the first axis, with concentrations alpha."""

    @staticmethod
    def logpdf(x: Any, alpha: Any) -> Array:
        """The logarithm of the density at ``x``, of shape (k, ...) or (k - 1, ...) without the last coordinate."""
        alpha = cnp.asarray(alpha)
        x = cnp.asarray(x)
        x, alpha = x.astype(cnp.result_type(x, alpha, 1.0)), alpha.astype(cnp.result_type(x, alpha, 1.0))
        if alpha.ndim != 1:
            raise ValueError(f"dirichlet.logpdf: alpha must have one axis; got shape {alpha.shape}")
        if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
            raise ValueError(f"dirichlet.logpdf: x has {x.shape[0]} coordinates for {alpha.shape[0]} concentrations")
        if x.shape[0] == alpha.shape[0] - 1:
            x = cnp.concatenate([x, 1 - cnp.sum(x, axis=0, keepdims=True)])
        on_simplex = cnp.all(x > 0, axis=0) & (cnp.abs(cnp.sum(x, axis=0) - 1) < 1e-6)
        column = alpha.reshape(-1, *[1] * (x.ndim - 1))
        value = gammaln(cnp.sum(alpha)) - cnp.sum(gammaln(alpha)) + cnp.sum(xlogy(column - 1, x), axis=0)
        return inside(on_simplex, value)

    @staticmethod
    def pdf(x: Any, alpha: Any) -> Array:
        """The density at ``x``."""
        return cnp.exp(_Dirichlet.logpdf(x, alpha))


dirichlet = _Dirichlet()


class _MultivariateNormal:
    """Normal vectors along the last axis."""

    @staticmethod
    def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
        """The logarithm of the density at ``x``.

        Args:
            x: points, of shape (..., n).
            mean: of shape (n,), or a scalar.
            cov: covariance matrix (..., n, n); or variances: a scalar, or a vector of one.

        Raises:
            NotImplementedError: ``allow_singular`` is given.
        """
        if allow_singular is not None:
            raise NotImplementedError("multivariate_normal: allow_singular is not supported")
        dtype = cnp.result_type(x, mean, cov, 1.0)
        x, mean, cov = (cnp.asarray(value).astype(dtype) for value in (x, mean, cov))
        if mean.ndim == 0:
            value: Array = -0.5 * (x - mean) ** 2 / cov - 0.5 * cnp.log(2 * math.pi * cov)
            return value
        n = mean.shape[-1]
        if cov.ndim == 0:
            cov = cov * cnp.eye(n, dtype=dtype)
        if cov.ndim < 2 or cov.shape[-2:] != (n, n):
            raise ValueError(f"multivariate_normal.logpdf: cov has shape {cov.shape} for vectors of {n}")
        lower = cholesky(cov)
        centred = x - mean
        batch = cnp.broadcast_shapes(centred.shape[:-1], lower.shape[:-2])
        lower_all = cnp.broadcast_to(lower, (*batch, n, n))
        solved = triangular_solve(
            lower_all, cnp.broadcast_to(centred, (*batch, n))[..., None], left_side=True, lower=True
        )[..., 0]
        log_determinant = cnp.sum(cnp.log(cnp.diagonal(lower, axis1=-2, axis2=-1)), axis=-1)
        result: Array = -0.5 * cnp.sum(solved * solved, axis=-1) - n * _HALF_LOG_TWO_PI - log_determinant
        return result

    @staticmethod
    def pdf(x: Any, mean: Any, cov: Any) -> Array:
        """The density at ``x``."""
        return cnp.exp(_MultivariateNormal.logpdf(x, mean, cov))


multivariate_normal = _MultivariateNormal()

# ---- statistics of samples -------------------------------------------------------------------------------------------


class ModeResult(NamedTuple):
    """The commonest values, and how often they occur."""

    mode: Any
    count: Any


def _nan_policy(name: str, nan_policy: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise'; got {nan_policy!r}")
    if nan_policy == "raise":
        raise NotImplementedError(f"{name}: nan_policy='raise' depends on values; check them before the call")


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The commonest value along an axis; the smallest of several.

    Raises:
        NotImplementedError: for a ``nan_policy`` other than "propagate".
    """
    _nan_policy("mode", nan_policy)
    if nan_policy == "omit":
        raise NotImplementedError("mode: nan_policy='omit' is not supported")
    a = cnp.asarray(a)
    rank = a.ndim
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = axis % max(a.ndim, 1)
    if a.ndim == 0:
        a = a.reshape(1)
    rows = cnp.moveaxis(cnp.sort(a, axis=axis), axis, -1)
    equal = rows[..., :, None] == rows[..., None, :]
    if cnp.issubdtype(a.dtype, cnp.inexact):
        equal = equal | (cnp.isnan(rows)[..., :, None] & cnp.isnan(rows)[..., None, :])
    counts = cnp.sum(equal, axis=-1)
    best = cnp.argmax(counts, axis=-1)[..., None]
    value = cnp.take_along_axis(rows, best, axis=-1)[..., 0]
    count = cnp.take_along_axis(counts, best, axis=-1)[..., 0]
    if keepdims:
        if axis == 0 and rank != a.ndim:
            value, count = value.reshape((1,) * rank), count.reshape((1,) * rank)
        else:
            value, count = cnp.expand_dims(value, axis), cnp.expand_dims(count, axis)
    return ModeResult(value, count)


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """Ranks from 1 on.

    Args:
        a: array.
        method: what equal elements get: "average", "min", "max", "dense" (ranks without gaps) or "ordinal" (in order).
        axis: along which; by default of all elements, in one row.
        nan_policy: only "propagate": a row with a NaN is NaN.

    Raises:
        ValueError: for an unknown method.
    """
    _nan_policy("rankdata", nan_policy)
    if nan_policy == "omit":
        raise NotImplementedError("rankdata: nan_policy='omit' is not supported")
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"rankdata: unknown method {method!r}; choose average, min, max, dense or ordinal")
    a = cnp.asarray(a)
    if axis is None:
        return _ranks(a.reshape(-1), method)
    if bound_size(a) == 0:
        return cnp.zeros_like(a, cnp.result_type(float))
    moved = cnp.moveaxis(a, axis, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    ranks = vmap(lambda row: _ranks(row, method))(rows).reshape(moved.shape)
    return cnp.moveaxis(ranks, -1, axis)


def _ranks(row: Array, method: str) -> Array:
    if not cnp.issubdtype(row.dtype, cnp.inexact):
        return _ranks_of_numbers(row, method)
    ranks = _ranks_of_numbers(row, method).astype(cnp.result_type(float))
    result: Array = cnp.where(cnp.any(cnp.isnan(row)), math.nan, ranks)
    return result


def _ranks_of_numbers(row: Array, method: str) -> Array:
    order = cnp.argsort(row, stable=True)
    places = cnp.argsort(order, stable=True)  # of every element in the sorted row
    if method == "ordinal":
        return places + 1
    ordered = row[order]
    place = cnp.arange(row.shape[0])
    starts = (place == 0) | (ordered != cnp.roll(ordered, 1))
    dense = cnp.cumsum(starts)[places]
    if method == "dense":
        return dense
    first = cnp.searchsorted(ordered, row, side="left")
    last = cnp.searchsorted(ordered, row, side="right")
    if method == "min":
        return first + 1
    if method == "max":
        return last
    average: Array = 0.5 * (first + last + 1).astype(cnp.result_type(float))
    return average


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Array:
    """The standard error of the mean: the deviation over the square root of the number of elements."""
    _nan_policy("sem", nan_policy)
    (a,) = _core.promote([a], inexact=True)
    if axis is None:
        error = sem(a.reshape(-1), 0, ddof, nan_policy)
        return error.reshape((1,) * a.ndim) if keepdims else error
    if nan_policy == "omit":
        count = cnp.sum(~cnp.isnan(a), axis=axis, keepdims=keepdims)
        spread: Array = cnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims)
        result: Array = spread / cnp.sqrt(count.astype(spread.dtype))
        return result
    size = as_dtype(element_count(a, [normalize_axis(axis, a.ndim, "sem")]), cnp.real(a).dtype)
    return cnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / cnp.sqrt(size)


class gaussian_kde:  # noqa: N801 (its name in SciPy)
    """A density estimated from points by a Gaussian kernel (Scott, 1992); see `scipy.stats.gaussian_kde`.

    Args:
        dataset: points of shape (n,) or (d, n).
        bw_method: the bandwidth's factor: "scott" (default), "silverman", a number, or a function of this object.
        weights: of the points, of shape (n,).
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        (self.dataset,) = _core.promote([cnp.atleast_2d(dataset)], inexact=True)
        if cnp.issubdtype(self.dataset.dtype, cnp.complexfloating):
            raise NotImplementedError("gaussian_kde: complex points are not supported")
        if self.dataset.size < 2:
            raise ValueError("gaussian_kde: the dataset must have more than one element")
        self.d, self.n = self.dataset.shape
        if weights is None:
            self.weights = cnp.full(self.n, 1.0 / self.n, self.dataset.dtype)
        else:
            given = cnp.asarray(weights).astype(self.dataset.dtype)
            if given.shape != (self.n,):
                raise ValueError(f"gaussian_kde: weights must have shape {(self.n,)}; got {given.shape}")
            self.weights = given / cnp.sum(given)
        self.neff = 1 / cnp.sum(self.weights**2)
        if bw_method is None or bw_method == "scott":
            self.factor = self.neff ** (-1.0 / (self.d + 4))
        elif bw_method == "silverman":
            self.factor = (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        elif callable(bw_method):
            self.factor = bw_method(self)
        elif isinstance(bw_method, str):
            raise ValueError(
                f"gaussian_kde: unknown bw_method {bw_method!r}; use 'scott', 'silverman', a number or a function"
            )
        else:
            self.factor = cnp.asarray(bw_method)
        self.covariance = (
            cnp.atleast_2d(cnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights)) * self.factor**2
        )
        self.inv_cov = cnp.linalg.inv(self.covariance)

    def _log_kernels(self, points: Any) -> Array:
        """The logarithms of weighted kernels: (n, m)."""
        points = cnp.atleast_2d(points).astype(self.dataset.dtype)
        if points.shape[0] != self.d:
            if points.shape[0] == 1 and points.shape[1] == self.d:
                points = points.reshape(self.d, 1)
            else:
                raise ValueError(f"gaussian_kde: points have {points.shape[0]} coordinates, the dataset {self.d}")
        difference = self.dataset[:, :, None] - points[:, None, :]
        energy = 0.5 * cnp.einsum("inm,ij,jnm->nm", difference, self.inv_cov, difference)
        scale = 0.5 * self.d * math.log(2 * math.pi) + 0.5 * cnp.linalg.slogdet(self.covariance)[1]
        result: Array = cnp.log(self.weights)[:, None] - energy - scale
        return result

    def logpdf(self, x: Any) -> Array:
        """The logarithm of the estimated density at points of shape (m,) or (d, m)."""
        result: Array = logsumexp(self._log_kernels(x), axis=0)
        return result

    def evaluate(self, points: Any) -> Array:
        """The estimated density at points of shape (m,) or (d, m)."""
        return cnp.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_gaussian(self, mean: Any, cov: Any) -> Array:
        """The integral of the density times a normal one."""
        mean, cov = cnp.atleast_1d(mean), cnp.atleast_2d(cov)
        total = self.covariance + cov
        values = multivariate_normal.pdf(self.dataset.T, mean, total)
        return cnp.sum(values * self.weights)

    def integrate_box_1d(self, low: Any, high: Any) -> Array:
        """The probability between two numbers, for one coordinate."""
        if self.d != 1:
            raise ValueError("gaussian_kde.integrate_box_1d: only for points of one coordinate")
        deviation = cnp.sqrt(self.covariance[0, 0])
        ends = [ndtr((cnp.asarray(end) - self.dataset[0]) / deviation) for end in (low, high)]
        return cnp.sum(self.weights * (ends[1] - ends[0]))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product with another estimate."""
        if other.d != self.d:
            raise ValueError("gaussian_kde.integrate_kde: the estimates have different numbers of coordinates")
        total = self.covariance + other.covariance
        difference = self.dataset.T[:, None, :] - other.dataset.T[None, :, :]
        density = multivariate_normal.pdf(difference, cnp.zeros(self.d, self.dataset.dtype), total)
        return cnp.sum(density * self.weights[:, None] * other.weights[None, :])

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Points drawn from the estimate: (d, *shape)."""
        choose, noise = random.split(key)
        index = random.choice(choose, self.n, shape=shape, p=self.weights)
        zero = cnp.zeros(self.d, self.dataset.dtype)
        jitter = random.multivariate_normal(noise, zero, self.covariance, shape=shape, dtype=self.dataset.dtype)
        return self.dataset[:, index] + cnp.moveaxis(jitter, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Not available.

        Raises:
            NotImplementedError: always; only one coordinate is supported, by `integrate_box_1d`.
        """
        raise NotImplementedError("gaussian_kde.integrate_box is not supported; see integrate_box_1d")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not available: the estimate is immutable.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("gaussian_kde is immutable; make another one with bw_method")


def _flatten_kde(kde: gaussian_kde) -> tuple[tuple[Any, ...], Any]:
    names = tuple(name for name, value in vars(kde).items() if isinstance(value, Array))
    return tuple(vars(kde)[name] for name in names), (
        names,
        tuple((n, v) for n, v in vars(kde).items() if n not in names),
    )


def _unflatten_kde(plan: Any, arrays: Any) -> gaussian_kde:
    kde = object.__new__(gaussian_kde)
    names, rest = plan
    vars(kde).update(zip(names, arrays, strict=True))
    vars(kde).update(rest)
    return kde


register_pytree_node(gaussian_kde, _flatten_kde, _unflatten_kde)


check_arguments(globals())
