"""Gradients of weights of which parts are used: slices, rows, concatenations, in loops too. Slices and padding are done to factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products
from cotangent import per_example as PE

M, N = 12, 20
Layer = Callable[[Any, Any], Any]


def unrolled(w: Any, x: Any) -> Any:
    h = cnp.zeros(10, x.dtype)
    for _ in range(4):
        h = cnp.tanh(h @ w[:10, :10] * cnp.tanh(x[:2] @ w[10:12, 10:]))
    return h


def scanned(w: Any, x: Any) -> Any:
    def step(h: Any, _: Any) -> Any:
        return cnp.tanh(h @ w[:10, :10] * cnp.tanh(x[:2] @ w[10:12, 10:])), h[0]

    h, first = ct.lax.scan(step, cnp.zeros(10, x.dtype) + 0.1, None, length=4)
    return cnp.concatenate([h, first])


def gates_in_a_scan(w: Any, x: Any) -> Any:
    def step(carry: Any, t: Any) -> Any:
        h, s = carry
        i, f, g, o = (cnp.concatenate([h, t]) @ w[:, 5 * k : 5 * (k + 1)] for k in range(4))
        s = ct.nn.sigmoid(f) * s + ct.nn.sigmoid(i) * cnp.tanh(g)
        return (ct.nn.sigmoid(o) * cnp.tanh(s), s), None

    zeros = cnp.zeros(5, x.dtype)
    return ct.lax.scan(step, (zeros, zeros), cnp.stack([x[:7], x[5:]]))[0][0]


def part_of_a_stack(w: Any, x: Any) -> Any:
    stack = w.reshape(2, 6, 20)
    return ct.lax.scan(lambda h, _: (cnp.tanh(h @ stack[0][:, :6] + x[:6]), None), x[6:], None, length=3)[0]


LAYERS: dict[str, Layer] = {
    "columns": lambda w, x: cnp.tanh(x @ w[:, :8]),
    "rows": lambda w, x: cnp.tanh(x[:5] @ w[2:7]),
    "rows and columns": lambda w, x: cnp.tanh(x[:5] @ w[2:7, 3:9]),
    "every third": lambda w, x: cnp.tanh(x @ w[:, 1::3]),
    "backwards": lambda w, x: cnp.tanh(x @ w[:, ::-1][:, 3:9]),
    "every other one backwards": lambda w, x: cnp.tanh(x @ w[:, ::-2]),
    "flipped": lambda w, x: cnp.tanh(x @ cnp.flip(w, 0)),
    "rolled": lambda w, x: cnp.tanh(x @ cnp.roll(w, 3, 1)),
    "padded": lambda w, x: cnp.tanh(x @ cnp.pad(w, ((0, 0), (1, 2)))),
    "two halves": lambda w, x: cnp.concatenate([cnp.tanh(x @ w[:, :8]), cnp.sin(x @ w[:, 8:])]),
    "overlapping": lambda w, x: cnp.concatenate([cnp.tanh(x @ w[:, :12]), cnp.sin(x @ w[:, 8:])]),
    "one slice twice": lambda w, x: cnp.tanh(x @ w[:, :8]) + cnp.sin((x * 2) @ w[:, :8]),
    "slices and all": lambda w, x: cnp.tanh(x @ w)[:8] + cnp.sin(x @ w[:, :8]),
    "gates": lambda w, x: cnp.tanh(x @ w[:, :5]) * cnp.sin(x @ w[:, 5:10]) + (x @ w[:, 10:15]) * (x @ w[:, 15:]),
    "a column as a matrix": lambda w, x: cnp.tanh(x @ w[:, 3:4]),
    "a column": lambda w, x: cnp.tanh(x @ w[:, 3]),
    "a row": lambda w, x: cnp.tanh(x[0] * w[3]) + cnp.sin(w[3]),
    "an element": lambda w, x: cnp.tanh(x * w[3, 4]),
    "nothing of it": lambda w, x: cnp.tanh(x @ w[:, 3:3]).sum() + x @ w,
    "all of it": lambda w, x: cnp.tanh(x @ w[:, :]),
    "positions": lambda w, x: cnp.tanh(cnp.outer(cnp.arange(5.0, dtype=x.dtype), x) @ w[:, 2:9]),
    "positions of two slices": lambda w, x: cnp.concatenate(
        [
            cnp.tanh(cnp.outer(cnp.arange(5.0, dtype=x.dtype), x) @ w[:, 2:9]),
            cnp.outer(cnp.ones(5, x.dtype), x) @ w[:, 9:],
        ],
        1,
    ),
    "upper triangle": lambda w, x: cnp.tanh(x @ cnp.triu(w)),
    "unrolled": unrolled,
    "scanned": scanned,
    "gates in a scan": gates_in_a_scan,
    "part of a stack in a scan": part_of_a_stack,
}
QUANTITIES: dict[str, Callable[[Any], Any]] = {
    "norms": PE.norms,
    "clipped sum": lambda loss: PE.clipped_sum(loss, 0.7),
    "second moment": PE.second_moment,
    "kernel": PE.kernel,
    "mean and variance": PE.mean_and_variance,
}


def loss_of(layer: Layer) -> Callable[[Any, Any], Any]:
    return lambda w, x: cnp.sum(layer(w, x) ** 2)


def leaves(result: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in ct.tree.leaves(result)]


def compare(quantity: Callable[..., Any], arguments: Any, order: str, tolerance: float) -> None:
    with products("off"):
        expected = leaves(ct.jit(lambda *a: quantity(*a))(*arguments))
    with products(order):
        found = leaves(ct.jit(lambda *a: quantity(*a))(*arguments))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())


@pytest.mark.parametrize("order", ["direct", "gram", "always", "blocks"])
@pytest.mark.parametrize("name", LAYERS)
def test_parts_of_a_weight(name: str, order: str) -> None:
    rng = np.random.default_rng(0)
    with ct.enable_x64():
        arguments = rng.normal(size=(M, N)), rng.normal(size=(9, M))
        for quantity in QUANTITIES.values():
            compare(quantity(loss_of(LAYERS[name])), arguments, order, 1e-11)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_weights_that_are_put_together(quantity: str, axis: int) -> None:
    rng = np.random.default_rng(0)
    sizes = [(5, N), (1, N), (6, N)] if axis == 0 else [(M, 3), (M, 8), (M, 9)]

    def loss(parts: Any, x: Any) -> Any:
        return cnp.sum(cnp.tanh(x @ cnp.concatenate(parts, axis)) ** 2)

    with ct.enable_x64():
        arguments = [rng.normal(size=size) for size in sizes], rng.normal(size=(9, M))
        for order in ("direct", "always"):
            compare(QUANTITIES[quantity](loss), arguments, order, 1e-11)


LARGE: dict[str, Layer] = {
    "columns": lambda w, x: cnp.tanh(x @ w[:, :64]),
    "rows": lambda w, x: cnp.tanh(x[:100] @ w[:100]),
    "every other one": lambda w, x: cnp.tanh(x @ w[:, ::2]),
    "flipped": lambda w, x: cnp.tanh(x @ cnp.flip(w, 0)),
    "gates": lambda w, x: cnp.tanh(x @ w[:, :128]) * cnp.sin(x @ w[:, 128:]),
    "part of a stack in a scan": lambda w, x: ct.lax.scan(
        lambda h, _: (cnp.tanh(h @ w.reshape(2, 64, 256)[0][:, :64] + x[:64]), None), x[64:], None, length=4
    )[0],
}


@pytest.mark.parametrize("name", LARGE)
def test_no_gradient_of_parts_is_stored(name: str) -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(128, 256)).astype(np.float32), rng.normal(size=(256, 128)).astype(np.float32)
    for quantity in ("norms", "clipped sum", "second moment", "kernel"):
        explained = ct.explain(QUANTITIES[quantity](loss_of(LARGE[name])))(w, x)
        assert explained.contractions and explained.scratch_bytes < 256 * w.nbytes / 4, quantity


def test_what_is_infinite_stays_where_the_slice_is() -> None:
    w, x = np.ones((3, 6), np.float32), np.ones((4, 3), np.float32)
    x[1] = np.inf
    second = ct.jit(PE.second_moment(lambda w, x: cnp.sum(x @ w[:, 1:3])))(w, x)
    assert np.isinf(second[:, 1:3]).all()
    np.testing.assert_array_equal(np.delete(np.asarray(second), [1, 2], axis=1), 0)
    norms = ct.jit(PE.norms(lambda w, x: cnp.sum(x @ w[:, 1:3])))(w, x)
    np.testing.assert_allclose(norms, [6**0.5, np.inf, 6**0.5, 6**0.5], rtol=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_scans_that_end_early_add_up_what_they_did(steps: int) -> None:
    w, x = np.linspace(-1, 1, 36, dtype=np.float32).reshape(6, 6), np.ones((5, 3), np.float32)

    def loss(w: Any, x: Any) -> Any:
        return cnp.sum(ct.lax.scan(lambda h, r: (cnp.tanh(h @ w[:3, 2:5] + r), None), cnp.ones(3, x.dtype), x)[0] ** 2)

    found = ct.jit(ct.grad(loss))(w, x[:steps])
    np.testing.assert_allclose(found, ct.grad(loss)(w, x[:steps]), rtol=1e-5, atol=1e-7)
    ragged = ct.Ragged(x, {0: steps})
    np.testing.assert_allclose(
        ct.jit(ct.grad(ct.mask(loss)))(w, ragged), ct.grad(loss)(w, x[:steps]), rtol=1e-5, atol=1e-7
    )
