"""Training steps with optax and plain parameters."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax


def _digits(count, size=784):
    generator = np.random.default_rng(0)
    images = generator.normal(size=(count, size)).astype(np.float32)
    return jnp.asarray(images), jnp.asarray(generator.integers(0, 10, size=count))


def _dense(sizes, seed=0):
    generator = np.random.default_rng(seed)
    return [
        {"w": jnp.asarray(generator.normal(size=(m, n)).astype(np.float32) / np.sqrt(m)), "b": jnp.zeros(n)}
        for m, n in zip(sizes[:-1], sizes[1:], strict=True)
    ]


def _apply(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def _training(optimizer, params, loss, *data):
    @jax.jit
    def step(state):
        params, moments = state
        value, gradients = jax.value_and_grad(loss)(params, *data)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments), value

    return step, (params, optimizer.init(params))


def _cross_entropy(params, images, labels):
    return optax.softmax_cross_entropy_with_integer_labels(_apply(params, images), labels).mean()


def mlp_adam():
    return _training(optax.adam(1e-3), _dense([784, 256, 128, 10]), _cross_entropy, *_digits(64))


def mlp_sgd_momentum_schedule():
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.05, 10, 1000)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(schedule, momentum=0.9, nesterov=True))
    return _training(optimizer, _dense([64, 64, 10]), _cross_entropy, *_digits(32, 64))


def adamw_100_leaves():
    generator = np.random.default_rng(1)
    params = {f"block_{i}": {"w": jnp.asarray(generator.normal(size=(16, 16)).astype(np.float32) / 4), "b": jnp.zeros(16)}
              for i in range(50)}  # fmt: skip
    x = jnp.asarray(generator.normal(size=(8, 16)).astype(np.float32))

    def loss(params, x):
        y = x
        for block in params.values():
            y = y + 0.1 * jnp.tanh(y @ block["w"] + block["b"])
        return jnp.mean((y - 2 * x) ** 2)

    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=1e-2))
    return _training(optimizer, params, loss, x)


def update_alone_100_leaves():
    generator = np.random.default_rng(2)
    params = [jnp.asarray(generator.normal(size=(32, 32)).astype(np.float32)) for _ in range(100)]
    optimizer = optax.lamb(1e-3)

    @jax.jit
    def step(state):
        params, moments = state
        updates, moments = optimizer.update(params, moments, params)
        return (optax.apply_updates(params, updates), moments), updates[0][0, 0]

    return step, (params, optimizer.init(params))


def line_search_lbfgs():
    generator = np.random.default_rng(3)
    matrix = jnp.asarray(generator.normal(size=(40, 10)).astype(np.float32))
    target = jnp.asarray(generator.normal(size=40).astype(np.float32))

    def loss(w):
        return jnp.mean(jnp.log1p(jnp.square(matrix @ w - target)))

    optimizer = optax.lbfgs(memory_size=5)
    value_and_grad = optax.value_and_grad_from_state(loss)

    @jax.jit
    def step(state):
        w, memory = state
        value, gradient = value_and_grad(w, state=memory)
        updates, memory = optimizer.update(gradient, memory, w, value=value, grad=gradient, value_fn=loss)
        return (optax.apply_updates(w, updates), memory), value

    w = jnp.ones(10)
    return step, (w, optimizer.init(w))


def contrastive_loss():
    def loss(params, x):
        a, b = _apply(params, x), _apply(params, x[::-1])
        a, b = (v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
        return optax.softmax_cross_entropy(a @ b.T / 0.1, jnp.eye(x.shape[0])).mean()

    return _training(optax.adafactor(1e-2), _dense([64, 128, 32]), loss, _digits(48, 64)[0])
