"""Training steps of flax's linen modules."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def _training(model, loss, optimizer, x):
    state = train_state.TrainState.create(
        apply_fn=model.apply, params=model.init(jax.random.key(0), x)["params"], tx=optimizer
    )

    @jax.jit
    def step(state):
        value, gradients = jax.value_and_grad(lambda params: loss(state.apply_fn({"params": params}, x)))(state.params)
        return state.apply_gradients(grads=gradients), value

    return step, state


def convolutional_network():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (16, 32):
                x = nn.avg_pool(nn.relu(nn.Conv(features, (3, 3))(x)), (2, 2), (2, 2))
            return nn.Dense(10)(nn.relu(nn.Dense(64)(x.reshape(x.shape[0], -1))))

    labels = jnp.arange(16) % 10
    return _training(
        Net(),
        lambda logits: optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(),
        optax.adam(1e-3),
        _normal(0, 16, 28, 28, 1),
    )


def mlp():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.relu(nn.Dense(32)(nn.relu(nn.Dense(32)(x)))))

    x = _normal(0, 32, 8)
    return _training(Net(), lambda y: jnp.mean((y[:, 0] - x.sum(1)) ** 2), optax.adam(1e-3), x)


def transformer_block():
    class Block(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(100, 64)(tokens)
            x = x + self.param("positions", nn.initializers.normal(0.02), (32, 64))
            mask = nn.make_causal_mask(tokens)
            for _ in range(2):
                x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x), mask=mask)
                x = x + nn.Dense(64)(nn.gelu(nn.Dense(256)(nn.LayerNorm()(x))))
            return nn.Dense(100)(nn.LayerNorm()(x))

    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 100, size=(4, 32)))

    def loss(logits):
        return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()

    return _training(Block(), loss, optax.adamw(1e-3), tokens)


def long_short_term_memory():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.RNN(nn.OptimizedLSTMCell(32))(x))

    x = _normal(0, 8, 24, 4)
    return _training(Net(), lambda y: jnp.mean((y[..., 0] - jnp.cumsum(x, 1)[..., 0]) ** 2), optax.adam(1e-3), x)


def residual_batch_norm():
    class Block(nn.Module):
        features: int

        @nn.compact
        def __call__(self, x):
            norm = lambda: nn.BatchNorm(use_running_average=False)
            y = nn.relu(norm()(nn.Conv(self.features, (3, 3), use_bias=False)(x)))
            y = norm()(nn.Conv(self.features, (3, 3), use_bias=False)(y))
            return nn.relu(y + nn.Conv(self.features, (1, 1), use_bias=False)(x))

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (8, 16):
                x = nn.max_pool(Block(features)(x), (2, 2), (2, 2))
            return nn.Dense(10)(x.mean((1, 2)))

    x, labels = _normal(0, 8, 16, 16, 3), jnp.arange(8) % 10
    model = Net()
    variables = model.init(jax.random.key(0), x)
    optimizer = optax.sgd(0.01, momentum=0.9)

    def loss(params, statistics):
        logits, changed = model.apply({"params": params, "batch_stats": statistics}, x, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), changed["batch_stats"]

    @jax.jit
    def step(state):
        params, statistics, moments = state
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(params, statistics)
        updates, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(params, updates), statistics, moments), value

    return step, (variables["params"], variables["batch_stats"], optimizer.init(variables["params"]))
