"""Steps of samplers and of inference: numpyro, blackjax, distrax, flowjax, tinygp."""

from __future__ import annotations

import blackjax
import distrax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
from numpyro.infer import NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.util import initialize_model
from tinygp import GaussianProcess, kernels


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def _hierarchy(x, group, y):
    centre = numpyro.sample("centre", dist.Normal(0.0, 1.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.Exponential(1.0))
    with numpyro.plate("groups", 8):
        slope = numpyro.sample("slope", dist.Normal(centre, spread))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(slope[group] * x, noise), obs=y)


def _data():
    x, group = _normal(0, 200), jnp.arange(200) % 8
    return x, group, 0.5 * x * (1 + group / 4) + 0.1 * _normal(1, 200)


def numpyro_potential_and_gradient():
    start, potential, _, _ = initialize_model(jax.random.PRNGKey(0), _hierarchy, model_args=_data())

    @jax.jit
    def step(position):
        value, gradient = jax.value_and_grad(potential)(position)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, position, gradient), value

    return step, start.z


def numpyro_variational_inference():
    svi = SVI(_hierarchy, AutoNormal(_hierarchy), numpyro.optim.Adam(1e-2), Trace_ELBO())
    data = _data()
    return jax.jit(lambda state: svi.update(state, *data)), svi.init(jax.random.PRNGKey(0), *data)


def numpyro_no_u_turn():
    data = _data()
    kernel = NUTS(_hierarchy, step_size=0.02, adapt_step_size=False, adapt_mass_matrix=False, max_tree_depth=4)
    state = kernel.init(jax.random.PRNGKey(0), 0, None, data, {})

    @jax.jit
    def step(state):
        state = kernel.sample(state, data, {})
        return state, state.potential_energy

    return step, state


def _blackjax(algorithm):
    @jax.jit
    def step(everything):
        key, state = everything
        key, now = jax.random.split(key)
        state, _ = algorithm.step(now, state)
        return (key, state), state.position

    return step, (jax.random.key(0), algorithm.init(jnp.zeros(8)))


def _regression_density():
    x, y = _normal(0, 100, 8), (_normal(1, 100) > 0).astype(jnp.float32)
    return lambda w: -jnp.sum(jax.nn.softplus(x @ w) - y * (x @ w)) - 0.5 * w @ w


def blackjax_hamiltonian():
    return _blackjax(
        blackjax.hmc(_regression_density(), step_size=0.05, inverse_mass_matrix=jnp.ones(8), num_integration_steps=16)
    )


def blackjax_no_u_turn():
    return _blackjax(
        blackjax.nuts(_regression_density(), step_size=0.1, inverse_mass_matrix=jnp.ones(8), max_num_doublings=4)
    )


def distrax_flow():
    masks = [jnp.arange(4) % 2 == i % 2 for i in range(4)]
    generator = np.random.default_rng(0)

    def dense(m, n):
        return jnp.asarray(generator.normal(size=(m, n)).astype(np.float32) * 0.1)

    params = [(dense(4, 32), dense(32, 8)) for _ in masks]
    x = _normal(1, 64, 4) * jnp.array([1.0, 2.0, 0.5, 1.0]) + 1
    optimizer = optax.adam(1e-3)

    def loss(params):
        layers = []
        for (a, b), mask in zip(params, masks, strict=True):
            conditioner = lambda v, a=a, b=b: jnp.tanh(v @ a) @ b
            layers.append(
                distrax.MaskedCoupling(
                    mask, conditioner, lambda p: distrax.ScalarAffine(shift=p[..., :4], log_scale=0.1 * p[..., 4:])
                )
            )
        base = distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4))
        return -distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers))).log_prob(x).mean()

    @jax.jit
    def step(state):
        params, moments = state
        value, gradients = jax.value_and_grad(loss)(params)
        updates, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(params, updates), moments), value

    return step, (params, optimizer.init(params))


def tinygp_hyperparameters():
    x = jnp.linspace(0.0, 10.0, 100)
    y = jnp.sin(x) + 0.1 * _normal(0, 100)

    def loss(params):
        kernel = jnp.exp(params["amplitude"]) * kernels.Matern52(jnp.exp(params["scale"]))
        return -GaussianProcess(kernel, x, diag=jnp.exp(params["noise"])).log_probability(y)

    @jax.jit
    def step(params):
        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), value

    return step, {"amplitude": jnp.array(0.0), "scale": jnp.array(0.0), "noise": jnp.array(-2.0)}
