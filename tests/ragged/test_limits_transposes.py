"""Arrays that are read along columns go in tiles up to lengths: values around the edges of tiles, and zeros behind the lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

BOUND = 530  # 16 tiles of 32 and one of 18
LENGTHS = [BOUND, 0, 1, 31, 32, 33, 511, 512, 513, BOUND - 1, BOUND]
AXES = ((0,), (1,), (0, 1))
X = np.random.default_rng(2).integers(-40, 40, (BOUND, BOUND))

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "turned over": lambda x: 1 - x.T,
    "twice": lambda x: (x.T * 2, x.T + 1),
}


def ending(n: int, axes: tuple[int, ...], dtype: str) -> tuple[np.ndarray, ct.Ragged]:
    exact = X.astype(dtype)
    inside = tuple(slice(n) if axis in axes else slice(None) for axis in range(2))
    padded = np.full((BOUND, BOUND), np.nan if dtype.startswith(("float", "complex")) else 77, dtype)
    padded[inside] = exact[inside]
    return exact[inside], ct.Ragged(padded, dict.fromkeys(axes, n), dict.fromkeys(axes, "n"))


def assert_zeros_behind(got: ct.Ragged, want: Any) -> None:
    data = np.asarray(got.data)
    whole = np.zeros_like(data)
    whole[tuple(map(slice, np.shape(want)))] = want
    np.testing.assert_array_equal(data, whole)


def assert_same(got: Any, want: Any) -> None:
    results = ct.tree.leaves(got, is_leaf=lambda x: isinstance(x, ct.Ragged))
    for result, of_exact in zip(results, ct.tree.leaves(want), strict=True):
        assert_zeros_behind(result, of_exact)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_length(name: str, axes: tuple[int, ...]) -> None:
    f = PROGRAMS[name]
    compiled = ct.jit(ct.mask(f))
    for n in LENGTHS:
        exact, padded = ending(n, axes, "float32")
        assert_same(compiled(padded), f(cnp.array(exact)))


@pytest.mark.usefixtures("names_devices")  # the processor's loops are tiled
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles_end_at_lengths(name: str, axes: tuple[int, ...]) -> None:
    text = ct.jit(ct.mask(PROGRAMS[name])).lower(ending(3, axes, "float32")[1]).compile().as_text()
    assert "div" in text  # a number of tiles


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int32", "int8", "bool"])
def test_every_size_of_elements(dtype: str, axes: tuple[int, ...]) -> None:
    compiled = ct.jit(ct.mask(lambda x: (x.T != 3) & (x.T != 5) if dtype == "bool" else 1 - x.T))
    for n in LENGTHS:
        exact, padded = ending(n, axes, dtype)
        assert_same(compiled(padded), (exact.T != 3) & (exact.T != 5) if dtype == "bool" else 1 - exact.T)


def test_rows_of_a_batch() -> None:
    rows = [ending(n, (0, 1), "float32") for n in (BOUND, 0, 33, 512)]
    batch = ct.Ragged(
        np.stack([np.asarray(padded.data) for _, padded in rows]),
        dict.fromkeys((1, 2), np.array([len(exact) for exact, _ in rows], np.int32)),
        dict.fromkeys((1, 2), "n"),
    )
    result = ct.jit(ct.vmap(ct.mask(lambda x: x.T * 2 - x)))(batch)
    for row, (exact, _) in enumerate(rows):
        assert_zeros_behind(result[row], exact.T * 2 - exact)


def test_a_row_that_is_not_whole_at_the_end_of_an_array() -> None:
    f = ct.jit(ct.mask(lambda x, y: x.T * 2 + y))
    for n in LENGTHS:
        exact, padded = ending(n, (0,), "float32")
        y = np.arange(n, dtype=np.float32)
        assert_zeros_behind(
            f(padded, ct.Ragged(np.pad(y, (0, BOUND - n), constant_values=np.nan), {0: n}, {0: "n"})), exact.T * 2 + y
        )


@pytest.mark.parametrize("first", [True, False])
def test_what_lies_behind_a_length_is_kept(first: bool) -> None:
    rows = X[:7].astype(np.float32)

    def joined(x: Any, module: Any) -> Any:
        turned = x.T * 2 + 1
        return module.concatenate([turned, rows] if first else [rows, turned])

    compiled = ct.jit(ct.mask(lambda x: joined(x, cnp)))
    for n in LENGTHS:
        exact, padded = ending(n, (1,), "float32")
        assert_zeros_behind(compiled(padded), joined(exact, np))
