"""Modules, filtered transformations and state with equinox."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


def mlp_training():
    model = eqx.nn.MLP(2, 1, 8, 2, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (16, 2))
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_value_and_grad
    def loss(model):
        return jnp.mean((jax.vmap(model)(x)[:, 0] - x.sum(1)) ** 2)

    @eqx.filter_jit
    def step(model, state):
        value, gradients = loss(model)
        updates, state = optimizer.update(gradients, state, model)
        return eqx.apply_updates(model, updates), state, value

    values = []
    for _ in range(10):
        model, state, value = step(model, state)
        values.append(value)
    return values


def convolutions():
    first, second = jax.random.split(jax.random.key(0))
    model = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(1, 4, 3, key=first),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Conv2d(4, 2, 3, key=second),
        ]
    )
    return model(jax.random.normal(jax.random.key(1), (1, 12, 12)))


def batch_norm():
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode="batch")
    x = jax.random.normal(jax.random.key(0), (8, 3))
    out, state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
    return out


def attention():
    layer = eqx.nn.MultiheadAttention(2, 8, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (5, 8))
    return layer(x, x, x, mask=jnp.tril(jnp.ones((5, 5), bool)))


def recurrent_scan():
    cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (7, 3))

    @eqx.filter_grad
    def loss(cell):
        carry, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(4), x)
        return carry.sum()

    return eqx.filter(loss(cell), eqx.is_array)


def layer_norm_and_dropout():
    x = jax.random.normal(jax.random.key(1), (6,))
    return eqx.nn.LayerNorm(6)(x), eqx.nn.Dropout(0.5)(x, key=jax.random.key(2))


def filtered_vmap_ensemble():
    keys = jax.random.split(jax.random.key(0), 3)
    models = eqx.filter_vmap(lambda key: eqx.nn.Linear(2, 2, key=key))(keys)
    return eqx.filter_vmap(lambda model, x: model(x), in_axes=(eqx.if_array(0), None))(models, jnp.ones(2))


def tree_surgery():
    model = eqx.nn.Linear(2, 2, key=jax.random.key(0))
    model = eqx.tree_at(lambda m: m.bias, model, jnp.ones(2))
    return model(jnp.arange(2.0))


def checked_error():
    @eqx.filter_jit
    def f(x):
        return eqx.error_if(x, x > 10, "too large")

    return f(jnp.array(2.0))


def bounded_while_loop():
    def f(x):
        step = lambda c: (c[0] + 1, c[1] * 0.5 + jnp.sin(c[1]))
        return eqx.internal.while_loop(lambda c: c[0] < 5, step, (0, x), max_steps=16, kind="checkpointed")[1]

    return f(1.0), jax.grad(f)(1.0)


def closure_conversion():
    w = jnp.arange(3.0)
    f = eqx.filter_closure_convert(lambda x: jnp.sin(x * w).sum(), jnp.ones(3))
    return f(jnp.ones(3)), jax.grad(f)(jnp.ones(3))


def filtered_custom_rules():
    @eqx.filter_custom_vjp
    def f(x):
        return x**2

    @f.def_fwd
    def forward(perturbed, x):
        return x**2, x

    @f.def_bwd
    def backward(x, g, perturbed, _):
        return 3 * g * x

    return jax.grad(f)(jnp.array(2.0))


def filtered_jvp_and_jacobian():
    f = lambda x: {"a": jnp.sin(x["u"]) * x["v"]}
    x = {"u": jnp.arange(2.0), "v": jnp.ones(2)}
    return eqx.filter_jvp(f, (x,), (x,)), eqx.filter_jacfwd(f)(x)


def scan_over_layers():
    layers = eqx.filter_vmap(lambda key: eqx.nn.Linear(3, 3, key=key))(jax.random.split(jax.random.key(0), 4))
    arrays, static = eqx.partition(layers, eqx.is_array)
    step = lambda x, layer: (jnp.tanh(eqx.combine(layer, static)(x)), None)
    return jax.grad(lambda x: jax.lax.scan(step, x, arrays)[0].sum())(jnp.ones(3))
