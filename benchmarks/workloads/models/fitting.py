"""Fitting: optimisers of first and second order, nested and implicit derivatives, distances between samples, factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal
from workloads.models.precision import in_double, part

AHEAD = (TimesBest(1.0),)


# --------------------------------------------------------------------------------------------------- nested derivatives

TASKS, SHOTS = 16, 10


def meta_learning(library: Any) -> Any:
    """MAML for sines: the gradient through 3 gradient steps on each of 16 tasks, and a step along it."""
    if library.name not in ("cotangent", "jax", "torch.func"):
        return None
    xp, tree_map = library.xp, library.tree_map
    if library.name == "torch.func":
        tree_map = library.torch.utils._pytree.tree_map

    def predict(p: Any, x: Any) -> Any:
        for w, b in p[:-1]:
            x = xp.tanh(x @ w + b)
        w, b = p[-1]
        return x @ w + b

    def loss(p: Any, x: Any, y: Any) -> Any:
        return xp.mean((predict(p, x) - y) ** 2)

    def adapted(p: Any, x: Any, y: Any, x_new: Any, y_new: Any) -> Any:
        for _ in range(3):
            p = tree_map(lambda w, g: w - 0.1 * g, p, library.grad(loss)(p, x, y))
        return loss(p, x_new, y_new)

    def outer(p: Any, *tasks: Any) -> Any:
        return xp.mean(library.vmap(adapted, in_axes=(None, 0, 0, 0, 0))(p, *tasks))

    def step(p: Any, *tasks: Any) -> Any:
        value, g = library.value_and_grad(outer)(p, *tasks)
        return value, tree_map(lambda w, g: w - 0.01 * g, p, g)

    rng = np.random.default_rng(3)
    size, phase = rng.uniform(0.5, 3, (TASKS, 1, 1)), rng.uniform(0, np.pi, (TASKS, 1, 1))
    x = rng.uniform(-3, 3, (2, TASKS, SHOTS, 1))
    y = size * np.sin(x + phase)
    sizes = [1, 40, 40, 1]
    p = [
        (normal(a, b, seed=i, scale=a**-0.5), np.zeros(b, np.float32))
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]
    return library.thunk(step, p, *(a.astype(np.float32) for a in (x[0], y[0], x[1], y[1])))


def physics(library: Any) -> Any:
    """A network that is to solve Burgers' equation: the loss of its residual, by derivatives within derivatives, and the gradient of that."""
    if library.name not in ("cotangent", "jax", "torch", "torch.func"):
        return None
    xp = library.xp
    sizes = [2, 32, 32, 32, 1]
    p = [
        (normal(a, b, seed=i, scale=a**-0.5), np.zeros(b, np.float32))
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]
    rng = np.random.default_rng(4)
    x, t = rng.uniform(-1, 1, 256).astype(np.float32), rng.uniform(0, 1, 256).astype(np.float32)
    edge = rng.uniform(-1, 1, 64).astype(np.float32)
    if library.name == "torch":
        return physics_torch(library, p, x, t, edge)

    def u(p: Any, x: Any, t: Any) -> Any:
        h = xp.stack([x, t])
        for w, b in p[:-1]:
            h = xp.tanh(h @ w + b)
        w, b = p[-1]
        return (h @ w + b)[0]

    def residual(p: Any, x: Any, t: Any) -> Any:
        value, slope = library.value_and_grad(u, argnums=1)(p, x, t)
        curvature = library.grad(library.grad(u, argnums=1), argnums=1)(p, x, t)
        return library.grad(u, argnums=2)(p, x, t) + value * slope - 0.01 * curvature

    def loss(p: Any, x: Any, t: Any, edge: Any) -> Any:
        inner = library.vmap(residual, in_axes=(None, 0, 0))(p, x, t)
        start = library.vmap(u, in_axes=(None, 0, 0))(p, edge, 0 * edge) + xp.sin(np.pi * edge)
        return xp.mean(inner**2) + xp.mean(start**2)

    return library.thunk(library.value_and_grad(loss), p, x, t, edge)


def physics_torch(library: Any, p: Any, x: np.ndarray, t: np.ndarray, edge: np.ndarray) -> Any:
    torch = library.torch

    def u(p: Any, x: Any, t: Any) -> Any:
        h = torch.stack([x, t], dim=1)
        for w, b in p[:-1]:
            h = torch.tanh(h @ w + b)
        w, b = p[-1]
        return (h @ w + b)[:, 0]

    def loss(p: Any, x: Any, t: Any, edge: Any) -> Any:
        x, t = x.requires_grad_(), t.requires_grad_()
        value = u(p, x, t)
        slope, change = torch.autograd.grad(value.sum(), (x, t), create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        inner = change + value * slope - 0.01 * curvature
        start = u(p, edge, 0 * edge) + torch.sin(np.pi * edge)
        return torch.mean(inner**2) + torch.mean(start**2)

    return library.thunk(library.value_and_grad(loss), p, x, t, edge)


def implicit(library: Any) -> Any:
    """A layer that is a fixed point: found by iterating, differentiated by the implicit function theorem, in a rule of its own."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, ct = library.xp, library.lax, library.module

    def layer(p: Any, x: Any, z: Any) -> Any:
        return xp.tanh(z @ p["w"] + x @ p["u"] + p["b"])

    def iterate(f: Any, z: Any) -> Any:
        def more(state: Any) -> Any:
            before, now, count = state
            return (xp.max(xp.abs(now - before)) > 1e-6) & (count < 100)

        return lax.while_loop(more, lambda s: (s[1], f(s[1]), s[2] + 1), (z, f(z), 0))[1]

    @ct.custom_vjp
    def fixed(p: Any, x: Any) -> Any:
        return iterate(lambda z: layer(p, x, z), xp.zeros((x.shape[0], 32)))

    def forward(p: Any, x: Any) -> Any:
        z = fixed(p, x)
        return z, (p, x, z)

    def backward(saved: Any, g: Any) -> Any:
        p, x, z = saved
        _, by_z = ct.vjp(lambda z: layer(p, x, z), z)
        _, by_inputs = ct.vjp(lambda p, x: layer(p, x, z), p, x)
        return by_inputs(iterate(lambda v: g + by_z(v)[0], g))

    fixed.defvjp(forward, backward)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return xp.mean((fixed(p, x) @ p["out"] - y) ** 2)

    p = {
        "w": normal(32, 32, seed=1, scale=0.1), "u": normal(8, 32, seed=2, scale=0.4), "b": np.zeros(32, np.float32),
        "out": normal(32, 4, seed=3, scale=0.2),
    }  # fmt: skip
    return library.thunk(library.value_and_grad(loss), p, normal(64, 8, seed=4), normal(64, 4, seed=5))


# --------------------------------------------------------------------------------------------------------- second order


def logistic_data(dtype: Any, examples: int = 500, width: int = 20) -> tuple[np.ndarray, np.ndarray]:
    x = normal(examples, width, seed=11, dtype=np.float64)
    chance = 1 / (1 + np.exp(-x @ normal(width, seed=12, dtype=np.float64)))
    return x.astype(dtype), (np.random.default_rng(13).uniform(size=examples) < chance).astype(dtype)


def newton(library: Any) -> Any:
    """Logistic regression by 8 steps of Newton's method with the Hessian of the loss as written; float64."""
    if library.name not in ("cotangent", "jax", "torch.func"):
        return None
    xp = library.xp
    softplus = library.nn.softplus if hasattr(library, "lax") else library.torch.nn.functional.softplus
    solve = xp.linalg.solve if hasattr(library, "lax") else library.torch.linalg.solve

    def loss(w: Any, x: Any, y: Any) -> Any:
        scores = x @ w
        return xp.mean(softplus(scores) - y * scores) + 0.005 * xp.sum(w**2)

    def fit(w: Any, x: Any, y: Any) -> Any:
        def step(w: Any) -> Any:
            return w - solve(library.hessian(lambda w: loss(w, x, y))(w), library.grad(loss)(w, x, y))

        if hasattr(library, "lax"):
            return library.lax.fori_loop(0, 8, lambda _, w: step(w), w)
        for _ in range(8):
            w = step(w)
        return w

    return library.thunk(fit, np.zeros(20), *logistic_data(np.float64))


MEMORY, DIMENSIONS = 8, 20


def quasi_newton(library: Any) -> Any:
    """L-BFGS with a memory of 8 and halving of steps, until Rosenbrock's function of 20 numbers is flat; float64."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax

    def rosenbrock(x: Any) -> Any:
        return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    both = library.value_and_grad(rosenbrock)

    def direction(g: Any, steps: Any, changes: Any) -> Any:
        products = xp.sum(steps * changes, axis=1)
        inverses = xp.where(products > 0, 1 / xp.where(products > 0, products, 1), 0)

        def down(q: Any, pair: Any) -> Any:
            s, y, inverse = pair
            a = inverse * xp.dot(s, q)
            return q - a * y, a

        q, sizes = lax.scan(down, g, (steps, changes, inverses), reverse=True)
        squares = xp.sum(changes[-1] ** 2)
        q = q * xp.where(squares > 0, products[-1] / xp.where(squares > 0, squares, 1), 1 / xp.linalg.norm(g))

        def up(r: Any, pair: Any) -> Any:
            s, y, inverse, a = pair
            return r + s * (a - inverse * xp.dot(y, r)), None

        return -lax.scan(up, q, (steps, changes, inverses, sizes))[0]

    def minimise(x: Any) -> Any:
        def step(state: Any) -> Any:
            x, value, g, steps, changes, count = state
            way = direction(g, steps, changes)
            slope = xp.dot(g, way)
            size = lax.while_loop(
                lambda t: (rosenbrock(x + t * way) > value + 1e-4 * t * slope) & (t > 1e-10), lambda t: 0.5 * t, 1.0
            )
            new = x + size * way
            value, new_g = both(new)
            steps = xp.roll(steps, -1, axis=0).at[-1].set(new - x)
            changes = xp.roll(changes, -1, axis=0).at[-1].set(new_g - g)
            return new, value, new_g, steps, changes, count + 1

        value, g = both(x)
        empty = xp.zeros((MEMORY, DIMENSIONS))
        start = x, value, g, empty, empty, 0
        x, value, g, _, _, count = lax.while_loop(lambda s: (xp.max(xp.abs(s[2])) > 1e-6) & (s[5] < 500), step, start)
        return x, count > 10

    return library.thunk(minimise, np.tile([-1.2, 1.0], DIMENSIONS // 2))


CURVES, TIMES = 32, 60


def damped(library: Any) -> Any:
    """Levenberg and Marquardt's method for 32 decaying oscillations at once, 20 rounds each; float64."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax
    times = np.linspace(0, 4, TIMES)

    def model(p: Any) -> Any:
        size, decay, rate, phase, level = p
        return size * xp.exp(-decay * times) * xp.cos(rate * times + phase) + level

    def fit(y: Any, start: Any) -> Any:
        def residual(p: Any) -> Any:
            return model(p) - y

        def step(state: Any, _: Any) -> Any:
            p, damping, cost = state
            r, j = residual(p), library.module.jacfwd(residual)(p)
            normal_matrix = j.T @ j
            moved = p - xp.linalg.solve(normal_matrix + damping * xp.diag(xp.diag(normal_matrix)), j.T @ r)
            after = xp.sum(residual(moved) ** 2)
            better = after < cost
            p, cost = xp.where(better, moved, p), xp.where(better, after, cost)
            return (p, xp.where(better, damping / 3, damping * 2), cost), cost

        state = start, xp.asarray(1e-2), xp.sum(residual(start) ** 2)
        (p, _, _), costs = lax.scan(step, state, None, length=20)
        return p, costs

    true = np.array([2, 0.5, 4, 0.3, 1]) * (1 + 0.1 * normal(CURVES, 5, seed=1, dtype=np.float64))
    y = np.stack([model_numpy(p, times) for p in true]) + 0.05 * normal(CURVES, TIMES, seed=2, dtype=np.float64)
    return library.thunk(library.vmap(fit, in_axes=(0, None)), y, np.array([1.5, 0.3, 4, 0, 0.5]))


def model_numpy(p: np.ndarray, times: np.ndarray) -> np.ndarray:
    size, decay, rate, phase, level = p
    return size * np.exp(-decay * times) * np.cos(rate * times + phase) + level


def gauss_newton(library: Any) -> Any:
    """A step of Gauss and Newton's method for a network, its system solved by conjugate gradients with products of the Jacobian."""
    if not hasattr(library, "lax"):
        return None
    xp, ct, sparse = library.xp, library.module, part(library, "scipy.sparse.linalg")
    sizes = [8, 32, 32, 4]
    p = [
        (normal(a, b, seed=i, scale=a**-0.5), np.zeros(b, np.float32))
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]

    def predict(p: Any, x: Any) -> Any:
        for w, b in p[:-1]:
            x = xp.tanh(x @ w + b)
        w, b = p[-1]
        return x @ w + b

    def step(p: Any, x: Any, y: Any) -> Any:
        outputs, transposed = ct.vjp(lambda p: predict(p, x), p)
        (g,) = transposed(outputs - y)

        def product(v: Any) -> Any:
            _, moved = ct.jvp(lambda p: predict(p, x), (p,), (v,))
            (back,) = transposed(moved)
            return library.tree_map(lambda b, v: b + 10 * v, back, v)

        way, _ = sparse.cg(product, g, maxiter=20)
        return xp.mean((outputs - y) ** 2), library.tree_map(lambda w, d: w - d, p, way)

    return library.thunk(step, p, normal(256, 8, seed=7), normal(256, 4, seed=8))


# -------------------------------------------------------------------------------------------- distances between samples

CLOUD = 128


def transport(library: Any) -> Any:
    """Optimal transport between two clouds by 50 rounds of Sinkhorn's method with logarithms; the gradient by one cloud."""
    x, y = normal(CLOUD, 2, seed=1), normal(CLOUD, 2, seed=2) + np.array([1, 0.5], np.float32)
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp, logsumexp = library.xp, library.nn.logsumexp
    weight, strength = -float(np.log(CLOUD)), 0.1

    def cost(x: Any, y: Any) -> Any:
        distances = xp.sum((x[:, None] - y[None]) ** 2, axis=-1)

        def step(g: Any) -> Any:
            f = -strength * (logsumexp((g[None] - distances) / strength, axis=1) + weight)
            return f, -strength * (logsumexp((f[:, None] - distances) / strength, axis=0) + weight)

        g = xp.zeros(CLOUD)
        if hasattr(library, "lax"):
            g, fs = library.lax.scan(lambda g, _: step(g)[::-1], g, None, length=50)
            f = fs[-1]
        else:
            for _ in range(50):
                f, g = step(g)
        plan = xp.exp((f[:, None] + g[None] - distances) / strength + 2 * weight)
        return xp.sum(plan * distances)

    return library.thunk(library.value_and_grad(cost), x, y)


SERIES, SAMPLES = 16, 48


def time_warping(library: Any) -> Any:
    """Soft dynamic time warping of 16 pairs of series, by diagonals; the gradient by one of each."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn = library.xp, library.lax, library.nn
    n, far = SAMPLES, 1e8

    def distance(x: Any, y: Any) -> Any:
        costs = xp.sum((x[:, None] - y[None]) ** 2, axis=-1)
        i, d = np.arange(n)[None], np.arange(2 * n - 1)[:, None]
        inside = (d - i >= 0) & (d - i < n)
        diagonals = xp.where(inside, costs[i, np.clip(d - i, 0, n - 1)], far)

        def step(carry: Any, cost: Any) -> Any:
            two_back, one_back = carry
            ways = xp.stack([two_back[:-1], one_back[:-1], one_back[1:]])
            now = xp.concatenate([xp.full((1,), far), cost - nn.logsumexp(-ways, axis=0)])
            return (one_back, now), now[-1]

        start = xp.full((n + 1,), far)
        return lax.scan(step, (start.at[0].set(0.0), start), diagonals)[1][-1]

    def loss(x: Any, y: Any) -> Any:
        return xp.mean(library.vmap(distance)(x, y))

    x, y = (np.cumsum(normal(SERIES, SAMPLES, 3, seed=seed, scale=0.2), axis=1) for seed in (3, 4))
    return library.thunk(library.value_and_grad(loss), x, y)


GROUPS, DOTS = 16, 4096


def k_means(library: Any) -> Any:
    """Starts drawn far from one another (k-means++), then 15 rounds of Lloyd's method."""
    rng = np.random.default_rng(5)
    dots = (rng.normal(size=(GROUPS, 8))[rng.integers(0, GROUPS, DOTS)] * 3 + rng.normal(size=(DOTS, 8))).astype(
        np.float32
    )
    if not hasattr(library, "lax"):
        return None
    xp, lax, random = library.xp, library.lax, library.module.random

    def fit(key: Any, x: Any) -> Any:
        def add(state: Any, key: Any) -> Any:
            centres, nearest, i = state
            chosen = x[random.categorical(key, xp.log(nearest))]
            nearest = xp.minimum(nearest, xp.sum((x - chosen) ** 2, axis=1))
            return (centres.at[i].set(chosen), nearest, i + 1), None

        def improve(_: Any, centres: Any) -> Any:
            squares = xp.sum(centres**2, axis=1) - 2 * x @ centres.T
            groups = xp.argmin(squares, axis=1)
            sums = xp.zeros((GROUPS, 8)).at[groups].add(x)
            counts = xp.zeros(GROUPS).at[groups].add(1.0)
            return xp.where(counts[:, None] > 0, sums / xp.maximum(counts, 1.0)[:, None], centres)

        keys = random.split(key, GROUPS)
        start = xp.zeros((GROUPS, 8)), xp.ones(DOTS), 0
        (centres, _, _), _ = lax.scan(add, start, keys)
        centres = lax.fori_loop(0, 15, improve, centres)
        distances = xp.sum((x[:, None] - centres[None]) ** 2, axis=-1)
        return centres, xp.mean(xp.min(distances, axis=1)), xp.bincount(xp.argmin(distances, axis=1), length=GROUPS)

    return library.thunk(fit, library.module.random.PRNGKey(7), dots)


# ------------------------------------------------------------------------------------------- factorisations and signals


def components(library: Any) -> Any:
    """Principal components by a singular value decomposition: variances, scores, and what 5 components leave; float64."""
    x = normal(300, 5, seed=1, dtype=np.float64) @ normal(5, 30, seed=2, dtype=np.float64)
    x = x + 0.3 * normal(300, 30, seed=3, dtype=np.float64)
    if library.name == "numpy" or hasattr(library, "lax"):
        xp, svd = library.xp, library.xp.linalg.svd
    elif library.name == "torch":
        xp, svd = library.xp, library.torch.linalg.svd
    else:
        return None

    def fit(x: Any) -> Any:
        x = x - xp.mean(x, axis=0)
        u, s, vt = svd(x, full_matrices=False)
        scores = u[:, :5] * s[:5]
        return s**2 / 299, abs(scores), xp.mean((x - scores @ vt[:5]) ** 2)

    return library.thunk(fit, x)


def phases(library: Any) -> Any:
    """Phase retrieval: an image from the sizes of its Fourier transform, by 30 rounds of Fienup's method, then 10 gradients; float64: it is chaotic."""
    image = np.zeros((64, 64))
    image[16:48, 20:44] = np.abs(normal(32, 24, seed=1, dtype=np.float64)) + 0.2
    sizes = np.abs(np.fft.fft2(image))
    support = image > 0
    start = np.abs(normal(64, 64, seed=2, dtype=np.float64)) * support
    if library.name == "torch":
        fft, shared = library.torch.fft, False
    elif hasattr(library, "lax"):
        fft, shared = library.xp.fft, True
    else:
        return None
    xp = library.xp

    def revise(x: Any, sizes: Any, support: Any) -> Any:
        f = fft.fft2(x)
        kept = sizes * f / (xp.abs(f) + 1e-6)
        y = fft.ifft2(kept).real
        return xp.where(support & (y > 0), y, x - 0.7 * y)

    def error(x: Any, sizes: Any) -> Any:
        return xp.mean((xp.abs(fft.fft2(x)) - sizes) ** 2)

    slope = library.grad(error)

    def retrieve(x: Any, sizes: Any, support: Any) -> Any:
        def descend(x: Any) -> Any:
            return xp.where(support, x - 0.2 * slope(x, sizes), 0.0)

        if shared:
            x = library.lax.fori_loop(0, 30, lambda _, x: revise(x, sizes, support), x)
            x = library.lax.fori_loop(0, 10, lambda _, x: descend(x), x)
        else:
            for _ in range(30):
                x = revise(x, sizes, support)
            for _ in range(10):
                x = descend(x)
        return x, error(x, sizes)

    return library.thunk(retrieve, start, sizes, support)


def splines(library: Any) -> Any:
    """Smoothing by cubic B-splines with 30 knots, the strength by generalised cross-validation over 40 of them; float64."""
    if not hasattr(library, "lax"):
        return None
    xp = library.xp
    inner = np.linspace(0, 1, 28)
    knots = np.concatenate([[0] * 3, inner, [1] * 3])
    count = len(knots) - 4

    def basis(x: Any) -> Any:
        """Cox and de Boor's recursion, of all splines at once."""
        b = xp.where((knots[:-1] <= x) & (x < knots[1:]), 1.0, 0.0)
        for degree in range(1, 4):
            left, right = knots[degree:-1] - knots[: -degree - 1], knots[degree + 1 :] - knots[1:-degree]
            rising = xp.where(left > 0, (x - knots[: -degree - 1]) / np.where(left > 0, left, 1), 0)
            falling = xp.where(right > 0, (knots[degree + 1 :] - x) / np.where(right > 0, right, 1), 0)
            b = rising * b[:-1] + falling * b[1:]
        return b

    bend = np.diff(np.eye(count), n=2, axis=0)

    def fit(x: Any, y: Any, strengths: Any) -> Any:
        b = library.vmap(basis)(x)

        def score(strength: Any) -> Any:
            matrix = b.T @ b + strength * (bend.T @ bend)
            inverse = xp.linalg.inv(matrix)
            w = inverse @ (b.T @ y)
            freedom = xp.trace(inverse @ (b.T @ b))
            return xp.mean((y - b @ w) ** 2) / (1 - freedom / len(x)) ** 2, w

        scores, ws = library.vmap(score)(strengths)
        best = xp.argmin(scores)
        return scores, b @ ws[best], strengths[best]

    x = np.sort(np.random.default_rng(1).uniform(0, 1, 400))
    y = np.sin(12 * x) * x + 0.2 * normal(400, seed=2, dtype=np.float64)
    return library.thunk(fit, x, y, np.logspace(-4, 4, 40))


WORKLOADS = [
    Workload("meta-learning, gradient through 3 steps on 16 tasks", meta_learning, AHEAD, "ms", tolerance=1e-4),
    Workload(
        "network for Burgers' equation, residual's gradient", physics, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload("fixed point with an implicit derivative, gradient", implicit, AHEAD, "ms", tolerance=1e-4),
    Workload("logistic regression by Newton's method, float64", in_double(newton), AHEAD, "ms", tolerance=1e-9),
    Workload(
        "limited memory quasi-Newton, 20 dimensions, float64", in_double(quasi_newton), AHEAD, "ms", tolerance=1e-5
    ),
    Workload("Levenberg-Marquardt for 32 curves, float64", in_double(damped), AHEAD, "ms", tolerance=1e-7),
    Workload("Gauss-Newton step of a network, 20 conjugate gradients", gauss_newton, AHEAD, "ms", tolerance=1e-3),
    Workload(
        "Sinkhorn's transport of 128 points, 50 rounds, gradient",
        transport,
        AHEAD,
        "ms",
        tolerance=1e-4,
        compiled_peer=False,
    ),
    Workload("soft time warping of 16 pairs of 48, gradient", time_warping, AHEAD, "ms", tolerance=1e-4),
    Workload("k-means of 4,096 points in 16 groups", k_means, AHEAD, "ms", tolerance=1e-4),
    Workload(
        "principal components of 300×30, float64",
        in_double(components),
        AHEAD,
        "ms",
        tolerance=1e-9,
        compiled_peer=False,
    ),
    Workload(
        "phase retrieval 64², 30 rounds and 10 gradients, float64",
        in_double(phases),
        AHEAD,
        "ms",
        tolerance=1e-3,
        compiled_peer=False,
    ),
    Workload("smoothing splines, 40 strengths, float64", in_double(splines), AHEAD, "ms", tolerance=1e-8),
]
