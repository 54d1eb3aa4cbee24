"""Samplers of blackjax."""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp


def _log_density(x):
    return -0.5 * jnp.sum((x - 1.0) ** 2)


def _run(algorithm, steps=20):
    state = algorithm.init(jnp.zeros(2))
    step = jax.jit(algorithm.step)
    positions = []
    for key in jax.random.split(jax.random.key(0), steps):
        state, _ = step(key, state)
        positions.append(state.position)
    return jnp.stack(positions[:5])


def hamiltonian():
    return _run(blackjax.hmc(_log_density, step_size=0.2, inverse_mass_matrix=jnp.ones(2), num_integration_steps=5))


def no_u_turn():
    return _run(blackjax.nuts(_log_density, step_size=0.3, inverse_mass_matrix=jnp.ones(2)), 8)


def langevin():
    return _run(blackjax.mala(_log_density, step_size=0.1))


def random_walk():
    return _run(blackjax.additive_step_random_walk(_log_density, blackjax.mcmc.random_walk.normal(jnp.ones(2) * 0.5)))


def stochastic_gradient_langevin():
    algorithm = blackjax.sgld(lambda x, batch: -(x - batch.mean()))
    position = algorithm.init(jnp.zeros(2))
    for key in jax.random.split(jax.random.key(0), 5):
        position = algorithm.step(key, position, jnp.ones(3), 0.05)
    return position
