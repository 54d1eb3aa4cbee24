"""Memory at its peak, memory that leaks, sizes on disk, and calls from two threads."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from judge import OURS, Row, Workload
from machine import cores

from workloads import fresh
from workloads.calls import nothing
from workloads.data import normal
from workloads.startup import each


@dataclass(frozen=True)
class Plain:
    """A figure of ours against a fixed one, which no machine's speed changes; or against a peer's."""

    bound: float = 0
    least: bool = False
    below: str = ""

    def text(self, row: Row) -> str:
        return f"below {self.below}" if self.below else f"{'≥' if self.least else '≤'} {self.bound:g}"

    def met(self, row: Row) -> bool | None:
        if self.below:
            return row.ours() < row.times[self.below] if self.below in row.times else None
        return row.ours() >= self.bound if self.least else row.ours() <= self.bound


def package_megabytes(libraries: list[Any]) -> dict[str, float]:
    """Installed, with what only that package brings."""
    packages = {"cotangent": ["cotangent"], "jax": ["jax", "jaxlib"], "torch": ["torch"]}
    present = {library.name for library in libraries}
    sizes = {}
    for name, parts in packages.items():
        if name in present:
            specs = [util.find_spec(part) for part in parts]
            folders = [Path(spec.origin).resolve().parent for spec in specs if spec is not None and spec.origin]
            files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
            sizes[name] = sum(f.stat().st_size for f in files if "__pycache__" not in f.parts) / 1e6
    return sizes


def leak(libraries: list[Any], calls: int = 1_000_000) -> dict[str, float]:
    """Megabytes more after a million calls."""
    ours = libraries[0]
    function = ours.jit(lambda x, d: {"a": x + d["a"]})
    x, tree = ours.array(normal(8)), {"a": ours.array(normal(8))}

    def many(count: int) -> None:
        for _ in range(count):
            function(x, tree)

    many(calls // 10)
    before = fresh.now_megabytes()
    many(calls)
    return {OURS: max(0.0, fresh.now_megabytes() - before)}


def two_threads(libraries: list[Any]) -> dict[str, float]:
    """How many times as many calls two Python threads make as one does."""
    if cores() < 2:
        return {}
    rates: dict[str, float] = {}
    for library in libraries:
        if library.name not in ("cotangent", "jax"):
            continue
        function = library.jit(lambda x: library.lax.fori_loop(0, 2000, lambda i, y: y * 0.999 + 0.001, x))  # noqa: B023
        x = library.array(np.ones(16, np.float32))
        library.wait(function(x))

        def work(count: int) -> None:
            for _ in range(count):
                library.wait(function(x))  # noqa: B023

        def seconds(threads: int) -> float:
            workers = [threading.Thread(target=work, args=(2000,)) for _ in range(threads)]
            start = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            return time.perf_counter() - start

        one, two = (min(seconds(count) for _ in range(5)) for count in (1, 2))
        rates[library.name] = 2 * one / two
    return rates


WORKLOADS = [
    Workload("memory of a first jitted call, over NumPy", nothing, (Plain(60),), "MB", measure=each("memory of a first call", 2)),
    Workload("memory of a gradient over 50 operations on 1e7", nothing, (Plain(below="jax"),), "MB",
             measure=each("memory of a chain", 2)),
    Workload("memory of the 4-layer GPT's step", nothing, (Plain(below="jax"),), "MB", measure=each("memory of gpt", 2)),
    Workload("growth over a million calls", nothing, (Plain(1),), "MB", measure=leak),
    Workload("installed size", nothing, (Plain(80),), "MB", measure=package_megabytes),
    Workload("calls from 2 threads, times those from one", nothing, (Plain(1.7, least=True),), "x", measure=two_threads),
]  # fmt: skip
