"""Training steps of flax's nnx modules."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


class _Mlp(nnx.Module):
    def __init__(self, sizes, rngs):
        self.layers = nnx.List([nnx.Linear(m, n, rngs=rngs) for m, n in zip(sizes[:-1], sizes[1:], strict=True)])

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = nnx.relu(layer(x))
        return self.layers[-1](x)


class _Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 8, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(14 * 14 * 8, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.conv(x)))
        x = nnx.avg_pool(x, (2, 2), (2, 2))
        return self.out(self.dropout(x.reshape(x.shape[0], -1)))


def _in_place(model, optimizer, loss):
    @nnx.jit
    def update(model, optimizer):
        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    def step(state):
        return state, update(*state)

    return step, (model, nnx.Optimizer(model, optimizer, wrt=nnx.Param))


def mlp_in_place():
    x = _normal(0, 32, 16)
    return _in_place(
        _Mlp([16, 64, 64, 1], nnx.Rngs(0)), optax.adam(1e-3), lambda m: jnp.mean((m(x)[:, 0] - x.sum(1)) ** 2)
    )


def convolutional_network_in_place():
    x, labels = _normal(0, 8, 28, 28, 1), jnp.arange(8) % 10

    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()

    return _in_place(_Net(nnx.Rngs(0)), optax.adamw(1e-3), loss)


def mlp_split_and_merge():
    x = _normal(0, 32, 16)
    graph, params = nnx.split(_Mlp([16, 64, 64, 1], nnx.Rngs(0)))
    optimizer = optax.adam(1e-3)

    @jax.jit
    def step(state):
        params, moments = state
        value, gradients = jax.value_and_grad(lambda p: jnp.mean((nnx.merge(graph, p)(x)[:, 0] - x.sum(1)) ** 2))(
            params
        )
        updates, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(params, updates), moments), value

    return step, (params, optimizer.init(params))
