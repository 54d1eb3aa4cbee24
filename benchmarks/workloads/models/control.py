"""Control and reinforcement learning: trajectories, policies and values."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import adam, normal
from workloads.models.precision import in_double

AHEAD = (TimesBest(1.0),)


def cartpole(xp: Any, x: Any, u: Any) -> Any:
    """Where a cart with a pole (place, angle, and their rates) is 0.05 s later."""
    _, angle, speed, rate = x
    sine, cosine = xp.sin(angle), xp.cos(angle)
    push = (u[0] + 0.05 * rate**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    slide = push - 0.05 * turn * cosine / 1.1
    return x + 0.05 * xp.stack([speed, rate, slide, turn])


HORIZON, STARTS = 50, 8


def riccati(library: Any) -> Any:
    """Iterative LQR, 5 rounds for 8 starts: dynamics by Jacobians, costs by Hessians, gains by a scan backwards; in float64."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, vmap, ct = library.xp, library.lax, library.vmap, library.module

    def cost(x: Any, u: Any) -> Any:
        return 0.05 * (x[0] ** 2 + 4 * (1 - xp.cos(x[1])) + 0.1 * x[2] ** 2 + 0.1 * x[3] ** 2 + 0.01 * u[0] ** 2)

    def final(x: Any) -> Any:
        return 10 * (x[0] ** 2 + 4 * (1 - xp.cos(x[1])) + 0.1 * x[2] ** 2 + 0.1 * x[3] ** 2)

    def move(x: Any, u: Any) -> Any:
        return cartpole(xp, x, u)

    def rollout(start: Any, us: Any) -> Any:
        last, xs = lax.scan(lambda x, u: (move(x, u), x), start, us)
        return xs, last, xp.sum(vmap(cost)(xs, us)) + final(last)

    def gains(xs: Any, us: Any, last: Any) -> Any:
        fx, fu = vmap(ct.jacfwd(move, argnums=(0, 1)))(xs, us)
        lx, lu = vmap(ct.grad(cost, argnums=(0, 1)))(xs, us)
        (lxx, _), (lux, luu) = vmap(ct.hessian(cost, argnums=(0, 1)))(xs, us)

        def step(carry: Any, pieces: Any) -> Any:
            vx, vxx = carry
            fx, fu, lx, lu, lxx, lux, luu = pieces
            qx, qu = lx + fx.T @ vx, lu + fu.T @ vx
            qxx, qux = lxx + fx.T @ vxx @ fx, lux + fu.T @ vxx @ fx
            quu = luu + fu.T @ vxx @ fu + 1e-4 * xp.eye(1)
            solved = -xp.linalg.solve(quu, xp.concatenate([qu[:, None], qux], axis=1))
            k, gain = solved[:, 0], solved[:, 1:]
            vx = qx + gain.T @ quu @ k + gain.T @ qu + qux.T @ k
            vxx = qxx + gain.T @ quu @ gain + gain.T @ qux + qux.T @ gain
            return (vx, 0.5 * (vxx + vxx.T)), (k, gain)

        start = ct.grad(final)(last), ct.hessian(final)(last)
        return lax.scan(step, start, (fx, fu, lx, lu, lxx, lux, luu), reverse=True)[1]

    def controlled(start: Any, xs: Any, us: Any, ks: Any, gains: Any, size: Any) -> Any:
        def step(x: Any, pieces: Any) -> Any:
            wanted, u, k, gain = pieces
            u = u + size * k + gain @ (x - wanted)
            return move(x, u), u

        return lax.scan(step, start, (xs, us, ks, gains))[1]

    def solve(start: Any) -> Any:
        def improve(us: Any, _: Any) -> Any:
            xs, last, before = rollout(start, us)
            ks, feedback = gains(xs, us, last)
            sizes = 0.5 ** xp.arange(6)
            proposals = vmap(lambda size: controlled(start, xs, us, ks, feedback, size))(sizes)
            costs = vmap(lambda us: rollout(start, us)[2])(proposals)
            best = xp.argmin(costs)
            return xp.where(costs[best] < before, proposals[best], us), xp.minimum(costs[best], before)

        return lax.scan(improve, xp.zeros((HORIZON, 1)), None, length=5)

    starts = 0.3 * normal(STARTS, 4, dtype=np.float64) + np.array([0, 0.5, 0, 0])
    return library.thunk(vmap(solve), starts)


def shooting(library: Any) -> Any:
    """Model predictive control: 10 actions, each the first of a plan that 10 gradient steps through the model improve; the plan moves on."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp = library.xp
    shared = hasattr(library, "lax")
    if shared:
        clip = lambda u: xp.clip(u, -10.0, 10.0)  # noqa: E731
    else:
        clip = lambda u: library.torch.clamp(u, -10.0, 10.0)  # noqa: E731

    def stage(x: Any, u: Any) -> Any:
        return x[0] ** 2 + 4 * (1 - xp.cos(x[1])) + 0.1 * (x[2] ** 2 + x[3] ** 2) + 0.01 * u[0] ** 2

    def loss(us: Any, x: Any) -> Any:
        if shared:
            _, costs = library.lax.scan(lambda x, u: (cartpole(xp, x, u), stage(x, u)), x, us)
            return xp.mean(costs)
        total = 0.0
        for u in us:
            total = total + stage(x, u)
            x = cartpole(xp, x, u)
        return total / len(us)

    slope = library.grad(loss)

    def act(x: Any, us: Any) -> Any:
        if shared:
            us = library.lax.fori_loop(0, 10, lambda _, us: clip(us - 5.0 * slope(us, x)), us)
        else:
            for _ in range(10):
                us = clip(us - 5.0 * slope(us, x))
        return cartpole(xp, x, us[0]), xp.concatenate([us[1:], us[-1:]]), x

    def run(x: Any, us: Any) -> Any:
        if shared:

            def step(carry: Any, _: Any) -> Any:
                x, us, seen = act(*carry)
                return (x, us), seen

            return library.lax.scan(step, (x, us), None, length=10)[1]
        path = []
        for _ in range(10):
            x, us, seen = act(x, us)
            path.append(seen)
        return xp.stack(path)

    return library.thunk(run, np.array([0.2, 0.3, 0, 0], np.float32), np.zeros((30, 1), np.float32))


PLACES, CHOICES = 400, 8


def value_iteration(library: Any) -> Any:
    """Until the values of 400 states change by less than 1e-4, and the best choice in each."""
    rng = np.random.default_rng(1)
    chances = rng.dirichlet(np.full(PLACES, 0.05), (CHOICES, PLACES)).astype(np.float32)
    rewards = rng.normal(size=(PLACES, CHOICES)).astype(np.float32)
    if library.name in ("torch", "numpy"):
        largest, best = (library.torch.amax, library.torch.argmax) if library.name == "torch" else (np.max, np.argmax)

        def iterate(chances: Any, rewards: Any) -> Any:
            values, change = library.array(np.zeros(PLACES, np.float32)), 1.0
            while change > 1e-4:
                worth = rewards + 0.9 * (chances @ values).T
                new = largest(worth, 1)
                change, values = float(abs(new - values).max()), new
            return values, best(worth, 1)

        return library.thunk(iterate, chances, rewards)
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax

    def solve(chances: Any, rewards: Any) -> Any:
        def worth(values: Any) -> Any:
            return rewards + 0.9 * xp.einsum("ast,t->sa", chances, values)

        def step(state: Any) -> Any:
            values, _ = state
            new = xp.max(worth(values), axis=1)
            return new, xp.max(xp.abs(new - values))

        values, _ = lax.while_loop(lambda s: s[1] > 1e-4, step, (xp.zeros(PLACES), 1.0))
        return values, xp.argmax(worth(values), axis=1)

    return library.thunk(solve, chances, rewards)


ROLLOUT, WORLDS, SENSES, ACTIONS, MINIBATCHES = 64, 16, 8, 4, 4


def proximal(library: Any) -> Any:
    """A PPO update: advantages by a scan backwards, then 2 epochs of 4 shuffled minibatches, each a step of Adam."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp, nn, shared = library.xp, library.nn, hasattr(library, "lax")
    shapes = {"w1": (SENSES, 64), "w2": (64, 64), "policy": (64, ACTIONS), "value": (64, 1)}
    parameters = {name: normal(*s, seed=i, scale=s[0] ** -0.5) for i, (name, s) in enumerate(shapes.items())}
    moments = [{name: np.full_like(w, value) for name, w in parameters.items()} for value in (0, 1e-4)]
    rng = np.random.default_rng(5)
    senses = normal(ROLLOUT, WORLDS, SENSES, seed=6)
    actions = rng.integers(0, ACTIONS, (ROLLOUT, WORLDS))
    logs = (-np.log(ACTIONS) + 0.1 * rng.normal(size=actions.shape)).astype(np.float32)
    rewards, values = normal(ROLLOUT, WORLDS, seed=7), normal(ROLLOUT + 1, WORLDS, seed=8)
    going = (rng.uniform(size=actions.shape) > 0.05).astype(np.float32)

    def advantages(rewards: Any, values: Any, going: Any) -> Any:
        errors = rewards + 0.99 * values[1:] * going - values[:-1]
        if shared:

            def step(later: Any, x: Any) -> Any:
                error, going = x
                later = error + 0.99 * 0.95 * going * later
                return later, later

            return library.lax.scan(step, xp.zeros(WORLDS), (errors, going), reverse=True)[1]
        later, found = xp.zeros(WORLDS), []
        for error, there in zip(errors.flip(0), going.flip(0), strict=True):
            later = error + 0.99 * 0.95 * there * later
            found.append(later)
        return xp.stack(found[::-1])

    def network(p: Any, x: Any) -> Any:
        x = xp.tanh(xp.tanh(x @ p["w1"]) @ p["w2"])
        return x @ p["policy"], (x @ p["value"])[:, 0]

    def loss(p: Any, x: Any, actions: Any, before: Any, advantage: Any, target: Any) -> Any:
        scores, value = network(p, x)
        logs = scores - nn.logsumexp(scores, axis=-1, keepdims=True)
        taken = (
            xp.take_along_axis(logs, actions[:, None], 1)[:, 0] if shared else logs.gather(1, actions[:, None])[:, 0]
        )
        ratio = xp.exp(taken - before)
        spread = xp.sqrt(xp.var(advantage, axis=0))
        advantage = (advantage - xp.mean(advantage)) / (spread + 1e-8)
        clipped = xp.clip(ratio, 0.8, 1.2) if shared else ratio.clamp(0.8, 1.2)
        gain = (
            xp.minimum(ratio * advantage, clipped * advantage)
            if shared
            else library.torch.minimum(ratio * advantage, clipped * advantage)
        )
        entropy = -xp.sum(xp.exp(logs) * logs, axis=-1)
        return xp.mean(-gain + 0.5 * (value - target) ** 2 - 0.01 * entropy)

    step = adam(library, loss, 3e-4)

    def update(
        state: Any, orders: Any, senses: Any, actions: Any, logs: Any, rewards: Any, values: Any, going: Any
    ) -> Any:
        found = advantages(rewards, values, going)
        data = (senses, actions, logs, found, found + values[:-1])
        data = tuple(x.reshape(ROLLOUT * WORLDS, *x.shape[2:]) for x in data)

        def minibatch(state: Any, chosen: Any) -> Any:
            return step(*state, 1.0, *(x[chosen] for x in data))

        if shared:
            orders = library.vmap(lambda key: library.module.random.permutation(key, ROLLOUT * WORLDS))(orders)
            chosen = orders.reshape(2 * MINIBATCHES, -1)
            return library.lax.scan(lambda state, chosen: (minibatch(state, chosen), None), state, chosen)[0]
        for chosen in orders.reshape(2 * MINIBATCHES, -1):
            state = minibatch(state, chosen)
        return state

    state = parameters, *moments
    actions = actions if not shared else actions.astype(np.int32)
    return library.thunk(update, state, shuffled(library), senses, actions, logs, rewards, values, going)


def shuffled(library: Any) -> Any:
    """Keys of the two epochs, or for torch the orders that they stand for."""
    if hasattr(library, "lax"):
        return library.module.random.split(library.module.random.PRNGKey(2), 2)
    import cotangent as ct

    keys = ct.random.split(ct.random.PRNGKey(2), 2)
    return np.stack([np.asarray(ct.random.permutation(key, ROLLOUT * WORLDS)) for key in keys]).astype(np.int64)


POPULATION = 64


def evolution(library: Any) -> Any:
    """Evolution strategies: 3 generations of 64 mirrored policies, each balancing a pole for 100 steps."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, random = library.xp, library.lax, library.module.random
    sizes = (4, 16), (16, 1)
    count = sum(a * b + b for a, b in sizes)

    def policy(flat: Any, x: Any) -> Any:
        start = 0
        for a, b in sizes:
            w, bias = flat[start : start + a * b].reshape(a, b), flat[start + a * b : start + a * b + b]
            x, start = xp.tanh(x @ w + bias), start + a * b + b
        return 10 * x

    def score(flat: Any, start: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            x, up = carry
            x = cartpole(xp, x, policy(flat, x))
            up = up & (xp.abs(x[1]) < 0.4) & (xp.abs(x[0]) < 2.4)
            return (x, up), xp.where(up, 1.0 - 0.1 * xp.abs(x[1]), 0.0)

        return xp.sum(lax.scan(step, (start, True), None, length=100)[1])

    def generation(mean: Any, key: Any) -> Any:
        draw, place = random.split(key)
        noise = random.normal(draw, (POPULATION // 2, count))
        noise = xp.concatenate([noise, -noise])
        start = random.uniform(place, (4,), minval=-0.05, maxval=0.05)
        scores = library.vmap(score, in_axes=(0, None))(mean + 0.3 * noise, start)
        ranks = xp.argsort(xp.argsort(scores)) / (POPULATION - 1) - 0.5
        return mean + 0.1 / (POPULATION * 0.3) * ranks @ noise, xp.max(scores)

    def run(key: Any, mean: Any) -> Any:
        return lax.scan(generation, mean, random.split(key, 3))

    return library.thunk(run, library.module.random.PRNGKey(8), normal(count, seed=9, scale=0.1))


JOINTS, GOALS = 7, 32


def kinematics(library: Any) -> Any:
    """Angles of an arm's 7 joints by which its hand gets to each of 32 places: 15 steps with the Jacobian's pseudo-inverse."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax
    axes = np.eye(3, dtype=np.float32)[[2, 1, 0, 1, 2, 1, 0]]

    def rotation(axis: Any, angle: Any) -> Any:
        x, y, z = axis
        k = xp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return xp.eye(3) + xp.sin(angle) * k + (1 - xp.cos(angle)) * (k @ k)

    def hand(angles: Any) -> Any:
        frame, place = xp.eye(3), xp.zeros(3)
        for axis, angle in zip(axes, angles, strict=True):
            frame = frame @ rotation(axis, angle)
            place = place + frame @ xp.array([0.0, 0.0, 0.3])
        return place

    def reach(goal: Any, angles: Any) -> Any:
        def step(_: Any, angles: Any) -> Any:
            jacobian = library.module.jacfwd(hand)(angles)
            return angles + 0.5 * xp.linalg.pinv(jacobian, rtol=1e-2) @ (goal - hand(angles))

        angles = lax.fori_loop(0, 15, step, angles)
        return angles, hand(angles)

    goals = np.array([0.6, 0.4, 1.0], np.float32) + normal(GOALS, 3, scale=0.2)
    angles = normal(JOINTS, seed=1, scale=0.3)
    return library.thunk(library.vmap(reach, in_axes=(0, None)), goals, angles)


WORKLOADS = [
    Workload("iterative LQR of a cart and pole, 8 starts, float64", in_double(riccati), AHEAD, "ms", tolerance=1e-8),
    Workload(
        "model predictive control, 10 plans by 10 gradients", shooting, AHEAD, "ms", tolerance=1e-3, compiled_peer=False
    ),
    Workload(
        "value iteration, 400 states, 8 choices", value_iteration, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload(
        "proximal policy update, 2 epochs of 4 minibatches", proximal, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload("evolution strategy, 3 generations of 64 policies", evolution, AHEAD, "ms", tolerance=1e-3),
    Workload("inverse kinematics of 7 joints, 32 goals", kinematics, AHEAD, "ms"),
]
