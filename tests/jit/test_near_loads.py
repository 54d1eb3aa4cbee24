"""Elements a few apart are loaded with what lies between them; short folds run one in each lane; so do repeats; searches run in several vectors."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "int64", "bool", "complex64"]


def draw(*shape, dtype="float32", seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 4
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return (x + 1j * x[::-1]).astype(dtype) if dtype.kind == "c" else x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stride", [2, 3, 4, 5, 8, 9])
def test_every_nth_element(dtype, stride):
    for size in (7, 64, 129, 1000):
        x = draw(size, dtype=dtype)
        for start in {0, 1, stride - 1}:
            found = ct.jit(lambda x: cnp.positive(x[start::stride]) if dtype != "bool" else ~~x[start::stride])(x)
            np.testing.assert_array_equal(np.asarray(found), x[start::stride])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [2, 3, 4, 7, 8, 9])
def test_columns_of_narrow_arrays(dtype, columns):
    x = draw(533, columns, dtype=dtype)
    for column in (0, columns - 1):
        np.testing.assert_array_equal(
            ct.jit(lambda x: x[:, column] | False if dtype == "bool" else x[:, column] * 1)(x), x[:, column]
        )
    if dtype not in ("bool", "bfloat16", "float16"):
        f = ct.jit(lambda x: (x.sum(1), (x * x).sum(1), x.max(1) if dtype != "complex64" else x.prod(1)))
        wide = x.astype("complex128" if dtype == "complex64" else "float64")
        sums = f(x)
        np.testing.assert_allclose(
            np.asarray(sums[0], wide.dtype), x.sum(1, dtype=np.asarray(sums[0]).dtype), rtol=1e-5, atol=1e-4
        )
        np.testing.assert_allclose(
            np.asarray(sums[1]), (x * x).sum(1, dtype=np.asarray(sums[1]).dtype), rtol=1e-5, atol=1e-4
        )
        np.testing.assert_allclose(
            np.asarray(sums[2]), x.max(1) if dtype != "complex64" else x.prod(1), rtol=1e-5, atol=1e-4
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2, 3, 4, 7, 9, 31])
def test_repeats(dtype, count):
    for size in (1, 7, 16, 64, 65, 1000, 4099):
        x = draw(size, dtype=dtype)
        np.testing.assert_array_equal(ct.jit(lambda x: cnp.repeat(x, count))(x), np.repeat(x, count))
    x = draw(37, 133, dtype=dtype)
    for axis in (0, 1):
        np.testing.assert_array_equal(ct.jit(lambda x: cnp.repeat(x, count, axis))(x), np.repeat(x, count, axis))


@pytest.mark.parametrize("size", [100_003, 1 << 20, 2_500_024])
def test_long_repeats_of_what_is_computed(size):
    x, y = draw(size), draw(size, seed=1)
    found = ct.jit(lambda x, y: cnp.repeat(cnp.where(x > 0, x * 2, y), 3))(x, y)
    np.testing.assert_array_equal(found, np.repeat(np.where(x > 0, x * 2, y), 3))
    np.testing.assert_array_equal(
        ct.jit(lambda: cnp.repeat(cnp.arange(size) * 2, 3))(), np.repeat(np.arange(size) * 2, 3)
    )


@pytest.mark.parametrize("size", [1, 5, 16, 17, 100])
@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 9])
def test_pairwise_distances(size, dimension):
    x = draw(size, dimension)
    squares = ct.jit(lambda x: ((x[:, None] - x[None]) ** 2).sum(-1))(x)
    exact = ((x[:, None].astype("f8") - x[None]) ** 2).sum(-1)
    np.testing.assert_allclose(squares, exact, rtol=1e-5)
    weighted = ct.jit(ct.grad(lambda x: cnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1).sum()))(x)
    difference = x[:, None].astype("f8") - x[None]
    np.testing.assert_allclose(weighted, 2 * (difference / np.sqrt(exact + 1)[..., None]).sum(1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [(1 << 15) + 5, 1 << 16, (1 << 18) + 37])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_many_searches(count, dtype):
    table, wanted = np.sort(draw(3001, dtype=dtype)), draw(count, dtype=dtype, seed=1)
    for side in ("left", "right"):
        found = ct.jit(lambda a, v: cnp.searchsorted(a, v, side))(table, wanted)
        np.testing.assert_array_equal(found, np.searchsorted(table, wanted, side))
