"""Modules of haiku."""

from __future__ import annotations

import haiku as hk
import jax
import jax.numpy as jnp


def mlp_training():
    x = jax.random.normal(jax.random.key(0), (16, 3))
    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 1])(x)))
    params = model.init(jax.random.key(1), x)
    step = jax.jit(
        lambda p: jax.tree.map(
            lambda a, g: a - 0.1 * g, p, jax.grad(lambda p: jnp.mean((model.apply(p, x)[:, 0] - x.sum(1)) ** 2))(p)
        )
    )
    for _ in range(5):
        params = step(params)
    return params


def convolutions_batch_norm():
    def net(x):
        x = hk.Conv2D(4, 3)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, is_training=True)
        return hk.Linear(2)(jax.nn.relu(x).mean((1, 2)))

    x = jax.random.normal(jax.random.key(0), (2, 8, 8, 1))
    model = hk.transform_with_state(net)
    params, state = model.init(jax.random.key(1), x)
    return model.apply(params, state, None, x)


def recurrent():
    def net(x):
        core = hk.LSTM(4)
        return hk.dynamic_unroll(core, x, core.initial_state(2))[0]

    x = jax.random.normal(jax.random.key(0), (5, 2, 3))
    model = hk.transform(net)
    params = model.init(jax.random.key(1), x)
    return jax.grad(lambda p: model.apply(p, None, x).sum())(params)


def attention_and_layer_norm():
    def net(x):
        x = hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling(1.0))(x, x, x)
        return hk.dropout(hk.next_rng_key(), 0.2, hk.LayerNorm(-1, True, True)(x))

    x = jax.random.normal(jax.random.key(0), (2, 5, 8))
    model = hk.transform(net)
    params = model.init(jax.random.key(1), x)
    return model.apply(params, jax.random.key(2), x)


def layer_stack():
    def net(x):
        return hk.experimental.layer_stack(3)(lambda x: jnp.tanh(hk.Linear(4)(x)))(x)

    model = hk.without_apply_rng(hk.transform(net))
    params = model.init(jax.random.key(0), jnp.ones((2, 4)))
    return jax.grad(lambda p: model.apply(p, jnp.ones((2, 4))).sum())(params)
