"""Quantities of single examples' gradients, each written as `vmap(grad)` and a reduction; and next to the plain gradient of the mean loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from judge import OURS, AtMost, TimesBest, Workload, measure, on_one_thread

from workloads import per_example_peers as peers
from workloads.calls import nothing
from workloads.convolution import cnn_loss, cnn_parameters
from workloads.data import mlp, mlp_loss, normal, one_hot

Model = tuple[Any, Any, np.ndarray, np.ndarray]


def dense(sizes: list[int], batch: int) -> Callable[[Any], Model]:
    return lambda library: (mlp_loss(library), mlp(sizes), normal(batch, sizes[0]), one_hot(batch, sizes[-1]))


def convolutional(library: Any) -> Model:
    return cnn_loss(library), cnn_parameters(), normal(64, 1, 28, 28), one_hot(64, 10)


TIME, INPUT, HIDDEN, ROWS = 30, 64, 128, 64


def last_of_scan(library: Any, cell: Any, start: Any, x: Any) -> Any:
    """The last carry. Torch has a loop of Python for it."""
    if hasattr(library, "lax"):
        return library.lax.scan(lambda carry, x: (cell(carry, x), None), start, x)[0]
    for step in x:
        start = cell(start, step)
    return start


def recurrent(library: Any) -> Model:
    xp, nn = library.xp, library.nn

    def loss(p: Any, x: Any, y: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = xp.split(x @ p["w"] + h @ p["u"] + p["b"], 4)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * xp.tanh(g)
            return nn.sigmoid(o) * xp.tanh(c), c

        start = xp.zeros((HIDDEN,), dtype=xp.float32)
        h = last_of_scan(library, cell, (start, start), x)[0]
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
    """In the order of keys."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
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
        if not library.functional or library.name == "torch":
            return None
        return library.thunk(*quantity(library, model, of))

    return make


def over_plain(model: Callable[[Any], Model], of: Any) -> Any:
    """Processor time over that of the plain gradient, both called in turn."""

    def run(libraries: list[Any]) -> dict[str, float]:
        ours = next(library for library in libraries if library.name == OURS)
        thunks = {
            "quantity": ours.thunk(*quantity(ours, model, of)),
            "plain": ours.thunk(*plain(ours, model)),
        }
        with on_one_thread([ours]):
            times = measure(thunks, SECONDS, processor_time=True)
        return {OURS: times["quantity"] / times["plain"], f"{OURS}.plain, ms": times["plain"] * 1e3}

    return run


def temporaries(model: Callable[[Any], Model], of: Any) -> Any:
    """Bytes that the compiled program needs besides arguments and results, over those of the plain gradient."""

    def run(libraries: list[Any]) -> dict[str, float]:
        ours = next(library for library in libraries if library.name == OURS)
        found = []
        for function, *arguments in (quantity(ours, model, of), plain(ours, model)):
            found.append(ours.module.explain(function)(*ours.arrays(arguments)).scratch_bytes / 1e6)
        return {OURS: found[0] / found[1], f"{OURS}.its own, MB": found[0], f"{OURS}.plain, MB": found[1]}

    return run


# ------------------------------------------------------------------------------------------- the tables


class Case(NamedTuple):
    """A model, the same as a module of torch, and in JAX with an array behind each product."""

    make: Callable[[Any], Model]
    module: Callable[[Any], Any]
    by_hand: str
    # Opacus has no ghost norms of weights that are used at several steps, or in two layers.
    ghost: bool
    # Operations of the Gram matrix over those of the plain gradient.
    kernel: float
    quantities: tuple[str, ...] = ("clipped sum", "norms", "second moment", "kernel")


CASES: dict[str, Case] = {
    "MLP 784-256-10, b=256": Case(dense([784, 256, 10], 256), peers.perceptron, "perceptron", True, 1.5),
    # Peers store gradients of 3.8 GB, which takes them seconds.
    "MLP 784-1024-1024-10, b=512": Case(
        dense([784, 1024, 1024, 10], 512), peers.perceptron, "perceptron", True, 1.35, ("clipped sum", "norms")
    ),
    "CNN, b=64": Case(convolutional, peers.convolutional, "convolutional", True, 1.1),
    "LSTM T=30 h=128, b=64": Case(recurrent, peers.recurrent, "recurrent", False, 1.8),
    "transformer d=128 T=64 tied, b=32": Case(transformer, peers.transformer, "transformer", False, 1.16),
}
QUANTITIES: dict[str, tuple[Any, float]] = {
    "clipped sum": (clipped, 1.25),
    "norms": (norms, 1.0),
    "second moment": (second_moment, 1.25),
    "kernel": (kernel, 1.3),  # times that of its operations
}
SECONDS = 1.0
# Those that take any loss and any quantity, as ours does. The others are programs for these quantities.
GENERAL = ("jax", "torch.func")
TARGETS = (TimesBest(1.0), TimesBest(0.2, GENERAL))


def jax_by_hand(name: str, quantity: str, *arguments: Any) -> Callable[[], Any]:
    # Imports JAX, which need not be there.
    from workloads import per_example_ghost

    heads = (HEADS,) if name == "transformer" else ()
    return per_example_ghost.ghost(getattr(per_example_ghost, name)(*heads), quantity)(*arguments)


def others(case: Case, quantity: str) -> dict[str, Callable[[], Any]]:
    """Programs of other hands."""

    def late(make: Callable[..., Any]) -> Callable[[], Any]:
        no_library: Any = SimpleNamespace(xp=np, nn=None, array=np.asarray)  # for the arguments, not the loss
        return lambda: make(*case.make(no_library)[1:])

    makers = {"torch.opacus": peers.opacus(case.module, quantity, ghost=False)}
    if quantity in ("clipped sum", "norms"):
        makers["jax.ghost"] = partial(jax_by_hand, case.by_hand, quantity)
        if case.ghost:
            makers["torch.opacus-ghost"] = peers.opacus(case.module, quantity, ghost=True)
    return {name: late(make) for name, make in makers.items()}


def against_peers(case: Case, model: str, name: str) -> Workload:
    return Workload(
        f"{name} of {model}", of_model(case.make, QUANTITIES[name][0]), TARGETS, "ms",
        tolerance=5e-3, compiled_peer=False, others=others(case, name),
    )  # fmt: skip


def over_plain_of(case: Case, model: str, name: str) -> Workload:
    of, most = QUANTITIES[name]
    allowed = most * case.kernel if name == "kernel" else most
    return Workload(
        f"{name} over plain gradient, {model}", nothing, (AtMost(allowed),), "x", measure=over_plain(case.make, of)
    )


def temporaries_of(case: Case, model: str, name: str) -> Workload:
    of = QUANTITIES[name][0]
    return Workload(f"temporaries of {name}, {model}", nothing, (AtMost(1.2),), "x", measure=temporaries(case.make, of))


def each(make: Callable[[Case, str, str], Workload], all_quantities: bool = True) -> list[Workload]:
    return [
        make(case, model, name)
        for model, case in CASES.items()
        for name in (QUANTITIES if all_quantities else case.quantities)
    ]


WORKLOADS = each(against_peers, all_quantities=False)
OVER_PLAIN = each(over_plain_of)
TEMPORARIES = each(temporaries_of)
