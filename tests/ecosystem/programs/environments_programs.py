"""Environments of reinforcement learning, and agents in them: gymnax, jumanji, pgx, brax."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def gymnax_random_rollout():
    import gymnax

    env, params = gymnax.make("Pendulum-v1")

    def move(carry, key):
        observation, state = carry
        act, advance = jax.random.split(key)
        action = env.action_space(params).sample(act)
        observation, state, reward, *_ = env.step(advance, state, action, params)
        return (observation, state), (observation, reward)

    start, *keys = jax.random.split(jax.random.key(0), 21)
    return jax.lax.scan(move, env.reset(start, params), jnp.stack(keys))[1]


def gymnax_batch_of_cart_poles():
    import gymnax

    env, params = gymnax.make("CartPole-v1")
    keys = jax.random.split(jax.random.key(0), 4)
    observations, states = jax.vmap(env.reset, (0, None))(keys, params)
    step = jax.jit(jax.vmap(env.step, (0, 0, 0, None)))
    rewards = []
    for _ in range(15):
        observations, states, reward, done, *_ = step(keys, states, jnp.array([0, 1, 0, 1]), params)
        rewards.append((reward, done))
    return observations, rewards


def gymnax_grid_world():
    import gymnax

    env, params = gymnax.make("FourRooms-misc")
    observation, state = env.reset(jax.random.key(1), params)
    seen = [observation]
    for action in (0, 1, 2, 3, 1):
        observation, state, *_ = env.step(jax.random.key(action), state, action, params)
        seen.append(observation)
    return seen


def jumanji_snake():
    import jumanji

    env = jumanji.make("Snake-v1")
    state, timestep = jax.jit(env.reset)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    found = [timestep.observation.grid]
    for action in (0, 1, 1, 2):
        state, timestep = step(state, jnp.int32(action))
        found.append((timestep.observation.grid, timestep.reward, timestep.observation.action_mask))
    return found


def jumanji_game_2048():
    import jumanji

    env = jumanji.make("Game2048-v1")
    state, timestep = jax.jit(env.reset)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    for action in (0, 1, 2, 3, 0):
        state, timestep = step(state, jnp.int32(action))
    return timestep.observation.board, timestep.reward


def jumanji_knapsack_batch():
    import jumanji

    env = jumanji.make("Knapsack-v1")
    states, timesteps = jax.vmap(env.reset)(jax.random.split(jax.random.PRNGKey(0), 3))
    states, timesteps = jax.jit(jax.vmap(env.step))(states, jnp.array([0, 1, 2]))
    return timesteps.observation.packed_items, timesteps.reward


def pgx_tic_tac_toe():
    import pgx

    env = pgx.make("tic_tac_toe")
    state = jax.jit(env.init)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    for action in (0, 4, 1, 5, 2):
        state = step(state, action)
    return state.observation, state.rewards, state.terminated, state.legal_action_mask


def pgx_go_batch():
    import pgx

    env = pgx.make("go_9x9")
    state = jax.vmap(env.init)(jax.random.split(jax.random.PRNGKey(0), 2))
    step = jax.jit(jax.vmap(env.step))
    for action in (40, 41, 31, 30):
        state = step(state, jnp.full(2, action))
    return state.observation, state.legal_action_mask


def brax_ant_by_springs():
    from brax import envs

    env = envs.get_environment("inverted_pendulum", backend="spring")
    state = jax.jit(env.reset)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    for action in (0.5, -0.5, 1.0):
        state = step(state, jnp.array([action]))
    return state.obs, state.reward


def brax_gradient_through_physics():
    from brax import envs

    env = envs.get_environment("inverted_pendulum", backend="positional")
    state = env.reset(jax.random.PRNGKey(0))

    def total(actions):
        def move(state, action):
            state = env.step(state, action)
            return state, state.obs[1]

        return jax.lax.scan(move, state, actions)[1].sum()

    return jax.value_and_grad(total)(jnp.zeros((4, 1)))


def brax_rotations():
    from brax import math

    q = math.euler_to_quat(jnp.array([10.0, 20.0, 30.0]))
    return q, math.rotate(jnp.array([1.0, 2.0, 3.0]), q), math.quat_to_3x3(q), jax.jacobian(math.quat_inv)(q)
