"""Inputs: the same numbers for every library."""

from __future__ import annotations

from typing import Any

import numpy as np


def normal(*shape: int, seed: int = 0, scale: float = 1.0, dtype: Any = np.float32) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def one_hot(count: int, classes: int, seed: int = 1) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[np.random.default_rng(seed).integers(0, classes, count)]


def mlp(sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (normal(a, b, seed=i, scale=a**-0.5), np.zeros(b, np.float32))
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]


def mlp_loss(library: Any) -> Any:
    """Cross entropy of an MLP with tanh."""
    xp, nn = library.xp, library.nn

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = xp.tanh(x @ w + b)
        w, b = params[-1]
        scores = x @ w + b
        return xp.mean(nn.logsumexp(scores, axis=-1) - xp.sum(scores * y, axis=-1))

    return loss


def sgd(library: Any, loss: Any, rate: float = 0.1) -> Any:
    """One step: parameters and batch to new parameters."""

    def step(params: Any, *batch: Any) -> Any:
        return library.tree_map(lambda p, g: p - rate * g, params, library.grad(loss)(params, *batch))

    return step


def adam(library: Any, loss: Any, rate: float = 1e-3) -> Any:
    """One step of Adam: parameters, both moments, step number and batch to new parameters and moments."""
    tree_map, xp = library.tree_map, library.xp

    def step(params: Any, first: Any, second: Any, correction: Any, *batch: Any) -> Any:
        gradients = library.grad(loss)(params, *batch)
        first = tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        params = tree_map(lambda p, m, v: p - rate * correction * m / (xp.sqrt(v) + 1e-8), params, first, second)
        return params, first, second

    return step
