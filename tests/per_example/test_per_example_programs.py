"""All quantities of `per_example` for losses of many kinds, next to the program that maps over gradients and stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products
from per_example_models import clip, close, cross_entropy, direction, flat, normal, plain, vector_of

PE = ct.per_example
Program = tuple[Callable[..., Any], Any, tuple[Any, ...]]
BATCH = 5


def dropout(rng: Any) -> Program:
    """With a key an example."""
    params = {"w": normal(rng, 4, 6), "v": normal(rng, 6)}

    def loss(params: Any, x: Any, key: Any) -> Any:
        h = cnp.tanh(x @ params["w"])
        return (cnp.where(ct.random.bernoulli(key, 0.5, h.shape), 2 * h, 0.0) @ params["v"]) ** 2

    return loss, params, (rng.normal(size=(BATCH, 4)), ct.random.split(ct.random.key(0), BATCH))


def adapter(rng: Any) -> Program:
    """Of low rank, beside a weight that is closed over."""
    w, params = normal(rng, 5, 5), {"a": normal(rng, 5, 2), "b": normal(rng, 2, 5)}

    def loss(params: Any, x: Any, y: Any) -> Any:
        return cnp.sum((ct.nn.relu(x @ (w + params["a"] @ params["b"])) - y) ** 2)

    return loss, params, (rng.normal(size=(BATCH, 3, 5)), rng.normal(size=(BATCH, 3, 5)))


def transformer(rng: Any) -> Program:
    """A block with layer norms over an embedding that is the head as well."""
    d, length, words = 8, 5, 7
    shapes = {"embed": (words, d), "qkv": (d, 3 * d), "out": (d, d), "up": (d, 2 * d), "down": (2 * d, d)}
    params = {name: normal(rng, *shape) for name, shape in shapes.items()} | {"scale": np.ones(d), "shift": np.zeros(d)}

    def layer_norm(params: Any, x: Any) -> Any:
        x = x - cnp.mean(x, axis=-1, keepdims=True)
        return x / cnp.sqrt(cnp.var(x, axis=-1, keepdims=True) + 1e-5) * params["scale"] + params["shift"]

    def loss(params: Any, tokens: Any, targets: Any) -> Any:
        x = params["embed"][tokens]
        parts = cnp.split((layer_norm(params, x) @ params["qkv"]).reshape(length, 2, -1), 3, axis=-1)
        scores = cnp.einsum("qhd,khd->hqk", parts[0], parts[1]) / 2
        weights = ct.nn.softmax(cnp.where(np.tril(np.ones((length, length), bool)), scores, -1e30), axis=-1)
        x = x + cnp.einsum("hqk,khd->qhd", weights, parts[2]).reshape(length, -1) @ params["out"]
        x = x + ct.nn.gelu(layer_norm(params, x) @ params["up"]) @ params["down"]
        logits = layer_norm(params, x) @ params["embed"].T
        return cnp.mean(ct.nn.logsumexp(logits, axis=-1) - cnp.take_along_axis(logits, targets[:, None], 1)[:, 0])

    return loss, params, (rng.integers(0, words, (BATCH, length)), rng.integers(0, words, (BATCH, length)))


def experts(rng: Any) -> Program:
    """Two of three, chosen by the example."""
    params = {"router": normal(rng, 4, 3), "experts": normal(rng, 3, 4, 4)}

    def loss(params: Any, x: Any) -> Any:
        shares, chosen = ct.lax.top_k(ct.nn.softmax(x @ params["router"]), 2)
        return cnp.sum(cnp.einsum("k,kij,i->j", shares, params["experts"][chosen], x) ** 2)

    return loss, params, (rng.normal(size=(BATCH, 4)),)


def branches(rng: Any) -> Program:
    """A branch, and a loop of as many steps as the example says; one array of the parameters is not used."""
    params = {"w": normal(rng, 3, 3), "v": normal(rng, 3), "unused": np.ones(2)}

    def loss(params: Any, x: Any, steps: Any) -> Any:
        body = lambda s: (s[0] + 1, cnp.tanh(s[1] @ params["w"]))  # noqa: E731
        h = ct.lax.while_loop(lambda s: s[0] < steps, body, (cnp.zeros((), "int64"), x))[1]
        return ct.lax.cond(h[0] > 0, lambda: cnp.sin(h @ params["v"]), lambda: cnp.sum(h**2))

    return loss, params, (rng.normal(size=(BATCH, 3)), rng.integers(0, 5, BATCH))


def equation(rng: Any) -> Program:
    """Of second derivatives by the input."""
    params = [normal(rng, 6), normal(rng, 6), normal(rng, 6)]

    def loss(params: Any, t: Any) -> Any:
        y = lambda t: cnp.tanh(t * params[0] + params[1]) @ params[2]  # noqa: E731
        return (ct.grad(ct.grad(y))(t) + y(t)) ** 2

    return loss, params, (rng.normal(size=BATCH),)


def normalised(rng: Any) -> Program:
    params = {"v": normal(rng, 4, 3), "scale": np.float64(1.5)}

    def loss(params: Any, x: Any, y: Any) -> Any:
        w = params["v"] / cnp.linalg.norm(params["v"], axis=0) * params["scale"]
        return cross_entropy(x @ w, y) + 0.01 * cnp.sum(params["v"] ** 2)

    return loss, params, (rng.normal(size=(BATCH, 4)), rng.integers(0, 3, BATCH))


PROGRAMS = {f.__name__: f for f in (dropout, adapter, transformer, experts, branches, equation, normalised)}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_quantities(name: str, chunk_size: int | None) -> None:
    loss, params, batch = PROGRAMS[name](np.random.default_rng(0))
    with products("off"):
        g = plain(loss, params, batch)
    rows, v = flat(g), direction(params)
    weights, products_with_v = np.arange(BATCH) - 1.5, rows @ vector_of(v)
    norms = np.linalg.norm(rows, axis=1)
    options = {"chunk_size": chunk_size}
    reduced = lambda f: ct.tree.map(f, g)  # noqa: E731
    close(PE.norms(loss, **options)(params, *batch), norms)
    close(PE.clipped_sum(loss, float(np.median(norms)), **options)(params, *batch), clip(g, float(np.median(norms))))
    weighted = lambda s: reduced(lambda leaf: np.einsum("i,i...->...", s, leaf))  # noqa: E731
    close(PE.weighted_sum(loss, **options)(weights, params, *batch), weighted(weights))
    close(PE.fisher_vector_product(loss, **options)(v, params, *batch), weighted(products_with_v / BATCH))
    close(PE.second_moment(loss, **options)(params, *batch), reduced(lambda leaf: (leaf**2).mean(0)))
    moments = PE.mean_and_variance(loss, **options)(params, *batch)
    close(moments, (reduced(lambda leaf: leaf.mean(0)), reduced(lambda leaf: leaf.var(0))))
    close(PE.dot(loss, **options)(v, params, *batch), products_with_v)
    close(PE.gradient_times_vector(loss, **options)(v, params, *batch), products_with_v)
    close(PE.kernel(loss, **options)(params, *batch), rows @ rows.T)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_norms(name: str) -> None:
    loss, params, batch = PROGRAMS[name](np.random.default_rng(0))

    def total(params: Any) -> Any:
        return cnp.sum(PE.norms(loss, chunk_size=2)(params, *batch))

    def stored(params: Any) -> Any:
        g = ct.vmap(ct.grad(loss), in_axes=(None, *(0 for _ in batch)))(params, *batch)
        return cnp.sum(cnp.sqrt(sum(cnp.sum(leaf.reshape(BATCH, -1) ** 2, axis=1) for leaf in ct.tree.leaves(g))))

    with products("off"):
        expected = ct.grad(stored)(params)
    close(ct.jit(ct.grad(total))(params), ct.tree.map(np.asarray, expected))
