"""Rows of tables in quantities of single examples (`transforms/contract/distinct.h`): values, and that no example has a table of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products

B, T, V, D, C = 6, 4, 211, 5, 3
rng = np.random.default_rng(0)
TABLE, WEIGHTS = rng.normal(size=(V, D)), rng.normal(size=(D, C))
FEW = rng.integers(0, 3, (B, T))  # with equal ones in each example
FEW[0] = 7
FEW[1] = [-1, V - 1, 2, -V]  # numpy counts from the end
LABELS, LABEL = rng.integers(0, C, (B, T)), rng.integers(0, C, B)


def cross_entropy(scores: Any, label: Any) -> Any:
    return cnp.log(cnp.sum(cnp.exp(scores))) - scores[label]


def of_mean(p: Any, ids: Any, y: Any) -> Any:
    return cross_entropy(cnp.tanh(p[0][ids].mean(0)) @ p[1], y)


def of_one(p: Any, ids: Any, y: Any) -> Any:
    return cross_entropy(cnp.tanh(p[0][ids[0]]) @ p[1], y)


def of_tokens(p: Any, ids: Any, y: Any) -> Any:
    scores = cnp.tanh(p[0][ids]) @ p[1]
    return cnp.sum(ct.vmap(cross_entropy)(scores, y))


def of_two_lookups(p: Any, ids: Any, y: Any) -> Any:
    """The same integers look up twice: once in order, once as a mean of pairs."""
    pairs = p[0][ids.reshape((2, -1))].mean(1)
    return cross_entropy(cnp.tanh(pairs[0] * pairs[1]) @ p[1], y)


LOSSES: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "mean": (of_mean, LABEL),
    "one": (of_one, LABEL),
    "tokens": (of_tokens, LABELS),
    "two lookups": (of_two_lookups, LABEL),
}


def rows(g: Any) -> list[Any]:
    return [a.reshape((a.shape[0], -1)) for a in ct.tree.leaves(g)]


def norms(g: Any) -> Any:
    return cnp.sqrt(sum(cnp.sum(a * a, axis=1) for a in rows(g)))


QUANTITIES: dict[str, Callable[[Any], Any]] = {
    "norms": norms,
    "clipped sum": lambda g: [(1 / (0.1 + norms(g))) @ a for a in rows(g)],
    "second moment": lambda g: [cnp.sum(a * a, axis=0) for a in rows(g)],
    "fourth moment": lambda g: [cnp.sum((a * a) * (a * a), axis=0) for a in rows(g)],
    "kernel": lambda g: sum(a @ a.T for a in rows(g)),
    "sums of squares by columns": lambda g: ct.tree.map(lambda a: cnp.sum(a * a, axis=1), g),
}


def quantity(name: str, of: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    loss, y = LOSSES[name]
    gradients = ct.vmap(ct.grad(loss), (None, 0, 0))
    return lambda p, ids, y: QUANTITIES[of](gradients(p, ids, y)), ([TABLE, WEIGHTS], FEW, y)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("of", QUANTITIES)
def test_values(name: str, of: str) -> None:
    f, arguments = quantity(name, of)
    with products("off"):
        expected = ct.jit(f)(*arguments)
    for order in ("direct", "gram", "always", "blocks"):
        with products(order):
            found = ct.jit(f)(*arguments)
        for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=order)


@pytest.mark.parametrize("order", ["direct", "gram"])
@pytest.mark.parametrize("of", ["norms", "clipped sum", "second moment"])
@pytest.mark.parametrize("name", LOSSES)
def test_no_example_has_a_table_of_its_own(name: str, of: str, order: str) -> None:
    b, t, v, d = 64, 8, 5000, 32
    loss, y = LOSSES[name]
    generator = np.random.default_rng(1)
    p = [generator.normal(size=(v, d)).astype(np.float32), generator.normal(size=(d, C)).astype(np.float32)]
    ids = generator.integers(0, v, (b, t)).astype(np.int32)
    labels = generator.integers(0, C, (b, t) if y.ndim == 2 else b).astype(np.int32)
    gradients = ct.vmap(ct.grad(loss), (None, 0, 0))
    f = lambda p, ids, y: QUANTITIES[of](gradients(p, ids, y))  # noqa: E731
    with products(order):
        report = ct.explain(f)(p, ids, labels)
        found = ct.jit(f)(p, ids, labels)
    table = 4 * v * d
    assert report.scratch_bytes < table + 16 * 4 * b * t * d
    assert all(one.blocks == 1 for one in report.contractions)
    assert not re.search(rf"float32\[{b},{v},{d}\]", str(report.groups))
    with products("off"):
        expected = ct.jit(f)(p, ids, labels)
    for a, b_ in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b_, rtol=1e-3, atol=1e-5 * float(np.max(np.abs(b_))))


def test_experts_by_the_largest_score() -> None:
    b, m, n, experts = 32, 40, 30, 8
    generator = np.random.default_rng(2)
    p = [generator.normal(size=(m, experts)), generator.normal(size=(experts, m, n)), generator.normal(size=(n, C))]
    x, y = generator.normal(size=(b, m)), generator.integers(0, C, b)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cross_entropy(cnp.tanh(x @ p[1][cnp.argmax(x @ p[0])]) @ p[2], y)

    f = lambda p, x, y: norms(ct.vmap(ct.grad(loss), (None, 0, 0))(p, x, y))  # noqa: E731
    with products("off"):
        expected = ct.jit(f)(p, x, y)
    report = ct.explain(f)(p, x, y)
    np.testing.assert_allclose(ct.jit(f)(p, x, y), expected, rtol=1e-12)
    assert all(one.blocks == 1 for one in report.contractions)
    assert not re.search(rf"float64\[{b},{experts},", str(report.groups))


@pytest.mark.parametrize("order", ["direct", "gram"])
def test_what_names_no_row_counts_for_nothing(order: str) -> None:
    """Whatever it holds: `scatter_add` drops it."""
    ids = np.array([[1, 1, 9], [9, -1, 12], [0, 9, 0], [3, 4, 3]])
    d = rng.normal(size=(4, 3, 2))
    d[ids >= 8] = np.inf
    d[ids < 0] = np.nan

    def gradients(d: Any) -> Any:
        one = lambda ids, d: cnp.zeros((8, 2), "float64").at[ids].add(d, mode="drop", wrap_negative_indices=False)  # noqa: E731
        return ct.vmap(one)(ids, d)

    f = lambda d: cnp.sum(gradients(d) ** 2, axis=(1, 2))  # noqa: E731
    expected = np.zeros((4, 8, 2))
    for b in range(4):
        for i, one in zip(ids[b], d[b], strict=True):
            if 0 <= i < 8:
                expected[b, i] += one
    with products(order):
        np.testing.assert_allclose(ct.jit(f)(d), np.sum(expected**2, axis=(1, 2)), rtol=1e-12)


def test_equal_words_that_cancel() -> None:
    """Their sum is made before it is squared: the square of what is left has no error of what has gone."""
    d = np.array([1e8, 1.0, -1e8], np.float32).reshape(1, 3, 1)
    f = lambda d: cnp.sum(  # noqa: E731
        ct.vmap(lambda d: cnp.zeros((50, 1), "float32").at[np.array([4, 7, 4])].add(d))(d) ** 2, axis=(1, 2)
    )
    assert float(ct.jit(f)(d)[0]) == 1.0


@pytest.mark.parametrize("seed", range(12))
def test_random_integers(seed: int) -> None:
    """Of several axes, along some of which what is added is the same; few values and many; some that name no row."""
    r = np.random.default_rng(seed)
    b, first, second, v, d = (int(r.integers(*ends)) for ends in ((1, 5), (0, 4), (1, 4), (1, 40), (1, 4)))
    ids = r.integers(-3, v + 3, (b, first, second)).astype(r.choice(["int8", "int32", "int64"]))
    lacks = seed % 4  # 0: no axis, 1: the first one, 2: the second one, 3: both
    x = r.normal(size=(b, 1 if lacks & 1 else first, 1 if lacks & 2 else second, d))
    weights, scales = r.normal(size=(v, d)), r.normal(size=b)

    def gradients(x: Any) -> Any:
        def one(ids: Any, x: Any) -> Any:
            updates = cnp.broadcast_to(x, (first, second, d))
            return cnp.zeros((v, d), "float64").at[ids].add(updates, mode="drop", wrap_negative_indices=False)

        return ct.vmap(one)(ids, x)

    def f(x: Any) -> Any:
        g = gradients(x)
        return [
            (g**2).sum((1, 2)),
            (g**2).sum(0),
            (g**2).sum(2),
            ((g * weights) ** 2).sum((1, 2)),
            cnp.einsum("bvd,cvd->bc", g, g),
            (g**2 * scales[:, None, None]).sum(0),
            (g**4).sum((1, 2)),
            g.sum((1, 2)),
            (g.sum(2) ** 2).sum(1),
        ]

    with products("off"):
        expected = ct.jit(f)(x)
    for order in ("direct", "gram", "always", "blocks"):
        with products(order):
            found = ct.jit(f)(x)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-10, err_msg=order)


def of_matrices(p: Any, x: Any, chosen: Any) -> Any:
    """One matrix an example."""
    return cnp.sum(cnp.tanh(x @ p[1][chosen[0]] + p[2][chosen[0]]) ** 2) + cnp.sum(cnp.sin(x @ p[0]))


def of_several_matrices(p: Any, x: Any, chosen: Any) -> Any:
    """Weighted sums of what several of them make, which may be the same one."""
    h = cnp.tanh(cnp.einsum("m,kmn->kn", x, p[1][chosen]) + p[2][chosen])
    return cnp.sum(cnp.einsum("k,kn,knm->m", ct.nn.softmax(x @ p[0])[: len(chosen)], h, p[3][chosen]) ** 2)


def matrices(b: int, experts: int, m: int, n: int, dtype: Any) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(3)
    shapes = [(m, experts), (experts, m, n), (experts, n), (experts, n, m)]
    p = [(generator.normal(size=shape) / np.sqrt(m)).astype(dtype) for shape in shapes]
    chosen = generator.integers(0, experts, (b, 2)).astype(np.int32)
    chosen[0] = 1
    return p, generator.normal(size=(b, m)).astype(dtype), chosen


@pytest.mark.parametrize("loss", [of_matrices, of_several_matrices])
@pytest.mark.parametrize("of", QUANTITIES)
def test_matrices_that_an_example_chooses(loss: Any, of: str) -> None:
    p, x, chosen = matrices(7, 3, 5, 6, np.float64)
    chosen[1], chosen[2] = [-1, 2], [1, -3]
    f = lambda p, x, chosen: QUANTITIES[of](ct.vmap(ct.grad(loss), (None, 0, 0))(p, x, chosen))  # noqa: E731
    with products("off"):
        expected = ct.jit(f)(p, x, chosen)
    for order in ("direct", "gram", "always", "blocks"):
        with products(order):
            found = ct.jit(f)(p, x, chosen)
        for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=order)


@pytest.mark.parametrize("loss", [of_matrices, of_several_matrices])
@pytest.mark.parametrize("of", ["norms", "clipped sum", "second moment", "kernel"])
def test_no_outer_product_of_an_example_is_stored(loss: Any, of: str) -> None:
    b, experts, m, n = 64, 8, 96, 128
    p, x, chosen = matrices(b, experts, m, n, np.float32)
    f = lambda p, x, chosen: QUANTITIES[of](ct.vmap(ct.grad(loss), (None, 0, 0))(p, x, chosen))  # noqa: E731
    losses = ct.vmap(loss, (None, 0, 0))
    plain = ct.grad(lambda p, x, chosen: cnp.mean(losses(p, x, chosen)))
    allowed = ct.explain(plain)(p, x, chosen).scratch_bytes + 4 * experts * m * n
    assert ct.explain(f)(p, x, chosen).scratch_bytes < allowed
    with products("off"):
        expected = ct.jit(f)(p, x, chosen)
        assert ct.explain(f)(p, x, chosen).scratch_bytes > 2 * allowed
    for a, b_ in zip(ct.tree.leaves(ct.jit(f)(p, x, chosen)), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b_, rtol=1e-3, atol=1e-5 * float(np.max(np.abs(b_))))
