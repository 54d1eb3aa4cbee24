"""Sums of products in another order, by the forms that they take: squares of sums in blocks, broadcasts, vectors put together."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import MODELS, OF_VECTORS, gradients, lengths, mlp, normal, products, vectors


@pytest.mark.parametrize("model", ["mlp", "unrolled", "lstm", "convolution", "embedding", "ragged"])
@pytest.mark.parametrize("quantity", OF_VECTORS)
def test_a_quantity_of_one_vector_an_example(model: str, quantity: str) -> None:
    loss, params, x, y = MODELS[model]()
    of = OF_VECTORS[quantity]
    with products("off"):
        expected = ct.jit(lambda p, x, y: of(vectors(gradients(loss, p, x, y))))(params, x, y)
    for order in ("always", "blocks"):
        with products(order):
            found = ct.jit(lambda p, x, y: of(vectors(gradients(loss, p, x, y))))(params, x, y)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=order)


def test_a_sum_that_is_squared_is_made_in_blocks() -> None:
    rng = np.random.default_rng(0)
    b, t, m, n = 64, 100, 128, 512
    a, d = (rng.normal(size=(t, b, k)).astype(np.float32) for k in (m, n))

    def norms(a: Any, d: Any) -> Any:
        g = cnp.einsum("tbm,tbn->bmn", cnp.tanh(a), cnp.tanh(d))
        return cnp.sqrt(cnp.sum(g * g, axis=(1, 2)))

    with products("direct"):
        report = ct.explain(norms)(a, d)
        found = ct.jit(norms)(a, d)
    assert [c.blocks for c in report.contractions] == [16]
    # The factors, those of a step, and four gradients of one.
    assert report.scratch_bytes < 4 * t * (b + 4) * (m + n) + 4 * 6 * m * n
    g = np.einsum("tbm,tbn->bmn", np.tanh(a.astype(np.float64)), np.tanh(d.astype(np.float64)), optimize=True)
    np.testing.assert_allclose(found, np.sqrt(np.sum(g * g, axis=(1, 2))), rtol=1e-5)


@pytest.mark.parametrize("steps", [2, 8])
def test_short_sums_are_multiplied_out_in_double_precision(steps: int) -> None:
    """What cancels has an error below that of sums in single precision."""
    rng = np.random.default_rng(0)
    b, m, n = 32, 128, 192
    a, d = rng.normal(size=(b, steps, m)).astype(np.float32), rng.normal(size=(b, steps, n)).astype(np.float32)
    a[0] = a[0, :1] * (1 + 1e-4 * rng.normal(size=(steps, 1)))
    d[0] = d[0, :1] * np.tile([1, -1], steps // 2)[:, None]

    def norms(a: Any, d: Any) -> Any:
        g = cnp.einsum("btm,btn->bmn", a, d)
        return cnp.sqrt(cnp.sum(g * g, axis=(1, 2)))

    with products("direct"):
        report = ct.explain(norms)(a, d)
        found = ct.jit(norms)(a, d)
    assert [c.flops < b * steps * m * n for c in report.contractions] == [True]
    assert report.scratch_bytes < 4 * 4 * b * steps * (m + n)
    g = np.einsum("btm,btn->bmn", a.astype(np.float64), d.astype(np.float64))
    expected = np.sqrt(np.sum(g * g, axis=(1, 2)))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert expected[0] < 1e-2 * expected[1]  # it cancels


def test_gradients_that_are_too_large_are_made_twice() -> None:
    """For norms and then for clipped sums: 75 MiB are not stored, though that takes longer."""
    rng = np.random.default_rng(0)
    a, d = rng.normal(size=(100, 20, 384)).astype(np.float32), rng.normal(size=(100, 20, 512)).astype(np.float32)

    def clipped(a: Any, d: Any) -> Any:
        g = cnp.einsum("btm,btn->bmn", cnp.tanh(a), cnp.tanh(d))
        return cnp.einsum("b,bmn->mn", cnp.minimum(1.0, 900.0 / cnp.sqrt(cnp.sum(g * g, axis=(1, 2)))), g)

    with products("direct"):
        assert ct.explain(clipped)(a, d).scratch_bytes < 20 << 20
        found = ct.jit(clipped)(a, d)
    with products("off"):
        assert ct.explain(clipped)(a, d).scratch_bytes > 75 << 20
        np.testing.assert_allclose(found, ct.jit(clipped)(a, d), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("order", ["direct", "blocks"])
def test_what_cancels_is_gone_before_it_is_squared(order: str) -> None:
    """Nothing is left in float32 of the Gram forms of these norms, nor of the sums of fourth powers."""
    rng = np.random.default_rng(0)
    a = (rng.normal(size=(4, 1, 300)) * 1e4 + rng.normal(size=(4, 16, 300))).astype(np.float32)
    d = (np.tile([1, -1], 8)[None, :, None] * rng.normal(size=(4, 1, 200))).astype(np.float32)

    def powers(a: Any, d: Any) -> Any:
        g = cnp.einsum("btm,btn->bmn", a, d)
        s = cnp.sum(g * g, axis=2)
        return cnp.sum(s, axis=1), cnp.sum(s * s), ct.vmap(lambda x: cnp.vdot(x, x))(g)

    g = np.einsum("btm,btn->bmn", a.astype(np.float64), d.astype(np.float64))
    norms = np.sum(g * g, axis=(1, 2))
    with products(order):
        found = ct.jit(powers)(a, d)
    for x, y in zip(found, (norms, np.sum(np.sum(g * g, axis=2) ** 2), norms), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-2)  # of the sums themselves: κ is some thousands
    with products("always"):
        gram = np.asarray(ct.jit(powers)(a, d)[2])
    assert np.max(np.abs(gram / norms - 1)) > 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outer_products_by_broadcasts(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, d = rng.normal(size=(64, 300)).astype(dtype), rng.normal(size=(64, 200)).astype(dtype)

    def quantities(a: Any, d: Any) -> Any:
        g = a[:, :, None] * d[:, None, :]
        flat = cnp.reshape(g, (g.shape[0], -1))
        squares = cnp.sum(g * g, axis=(1, 2))
        return squares, flat @ flat.T, cnp.sum(g * (1 / cnp.sqrt(squares))[:, None, None], axis=0), cnp.mean(g**2, 0)

    report = ct.explain(quantities)(a, d)
    assert len(report.contractions) == 4
    assert report.scratch_bytes < 8 * 64 * 600 + 8 * 300 * 200
    g = a.astype(np.float64)[:, :, None] * d.astype(np.float64)[:, None, :]
    flat, squares = g.reshape(64, -1), np.sum(g * g, axis=(1, 2))
    expected = squares, flat @ flat.T, np.sum(g / np.sqrt(squares)[:, None, None], axis=0), np.mean(g**2, 0)
    rounding = 1e-4 if dtype == np.float32 else 1e-11
    for x, y in zip(ct.jit(quantities)(a, d), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=rounding, atol=rounding * np.max(np.abs(y)))


def test_products_of_matrices_by_broadcasts() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(200, 300)), rng.normal(size=(300, 100))

    def product(a: Any, b: Any) -> Any:
        return cnp.sum(a[:, :, None] * b[None], axis=1)

    assert len(ct.explain(product)(a, b).contractions) == 1
    np.testing.assert_allclose(ct.jit(product)(a, b), a @ b, rtol=1e-9, atol=1e-9)
    gradient = ct.jit(ct.grad(lambda a, b: cnp.sum(product(a, b) ** 2), argnums=(0, 1)))
    for x, y in zip(gradient(a, b), (2 * a @ b @ b.T, 2 * a.T @ a @ b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-8)


def test_what_broadcasts_repeat_may_be_infinite() -> None:
    a, d = np.array([[np.inf, 1.0, 2.0]] * 8), np.ones((8, 40))
    with products("always"):
        found = ct.jit(lambda a, d: cnp.sum(a[:, :, None] * d[:, None, :], axis=(0, 2)))(a, d)
    np.testing.assert_array_equal(found, [np.inf, 320, 640])


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1)])
def test_outer_products_of_few_numbers(shape: tuple[int, int, int]) -> None:
    b, m, n = shape
    a, d = np.ones((b, m)), np.full((b, n), 2.0)
    for order in ("always", "blocks"):
        with products(order):
            found = ct.jit(lambda a, d: cnp.sum((a[:, :, None] * d[:, None, :]) ** 2, axis=(1, 2)))(a, d)
        np.testing.assert_array_equal(found, np.full(b, 4.0 * m * n))


@pytest.mark.parametrize("quantity", OF_VECTORS)
def test_one_vector_an_example_is_not_stored(quantity: str) -> None:
    rng = np.random.default_rng(0)
    loss, _, _, _ = mlp()
    params = [(normal(rng, m, n).astype(np.float32), np.zeros(n, np.float32)) for m, n in [(784, 256), (256, 10)]]
    x, y = rng.normal(size=(256, 784)).astype(np.float32), rng.integers(0, 10, 256).astype(np.int32)
    of = OF_VECTORS[quantity]
    report = ct.explain(lambda p, x, y: of(vectors(gradients(loss, p, x, y))))(params, x, y)
    assert report.scratch_bytes < 4 << 20  # the vectors would be 208 MB


def test_a_vector_an_example_that_is_wanted_is_made_once() -> None:
    loss, params, x, y = mlp()

    def both(p: Any, x: Any, y: Any) -> Any:
        v = vectors(gradients(loss, p, x, y))
        return v, cnp.mean(lengths(v)[:, None] * v, axis=0)

    with products("always"):
        v, weighted = ct.jit(both)(params, x, y)
    expected = np.mean(np.linalg.norm(v, axis=1)[:, None] * np.asarray(v), axis=0)
    np.testing.assert_allclose(weighted, expected, rtol=1e-10)


def test_a_choice_of_two_gradients_is_the_sum_of_both_with_zeros() -> None:
    rng = np.random.default_rng(0)
    a, d, e = rng.normal(size=(64, 300)), rng.normal(size=(64, 200)), rng.normal(size=(64, 200))
    here = rng.random(64) < 0.5
    d[here], e[~here] = np.nan, np.nan  # what is not chosen may be anything

    def chosen(a: Any, d: Any, e: Any, here: Any) -> Any:
        g, h = cnp.einsum("bm,bn->bmn", a, d), cnp.einsum("bm,bn->bmn", a, e)
        return cnp.sum(cnp.where(here[:, None, None], h, g), axis=0)

    assert ct.explain(chosen)(a, d, e, here).contractions
    expected = np.einsum("bm,bn->mn", a, np.where(here[:, None], e, d))
    np.testing.assert_allclose(ct.jit(chosen)(a, d, e, here), expected, rtol=1e-10, atol=1e-12)


def test_halves_that_are_equal_but_for_the_piece_of_a_block() -> None:
    """The first factor of a kernel of words' gradients [b, words, 1] is there in pieces, the other one as a whole."""
    rng = np.random.default_rng(0)
    words, d = rng.integers(-1, 7, (3, 2)).astype(np.int32), rng.normal(size=(3, 2, 1))

    def kernel(words: Any, d: Any) -> Any:
        v = ct.vmap(lambda words, d: cnp.ravel(cnp.zeros((7, 1), "float64").at[words].add(d)))(words, d)
        return v @ v.T

    with products("off"):
        expected = ct.jit(kernel)(words, d)
    with products("blocks"):
        np.testing.assert_allclose(ct.jit(kernel)(words, d), expected, rtol=1e-12)


def test_a_model_that_is_called_twice_costs_what_it_costs_once() -> None:
    rng = np.random.default_rng(0)
    p = [normal(rng, 784, 256).astype(np.float32), normal(rng, 256, 10).astype(np.float32)]
    x, y = rng.normal(size=(64, 784)).astype(np.float32), rng.integers(0, 10, 64).astype(np.int32)

    def net(p: Any, x: Any) -> Any:
        return ct.nn.relu(x @ p[0]) @ p[1]

    def once(p: Any, x: Any, y: Any) -> Any:
        scores = net(p, x)
        return ct.nn.logsumexp(scores) - scores[y]

    def twice(p: Any, x: Any, y: Any) -> Any:
        return ct.nn.logsumexp(net(p, x)) - net(p, x)[y]

    reports = [ct.explain(ct.per_example.norms(loss))(p, x, y) for loss in (once, twice)]
    assert [c.formula for c in reports[0].contractions] == [c.formula for c in reports[1].contractions]
    assert reports[1].scratch_bytes == reports[0].scratch_bytes
    found = [ct.per_example.norms(loss)(p, x, y) for loss in (once, twice)]
    np.testing.assert_array_equal(found[1], found[0])
