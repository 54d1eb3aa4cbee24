"""Functions of a numerical library: sorting, running sums, indexing, random numbers, factorisation, Fourier transform."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal

N = 1_000_000
AHEAD = (TimesBest(1.0),)


def sort(library: Any) -> Any:
    return library.thunk(library.xp.sort, normal(N))


def cumsum(library: Any) -> Any:
    return library.thunk(lambda x: library.xp.cumsum(x, 0), normal(N))


def positions() -> np.ndarray:
    return np.random.default_rng(3).integers(0, N, N).astype(np.int32)


def gather(library: Any) -> Any:
    indices = positions().astype(np.int64) if library.name.startswith("torch") else positions()
    return library.thunk(lambda x, i: x[i], normal(N), indices)


def scatter_add(library: Any) -> Any:
    if library.name.startswith("torch"):
        torch = library.torch
        return library.thunk(lambda v, i: torch.zeros(N).index_add(0, i, v), normal(N), positions().astype(np.int64))
    if library.name == "numpy":
        indices, values = positions(), normal(N)
        return lambda: np.bincount(indices, values, N).astype(np.float32)
    zeros = lambda: library.xp.zeros(N, np.float32)  # noqa: E731
    return library.thunk(lambda v, i: zeros().at[i].add(v), normal(N), positions())


def random_normal(library: Any) -> Any:
    if library.name == "numpy":
        generator = np.random.default_rng(0)
        return lambda: generator.standard_normal(10 * N, np.float32)
    if library.name.startswith("torch"):
        return lambda: library.torch.randn(10 * N)
    random = library.module.random
    return library.thunk(lambda key: random.normal(key, (10 * N,)), random.PRNGKey(0))


def moments(arrays: list[np.ndarray]) -> list[np.ndarray]:
    (x,) = arrays
    return [np.array([np.mean(x) + 1, np.std(x), np.mean(x**3) / 10 + 1, np.mean(x**4) / 3, float(x.size)])]


def cholesky(library: Any) -> Any:
    a = normal(256, 8, 8)
    matrices = a @ np.swapaxes(a, -1, -2) + 8 * np.eye(8, dtype=np.float32)
    linalg = library.torch.linalg if library.name.startswith("torch") else library.xp.linalg
    return library.thunk(linalg.cholesky, matrices)


def fourier(library: Any) -> Any:
    x = (normal(N) + 1j * normal(N, seed=1)).astype(np.complex64)
    fft = library.torch.fft if library.name.startswith("torch") else library.xp.fft
    return library.thunk(fft.fft, x)


WORKLOADS = [
    Workload("sort 1e6", sort, AHEAD, "ms", bytes=8 * N, compiled_peer=False),
    Workload("cumsum 1e6", cumsum, AHEAD, "ms", bytes=8 * N, compiled_peer=False),
    Workload("gather 1e6 of 1e6", gather, AHEAD, "ms", bytes=12 * N, compiled_peer=False),
    Workload("scatter-add 1e6 into 1e6", scatter_add, AHEAD, "ms", bytes=12 * N, compiled_peer=False),
    Workload(
        "normal 1e7", random_normal, AHEAD, "ms", bytes=40 * N, compiled_peer=False, compare=moments, tolerance=1e-2
    ),
    Workload("cholesky 256×8×8", cholesky, AHEAD, compiled_peer=False),
    Workload("fft 1e6", fourier, AHEAD, "ms", bytes=16 * N, compiled_peer=False),
]
