"""From nothing to a first result: import, capture, compile. Each in processes of its own, without caches on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from judge import AtMost, Workload

from workloads import fresh
from workloads.calls import nothing


def each(
    what: str, repeat: int = 5, names: tuple[str, ...] = ("cotangent", "jax")
) -> Callable[[Any], dict[str, float]]:
    def measure(libraries: list[Any]) -> dict[str, float]:
        present = [library.name for library in libraries if library.name in names]
        times: dict[str, float] = {}
        for _ in range(repeat):  # in turn
            for name in present:
                times[name] = min(times.get(name, float("inf")), fresh.measure(what, name, 1))
        return times

    return measure


WORKLOADS = [
    Workload("first result of x+1", nothing, (AtMost(2, jax=43),), "ms", measure=each("x+1")),
    Workload("first result of an MLP's gradient", nothing, (AtMost(15, jax=314),), "ms", measure=each("mlp")),
    Workload("first result of gradients for each example", nothing, (AtMost(20, jax=373),), "ms", measure=each("per-example")),
    Workload(
        "first result of 12 transformer blocks' gradient", nothing, (AtMost(400, jax=12200),), "ms", measure=each("blocks", 2)
    ),
    Workload(
        "import over NumPy", nothing, (AtMost(0.1, jax=0.5, torch=1.6),), "s",
        measure=each("import", names=("cotangent", "jax", "torch")),
    ),
]  # fmt: skip
