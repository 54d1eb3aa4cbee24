"""Norms and clipped sums of examples written out by hand in JAX, for each of the models: ghost norms, then the gradient of the weighted loss.

A model is written for a whole batch, with an array of zeros added behind each product with weights: the gradient by these arrays is that by the
products' results. It is next to what the products have read (`Use`), and the square of an example's gradient is a function of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Thunk = Callable[[], Any]
# (params, shifts or None, x, y) -> the loss of each example, and what each product has read.
Losses = Callable[[Any, Any, Any, Any], tuple[Any, list[Any]]]


class Model(NamedTuple):
    losses: Losses
    shifts: Callable[[Any, Any, Any], list[tuple[int, ...]]]  # the shapes of the products' results
    squares: Callable[[Any, list[Any], list[Any]], Any]  # (x, what was read, derivatives) -> squares of examples' norms


def gram(x: Any) -> Any:
    return jnp.einsum("bim,bjm->bij", x, x)


def of_product(a: Any, d: Any) -> Any:
    """The square of sum_t a[b, t]^T d[b, t], by whichever order is the cheaper one."""
    if a.ndim == 2:
        return jnp.sum(a * a, axis=1) * jnp.sum(d * d, axis=1)
    t, m, n = *a.shape[1:], d.shape[2]
    if t * (m + n) < m * n:
        return jnp.sum(gram(a) * gram(d), axis=(1, 2))
    return jnp.sum(jnp.einsum("btm,btn->bmn", a, d) ** 2, axis=(1, 2))


def of_bias(d: Any) -> Any:
    total = d if d.ndim == 2 else jnp.sum(d, axis=1)
    return jnp.sum(total * total, axis=1)


def cross_entropy(scores: Any, y: Any) -> Any:
    return jax.nn.logsumexp(scores, axis=-1) - jnp.sum(scores * y, axis=-1)


def shifted(x: Any, shifts: Any, index: int) -> Any:
    return x if shifts is None else x + shifts[index]


def perceptron() -> Model:
    def losses(params: Any, shifts: Any, x: Any, y: Any) -> Any:
        read = []
        for index, (w, b) in enumerate(params):
            read.append(x)
            x = shifted(x @ w + b, shifts, index)
            if index + 1 < len(params):
                x = jnp.tanh(x)
        return cross_entropy(x, y), read

    return Model(
        losses,
        lambda params, x, y: [(len(x), len(b)) for _, b in params],
        lambda x, read, found: sum(of_product(a, d) + of_bias(d) for a, d in zip(read, found, strict=True)),
    )


def convolutional() -> Model:
    def losses(p: Any, shifts: Any, x: Any, y: Any) -> Any:
        read = []
        for index, name in enumerate(("conv1", "conv2")):
            read.append(x)
            x = shifted(jax.lax.conv_general_dilated(x, p[name], (1, 1), "SAME"), shifts, index)
            x = jax.lax.reduce_window(jax.nn.relu(x), -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = x.reshape((len(x), -1))
        return cross_entropy(shifted(x @ p["dense"], shifts, 2), y), [*read, x]

    def places(x: Any) -> Any:
        """Channels last, and one axis of places."""
        return jnp.swapaxes(x.reshape((*x.shape[:2], -1)), 1, 2)

    def squares(x: Any, read: list[Any], found: list[Any]) -> Any:
        patches = [jax.lax.conv_general_dilated_patches(a, (3, 3), (1, 1), "SAME") for a in read[:2]]
        convolved = sum(of_product(places(a), places(d)) for a, d in zip(patches, found[:2], strict=True))
        return convolved + of_product(read[2], found[2])

    def shifts(p: Any, x: Any, y: Any) -> list[tuple[int, ...]]:
        rows = len(x)
        return [(rows, 16, 28, 28), (rows, 32, 14, 14), (rows, p["dense"].shape[1])]

    return Model(losses, shifts, squares)


def recurrent() -> Model:
    def losses(p: Any, shifts: Any, x: Any, y: Any) -> Any:
        hidden = len(p["u"])

        def cell(carry: Any, step: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(h @ p["u"] + step, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), h

        steps = shifted(x @ p["w"] + p["b"], shifts, 0)
        start = jnp.zeros((len(x), hidden))
        (h, _), before = jax.lax.scan(cell, (start, start), jnp.swapaxes(steps, 0, 1))
        return cross_entropy(shifted(h @ p["head"], shifts, 1), y), [x, jnp.swapaxes(before, 0, 1), h]

    def squares(x: Any, read: list[Any], found: list[Any]) -> Any:
        steps, head = found
        gates = of_product(read[0], steps) + of_product(read[1], steps) + of_bias(steps)
        return gates + of_product(read[2], head)

    return Model(losses, lambda p, x, y: [(*x.shape[:2], len(p["b"])), (len(x), p["head"].shape[1])], squares)


def transformer(heads: int) -> Model:
    names = ("qkv", "out", "up", "down")

    def norm(x: Any) -> Any:
        x = x - jnp.mean(x, axis=-1, keepdims=True)
        return x * (jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) ** -0.5

    def losses(p: Any, shifts: Any, tokens: Any, targets: Any) -> Any:
        rows, length = tokens.shape
        width = p["embed"].shape[1]
        future = jnp.triu(jnp.full((length, length), -1e9), 1)
        read: list[Any] = []

        def product(x: Any, w: Any) -> Any:
            read.append(x)
            return shifted(x @ w, shifts, len(read))

        x = shifted(p["embed"][tokens], shifts, 0)
        for w in p["blocks"]:
            qkv = product(norm(x), w["qkv"]).reshape((rows, length, 3, heads, width // heads))
            q, k, v = (jnp.swapaxes(qkv[:, :, i], 1, 2) for i in range(3))
            scores = q @ jnp.swapaxes(k, -1, -2) * (width // heads) ** -0.5 + future
            mixed = jnp.swapaxes(jax.nn.softmax(scores, axis=-1) @ v, 1, 2).reshape(x.shape)
            x = x + product(mixed, w["out"])
            x = x + product(jax.nn.gelu(product(norm(x), w["up"])), w["down"])
        return jnp.mean(cross_entropy(product(norm(x), p["embed"].T), targets), axis=-1), read

    def squares(tokens: Any, read: list[Any], found: list[Any]) -> Any:
        embedded, *weights = found
        last, scores = read[-1], weights[-1]
        total = sum(of_product(a, d) for a, d in zip(read, weights, strict=True))
        # The table is the head as well: rows of words, their products with the head's gradient, and that of the head (above).
        same = tokens[:, :, None] == tokens[:, None, :]
        total += jnp.sum(jnp.where(same, gram(embedded), 0), axis=(1, 2))
        picked = jnp.take_along_axis(scores, tokens[:, None, :], axis=2)  # [b, place of the score, place of the word]
        return total + 2 * jnp.sum(picked * jnp.einsum("bim,bjm->bij", last, embedded), axis=(1, 2))

    def shifts(p: Any, tokens: Any, targets: Any) -> list[tuple[int, ...]]:
        widths = [w[name].shape[1] for w in p["blocks"] for name in names]
        return [(*tokens.shape, width) for width in (p["embed"].shape[1], *widths, p["embed"].shape[0])]

    return Model(losses, shifts, squares)


def ghost(model: Model, quantity: str) -> Callable[..., Thunk]:
    """Of norms or a clipped sum."""

    def make(params: Any, x: np.ndarray, y: np.ndarray) -> Thunk:
        @jax.jit
        def run(params: Any, x: Any, y: Any) -> Any:
            zeros = [jnp.zeros(shape) for shape in model.shifts(params, x, y)]

            def total(shifts: Any) -> Any:
                found, read = model.losses(params, shifts, x, y)
                return found.sum(), read

            found, read = jax.grad(total, has_aux=True)(zeros)
            norms = model.squares(x, read, found) ** 0.5
            if quantity == "norms":
                return norms
            weights = 1 / (1 + norms)
            gradient = jax.grad(lambda p: weights @ model.losses(p, None, x, y)[0])(params)
            return [leaf.reshape(-1) for leaf in jax.tree.leaves(gradient)]

        arguments = jax.tree.map(jnp.asarray, (params, x, y))
        return lambda: jax.block_until_ready(run(*arguments))

    return make
