"""Training steps of small networks, each as one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import AtMost, TimesBest, Workload

from workloads.data import adam, mlp, mlp_loss, normal, one_hot, sgd


def step(sizes: list[int], batch: int) -> Any:
    def make(library: Any) -> Any:
        if not library.functional:
            return None
        return library.thunk(
            sgd(library, mlp_loss(library)), mlp(sizes), normal(batch, sizes[0]), one_hot(batch, sizes[-1])
        )

    return make


def adam_step(sizes: list[int], batch: int) -> Any:
    def make(library: Any) -> Any:
        if not library.functional:
            return None
        params = mlp(sizes)
        zeros = [(np.zeros_like(w), np.zeros_like(b)) for w, b in params]
        # Squares that are not 0, so that the first update is not a sign, which rounding decides where a gradient is 0.
        squares = [(np.full_like(w, 1e-4), np.full_like(b, 1e-4)) for w, b in params]
        data = normal(batch, sizes[0]), one_hot(batch, sizes[-1])
        return library.thunk(adam(library, mlp_loss(library)), params, zeros, squares, np.array(0.3, np.float32), *data)

    return make


def scanned(library: Any) -> Any:
    if not library.functional or library.compiles_slowly:
        return None
    one = sgd(library, mlp_loss(library))
    arguments = mlp([64, 32, 10]), normal(100, 8, 64), np.stack([one_hot(8, 10, seed=i) for i in range(100)])

    def steps(params: Any, xs: Any, ys: Any) -> Any:
        if hasattr(library, "lax"):
            return library.lax.scan(lambda p, batch: (one(p, *batch), None), params, (xs, ys))[0]
        for x, y in zip(xs, ys, strict=True):
            params = one(params, x, y)
        return params

    return library.thunk(steps, *arguments)


def flops(sizes: list[int], batch: int) -> float:
    """Of the products: forwards, and backwards with respect to weights and, but for the first layer, inputs."""
    layers = [2 * a * b * batch for a, b in zip(sizes, sizes[1:], strict=False)]
    return 3 * sum(layers) - layers[0]


SMALL, LARGE = [64, 32, 10], [784, 256, 10]

WORKLOADS = [
    Workload("SGD step, MLP 64-32-10, batch 1", step(SMALL, 1), (AtMost(2.5, jax=17, torch=147),)),
    Workload("SGD step, MLP 64-32-10, batch 8", step(SMALL, 8), (AtMost(5, jax=32, torch=147),), flops=flops(SMALL, 8)),
    Workload(
        "SGD step, MLP 64-32-10, batch 32", step(SMALL, 32), (AtMost(12, jax=44, torch=147),), flops=flops(SMALL, 32)
    ),
    Workload("SGD step, MLP 784-256-10, batch 32", step(LARGE, 32), (TimesBest(0.65),), flops=flops(LARGE, 32)),
    Workload("SGD step, MLP 784-256-10, batch 128", step(LARGE, 128), (TimesBest(0.65),), flops=flops(LARGE, 128)),
    Workload(
        "Adam step, MLP 784-256-10, batch 128", adam_step(LARGE, 128), (TimesBest(0.65),), flops=flops(LARGE, 128)
    ),
    Workload("100 SGD steps in one scan, MLP 64-32-10, batch 8", scanned, (AtMost(300, jax=808),)),
]
