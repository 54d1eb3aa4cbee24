"""Steps in which the arithmetic counts, not the calls: larger products, convolutions, factorizations, sorts, spectra."""

from __future__ import annotations

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import lax
from tinygp import GaussianProcess, kernels


def _normal(seed, *shape, scale=1.0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32) * scale)


def _training(loss, params, optimizer, *data):
    @jax.jit
    def step(state):
        params, moments = state
        value, gradients = jax.value_and_grad(loss)(params, *data)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments), value

    return step, (params, optimizer.init(params))


def wide_mlp():
    sizes = [512, 1024, 1024, 512]
    params = [_normal(i, m, n, scale=m**-0.5) for i, (m, n) in enumerate(zip(sizes[:-1], sizes[1:], strict=True))]

    def loss(params, x):
        y = x
        for w in params[:-1]:
            y = jax.nn.gelu(y @ w)
        return jnp.mean((y @ params[-1] - x) ** 2)

    return _training(loss, params, optax.adam(1e-3), _normal(9, 128, 512))


def linen_wide_convolutions():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (32, 64):
                x = nn.relu(nn.GroupNorm(8)(nn.Conv(features, (3, 3))(x)))
                x = nn.relu(nn.Conv(features, (3, 3), strides=(2, 2))(x))
            return nn.Dense(10)(x.mean((1, 2)))

    x, labels = _normal(0, 16, 32, 32, 3), jnp.arange(16) % 10
    model = Net()

    def loss(params):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, x), labels).mean()

    return _training(loss, model.init(jax.random.key(0), x), optax.sgd(1e-2, momentum=0.9))


def linen_depthwise_convolutions():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(32, (4, 4), strides=(4, 4))(x)
            for _ in range(2):
                y = nn.Conv(32, (7, 7), feature_group_count=32)(x)
                x = x + nn.Dense(32)(nn.gelu(nn.Dense(128)(nn.LayerNorm()(y))))
            return nn.Dense(10)(x.mean((1, 2)))

    x, labels = _normal(0, 8, 64, 64, 3), jnp.arange(8) % 10
    model = Net()

    def loss(params):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, x), labels).mean()

    return _training(loss, model.init(jax.random.key(0), x), optax.adamw(1e-3))


def long_attention():
    params = {"qkv": _normal(0, 128, 384, scale=0.09), "out": _normal(1, 128, 128, scale=0.09)}

    def loss(params, x):
        q, k, v = jnp.split((x @ params["qkv"]).reshape(2, 256, 4, 96), 3, -1)
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return jnp.mean((mixed.reshape(2, 256, 128) @ params["out"] - x) ** 2)

    return _training(loss, params, optax.adam(1e-3), _normal(2, 2, 256, 128))


def equinox_vision_transformer():
    class Block(eqx.Module):
        norms: list
        attention: eqx.nn.MultiheadAttention
        mlp: eqx.nn.MLP

        def __init__(self, key):
            a, b = jax.random.split(key)
            self.norms = [eqx.nn.LayerNorm(96), eqx.nn.LayerNorm(96)]
            self.attention = eqx.nn.MultiheadAttention(6, 96, key=a)
            self.mlp = eqx.nn.MLP(96, 96, 192, 1, jax.nn.gelu, key=b)

        def __call__(self, x):
            y = jax.vmap(self.norms[0])(x)
            x = x + self.attention(y, y, y)
            return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))

    class Net(eqx.Module):
        patches: eqx.nn.Linear
        blocks: list
        head: eqx.nn.Linear

        def __init__(self, key):
            a, b, *keys = jax.random.split(key, 6)
            self.patches, self.head = eqx.nn.Linear(48, 96, key=a), eqx.nn.Linear(96, 10, key=b)
            self.blocks = [Block(k) for k in keys]

        def __call__(self, image):
            x = image.reshape(3, 8, 4, 8, 4).transpose(1, 3, 0, 2, 4).reshape(64, 48)
            x = jax.vmap(self.patches)(x)
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean(0))

    model, x, labels = Net(jax.random.key(0)), _normal(0, 8, 3, 32, 32), jnp.arange(8) % 10
    optimizer = optax.adamw(1e-3)

    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), labels).mean()

    @eqx.filter_jit
    def step(state):
        model, moments = state
        value, gradients = eqx.filter_value_and_grad(loss)(model)
        updates, moments = optimizer.update(gradients, moments, eqx.filter(model, eqx.is_array))
        return (eqx.apply_updates(model, updates), moments), value

    return step, (model, optimizer.init(eqx.filter(model, eqx.is_array)))


def nnx_transformer_in_place():
    class Block(nnx.Module):
        def __init__(self, rngs):
            self.attention = nnx.MultiHeadAttention(num_heads=4, in_features=128, decode=False, rngs=rngs)
            self.first, self.second = nnx.LayerNorm(128, rngs=rngs), nnx.LayerNorm(128, rngs=rngs)
            self.up, self.down = nnx.Linear(128, 512, rngs=rngs), nnx.Linear(512, 128, rngs=rngs)

        def __call__(self, x):
            x = x + self.attention(self.first(x))
            return x + self.down(nnx.gelu(self.up(self.second(x))))

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(256, 128, rngs=rngs)
            self.blocks = nnx.List([Block(rngs) for _ in range(2)])
            self.head = nnx.Linear(128, 256, rngs=rngs)

        def __call__(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 256, size=(4, 64)))
    model = Net(nnx.Rngs(0))

    @nnx.jit
    def update(model, optimizer):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(tokens)[:, :-1], tokens[:, 1:]).mean()

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    def step(state):
        return state, update(*state)

    return step, (model, nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param))


def long_recurrence():
    params = {
        "i": _normal(0, 64, 512, scale=0.1),
        "h": _normal(1, 128, 512, scale=0.08),
        "o": _normal(2, 128, 64, scale=0.1),
    }

    def loss(params, x):
        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ params["i"] + h @ params["h"], 4, -1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h @ params["o"]

        return jnp.mean((lax.scan(cell, (jnp.zeros((32, 128)),) * 2, x)[1][:-1] - x[1:]) ** 2)

    return _training(loss, params, optax.adam(1e-3), _normal(3, 40, 32, 64))


def embedding_table():
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 10000, size=(64, 20)))
    params = {"table": _normal(1, 10000, 32, scale=0.1), "out": _normal(2, 32, 16, scale=0.2)}

    def loss(params, tokens):
        return jnp.mean((params["table"][tokens].mean(1) @ params["out"] - 1) ** 2)

    return _training(loss, params, optax.adagrad(1e-2), tokens)


def tinygp_400_points():
    x = jnp.linspace(0.0, 20.0, 400)
    y = jnp.sin(x) + 0.1 * _normal(0, 400)

    def loss(params):
        kernel = jnp.exp(params[0]) * kernels.ExpSquared(jnp.exp(params[1]))
        return -GaussianProcess(kernel, x, diag=jnp.exp(params[2])).log_probability(y)

    return _training(loss, jnp.array([0.0, 0.0, -2.0]), optax.adam(1e-2))


def eigenvalues_and_singular_values():
    def loss(a):
        values, vectors = jnp.linalg.eigh(a @ a.T + jnp.eye(48))
        return jnp.sum(jnp.log(values)) + jnp.sum(vectors[:, 0] ** 2) + jnp.sum(jnp.linalg.svd(a, compute_uv=False))

    return _training(loss, _normal(0, 48, 48), optax.sgd(1e-3))


def batch_of_small_systems():
    matrices, right = _normal(0, 256, 8, 8) + 4 * jnp.eye(8), _normal(1, 256, 8, 1)

    def loss(matrices):
        return jnp.mean(jnp.linalg.solve(matrices, right) ** 2) + 1e-3 * jnp.mean(jnp.linalg.slogdet(matrices)[1])

    return _training(loss, matrices, optax.sgd(1e-2))


def spectrum_loss():
    def loss(x, y):
        frames = jnp.stack([x[i * 128 : i * 128 + 256] for i in range(30)]) * jnp.hanning(256)
        return jnp.mean((jnp.abs(jnp.fft.rfft(frames)) - y) ** 2)

    return _training(loss, _normal(0, 4096), optax.adam(1e-2), jnp.abs(_normal(1, 30, 129)))


def sorted_quantiles():
    def loss(x):
        order = jnp.sort(x, axis=1)
        return jnp.mean((order - jnp.linspace(-1, 1, 1024)) ** 2) + jnp.mean(jnp.quantile(x, 0.9, axis=1))

    return _training(loss, _normal(0, 16, 1024), optax.adam(1e-2))


def particles():
    def energy(positions):
        difference = positions[:, None] - positions[None]
        square = jnp.sum(difference**2, -1) + jnp.eye(200)
        inverse = (0.3 / square) ** 3
        return 2 * jnp.sum(jnp.where(jnp.eye(200, dtype=bool), 0.0, inverse**2 - inverse))

    @jax.jit
    def step(state):
        def move(state, _):
            position, velocity = state
            velocity = velocity - 5e-4 * jax.grad(energy)(position)
            return (position + 1e-3 * velocity, velocity), None

        state, _ = lax.scan(move, state, None, length=10)
        return state, energy(state[0])

    grid = jnp.stack(jnp.meshgrid(*[jnp.arange(6.0)] * 3, indexing="ij"), -1).reshape(-1, 3)[:200]
    return step, (grid + _normal(0, 200, 3, scale=0.05), jnp.zeros((200, 3)))


def cellular_simulation():
    @jax.jit
    def step(u):
        def move(u, _):
            around = sum(jnp.roll(u, shift, axis) for shift in (-1, 1) for axis in (0, 1)) - 4 * u
            return u + 0.1 * around + 0.01 * u * (1 - u), None

        u, _ = lax.scan(move, u, None, length=20)
        return u, u.mean()

    return step, jax.nn.sigmoid(_normal(0, 128, 128))
