"""Quantities of `per_example` in single and half precision: nothing overflows or underflows that the result does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products

PE = ct.per_example
Wrap = Callable[[Any], Any]


def linear(w: Any, x: Any) -> Any:
    return x @ w


def sequence(w: Any, x: Any) -> Any:
    """A gradient that is a sum of products."""
    return cnp.sum(cnp.sin(x @ w))


@pytest.mark.parametrize("order", ["direct", "gram", "off", "always", "blocks"])
@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["called", "jitted"])
@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("size", [3e19, 1e-23, 1e30, 3.0])
def test_norms_of_tiny_and_huge_gradients(order: str, wrap: Wrap, chunk_size: int | None, size: float) -> None:
    w, x = np.ones(2, np.float32), np.full((3, 2), size, np.float32)
    with products(order):
        found = wrap(PE.norms(linear, chunk_size=chunk_size))(w, x)
        clipped = wrap(PE.clipped_sum(linear, np.float32(size / 10), chunk_size=chunk_size))(w, x)
        each = wrap(PE.norms(lambda p, x: x @ p["w"] * p["b"], per_leaf=True))({"w": w, "b": np.float32(1)}, x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.full(3, size * 2**0.5), rtol=1e-6)
    np.testing.assert_allclose(clipped, np.full(2, 3 * size / 10 / 2**0.5), rtol=1e-6)
    np.testing.assert_allclose(each["w"], np.full(3, size * 2**0.5), rtol=1e-6)
    np.testing.assert_allclose(each["b"], np.full(3, size * 2), rtol=1e-6)


@pytest.mark.parametrize("order", ["direct", "off", "blocks"])
@pytest.mark.parametrize("size", [1e20, 1e-25])
def test_norms_of_gradients_that_are_sums(order: str, size: float) -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(4, 6, 5)) * size).astype(np.float32)
    w = np.zeros((5, 3), np.float32)
    expected = np.sqrt(3) * np.linalg.norm(x.astype(np.float64).sum(1), axis=1)
    with products(order):
        np.testing.assert_allclose(ct.jit(PE.norms(sequence))(w, x), expected, rtol=1e-5)
        clipped = ct.jit(PE.clipped_sum(sequence, np.float32(size / 100)))(w, x)
    one = x.astype(np.float64).sum(1) / expected[:, None]
    np.testing.assert_allclose(clipped, np.repeat((one.sum(0) * size / 100)[:, None], 3, 1), rtol=1e-4)


def test_a_huge_noise_scale() -> None:
    x = (np.array([[1.0, 2], [3, 4], [2, 1]]) * 1e19).astype(np.float32)
    found = PE.noise_scale(linear)(np.ones(2, np.float32), x)
    plain = PE.noise_scale(linear)(np.ones(2), x.astype(np.float64))
    assert found.scale.dtype == np.float32
    np.testing.assert_allclose(found.scale, plain.scale, rtol=1e-5)


def dotted(w: Any, x: Any) -> Any:
    return cnp.sum(x @ w)


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_directions_in_which_float16_overflows(chunk_size: int | None) -> None:
    w, x = (
        np.ones(4, np.float16),
        np.stack([np.full(4, 6e4), np.full(4, 0.5), [6e4, 6e4, -6e4, -6e4]]).astype(np.float16),
    )
    found = PE.gradient_times_vector(dotted, chunk_size=chunk_size)(w, w, x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, x.astype(np.float32).sum(1))
    np.testing.assert_array_equal(PE.dot(dotted)(w, w, x), found)
    x[1, 0] = np.inf
    assert np.isinf(PE.gradient_times_vector(dotted, chunk_size=chunk_size)(w, w, x)[1])


@pytest.mark.parametrize("count", [0, 1])
def test_a_noise_scale_of_fewer_examples_than_two(count: int) -> None:
    w, x = np.ones(2, np.float32), np.array([[1.0, 2], [3, 4], [2, 1]], np.float32)
    found = ct.mask(PE.noise_scale(linear))(w, ct.Ragged(x, {0: count}, {0: "n"}))
    assert np.isnan([float(part) for part in found]).all()
    two = ct.mask(PE.noise_scale(linear))(w, ct.Ragged(x, {0: 2}, {0: "n"}))
    np.testing.assert_allclose([float(part) for part in two], PE.noise_scale(linear)(w, x[:2]), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-23, 1.0, 1e19])
def test_derivatives_of_norms(size: float) -> None:
    w, x = np.array([0.5, 1, 2], np.float32), np.array([[1.0, 2, 3], [3, 1, 2]], np.float32)

    def loss(w: Any, x: Any) -> Any:
        return cnp.sum(x * w**2) * size

    g = 2 * x * w
    expected = (2 * x * g / np.linalg.norm(g, axis=1)[:, None]).sum(0)
    found = ct.jit(ct.grad(lambda w: cnp.sum(PE.norms(loss)(w, x) / size)))(w)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    zero = ct.grad(lambda w: cnp.sum(PE.norms(loss)(w, 0 * x)))(w)
    np.testing.assert_array_equal(zero, np.zeros(3))


def test_norms_of_single_precision_store_no_gradients() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(300, 200)).astype(np.float32), rng.normal(size=(64, 300)).astype(np.float32)

    def loss(w: Any, x: Any) -> Any:
        return cnp.sum(cnp.tanh(x @ w))

    for of in (PE.norms(loss), ct.grad(lambda w, x: cnp.sum(PE.norms(loss)(w, x)))):
        assert ct.explain(of)(w, x).scratch_bytes < 8 * 64 * (300 + 200) * 4


def product_of_two(w: Any, x: Any, d: Any) -> Any:
    return cnp.sum((x @ w) * d)


CASES: dict[str, tuple[Callable[..., Any], int]] = {
    "linear": (lambda w, x, d: cnp.sum(w[:, 0] * x), 0),
    "product": (product_of_two, 0),
    "sum of products": (product_of_two, 6),
}


@pytest.mark.parametrize("order", ["direct", "off", "blocks"])
@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("case", CASES)
def test_a_variance_far_below_the_squared_mean(case: str, ratio: float, order: str) -> None:
    """It is that of the gradients that float32 has, which are rounded by 1e-7 of the mean."""
    loss, length = CASES[case]
    rng = np.random.default_rng(0)
    steps = (length,) if length else ()
    x = (ratio + rng.normal(size=(64, *steps, 40))).astype(np.float32)
    d = (1 + rng.normal(size=(64, *steps, 30)) / ratio).astype(np.float32)
    w = np.ones((40, 30), np.float32)
    if case == "linear":
        gradients = np.zeros((64, 40, 30))
        gradients[:, :, 0] = x
    else:
        gradients = np.einsum("b...m,b...n->bmn" if not length else "btm,btn->bmn", x.astype(float), d.astype(float))
    expected = gradients.var(0)
    bound = 0.0 if case == "linear" else 2e-7 * ratio * max(length, 1)
    for chunk_size in (None, 32, 10, 1):
        with products(order):
            mean, variance = ct.jit(PE.mean_and_variance(loss, chunk_size=chunk_size))(w, x, d)
        assert mean.dtype == variance.dtype == np.float32
        np.testing.assert_allclose(mean, gradients.mean(0), rtol=2e-7)
        np.testing.assert_allclose(variance, expected, rtol=1e-6 + bound)


@pytest.mark.parametrize("chunk_size", [None, 1, 2, 3])
def test_the_mean_of_infinite_gradients_is_infinite_in_chunks_too(chunk_size: int | None) -> None:
    w = np.array([1, 0, 4, 1], np.float32)
    x = np.array([[1, 0, 1, 1e38], [2, 0, 0, 1e38], [0, 1, 1, 3e38], [1, 2, 0, -3e38]], np.float32)
    mean, variance = PE.mean_and_variance(lambda w, x: cnp.sum(cnp.sqrt(w) * x), chunk_size=chunk_size)(w, x)
    np.testing.assert_allclose(mean, [0.5, np.inf, 0.125, 2.5e37], rtol=1e-6)
    np.testing.assert_allclose(variance[:3], [0.125, np.nan, 0.015625], rtol=1e-6)
    of_float64 = PE.mean_and_variance(lambda w, x: w * x, chunk_size=chunk_size)
    mean, _ = of_float64(np.float64(1), np.array([1.5e308, -1.2e308]))
    np.testing.assert_allclose(mean, 0.15e308)


def test_a_variance_of_float32_stores_no_gradients() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(300, 200)).astype(np.float32), rng.normal(size=(256, 300)).astype(np.float32)
    explained = ct.explain(PE.mean_and_variance(lambda w, x: cnp.sum(cnp.tanh(x @ w))))(w, x)
    assert explained.scratch_bytes < 256 * w.nbytes / 16


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_a_variance_of_one_example_and_of_equal_ones_is_zero(chunk_size: int | None) -> None:
    w, x = np.ones((40, 30), np.float32), np.full((64, 40), 1e6 / 3, np.float32)
    d = np.full((64, 30), 1 / 3, np.float32)
    for rows in (1, 64):
        variance = PE.mean_and_variance(product_of_two, chunk_size=chunk_size)(w, x[:rows], d[:rows])[1]
        assert (np.asarray(variance) >= 0).all()
        np.testing.assert_allclose(variance, np.zeros((40, 30)), atol=1e-14 * (1e6 / 9) ** 2)


def test_norms_of_float64_have_the_range_of_its_squares() -> None:
    """As the docstrings say."""
    w, x = np.ones(2), np.array([[3e153, 4e153], [3e155, 4e155], [3e-153, 4e-153], [3e-200, 4e-200]])
    np.testing.assert_allclose(PE.norms(linear)(w, x), [5e153, np.inf, 5e-153, 0], rtol=1e-9)
    np.testing.assert_allclose(PE.clipped_sum(linear, 1.0)(w, x[1:2]), [0, 0])
    np.testing.assert_allclose(PE.clipped_sum(linear, 1.0)(w, x[3:]), [3e-200, 4e-200])
    np.testing.assert_allclose(PE.clipped_sum(linear, 1.0)(w, x[:1]), [0.6, 0.8], rtol=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_noise_scales_have_the_digits_that_they_say(dtype: str, ratio: float) -> None:
    rng = np.random.default_rng(0)
    x = (ratio + rng.normal(size=(64, 20))).astype(dtype)
    trace = float(x.astype(np.float64).var(0, ddof=1).sum())
    found = PE.noise_scale(linear)(np.ones(20, dtype), x)
    scale = trace / float((x.astype(np.float64).mean(0) ** 2).sum())
    digits = 1e-7 if dtype == "float32" else 1e-16
    np.testing.assert_allclose(found.trace, trace, rtol=10 * digits * (1 + 1 / scale))
    np.testing.assert_allclose(found.scale, scale, rtol=0.1)


@pytest.mark.parametrize("chunk_size", [None, 10])
def test_derivatives_of_a_variance_far_below_the_squared_mean(chunk_size: int | None) -> None:
    rng = np.random.default_rng(0)
    x = (1e3 + rng.normal(size=(64, 5))).astype(np.float32)
    loss = lambda w, x: cnp.sum(cnp.square(w) * x) / 2  # noqa: E731
    for of in (ct.grad, lambda f: ct.jit(ct.grad(f))):
        found = of(lambda w: cnp.sum(PE.mean_and_variance(loss, chunk_size=chunk_size)(w, x)[1]))(
            np.ones(5, np.float32)
        )
        np.testing.assert_allclose(found, 2 * x.astype(np.float64).var(0), rtol=1e-4)
