"""Steps of further libraries: e3nn_jax, jraph, rlax, gymnax, mctx, evosax, ott, dm_pix, kfac_jax, flowjax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def _training(loss, params, optimizer):
    @jax.jit
    def step(state):
        params, moments = state
        value, gradients = jax.value_and_grad(loss)(params)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments), value

    return step, (params, optimizer.init(params))


def e3nn_messages():
    import e3nn_jax as e3nn

    positions = _normal(0, 16, 3)
    senders, receivers = jnp.nonzero(~jnp.eye(16, dtype=bool), size=240)
    scalars = _normal(1, 16, 8)
    weights = {"radial": _normal(2, 1, 16) * 0.3, "mix": _normal(3, 16, 24) * 0.2, "out": _normal(4, 8) * 0.3}

    def loss(weights):
        vectors = positions[receivers] - positions[senders]
        length = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
        harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", vectors, True)
        radial = jax.nn.silu(length @ weights["radial"]) @ weights["mix"]
        nodes = e3nn.IrrepsArray("8x0e", scalars)
        messages = e3nn.tensor_product(nodes[senders], harmonics)
        gates = jnp.repeat(radial.reshape(-1, 3, 8), jnp.array([1, 3, 5]), 1, total_repeat_length=9).reshape(240, 72)
        gathered = e3nn.scatter_sum(messages * 1.0, dst=receivers, output_size=16)
        energy = jnp.sum(gathered.filter("0e").array @ weights["out"])
        return energy**2 / 16 + 1e-3 * jnp.mean(gathered.array**2) + 1e-3 * jnp.mean(gates**2)

    return _training(loss, weights, optax.adam(1e-3))


def jraph_network():
    import jraph

    generator = np.random.default_rng(0)
    graph = jraph.GraphsTuple(
        nodes=_normal(0, 60, 16), edges=_normal(1, 200, 8),
        senders=jnp.asarray(generator.integers(0, 60, 200)), receivers=jnp.asarray(generator.integers(0, 60, 200)),
        n_node=jnp.array([20, 20, 20]), n_edge=jnp.array([70, 60, 70]), globals=jnp.zeros((3, 4)),
    )  # fmt: skip
    params = {"edge": _normal(2, 44, 16) * 0.2, "node": _normal(3, 52, 16) * 0.2, "all": _normal(4, 36, 4) * 0.2}

    def loss(params):
        def layer(name):
            return lambda *parts: jax.nn.relu(jnp.concatenate(parts, -1) @ params[name])

        net = jraph.GraphNetwork(layer("edge"), layer("node"), layer("all"))
        return jnp.mean((net(graph).globals - jnp.arange(3.0)[:, None]) ** 2)

    return _training(loss, params, optax.adam(1e-3))


def rlax_actor_critic():
    import rlax

    params = {"body": _normal(0, 8, 32) * 0.3, "policy": _normal(1, 32, 4) * 0.1, "value": _normal(2, 32) * 0.1}
    observations, actions, rewards = _normal(3, 16, 21, 8), jnp.arange(320).reshape(16, 20) % 4, _normal(4, 16, 20)

    def one(params, observations, actions, rewards):
        h = jnp.tanh(observations @ params["body"])
        logits, values = h @ params["policy"], h @ params["value"]
        discounts = jnp.full(20, 0.99)
        errors = rlax.td_lambda(values[:-1], rewards, discounts, values[1:], jnp.full(20, 0.9))
        policy = rlax.policy_gradient_loss(logits[:-1], actions, jax.lax.stop_gradient(errors), jnp.ones(20))
        return policy + 0.5 * jnp.mean(errors**2) + 0.01 * rlax.entropy_loss(logits[:-1], jnp.ones(20))

    def loss(params):
        return jax.vmap(one, (None, 0, 0, 0))(params, observations, actions, rewards).mean()

    return _training(loss, params, optax.rmsprop(1e-3))


def gymnax_policy_gradient():
    import gymnax

    env, env_params = gymnax.make("CartPole-v1")
    params = {"a": _normal(0, 4, 32) * 0.3, "b": _normal(1, 32, 2) * 0.1}

    def logits(params, observation):
        return jnp.tanh(observation @ params["a"]) @ params["b"]

    def rollout(params, key):
        def move(carry, key):
            observation, state = carry
            choose, advance = jax.random.split(key)
            action = jax.random.categorical(choose, logits(params, observation))
            following, state, reward, *_ = env.step(advance, state, action, env_params)
            return (following, state), (observation, action, reward)

        start, *keys = jax.random.split(key, 33)
        return jax.lax.scan(move, env.reset(start, env_params), jnp.stack(keys))[1]

    def loss(params, observations, actions, rewards):
        returns = jnp.cumsum(rewards[:, ::-1], 1)[:, ::-1]
        taken = jnp.take_along_axis(jax.nn.log_softmax(logits(params, observations)), actions[..., None], -1)[..., 0]
        return -jnp.mean(taken * (returns - returns.mean(0)))

    @jax.jit
    def step(state):
        params, key = state
        key, now = jax.random.split(key)
        observations, actions, rewards = jax.vmap(rollout, (None, 0))(params, jax.random.split(now, 16))
        value, gradients = jax.value_and_grad(loss)(params, observations, actions, rewards)
        return (jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), key), value

    return step, (params, jax.random.key(0))


def mctx_search():
    import mctx

    body, policy, value = _normal(0, 8, 8) * 0.3, _normal(1, 8, 4), _normal(2, 8)

    def recurrent(params, key, action, embedding):
        embedding = jnp.tanh(embedding @ body + action[:, None])
        return mctx.RecurrentFnOutput(
            reward=embedding[:, 0], discount=jnp.full(4, 0.9), prior_logits=embedding @ policy, value=embedding @ value
        ), embedding

    @jax.jit
    def step(key):
        key, now = jax.random.split(key)
        start = jnp.ones((4, 8))
        root = mctx.RootFnOutput(prior_logits=start @ policy, value=start @ value, embedding=start)
        output = mctx.gumbel_muzero_policy((), now, root, recurrent, num_simulations=16)
        return key, output.action_weights

    return step, jax.random.key(0)


def evosax_generation():
    from evosax.algorithms import CMA_ES

    strategy = CMA_ES(population_size=32, solution=jnp.zeros(10))
    params = strategy.default_params

    @jax.jit
    def step(everything):
        key, state = everything
        key, ask, tell = jax.random.split(key, 3)
        population, state = strategy.ask(ask, state, params)
        fitness = jnp.sum((population - 1) ** 2, 1)
        state, _ = strategy.tell(tell, population, fitness, state, params)
        return (key, state), fitness.min()

    return step, (jax.random.key(1), strategy.init(jax.random.key(0), jnp.ones(10), params))


def ott_transport_gradient():
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    y = _normal(1, 40, 2) + 1

    @jax.jit
    def step(x):
        def cost(x):
            geometry = pointcloud.PointCloud(x, y, epsilon=0.5)
            return sinkhorn.Sinkhorn(max_iterations=100)(linear_problem.LinearProblem(geometry)).reg_ot_cost

        value, gradient = jax.value_and_grad(cost)(x)
        return x - 0.1 * gradient, value

    return step, _normal(0, 40, 2)


def dm_pix_augmentation():
    import dm_pix

    images = jax.random.uniform(jax.random.key(0), (8, 32, 32, 3))

    def augmented(key, image):
        a, b, c = jax.random.split(key, 3)
        image = dm_pix.random_flip_left_right(a, image)
        image = dm_pix.random_brightness(b, image, 0.2)
        return dm_pix.gaussian_blur(dm_pix.random_contrast(c, image, 0.8, 1.2), 1.0, 5)

    @jax.jit
    def step(key):
        key, now = jax.random.split(key)
        return key, jax.vmap(augmented)(jax.random.split(now, 8), images).mean((1, 2))

    return step, jax.random.key(0)


def flowjax_flow():
    import equinox as eqx
    import paramax
    from flowjax.distributions import Normal
    from flowjax.flows import coupling_flow

    flow = coupling_flow(jax.random.key(0), base_dist=Normal(jnp.zeros(2)), flow_layers=4, nn_width=16)
    params, static = eqx.partition(
        flow, eqx.is_inexact_array, is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable)
    )
    x = _normal(0, 64, 2) * jnp.array([1.0, 0.3]) + 1
    return _training(
        lambda params: -paramax.unwrap(eqx.combine(params, static)).log_prob(x).mean(), params, optax.adam(1e-3)
    )
