"""More threads of Python than cores: calls that they make, against as many threads as cores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from judge import Workload
from machine import cores

from workloads.calls import nothing
from workloads.data import mlp, mlp_loss, normal, one_hot, sgd
from workloads.memory import Plain

MANY = 16


def scalar_loop(library: Any) -> Any:
    """Some 40 µs that no threads share."""
    loop = lambda x: library.lax.fori_loop(0, 20_000, lambda i, y: y * 0.999 + 0.001, x)  # noqa: E731
    return library.thunk(loop, np.ones(16, np.float32))


def product(library: Any) -> Any:
    """Half a millisecond that threads share."""
    return library.thunk(lambda x, y: x @ y, normal(320, 320), normal(320, 320, seed=1))


def step(library: Any) -> Any:
    """A training step: several loops, which threads share."""
    return library.thunk(sgd(library, mlp_loss(library)), mlp([784, 256, 10]), normal(128, 784), one_hot(128, 10))


def seconds(call: Callable[[], Any], threads: int, calls: int) -> tuple[float, float]:
    """Until so many threads have made all of these calls, and the processor time that it took.

    A thread's first call, for which it takes memory, does not count.
    """
    start = threading.Barrier(threads + 1)

    def run(count: int) -> None:
        call()
        start.wait()
        for _ in range(count):
            call()

    workers = [
        threading.Thread(target=run, args=((i + 1) * calls // threads - i * calls // threads,)) for i in range(threads)
    ]
    for worker in workers:
        worker.start()
    start.wait()
    begin, begin_processor = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.join()
    return time.perf_counter() - begin, time.process_time() - begin_processor


def ratios(call: Callable[[], Any], calls: int, rounds: int) -> tuple[list[float], list[float]]:
    """How many times as many calls MANY threads make as one for each core: in a time, and in a time of the processor, of each round."""
    call()
    few = cores()
    pairs = [(seconds(call, few, calls), seconds(call, MANY, calls)) for _ in range(rounds)]
    return [a[0] / b[0] for a, b in pairs], [a[1] / b[1] for a, b in pairs]


def oversubscribed(make: Callable[[Any], Callable[[], Any]], calls: int) -> Callable[[list[Any]], dict[str, float]]:
    """The middle of seven rounds, in which few and many threads take turns."""

    def measure(libraries: list[Any]) -> dict[str, float]:
        if cores() < 2:
            return {}
        return {
            library.name: sorted(ratios(make(library), calls, 7)[0])[3]
            for library in libraries
            if library.name in ("cotangent", "jax")
        }

    return measure


WORKLOADS = [
    Workload(f"calls of 40 µs from {MANY} threads, times those from as many as cores", nothing,
             (Plain(0.9, least=True),), "x", measure=oversubscribed(scalar_loop, 8000)),
    Workload(f"products of 320³ from {MANY} threads, times those from as many as cores", nothing,
             (Plain(0.9, least=True),), "x", measure=oversubscribed(product, 1600)),
    Workload(f"training steps from {MANY} threads, times those from as many as cores", nothing,
             (Plain(0.9, least=True),), "x", measure=oversubscribed(step, 640)),
]  # fmt: skip
