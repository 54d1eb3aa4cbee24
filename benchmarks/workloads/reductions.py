"""Reductions, normalisations and their gradients on (4096, 1024); a transpose."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import OfLimit, TimesBest, Workload

from workloads.data import normal

ROWS, COLUMNS = 4096, 1024
BYTES = 4 * ROWS * COLUMNS


def over(name: str, **options: Any) -> Any:
    return lambda library: library.thunk(lambda x: getattr(library.xp, name)(x, **options), normal(ROWS, COLUMNS))


def softmax(library: Any) -> Any:
    if library.name == "numpy":

        def by_hand(x: Any) -> Any:
            e = np.exp(x - np.max(x, axis=-1, keepdims=True))
            return e / np.sum(e, axis=-1, keepdims=True)

        return library.thunk(by_hand, normal(ROWS, COLUMNS))
    return library.thunk(lambda x: library.nn.softmax(x, axis=-1), normal(ROWS, COLUMNS))


def softmax_gradient(library: Any) -> Any:
    if not library.functional:
        return None
    gradient = library.grad(lambda x, w: library.xp.sum(library.nn.softmax(x, axis=-1) * w))
    return library.thunk(gradient, normal(ROWS, COLUMNS), normal(ROWS, COLUMNS, seed=1))


def layernorm(library: Any) -> Any:
    if not library.functional:
        return None
    xp = library.xp

    def loss(x: Any, gain: Any, bias: Any, w: Any) -> Any:
        if library.name.startswith("torch"):
            return xp.sum(library.torch.nn.functional.layer_norm(x, (COLUMNS,), gain, bias) * w)
        centered = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.mean(centered * centered, axis=-1, keepdims=True)
        return xp.sum((centered * (variance + 1e-5) ** -0.5 * gain + bias) * w)

    ones, zeros = np.ones(COLUMNS, np.float32), np.zeros(COLUMNS, np.float32)
    return library.thunk(
        library.value_and_grad(loss, (0, 1, 2)), normal(ROWS, COLUMNS), ones, zeros, normal(ROWS, COLUMNS, seed=1)
    )


def logsumexp(library: Any) -> Any:
    if library.name == "numpy":
        return None
    return library.thunk(lambda x: library.nn.logsumexp(x, axis=-1), normal(ROWS, COLUMNS))


def logsumexp_gradient(library: Any) -> Any:
    if not library.functional:
        return None
    gradient = library.grad(lambda x: library.xp.sum(library.nn.logsumexp(x, axis=-1)))
    return library.thunk(gradient, normal(ROWS, COLUMNS))


def transpose_add(library: Any) -> Any:
    return library.thunk(
        lambda x, y: library.xp.transpose(x, (1, 0)) + y, normal(3000, 3000), normal(3000, 3000, seed=1)
    )


WORKLOADS = [
    Workload("softmax (4096, 1024)", softmax, (OfLimit(0.5), TimesBest(1.0)), "ms", bytes=2 * BYTES),
    Workload("gradient of softmax (4096, 1024)", softmax_gradient, (TimesBest(1 / 1.5),), "ms", bytes=3 * BYTES),
    Workload(
        "layernorm (4096, 1024), value and gradient",
        layernorm,
        (TimesBest(1 / 1.5),),
        "ms",
        bytes=3 * BYTES,
        tolerance=5e-3,
    ),
    Workload("logsumexp (4096, 1024)", logsumexp, (OfLimit(0.5), TimesBest(1.0)), "ms", bytes=BYTES),
    Workload("gradient of logsumexp (4096, 1024)", logsumexp_gradient, (TimesBest(1 / 1.5),), "ms", bytes=2 * BYTES),
    Workload("sum over axis 0 (4096, 1024)", over("sum", axis=0), (OfLimit(0.8), TimesBest(1.0)), "ms", bytes=BYTES),
    Workload("sum over axis 1 (4096, 1024)", over("sum", axis=1), (OfLimit(0.8), TimesBest(1.0)), "ms", bytes=BYTES),
    Workload("transpose and add (3000²)", transpose_add, (OfLimit(0.5), TimesBest(1.0)), "ms", bytes=3 * 4 * 3000**2),
]
