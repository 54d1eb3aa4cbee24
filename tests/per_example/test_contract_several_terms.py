"""Squares of gradients that are sums of several products: multiplied out in double precision where the gradients are single precision."""

from __future__ import annotations

import re
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products

PE = ct.per_example
B, T, V, D = 16, 4, 2000, 64
SINGLE = float(np.finfo(np.float32).eps)


def tied(w: Any, ids: Any, h: Any, z: Any, u: Any) -> Any:
    """The gradient is 1[ids] ⊗ u - h ⊗ z: rows that are scattered, and a product of matrices."""
    return cnp.sum(w[ids] * u) - cnp.sum((h @ w) * z)


def gradients(*arguments: Any) -> Any:
    return ct.vmap(ct.grad(tied), (None, 0, 0, 0, 0))(*arguments)


def batch(left: float, dtype: Any = np.float32, size: float = 1.0) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray]:
    """Two terms of which `left` is left when they are added; the gradients; and how large the terms are together."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, V, (B, T))
    u = (rng.normal(size=(B, T, D)) * size).astype(dtype)
    z = (u + left * size * rng.normal(size=(B, T, D))).astype(dtype)
    h = np.eye(V, dtype=dtype)[ids]
    g = np.einsum("btv,btd->bvd", h.astype(np.float64), u.astype(np.float64) - z)
    return (np.zeros((V, D), dtype), ids, h, z, u), g.reshape(B, -1), 2 * np.linalg.norm(u.reshape(B, -1), axis=1)


def of_user(*arguments: Any) -> Any:
    """As programs write it that square in the precision of the gradient."""
    g = gradients(*arguments)
    return cnp.sqrt(cnp.sum(g * g, axis=(1, 2)))


@pytest.mark.parametrize("norms", [PE.norms(tied), of_user], ids=["norms", "user"])
@pytest.mark.parametrize("left", [1, 1e-2, 1e-4, 1e-6, 0])
def test_what_cancels_has_an_error_below_that_of_the_sum(norms: Any, left: float) -> None:
    arguments, g, size = batch(left)
    report = ct.explain(norms)(*arguments)
    assert len(report.contractions) == 1
    assert report.scratch_bytes < B * V * D * 4 / 2
    found = np.asarray(ct.jit(norms)(*arguments))
    assert found.dtype == np.float32
    error = np.abs(found - np.linalg.norm(g, axis=1))
    assert np.all(error <= SINGLE * (size / 4 + np.linalg.norm(g, axis=1)))


@pytest.mark.parametrize("size", [1e18, 1e-20])
def test_neither_overflows_nor_underflows(size: float) -> None:
    arguments, g, _ = batch(1, size=size)
    np.testing.assert_allclose(ct.jit(PE.norms(tied))(*arguments), np.linalg.norm(g, axis=1), rtol=1e-5)


def test_a_gradient_that_is_no_number_stays_so() -> None:
    arguments, g, _ = batch(1)
    u = arguments[4].copy()
    u[3, 1, 2], u[5, 0, 0] = np.inf, np.nan
    found = np.asarray(ct.jit(PE.norms(tied))(*arguments[:4], u))
    assert not np.isfinite(found[[3, 5]]).any()
    others = np.delete(np.arange(B), [3, 5])
    np.testing.assert_allclose(found[others], np.linalg.norm(g[others], axis=1), rtol=1e-5)


@pytest.mark.parametrize("left", [1, 1e-3, 1e-5])
def test_kernels(left: float) -> None:
    arguments, g, size = batch(left)
    kernel = PE.kernel(tied)
    assert len(ct.explain(kernel)(*arguments).contractions) == 1
    found = np.asarray(ct.jit(kernel)(*arguments))
    norms = np.linalg.norm(g, axis=1)
    assert np.all(np.abs(found - g @ g.T) <= SINGLE * (np.outer(norms, norms) + np.outer(size, size) * SINGLE))
    assert np.all(np.diag(found) > 0)


@pytest.mark.parametrize("left", [1, 1e-3, 1e-5])
@pytest.mark.parametrize("power", [3, 4])
def test_higher_powers_are_made_of_whole_sums(left: float, power: int) -> None:
    """Multiplied out they would have errors of what cancels to the third, or fourth, power."""

    def moment(*arguments: Any) -> Any:
        g = gradients(*arguments)
        return cnp.sum(g * g * g if power == 3 else (g * g) * (g * g), axis=(1, 2))

    arguments, g, size = batch(left)
    found = np.asarray(ct.jit(moment)(*arguments))
    expected = (g**power).sum(1)
    scale = (np.abs(g) ** power).sum(1) + SINGLE * size * (np.abs(g) ** (power - 1)).sum(1)
    assert np.all(np.abs(found - expected) <= 1e-5 * scale)


def test_a_sum_of_a_gradient_with_itself_is_no_square() -> None:
    arguments, g, _ = batch(1)

    def f(*arguments: Any) -> Any:
        g = gradients(*arguments)
        twice = g + g
        return cnp.sum(twice, axis=(1, 2)), cnp.sum(twice * twice, axis=(1, 2)), cnp.sum(g - g, axis=(1, 2))

    total, square, nothing = ct.jit(f)(*arguments)
    np.testing.assert_allclose(total, 2 * g.sum(1), rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(square, 4 * (g * g).sum(1), rtol=1e-5)
    np.testing.assert_allclose(nothing, np.zeros(B), atol=1e-5)


def test_variances_of_examples() -> None:
    arguments, g, _ = batch(1)

    def variance(*arguments: Any) -> Any:
        g = gradients(*arguments)
        return cnp.mean((g - cnp.mean(g, axis=0)) ** 2, axis=0)

    found = np.asarray(ct.jit(variance)(*arguments))
    expected = g.reshape(B, V, D).var(0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert np.all(found >= 0)


@pytest.mark.parametrize("left", [1, 1e-6])
def test_what_was_double_precision_is_added_up_first(left: float) -> None:
    """There is no wider precision that its products could be made in."""
    arguments, g, _ = batch(left, np.float64)
    report = ct.explain(PE.norms(tied))(*arguments)
    assert not report.contractions
    np.testing.assert_allclose(ct.jit(PE.norms(tied))(*arguments), np.linalg.norm(g, axis=1), rtol=1e-9)


def test_double_precision_counts_where_orders_are_compared() -> None:
    """Products of many long sequences with few rows cost more in double precision than what they avoid."""
    rng = np.random.default_rng(1)
    for steps, rows, is_contracted in [(16, 8000, True), (128, 500, False)]:
        ids = rng.integers(0, rows, (8, steps))
        h, z, u = (rng.normal(size=(8, steps, n)).astype(np.float32) for n in (rows, D, D))
        report = ct.explain(PE.norms(tied))(np.zeros((rows, D), np.float32), ids, h, z, u)
        assert bool(report.contractions) == is_contracted
        stored = re.search(rf"float32\[8,{rows},{D}\]", str(report.groups))
        assert bool(stored) != is_contracted


def test_every_order_gives_the_same() -> None:
    arguments, g, _ = batch(1)
    for order in ("direct", "gram", "always", "blocks", "off"):
        with products(order):
            found = ct.jit(PE.clipped_sum(tied, 1.0))(*arguments)
            norms = ct.jit(PE.norms(tied))(*arguments)
        expected = (g / np.linalg.norm(g, axis=1, keepdims=True)).sum(0).reshape(V, D)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=order)
        np.testing.assert_allclose(norms, np.linalg.norm(g, axis=1), rtol=1e-5, err_msg=order)


def two_products(p: Any, x: Any) -> Any:
    return cnp.sum((cnp.tanh(x @ p) - cnp.tanh((x + 0.1) @ p)) ** 2)


def product_of_product(p: Any, x: Any) -> Any:
    return cnp.sum(cnp.tanh(cnp.tanh(x @ p) @ p))


@pytest.mark.parametrize("loss", [two_products, product_of_product])
@pytest.mark.parametrize("quantity", ["second_moment", "norms"])
def test_what_loops_over_outer_products_make_is_no_slower_elsewhere(loss: Any, quantity: str) -> None:
    rng = np.random.default_rng(0)
    p, x = (rng.normal(size=s).astype(np.float32) / 4 for s in ((256, 256), (128, 256)))
    of = getattr(ct.per_example, quantity)(loss)
    with products("direct"):
        report = ct.explain(of)(p, x)
        found = ct.jit(of)(p, x)
    assert bool(report.contractions) == (quantity == "norms")  # multiplied out in double precision
    assert report.scratch_bytes < 4 << 20  # stored outer products would be 32 MB each
    g = np.asarray(ct.vmap(ct.grad(loss), in_axes=(None, 0))(p, x), np.float64)
    expected = np.mean(g * g, axis=0) if quantity == "second_moment" else np.sqrt(np.sum(g * g, axis=(1, 2)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "contracted"), [(np.float32, ["reduce_sum", "dot_general"]), (np.float64, ["dot_general"])]
)
def test_norms_beside_a_sum_that_is_a_product(dtype: Any, contracted: list[str]) -> None:
    """Multiplied out in a wider precision; where there is none they are made in loops over outer products."""
    rng = np.random.default_rng(0)
    p, x = (rng.normal(size=s).astype(dtype) / 4 for s in ((256, 256), (128, 256)))
    of = ct.per_example.clipped_sum(two_products, 1.0)
    with products("direct"):
        report = ct.explain(of)(p, x)
        found = ct.jit(of)(p, x)
    assert [(c.name.split()[0], c.blocks) for c in report.contractions] == [(name, 1) for name in contracted]
    assert report.scratch_bytes < 8 << 20
    g = np.asarray(ct.vmap(ct.grad(two_products), in_axes=(None, 0))(p, x), np.float64)
    norms = np.sqrt(np.sum(g * g, axis=(1, 2)))
    np.testing.assert_allclose(found, np.einsum("b,bij->ij", np.minimum(1, 1 / norms), g), rtol=1e-4, atol=1e-5)


def test_gradients_of_norms_store_nothing_that_a_smaller_product_is_made_of() -> None:
    rng = np.random.default_rng(0)
    fixed, a, b, x = (rng.normal(size=s).astype(np.float32) / 4 for s in ((256, 256), (256, 8), (8, 256), (128, 256)))

    def loss(p: Any, x: Any) -> Any:
        return cnp.sum(cnp.tanh(x @ (fixed + p[0] @ p[1])) ** 2)

    of = ct.grad(lambda p, x: cnp.sum(ct.per_example.norms(loss)(p, x) ** 2))
    with products("off"):
        expected = ct.jit(of)([a, b], x)
    with products("direct"):
        found = ct.jit(of)([a, b], x)
        assert ct.explain(of)([a, b], x).scratch_bytes < 8 << 20  # gradients of the whole matrix would be 32 MB
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-3, atol=1e-3 * np.abs(e).max())
