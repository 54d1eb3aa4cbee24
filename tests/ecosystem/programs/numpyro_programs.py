"""Distributions, inference by sampling and by optimization with numpyro."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal


def _regression(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(slope * x, noise), obs=y)


def nuts_means():
    x = jnp.linspace(-1, 1, 20)
    sampler = MCMC(NUTS(_regression), num_warmup=100, num_samples=200, progress_bar=False)
    sampler.run(jax.random.PRNGKey(0), x, 2.0 * x + 0.1 * jnp.sin(20 * x))
    return jnp.round(sampler.get_samples()["slope"].mean(), 1)


def variational_inference():
    x = jnp.linspace(-1, 1, 20)
    guide = AutoNormal(_regression)
    svi = SVI(_regression, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(jax.random.PRNGKey(0), 50, x, 2.0 * x, progress_bar=False)
    return result.losses


def predictive():
    return Predictive(_regression, num_samples=5)(jax.random.PRNGKey(0), jnp.linspace(-1, 1, 4))["y"]


def log_densities():
    x = jnp.array([0.3, 0.6])
    kinds = [
        dist.Normal(0, 1),
        dist.Gamma(2.0, 1.0),
        dist.Beta(2.0, 3.0),
        dist.StudentT(3.0),
        dist.Exponential(1.5),
        dist.LogNormal(0, 1),
        dist.Cauchy(0, 1),
    ]
    return [kind.log_prob(x) for kind in kinds] + [jax.grad(lambda a: dist.Gamma(a, 1.0).log_prob(x).sum())(2.0)]


def samples():
    key = jax.random.PRNGKey(1)
    kinds = [
        dist.Dirichlet(jnp.ones(3)),
        dist.Categorical(jnp.ones(3) / 3),
        dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
        dist.Poisson(3.0),
        dist.Gamma(2.0),
    ]
    return [kind.sample(key, (4,)) for kind in kinds]
