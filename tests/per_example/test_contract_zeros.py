"""Sums of products in another order, where derivatives have factors without a bound: an exact zero wins over infinity and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import normal, products

QUANTITIES = ["norms", "clipped_sum", "second_moment", "kernel"]


def quantity(name: str, loss: Any) -> Any:
    of = getattr(ct.per_example, name)
    return ct.jit(of(loss, 0.5) if name == "clipped_sum" else of(loss))


def weight_of(kind: str) -> Callable[[Any], Any]:
    mask = (np.random.default_rng(1).random((24, 20)) < 0.5).astype(np.float64)
    return {
        "exp": cnp.exp,
        "mask": lambda p: p * mask.astype(p.dtype),
        "gate": lambda p: p * ct.nn.sigmoid(p),
        "normalised": lambda p: p / cnp.sqrt(cnp.sum(p * p, axis=0)),
        "softmax": lambda p: ct.nn.softmax(p, axis=-1),
        "quotient": lambda p: 1 / (p + 9),
    }[kind]


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("kind", ["exp", "mask", "gate", "normalised", "softmax", "quotient"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_that_are_made_of_parameters(name: str, kind: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    p, x, y = (v.astype(dtype) for v in (normal(rng, 24, 20), rng.normal(size=(40, 24)), rng.normal(size=(40, 20))))
    weight = weight_of(kind)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum((cnp.tanh(x @ weight(p)) - y) ** 2)

    with products("off"):
        expected = np.asarray(quantity(name, loss)(p, x, y))
    for order in ("direct", "always"):
        with products(order):
            found = quantity(name, loss)(p, x, y)
        rounding = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * np.max(np.abs(expected)), err_msg=order)


def test_normalised_weights_are_contracted() -> None:
    rng = np.random.default_rng(0)
    p, x, y = (
        v.astype(np.float32) for v in (normal(rng, 128, 96), rng.normal(size=(64, 128)), rng.normal(size=(64, 96)))
    )

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum((x @ (cnp.exp(p) / cnp.sqrt(cnp.sum(p * p, axis=0))) - y) ** 2)

    report = ct.explain(quantity("clipped_sum", loss))(p, x, y)
    assert report.contractions
    assert report.scratch_bytes < 2 << 20  # 3 MiB would be a single array of gradients


def agree(loss: Any, p: Any, x: Any, y: Any) -> list[np.ndarray]:
    """Norms and clipped sums are what they are without the pass: finite in the same places."""
    results = []
    for name in ("norms", "clipped_sum", "second_moment"):
        with products("off"):
            expected = np.asarray(quantity(name, loss)(p, x, y))
        with products("always"):
            assert ct.explain(quantity(name, loss))(p, x, y).contractions
            found = np.asarray(quantity(name, loss)(p, x, y))
        is_finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found), is_finite, err_msg=name)
        np.testing.assert_allclose(found[is_finite], expected[is_finite], rtol=1e-9, atol=1e-12, err_msg=name)
        results.append(found)
    return results


def test_zeros_win_over_infinite_derivatives() -> None:
    """Roots of zeros have infinite derivatives, which examples do not reach whose inputs, or cotangents, are zero there."""
    rng = np.random.default_rng(0)
    p, x, y = rng.uniform(0.5, 1, size=(24, 20)), rng.normal(size=(40, 24)), rng.normal(size=(40, 20))
    p[3, 5] = p[7, :] = 0
    x[:, [3, 7]] = 0

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum((x @ cnp.sqrt(p) - y) ** 2)

    norms, *_ = agree(loss, p, x, y)
    assert np.all(np.isfinite(norms))
    x[2, 3] = 1  # this one reaches it
    x[9, 7] = 1
    norms, _, second = agree(loss, p, x, y)
    assert np.flatnonzero(~np.isfinite(norms)).tolist() == [2, 9]
    assert not np.isfinite(second[3, 5])
    assert not np.any(np.isfinite(second[7]))
    assert np.isfinite(second[3, 4])


def test_zeros_win_over_infinite_cotangents() -> None:
    """Nothing reaches a state whose transitions are all forbidden: its logarithm is infinite, and not its derivative."""
    rng = np.random.default_rng(0)
    p, x, y = rng.normal(size=(24, 20)), rng.uniform(0.5, 1, size=(40, 24)), rng.normal(size=(40, 20))
    p[:, 4] = -np.inf

    def loss(p: Any, x: Any, y: Any) -> Any:
        scores = cnp.log(x @ cnp.exp(p))
        return cnp.sum(cnp.where(y > 0, 1.0, 0.5) * cnp.maximum(scores, -1e3))

    def unbounded(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum(y * cnp.log(x @ cnp.exp(p)))

    for each in (loss, unbounded):
        norms, *_ = agree(each, p, x, y)
        assert np.all(np.isfinite(norms))


def test_what_is_no_number_stays_none() -> None:
    rng = np.random.default_rng(0)
    p, x, y = rng.normal(size=(24, 20)), rng.normal(size=(40, 24)), rng.normal(size=(40, 20))
    x[5, 2], y[6, 1] = np.nan, np.inf

    def loss(p: Any, x: Any, y: Any) -> Any:
        return cnp.sum((x @ cnp.exp(p) - y) ** 2)

    norms, *_ = agree(loss, p, x, y)
    assert np.flatnonzero(~np.isfinite(norms)).tolist() == [5, 6]
