"""Convolutions: value and gradient, and the gradients of each example of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from judge import TimesBest, Workload

from workloads.data import normal, one_hot


def convolve(library: Any, x: Any, w: Any) -> Any:
    """3x3, same size, channels first."""
    if library.name.startswith("torch"):
        return library.torch.nn.functional.conv2d(x, w, padding=1)
    return library.lax.conv_general_dilated(x, w, (1, 1), "SAME")


def pool(library: Any, x: Any) -> Any:
    """Largest of 2x2."""
    if library.name.startswith("torch"):
        return library.torch.nn.functional.max_pool2d(x, 2)
    return library.lax.reduce_window(x, -np.inf, library.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def conv2d(library: Any) -> Any:
    if not library.functional:
        return None
    loss = lambda x, w: library.xp.mean(convolve(library, x, w) ** 2)  # noqa: E731
    return library.thunk(library.value_and_grad(loss, (0, 1)), normal(32, 3, 32, 32), normal(16, 3, 3, 3, seed=1))


def cnn_parameters() -> dict[str, np.ndarray]:
    return {
        "conv1": normal(16, 1, 3, 3, scale=1 / 3),
        "conv2": normal(32, 16, 3, 3, seed=1, scale=1 / 12),
        "dense": normal(32 * 7 * 7, 10, seed=2, scale=1 / 40),
    }


def cnn_loss(library: Any) -> Any:
    xp, nn = library.xp, library.nn

    def loss(p: Any, x: Any, y: Any) -> Any:
        x = pool(library, nn.relu(convolve(library, x[None], p["conv1"])))
        x = pool(library, nn.relu(convolve(library, x, p["conv2"])))
        scores = xp.reshape(x, (-1,)) @ p["dense"]
        return nn.logsumexp(scores, axis=-1) - xp.sum(scores * y)

    return loss


def per_example(library: Any) -> Any:
    if not library.functional or library.name == "torch":
        return None
    gradients = library.vmap(library.grad(cnn_loss(library)), (None, 0, 0))
    return library.thunk(gradients, cnn_parameters(), normal(64, 1, 28, 28), one_hot(64, 10))


WORKLOADS = [
    Workload("conv2d 32×3×32×32, value and gradient", conv2d, (TimesBest(1.0),), flops=3 * 2 * 32 * 16 * 27 * 32 * 32),
    Workload(
        "gradients of a CNN for each of 64 examples", per_example, (TimesBest(1.0),),
        flops=64 * (2 * 2 * 16 * 9 * 28 * 28 + 3 * 2 * 32 * 16 * 9 * 14 * 14 + 3 * 2 * 32 * 49 * 10),
    ),
]  # fmt: skip
