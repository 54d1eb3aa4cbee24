"""More of numpyro: handlers, reparametrization, guides, discrete enumeration, Gaussian processes, further samplers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer import HMC, MCMC, SVI, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoDelta, AutoMultivariateNormal
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import log_density


def _schools(effects=None):
    mean = numpyro.sample("mean", dist.Normal(0, 5))
    scale = numpyro.sample("scale", dist.HalfCauchy(5))
    with numpyro.plate("schools", 4):
        theta = numpyro.sample("theta", dist.Normal(mean, scale))
        numpyro.sample("y", dist.Normal(theta, 10.0), obs=effects)


DATA = jnp.array([28.0, 8.0, -3.0, 7.0])


def traced_sites():
    trace = handlers.trace(handlers.seed(_schools, 0)).get_trace()
    return {name: site["value"] for name, site in trace.items() if site["type"] == "sample"}


def conditioned_and_substituted():
    model = handlers.condition(handlers.seed(_schools, 0), {"mean": 1.0})
    return handlers.trace(handlers.substitute(model, {"scale": 2.0})).get_trace()["theta"]["value"]


def joint_density():
    values = {"mean": 1.0, "scale": 2.0, "theta": jnp.arange(4.0)}
    return log_density(_schools, (DATA,), {}, values)[0], jax.grad(lambda v: log_density(_schools, (DATA,), {}, v)[0])(
        values
    )


def reparametrized():
    model = handlers.reparam(_schools, {"theta": LocScaleReparam(0)})
    return sorted(handlers.trace(handlers.seed(model, 1)).get_trace())[0] == "mean", handlers.trace(
        handlers.seed(model, 1)
    ).get_trace()["theta"]["value"]


def hamiltonian_sampler():
    sampler = MCMC(
        HMC(_schools, step_size=0.1, num_steps=4, adapt_step_size=False),
        num_warmup=0,
        num_samples=6,
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0), DATA)
    return sampler.get_samples()["mean"]


def several_chains():
    sampler = MCMC(
        HMC(_schools, step_size=0.1, num_steps=3, adapt_step_size=False),
        num_warmup=0,
        num_samples=4,
        num_chains=2,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0), DATA)
    return sampler.get_samples(group_by_chain=True)["mean"]


def point_estimate():
    guide = AutoDelta(_schools)
    svi = SVI(_schools, guide, numpyro.optim.Adam(0.1), Trace_ELBO())
    return svi.run(jax.random.PRNGKey(0), 20, DATA, progress_bar=False).losses


def full_rank_guide():
    guide = AutoMultivariateNormal(_schools)
    svi = SVI(_schools, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    return svi.run(jax.random.PRNGKey(0), 15, DATA, progress_bar=False).losses


def likelihood_of_samples():
    samples = {"mean": jnp.zeros(2), "scale": jnp.ones(2), "theta": jnp.ones((2, 4))}
    return log_likelihood(_schools, samples, DATA)["y"]


def mixture_marginalized():
    mixture = dist.MixtureSameFamily(dist.Categorical(jnp.array([0.4, 0.6])), dist.Normal(jnp.array([0.0, 3.0]), 1.0))
    return mixture.log_prob(jnp.array([0.5, 2.0])), mixture.sample(jax.random.PRNGKey(0), (3,))


def transformed_and_truncated():
    kinds = [
        dist.TransformedDistribution(dist.Normal(0, 1), dist.transforms.ExpTransform()),
        dist.TruncatedNormal(0.0, 1.0, low=0.5),
        dist.LKJCholesky(3, 1.5),
        dist.ImproperUniform(dist.constraints.real, (), ()),
    ]
    return (
        kinds[0].log_prob(1.5),
        kinds[1].log_prob(0.7),
        kinds[2].sample(jax.random.PRNGKey(0)),
        kinds[3].log_prob(0.3),
    )


def scan_time_series():
    from numpyro.contrib.control_flow import scan

    def model(y):
        drift = numpyro.sample("drift", dist.Normal(0, 1))

        def step(carry, y):
            state = numpyro.sample("y", dist.Normal(drift * carry, 1.0), obs=y)
            return state, state

        scan(step, 0.0, y)

    return log_density(model, (jnp.arange(4.0),), {}, {"drift": 0.5})[0]
