"""Chains of elementwise operations on ten million elements."""

from __future__ import annotations

from typing import Any

from judge import OfLimit, TimesBest, Workload

from workloads.data import normal

N = 10_000_000


def chain(library: Any) -> Any:
    return library.thunk(lambda x: (x * 2.0 + 1.0) * x - 0.5, normal(N))


def chain_tanh(library: Any) -> Any:
    return library.thunk(lambda x: library.xp.tanh(x * 2.0 + 1.0) * x - 0.5, normal(N))


def gelu(library: Any) -> Any:
    if not library.functional:
        return None
    return library.thunk(library.value_and_grad(lambda x: library.xp.sum(library.nn.gelu(x))), normal(N, scale=0.5))


WORKLOADS = [
    Workload("pointwise chain on 1e7", chain, (OfLimit(0.9), TimesBest(1.0)), "ms", bytes=8 * N),
    Workload("pointwise chain with tanh on 1e7", chain_tanh, (OfLimit(0.75), TimesBest(1.0)), "ms", bytes=8 * N),
    Workload("value and gradient of gelu on 1e7", gelu, (OfLimit(0.75), TimesBest(1.0)), "ms", bytes=8 * N),
]
