"""What a call costs: jitted, eager, un-jitted transforms, capture."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from judge import AtMost, Workload

from workloads.data import mlp, mlp_loss, normal, one_hot


def jitted_add(library: Any) -> Any:
    return library.thunk(lambda x: x + 1, normal(8))


def jitted_dict(library: Any) -> Any:
    if library.name == "numpy":
        return None
    tree = {f"leaf{i:02d}": normal(8, seed=i) for i in range(20)}
    return library.thunk(lambda d: {key: value + 1 for key, value in d.items()}, tree)


def eager_add(library: Any) -> Any:
    return None if library.compiles_slowly else library.eager(lambda x, y: x + y, normal(8), normal(8, seed=1))


def eager_chain(library: Any) -> Any:
    def chain(x: Any, y: Any) -> Any:
        for _ in range(5):
            x = x + y
            x = x * y
        return x

    return library.eager(chain, normal(8), normal(8, seed=1))


def eager_index(library: Any) -> Any:
    return library.eager(lambda x: x[3], normal(8))


def from_numpy(library: Any) -> Any:
    if library.name == "numpy":
        return None
    x = normal(8)
    convert = library.torch.tensor if hasattr(library, "torch") else library.xp.asarray
    return lambda: convert(x)


def round_trip(library: Any) -> Any:
    if library.name == "numpy":
        return None
    x = normal(8)
    convert = library.torch.tensor if hasattr(library, "torch") else library.xp.asarray
    return lambda: np.asarray(convert(x))


def eager_gradient(library: Any) -> Any:
    if not library.functional:
        return None
    return library.eager(library.grad(mlp_loss(library)), mlp([64, 32, 10]), normal(8, 64), one_hot(8, 10))


def capture_seconds(library: Any, differentiate: bool, count: int) -> float:
    """Of one capture of `count` operations, or of that and reverse mode on top."""

    def function(x: Any) -> Any:
        for _ in range(count // 2):
            x = library.xp.sin(x) * x
        return library.xp.sum(x)

    module = library.module
    capture = module.make_ir if library.name == "cotangent" else module.make_jaxpr
    x = library.array(normal(8))
    best = float("inf")
    for _ in range(5 if library.name == "cotangent" else 1):
        captured = capture(
            module.grad(function) if differentiate else function
        )  # a new function: nothing is remembered
        start = time.perf_counter()
        captured(x)
        best = min(best, time.perf_counter() - start)
    return best


def capture_cost(libraries: list[Any], gradient: bool, count: int = 1000) -> dict[str, float]:
    times = {}
    for library in libraries:
        if library.name in ("cotangent", "jax"):
            plain = capture_seconds(library, False, count)
            cost = capture_seconds(library, True, count) - plain if gradient else plain
            times[library.name] = cost / count * 1e6
    return times


def nothing(library: Any) -> None:
    return None


WORKLOADS = [
    Workload("jitted x+1 on (8,)", jitted_add, (AtMost(0.15, jax=7.2, torch=4.0),), compiled_peer=True),
    Workload("jitted dict of 20 arrays (8,)", jitted_dict, (AtMost(2, jax=42, torch=87),)),
    Workload("eager add (8,)", eager_add, (AtMost(0.35, jax=10.8, torch=1.6),), compiled_peer=False),
    Workload("eager chain of 10 on (8,)", eager_chain, (AtMost(4, jax=116, torch=23),), compiled_peer=False),
    Workload("eager x[3] of (8,)", eager_index, (AtMost(0.6, jax=127, torch=1.5),), compiled_peer=False),
    Workload("from NumPy (8,)", from_numpy, (AtMost(0.5, jax=41, torch=4.2),), compiled_peer=False),
    Workload("from NumPy and back (8,)", round_trip, (AtMost(1, jax=44, torch=2.0),), compiled_peer=False),
    Workload(
        "un-jitted grad of MLP 64-32-10, batch 8",
        eager_gradient,
        (AtMost(60, jax=7660, torch=204),),
        compiled_peer=False,
    ),
    Workload("capture, per operation", nothing, (AtMost(0.4, jax=27),), measure=lambda ls: capture_cost(ls, False)),
    Workload(
        "grad of what is captured, per operation", nothing, (AtMost(0.5),), measure=lambda ls: capture_cost(ls, True)
    ),
]
