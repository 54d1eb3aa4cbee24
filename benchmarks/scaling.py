"""How cost grows: operations captured, nodes compiled, batch, leaves of a pytree. Near-linear, without a cliff, is the aim."""

from __future__ import annotations

import time
from typing import Any

from judge import measure
from workloads.calls import capture_seconds
from workloads.data import mlp, mlp_loss, normal, one_hot, sgd


def once(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compile_seconds(library: Any, nodes: int) -> float:
    def function(x: Any, first: int) -> Any:
        for i in range(first, first + nodes // 2):
            x = library.xp.sin(x) * (1 + 1 / i)
        return x

    x = library.array(normal(8))
    # Other constants each time: the same program is not compiled twice.
    runs = 3 if nodes <= 100 else 1
    return min(once(lambda: library.wait(library.jit(lambda x: function(x, k))(x))) for k in range(1, runs + 1))  # noqa: B023


def batch_seconds(library: Any, batch: int) -> float:
    thunk = library.thunk(sgd(library, mlp_loss(library)), mlp([64, 32, 10]), normal(batch, 64), one_hot(batch, 10))
    return measure({"": thunk}, 0.2)[""]


def leaves_seconds(library: Any, leaves: int) -> float:
    thunk = library.thunk(lambda tree: [x + 1 for x in tree], [normal(8, seed=i) for i in range(leaves)])
    return measure({"": thunk}, 0.2)[""]


SCALES: dict[str, tuple[Any, list[int]]] = {
    "capture: operations": (lambda library, n: capture_seconds(library, False, n), [100, 1000, 10_000, 100_000]),
    "gradient captured: operations": (
        lambda library, n: capture_seconds(library, True, n),
        [100, 1000, 10_000, 100_000],
    ),
    "first result: graph nodes": (compile_seconds, [100, 1000, 10_000, 100_000]),
    "SGD step: batch": (batch_seconds, [1, 10, 100, 1000, 10_000]),
    "call: leaves of a pytree": (leaves_seconds, [1, 10, 100, 1000]),
}
# Where JAX would take minutes.
JAX_UP_TO = {"capture: operations": 10_000, "gradient captured: operations": 1000, "first result: graph nodes": 1000}


def run(libraries: list[Any], quick: bool) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Scale -> library -> (size, seconds)."""
    results: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for name, (seconds, sizes) in SCALES.items():
        results[name] = {}
        for library in libraries:
            if library.name not in ("cotangent", "jax"):
                continue
            bound = JAX_UP_TO.get(name, 10**9) if library.name == "jax" else 10**9
            wanted = [n for n in sizes if n <= (100 if quick else bound)]
            results[name][library.name] = [(n, seconds(library, n)) for n in wanted]
    return results
