"""Inference: samplers, evidence and approximations of posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import adam, normal
from workloads.models.precision import in_double, part

AHEAD = (TimesBest(1.0),)


# ------------------------------------------------------------------------------------------------------------- samplers

EXAMPLES, COVARIATES, CHAINS = 400, 25, 16


def regression() -> tuple[np.ndarray, np.ndarray]:
    x = normal(EXAMPLES, COVARIATES, seed=21)
    chance = 1 / (1 + np.exp(-x @ normal(COVARIATES, seed=22, scale=0.5)))
    return x, (np.random.default_rng(23).uniform(size=EXAMPLES) < chance).astype(np.float32)


def log_posterior(library: Any, x: Any, y: Any) -> Any:
    """Of logistic regression's weights under a normal prior."""
    xp, nn = library.xp, library.nn

    def density(w: Any) -> Any:
        scores = x @ w
        return xp.sum(y * scores - nn.softplus(scores)) - 0.5 * xp.sum(w**2)

    return density


def hamiltonian(library: Any) -> Any:
    """20 transitions of 10 leapfrog steps for each of 16 chains."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, random = library.xp, library.lax, library.module.random

    def sample(key: Any, x: Any, y: Any) -> Any:
        density = log_posterior(library, x, y)
        slope, size = library.grad(density), 0.05

        def leapfrog(_: Any, state: Any) -> Any:
            w, momentum = state
            momentum = momentum + 0.5 * size * slope(w)
            w = w + size * momentum
            return w, momentum + 0.5 * size * slope(w)

        def transition(w: Any, key: Any) -> Any:
            draw, accept = random.split(key)
            momentum = random.normal(draw, w.shape)
            proposal, ended = lax.fori_loop(0, 10, leapfrog, (w, momentum))
            gain = density(proposal) - density(w) - 0.5 * (xp.sum(ended**2) - xp.sum(momentum**2))
            taken = xp.log(random.uniform(accept)) < gain
            w = xp.where(taken, proposal, w)
            return w, (w, taken)

        def chain(key: Any) -> Any:
            first, rest = random.split(key)
            return lax.scan(transition, 0.1 * random.normal(first, (COVARIATES,)), random.split(rest, 20))[1]

        draws, taken = library.vmap(chain)(random.split(key, CHAINS))
        return xp.mean(draws, axis=(0, 1)), xp.std(draws, axis=(0, 1)), xp.mean(taken)

    return library.thunk(sample, library.module.random.PRNGKey(3), *regression())


def no_u_turn(library: Any) -> Any:
    """Trees that double until they turn (Hoffman and Gelman), without recursion: turns are looked for at checkpoints, as many as the tree is deep."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, random = library.xp, library.lax, library.module.random
    deepest, size = 6, 0.03

    def sample(key: Any, x: Any, y: Any) -> Any:
        density = log_posterior(library, x, y)
        slope = library.grad(density)

        def turns(first: Any, last: Any, total: Any) -> Any:
            inner = total - 0.5 * (first + last)
            return (xp.dot(first, inner) <= 0) | (xp.dot(last, inner) <= 0)

        def turned(index: Any, momentum: Any, total: Any, momenta: Any, totals: Any) -> Any:
            """Whether a subtree that ends in this leaf turns."""
            highest = lax.population_count(index >> 1)
            lowest = highest - lax.population_count((~index & (index + 1)) - 1) + 1

            def body(state: Any) -> Any:
                i, _ = state
                return i - 1, turns(momenta[i], momentum, total - totals[i] + momenta[i])

            return lax.while_loop(lambda s: (s[0] >= lowest) & ~s[1], body, (highest, False))[1]

        def subtree(key: Any, depth: Any, way: Any, edge: Any, energy: Any) -> Any:
            def more(state: Any) -> Any:
                return (state["leaves"] < 2**depth) & ~state["turns"]

            def leaf(state: Any) -> Any:
                w, momentum = state["edge"]
                momentum = momentum + 0.5 * size * way * slope(w)
                w = w + size * way * momentum
                momentum = momentum + 0.5 * size * way * slope(w)
                weight = density(w) - 0.5 * xp.sum(momentum**2) - energy
                key, draw = random.split(state["key"])
                weights = xp.logaddexp(state["weights"], weight)
                take = xp.log(random.uniform(draw)) < weight - weights
                total, i = state["total"] + momentum, state["leaves"]
                place = lax.population_count(i >> 1)
                even = i % 2 == 0
                momenta = xp.where(even, state["momenta"].at[place].set(momentum), state["momenta"])
                totals = xp.where(even, state["totals"].at[place].set(total), state["totals"])
                turning = ~even & turned(i, momentum, total, momenta, totals)
                return {
                    "key": key, "edge": (w, momentum), "weights": weights, "proposal": xp.where(take, w, state["proposal"]),
                    "total": total, "leaves": i + 1, "momenta": momenta, "totals": totals, "turns": turning | (weight < -1000),
                }  # fmt: skip

            zeros = xp.zeros((deepest, COVARIATES))
            start = {
                "key": key, "edge": edge, "weights": -xp.inf, "proposal": edge[0], "total": zeros[0], "leaves": 0,
                "momenta": zeros, "totals": zeros, "turns": False,
            }  # fmt: skip
            return lax.while_loop(more, leaf, start)

        def transition(w: Any, key: Any) -> Any:
            key, draw = random.split(key)
            momentum = random.normal(draw, w.shape)
            energy = density(w) - 0.5 * xp.sum(momentum**2)

            def double(state: Any) -> Any:
                key, depth, left, right, w, weights, total, _, leaves = state
                key, grow, choose, side = random.split(key, 4)
                ahead = random.bernoulli(side)
                edge = library.tree_map(lambda a, b: xp.where(ahead, a, b), right, left)
                new = subtree(grow, depth, xp.where(ahead, 1.0, -1.0), edge, energy)
                left = library.tree_map(lambda a, b: xp.where(ahead, a, b), left, new["edge"])
                right = library.tree_map(lambda a, b: xp.where(ahead, b, a), right, new["edge"])
                take = ~new["turns"] & (xp.log(random.uniform(choose)) < new["weights"] - weights)
                total = total + new["total"]
                done = new["turns"] | turns(left[1], right[1], total)
                w = xp.where(take, new["proposal"], w)
                return (
                    key,
                    depth + 1,
                    left,
                    right,
                    w,
                    xp.logaddexp(weights, new["weights"]),
                    total,
                    done,
                    leaves + new["leaves"],
                )

            start = (key, 0, (w, momentum), (w, momentum), w, 0.0, momentum, False, 0)
            end = lax.while_loop(lambda s: (s[1] < deepest) & ~s[7], double, start)
            return end[4], (end[4], end[8])

        def chain(key: Any) -> Any:
            first, rest = random.split(key)
            return lax.scan(transition, 0.1 * random.normal(first, (COVARIATES,)), random.split(rest, 5))[1]

        return library.vmap(chain)(random.split(key, 4))

    return library.thunk(sample, library.module.random.PRNGKey(4), *regression())


BODIES, ROUNDS = 64, 10


def stein(library: Any) -> Any:
    """Stein variational gradient descent with the median's bandwidth."""
    start, (x, y) = normal(BODIES, COVARIATES, seed=31), regression()
    if library.name == "torch":
        return stein_torch(library, start, x, y)
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax

    def descend(particles: Any, x: Any, y: Any) -> Any:
        slopes = library.vmap(library.grad(log_posterior(library, x, y)))

        def step(_: Any, particles: Any) -> Any:
            between = particles[:, None] - particles[None]
            squares = xp.sum(between**2, axis=-1)
            width = xp.median(squares) / np.log(BODIES)
            kernel = xp.exp(-squares / width)
            push = 2 / width * xp.sum(kernel[..., None] * between, axis=1)
            return particles + 0.01 * (kernel @ slopes(particles) + push) / BODIES

        return lax.fori_loop(0, ROUNDS, step, particles)

    return library.thunk(descend, start, x, y)


def stein_torch(library: Any, start: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    torch = library.torch

    def descend(particles: Any, x: Any, y: Any) -> Any:
        for _ in range(ROUNDS):
            slopes = (y - torch.sigmoid(particles @ x.T)) @ x - particles
            between = particles[:, None] - particles[None]
            squares = torch.sum(between**2, dim=-1)
            width = torch.quantile(squares, 0.5) / np.log(BODIES)
            kernel = torch.exp(-squares / width)
            push = 2 / width * torch.sum(kernel[..., None] * between, dim=1)
            particles = particles + 0.01 * (kernel @ slopes + push) / BODIES
        return particles

    return library.thunk(descend, start, x, y)


# ------------------------------------------------------------------------------------------- evidence and approximations

POINTS, INPUTS = 200, 4


def gaussian_process(library: Any) -> Any:
    """Evidence of a Gaussian process whose inputs have length scales of their own, and its gradient; in float64."""
    x = normal(POINTS, INPUTS, seed=41, dtype=np.float64)
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * normal(POINTS, seed=42, dtype=np.float64)
    parameters = {"scale": np.zeros(INPUTS), "amplitude": np.array(0.1), "noise": np.array(-1.5)}
    if library.name == "numpy":
        return None
    if library.name.startswith("torch"):
        linalg = library.torch.linalg
        solve = lambda factor, y: library.torch.cholesky_solve(y[:, None], factor)[:, 0]  # noqa: E731
        diagonal, eye = library.torch.diagonal, lambda: library.torch.eye(POINTS, dtype=library.torch.float64)
    else:
        linalg, scipy = library.xp.linalg, part(library, "scipy.linalg")
        solve = lambda factor, y: scipy.cho_solve((factor, True), y)  # noqa: E731
        diagonal, eye = library.xp.diagonal, lambda: library.xp.eye(POINTS)
    xp = library.xp

    def loss(p: Any, x: Any, y: Any) -> Any:
        scaled = x * xp.exp(-p["scale"])
        squares = xp.sum((scaled[:, None] - scaled[None]) ** 2, axis=-1)
        kernel = xp.exp(2 * p["amplitude"] - 0.5 * squares) + xp.exp(2 * p["noise"]) * eye()
        factor = linalg.cholesky(kernel)
        fit = 0.5 * xp.sum(y * solve(factor, y))
        return fit + xp.sum(xp.log(diagonal(factor))) + 0.5 * POINTS * np.log(2 * np.pi)

    return library.thunk(library.value_and_grad(loss), parameters, x, y)


DRAWS = 16


def variational(library: Any) -> Any:
    """A step of Adam for the bound of a Bayesian network's evidence, by weights drawn as mean plus noise."""
    shapes = {"w1": (8, 32), "b1": (32,), "w2": (32, 32), "b2": (32,), "w3": (32, 1), "b3": (1,)}
    means = {name: normal(*shape, seed=i, scale=0.3) for i, (name, shape) in enumerate(shapes.items())}
    parameters = {"mean": means, "spread": {name: np.full(shape, -3, np.float32) for name, shape in shapes.items()}}
    moments = [
        {part: {name: np.full_like(w, value) for name, w in tree.items()} for part, tree in parameters.items()}
        for value in (0, 1e-2)
    ]
    x = normal(128, 8, seed=51)
    y = np.sin(x[:, 0]) * x[:, 1] + 0.1 * normal(128, seed=52)
    if not library.functional or library.name == "torch.func":
        return None
    xp, ours = library.xp, hasattr(library, "lax")

    def predict(w: Any, x: Any) -> Any:
        """Of one set of weights, or of a stack of them."""
        x = xp.tanh(x @ w["w1"] + w["b1"][..., None, :])
        x = xp.tanh(x @ w["w2"] + w["b2"][..., None, :])
        return (x @ w["w3"] + w["b3"][..., None, :])[..., 0]

    def divergence(mean: Any, spread: Any) -> Any:
        return xp.sum(0.5 * (xp.exp(2 * spread) + mean**2) - spread - 0.5)

    def shared(p: Any, noise: Any, x: Any, y: Any) -> Any:
        mean, spread = p["mean"], p["spread"]

        def error(noise: Any) -> Any:
            w = {name: mean[name] + xp.exp(spread[name]) * noise[name] for name in mean}
            return xp.sum((predict(w, x) - y) ** 2)

        errors = library.vmap(error)(noise) if ours else error(noise) / DRAWS
        return 50 * xp.mean(errors) + sum(divergence(mean[name], spread[name]) for name in mean)

    def bound(p: Any, key: Any, x: Any, y: Any) -> Any:
        random = library.module.random
        keys = dict(zip(sorted(shapes), random.split(key, len(shapes)), strict=True))
        return shared(p, {name: random.normal(keys[name], (DRAWS, *shapes[name])) for name in shapes}, x, y)

    step = adam(library, bound if ours else shared)
    return library.thunk(step, parameters, *moments, np.array(1.0, np.float32), noise_of(library, shapes), x, y)


def noise_of(library: Any, shapes: dict[str, tuple[int, ...]]) -> Any:
    """A key, or for torch the numbers that it stands for."""
    if hasattr(library, "lax"):
        return library.module.random.PRNGKey(9)
    import cotangent as ct

    keys = dict(zip(sorted(shapes), ct.random.split(ct.random.PRNGKey(9), len(shapes)), strict=True))
    return {name: np.asarray(ct.random.normal(keys[name], (DRAWS, *shapes[name]))) for name in shapes}


COMPONENTS, SAMPLES, WIDTH = 6, 4000, 5


def mixture(library: Any) -> Any:
    """10 rounds of expectation and maximisation for a mixture of Gaussians with full covariances."""
    rng = np.random.default_rng(61)
    centres = 3 * rng.normal(size=(COMPONENTS, WIDTH))
    x = (centres[rng.integers(0, COMPONENTS, SAMPLES)] + rng.normal(size=(SAMPLES, WIDTH))).astype(np.float32)
    means = (centres + 0.5 * rng.normal(size=centres.shape)).astype(np.float32)
    start = (
        np.full(COMPONENTS, 1 / COMPONENTS, np.float32),
        means,
        np.stack([np.eye(WIDTH, dtype=np.float32)] * COMPONENTS),
    )
    if library.name == "numpy":
        from scipy.linalg import solve_triangular as solve
        from scipy.special import softmax

        xp, linalg = np, np.linalg
        white = lambda factor, d: np.stack([solve(f, e, lower=True) for f, e in zip(factor, d, strict=True)])  # noqa: E731
        soften = lambda scores: softmax(scores, axis=0)  # noqa: E731
    elif library.name.startswith("torch"):
        xp, linalg = library.xp, library.torch.linalg
        white = lambda factor, d: linalg.solve_triangular(factor, d, upper=False)  # noqa: E731
        soften = lambda scores: library.torch.softmax(scores, dim=0)  # noqa: E731
    else:
        xp, linalg = library.xp, library.xp.linalg
        solve_each = library.vmap(lambda f, d: part(library, "scipy.linalg").solve_triangular(f, d, lower=True))
        white, soften = solve_each, lambda scores: library.nn.softmax(scores, axis=0)

    def round_of(state: Any, x: Any) -> Any:
        weights, means, covs = state
        factor = linalg.cholesky(covs)
        d = xp.swapaxes(x[None] - means[:, None], 1, 2)
        size = xp.sum(xp.log(xp.stack([factor[:, i, i] for i in range(WIDTH)])), axis=0)
        scores = -0.5 * xp.sum(white(factor, d) ** 2, axis=1) - size[:, None] + xp.log(weights)[:, None]
        share = soften(scores)
        count = xp.sum(share, axis=1)
        means = share @ x / count[:, None]
        d = x[None] - means[:, None]
        covs = xp.einsum("kn,kni,knj->kij", share, d, d) / count[:, None, None]
        return count / SAMPLES, means, covs + 1e-4 * eye

    eye = library.array(np.eye(WIDTH, dtype=np.float32))

    def fit(state: Any, x: Any) -> Any:
        if hasattr(library, "lax"):
            return library.lax.fori_loop(0, 10, lambda _, state: round_of(state, x), state)
        for _ in range(10):
            state = round_of(state, x)
        return state

    return library.thunk(fit, start, x)


WORKLOADS = [
    Workload("Hamiltonian Monte Carlo, 16 chains of 20", hamiltonian, AHEAD, "ms"),
    Workload("no-U-turn sampler, 4 chains of 5", no_u_turn, AHEAD, "ms"),
    Workload(
        "Stein variational descent, 64 particles, 10 steps", stein, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload(
        "Gaussian process of 200 points, evidence and gradient, float64",
        in_double(gaussian_process),
        AHEAD,
        "ms",
        tolerance=1e-8,
    ),
    Workload("Bayesian network, step of its evidence's bound", variational, AHEAD, "ms", tolerance=1e-4),
    Workload("mixture of 6 Gaussians, 10 rounds of 4,000 points", mixture, AHEAD, "ms", compiled_peer=False),
]
