"""Sorting on a GPU: a bitonic network, whose rounds are a loop; as the processor sorts, by bits."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("names_devices")

SIZES = (2, 3, 32, 33, 64, 100, 128, 700)  # of an odd and an even number of rounds, with and without padding


def unusual(shape: tuple[int, ...], dtype: str) -> Any:
    """Repeated values, and of floats NaN, infinities and both zeros."""
    random = np.random.default_rng(0)
    x = np.round(random.normal(size=shape) * 20) / 4
    if dtype.startswith(("float", "complex")):
        x = np.where(random.random(shape) < 0.3, random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), x)
    if dtype.startswith("complex"):
        parts = np.empty(shape, dtype)
        parts.real, parts.imag = x, np.roll(x, 3)
        return parts
    return x.astype(dtype)


def assert_equal_bits(found: Any, expected: Any) -> None:
    for x, y in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        np.testing.assert_array_equal(x, y)
        if x.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(x), np.signbit(y))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint32", "bool", "complex64"])
def test_values_and_positions(dtype: str, size: int) -> None:
    x = unusual((3, size, 2), dtype)

    def f(x: Any) -> Any:
        ascending = [ct.lax.sort(x, dimension=1), cnp.argsort(x, axis=1)]
        return ascending if dtype == "complex64" else [*ascending, cnp.argsort(x, axis=1, descending=True)]

    assert_equal_bits(ct.jit(f, backend="cuda-emulated")(x), ct.jit(f)(x))


@pytest.mark.parametrize("size", SIZES)
def test_several_keys_and_what_goes_along(size: int) -> None:
    keys = [unusual((2, size), dtype) for dtype in ("bool", "complex64", "float32")]
    along = np.arange(2 * size, dtype=np.int16).reshape(2, size)
    for count in (1, 2, 3):
        f = lambda *xs: ct.lax.sort(xs, dimension=1, num_keys=count)  # noqa: E731
        assert_equal_bits(ct.jit(f, backend="cuda-emulated")(*keys, along), ct.jit(f)(*keys, along))


@pytest.mark.parametrize("size", [33, 64, 700])
def test_lines_of_a_length(size: int) -> None:
    x = unusual((4, size), "float32")
    lengths = np.array([0, 1, size // 2, size], np.int32)

    def f(x: Any, n: Any) -> Any:
        sort = ct.vmap(ct.mask(lambda line: (cnp.sort(line), cnp.argsort(line, descending=True))))
        return [one.data for one in sort(ct.Ragged(x, {1: n}))]

    for found, expected in zip(ct.jit(f, backend="cuda-emulated")(x, lengths), ct.jit(f)(x, lengths), strict=True):
        for line, wanted, n in zip(np.asarray(found), np.asarray(expected), lengths, strict=True):
            np.testing.assert_array_equal(line[:n], wanted[:n])


def kernels(size: int) -> int:
    x = ct.ShapeDtypeStruct((size,), np.float32)
    return ct.jit(cnp.sort, backend="cuda-emulated").lower(x).compile().as_text().count("kernel kernel")


def test_the_program_does_not_grow_with_the_length() -> None:
    assert kernels(1 << 11) == 1  # all rounds in one block
    assert kernels(1 << 16) <= kernels(1 << 20) <= 8
    x = np.random.default_rng(0).permutation(1 << 16).astype(np.float32)
    assert (np.asarray(ct.jit(cnp.sort, backend="cuda-emulated")(x)) == np.arange(1 << 16)).all()


RACES = """
import numpy as np, cotangent as ct, cotangent.numpy as cnp
for size in (33, 300, 5_000):
    x = np.random.default_rng(0).permutation(size).astype(np.float32)
    order = np.asarray(ct.jit(cnp.argsort, backend="cuda-emulated")(x))
    assert (x[order] == np.arange(size)).all(), size
print("sorted")
"""


@pytest.mark.parametrize("order", ["reverse", "random"])
def test_no_two_threads_meet(order: str) -> None:
    environment = {**os.environ, "CT_CHECK_RACES": "1", "CT_THREAD_ORDER": order}
    ended = subprocess.run(
        [sys.executable, "-c", RACES], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0 and ended.stdout == "sorted\n", ended.stderr
