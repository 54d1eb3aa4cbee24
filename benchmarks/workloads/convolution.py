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


def layer(
    batch: int, inputs: int, size: int, outputs: int, window: int, stride: int = 1, groups: int = 1, last: bool = False
) -> Any:
    """Value and gradient by input and filters of one layer; with `last`, channels are the last axis."""

    def make(library: Any) -> Any:
        if not library.functional:
            return None
        x = normal(batch, inputs, size, size)
        w = normal(outputs, inputs // groups, window, window, seed=1, scale=(inputs * window**2) ** -0.5)
        if library.name.startswith("torch"):
            # Torch keeps the order of axes, and lays them out as they are wanted.
            torch, apply = library.torch, library.torch.nn.functional.conv2d
            loss = lambda x, w: (apply(x, w, stride=stride, padding=window // 2, groups=groups) ** 2).mean()  # noqa: E731
            layout = torch.channels_last if last else torch.contiguous_format
            arguments = [torch.from_numpy(each).to(memory_format=layout) for each in (x, w)]
            run = library.jit(library.value_and_grad(loss, (0, 1)))

            def shown() -> Any:
                value, (by_x, by_w) = run(*arguments)
                return value, (by_x.permute(0, 2, 3, 1), by_w.permute(2, 3, 1, 0)) if last else (by_x, by_w)

            return shown
        if last:
            x, w = (np.ascontiguousarray(each) for each in (x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)))
        numbers = ("NHWC", "HWIO", "NHWC") if last else ("NCHW", "OIHW", "NCHW")
        pads = [(window // 2, window // 2)] * 2
        convolution = library.lax.conv_general_dilated
        loss = lambda x, w: library.xp.mean(  # noqa: E731
            convolution(x, w, (stride, stride), pads, dimension_numbers=numbers, feature_group_count=groups) ** 2
        )
        return library.thunk(library.value_and_grad(loss, (0, 1)), x, w)

    return make


def layer_workload(name: str, *arguments: Any, **options: Any) -> Workload:
    batch, inputs, size, outputs, window, stride, groups = (*arguments, *(1, 1)[len(arguments) - 5 :])
    each = window**2 * inputs // groups * outputs * (size // stride) ** 2
    return Workload(
        name, layer(*arguments, **options), (TimesBest(1.0),), "ms", flops=3 * 2 * batch * each, compiled_peer=False
    )


def pooling(library: Any) -> Any:
    if not library.functional:
        return None
    loss = lambda x: library.xp.mean(pool(library, x) ** 2)  # noqa: E731
    return library.thunk(library.value_and_grad(loss), normal(16, 32, 64, 64))


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
    layer_workload("conv2d 16×64×32×32 to 64, value and gradient", 16, 64, 32, 64, 3),
    layer_workload("conv2d 16×64×64×64 to 128, stride 2, channels last, value and gradient", 16, 64, 64, 128, 3, 2, last=True),
    layer_workload("conv2d 8×3×128×128 to 32, 7×7, stride 2, value and gradient", 8, 3, 128, 32, 7, 2),
    layer_workload("depthwise conv2d 8×64×32×32, value and gradient", 8, 64, 32, 64, 3, 1, 64),
    Workload("largest of 2×2, 16×32×64×64, value and gradient", pooling, (TimesBest(1.0),), "ms", bytes=4 * 3 * 16 * 32 * 64**2),
    Workload(
        "gradients of a CNN for each of 64 examples", per_example, (TimesBest(1.0),),
        flops=64 * (2 * 2 * 16 * 9 * 28 * 28 + 3 * 2 * 32 * 16 * 9 * 14 * 14 + 3 * 2 * 32 * 49 * 10),
    ),
]  # fmt: skip
