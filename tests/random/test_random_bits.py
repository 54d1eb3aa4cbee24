"""One key gives the same bits in every tier; rejection methods of large parameters keep their variance in single precision."""

import math

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import random

DRAWS = {
    "uniform": lambda k: random.uniform(k, (50,), minval=-1.3, maxval=2.7),
    "normal": lambda k: random.normal(k, (50,)),
    "normal of 64 bits": lambda k: random.normal(k, (50,), "float64"),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 2.0, (50,)),
    "gamma": lambda k: random.gamma(k, 2.5, (50,)),
    "gamma below 1": lambda k: random.gamma(k, 0.3, (50,)),
    "loggamma": lambda k: random.loggamma(k, 0.3, (50,)),
    "beta": lambda k: random.beta(k, 2.0, 3.0, (50,)),
    "dirichlet": lambda k: random.dirichlet(k, cnp.ones(3), (20,)),
    "dirichlet of many": lambda k: random.dirichlet(k, cnp.ones(37), (5,)),
    "exponential": lambda k: random.exponential(k, (50,)),
    "laplace": lambda k: random.laplace(k, (50,)),
    "logistic": lambda k: random.logistic(k, (50,)),
    "gumbel": lambda k: random.gumbel(k, (50,)),
    "cauchy": lambda k: random.cauchy(k, (50,)),
    "poisson": lambda k: random.poisson(k, 30.0, (50,)),
    "binomial": lambda k: random.binomial(k, 100, 0.3, (50,)),
    "t": lambda k: random.t(k, 3.0, (50,)),
    "chisquare": lambda k: random.chisquare(k, 3.0, (50,)),
    "f": lambda k: random.f(k, 3.0, 4.0, (50,)),
    "generalized_normal": lambda k: random.generalized_normal(k, 1.5, (50,)),
    "ball": lambda k: random.ball(k, 37, shape=(5,)),
    "pareto": lambda k: random.pareto(k, 2.0, (50,)),
    "rayleigh": lambda k: random.rayleigh(k, 1.0, (50,)),
    "wald": lambda k: random.wald(k, 1.0, (50,)),
    "weibull_min": lambda k: random.weibull_min(k, 1.0, 2.0, (50,)),
    "maxwell": lambda k: random.maxwell(k, (50,)),
    "triangular": lambda k: random.triangular(k, 0.0, 0.3, 1.0, (50,)),
    "geometric": lambda k: random.geometric(k, 0.2, (50,)),
    "categorical": lambda k: random.categorical(k, cnp.arange(5.0), shape=(50,)),
}


@pytest.mark.parametrize("name", list(DRAWS))
def test_same_key_same_bits(name):
    key, draw = random.PRNGKey(3), DRAWS[name]
    first = np.asarray(draw(key))
    others = {
        "second": draw(key),
        "third": draw(key),
        "jit": ct.jit(draw)(key),
        "interpreter": ct.jit(draw, backend="interpreter")(key),
        "vmap": ct.vmap(draw)(key[None])[0],
        "compiled vmap": ct.jit(ct.vmap(draw))(key[None])[0],
    }
    for tier, result in others.items():
        np.testing.assert_array_equal(np.asarray(result), first, err_msg=tier)


@pytest.mark.parametrize("mean", [20.0, 1e3, 1e6, 1e8])
def test_variance_of_poisson(mean):
    count = 20_000
    draws = np.asarray(ct.jit(lambda k: random.poisson(k, mean, (count,)))(random.PRNGKey(1)), "float64")
    assert abs(draws.mean() - mean) < 5 * math.sqrt(mean / count) + 1e-7 * mean
    assert abs(draws.var() / mean - 1) < 5 * math.sqrt(2 / count)


@pytest.mark.parametrize(("trials", "probability"), [(1e3, 0.3), (1e6, 0.3), (1e8, 0.3), (1e8, 0.6), (1e7, 1e-4)])
def test_variance_of_binomial(trials, probability):
    count = 20_000
    draws = ct.jit(lambda k: random.binomial(k, trials, probability, (count,)))(random.PRNGKey(2))
    draws = np.asarray(draws, "float64")
    p = float(np.float32(probability))
    variance = trials * p * (1 - p)
    assert abs(draws.mean() - trials * p) < 5 * math.sqrt(variance / count) + 1e-7 * trials
    assert abs(draws.var() / variance - 1) < 5 * math.sqrt(2 / count)
