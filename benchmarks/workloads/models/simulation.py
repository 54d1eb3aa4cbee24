"""Simulation: particles, fields, lattices, differential equations, light and prices; most with a gradient through the whole run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal
from workloads.models.precision import in_double, part

AHEAD = (TimesBest(1.0),)


# ------------------------------------------------------------------------------------------------------------ particles

STARS = 64


def gravity(library: Any) -> Any:
    """50 leapfrog steps of stars that attract one another; the gradient of where they end by where they started."""
    xp = library.xp

    def pull(x: Any, mass: Any) -> Any:
        d = x[None] - x[:, None]
        return xp.sum(mass[:, None] * d * (xp.sum(d**2, axis=-1)[..., None] + 0.05) ** -1.5, axis=1)

    def step(x: Any, v: Any, mass: Any) -> Any:
        v = v + 0.005 * pull(x, mass)
        x = x + 0.01 * v
        return x, v + 0.005 * pull(x, mass)

    def loss(x: Any, v: Any, mass: Any) -> Any:
        if hasattr(library, "lax"):
            x, v = library.lax.fori_loop(0, 50, lambda _, state: step(*state, mass), (x, v))
        else:
            for _ in range(50):
                x, v = step(x, v, mass)
        return xp.mean(x**2)

    if library.name not in ("cotangent", "jax", "torch"):
        return None
    mass = np.random.default_rng(3).uniform(0.5, 1.5, STARS).astype(np.float32) / STARS
    return library.thunk(
        library.value_and_grad(loss, argnums=(0, 1)), normal(STARS, 3), normal(STARS, 3, seed=1, scale=0.3), mass
    )


ATOMS, BOX = 216, 7.0


def atoms(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    grid = (np.stack(np.meshgrid(*[np.arange(6)] * 3), axis=-1).reshape(-1, 3) + 0.5) * BOX / 6
    return (grid + normal(ATOMS, 3, scale=0.05, dtype=np.float64)).astype(dtype), normal(
        ATOMS, 3, seed=1, scale=0.5, dtype=dtype
    )


def molecules(library: Any) -> Any:
    """20 velocity Verlet steps in a periodic box; forces are minus the gradient of Lennard-Jones energies cut off at 2.5; float64."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp = library.xp
    rounded = library.torch.round if library.name == "torch" else xp.round
    eye = library.array(np.eye(ATOMS))

    def energy(x: Any) -> Any:
        d = x[:, None] - x[None]
        d = d - BOX * rounded(d / BOX)
        squares = xp.sum(d**2, axis=-1) + eye
        sixth = 1 / squares**3
        return 0.5 * xp.sum(xp.where((squares < 2.5**2) & (eye == 0), 4 * (sixth**2 - sixth), 0.0))

    slope = library.value_and_grad(energy)

    def step(x: Any, v: Any, force: Any) -> Any:
        v = v + 0.001 * force
        x = (x + 0.002 * v) % BOX
        value, force = slope(x)
        force = -force
        v = v + 0.001 * force
        return (x, v, force), value + 0.5 * xp.sum(v**2)

    def run(x: Any, v: Any) -> Any:
        state = x, v, -slope(x)[1]
        if hasattr(library, "lax"):
            return library.lax.scan(lambda state, _: step(*state), state, None, length=20)
        energies = []
        for _ in range(20):
            state, value = step(*state)
            energies.append(value)
        return state, xp.stack(energies)

    return library.thunk(run, *atoms(np.float64))


KNOTS = 16


def cloth(library: Any) -> Any:
    """A cloth of springs that falls on a ball: where it lies after 80 steps, and how that depends on the springs."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, KNOTS)] * 2, indexing="ij"), axis=-1)
    start = np.concatenate([grid, np.full((KNOTS, KNOTS, 1), 1.1)], axis=-1).astype(np.float32)
    rest, far = 2 / (KNOTS - 1), 2 * np.sqrt(2) / (KNOTS - 1)

    def spring(x: Any, shift: tuple[int, int], length: float) -> Any:
        """Of each knot with the one that is so far along both axes, added to both."""
        i, j = shift
        here = x[: KNOTS - i, max(-j, 0) : KNOTS - max(j, 0)]
        there = x[i:, max(j, 0) : KNOTS + min(j, 0)]
        d = there - here
        distance = xp.linalg.norm(d, axis=-1, keepdims=True)
        force = d * (1 - length / distance)
        back = ((0, i), (max(-j, 0), max(j, 0)), (0, 0))
        ahead = ((i, 0), (max(j, 0), max(-j, 0)), (0, 0))
        return xp.pad(force, back) - xp.pad(force, ahead)

    def simulate(p: Any, x: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, v = state
            straight = spring(x, (1, 0), rest) + spring(x, (0, 1), rest)
            slanted = spring(x, (1, 1), far) + spring(x, (1, -1), far)
            force = xp.exp(p["straight"]) * straight + xp.exp(p["slanted"]) * slanted - xp.array([0.0, 0.0, 9.8])
            v = (v + 0.004 * force) * xp.exp(-0.004 * p["drag"])
            x = x + 0.004 * v
            depth = 0.6 - xp.linalg.norm(x, axis=-1, keepdims=True)
            x = xp.where(depth > 0, x * (1 + depth / 0.6), x)
            return (x, xp.where(depth > 0, 0.5 * v, v)), x[KNOTS // 2, KNOTS // 2]

        (x, _), path = lax.scan(step, (x, xp.zeros_like(x)), None, length=80)
        return xp.mean(x[..., 2]), path

    parameters = {name: np.array(value, np.float32) for name, value in (("straight", 6), ("slanted", 5), ("drag", 1))}
    return library.thunk(library.value_and_grad(simulate, has_aux=True), parameters, start)


# --------------------------------------------------------------------------------------------------------------- fields

CELLS = 128


def waves(n: int) -> np.ndarray:
    t = np.arange(n, dtype=np.float32) * (2 * np.pi / n)
    return (np.sin(t)[:, None] * np.cos(2 * t)[None] + 0.3 * np.cos(3 * t)[None]).astype(np.float32)


def burgers(library: Any) -> Any:
    """Burgers' equation in two dimensions by central differences; the gradient of the last energy by the first field."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp = library.xp
    roll = library.torch.roll if library.name == "torch" else xp.roll

    def along(u: Any, axis: int) -> tuple[Any, Any]:
        ahead, behind = roll(u, -1, axis), roll(u, 1, axis)
        return (ahead - behind) / 2, ahead - 2 * u + behind

    def step(u: Any, v: Any) -> Any:
        (ux, uxx), (uy, uyy), (vx, vxx), (vy, vyy) = along(u, 0), along(u, 1), along(v, 0), along(v, 1)
        return u + 0.1 * (0.5 * (uxx + uyy) - u * ux - v * uy), v + 0.1 * (0.5 * (vxx + vyy) - u * vx - v * vy)

    def loss(u: Any, v: Any) -> Any:
        if hasattr(library, "lax"):
            u, v = library.lax.fori_loop(0, 40, lambda _, state: step(*state), (u, v))
        else:
            for _ in range(40):
                u, v = step(u, v)
        return xp.mean(u**2 + v**2)

    return library.thunk(library.value_and_grad(loss, argnums=(0, 1)), waves(CELLS), waves(CELLS).T.copy())


def heat(library: Any) -> Any:
    """Heat by a convolution with padding at fixed edges; where sources have to be, by 10 steps down the gradient."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp, torch = library.xp, library.name == "torch"
    stencil = library.array(np.array([[0.05, 0.2, 0.05], [0.2, 0, 0.2], [0.05, 0.2, 0.05]], np.float32)[None, None])
    if torch:
        convolve = partial(library.torch.nn.functional.conv2d, weight=stencil, padding=1)
    else:
        convolve = lambda x: library.lax.conv_general_dilated(x, stencil, (1, 1), "SAME")  # noqa: E731

    def warmed(source: Any) -> Any:
        x = 0 * source
        if torch:
            for _ in range(20):
                x = convolve(x) + source
            return x
        return library.lax.scan(lambda x, _: (convolve(x) + source, None), x, None, length=20)[0]

    slope = library.value_and_grad(lambda source, wanted: xp.mean((warmed(source) - wanted) ** 2))

    def descend(source: Any, wanted: Any) -> Any:
        def step(source: Any) -> Any:
            value, g = slope(source, wanted)
            return source - 4 * g, value

        if not torch:
            return library.lax.scan(lambda source, _: step(source), source, None, length=10)
        values = []
        for _ in range(10):
            source, value = step(source)
            values.append(value)
        return source, xp.stack(values)

    return library.thunk(descend, np.zeros((1, 1, 64, 64), np.float32), waves(64)[None, None])


def seismic(library: Any) -> Any:
    """Waves through ground of unknown speed, recorded at the surface; the gradient of the misfit by the speed at each place."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax
    depth, width, times = 64, 96, 150

    def recorded(speed: Any, wavelet: Any) -> Any:
        def step(state: Any, amplitude: Any) -> Any:
            before, now = state
            padded = xp.pad(now, 1)
            around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * now
            after = 2 * now - before + 0.16 * speed**2 * around
            after = after.at[2, width // 2].add(amplitude)
            return (now, after), after[1, ::4]

        return lax.scan(step, (xp.zeros((depth, width)), xp.zeros((depth, width))), wavelet)[1]

    def misfit(speed: Any, wavelet: Any, seen: Any) -> Any:
        return 0.5 * xp.sum((recorded(speed, wavelet) - seen) ** 2)

    t = np.arange(times, dtype=np.float32) * 0.15 - 2
    layers = np.linspace(1, 1.4, depth, dtype=np.float32)[:, None] * np.ones((1, width), np.float32)
    wavelet = ((1 - 2 * t**2) * np.exp(-(t**2))).astype(np.float32)
    return library.thunk(library.value_and_grad(misfit), layers, wavelet, normal(times, width // 4, scale=0.01))


def vortices(library: Any) -> Any:
    """The Navier-Stokes equations for vorticity by Fourier transforms, 10 steps of the classic Runge-Kutta method, with dealiasing."""
    if library.name == "torch":
        fft, transform = library.torch.fft, library.torch.fft.rfft2
    elif library.name in ("cotangent", "jax", "numpy"):
        fft, transform = library.xp.fft, library.xp.fft.rfft2
    else:
        return None
    kx = (np.fft.fftfreq(CELLS) * CELLS).astype(np.float32)[:, None]
    ky = (np.fft.rfftfreq(CELLS) * CELLS).astype(np.float32)[None]
    squares = kx**2 + ky**2
    kept = ((np.abs(kx) < CELLS / 3) & (ky < CELLS / 3)).astype(np.float32)
    inverse = np.where(squares == 0, 0, 1 / np.maximum(squares, 1)).astype(np.float32)
    derivatives = [library.array((1j * k * np.ones_like(squares)).astype(np.complex64)) for k in (kx, ky)]
    squares, kept, inverse = (library.array(a) for a in (squares, kept, inverse))

    def change(w: Any) -> Any:
        stream = inverse * w
        u, v = fft.irfft2(derivatives[1] * stream), -fft.irfft2(derivatives[0] * stream)
        moved = u * fft.irfft2(derivatives[0] * w) + v * fft.irfft2(derivatives[1] * w)
        return -kept * transform(moved) - 1e-3 * squares * w

    def step(w: Any) -> Any:
        a = change(w)
        b = change(w + 0.005 * a)
        c = change(w + 0.005 * b)
        return w + 0.01 / 6 * (a + 2 * b + 2 * c + change(w + 0.01 * c))

    def run(vorticity: Any) -> Any:
        w = transform(vorticity)
        if hasattr(library, "lax"):
            w = library.lax.fori_loop(0, 10, lambda _, w: step(w), w)
        else:
            for _ in range(10):
                w = step(w)
        return fft.irfft2(w)

    return library.thunk(run, 5 * waves(CELLS))


# ------------------------------------------------------------------------------------------------------------- lattices


def boltzmann(library: Any) -> Any:
    """A lattice of 9 velocities: flow around a cylinder, 50 steps; streaming by rolls, obstacles bounce back."""
    if library.name not in ("cotangent", "jax", "torch", "numpy"):
        return None
    xp, torch = library.xp, library.name == "torch"
    roll = library.torch.roll if torch else xp.roll
    ways = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
    shares = np.array([4 / 9, *[1 / 9] * 4, *[1 / 36] * 4], np.float32)
    opposite = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    x, y = np.meshgrid(np.arange(128), np.arange(48), indexing="ij")
    solid = library.array((x - 30) ** 2 + (y - 24) ** 2 < 64)
    velocities, weights = library.array(ways.astype(np.float32)), library.array(shares)

    def equilibrium(density: Any, u: Any) -> Any:
        along = xp.einsum("id,dxy->ixy", velocities, u)
        return weights[:, None, None] * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * xp.sum(u**2, axis=0))

    def step(f: Any) -> Any:
        density = xp.sum(f, axis=0)
        u = xp.einsum("id,ixy->dxy", velocities, f) / density
        after = f + (equilibrium(density, u) - f) / 0.6
        after = xp.where(solid, f[opposite], after)
        return xp.stack([roll(after[i], (int(a), int(b)), (0, 1)) for i, (a, b) in enumerate(ways)])

    def run(f: Any) -> Any:
        if hasattr(library, "lax"):
            f = library.lax.fori_loop(0, 50, lambda _, f: step(f), f)
        else:
            for _ in range(50):
                f = step(f)
        return xp.sum(f, axis=0), xp.einsum("id,ixy->dxy", velocities, f)

    start = shares[:, None, None] * (1 + 0.3 * ways[:, 0, None, None] + 0.01 * normal(9, 128, 48))
    return library.thunk(run, start.astype(np.float32))


SPINS = 128


def ising(library: Any) -> Any:
    """Metropolis' method for spins on a checkerboard: 40 sweeps at each of 4 temperatures, energies and magnetisations."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, random = library.xp, library.lax, library.module.random
    parity = np.indices((SPINS, SPINS)).sum(axis=0) % 2

    def neighbours(spins: Any) -> Any:
        return xp.roll(spins, 1, 0) + xp.roll(spins, -1, 0) + xp.roll(spins, 1, 1) + xp.roll(spins, -1, 1)

    def simulate(key: Any, beta: Any) -> Any:
        def half(spins: Any, key: Any, colour: int) -> Any:
            chance = xp.exp(-2 * beta * spins * neighbours(spins))
            flips = (random.uniform(key, spins.shape) < chance) & (parity == colour)
            return xp.where(flips, -spins, spins)

        def sweep(spins: Any, key: Any) -> Any:
            first, second = random.split(key)
            spins = half(half(spins, first, 0), second, 1)
            return spins, (-0.5 * xp.mean(spins * neighbours(spins)), xp.mean(spins))

        start, rest = random.split(key)
        spins = xp.where(random.bernoulli(start, 0.5, (SPINS, SPINS)), 1.0, -1.0)
        return lax.scan(sweep, spins, random.split(rest, 40))[1]

    def run(key: Any, betas: Any) -> Any:
        return library.vmap(simulate)(random.split(key, 4), betas)

    return library.thunk(run, library.module.random.PRNGKey(5), np.array([0.3, 0.4, 0.44, 0.6], np.float32))


def life(library: Any) -> Any:
    """Conway's game on a torus: 50 generations of 256², neighbours counted by a convolution."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    xp = library.xp
    ring = library.array(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)[None, None])
    if library.name == "torch":
        functional = library.torch.nn.functional
        count = lambda x: functional.conv2d(functional.pad(x, (1, 1, 1, 1), mode="circular"), ring)  # noqa: E731
    else:
        wrapped = lambda x: xp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="wrap")  # noqa: E731
        count = lambda x: library.lax.conv_general_dilated(wrapped(x), ring, (1, 1), "VALID")  # noqa: E731

    def step(alive: Any) -> Any:
        n = count(xp.where(alive, 1.0, 0.0))
        return (n == 3) | (alive & (n == 2))

    def run(alive: Any) -> Any:
        if hasattr(library, "lax"):
            return library.lax.fori_loop(0, 50, lambda _, alive: step(alive), alive)
        for _ in range(50):
            alive = step(alive)
        return alive

    return library.thunk(run, (normal(256, 256) > 0.5)[None, None])


# ----------------------------------------------------------------------------------------------- differential equations

STAGES = np.array([
    [0, 0, 0, 0, 0], [1 / 4, 0, 0, 0, 0], [3 / 32, 9 / 32, 0, 0, 0], [1932 / 2197, -7200 / 2197, 7296 / 2197, 0, 0],
    [439 / 216, -8, 3680 / 513, -845 / 4104, 0], [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40],
])  # fmt: skip
FOURTH = np.array([25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0])
FIFTH = np.array([16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55])


def adaptive(library: Any) -> Any:
    """Fehlberg's method with steps of its own for each of 64 starts of Lorenz' equations; float64."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax

    def lorenz(y: Any) -> Any:
        return xp.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def solve(start: Any) -> Any:
        def step(state: Any) -> Any:
            y, t, h, steps = state
            slopes = []
            for row in STAGES:
                slopes.append(lorenz(y + h * sum((c * k for c, k in zip(row, slopes, strict=False)), xp.zeros(3))))
            k = xp.stack(slopes)
            ahead = y + h * (FIFTH @ k)
            error = xp.sqrt(xp.mean((h * ((FIFTH - FOURTH) @ k) / (1e-6 + 1e-6 * xp.abs(y))) ** 2))
            good = error <= 1
            h_next = h * xp.clip(0.9 * xp.maximum(error, 1e-10) ** -0.2, 0.2, 5.0)
            t_next = xp.where(good, t + h, t)
            return xp.where(good, ahead, y), t_next, xp.minimum(h_next, 1 - t_next), steps + 1

        y, _, _, steps = lax.while_loop(lambda s: s[1] < 1, step, (start, 0.0, 0.01, 0))
        return y, steps

    return library.thunk(library.vmap(solve), np.array([1.0, 1, 20]) + normal(64, 3, dtype=np.float64))


def neural_equation(library: Any) -> Any:
    """A network as the right-hand side of an equation that `odeint` solves; its gradient by the adjoint equation."""
    if not hasattr(library, "lax"):
        return None
    xp, odeint = library.xp, part(library, "experimental.ode").odeint
    parameters = {
        "w1": normal(2, 32, seed=1, scale=0.5),
        "b1": np.zeros(32, np.float32),
        "w2": normal(32, 2, seed=2, scale=0.1),
    }

    def slope(y: Any, t: Any, p: Any) -> Any:
        return xp.tanh(y**3 @ p["w1"] + p["b1"]) @ p["w2"]

    def loss(p: Any, start: Any, times: Any, wanted: Any) -> Any:
        return xp.mean((odeint(slope, start, times, p, rtol=1e-4, atol=1e-4) - wanted) ** 2)

    times = np.linspace(0, 2, 10, dtype=np.float32)
    wanted = np.stack([np.cos(2 * times), np.sin(2 * times)], axis=1)[:, None] * np.linspace(0.5, 1.5, 16)[:, None]
    wanted = wanted.astype(np.float32)
    return library.thunk(library.value_and_grad(loss), parameters, wanted[0], times, wanted)


# ----------------------------------------------------------------------------------------------------- prices and light

PATHS, DATES = 2048, 64


def options(library: Any) -> Any:
    """Asian options by simulated paths: price, delta, vega and rho for 16 strikes, from one set of paths."""
    if not hasattr(library, "lax"):
        return None
    xp, random = library.xp, library.module.random

    def price(market: Any, strike: Any, noise: Any) -> Any:
        spot, volatility, rate = market
        step = 1 / DATES
        growth = (rate - 0.5 * volatility**2) * step + volatility * np.sqrt(step) * noise
        mean = xp.mean(spot * xp.exp(xp.cumsum(growth, axis=1)), axis=1)
        return xp.exp(-rate) * xp.mean(xp.maximum(mean - strike, 0.0))

    def greeks(key: Any, market: Any, strikes: Any) -> Any:
        noise = random.normal(key, (PATHS, DATES))
        noise = xp.concatenate([noise, -noise])
        return library.vmap(library.value_and_grad(price), in_axes=(None, 0, None))(market, strikes, noise)

    market = tuple(np.array(value, np.float32) for value in (100, 0.2, 0.03))
    return library.thunk(greeks, library.module.random.PRNGKey(6), market, np.linspace(80, 120, 16, dtype=np.float32))


SIDE = 48


def ray_marching(library: Any) -> Any:
    """An image of balls that melt together above a floor, by marching along rays; the gradient of its error by the balls."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn = library.xp, library.lax, library.nn

    def distance(balls: Any, p: Any) -> Any:
        d = xp.linalg.norm(p - balls["centre"], axis=-1) - balls["radius"]
        return xp.minimum(-nn.logsumexp(-8 * d) / 8, p[1] + 1)

    def colour(balls: Any, way: Any) -> Any:
        eye = xp.array([0.0, 0.5, -4.0])
        travelled = lax.fori_loop(0, 24, lambda _, t: t + distance(balls, eye + t * way), xp.zeros(()))
        place = eye + travelled * way
        normal = library.grad(distance, argnums=1)(balls, place)
        normal = normal / (xp.linalg.norm(normal) + 1e-6)
        sun = xp.array([0.5, 0.7, -0.5])
        light = 0.2 + 0.8 * xp.maximum(xp.dot(normal, sun), 0.0)
        return xp.where(travelled < 12, light * xp.exp(-0.05 * travelled), 0.9)

    def loss(balls: Any, ways: Any, wanted: Any) -> Any:
        return xp.mean((library.vmap(colour, in_axes=(None, 0))(balls, ways) - wanted) ** 2)

    x, y = np.meshgrid(np.linspace(-0.6, 0.6, SIDE), np.linspace(0.45, -0.6, SIDE))
    ways = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3)
    ways = (ways / np.linalg.norm(ways, axis=1, keepdims=True)).astype(np.float32)
    balls = {"centre": normal(5, 3, seed=8, scale=0.6), "radius": np.linspace(0.3, 0.6, 5, dtype=np.float32)}
    return library.thunk(library.value_and_grad(loss), balls, ways, np.full(SIDE * SIDE, 0.5, np.float32))


WORKLOADS = [
    Workload("64 stars, 50 steps, gradient by their start", gravity, AHEAD, "ms", tolerance=1e-4, compiled_peer=False),
    Workload("216 atoms, 20 steps, float64", in_double(molecules), AHEAD, "ms", tolerance=1e-9, compiled_peer=False),
    Workload("cloth of 16×16 springs, 80 steps, gradient", cloth, AHEAD, "ms", tolerance=1e-4),
    Workload("Burgers' equation 128², 40 steps, gradient", burgers, AHEAD, "ms", tolerance=1e-4, compiled_peer=False),
    Workload(
        "heat 64², sources by 10 gradients through 20 steps", heat, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload("seismic waves 64×96, 150 steps, gradient by the ground", seismic, AHEAD, "ms", tolerance=1e-4),
    Workload(
        "Navier-Stokes 128² by Fourier transforms, 10 steps", vortices, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload("lattice Boltzmann 128×48, 50 steps", boltzmann, AHEAD, "ms", tolerance=1e-4, compiled_peer=False),
    Workload("Ising model 128², 40 sweeps at 4 temperatures", ising, AHEAD, "ms", tolerance=1e-4),
    Workload("game of life 256², 50 generations", life, AHEAD, "ms", compiled_peer=False),
    Workload("Lorenz' equations, adaptive steps, 64 starts, float64", in_double(adaptive), AHEAD, "ms", tolerance=1e-6),
    Workload("neural differential equation, adjoint gradient", neural_equation, AHEAD, "ms", tolerance=1e-3),
    Workload("Asian options of 16 strikes, prices and greeks", options, AHEAD, "ms", tolerance=1e-4),
    Workload("ray marching 48², gradient by the scene", ray_marching, AHEAD, "ms", tolerance=1e-3),
]
