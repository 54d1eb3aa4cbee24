"""Quantities of single examples' gradients, each written as `vmap(grad)` and a reduction; and next to the plain gradient of the mean loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from judge import AtMost, TimesBest, Workload

from workloads.convolution import cnn_loss, cnn_parameters
from workloads.data import mlp, mlp_loss, normal, one_hot
from workloads.per_example_peers import convolutional as convolutional_module
from workloads.per_example_peers import jax_ghost, opacus, perceptron

Model = tuple[Any, Any, np.ndarray, np.ndarray]


def dense(sizes: list[int], batch: int) -> Callable[[Any], Model]:
    return lambda library: (mlp_loss(library), mlp(sizes), normal(batch, sizes[0]), one_hot(batch, sizes[-1]))


def convolutional(library: Any) -> Model:
    return cnn_loss(library), cnn_parameters(), normal(64, 1, 28, 28), one_hot(64, 10)


TIME, INPUT, HIDDEN, ROWS = 30, 64, 128, 64


def recurrent(library: Any) -> Model:
    xp, nn = library.xp, library.nn

    def loss(p: Any, x: Any, y: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = xp.split(x @ p["w"] + h @ p["u"] + p["b"], 4)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * xp.tanh(g)
            return (nn.sigmoid(o) * xp.tanh(c), c), None

        start = xp.zeros((HIDDEN,), np.float32)
        h = library.lax.scan(cell, (start, start), x)[0][0]
        scores = h @ p["head"]
        return nn.logsumexp(scores, axis=-1) - xp.sum(scores * y)

    shapes = {"w": (INPUT, 4 * HIDDEN), "u": (HIDDEN, 4 * HIDDEN), "head": (HIDDEN, 10)}
    weights = {name: normal(*shape, seed=i, scale=shape[0] ** -0.5) for i, (name, shape) in enumerate(shapes.items())}
    return loss, {**weights, "b": np.zeros(4 * HIDDEN, np.float32)}, normal(ROWS, TIME, INPUT), one_hot(ROWS, 10)


WIDTH, HEADS, LENGTH, VOCABULARY, SENTENCES = 128, 4, 64, 1000, 32


def transformer(library: Any) -> Model:
    """Two pre-norm blocks over an embedding that is the head as well."""
    xp, nn = library.xp, library.nn
    future = library.array(np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1))

    def norm(x: Any) -> Any:
        x = x - xp.mean(x, axis=-1, keepdims=True)
        return x * (xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) ** -0.5

    def loss(p: Any, tokens: Any, targets: Any) -> Any:
        x = p["embed"][tokens]
        for w in p["blocks"]:
            qkv = xp.reshape(norm(x) @ w["qkv"], (LENGTH, 3, HEADS, WIDTH // HEADS))
            q, k, v = (xp.swapaxes(qkv[:, i], 0, 1) for i in range(3))
            mixed = nn.softmax(q @ xp.swapaxes(k, -1, -2) * (WIDTH // HEADS) ** -0.5 + future, axis=-1) @ v
            x = x + xp.reshape(xp.swapaxes(mixed, 0, 1), (LENGTH, WIDTH)) @ w["out"]
            x = x + nn.gelu(norm(x) @ w["up"]) @ w["down"]
        scores = norm(x) @ p["embed"].T
        return xp.mean(nn.logsumexp(scores, axis=-1) - xp.sum(scores * targets, axis=-1))

    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    blocks = [
        {name: normal(*s, seed=10 * k + i, scale=s[0] ** -0.5) for i, (name, s) in enumerate(shapes.items())}
        for k in range(2)
    ]
    embedding = normal(VOCABULARY, WIDTH, seed=90, scale=0.05)
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (SENTENCES, LENGTH)).astype(np.int32)
    targets = one_hot(SENTENCES * LENGTH, VOCABULARY).reshape(SENTENCES, LENGTH, VOCABULARY)
    return loss, {"embed": embedding, "blocks": blocks}, tokens, targets


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    return [leaf for value in tree for leaf in leaves(value)] if isinstance(tree, (list, tuple)) else [tree]


def flat_rows(gradients: Any) -> list[Any]:
    return [g.reshape((g.shape[0], -1)) for g in leaves(gradients)]


def norms(library: Any, gradients: Any) -> Any:
    return sum(library.xp.sum(g * g, axis=1) for g in flat_rows(gradients)) ** 0.5


def clipped(library: Any, gradients: Any) -> Any:
    weights = 1 / (1 + norms(library, gradients))  # a clip without a kink, where libraries would differ
    return [weights @ g for g in flat_rows(gradients)]


def second_moment(library: Any, gradients: Any) -> Any:
    return [library.xp.sum(g * g, axis=0) for g in flat_rows(gradients)]


def kernel(library: Any, gradients: Any) -> Any:
    return sum(g @ g.T for g in flat_rows(gradients))


def quantity(library: Any, model: Callable[[Any], Model], of: Any) -> tuple[Any, ...]:
    loss, *arguments = model(library)
    gradients = library.vmap(library.grad(loss), (None, 0, 0))
    return (lambda p, x, y: of(library, gradients(p, x, y)), *arguments)


def plain(library: Any, model: Callable[[Any], Model]) -> tuple[Any, ...]:
    loss, *arguments = model(library)
    losses = library.vmap(loss, (None, 0, 0))
    return (library.grad(lambda p, x, y: library.xp.mean(losses(p, x, y))), *arguments)


def of_model(model: Callable[[Any], Model], of: Any) -> Any:
    def make(library: Any) -> Any:
        if not library.functional or library.name == "torch" or (model is recurrent and not hasattr(library, "lax")):
            return None
        return library.thunk(*quantity(library, model, of))

    return make


def over_plain(model: Callable[[Any], Model], of: Any) -> Any:
    """Processor time over that of the plain gradient, both called in turn."""

    def measure(libraries: list[Any]) -> dict[str, float]:
        times = {}
        for library in libraries:
            if library.name != "cotangent":
                continue
            thunks = [library.thunk(*quantity(library, model, of)), library.thunk(*plain(library, model))]
            best = [float("inf")] * 2
            end = time.perf_counter() + 3
            while time.perf_counter() < end or best[1] == float("inf"):
                for i, thunk in enumerate(thunks):
                    start = time.process_time()
                    library.wait(thunk())
                    best[i] = min(best[i], time.process_time() - start)
            times[library.name] = best[0] / best[1]
        return times

    return measure


def others(model: str, quantity: str) -> dict[str, Callable[[], Any]]:
    """Programs of other hands for a model, where they are sensible."""
    if model.startswith("MLP 784-256"):
        sizes, batch = [784, 256, 10], 256
        arguments: tuple[Any, ...] = (mlp(sizes), normal(batch, sizes[0]), one_hot(batch, sizes[-1]))
        makers = {"jax.ghost": jax_ghost(quantity)}
        module = perceptron
    elif model.startswith("CNN"):
        arguments = (cnn_parameters(), normal(64, 1, 28, 28), one_hot(64, 10))
        makers, module = {}, convolutional_module
    else:
        return {}
    makers["torch.opacus"] = opacus(module, quantity, ghost=False)
    makers["torch.opacus-ghost"] = opacus(module, quantity, ghost=True)
    return {name: partial(make, *arguments) for name, make in makers.items()}


def nothing(library: Any) -> None:
    return None


MODELS: dict[str, Callable[[Any], Model]] = {
    "MLP 784-256-10, b=256": dense([784, 256, 10], 256),
    "MLP 784-1024-1024-10, b=512": dense([784, 1024, 1024, 10], 512),
    "CNN, b=64": convolutional,
    "LSTM T=30 h=128, b=64": recurrent,
    "transformer d=128 T=64 tied, b=32": transformer,
}
QUANTITIES: dict[str, tuple[Any, float]] = {
    "clipped sum": (clipped, 1.25),
    "norms": (norms, 1.0),
    "second moment": (second_moment, 1.25),
}
# Of a Gram matrix the allowed ratio is 1.3 times that of the operations.
KERNELS = dict(zip(MODELS, (1.5, 1.35, 1.1, 1.8, 1.16), strict=True))

WORKLOADS = [
    Workload(
        f"{name} of {model}",
        of_model(make, of),
        (TimesBest(0.2),),
        "ms",
        tolerance=5e-3,
        compiled_peer=False,
        others=others(model, name),
    )
    for model, make in MODELS.items()
    for name, of in (("clipped sum", clipped), ("norms", norms))
    if "1024" not in model  # peers store 3.8 GB
]
WORKLOADS += [
    Workload(f"{name} over plain gradient, {model}", nothing, (AtMost(most),), "x", measure=over_plain(make, of))
    for model, make in MODELS.items()
    for name, (of, most) in {**QUANTITIES, "kernel": (kernel, 1.3 * KERNELS[model])}.items()
]
