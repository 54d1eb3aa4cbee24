"""Programs with per-example gradients, and quantities of one vector an example: what the tests of `transforms/contract` share."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np


@contextlib.contextmanager
def products(order: str) -> Iterator[None]:
    before = ct.config.read("products")
    ct.config.update("products", order)
    try:
        yield
    finally:
        ct.config.update("products", before)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) / np.sqrt(max(shape[0], 1))


Model = tuple[Callable[..., Any], Any, np.ndarray, np.ndarray]


def cross_entropy(logits: Any, label: Any) -> Any:
    one_hot = (label == cnp.arange(logits.shape[-1])).astype(logits.dtype)
    return ct.nn.logsumexp(logits) - cnp.sum(logits * one_hot)


def mlp(b: int = 7) -> Model:
    rng = np.random.default_rng(0)
    params = [(normal(rng, m, n), np.zeros(n)) for m, n in [(6, 5), (5, 5), (5, 4)]]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, c in params[:-1]:
            x = cnp.tanh(x @ w + c)
        w, c = params[-1]
        return cross_entropy(x @ w + c, y)

    return loss, params, rng.normal(size=(b, 6)), rng.integers(0, 4, b).astype(np.int32)


def tied(b: int = 5) -> Model:
    rng = np.random.default_rng(1)

    def loss(w: Any, x: Any, y: Any) -> Any:
        h = cnp.tanh(cnp.tanh(x @ w) @ w)
        return cnp.sum((h @ w.T - y) ** 2)

    return loss, normal(rng, 6, 6), rng.normal(size=(b, 6)), rng.normal(size=(b, 6))


def unrolled(b: int = 3, steps: int = 5, d: int = 6) -> Model:
    rng = np.random.default_rng(2)
    params = {"w": normal(rng, d, d), "u": normal(rng, 4, d)}

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = cnp.zeros(d)
        for t in range(steps):
            h = cnp.tanh(h @ p["w"] + x[t] @ p["u"])
        return cnp.sum((h - y) ** 2)

    return loss, params, rng.normal(size=(b, steps, 4)), rng.normal(size=(b, d))


def lstm(b: int = 3, steps: int = 4, d: int = 5, h: int = 6) -> Model:
    rng = np.random.default_rng(3)
    params = {"wx": normal(rng, d, 4 * h), "wh": normal(rng, h, 4 * h), "b": np.zeros(4 * h), "wo": normal(rng, h, 3)}

    def loss(p: Any, x: Any, y: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            hidden, cell = state
            z = x @ p["wx"] + hidden @ p["wh"] + p["b"]
            i, f, g, o = (z[k * h : (k + 1) * h] for k in range(4))
            cell = ct.nn.sigmoid(f) * cell + ct.nn.sigmoid(i) * cnp.tanh(g)
            return (ct.nn.sigmoid(o) * cnp.tanh(cell), cell), None

        zero = cnp.zeros(h, x.dtype)
        (hidden, _), _ = ct.lax.scan(step, (zero, zero), x)
        return cross_entropy(hidden @ p["wo"], y)

    return loss, params, rng.normal(size=(b, steps, d)), rng.integers(0, 3, b).astype(np.int32)


def layers(b: int = 3, count: int = 4, d: int = 5) -> Model:
    rng = np.random.default_rng(4)

    def loss(w: Any, x: Any, y: Any) -> Any:
        h, _ = ct.lax.scan(lambda h, w: (cnp.tanh(h @ w), None), x, w)
        return cnp.sum((h - y) ** 2)

    return loss, rng.normal(size=(count, d, d)) / 2, rng.normal(size=(b, d)), rng.normal(size=(b, d))


def convolution(b: int = 3, stride: int = 1, dilation: int = 1, groups: int = 1) -> Model:
    rng = np.random.default_rng(5)
    params = [normal(rng, 4, 2, 3, 3), normal(rng, 6, 4 // groups, 3, 3), normal(rng, 6, 3)]

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = x[None]
        for k, w in enumerate(p[:2]):
            h = ct.nn.relu(
                ct.lax.conv_general_dilated(
                    h,
                    w,
                    (stride, stride),
                    "SAME",
                    rhs_dilation=(dilation, dilation),
                    feature_group_count=groups if k else 1,
                )
            )
        return cross_entropy(cnp.mean(h[0], axis=(1, 2)) @ p[2], y)

    return loss, params, rng.normal(size=(b, 2, 8, 8)), rng.integers(0, 3, b).astype(np.int32)


def embedding(b: int = 4, words: int = 9, d: int = 3, steps: int = 5) -> Model:
    rng = np.random.default_rng(6)
    params = {"e": normal(rng, words, d), "w": normal(rng, d, 4)}

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cross_entropy(cnp.sum(cnp.tanh(p["e"][x] @ p["w"]), axis=0), y)

    x = rng.integers(0, words, (b, steps)).astype(np.int32)
    x[0] = 2  # one word throughout
    x[1, 2] = -1
    return loss, params, x, rng.integers(0, 4, b).astype(np.int32)


def transformer(b: int = 3, steps: int = 5, d: int = 8, words: int = 11, heads: int = 2) -> Model:
    rng = np.random.default_rng(7)
    params = {
        "emb": 0.3 * rng.normal(size=(words, d)), "qkv": normal(rng, d, 3 * d), "o": normal(rng, d, d), "w1": normal(rng, d, 2 * d),
        "c1": np.zeros(2 * d), "w2": normal(rng, 2 * d, d), "g": np.ones(d),
    }  # fmt: skip

    def norm(x: Any, g: Any) -> Any:
        m = cnp.mean(x, -1, keepdims=True)
        return (x - m) / cnp.sqrt(cnp.mean((x - m) ** 2, -1, keepdims=True) + 1e-5) * g

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = p["emb"][x]
        q, k, v = (
            cnp.reshape((norm(h, p["g"]) @ p["qkv"])[:, i * d : (i + 1) * d], (steps, heads, d // heads))
            for i in range(3)
        )
        s = ct.nn.softmax(
            cnp.where(cnp.tril(cnp.ones((steps, steps), bool)), cnp.einsum("qhc,khc->hqk", q, k), -1e9), axis=-1
        )
        h = h + cnp.reshape(cnp.einsum("hqk,khc->qhc", s, v), (steps, d)) @ p["o"]
        h = h + ct.nn.gelu(norm(h, p["g"]) @ p["w1"] + p["c1"]) @ p["w2"]
        logits = h @ p["emb"].T
        return cnp.mean(ct.nn.logsumexp(logits, axis=-1) - cnp.take_along_axis(logits, y[:, None], axis=-1)[:, 0])

    return (
        loss,
        params,
        rng.integers(0, words, (b, steps)).astype(np.int32),
        rng.integers(0, words, (b, steps)).astype(np.int32),
    )


def checkpointed() -> Model:
    loss, params, x, y = lstm()
    return ct.checkpoint(loss), params, x, y


def ragged(b: int = 4, steps: int = 6, d: int = 16, h: int = 20) -> Model:
    rng = np.random.default_rng(8)
    params = {"wx": normal(rng, d, h), "wh": normal(rng, h, h)}

    def loss(p: Any, x: Any, n: Any) -> Any:
        def of_sequence(x: Any) -> Any:
            state, _ = ct.lax.scan(lambda s, x: (cnp.tanh(x @ p["wx"] + s @ p["wh"]), None), cnp.zeros(h, x.dtype), x)
            return cnp.sum(state**2)

        return ct.mask(of_sequence)(ct.Ragged(x, {0: n}))

    lengths = np.array([6, 0, 3, 1], np.int32)
    x = rng.normal(size=(b, steps, d))
    for example, length in zip(x, lengths, strict=True):
        example[length:] = np.nan
    return loss, params, x, lengths


MODELS = {
    "mlp": mlp, "mlp of one example": lambda: mlp(1), "tied": tied, "unrolled": unrolled, "one step": lambda: unrolled(steps=1),
    "lstm": lstm, "scan over layers": layers, "convolution": convolution, "strided": lambda: convolution(stride=2),
    "dilated": lambda: convolution(dilation=2), "grouped": lambda: convolution(groups=2), "embedding": embedding,
    "transformer": transformer, "checkpointed": checkpointed, "ragged": ragged,
}  # fmt: skip


def gradients(loss: Any, p: Any, x: Any, y: Any) -> Any:
    return ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(p, x, y)


def rows(tree: Any) -> list[Any]:
    return [cnp.reshape(a, (a.shape[0], math.prod(a.shape[1:]))) for a in ct.tree.leaves(tree)]


def squares(g: Any) -> Any:
    return sum(cnp.sum(a * a, axis=tuple(range(1, a.ndim))) for a in ct.tree.leaves(g))


def column(x: Any, like: Any) -> Any:
    return cnp.reshape(x, (-1,) + (1,) * (like.ndim - 1))


def vectors(g: Any) -> Any:
    return ct.vmap(lambda one: ct.flatten_util.ravel_pytree(one)[0])(g)


def lengths(v: Any) -> Any:
    return cnp.linalg.norm(v, axis=1)


# Of vectors that are put together from the gradients of all parameters.
OF_VECTORS: dict[str, Callable[[Any], Any]] = {
    "clipped": lambda v: cnp.minimum(1.0, 0.1 / lengths(v)) @ v,
    "clipped by einsum": lambda v: cnp.einsum("i,ij->j", cnp.minimum(1.0, 0.1 / lengths(v)), v),
    "clipped by division": lambda v: cnp.sum(v / cnp.maximum(lengths(v) / 0.1, 1)[:, None], axis=0),
    "normalized": lambda v: cnp.mean(v / (1e-6 + cnp.linalg.norm(v, axis=1, keepdims=True)), axis=0),
    "chosen": lambda v: cnp.sum(cnp.where((cnp.arange(v.shape[0]) % 2 == 0)[:, None], v, 0.0), axis=0),
    "second moment": lambda v: cnp.mean(v * v, axis=0),
    "kernel": lambda v: v @ v.T,
    "weighted by parameter": lambda v: cnp.sum(v * cnp.arange(v.shape[1]), axis=1),
    "along a direction": lambda v: v @ cnp.linspace(-1.0, 1.0, v.shape[1]),
    "along the mean": lambda v: cnp.einsum("ij,j->i", v, cnp.mean(v, axis=0)),
    "norms by vdot": lambda v: ct.vmap(cnp.vdot)(v, v),
}
