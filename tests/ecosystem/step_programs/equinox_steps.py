"""Training steps of equinox's modules."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax


def _training(model, loss, optimizer, *data):
    @eqx.filter_jit
    def step(state):
        model, moments = state
        value, gradients = eqx.filter_value_and_grad(loss)(model, *data)
        updates, moments = optimizer.update(gradients, moments, eqx.filter(model, eqx.is_inexact_array))
        return (eqx.apply_updates(model, updates), moments), value

    return step, (model, optimizer.init(eqx.filter(model, eqx.is_inexact_array)))


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def mlp():
    model = eqx.nn.MLP(16, 1, 64, 3, key=jax.random.key(0))
    x = _normal(0, 64, 16)

    def loss(model, x, y):
        return jnp.mean((jax.vmap(model)(x)[:, 0] - y) ** 2)

    return _training(model, loss, optax.adam(1e-3), x, jnp.sin(x.sum(1)))


def convolutional_network():
    class Net(eqx.Module):
        layers: list

        def __init__(self, key):
            a, b, c = jax.random.split(key, 3)
            self.layers = [
                eqx.nn.Conv2d(1, 8, 3, key=a), eqx.nn.MaxPool2d(2, 2), jax.nn.relu,
                eqx.nn.Conv2d(8, 16, 3, key=b), eqx.nn.MaxPool2d(2, 2), jax.nn.relu,
                jnp.ravel, eqx.nn.Linear(400, 10, key=c), jax.nn.log_softmax,
            ]  # fmt: skip

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    def loss(model, x, y):
        return -jnp.mean(jnp.take_along_axis(jax.vmap(model)(x), y[:, None], 1))

    return _training(Net(jax.random.key(0)), loss, optax.adamw(1e-3), _normal(0, 16, 1, 28, 28), jnp.arange(16) % 10)


def recurrent_network():
    class Net(eqx.Module):
        cell: eqx.nn.GRUCell
        out: eqx.nn.Linear

        def __call__(self, xs):
            h, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(32), xs)
            return self.out(h)

    a, b = jax.random.split(jax.random.key(0))
    model = Net(eqx.nn.GRUCell(4, 32, key=a), eqx.nn.Linear(32, 1, key=b))
    x = _normal(0, 32, 24, 4)

    def loss(model, x, y):
        return jnp.mean(optax.sigmoid_binary_cross_entropy(jax.vmap(model)(x)[:, 0], y))

    return _training(model, loss, optax.adam(3e-3), x, (x.sum((1, 2)) > 0).astype(jnp.float32))


def attention_with_dropout():
    class Block(eqx.Module):
        attention: eqx.nn.MultiheadAttention
        first: eqx.nn.LayerNorm
        second: eqx.nn.LayerNorm
        mlp: eqx.nn.MLP
        dropout: eqx.nn.Dropout

        def __call__(self, x, key):
            a, b = jax.random.split(key)
            y = jax.vmap(self.first)(x)
            x = x + self.dropout(self.attention(y, y, y), key=a)
            return x + self.dropout(jax.vmap(self.mlp)(jax.vmap(self.second)(x)), key=b)

    a, b = jax.random.split(jax.random.key(0))
    model = Block(
        eqx.nn.MultiheadAttention(4, 64, key=a), eqx.nn.LayerNorm(64), eqx.nn.LayerNorm(64),
        eqx.nn.MLP(64, 64, 128, 1, jax.nn.gelu, key=b), eqx.nn.Dropout(0.1),
    )  # fmt: skip
    keys = jax.random.split(jax.random.key(1), 4)

    def loss(model, x, keys):
        return jnp.mean((jax.vmap(model)(x, keys) - x[:, ::-1]) ** 2)

    return _training(model, loss, optax.adam(1e-3), _normal(0, 4, 32, 64), keys)


def batch_norm_state():
    model, state = eqx.nn.make_with_state(
        lambda: eqx.nn.Sequential([
            eqx.nn.Linear(16, 32, key=jax.random.key(0)), eqx.nn.BatchNorm(32, "batch", mode="batch"),
            eqx.nn.Lambda(jax.nn.relu), eqx.nn.Linear(32, 1, key=jax.random.key(1)),
        ])
    )()  # fmt: skip
    x = _normal(0, 64, 16)
    optimizer = optax.sgd(1e-2)

    def loss(model, state, x, y):
        out, state = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
        return jnp.mean((out[:, 0] - y) ** 2), state

    @eqx.filter_jit
    def step(everything):
        model, state, moments = everything
        (value, state), gradients = eqx.filter_value_and_grad(loss, has_aux=True)(model, state, x, x.sum(1))
        updates, moments = optimizer.update(gradients, moments)
        return (eqx.apply_updates(model, updates), state, moments), value

    return step, (model, state, optimizer.init(eqx.filter(model, eqx.is_inexact_array)))
