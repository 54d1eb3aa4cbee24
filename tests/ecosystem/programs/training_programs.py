"""Harder programs of JAX and optax as users write them: whole runs inside of scan, nested transforms, checkpoints, callbacks, kinds of keys."""

from __future__ import annotations

import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax


def _loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["a"]) @ params["b"] - y) ** 2)


def _problem():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {"a": 0.3 * jax.random.normal(keys[0], (4, 8)), "b": 0.3 * jax.random.normal(keys[1], (8, 1))}
    x = jax.random.normal(keys[2], (24, 4))
    return params, x, jnp.sum(x, 1, keepdims=True)


def whole_run_in_a_scan():
    params, x, y = _problem()
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 20)))

    @functools.partial(jax.jit, donate_argnums=0)
    def train(carry, keys):
        def step(carry, key):
            params, state = carry
            rows = jax.random.permutation(key, 24)[:8]
            value, gradient = jax.value_and_grad(_loss)(params, x[rows], y[rows])
            updates, state = optimizer.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), value

        return jax.lax.scan(step, carry, keys)

    (params, _), values = train((params, optimizer.init(params)), jax.random.split(jax.random.key(1), 20))
    return values, params


def early_stopping_in_a_while_loop():
    params, x, y = _problem()

    def proceed(state):
        return (state[1] > 0.2) & (state[2] < 200)

    def step(state):
        value, gradient = jax.value_and_grad(_loss)(state[0], x, y)
        return jax.tree.map(lambda p, g: p - 0.2 * g, state[0], gradient), value, state[2] + 1

    return jax.jit(lambda p: jax.lax.while_loop(proceed, step, (p, jnp.inf, 0)))(params)[1:]


def gradient_of_a_training_run():
    params, x, y = _problem()

    def after_training(rate):
        def step(params, _):
            return jax.tree.map(lambda p, g: p - rate * g, params, jax.grad(_loss)(params, x, y)), None

        return _loss(jax.lax.scan(jax.checkpoint(step), params, None, length=5)[0], x, y)

    return jax.value_and_grad(after_training)(0.1), jax.jvp(after_training, (0.1,), (1.0,))


def hessian_and_curvature():
    params, x, y = _problem()
    flat, unravel = jax.flatten_util.ravel_pytree(params)
    flat_loss = lambda v: _loss(unravel(v), x, y)
    hessian = jax.jit(jax.hessian(flat_loss))(flat)
    jacobian = jax.jacrev(lambda v: jnp.tanh(x @ unravel(v)["a"]) @ unravel(v)["b"])(flat)
    return jnp.trace(hessian), jnp.linalg.eigvalsh(hessian)[-3:], jnp.sum(jacobian**2)


def third_derivatives():
    f = lambda t: jnp.sin(t) * jnp.exp(-(t**2))
    return [
        jax.vmap(g)(jnp.linspace(-1, 1, 5))
        for g in (jax.grad(jax.grad(jax.grad(f))), jax.jacfwd(jax.jacrev(jax.jacfwd(f))))
    ]


def per_example_norms_in_chunks():
    params, x, y = _problem()
    one = lambda x, y: optax.global_norm(jax.grad(_loss)(params, x[None], y[None]))
    return jax.lax.map(lambda xy: one(*xy), (x, y), batch_size=5), jax.vmap(one)(x, y)


def callbacks_in_a_loop():
    seen = []

    def step(c, i):
        jax.debug.callback(lambda i, c: seen.append((int(i), float(c))), i, c, ordered=True)
        doubled = jax.pure_callback(lambda c: np.float32(2 * c), jax.ShapeDtypeStruct((), jnp.float32), c)
        return c + 0.5 * doubled, doubled

    result = jax.jit(lambda: jax.lax.scan(step, jnp.float32(1.0), jnp.arange(4)))()
    jax.effects_barrier()
    return result, seen


def keys_old_and_new():
    old, new = jax.random.PRNGKey(7), jax.random.key(7)
    wrapped = jax.random.wrap_key_data(old)
    return (
        jax.random.key_data(new), jax.random.normal(old, (3,)), jax.random.normal(wrapped, (3,)),
        jax.random.split(old, 2), jax.random.key_data(jax.random.fold_in(new, 3)), jax.random.bits(new, (2,), "uint8"),
        jax.random.key_data(jax.vmap(jax.random.fold_in, (None, 0))(new, jnp.arange(3))), jax.random.key_data(jax.random.clone(new)),
    )  # fmt: skip


def keys_of_another_kind():
    key = jax.random.key(3, impl="rbg")
    a, b = jax.random.split(key)
    return jax.random.key_data(a), jax.random.uniform(b, (4,)), len(str(jax.random.key_impl(key)))


def draws_of_many_distributions():
    keys = iter(jax.random.split(jax.random.key(11), 20))
    n = (5,)
    return [
        jax.random.gamma(next(keys), 2.5, n), jax.random.poisson(next(keys), 4.0, n), jax.random.binomial(next(keys), 10, 0.3, n),
        jax.random.truncated_normal(next(keys), -1, 1, n), jax.random.laplace(next(keys), n), jax.random.choice(next(keys), 10, n, replace=False),
        jax.random.multivariate_normal(next(keys), jnp.zeros(2), jnp.eye(2), n), jax.random.orthogonal(next(keys), 3),
        jax.random.rademacher(next(keys), n), jax.random.weibull_min(next(keys), 1.0, 2.0, n), jax.random.permutation(next(keys), 8),
        jax.random.categorical(next(keys), jnp.arange(4.0), shape=n), jax.random.bernoulli(next(keys), 0.3, n),
    ]  # fmt: skip


def checkpoint_by_pickle():
    params, x, y = _problem()
    optimizer = optax.adam(1e-2)
    state = optimizer.init(params)

    def step(params, state):
        updates, state = optimizer.update(jax.grad(_loss)(params, x, y), state)
        return optax.apply_updates(params, updates), state

    params, state = step(params, state)
    params, state = pickle.loads(pickle.dumps(jax.device_get((params, state))))
    return step(params, state)


def mixed_precision_with_loss_scale():
    params, x, y = _problem()

    @jax.jit
    def step(params):
        def scaled(params):
            half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
            return 128.0 * _loss(half, x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)).astype(jnp.float32)

        gradient = jax.tree.map(lambda g: g / 128.0, jax.grad(scaled)(params))
        finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradient)]))
        return jax.tree.map(lambda p, g: jnp.where(finite, p - 0.1 * g, p), params, gradient)

    return [round(float(v), 1) for v in jax.tree.leaves(jax.tree.map(jnp.sum, step(params)))]


def accumulated_gradients():
    params, x, y = _problem()
    optimizer = optax.MultiSteps(optax.adam(1e-2), every_k_schedule=3)
    state, values = optimizer.init(params), []
    for rows in jnp.split(jnp.arange(24), 6):
        value, gradient = jax.value_and_grad(_loss)(params, x[rows], y[rows])
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        values.append(value)
    return values, params


def saddle_point_by_custom_rule():
    @jax.custom_vjp
    def reverse(x):
        return x

    reverse.defvjp(lambda x: (x, None), lambda _, g: (-g,))

    def game(a, b):
        return (a * reverse(b)).sum() + 0.5 * (a**2).sum() - 0.5 * (b**2).sum()

    a, b = jnp.ones(3), -jnp.ones(3)
    for _ in range(10):
        ga, gb = jax.grad(game, (0, 1))(a, b)
        a, b = a - 0.1 * ga, b - 0.1 * gb
    return a, b


def fixed_point_by_implicit_derivative():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, start):
        return jax.lax.while_loop(
            lambda s: jnp.abs(s[0] - s[1]) > 1e-6, lambda s: (s[1], f(a, s[1])), (start, f(a, start))
        )[1]

    def forward(f, a, start):
        solution = fixed_point(f, a, start)
        return solution, (a, solution)

    def backward(f, saved, g):
        a, solution = saved
        _, of_x = jax.vjp(lambda x: f(a, x), solution)
        _, of_a = jax.vjp(lambda a: f(a, solution), a)
        u = fixed_point(lambda g, u: g + of_x(u)[0], g, g)
        return *of_a(u), jnp.zeros_like(solution)

    fixed_point.defvjp(forward, backward)
    newton = lambda a, x: 0.5 * (x + a / x)
    return jax.value_and_grad(lambda a: fixed_point(newton, a, 1.0))(2.0), jax.vmap(
        jax.grad(lambda a: fixed_point(newton, a, 1.0))
    )(jnp.array([2.0, 3.0]))


def registered_dataclass_state():
    import dataclasses

    @functools.partial(jax.tree_util.register_dataclass, data_fields=["params", "step"], meta_fields=["name"])
    @dataclasses.dataclass
    class State:
        params: dict
        step: jax.Array
        name: str

    params, x, y = _problem()

    @jax.jit
    def advance(state):
        gradient = jax.grad(_loss)(state.params, x, y)
        return dataclasses.replace(
            state, params=jax.tree.map(lambda p, g: p - 0.1 * g, state.params, gradient), step=state.step + 1
        )

    state = State(params, jnp.int32(0), "run")
    for _ in range(3):
        state = advance(state)
    return state.params, state.step, len(state.name)


def data_parallel_on_one_device():
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    params, x, y = _problem()
    mesh = Mesh(np.array(jax.devices()[:1]), ("batch",))
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("batch")))

    def local(params, x, y):
        return jax.lax.pmean(jax.grad(_loss)(params, x, y), "batch")

    mapped = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec("batch"), PartitionSpec("batch")),
        out_specs=PartitionSpec(),
    )
    return jax.jit(mapped)(params, x, y)


def associative_scan_state_space():
    a, b = jnp.linspace(0.5, 0.9, 16)[:, None] * jnp.ones(3), jax.random.normal(jax.random.key(0), (16, 3))

    def loss(a):
        return jnp.sum(jax.lax.associative_scan(lambda s, t: (t[0] * s[0], t[0] * s[1] + t[1]), (a, b))[1] ** 2)

    return jax.value_and_grad(loss)(a)


def beam_search():
    table = jax.random.normal(jax.random.key(5), (6, 6))

    def step(beams, _):
        scores, words = beams
        following = scores[:, None] + jax.nn.log_softmax(table)[words[:, -1]]
        best, where = jax.lax.top_k(following.ravel(), 3)
        words = jnp.concatenate([words[where // 6, 1:], (where % 6)[:, None]], 1)
        return (best, words), best

    start = (jnp.array([0.0, -1e9, -1e9]), jnp.zeros((3, 5), jnp.int32))
    return jax.jit(lambda: jax.lax.scan(step, start, None, length=5))()
