"""Filters: what is known of a state that moves and is seen with noise, and of the states behind a sequence of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal
from workloads.models.precision import in_double, part

AHEAD = (TimesBest(1.0),)


# --------------------------------------------------------------------------------------------- linear Gaussian models

STATES, SEEN, STEPS = 6, 3, 200


def tracking(dtype: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A point with position and velocity in three dimensions whose position is seen with noise, and what was seen."""
    transition = np.eye(STATES) + np.eye(STATES, k=3) * 0.1
    parameters = {
        "transition": transition,
        "disturbance": 0.1 * np.tril(normal(STATES, STATES, seed=1, dtype=np.float64)) + 0.2 * np.eye(STATES),
        "observation": np.eye(SEEN, STATES) + 0.05 * normal(SEEN, STATES, seed=2, dtype=np.float64),
        "noise": np.full(SEEN, -0.5),
    }
    seen = np.cumsum(normal(STEPS, SEEN, seed=3, scale=0.3, dtype=np.float64), axis=0)
    return {name: value.astype(dtype) for name, value in parameters.items()}, seen.astype(dtype)


def kalman_likelihood(library: Any) -> Any:
    parameters, seen = tracking(np.float32)
    if library.name == "torch":
        return kalman_likelihood_torch(library, parameters, seen)
    if not hasattr(library, "lax"):
        return None
    xp, lax, linalg = library.xp, library.lax, part(library, "scipy.linalg")

    def loss(p: Any, ys: Any) -> Any:
        a, c = p["transition"], p["observation"]
        q, r = p["disturbance"] @ p["disturbance"].T, xp.diag(xp.exp(2 * p["noise"]))

        def step(carry: Any, y: Any) -> Any:
            mean, cov = carry
            mean, cov = a @ mean, a @ cov @ a.T + q
            innovation, spread = y - c @ mean, c @ cov @ c.T + r
            factor = xp.linalg.cholesky(spread)
            gain = linalg.cho_solve((factor, True), c @ cov).T
            white = linalg.solve_triangular(factor, innovation, lower=True)
            value = -0.5 * xp.sum(white**2) - xp.sum(xp.log(xp.diag(factor))) - 0.5 * SEEN * np.log(2 * np.pi)
            return (mean + gain @ innovation, cov - gain @ spread @ gain.T), value

        start = xp.zeros(STATES, ys.dtype), xp.eye(STATES, dtype=ys.dtype)
        return -xp.sum(lax.scan(step, start, ys)[1])

    return library.thunk(library.value_and_grad(loss), parameters, seen)


def kalman_likelihood_torch(library: Any, parameters: Any, seen: np.ndarray) -> Any:
    torch = library.torch

    def loss(p: Any, ys: Any) -> Any:
        a, c = p["transition"], p["observation"]
        q, r = p["disturbance"] @ p["disturbance"].T, torch.diag(torch.exp(2 * p["noise"]))
        mean, cov, value = torch.zeros(STATES), torch.eye(STATES), 0.0
        for y in ys:
            mean, cov = a @ mean, a @ cov @ a.T + q
            innovation, spread = y - c @ mean, c @ cov @ c.T + r
            factor = torch.linalg.cholesky(spread)
            gain = torch.cholesky_solve(c @ cov, factor).T
            white = torch.linalg.solve_triangular(factor, innovation[:, None], upper=False)
            value = value + 0.5 * torch.sum(white**2) + torch.sum(torch.log(torch.diag(factor)))
            mean, cov = mean + gain @ innovation, cov - gain @ spread @ gain.T
        return value + 0.5 * STEPS * SEEN * np.log(2 * np.pi)

    return library.thunk(library.value_and_grad(loss), parameters, seen)


def kalman_smoother(library: Any) -> Any:
    """Rauch, Tung and Striebel's, in float64."""
    p, seen = tracking(np.float64)
    a, c = p["transition"], p["observation"]
    q, r = p["disturbance"] @ p["disturbance"].T, np.diag(np.exp(2 * p["noise"]))
    if library.name == "numpy":
        return lambda: smoother_numpy(a, c, q, r, seen)
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax

    def smooth(a: Any, c: Any, q: Any, r: Any, ys: Any) -> Any:
        def forward(carry: Any, y: Any) -> Any:
            mean, cov = carry
            mean, cov = a @ mean, a @ cov @ a.T + q
            gain = xp.linalg.solve(c @ cov @ c.T + r, c @ cov).T
            after = mean + gain @ (y - c @ mean), cov - gain @ c @ cov
            return after, (mean, cov, *after)

        def backward(carry: Any, x: Any) -> Any:
            mean, cov = carry
            mean_ahead, cov_ahead, mean_here, cov_here = x
            gain = xp.linalg.solve(cov_ahead, a @ cov_here).T
            smoothed = mean_here + gain @ (mean - mean_ahead), cov_here + gain @ (cov - cov_ahead) @ gain.T
            return smoothed, smoothed

        last, (means_ahead, covs_ahead, means, covs) = lax.scan(forward, (xp.zeros(STATES), xp.eye(STATES)), ys)
        ahead = means_ahead[1:], covs_ahead[1:], means[:-1], covs[:-1]
        return lax.scan(backward, last, ahead, reverse=True)[1]

    return library.thunk(smooth, a, c, q, r, seen)


def smoother_numpy(a: Any, c: Any, q: Any, r: Any, ys: Any) -> Any:
    mean, cov, filtered = np.zeros(STATES), np.eye(STATES), []
    for y in ys:
        mean, cov = a @ mean, a @ cov @ a.T + q
        gain = np.linalg.solve(c @ cov @ c.T + r, c @ cov).T
        ahead = mean, cov
        mean, cov = mean + gain @ (y - c @ mean), cov - gain @ c @ cov
        filtered.append((*ahead, mean, cov))
    smoothed = []
    for (_, _, mean_here, cov_here), (mean_ahead, cov_ahead, _, _) in zip(
        filtered[-2::-1], filtered[:0:-1], strict=True
    ):
        gain = np.linalg.solve(cov_ahead, a @ cov_here).T
        mean, cov = mean_here + gain @ (mean - mean_ahead), cov_here + gain @ (cov - cov_ahead) @ gain.T
        smoothed.append((mean, cov))
    means, covs = zip(*smoothed[::-1], strict=True)
    return np.stack(means), np.stack(covs)


# ------------------------------------------------------------------------------------------- models that are not linear

TRACKS, TURNS = 32, 100


def turning(xp: Any, x: Any) -> Any:
    """Where a vehicle (place, speed, heading, rate of turning) is 0.1 s later."""
    px, py, speed, heading, rate = x
    return xp.stack([
        px + 0.1 * speed * xp.cos(heading), py + 0.1 * speed * xp.sin(heading), 0.99 * speed, heading + 0.1 * rate, 0.98 * rate,
    ])  # fmt: skip


def sighting(xp: Any, x: Any) -> Any:
    """Distance and bearing from the origin."""
    return xp.stack([xp.sqrt(x[0] ** 2 + x[1] ** 2 + 1e-6), xp.arctan2(x[1], x[0])])


def sightings() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    starts = np.concatenate(
        [rng.uniform(3, 6, (TRACKS, 2)), rng.uniform(0.2, 1, (TRACKS, 1)), rng.uniform(-1, 1, (TRACKS, 2))], axis=1
    )
    seen = np.empty((TRACKS, TURNS, 2))
    for track, state in enumerate(starts):
        for time in range(TURNS):
            state = turning(np, state)
            seen[track, time] = sighting(np, state) + rng.normal(scale=(0.1, 0.02))
    return starts.astype(np.float32), seen.astype(np.float32)


def extended_filter(library: Any) -> Any:
    if not hasattr(library, "lax"):
        return None
    xp, lax, jacfwd = library.xp, library.lax, library.module.jacfwd

    def track(start: Any, ys: Any) -> Any:
        disturbance = xp.diag(xp.array([1e-4, 1e-4, 1e-3, 1e-4, 1e-2]))
        noise = xp.diag(xp.array([0.01, 0.0004]))

        def step(carry: Any, y: Any) -> Any:
            mean, cov = carry
            f = jacfwd(lambda x: turning(xp, x))(mean)
            mean, cov = turning(xp, mean), f @ cov @ f.T + disturbance
            h = jacfwd(lambda x: sighting(xp, x))(mean)
            spread = h @ cov @ h.T + noise
            gain = xp.linalg.solve(spread, h @ cov).T
            mean, cov = mean + gain @ (y - sighting(xp, mean)), (xp.eye(5) - gain @ h) @ cov
            return (mean, cov), (mean, xp.diag(cov))

        return lax.scan(step, (start, 0.1 * xp.eye(5)), ys)[1]

    return library.thunk(library.vmap(track), *sightings())


def unscented_filter(library: Any) -> Any:
    if not hasattr(library, "lax"):
        return None
    xp, lax, vmap = library.xp, library.lax, library.vmap
    n, kappa = 5, 1.0
    weights = np.array([kappa / (n + kappa)] + [0.5 / (n + kappa)] * (2 * n), np.float32)

    def points(mean: Any, cov: Any) -> Any:
        spread = xp.linalg.cholesky((n + kappa) * cov).T
        return xp.concatenate([mean[None], mean + spread, mean - spread])

    def track(start: Any, ys: Any) -> Any:
        disturbance = xp.diag(xp.array([1e-4, 1e-4, 1e-3, 1e-4, 1e-2]))
        noise = xp.diag(xp.array([0.01, 0.0004]))

        def moments(x: Any) -> Any:
            mean = weights @ x
            return mean, x - mean

        def step(carry: Any, y: Any) -> Any:
            mean, moved = moments(vmap(lambda x: turning(xp, x))(points(*carry)))
            cov = (weights[:, None] * moved).T @ moved + disturbance
            x = points(mean, cov)
            expected, seen = moments(vmap(lambda x: sighting(xp, x))(x))
            spread = (weights[:, None] * seen).T @ seen + noise
            cross = (weights[:, None] * (x - mean)).T @ seen
            gain = xp.linalg.solve(spread, cross.T).T
            mean, cov = mean + gain @ (y - expected), cov - gain @ spread @ gain.T
            return (mean, 0.5 * (cov + cov.T)), (mean, xp.diag(cov))

        return lax.scan(step, (start, 0.1 * xp.eye(5)), ys)[1]

    return library.thunk(vmap(track), *sightings())


PARTICLES, DAYS = 4096, 100


def particle_filter(library: Any) -> Any:
    """The bootstrap filter of a stochastic volatility, resampled systematically at each step; float64, as sums decide who survives."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn, random = library.xp, library.lax, library.nn, library.module.random

    def filtered(key: Any, returns: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            particles, total = carry
            key, y = x
            move, place = random.split(key)
            particles = -1 + 0.95 * (particles + 1) + 0.3 * random.normal(move, particles.shape)
            log_weights = -0.5 * (y**2 * xp.exp(-particles) + particles)
            total = total + nn.logsumexp(log_weights) - np.log(PARTICLES)
            weights = nn.softmax(log_weights)
            positions = (xp.arange(PARTICLES) + random.uniform(place)) / PARTICLES
            chosen = xp.clip(xp.searchsorted(xp.cumsum(weights), positions), 0, PARTICLES - 1)
            return (particles[chosen], total), (weights @ particles, 1 / xp.sum(weights**2))

        first, rest = random.split(key)
        start = -1 + 0.96 * random.normal(first, (PARTICLES,)), xp.zeros(())
        (_, total), traces = lax.scan(step, start, (random.split(rest, DAYS), returns))
        return total, traces

    returns = normal(DAYS, seed=7, dtype=np.float64) * np.exp(0.5 * (-1 + 0.5 * np.sin(np.arange(DAYS) / 8)))
    return library.thunk(filtered, library.module.random.PRNGKey(0), returns)


# ---------------------------------------------------------------------------------------------------- chains of symbols

HIDDEN, SYMBOLS, LENGTH = 32, 40, 400


def hidden_markov(library: Any) -> Any:
    """Posteriors of the states and of pairs of them, and the most probable path."""
    rng = np.random.default_rng(11)
    transition, emission = rng.dirichlet(np.full(HIDDEN, 0.5), HIDDEN), rng.dirichlet(np.full(SYMBOLS, 0.5), HIDDEN)
    logs = [np.log(p + 1e-6).astype(np.float32) for p in (np.full(HIDDEN, 1 / HIDDEN), transition, emission)]
    symbols = rng.integers(0, SYMBOLS, LENGTH).astype(np.int32)
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn = library.xp, library.lax, library.nn

    def posterior(initial: Any, transition: Any, emission: Any, symbols: Any) -> Any:
        scores = emission.T[symbols]

        def forward(alpha: Any, score: Any) -> Any:
            alpha = nn.logsumexp(alpha[:, None] + transition, axis=0) + score
            return alpha, alpha

        def backward(beta: Any, score: Any) -> Any:
            beta = nn.logsumexp(transition + score + beta, axis=1)
            return beta, beta

        def best(delta: Any, score: Any) -> Any:
            paths = delta[:, None] + transition
            return xp.max(paths, axis=0) + score, xp.argmax(paths, axis=0)

        first = initial + scores[0]
        last, alphas = lax.scan(forward, first, scores[1:])
        alphas = xp.concatenate([first[None], alphas])
        betas = lax.scan(backward, xp.zeros(HIDDEN), scores[1:], reverse=True)[1]
        betas = xp.concatenate([betas, xp.zeros((1, HIDDEN))])
        evidence = nn.logsumexp(last)
        pairs = alphas[:-1, :, None] + transition + (scores + betas)[1:, None, :] - evidence
        delta, pointers = lax.scan(best, first, scores[1:])
        end = xp.argmax(delta)
        path = lax.scan(lambda state, back: (back[state], back[state]), end, pointers, reverse=True)[1]
        return evidence, xp.exp(alphas + betas - evidence), xp.sum(xp.exp(pairs), axis=0), xp.append(path, end)

    return library.thunk(posterior, *logs, symbols)


TAGS, WORDS, SENTENCES = 12, 40, 16


def random_field(library: Any) -> Any:
    """Value and gradient of a linear chain's likelihood, with emissions from features."""
    features = normal(SENTENCES, WORDS, 64, seed=1)
    rng = np.random.default_rng(2)
    tags = rng.integers(0, TAGS, (SENTENCES, WORDS))
    lengths = rng.integers(WORDS // 2, WORDS + 1, SENTENCES)
    mask = (np.arange(WORDS) < lengths[:, None]).astype(np.float32)
    parameters = {"emit": normal(64, TAGS, seed=3, scale=0.1), "pass": normal(TAGS, TAGS, seed=4, scale=0.1)}
    if library.name == "torch":
        return random_field_torch(library, parameters, features, tags, mask)
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn = library.xp, library.lax, library.nn

    def one(p: Any, x: Any, tags: Any, mask: Any) -> Any:
        scores, passing = x @ p["emit"], p["pass"]
        true = xp.sum(mask * xp.take_along_axis(scores, tags[:, None], axis=1)[:, 0])
        true = true + xp.sum(mask[1:] * passing[tags[:-1], tags[1:]])

        def step(alpha: Any, inputs: Any) -> Any:
            score, there = inputs
            return xp.where(there > 0, nn.logsumexp(alpha[:, None] + passing, axis=0) + score, alpha), None

        alpha, _ = lax.scan(step, scores[0], (scores[1:], mask[1:]))
        return nn.logsumexp(alpha) - true

    def loss(p: Any, *batch: Any) -> Any:
        return xp.mean(library.vmap(one, in_axes=(None, 0, 0, 0))(p, *batch))

    return library.thunk(library.value_and_grad(loss), parameters, features, tags.astype(np.int32), mask)


def random_field_torch(library: Any, parameters: Any, features: Any, tags: Any, mask: Any) -> Any:
    torch = library.torch

    def loss(p: Any, x: Any, tags: Any, mask: Any) -> Any:
        scores, passing = x @ p["emit"], p["pass"]
        true = torch.sum(mask * scores.gather(2, tags[:, :, None])[:, :, 0])
        true = true + torch.sum(mask[:, 1:] * passing[tags[:, :-1], tags[:, 1:]])
        alpha = scores[:, 0]
        for i in range(1, WORDS):
            after = torch.logsumexp(alpha[:, :, None] + passing, dim=1) + scores[:, i]
            alpha = torch.where(mask[:, i, None] > 0, after, alpha)
        return (torch.sum(torch.logsumexp(alpha, dim=1)) - true) / SENTENCES

    return library.thunk(library.value_and_grad(loss), parameters, features, tags, mask)


WORKLOADS = [
    Workload(
        "Kalman filter of 6 states, 200 steps, likelihood and gradient",
        kalman_likelihood,
        AHEAD,
        "ms",
        tolerance=1e-4,
        compiled_peer=False,
    ),
    Workload(
        "Kalman smoother of 6 states, 200 steps, float64",
        in_double(kalman_smoother),
        AHEAD,
        "ms",
        tolerance=1e-9,
        compiled_peer=False,
    ),
    Workload("extended Kalman filter, 32 tracks of 100", extended_filter, AHEAD, "ms", tolerance=1e-4),
    Workload("unscented Kalman filter, 32 tracks of 100", unscented_filter, AHEAD, "ms", tolerance=1e-3),
    Workload(
        "particle filter, 4,096 particles, 100 steps, float64", in_double(particle_filter), AHEAD, "ms", tolerance=1e-9
    ),
    Workload("hidden Markov model, 32 states, 400 steps, posterior and path", hidden_markov, AHEAD, "ms"),
    Workload(
        "conditional random field, 16 sentences, gradient",
        random_field,
        AHEAD,
        "ms",
        tolerance=1e-4,
        compiled_peer=False,
    ),
]
