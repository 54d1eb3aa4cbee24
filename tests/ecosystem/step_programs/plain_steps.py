"""Training steps that are written with JAX alone."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _normal(seed, *shape, scale=1.0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32) * scale)


def _descent(loss, params, rate, *data):
    @jax.jit
    def step(params):
        value, gradients = jax.value_and_grad(loss)(params, *data)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradients), value

    return step, params


def logistic_regression():
    x, y = _normal(0, 256, 32), (_normal(1, 256) > 0).astype(jnp.float32)

    def loss(params, x, y):
        logits = x @ params["w"] + params["b"]
        return jnp.mean(jax.nn.softplus(logits) - y * logits)

    return _descent(loss, {"w": jnp.zeros(32), "b": jnp.zeros(())}, 0.1, x, y)


def transformer_scan_over_layers():
    layers, width, heads, length = 4, 64, 4, 32
    scale = width**-0.5
    params = {
        "qkv": _normal(0, layers, width, 3 * width, scale=scale),
        "out": _normal(1, layers, width, width, scale=scale),
        "up": _normal(2, layers, width, 4 * width, scale=scale),
        "down": _normal(3, layers, 4 * width, width, scale=scale / 2),
        "gain": jnp.ones((layers, 2, width)),
    }
    x = _normal(4, 2, length, width)

    def norm(x, gain):
        return gain * (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    @jax.checkpoint
    def block(x, layer):
        q, k, v = jnp.split(norm(x, layer["gain"][0]) @ layer["qkv"], 3, -1)
        q, k, v = (a.reshape(*a.shape[:2], heads, -1) for a in (q, k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape)
        x = x + mixed @ layer["out"]
        return x + jax.nn.gelu(norm(x, layer["gain"][1]) @ layer["up"]) @ layer["down"], None

    def loss(params, x):
        y, _ = lax.scan(block, x, params)
        return jnp.mean((y[:, :-1] - x[:, 1:]) ** 2)

    return _descent(loss, params, 0.01, x)


def recurrent_network_scan():
    params = {"i": _normal(0, 8, 32, scale=0.3), "h": _normal(1, 32, 32, scale=0.15), "o": _normal(2, 32, 4, scale=0.2)}
    x, y = _normal(3, 50, 16, 8), _normal(4, 50, 16, 4)

    def loss(params, x, y):
        def cell(h, x):
            h = jnp.tanh(x @ params["i"] + h @ params["h"])
            return h, h @ params["o"]

        return jnp.mean((lax.scan(cell, jnp.zeros((16, 32)), x)[1] - y) ** 2)

    return _descent(loss, params, 0.05, x, y)


def private_gradients():
    params = [_normal(0, 64, 64, scale=0.1), _normal(1, 64, 10, scale=0.1)]
    x, y = _normal(2, 64, 64), jnp.arange(64) % 10

    def loss(params, x, y):
        return -jax.nn.log_softmax(jax.nn.relu(x @ params[0]) @ params[1])[y]

    def clipped(params, x, y):
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in gradient))
        return value, [g / jnp.maximum(1.0, norm) for g in gradient]

    @jax.jit
    def step(state):
        params, key = state
        key, noise = jax.random.split(key)
        values, gradients = jax.vmap(clipped, (None, 0, 0))(params, x, y)
        noises = jax.random.split(noise, len(params))
        return (
            [
                p - 0.1 * (g.sum(0) + 1.1 * jax.random.normal(k, p.shape)) / 64
                for p, g, k in zip(params, gradients, noises, strict=True)
            ],
            key,
        ), values.mean()

    return step, (params, jax.random.key(0))


def convolutional_network():
    params = {
        "a": _normal(0, 3, 3, 1, 16, scale=0.3),
        "b": _normal(1, 3, 3, 16, 32, scale=0.1),
        "c": _normal(2, 1568, 10, scale=0.03),
    }
    x, y = _normal(3, 16, 28, 28, 1), jnp.arange(16) % 10
    conv = functools.partial(
        lax.conv_general_dilated, window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(params, x, y):
        x = pool(jax.nn.relu(conv(x, params["a"])))
        x = pool(jax.nn.relu(conv(x, params["b"])))
        logits = x.reshape(x.shape[0], -1) @ params["c"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

    return _descent(loss, params, 0.05, x, y)


def learning_to_adapt():
    params = [_normal(0, 1, 40), jnp.zeros(40), _normal(1, 40, 1, scale=0.15), jnp.zeros(1)]
    x = _normal(2, 8, 10, 1)
    amplitude, phase = jnp.linspace(0.5, 2.0, 8)[:, None, None], jnp.linspace(0.0, 3.0, 8)[:, None, None]
    y = amplitude * jnp.sin(x + phase)

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params[0] + params[1]) @ params[2] + params[3] - y) ** 2)

    def adapted(params, x, y):
        gradients = jax.grad(loss)(params, x[:5], y[:5])
        return loss([p - 0.1 * g for p, g in zip(params, gradients, strict=True)], x[5:], y[5:])

    def over_tasks(params, x, y):
        return jax.vmap(adapted, (None, 0, 0))(params, x, y).mean()

    return _descent(over_tasks, params, 0.01, x, y)


def newton_by_conjugate_gradients():
    matrix, target = _normal(0, 100, 20), _normal(1, 100)

    def loss(w):
        return jnp.mean(jnp.sqrt(1 + (matrix @ w - target) ** 2)) + 0.01 * w @ w

    @jax.jit
    def step(w):
        gradient = jax.grad(loss)(w)
        direction, _ = jax.scipy.sparse.linalg.cg(
            lambda v: jax.jvp(jax.grad(loss), (w,), (v,))[1], gradient, maxiter=10
        )
        return w - direction, loss(w)

    return step, jnp.ones(20)


def ensemble_by_vmap():
    params = [_normal(0, 10, 16, 32, scale=0.2), _normal(1, 10, 32, 1, scale=0.2)]
    x, y = _normal(2, 64, 16), _normal(3, 64, 1)

    def loss(params, x, y):
        return jnp.mean((jax.nn.gelu(x @ params[0]) @ params[1] - y) ** 2)

    @jax.jit
    def step(params):
        values, gradients = jax.vmap(jax.value_and_grad(loss), (0, None, None))(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), values

    return step, params


def variational_autoencoder():
    params = {
        "encode": _normal(0, 196, 64, scale=0.07), "mean": _normal(1, 64, 8, scale=0.1), "scale": _normal(2, 64, 8, scale=0.1),
        "decode": _normal(3, 8, 64, scale=0.3), "out": _normal(4, 64, 196, scale=0.1),
    }  # fmt: skip
    x = (_normal(5, 32, 196) > 0).astype(jnp.float32)

    def loss(params, x, key):
        h = jax.nn.relu(x @ params["encode"])
        mean, log_scale = h @ params["mean"], h @ params["scale"]
        z = mean + jnp.exp(log_scale) * jax.random.normal(key, mean.shape)
        logits = jax.nn.relu(z @ params["decode"]) @ params["out"]
        kl = 0.5 * jnp.sum(jnp.exp(2 * log_scale) + mean**2 - 1 - 2 * log_scale, -1)
        return jnp.mean(jnp.sum(jax.nn.softplus(logits) - x * logits, -1) + kl)

    @jax.jit
    def step(state):
        params, key = state
        key, now = jax.random.split(key)
        value, gradients = jax.value_and_grad(loss)(params, x, now)
        return (jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), key), value

    return step, (params, jax.random.key(0))
