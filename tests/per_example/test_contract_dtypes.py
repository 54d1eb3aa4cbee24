"""Sums of products in another order, across conversions: gradients that are converted to the dtype of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest
from contract_models import gradients, normal, products

QUANTITIES = ["norms", "clipped_sum", "second_moment", "kernel"]


def quantity(name: str, loss: Any) -> Any:
    of = getattr(ct.per_example, name)
    return ct.jit(of(loss, 0.5) if name == "clipped_sum" else of(loss))


def mixed(param: Any, data: Any) -> Any:
    """A model whose parameters are converted to the dtype of the data."""
    rng = np.random.default_rng(0)
    params = [normal(rng, 64, 96).astype(param), normal(rng, 96, 48).astype(param)]

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum((cnp.tanh(x @ p[0].astype(data)) @ p[1].astype(data) - y) ** 2)

    return loss, params, rng.normal(size=(32, 64)).astype(data), rng.normal(size=(32, 48)).astype(data)


def adapted() -> Any:
    """Frozen weights of float64, with a product of low rank in float32 beside them."""
    rng = np.random.default_rng(0)
    frozen = normal(rng, 64, 96)
    params = [normal(rng, k, n).astype(np.float32) for k, n in ((64, 3), (3, 96), (96, 48))]

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum((cnp.tanh(x @ (frozen + p[0] @ p[1])) @ p[2] - y) ** 2)

    x, y = rng.normal(size=(32, 64)), rng.normal(size=(32, 48))
    return loss, params, x.astype(np.float32), y.astype(np.float32)


MODELS: dict[str, tuple[Callable[[], Any], float]] = {
    "float16": (lambda: mixed(np.float16, np.float32), 1e-3),
    "bfloat16": (lambda: mixed(ml_dtypes.bfloat16, np.float32), 8e-3),
    "float32": (lambda: mixed(np.float32, np.float64), 1e-6),
    "adapted": (adapted, 1e-6),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", QUANTITIES)
def test_gradients_that_are_converted_to_a_narrower_dtype(name: str, model: str) -> None:
    make, rounding = MODELS[model]
    loss, params, x, y = make()
    with products("always"):
        found = quantity(name, loss)(params, x, y)
    if name != "second_moment":  # which loops make as fast, at this size
        assert ct.explain(quantity(name, loss))(params, x, y).contractions
    wide = [np.asarray(p, np.float64) for p in params]
    with products("off"):
        expected = quantity(name, loss)(wide, x.astype(np.float64), y.astype(np.float64))
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=0, atol=rounding * np.max(np.abs(b)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_results_of_half_precision(dtype: Any) -> None:
    """What is made anew is made in float32, and converted at the end."""
    loss, params, x, y = mixed(dtype, np.float32)

    def clipped(p: Any, x: Any, y: Any) -> Any:
        g = gradients(loss, p, x, y)
        norms = cnp.sqrt(sum(cnp.sum(cnp.square(leaf), axis=(1, 2)) for leaf in g))
        return [cnp.einsum("b,bmn->mn", cnp.minimum(1, 1 / norms), leaf) for leaf in g]

    found = ct.jit(clipped)(params, x, y)
    assert len(ct.explain(clipped)(params, x, y).contractions) == 4
    with products("off"):
        expected = ct.jit(clipped)([np.asarray(p, np.float32) for p in params], x, y)
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).dtype == dtype
        largest = np.max(np.abs(b))
        np.testing.assert_allclose(np.asarray(a, np.float32), b, rtol=0, atol=0.02 * largest)


def test_a_weight_that_is_used_in_two_dtypes() -> None:
    """Terms that are alike but for the dtypes of their factors are one product of matrices."""
    rng = np.random.default_rng(0)
    a, d = rng.normal(size=(2, 16, 60)), rng.normal(size=(2, 16, 70))
    b, e = (v.astype(np.float32) for v in (a[1], d[1]))

    def clipped(a: Any, d: Any, b: Any, e: Any, c: Any) -> Any:
        g = cnp.einsum("bm,bn->bmn", a, d).astype(np.float32) + cnp.einsum("bm,bn->bmn", b, e)
        return cnp.einsum("b,bmn->mn", c, g / c[:, None, None])

    c = rng.uniform(1, 2, size=16).astype(np.float32)
    assert ct.explain(clipped)(a[0], d[0], b, e, c).contractions
    found = ct.jit(clipped)(a[0], d[0], b, e, c)
    np.testing.assert_allclose(found, np.einsum("kbm,kbn->mn", a, d), rtol=1e-5, atol=1e-4)


def test_what_a_narrower_dtype_cannot_hold() -> None:
    """A sum is rounded once, at its end: its terms need not fit the narrower dtype."""
    a, d = np.full((8, 40), 400, np.float32), np.full((8, 50), 400, np.float32)
    weights = np.full(8, 2.0**-10, np.float32)

    def weighted(a: Any, d: Any, weights: Any) -> Any:
        g = cnp.einsum("bm,bn->bmn", a, d).astype(np.float16)
        return cnp.einsum("b,bmn->mn", weights, g.astype(np.float32))

    np.testing.assert_allclose(ct.jit(weighted)(a, d, weights), np.full((40, 50), 1250.0))
