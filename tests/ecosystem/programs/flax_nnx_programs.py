"""Modules of flax's nnx."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class _Mlp(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 8, rngs=rngs)
        self.second = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))


def mlp_training():
    x = jax.random.normal(jax.random.key(0), (16, 3))
    model = _Mlp(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        value, gradients = nnx.value_and_grad(lambda m: jnp.mean((m(x)[:, 0] - x.sum(1)) ** 2))(model)
        optimizer.update(model, gradients)
        return value

    return [step(model, optimizer) for _ in range(8)], jax.tree.leaves(nnx.state(model))


def convolutions_batch_norm_dropout():
    class Net(nnx.Module):
        def __init__(self, rngs):
            self.conv = nnx.Conv(1, 4, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(4, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            return self.dropout(self.norm(self.conv(x)))

    model = Net(nnx.Rngs(0, dropout=1))
    out = model(jax.random.normal(jax.random.key(0), (2, 6, 6, 1)))
    return out, model.norm.mean[...]


def split_and_merge():
    model = _Mlp(nnx.Rngs(0))
    graph, state = nnx.split(model)
    return jax.jit(lambda state, x: nnx.merge(graph, state)(x))(state, jnp.ones((2, 3)))


def attention():
    layer = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=nnx.Rngs(0))
    return layer(jax.random.normal(jax.random.key(0), (2, 4, 8)))


def scan_over_layers():
    @nnx.vmap(in_axes=0, out_axes=0)
    def make(rngs):
        return nnx.Linear(4, 4, rngs=rngs)

    layers = make(nnx.Rngs(0).fork(split=3))

    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def forward(x, layer):
        return jnp.tanh(layer(x))

    return forward(jnp.ones((2, 4)), layers)
