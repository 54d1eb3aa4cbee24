"""Products of bfloat16 next to those of the same numbers in float64: large enough for the processor's instructions of pairs, where it has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(ml_dtypes.bfloat16)


def wide(x: Any) -> Any:
    return np.asarray(x).astype(np.float64)


def check(result: Any, expected: Any, magnitude: Any) -> None:
    """To a half of bfloat16's last place, and what float32 loses in a sum of this magnitude."""
    assert result.dtype == ml_dtypes.bfloat16
    assert result.shape == expected.shape
    assert (np.abs(wide(result) - expected) <= 2.0**-8 * np.abs(expected) + 1e-6 * magnitude).all()


SIZES = [(64, 64, 64), (33, 65, 97), (8, 200, 40), (300, 9, 31), (40, 40, 8), (70, 50, 5000), (16, 16, 40000)]


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
@pytest.mark.parametrize("layout", ["a b", "a^T b", "a b^T", "a^T b^T", "(a b)^T", "a[::2] b[:, ::2]"])
def test_layouts(m: int, n: int, k: int, layout: str) -> None:
    a, b = numbers(m, k), numbers(k, n, seed=1)
    exact, magnitude = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))
    if layout == "a b":
        result = ct.jit(lambda a, b: a @ b)(a, b)
    elif layout == "a^T b":
        result = ct.jit(lambda a, b: a.T @ b)(np.ascontiguousarray(a.T), b)
    elif layout == "a b^T":
        result = ct.jit(lambda a, b: a @ b.T)(a, np.ascontiguousarray(b.T))
    elif layout == "a^T b^T":
        result = ct.jit(lambda a, b: a.T @ b.T)(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T))
    elif layout == "(a b)^T":
        result = ct.jit(lambda a, b: (a @ b).T)(a, b).T
    else:
        result = ct.jit(lambda a, b: a[::2] @ b[:, ::2])(np.repeat(a, 2, 0), np.repeat(b, 2, 1))
    check(result, exact, magnitude)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_eager_products(m: int, n: int, k: int) -> None:
    a, b = numbers(m, k), numbers(k, n, seed=1)
    exact, magnitude = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))
    check(cnp.asarray(a) @ cnp.asarray(b), exact, magnitude)
    check(cnp.einsum("bkm,bkn->bmn", np.ascontiguousarray(a.T)[None], b[None])[0], exact, magnitude)


def test_sums_are_float32() -> None:
    # As bfloat16, 4096 ones are added up to 256.
    x = cnp.ones((64, 4096), "bfloat16")
    assert (wide(ct.jit(lambda x: x @ x.T)(x)) == 4096).all()
    result = ct.jit(lambda x: ct.lax.dot(x, x.T, preferred_element_type="float32"))(numbers(64, 300))
    exact = wide(numbers(64, 300)) @ wide(numbers(64, 300)).T
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-4)


def test_batches_and_gradients() -> None:
    x, w, b = numbers(5, 48, 40), numbers(40, 72, seed=1), numbers(5, 72, 33, seed=2)
    batched = ct.jit(ct.vmap(lambda x, b: (x @ w, x.T @ x)))(x, b)
    check(batched[0], wide(x) @ wide(w), np.abs(wide(x)) @ np.abs(wide(w)))
    turned = np.swapaxes(wide(x), 1, 2)
    check(batched[1], turned @ wide(x), np.abs(turned) @ np.abs(wide(x)))
    check(
        ct.jit(cnp.matmul)(np.asarray(batched[0]), b),
        wide(batched[0]) @ wide(b),
        np.abs(wide(batched[0])) @ np.abs(wide(b)),
    )

    def loss(w: Any, x: Any) -> Any:
        return ((x @ w).astype("float32") ** 2).sum()

    for name, gradient in {
        "grad": ct.jit(ct.grad(loss))(w, x[0]),
        "vmap": ct.jit(ct.vmap(ct.grad(loss), (None, 0)))(w, x)[0],
    }.items():
        products = np.asarray(ct.jit(lambda x, w: x @ w)(x[0], w))
        twice = (2 * products.astype(np.float32)).astype(ml_dtypes.bfloat16)
        assert gradient.dtype == ml_dtypes.bfloat16, name
        exact, magnitude = wide(x[0]).T @ wide(twice), np.abs(wide(x[0])).T @ np.abs(wide(twice))
        check(gradient, exact, magnitude)


def test_lengths() -> None:
    x, w = numbers(6, 50, 64), numbers(64, 80, seed=1)
    lengths = np.array([50, 33, 32, 1, 0, 17], np.int32)

    def program(x: Any) -> Any:
        return (x @ w).astype("float32").sum(0)

    masked = ct.jit(ct.vmap(lambda x, n: ct.mask(program)(ct.Ragged(x, {0: n}))))(x, lengths)
    for i, length in enumerate(lengths):
        exact = (np.asarray(ct.jit(lambda x: x @ w)(x[i])).astype(np.float64))[:length].sum(0)
        np.testing.assert_allclose(masked[i], exact, rtol=1e-5, atol=1e-3)


def test_threads_give_the_same_bits() -> None:
    a, b = numbers(600, 700), numbers(700, 500, seed=1)
    product = ct.jit(lambda a, b: a @ b)
    first = np.asarray(product(a, b))
    assert all((np.asarray(product(a, b)) == first).all() for _ in range(20))
    check(product(a, b), wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b)))


def test_operands_that_were_bfloat16_are_read_as_they_were() -> None:
    a, b = numbers(48, 100), numbers(100, 64, seed=1)
    exact, magnitude = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))

    def product(a: Any, b: Any) -> Any:
        return ct.lax.dot(a, b, preferred_element_type="float32")

    def programs() -> Iterator[tuple[str, Any]]:
        yield "plain", ct.jit(product)(a, b)
        yield "transposed", ct.jit(lambda a, b: product(a.T, b.T))(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T))
        yield "sliced", ct.jit(lambda a, b: product(a[::2], b))(np.repeat(a, 2, 0), b)
        yield "used twice", ct.jit(lambda a, b: (product(a, b), a.astype("float32")))(a, b)[0]
        yield "one stays wide", ct.jit(lambda a, b: a.astype("float32") @ (b.astype("float32") * 2) / 2)(a, b)
        yield "batch", ct.jit(ct.vmap(product))(a[None], b[None])[0]

    for name, result in programs():
        assert result.dtype == np.float32, name
        assert (np.abs(wide(result) - exact) <= 1e-6 * magnitude).all(), name
    inner = ct.jit(lambda x, y: cnp.vdot(x.astype("float32"), y.astype("float32")))(a.reshape(-1), a.reshape(-1))
    np.testing.assert_allclose(inner, (wide(a) ** 2).sum(), rtol=1e-5)
