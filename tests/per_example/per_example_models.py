"""Losses of one example, the plain programs of their gradients, and comparisons: what the tests of ct.per_example share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

Model = tuple[Callable[..., Any], Any, tuple[Any, ...]]
BATCH = 5


def normal(rng: Any, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) / np.sqrt(max(1, np.prod(shape[:-1])))


def cross_entropy(logits: Any, y: Any) -> Any:
    return ct.nn.logsumexp(logits) - logits[y]


def mlp(rng: Any, b: int) -> Model:
    params = [(normal(rng, 4, 6), normal(rng, 6)), (normal(rng, 6, 3), normal(rng, 3))]

    def loss(params: Any, x: Any, y: Any) -> Any:
        (w, c), (v, d) = params
        return cross_entropy(cnp.tanh(x @ w + c) @ v + d, y)

    return loss, params, (rng.normal(size=(b, 4)), rng.integers(0, 3, b))


def conv(rng: Any, b: int) -> Model:
    params = {"filters": normal(rng, 3, 2, 3, 3), "out": normal(rng, 3, 4), "scale": np.float64(1.5)}

    def loss(params: Any, image: Any, y: Any) -> Any:
        h = ct.lax.conv_general_dilated(image[None], params["filters"], (2, 2), "SAME")[0]
        return cross_entropy(params["scale"] * cnp.mean(ct.nn.gelu(h), axis=(1, 2)) @ params["out"], y)

    return loss, params, (rng.normal(size=(b, 2, 6, 6)), rng.integers(0, 4, b))


def rnn(rng: Any, b: int) -> Model:
    params = {"x": normal(rng, 2, 5), "h": normal(rng, 5, 5), "out": normal(rng, 5)}

    def loss(params: Any, xs: Any, y: Any) -> Any:
        step = lambda h, x: (cnp.tanh(x @ params["x"] + h @ params["h"]), None)  # noqa: E731
        h, _ = ct.lax.scan(step, cnp.zeros(5, "float64"), xs)
        return (h @ params["out"] - y) ** 2

    return loss, params, (rng.normal(size=(b, 7, 2)), rng.normal(size=b))


def embedding(rng: Any, b: int) -> Model:
    params = {"table": normal(rng, 6, 3), "w": normal(rng, 3, 6)}

    def loss(params: Any, words: Any, y: Any) -> Any:
        h = cnp.tanh(params["table"][words].sum(0))
        return cross_entropy(h @ params["w"] + params["table"] @ h, y)  # tied

    return loss, params, (rng.integers(0, 6, (b, 4)), rng.integers(0, 6, b))


MODELS = {"mlp": mlp, "conv": conv, "rnn": rnn, "embedding": embedding}


def made(name: str, b: int = BATCH, seed: int = 0) -> Model:
    return MODELS[name](np.random.default_rng(seed), b)


def plain(loss: Any, params: Any, batch: Any) -> Any:
    """The gradient of each example, in NumPy."""
    gradient = ct.vmap(ct.grad(loss), in_axes=(None, *(0 for _ in batch)))(params, *batch)
    return ct.tree.map(np.asarray, gradient)


def flat(gradient: Any) -> np.ndarray:
    """[b, number of parameters]."""
    leaves = ct.tree.leaves(gradient)
    return np.concatenate([g.reshape(len(g), int(np.prod(g.shape[1:]))) for g in leaves], axis=1)


def vector_of(tree: Any) -> np.ndarray:
    return np.concatenate([np.asarray(x).ravel() for x in ct.tree.leaves(tree)])


def direction(params: Any, seed: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    return ct.tree.map(lambda p: rng.normal(size=np.shape(p)), params)


def close(actual: Any, expected: Any) -> None:
    assert ct.tree.structure(actual) == ct.tree.structure(expected)
    for a, b in zip(ct.tree.leaves(actual), ct.tree.leaves(expected), strict=True):
        assert a.shape == np.shape(b)
        assert str(a.dtype) == "float64"
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def clip(gradient: Any, bound: float) -> Any:
    norms = np.linalg.norm(flat(gradient), axis=1)
    scale = bound / np.maximum(norms, bound)
    return ct.tree.map(lambda g: np.einsum("i,i...->...", scale, g), gradient)


# name -> (what is called with the loss and the chunk size, the plain reduction of the gradients)
