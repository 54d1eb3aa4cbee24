"""Training with optax: a small regression with each of its optimizers, schedules, losses and wrappers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax


def _problem():
    key = jax.random.key(0)
    x = jax.random.normal(key, (32, 4))
    y = jnp.sin(x.sum(1, keepdims=True))
    first, second = jax.random.split(jax.random.key(1))
    params = {
        "w1": jax.random.normal(first, (4, 16)) * 0.3,
        "b1": jnp.zeros(16),
        "w2": jax.random.normal(second, (16, 1)) * 0.3,
    }

    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)

    return params, loss


def _train(optimizer, steps=25):
    params, loss = _problem()
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    values = []
    for _ in range(steps):
        params, state, value = step(params, state)
        values.append(value)
    return params, jnp.stack(values)


def adamw_with_schedule():
    return _train(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 25))))


def sgd_with_momentum():
    return _train(optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 25), momentum=0.9, nesterov=True))


def lamb():
    return _train(optax.lamb(1e-2))


def adafactor():
    return _train(optax.adafactor(1e-2))


def lion():
    return _train(optax.lion(1e-3))


def rmsprop():
    return _train(optax.rmsprop(1e-3))


def adabelief():
    return _train(optax.adabelief(1e-2))


def multi_transform():
    labels = {"w1": "fast", "b1": "frozen", "w2": "fast"}
    return _train(optax.multi_transform({"fast": optax.adam(1e-2), "frozen": optax.set_to_zero()}, labels))


def multi_steps():
    return _train(optax.MultiSteps(optax.adam(1e-2), every_k_schedule=3))


def inject_hyperparams():
    return _train(optax.inject_hyperparams(optax.adam)(learning_rate=optax.exponential_decay(1e-2, 5, 0.9)))


def masked_weight_decay():
    return _train(optax.adamw(1e-2, mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params)))


def lookahead():
    params, loss = _problem()
    optimizer = optax.lookahead(optax.sgd(0.1), sync_period=3, slow_step_size=0.5)
    params = optax.LookaheadParams.init_synced(params)
    state = optimizer.init(params)
    for _ in range(9):
        updates, state = optimizer.update(jax.grad(loss)(params.fast), state, params)
        params = optax.apply_updates(params, updates)
    return params.slow


def lbfgs():
    params, loss = _problem()
    optimizer = optax.lbfgs()
    state = optimizer.init(params)
    value_and_grad = optax.value_and_grad_from_state(loss)

    @jax.jit
    def step(params, state):
        value, gradient = value_and_grad(params, state=state)
        updates, state = optimizer.update(gradient, state, params, value=value, grad=gradient, value_fn=loss)
        return optax.apply_updates(params, updates), state

    for _ in range(5):
        params, state = step(params, state)
    return loss(params)


def losses():
    logits = jax.random.normal(jax.random.key(2), (8, 5))
    labels = jnp.array([0, 1, 2, 3, 4, 0, 1, 2])
    return (
        optax.softmax_cross_entropy_with_integer_labels(logits, labels),
        optax.sigmoid_binary_cross_entropy(logits, jax.nn.one_hot(labels, 5)),
        optax.huber_loss(logits, 0.5),
        optax.cosine_similarity(logits, logits[::-1]),
        optax.ctc_loss(logits[None], jnp.zeros((1, 8)), labels[None, :3], jnp.zeros((1, 3))),
        jax.grad(lambda x: optax.sigmoid_focal_loss(x, jax.nn.one_hot(labels, 5)).sum())(logits),
    )


def assignment():
    costs = jax.random.uniform(jax.random.key(3), (6, 6))
    return optax.assignment.hungarian_algorithm(costs)
