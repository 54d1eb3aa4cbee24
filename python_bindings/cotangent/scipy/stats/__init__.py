"""Distributions and statistics under their names in `scipy.stats`.

A distribution is an object with functions such as ``norm.logpdf(x, loc, scale)``; shape parameters come before ``loc`` and ``scale``,
and everything is broadcast. Outside of the support densities are 0 and their logarithms minus infinity.
"""

from cotangent._base.arguments import adopt_members as _adopt_members
from cotangent._base.names import suggest_names
from cotangent.scipy.stats.continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gennorm,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    norm,
    pareto,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from cotangent.scipy.stats.density import gaussian_kde
from cotangent.scipy.stats.discrete import bernoulli, betabinom, binom, geom, nbinom, poisson
from cotangent.scipy.stats.multivariate import dirichlet, multinomial, multivariate_normal
from cotangent.scipy.stats.samples import ModeResult, mode, rankdata, sem

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

_adopt_members(globals())

suggest_names(globals())
