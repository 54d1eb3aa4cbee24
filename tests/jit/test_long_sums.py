"""Sums of so many numbers that a running float32 stops counting (2**24 ones): exact in every tier."""

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

COUNT = 2**24 + 100
TIERS = {"eager": lambda function: function, "jit": ct.jit}


@pytest.fixture(scope="module")
def ones():
    return cnp.ones((COUNT, 2), "float32")


def _last(x):
    return np.asarray(x).reshape(-1)[-1].real.astype("float64")


SUMS = {
    "cumsum": lambda x: cnp.cumsum(x[:, 0]),
    "cumsum from the end": lambda x: lax.cumsum(x[:, 0], reverse=True)[:1],
    "cumsum along axis 0": lambda x: cnp.cumsum(x, 0)[-1:],
    "sum along axis 0": lambda x: x.sum(0),
    "sum of a product": lambda x: (x * x).sum(0),
    "sum of a middle axis": lambda x: x.reshape(1, COUNT, 2).sum(1),
    "sum": lambda x: x[:, 0].sum(),
    "mean": lambda x: x.mean(0) * COUNT,
    "variance": lambda x: (x + x).var(0, mean=cnp.ones(2, "float32")) * COUNT,
}


@pytest.mark.parametrize("name", list(SUMS))
def test_long_sums_are_exact(ones, name):
    for tier in TIERS.values():
        assert _last(tier(SUMS[name])(ones)) == COUNT


def test_long_sums_of_many_columns():
    rows = 2**16 + 77
    x = cnp.full((rows, 96), 300.1, "float32")
    for tier in TIERS.values():
        for result in (tier(lambda x: x.sum(0))(x), tier(lambda x: (x * 1).reshape(1, rows, 96).sum(1)[0])(x)):
            np.testing.assert_allclose(np.asarray(result, "float64"), rows * np.float64(np.float32(300.1)), rtol=4e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(20011,), (2, 17000), (17000, 3), (5000, 70), (3, 4100, 5), (16384,), (5, 9001, 7)])
def test_sums_in_blocks_add_every_element_once(dtype, shape):
    x = np.random.default_rng(0).integers(-3, 4, size=shape)
    given = cnp.array(x).astype(dtype)
    for axis in range(len(shape)):
        # Whole numbers, exact in any order.
        exact = x.sum(axis)
        summed = np.asarray(ct.jit(lambda x, axis=axis: x.sum(axis))(given)).astype("complex128").real
        largest = np.asarray(ct.jit(lambda x, axis=axis: (x.sum(axis), x.real.max(axis)))(given)[1]).astype("float64")
        np.testing.assert_array_equal(summed, np.asarray(cnp.array(exact).astype(dtype)).astype("complex128").real)
        np.testing.assert_array_equal(largest, x.max(axis))
        running = np.asarray(ct.jit(lambda x, axis=axis: cnp.cumsum(x, axis))(given)).astype("complex128").real
        expected = np.asarray(cnp.array(np.cumsum(x, axis)).astype(dtype)).astype("complex128").real
        np.testing.assert_array_equal(running, expected)


def test_running_sums_have_the_same_bits_in_every_tier():
    x = np.random.default_rng(1).normal(size=3000)
    for dtype in ("float16", "float32", "float64", "complex64"):
        given = cnp.array(x).astype(dtype)
        for function in (cnp.cumsum, lambda x: cnp.cumprod(1 + x * 0.01)):
            expected = np.asarray(function(given))
            for tier in (ct.jit(function), ct.jit(function, backend="interpreter")):
                np.testing.assert_array_equal(np.asarray(tier(given)), expected)


PRODUCTS = {
    "dot": lambda x: x[:, 0] @ x[:, 1],
    "matmul": lambda x: x.T @ x,
    "row by matrix": lambda x: x[:, 0] @ x,
    "complex dot": lambda x: x[:, 0].astype("complex64") @ x[:, 1].astype("complex64"),
}


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_long_products_are_exact(ones, name):
    for tier in TIERS.values():
        assert _last(tier(PRODUCTS[name])(ones)) == COUNT


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float32", "float64", "complex64"])
def test_running_folds_of_every_remainder(name, dtype):
    """A single fold of a narrow type goes by runs of four elements, of which one operation waits for the run before."""
    if dtype == "complex64" and name in ("cummax", "cummin"):
        return
    fold = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}[name]
    for size in (1, 2, 3, 4, 5, 6, 7, 8, 203):
        x = np.random.default_rng(size).uniform(-2, 2, size).astype(dtype)
        wide = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype)
        for reverse in (False, True):
            expected = fold.accumulate(x[::-1] if reverse else x, dtype=wide).astype(dtype)
            got = ct.jit(lambda x, reverse=reverse: getattr(lax, name)(x + 0, reverse=reverse))(x)
            rtol = {"f": np.finfo(x.dtype).eps if x.dtype.kind == "f" else 0, "c": 1e-6}.get(x.dtype.kind, 0)
            np.testing.assert_allclose(got, expected[::-1] if reverse else expected, rtol=rtol)


def test_a_running_sum_keeps_what_is_not_finite_where_it_is():
    x = np.ones(13, np.float32)
    x[6], x[9] = np.inf, np.nan
    np.testing.assert_array_equal(ct.jit(cnp.cumsum)(x), np.cumsum(x))
    np.testing.assert_array_equal(ct.jit(lambda x: lax.cumsum(x, reverse=True))(x), np.cumsum(x[::-1])[::-1])
