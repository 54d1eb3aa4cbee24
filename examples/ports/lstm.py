"""An LSTM that predicts the sunspot-like sum of two sines with drifting phase, scanned over time.

Written for JAX; only the imports were changed.
"""

import cotangent as jax
import cotangent.numpy as jnp
import numpy as np
from cotangent import lax, random

HIDDEN, LENGTH, BATCH, STEPS, RATE = 24, 60, 32, 300, 0.01


def init(key):
    k1, k2, k3 = random.split(key, 3)
    return {
        "input": random.normal(k1, (1, 4 * HIDDEN)) * 0.5,
        "hidden": random.normal(k2, (HIDDEN, 4 * HIDDEN)) / np.sqrt(HIDDEN),
        "bias": jnp.zeros(4 * HIDDEN),
        "out": random.normal(k3, (HIDDEN, 1)) / np.sqrt(HIDDEN),
    }


def cell(params, state, x):
    h, c = state
    i, f, g, o = jnp.split(x @ params["input"] + h @ params["hidden"] + params["bias"], 4, axis=-1)
    c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h @ params["out"]


def predict(params, series):
    """series: (LENGTH, 1); the prediction of every next value."""
    start = (jnp.zeros(HIDDEN), jnp.zeros(HIDDEN))
    return lax.scan(lambda state, x: cell(params, state, x), start, series)[1]


def loss(params, batch):
    predictions = jax.vmap(predict, in_axes=(None, 0))(params, batch[:, :-1])
    return jnp.mean((predictions - batch[:, 1:]) ** 2)


@jax.jit
def step(params, square, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), grads)
    square = jax.tree.map(lambda s, g: 0.95 * s + 0.05 * g**2, square, grads)
    return jax.tree.map(lambda p, g, s: p - RATE * g / (jnp.sqrt(s) + 1e-4), params, grads, square), square, value


def series(draw, count):
    t = np.arange(LENGTH + 1)
    phase, speed = draw.uniform(0, 6, (count, 2, 1)), draw.uniform(0.15, 0.35, (count, 2, 1))
    waves = np.sin(speed * t + phase).sum(1) / 2 + 0.02 * draw.standard_normal((count, LENGTH + 1))
    return waves[..., None].astype(np.float32)


def main():
    """Returns the mean squared error on fresh series, and that of repeating the last value."""
    draw = np.random.default_rng(0)
    params = init(random.key(2))
    square = jax.tree.map(lambda p: 0.01 * jnp.ones_like(p), params)
    for _ in range(STEPS):
        params, square, _ = step(params, square, series(draw, BATCH))
    fresh = series(draw, 64)
    return {"error": float(loss(params, fresh)), "repeating": float(np.mean((fresh[:, 1:] - fresh[:, :-1]) ** 2))}


if __name__ == "__main__":
    result = main()
    print(result)
    assert result["error"] < 0.3 * result["repeating"]
