"""Training steps of haiku's modules."""

from __future__ import annotations

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax


def _training(function, optimizer, *data):
    network = hk.transform(function)
    params = network.init(jax.random.PRNGKey(0), *data)

    @jax.jit
    def step(state):
        params, moments, key = state
        key, now = jax.random.split(key)
        value, gradients = jax.value_and_grad(network.apply)(params, now, *data)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments, key), value

    return step, (params, optimizer.init(params), jax.random.PRNGKey(1))


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def transformer_block():
    def loss(tokens):
        x = hk.Embed(64, 32)(tokens) + hk.get_parameter("positions", (24, 32), init=hk.initializers.RandomNormal(0.02))
        mask = jnp.tril(jnp.ones((1, 1, 24, 24)))
        for _ in range(2):
            y = hk.LayerNorm(-1, True, True)(x)
            y = hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0), model_size=32)(
                y, y, y, mask=mask
            )
            x = x + hk.dropout(hk.next_rng_key(), 0.1, y)
            y = hk.nets.MLP([128, 32], activation=jax.nn.gelu)(hk.LayerNorm(-1, True, True)(x))
            x = x + hk.dropout(hk.next_rng_key(), 0.1, y)
        logits = hk.Linear(64)(x)[:, :-1]
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 64, size=(4, 24)))
    return _training(loss, optax.adam(1e-3), tokens)


def convolutional_network():
    def loss(x, y):
        net = hk.Sequential([
            hk.Conv2D(6, 5), jax.nn.relu, hk.AvgPool(2, 2, "VALID"), hk.Conv2D(16, 5), jax.nn.relu,
            hk.AvgPool(2, 2, "VALID"), hk.Flatten(), hk.Linear(120), jax.nn.relu, hk.Linear(10),
        ])  # fmt: skip
        return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()

    return _training(loss, optax.adam(1e-3), _normal(0, 8, 28, 28, 1), jnp.arange(8) % 10)


def long_short_term_memory():
    def loss(x):
        core = hk.LSTM(32)
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(8))
        return jnp.mean((hk.BatchApply(hk.Linear(4))(outputs) - jnp.cumsum(x, 0)) ** 2)

    return _training(loss, optax.rmsprop(1e-3), _normal(0, 20, 8, 4))
