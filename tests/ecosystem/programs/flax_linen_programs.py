"""Modules of flax's linen."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class _Mlp(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(self.width)(x)))


def mlp_training():
    x = jax.random.normal(jax.random.key(0), (16, 3))
    model = _Mlp()
    state = train_state.TrainState.create(
        apply_fn=model.apply, params=model.init(jax.random.key(1), x)["params"], tx=optax.adam(1e-2)
    )

    @jax.jit
    def step(state):
        loss = lambda params: jnp.mean((state.apply_fn({"params": params}, x)[:, 0] - x.sum(1)) ** 2)
        value, gradients = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradients), value

    values = []
    for _ in range(10):
        state, value = step(state)
        values.append(value)
    return values, state.params


class _Cnn(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.max_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return nn.Dense(3)(x.reshape(x.shape[0], -1))


def convolutions_batch_norm_dropout():
    x = jax.random.normal(jax.random.key(0), (2, 8, 8, 1))
    model = _Cnn()
    variables = model.init({"params": jax.random.key(1), "dropout": jax.random.key(2)}, x, True)
    return model.apply(variables, x, True, mutable=["batch_stats"], rngs={"dropout": jax.random.key(3)})


def self_attention():
    x = jax.random.normal(jax.random.key(0), (2, 5, 8))
    model = nn.MultiHeadDotProductAttention(num_heads=2)
    variables = model.init(jax.random.key(1), x, x)
    return model.apply(variables, x, x, mask=nn.make_causal_mask(jnp.ones((2, 5))))


def recurrent():
    x = jax.random.normal(jax.random.key(0), (2, 6, 3))
    model = nn.RNN(nn.LSTMCell(4))
    variables = model.init(jax.random.key(1), x)
    return jax.grad(lambda v: model.apply(v, x).sum())(variables)


class _Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return nn.tanh(nn.Dense(4)(x)), None


def scan_over_layers():
    model = nn.scan(_Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()
    x = jnp.ones((2, 4))
    variables = model.init(jax.random.key(0), x, None)
    return jax.grad(lambda v: model.apply(v, x, None)[0].sum())(variables)


def remat_and_vmap():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.vmap(nn.remat(nn.Dense), variable_axes={"params": 0}, split_rngs={"params": True})(2)(x)

    x = jnp.arange(6.0).reshape(2, 3)
    variables = Net().init(jax.random.key(0), x)
    return variables, jax.grad(lambda v: (Net().apply(v, x) ** 2).sum())(variables)


def embedding_and_norms():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(7, 6)(tokens)
            return nn.LayerNorm()(x), nn.RMSNorm()(x), nn.GroupNorm(num_groups=2)(x)

    return Net().init_with_output(jax.random.key(0), jnp.array([[1, 2, 6]]))
