"""Programs of the sciences: quantum circuits and orbitals, reactions, trees of species, elastic bodies, images and networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal
from workloads.models.precision import in_double, part

AHEAD = (TimesBest(1.0),)


# -------------------------------------------------------------------------------------------------------------- quanta

QUBITS, LAYERS = 10, 4


def circuit(library: Any) -> Any:
    """A variational circuit of 10 qubits: energy of an Ising chain in a field, and its gradient by the angles; complex64."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    torch = library.name == "torch"
    xp = library.torch if torch else library.xp
    flip = library.array(np.array([[0, 1], [1, 0]], np.complex64))
    signs = np.array([1, -1], np.float32)
    pairs = sum(
        np.multiply.outer(
            np.multiply.outer(np.ones(2**i), np.multiply.outer(signs, signs)), np.ones(2 ** (QUBITS - i - 2))
        ).ravel()
        for i in range(QUBITS - 1)
    )
    chain = library.array(pairs.reshape((2,) * QUBITS).astype(np.float32))
    controlled = np.eye(4, dtype=np.complex64)
    controlled[3, 3] = -1
    controlled = library.array(controlled.reshape(2, 2, 2, 2))

    def rotation(angles: Any) -> Any:
        """About y, then about z."""
        cosine, sine = xp.cos(angles[0] / 2), xp.sin(angles[0] / 2)
        turned = xp.stack([xp.stack([cosine, -sine]), xp.stack([sine, cosine])])
        phase = xp.exp(0.5j * xp.stack([-angles[1], angles[1]]))
        return phase[:, None] * turned

    def apply(state: Any, gate: Any, *qubits: int) -> Any:
        count = len(qubits)
        state = xp.tensordot(gate, state, (list(range(count, 2 * count)), list(qubits)))
        return xp.moveaxis(state, list(range(count)), list(qubits))

    def energy(angles: Any) -> Any:
        state = library.array(np.eye(1, 2**QUBITS, dtype=np.complex64).reshape((2,) * QUBITS))
        for layer in range(LAYERS):
            for qubit in range(QUBITS):
                state = apply(state, rotation(angles[layer, qubit]), qubit)
            for qubit in range(layer % 2, QUBITS - 1, 2):
                state = apply(state, controlled, qubit, qubit + 1)
        field = sum(xp.sum(xp.real(xp.conj(state) * apply(state, flip, qubit))) for qubit in range(QUBITS))
        return -xp.sum(chain * xp.abs(state) ** 2) - 0.7 * field

    return library.thunk(library.value_and_grad(energy), normal(LAYERS, QUBITS, 2, seed=1))


SITES, ELECTRONS = 24, 12


def orbitals(library: Any) -> Any:
    """Electrons in a chain whose field they make themselves: 15 rounds of diagonalising, and the gradient of the energy by the sites; float64."""
    if library.name not in ("cotangent", "jax", "torch"):
        return None
    torch = library.name == "torch"
    xp = library.torch if torch else library.xp
    hops = library.array(-(np.eye(SITES, k=1) + np.eye(SITES, k=-1)))
    distance = np.abs(np.subtract.outer(np.arange(SITES), np.arange(SITES)))
    repulsion = library.array(1 / np.sqrt(distance**2 + 1.0))

    def field(levels: Any, density: Any) -> Any:
        """Of the others, less what an electron would do to itself."""
        charge = xp.diag(density)
        return hops + xp.diag(levels + 2 * repulsion @ charge) - repulsion * density

    def energy(levels: Any) -> Any:
        def step(density: Any) -> Any:
            _, vectors = xp.linalg.eigh(field(levels, density))
            taken = vectors[:, : ELECTRONS // 2]
            return 0.5 * density + 0.5 * taken @ taken.T

        density = library.array(np.eye(SITES) * (ELECTRONS / 2 / SITES))
        if torch:
            for _ in range(15):
                density = step(density)
        else:
            density = library.lax.scan(lambda density, _: (step(density), None), density, None, length=15)[0]
        return xp.sum((hops + xp.diag(levels) + field(levels, density)) * density)

    return library.thunk(library.value_and_grad(energy), 0.3 * normal(SITES, dtype=np.float64))


# --------------------------------------------------------------------------------------------------- chance in biology


def reactions(library: Any) -> Any:
    """Gillespie's method: 32 cells in which predators and prey meet, 200 reactions each at the times at which they happen."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, random = library.xp, library.lax, library.module.random
    changes = np.array([[1, 0], [-1, 1], [0, -1]], np.int32)

    def cell(key: Any, rates: Any) -> Any:
        def react(state: Any, key: Any) -> Any:
            counts, time = state
            prey, predators = counts
            pace = rates * xp.stack([prey, prey * predators, predators]).astype(xp.float32)
            total = xp.sum(pace)
            when, which = random.split(key)
            wait = random.exponential(when) / xp.maximum(total, 1e-6)
            chosen = random.categorical(which, xp.log(pace))
            counts = xp.where(total > 0, counts + xp.asarray(changes)[chosen], counts)
            return (counts, time + wait), (time + wait, counts)

        start = xp.array([50, 30]), xp.zeros(())
        return lax.scan(react, start, random.split(key, 200))[1]

    def run(key: Any, rates: Any) -> Any:
        times, counts = library.vmap(cell, in_axes=(0, None))(random.split(key, 32), rates)
        grid = xp.linspace(0.0, 0.5, 20)
        places = library.vmap(lambda t: xp.searchsorted(t, grid))(times)
        seen = xp.take_along_axis(counts, xp.minimum(places, 199)[..., None], axis=1)
        return xp.mean(seen, axis=0), xp.var(seen.astype(xp.float32), axis=0)

    return library.thunk(run, library.module.random.PRNGKey(1), np.array([4.0, 0.08, 3.0], np.float32))


SPECIES, PLACES = 16, 200


def phylogeny(library: Any) -> Any:
    """Felsenstein's pruning: likelihood of a tree of 16 species, by exponentials of rates, and its gradient by rates and branches; float64."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn, linalg = library.xp, library.lax, library.nn, part(library, "scipy.linalg")
    rng = np.random.default_rng(4)
    # Two of the nodes without a parent get one, until one is left: node by node (left, right).
    waiting, children = list(range(SPECIES)), []
    for parent in range(SPECIES, 2 * SPECIES - 1):
        pair = [waiting.pop(rng.integers(len(waiting))) for _ in range(2)]
        children.append(pair)
        waiting.append(parent)
    children = np.array(children)
    letters = np.eye(4)[rng.integers(0, 4, (SPECIES, PLACES))]

    def loss(p: Any, letters: Any) -> Any:
        shares = nn.softmax(p["shares"])
        upper = xp.zeros((4, 4)).at[np.triu_indices(4, 1)].set(xp.exp(p["rates"]))
        rates = (upper + upper.T) * shares
        rates = rates - xp.diag(xp.sum(rates, axis=1))
        rates = rates / -xp.sum(shares * xp.diag(rates))
        moves = library.vmap(lambda t: linalg.expm(rates * t))(xp.exp(p["branches"]))
        start = xp.concatenate([letters, xp.zeros((SPECIES - 1, PLACES, 4))])

        def join(state: Any, node: Any) -> Any:
            likelihoods, scale = state
            parent, (left, right) = node
            both = (likelihoods[left] @ moves[left].T) * (likelihoods[right] @ moves[right].T)
            size = xp.max(both, axis=1, keepdims=True)
            return (likelihoods.at[parent].set(both / size), scale + xp.log(size[:, 0])), None

        nodes = np.arange(SPECIES, 2 * SPECIES - 1), (children[:, 0], children[:, 1])
        (likelihoods, scale), _ = lax.scan(join, (start, xp.zeros(PLACES)), nodes)
        return -xp.sum(xp.log(likelihoods[-1] @ shares) + scale)

    p = {
        "shares": np.zeros(4),
        "rates": np.zeros(6),
        "branches": np.full(2 * SPECIES - 2, -1.5) + 0.2 * normal(2 * SPECIES - 2, dtype=np.float64),
    }
    return library.thunk(library.value_and_grad(loss), p, letters)


def alignment(library: Any) -> Any:
    """Smith and Waterman's local alignment of 16 pairs of sequences with smooth maxima, by antidiagonals; the gradient is how letters match."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, nn = library.xp, library.lax, library.nn
    n = 40

    def score(similarity: Any, gap: Any) -> Any:
        i, d = np.arange(n)[None], np.arange(2 * n - 1)[:, None]
        inside = (d - i >= 0) & (d - i < n)
        diagonals = xp.where(inside, similarity[i, np.clip(d - i, 0, n - 1)], -1e6)

        def step(carry: Any, matches: Any) -> Any:
            two_back, one_back = carry
            shifted = lambda h: xp.concatenate([xp.full(1, -1e6), h[:-1]])  # noqa: E731
            ways = xp.stack([shifted(two_back) + matches, matches, shifted(one_back) + gap, one_back + gap])
            now = xp.where(matches > -1e5, nn.logsumexp(ways, axis=0), -1e6)
            return (one_back, now), now

        start = xp.full(n, -1e6)
        return nn.logsumexp(lax.scan(step, (start, start), diagonals)[1])

    def total(table: Any, gap: Any, first: Any, second: Any) -> Any:
        return xp.sum(library.vmap(lambda a, b: score(table[a[:, None], b[None]], gap))(first, second))

    rng = np.random.default_rng(6)
    first, second = rng.integers(0, 20, (2, 16, n)).astype(np.int32)
    table = (2 * np.eye(20) - 0.5 + 0.1 * rng.normal(size=(20, 20))).astype(np.float32)
    return library.thunk(
        library.value_and_grad(total, argnums=(0, 1)), table, np.array(-1.0, np.float32), first, second
    )


# ------------------------------------------------------------------------------------------------------ bodies, images

NODES = 24


def elastic(library: Any) -> Any:
    """A plate of finite elements under a load, solved by conjugate gradients; how its bending depends on the thickness of each element; float64."""
    if not hasattr(library, "lax"):
        return None
    xp, sparse = library.xp, part(library, "scipy.sparse.linalg")
    i, j = np.meshgrid(np.arange(NODES - 1), np.arange(NODES - 1), indexing="ij")
    corner = (i * NODES + j).ravel()
    nodes = np.stack([corner, corner + NODES, corner + NODES + 1, corner + 1], axis=1)
    places = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 8)
    free = np.ones(2 * NODES * NODES)
    free[: 2 * NODES] = 0

    def stiffness() -> Any:
        """Of a square element of plane stress, by 2 points of Gauss an axis."""
        law = np.array([[1, 0.3, 0], [0.3, 1, 0], [0, 0, 0.35]]) / (1 - 0.3**2)
        k = np.zeros((8, 8))
        for x in (-(3**-0.5), 3**-0.5):
            for y in (-(3**-0.5), 3**-0.5):
                dx = np.array([-(1 - y), 1 - y, 1 + y, -(1 + y)]) / 4
                dy = np.array([-(1 - x), -(1 + x), 1 + x, 1 - x]) / 4
                b = np.zeros((3, 8))
                b[0, ::2], b[1, 1::2], b[2, ::2], b[2, 1::2] = dx, dy, dy, dx
                k += b.T @ law @ b
        return k

    def bending(thickness: Any, k: Any, load: Any) -> Any:
        stiff = 1e-3 + thickness**3

        def product(u: Any) -> Any:
            forces = stiff[:, None] * ((u * free)[places] @ k)
            return xp.zeros_like(u).at[places].add(forces) * free + u * (1 - free)

        u, _ = sparse.cg(product, load, maxiter=150)
        return xp.sum(u * load)

    load = np.zeros(2 * NODES * NODES)
    load[-NODES] = -0.01
    thickness = np.full((NODES - 1) ** 2, 0.6) + 0.1 * normal((NODES - 1) ** 2, dtype=np.float64)
    return library.thunk(library.value_and_grad(bending), thickness, stiffness(), load)


def registration(library: Any) -> Any:
    """An image laid over another by an affine map and a coarse field of displacements, 10 steps down the gradient of their difference."""
    if not hasattr(library, "lax"):
        return None
    xp, lax = library.xp, library.lax
    ndimage, image = part(library, "scipy.ndimage"), part(library, "image")
    n = 64
    y, x = np.meshgrid(np.arange(n, dtype=np.float32), np.arange(n, dtype=np.float32), indexing="ij")
    grid = np.stack([y, x])
    fixed = np.exp(-((y - 30) ** 2 + (x - 34) ** 2) / 150) + 0.5 * np.exp(-((y - 45) ** 2 + (x - 20) ** 2) / 60)
    moving = np.exp(-((y - 34) ** 2 + (x - 30) ** 2) / 180) + 0.5 * np.exp(-((y - 47) ** 2 + (x - 18) ** 2) / 60)

    def warped(p: Any, moving: Any) -> Any:
        around = grid - (n - 1) / 2
        field = image.resize(p["field"], (2, n, n), "linear")
        places = (
            xp.einsum("ij,jyx->iyx", xp.eye(2) + p["matrix"], around) + (n - 1) / 2 + p["shift"][:, None, None] + field
        )
        return ndimage.map_coordinates(moving, [places[0], places[1]], order=1, mode="nearest")

    def error(p: Any, fixed: Any, moving: Any) -> Any:
        smooth = xp.mean(xp.diff(p["field"], axis=1) ** 2) + xp.mean(xp.diff(p["field"], axis=2) ** 2)
        return xp.mean((warped(p, moving) - fixed) ** 2) + 1e-3 * smooth

    rates = {"matrix": 0.02, "shift": 100.0, "field": 100.0}

    def fit(p: Any, fixed: Any, moving: Any) -> Any:
        def step(p: Any, _: Any) -> Any:
            value, g = library.value_and_grad(error)(p, fixed, moving)
            return {name: p[name] - rates[name] * g[name] for name in p}, value

        return lax.scan(step, p, None, length=10)

    p = {
        "matrix": np.zeros((2, 2), np.float32),
        "shift": np.zeros(2, np.float32),
        "field": np.zeros((2, 6, 6), np.float32),
    }
    return library.thunk(fit, p, fixed.astype(np.float32), moving.astype(np.float32))


# ------------------------------------------------------------------------------------------------------------ networks

PAGES, LINKS = 2000, 16000


def ranks(library: Any) -> Any:
    """PageRank until it no longer changes, over lists of links, and how far each page is from the first, by rounds of relaxation."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, ops = library.xp, library.lax, part(library, "ops")

    def run(sources: Any, targets: Any, lengths: Any) -> Any:
        out = ops.segment_sum(xp.ones(LINKS), sources, PAGES)

        def flow(state: Any) -> Any:
            rank, _ = state
            share = xp.where(out > 0, rank / xp.maximum(out, 1), 0)
            lost = xp.sum(xp.where(out > 0, 0, rank))
            new = 0.15 / PAGES + 0.85 * (ops.segment_sum(share[sources], targets, PAGES) + lost / PAGES)
            return new, xp.sum(xp.abs(new - rank))

        rank, _ = lax.while_loop(lambda s: s[1] > 1e-5, flow, (xp.full(PAGES, 1 / PAGES), 1.0))

        def relax(state: Any) -> Any:
            far, _ = state
            new = xp.minimum(far, ops.segment_min(far[sources] + lengths, targets, PAGES))
            return new, xp.any(new < far)

        start = xp.full(PAGES, xp.inf).at[0].set(0.0)
        far, _ = lax.while_loop(lambda s: s[1], relax, (start, True))
        return rank, far

    rng = np.random.default_rng(8)
    links = rng.integers(0, PAGES, (2, LINKS)).astype(np.int32)
    return library.thunk(run, *links, rng.uniform(0.1, 1, LINKS).astype(np.float32))


def gibbs(library: Any) -> Any:
    """Gibbs sampling of a regression with errors of Student's distribution: 100 rounds of normal and gamma draws for 8 chains."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, random, linalg = library.xp, library.lax, library.module.random, part(library, "scipy.linalg")
    x = normal(200, 6, seed=1, dtype=np.float64)
    y = x @ np.arange(6) + np.random.default_rng(2).standard_t(3, 200)

    def chain(key: Any, x: Any, y: Any) -> Any:
        def round_of(state: Any, key: Any) -> Any:
            weights, scale = state
            first, second, third = random.split(key, 3)
            precision = (x.T * (weights / scale)) @ x + 0.01 * xp.eye(6)
            factor = xp.linalg.cholesky(precision)
            mean = linalg.cho_solve((factor, True), x.T @ (weights / scale * y))
            b = mean + linalg.solve_triangular(factor.T, random.normal(first, (6,)), lower=False)
            squares = (y - x @ b) ** 2
            weights = random.gamma(second, 2.5, (200,)) / (2 + 0.5 * squares / scale)
            scale = (1 + 0.5 * xp.sum(weights * squares)) / random.gamma(third, 102.0)
            return (weights, scale), (b, scale)

        return lax.scan(round_of, (xp.ones(200), xp.ones(())), random.split(key, 100))[1]

    def run(key: Any, x: Any, y: Any) -> Any:
        b, scale = library.vmap(chain, in_axes=(0, None, None))(random.split(key, 8), x, y)
        return xp.mean(b[:, 20:], axis=(0, 1)), xp.std(b[:, 20:], axis=(0, 1)), xp.mean(scale[:, 20:])

    return library.thunk(run, library.module.random.PRNGKey(3), x, y)


def parallel_filter(library: Any) -> Any:
    """The Kalman filter as an associative scan (Särkkä and García-Fernández) of 256 steps; float64."""
    if not hasattr(library, "lax"):
        return None
    xp, lax, vmap = library.xp, library.lax, library.vmap
    n, steps = 4, 256
    a = np.eye(n) + 0.1 * np.eye(n, k=2)
    q, c, r = 0.05 * np.eye(n), np.eye(2, n), 0.3 * np.eye(2)

    def first(y: Any) -> Any:
        start = a @ a.T + q
        gain = xp.linalg.solve(c @ start @ c.T + r, c @ start).T
        return xp.zeros((n, n)), gain @ y, start - gain @ c @ start, xp.zeros(n), xp.zeros((n, n))

    def element(y: Any) -> Any:
        spread = c @ q @ c.T + r
        gain = xp.linalg.solve(spread, c @ q).T
        back = a.T @ c.T
        return (
            a - gain @ c @ a,
            gain @ y,
            q - gain @ c @ q,
            back @ xp.linalg.solve(spread, y),
            back @ xp.linalg.solve(spread, c @ a),
        )

    def combine(left: Any, right: Any) -> Any:
        def pair(left: Any, right: Any) -> Any:
            a1, b1, c1, e1, j1 = left
            a2, b2, c2, e2, j2 = right
            ahead = xp.linalg.solve((xp.eye(n) + c1 @ j2).T, a2.T).T
            behind = xp.linalg.solve((xp.eye(n) + j2 @ c1).T, a1).T
            return (
                ahead @ a1, ahead @ (b1 + c1 @ e2) + b2, ahead @ c1 @ a2.T + c2,
                behind @ (e2 - j2 @ b1) + e1, behind @ j2 @ a1 + j1,
            )  # fmt: skip

        return vmap(pair)(left, right)

    def filtered(ys: Any) -> Any:
        rest = vmap(element)(ys[1:])
        elements = library.tree_map(lambda one, more: xp.concatenate([one[None], more]), first(ys[0]), rest)
        _, means, covariances, _, _ = lax.associative_scan(combine, elements)
        return means, covariances

    return library.thunk(filtered, np.cumsum(normal(steps, 2, scale=0.3, dtype=np.float64), axis=0))


def spectra(library: Any) -> Any:
    """Signals in noise: Welch's spectra, spectrograms, a filter by convolution, delays by correlation; of 16 channels."""
    if not hasattr(library, "lax"):
        return None
    xp, signal = library.xp, part(library, "scipy.signal")
    kernel = np.sinc(0.2 * np.arange(-32, 33)) * np.hamming(65)

    def analyse(x: Any, kernel: Any) -> Any:
        x = signal.detrend(x)
        smooth = library.vmap(lambda x: signal.fftconvolve(x, kernel, mode="same"))(x)
        _, power = signal.welch(smooth, fs=100.0, nperseg=256)
        _, _, bands = signal.stft(smooth, fs=100.0, nperseg=128)
        lags = library.vmap(lambda y: xp.argmax(signal.correlate(y, smooth[0], mode="full", method="fft")))(smooth)
        return power, xp.mean(xp.abs(bands), axis=-1), lags, xp.quantile(smooth, xp.array([0.05, 0.5, 0.95]), axis=1)

    t = np.arange(4096) / 100
    x = np.stack([np.sin(2 * np.pi * (3 + 0.2 * k) * (t - 0.05 * k)) for k in range(16)]) + normal(16, 4096)
    return library.thunk(analyse, x.astype(np.float32), kernel.astype(np.float32))


WORKLOADS = [
    Workload(
        "variational circuit of 10 qubits, energy's gradient", circuit, AHEAD, "ms", tolerance=1e-4, compiled_peer=False
    ),
    Workload(
        "self-consistent orbitals of 24 sites, gradient, float64",
        in_double(orbitals),
        AHEAD,
        "ms",
        tolerance=1e-7,
        compiled_peer=False,
    ),
    Workload("Gillespie's reactions, 32 cells of 200", reactions, AHEAD, "ms", tolerance=1e-4),
    Workload("tree of 16 species, likelihood and gradient, float64", in_double(phylogeny), AHEAD, "ms", tolerance=1e-8),
    Workload("smooth local alignment of 16 pairs of 40, gradient", alignment, AHEAD, "ms", tolerance=1e-3),
    Workload("plate of 529 elements, gradient by thickness, float64", in_double(elastic), AHEAD, "ms", tolerance=1e-5),
    Workload("registration of images 64², 10 steps", registration, AHEAD, "ms", tolerance=1e-3),
    Workload("ranks and distances of 2,000 pages", ranks, AHEAD, "ms", tolerance=1e-4),
    Workload("Gibbs sampler, 8 chains of 100, float64", in_double(gibbs), AHEAD, "ms", tolerance=1e-7),
    Workload("Kalman filter as an associative scan, float64", in_double(parallel_filter), AHEAD, "ms", tolerance=1e-8),
    Workload("spectra of 16 signals of 4,096", spectra, AHEAD, "ms", tolerance=1e-3),
]
