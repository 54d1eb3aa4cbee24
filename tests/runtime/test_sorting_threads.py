"""Long sorts, which threads share: NumPy's stable order for every dtype and however the keys are distributed, on any number of threads."""

from __future__ import annotations

import os
from collections.abc import Iterator

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest

SIZE = (1 << 17) + 77
RNG = np.random.default_rng(5)


# A device's threads are not counted.
COUNTS = (
    {"one thread": 1, "all threads": 0} if os.environ.get("CT_DEVICE", "cpu") in ("", "cpu", "llvm") else {"all": 0}
)


@pytest.fixture(params=COUNTS.values(), ids=COUNTS.keys(), autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    ct.config.update("threads", request.param)
    yield
    ct.config.update("threads", 0)


def keys(name: str, distribution: str) -> np.ndarray:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if distribution == "equal":
        return np.ones(SIZE, dtype)
    if distribution == "few":
        return RNG.integers(0, 5, SIZE).astype(dtype)
    if distribution == "most alike":  # one group has nearly all
        return np.where(RNG.random(SIZE) < 0.9, 1 + RNG.random(SIZE) / 64, RNG.standard_normal(SIZE) * 100).astype(
            dtype
        )
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, SIZE, dtype=dtype, endpoint=True)
    x = RNG.standard_normal(SIZE) * 30
    if distribution == "special":
        x[::9], x[1::11], x[2::13], x[3::17] = np.nan, -0.0, 0.0, -np.inf
    return x.astype(dtype)


CASES = [
    *((d, k) for d in ["float32", "float64", "int32", "uint64"] for k in ["wide", "equal", "few", "most alike"]),
    *((d, "wide") for d in ["int8", "uint16", "int64", "float16", "bfloat16"]),
    *((d, "special") for d in ["float32", "float64", "float16"]),
]


@pytest.mark.parametrize(("dtype", "distribution"), CASES)
def test_long_lines(dtype: str, distribution: str) -> None:
    x = keys(dtype, distribution)
    a = cnp.array(x, dtype=x.dtype)
    wide = x.astype(np.float64) if dtype in ("float16", "bfloat16") else x  # NumPy has no stable order of bfloat16
    order = np.argsort(wide, kind="stable")
    np.testing.assert_array_equal(np.asarray(ct.jit(lambda a: cnp.argsort(a, stable=True))(a)), order)
    values = np.asarray(ct.jit(cnp.sort)(a))
    assert values.tobytes() == x[order].tobytes()
    down = np.asarray(ct.jit(lambda a: cnp.sort(a, descending=True))(a))
    back = np.asarray(ct.jit(lambda a: cnp.argsort(a, stable=True, descending=True))(a))
    assert down.tobytes() == x[order][::-1].tobytes()
    np.testing.assert_array_equal(wide[back], wide[order][::-1])
    assert (np.diff(back)[wide[back][1:] == wide[back][:-1]] > 0).all()


def test_several_keys_and_some_of_the_places() -> None:
    first, second = RNG.integers(0, 9, SIZE).astype(np.int32), RNG.standard_normal(SIZE).astype(np.float32)
    found = ct.jit(lambda *xs: ct.lax.sort((*xs, cnp.arange(SIZE)), num_keys=2))(first, second)
    order = np.lexsort((second, first))
    for ours, theirs in zip(found, (first[order], second[order], order), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    values, places = ct.lax.top_k(cnp.array(second), SIZE // 2)
    np.testing.assert_array_equal(places, np.argsort(-second, kind="stable")[: SIZE // 2])
    np.testing.assert_array_equal(values, second[np.asarray(places)])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_lines(axis: int) -> None:
    x = RNG.standard_normal((7, 130, 150)).astype(np.float32)
    x[0, ::3] = np.nan
    np.testing.assert_array_equal(ct.jit(lambda x: cnp.sort(x, axis=axis))(x), np.sort(x, axis=axis))
    np.testing.assert_array_equal(
        ct.jit(lambda x: cnp.argsort(x, axis=axis, stable=True))(x), np.argsort(x, axis=axis, kind="stable")
    )
