"""How the cost of a masked program follows its length: masked over exact, in processor time of one thread, for lengths of one bound.

A masked program whose cost follows the data costs what the exact one of that length costs, call of a function with a `Ragged` aside. The
figure of a line is the time at all lengths over that of the exact programs, as in the recurrent network at 20 lengths; a batch has rows of
many lengths, and is compared with a call of an exact program for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from judge import OURS, AtMost, Workload, WrongResultError, agree, arrays_of, measure, on_one_thread

from workloads.calls import nothing
from workloads.data import normal

BOUND, COLUMNS = 1024, 64
LENGTHS = (16, 64, 256, 1024)
BATCH = tuple(int(n) for n in np.geomspace(16, BOUND, 8))
SECONDS = 0.1  # for each program and length

Program = Callable[..., Any]


def weights(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [normal(*shape, seed=10 + i, scale=shape[0] ** -0.5) for i, shape in enumerate(shapes)]


def two_layers(library: Any) -> Program:
    xp = library.xp

    def loss(w: Any, v: Any, x: Any) -> Any:
        return xp.mean((xp.tanh(x @ w) @ v) ** 2)

    return lambda x, w, v: library.grad(loss, (0, 1))(w, v, x)


def attention(library: Any) -> Program:
    softmax = library.nn.softmax
    return lambda x: softmax(x @ x.T * COLUMNS**-0.5, axis=-1) @ x


def convolution(library: Any) -> Program:
    """Along the ragged axis; columns are channels."""
    convolve = library.lax.conv_general_dilated
    return lambda x, w: convolve(x.T[None], w, (1,), "SAME")[0].T


def pooling(library: Any) -> Program:
    """The largest of each three rows, every two rows."""
    reduce_window, largest = library.lax.reduce_window, library.lax.max
    return lambda x: reduce_window(x, -np.inf, largest, (3, 1), (2, 1), "VALID")


def strided_convolution(library: Any) -> Program:
    convolve = library.lax.conv_general_dilated
    return lambda x, w: convolve(x.T[None], w, (2,), "SAME")[0].T


def solve(library: Any) -> Program:
    """A system of as many equations as there are rows."""
    xp = library.xp
    return lambda x: xp.linalg.solve(x @ x.T + 10.0 * xp.eye(x.shape[0]), x)


def associative_scan(library: Any) -> Program:
    scan = library.lax.associative_scan
    return lambda x: scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (library.xp.tanh(x), x))[1]


# Name -> the program for an exact array, and what it takes besides.
PROGRAMS: dict[str, tuple[Callable[[Any], Program], list[np.ndarray]]] = {
    "tanh(x) * exp(x)": (lambda library: lambda x: library.xp.tanh(x) * library.xp.exp(x), []),
    "x @ w": (lambda library: lambda x, w: x @ w, weights((COLUMNS, COLUMNS))),
    "gradient of two layers": (two_layers, weights((COLUMNS, COLUMNS), (COLUMNS, COLUMNS))),
    "softmax": (lambda library: lambda x: library.nn.softmax(x, axis=0), []),
    "attention": (attention, []),
    "convolution of width 5": (convolution, [normal(COLUMNS, COLUMNS, 5, scale=(5 * COLUMNS) ** -0.5)]),
    "sort": (lambda library: lambda x: library.xp.sort(x, axis=0), []),
    "sum": (lambda library: lambda x: library.xp.sum(x, axis=0), []),
    "max pooling": (pooling, []),
    "convolution of stride 2": (strided_convolution, [normal(COLUMNS, COLUMNS, 5, scale=(5 * COLUMNS) ** -0.5)]),
    "solve of x @ x.T + 10": (solve, []),
    "associative scan": (associative_scan, []),
    "cumulative sum": (lambda library: lambda x: library.xp.cumsum(x, axis=0), []),
}


def unpadded(tree: Any) -> Any:
    """A result with exact arrays in place of ragged ones."""
    if isinstance(tree, (tuple, list)):
        return [unpadded(leaf) for leaf in tree]
    return tree.unpad() if hasattr(tree, "unpad") else tree


def masked_and_exact(library: Any, name: str) -> dict[int, tuple[Callable[[], Any], Callable[[], Any]]]:
    """For each length the call of the one masked program, and of the exact one."""
    ct = library.module
    make, rest = PROGRAMS[name]
    program, others = make(library), library.arrays(rest)
    masked, exact = ct.jit(ct.mask(program)), ct.jit(program)
    x = normal(BOUND, COLUMNS)
    data = library.array(x)
    return {
        n: (partial(masked, ct.Ragged(data, {0: n}), *others), partial(exact, library.array(x[:n]), *others))
        for n in LENGTHS
    }


def batch_and_rows(library: Any, name: str) -> tuple[Callable[[], Any], Callable[[], Any], list[int]]:
    """The call of the program for a batch, and one call of an exact program for each row."""
    ct = library.module
    make, rest = PROGRAMS[name]
    program, others = make(library), library.arrays(rest)
    batched = ct.jit(ct.vmap(ct.mask(program), in_axes=(0, *[None] * len(rest))))
    x = normal(len(BATCH), BOUND, COLUMNS)
    data = ct.Ragged(library.array(x), {1: np.array(BATCH, np.int32)})
    exact = ct.jit(program)
    rows = [library.array(row[:n]) for row, n in zip(x, BATCH, strict=True)]
    return partial(batched, data, *others), lambda: [exact(row, *others) for row in rows], list(BATCH)


def check(name: str, what: str, left: Any, right: Any) -> None:
    if not agree(arrays_of(unpadded(left)), arrays_of(unpadded(right)), 2e-3):
        raise WrongResultError(f"{name}, {what}: the masked program differs from the exact one")


def rows_of(result: Any, index: int) -> Any:
    return [rows_of(leaf, index) for leaf in result] if isinstance(result, (tuple, list)) else result[index]


def over_lengths(name: str) -> Callable[[list[Any]], dict[str, float]]:
    def run(libraries: list[Any]) -> dict[str, float]:
        ours = next(library for library in libraries if library.name == OURS)
        calls = masked_and_exact(ours, name)
        with on_one_thread([ours]):
            for n, (masked, exact) in calls.items():
                check(name, f"length {n}", masked(), exact())
            thunks = {f"{n} {i}": pair[i] for n, pair in calls.items() for i in range(2)}
            times = measure(thunks, SECONDS, processor_time=True)
        masked_times, exact_times = ([times[f"{n} {i}"] for n in LENGTHS] for i in range(2))
        ratios = {f"{OURS}.n={n}": m / e for n, m, e in zip(LENGTHS, masked_times, exact_times, strict=True)}
        exactly = {f"{OURS}.exact {n}, µs": exact_times[LENGTHS.index(n)] * 1e6 for n in (LENGTHS[0], LENGTHS[-1])}
        return {OURS: sum(masked_times) / sum(exact_times), **ratios, **exactly}

    return run


def over_rows(name: str) -> Callable[[list[Any]], dict[str, float]]:
    def run(libraries: list[Any]) -> dict[str, float]:
        ours = next(library for library in libraries if library.name == OURS)
        batched, one_by_one, lengths = batch_and_rows(ours, name)
        with on_one_thread([ours]):
            found, wanted = batched(), one_by_one()
            for i, n in enumerate(lengths):
                check(name, f"row of length {n}", rows_of(found, i), wanted[i])
            times = measure({"batch": batched, "rows": one_by_one}, SECONDS, processor_time=True)
        return {OURS: times["batch"] / times["rows"], f"{OURS}.exact rows, µs": times["rows"] * 1e6}

    return run


WORKLOADS = [
    Workload(f"{name}, bound {BOUND:,}", nothing, (AtMost(1.15),), "x", measure=over_lengths(name)) for name in PROGRAMS
]
WORKLOADS += [
    Workload(f"{name}, {len(BATCH)} rows", nothing, (AtMost(1.15),), "x", measure=over_rows(name)) for name in PROGRAMS
]
