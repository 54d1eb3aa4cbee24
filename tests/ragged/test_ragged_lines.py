"""Sorts and running folds along ragged axes: values, and that their cost is that of the elements there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._base import primitives

RANDOM = np.random.default_rng(5)
LENGTHS = (0, 1, 2, 17, 33, 90)
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "uint64", "bool", "complex64")


def data(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Repeated values; of floats NaN, infinities and both zeros as well."""
    if dtype == "bool":
        return RANDOM.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        return RANDOM.integers(0 if dtype[0] == "u" else -40, 40, shape).astype(dtype)
    x = np.round(RANDOM.standard_normal(shape) * 8) / 4
    x = np.where(RANDOM.random(shape) < 0.25, RANDOM.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]), shape), x)
    if dtype == "bfloat16":
        return np.asarray(cnp.asarray(x.astype(np.float32)).astype(cnp.bfloat16))
    if dtype == "complex64":
        return (x + 1j * np.roll(np.nan_to_num(x, posinf=9, neginf=-9), 3)).astype(dtype)
    return x.astype(dtype)


def ragged(x: np.ndarray, n: int, axis: int = 0) -> ct.Ragged:
    """With garbage behind the length that a sort would like to put first or last."""
    behind = np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)]) >= n
    garbage = np.where(np.indices(x.shape).sum(0) % 2 == 0, x.min(), x.max()) if x.dtype.kind in "iub" else np.nan
    return ct.Ragged(np.where(behind, np.asarray(garbage).astype(x.dtype), x), {axis: n})


def values(tree: Any) -> list[np.ndarray]:
    leaves = ct.tree.leaves(tree, is_leaf=lambda x: isinstance(x, ct.Ragged))
    return [np.asarray(leaf.unpad() if isinstance(leaf, ct.Ragged) else leaf) for leaf in leaves]


def assert_same(ours: Any, wanted: Any, tolerance: float = 0.0) -> None:
    for got, want in zip(values(ours), values(wanted), strict=True):
        got, want = (x.astype(np.float64) if x.dtype.kind not in "biufc" else x for x in (got, want))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


WAYS: dict[str, Callable[[Any], Any]] = {
    "interpreter": lambda f: f,
    "jit": ct.jit,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bound", [20, 90])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_of_every_dtype(dtype: str, bound: int, way: str) -> None:
    x = data((bound, 3), dtype)

    def f(x: Any) -> Any:
        return cnp.sort(x, axis=0), cnp.argsort(x, axis=0), cnp.argsort(x, axis=0, descending=True)

    masked = WAYS[way](ct.mask(f))
    for n in (*(n for n in LENGTHS if n < bound), bound):
        assert_same(masked(ragged(x, n)), f(x[:n]))
    if dtype in ("float32", "int32"):
        assert_same(masked(ragged(x, 9))[0], np.sort(x[:9], axis=0))


@pytest.mark.parametrize("bound", [20, 90])
def test_sort_by_several_keys(bound: int) -> None:
    """The lexicographic order, as NumPy's of records; what comes along keeps its place among equals."""
    x = RANDOM.integers(0, 3, (bound, 3)).astype(np.int32)
    x[:, 2] = np.arange(bound)
    masked = ct.jit(ct.mask(lambda x: ct.lax.sort((x[:, 0], x[:, 1], x[:, 2]), num_keys=2)))
    for n in (0, 1, 13, bound):
        order = np.lexsort((x[:n, 1], x[:n, 0]))
        assert_same(masked(ragged(x, n)), tuple(x[:n][order].T))


@pytest.mark.parametrize("count", [3, 40, 90])
def test_the_first_few(count: int) -> None:
    x = data((4, 600), "float32")
    masked = ct.jit(ct.mask(lambda x: ct.lax.top_k(x, count)))
    for n in (count, count + 1, 200, 600):
        assert_same(masked(ragged(x, n, axis=1)), ct.lax.top_k(x[:, :n], count))


QUANTILES: dict[str, Callable[[Any], Any]] = {
    "median": lambda x: cnp.median(x, axis=0),
    "percentile": lambda x: cnp.percentile(x, 30.0, axis=0),
    "nanmedian": lambda x: cnp.nanmedian(x, axis=0),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles(name: str) -> None:
    x = RANDOM.standard_normal((90, 5)).astype(np.float32)
    masked = ct.jit(ct.mask(QUANTILES[name]))
    rows = ct.jit(ct.vmap(ct.mask(QUANTILES[name])))
    lengths = [1, 2, 17, 90]
    for n in lengths:
        assert_same(masked(ragged(x, n)), QUANTILES[name](x[:n]), 1e-6)
    batch = ct.Ragged(np.stack([np.asarray(ragged(x, n).data) for n in lengths]), {1: np.array(lengths, np.int32)})
    assert_same(rows(batch), np.stack([np.asarray(QUANTILES[name](x[:n])) for n in lengths]), 1e-6)


FOLDS: dict[str, Callable[..., Any]] = {
    "cumsum": ct.lax.cumsum,
    "cumprod": ct.lax.cumprod,
    "cummax": ct.lax.cummax,
    "cummin": ct.lax.cummin,
}
ORACLES = {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(90,), (90, 3), (3, 90)])
@pytest.mark.parametrize("name", FOLDS)
def test_running_folds(name: str, shape: tuple[int, ...], reverse: bool) -> None:
    x = data(shape, "float32") if name.startswith("cumm") else RANDOM.standard_normal(shape).astype(np.float32)
    axis = shape.index(90)
    masked = ct.jit(ct.mask(lambda x: FOLDS[name](x, axis=axis, reverse=reverse)))
    for n in LENGTHS:
        exact = np.take(x, range(n), axis)
        wanted = np.flip(exact, axis) if reverse else exact
        wanted = ORACLES[name](wanted, axis=axis) if n else wanted
        result = masked(ragged(x, n, axis))
        assert_same(result, np.flip(wanted, axis) if reverse else wanted, 1e-5)
        assert not np.take(np.asarray(result.data), range(n, 90), axis).any()


@pytest.mark.parametrize("dtype", ["float16", "int8", "complex64"])
def test_reversed_folds_of_other_dtypes(dtype: str) -> None:
    x = RANDOM.integers(-3, 4, (90, 2)).astype(dtype)

    def f(x: Any) -> Any:
        sums = ct.lax.cumsum(x, axis=0, reverse=True)
        return sums if dtype == "complex64" else (sums, ct.lax.cummax(x, axis=0, reverse=True))

    masked = ct.jit(ct.mask(f))
    for n in LENGTHS:
        assert_same(masked(ragged(x, n)), f(x[:n]))


def test_what_is_wanted_behind_the_length() -> None:
    """Whoever writes the mask by hand may look at all of the fold: behind the last number it is the identity."""
    x = RANDOM.standard_normal((90, 2)).astype(np.float32)

    @ct.jit
    def f(x: Any, n: Any) -> Any:
        below = cnp.arange(90)[:, None] < n
        return ct.lax.cumsum(cnp.where(below, x, 0), axis=0, reverse=True), ct.lax.cumsum(
            cnp.where(below, x, 0), axis=0
        )

    for n in (0, 5, 90):
        zeroed = np.where(np.arange(90)[:, None] < n, x, 0)
        backwards, forwards = f(np.where(np.arange(90)[:, None] < n, x, np.nan), np.int32(n))
        np.testing.assert_allclose(backwards, np.cumsum(zeroed[::-1], axis=0)[::-1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(forwards, np.cumsum(zeroed, axis=0), rtol=1e-5, atol=1e-6)


def test_what_is_wanted_up_to_another_length() -> None:
    """Numbers end at one length, what is read of their fold at another, in front of it or behind."""
    x = RANDOM.standard_normal(90).astype(np.float32)

    @ct.jit
    def f(x: Any, n: Any, m: Any) -> Any:
        at = cnp.arange(90)
        return cnp.where(at < m, ct.lax.cumsum(cnp.where(at < n, x, 0), axis=0, reverse=True), 0)

    for n, m in ((0, 90), (7, 50), (50, 7), (90, 0), (30, 30)):
        wanted = np.where(np.arange(90) < m, np.cumsum(np.where(np.arange(90) < n, x, 0)[::-1])[::-1], 0)
        behind = np.where(np.arange(90) < n, x, np.nan).astype(np.float32)
        np.testing.assert_allclose(f(behind, np.int32(n), np.int32(m)), wanted, rtol=1e-5, atol=1e-5)


LOSSES: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: cnp.sum(cnp.sort(x, axis=0) * cnp.sin(x)),
    "descending": lambda x: cnp.sum(cnp.sort(x, axis=0, descending=True)[:2] * 3),
    "sum": lambda x: cnp.sum(cnp.cumsum(x, axis=0) ** 2),
    "sum from the end": lambda x: cnp.sum(ct.lax.cumsum(x, axis=0, reverse=True) * cnp.cos(x)),
    "product": lambda x: cnp.sum(cnp.cumprod(x, axis=0)),
    "largest": lambda x: cnp.sum(ct.lax.cummax(x, axis=0) * x),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name: str) -> None:
    f = LOSSES[name]
    x = RANDOM.standard_normal((70, 2)).astype(np.float32)
    masked, rows = ct.jit(ct.grad(ct.mask(f))), ct.jit(ct.vmap(ct.grad(ct.mask(f))))
    lengths = [2, 5, 64, 70]
    wanted = [np.asarray(ct.grad(f)(cnp.asarray(x[:n]))) for n in lengths]
    for n, want in zip(lengths, wanted, strict=True):
        assert_same(masked(ragged(x, n)), want, 3e-5)
    batch = ct.Ragged(np.stack([np.asarray(ragged(x, n).data) for n in lengths]), {1: np.array(lengths, np.int32)})
    result = np.asarray(rows(batch).data)
    for row, n, want in zip(result, lengths, wanted, strict=True):
        np.testing.assert_allclose(row[:n], want, rtol=3e-5, atol=3e-5)
        assert not row[n:].any()


@pytest.mark.parametrize("f", [lambda x: cnp.sort(x, axis=0), lambda x: cnp.cumsum(x, axis=0)], ids=["sort", "sum"])
def test_rows_of_many_lengths(f: Callable[[Any], Any]) -> None:
    x = RANDOM.standard_normal((len(LENGTHS), 90, 3)).astype(np.float32)
    for n, row in zip(LENGTHS, x, strict=True):
        row[n:] = np.nan
    batch = ct.Ragged(x, {1: np.array(LENGTHS, np.int32)})
    for result in (ct.jit(ct.vmap(ct.mask(f)))(batch), ct.vmap(ct.mask(f))(batch)):
        for row, n, got in zip(x, LENGTHS, np.asarray(result.data), strict=True):
            np.testing.assert_allclose(got[:n], np.asarray(f(row[:n])), rtol=1e-6)


def test_one_mask_inside_of_another() -> None:
    """The inner region sorts the first m elements of lines of which n are real."""
    x = RANDOM.standard_normal((4, 90)).astype(np.float32)

    def f(x: Any, m: Any) -> Any:
        return ct.mask(lambda y: cnp.sum(cnp.sort(y, axis=1) * cnp.arange(90)[None, : y.shape[1]]))(
            ct.Ragged(x, {1: m})
        )

    for way in WAYS.values():
        masked = way(ct.mask(f))
        for rows, m in ((4, 90), (2, 40), (3, 1)):
            wanted = np.sum(np.sort(x[:rows, :m], axis=1) * np.arange(m))
            np.testing.assert_allclose(masked(ragged(x, rows), np.int32(m)), wanted, rtol=1e-4)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("bound", [20, 90])
def test_the_primitive_leaves_what_is_behind(bound: int, descending: bool) -> None:
    """By a library, by the network of short lines, and by both transforms that a mask region is not made of."""
    x = RANDOM.standard_normal((3, bound)).astype(np.float32)
    lengths = np.array([[0], [7], [bound]], np.int32)
    wanted = x.copy()
    for row, (n,) in zip(wanted, lengths, strict=True):
        row[:n] = np.sort(row[:n])[:: -1 if descending else 1]

    def f(x: Any, lengths: Any) -> Any:
        return primitives.sort(x, lengths, axis=1, num_keys=1, descending=descending, ragged=True)[0]

    def by_row(x: Any, lengths: Any) -> Any:
        return ct.vmap(lambda row, n: f(row[None], n[None])[0])(x, lengths)

    for way in (f, ct.jit(f), by_row, ct.jit(by_row)):
        np.testing.assert_array_equal(way(x, lengths), wanted)
    weights = RANDOM.standard_normal(x.shape).astype(np.float32)
    gradient = ct.grad(lambda x: cnp.sum(f(x, lengths) * weights))(x)
    for row, result, weight, (n,) in zip(x, np.asarray(gradient), weights, lengths, strict=True):
        order = np.argsort(-row[:n] if descending else row[:n], kind="stable")
        np.testing.assert_allclose(result[:n][order], weight[:n])
        np.testing.assert_allclose(result[n:], weight[n:])


def test_lengths_of_another_shape_are_an_error() -> None:
    with pytest.raises(TypeError, match=r"lengths of lines along axis 1 .* must be int32\[3,1\]"):
        primitives.sort(np.zeros((3, 9)), np.zeros(3, np.int32), axis=1, num_keys=1, ragged=True)


def text_of(f: Callable[..., Any], x: np.ndarray, n: int = 5) -> str:
    """Loops as the processor has them, whatever device the tests run on."""
    return ct.jit(ct.mask(f), backend="llvm").lower(ct.Ragged(x, {0: n})).compile().as_text()


X = np.zeros((1024, 64), np.float32)


@pytest.mark.parametrize("reverse", [False, True])
def test_folds_end_at_the_length_and_are_written_where_they_are_wanted(reverse: bool) -> None:
    text = text_of(lambda x: ct.lax.cumsum(x, axis=0, reverse=reverse), X)
    assert "< 1024" not in text  # no loop goes to the bound
    assert "temp" not in text  # the zeros are written behind what is there
    assert "select" not in text


def test_lines_along_other_axes_end_too() -> None:
    text = text_of(lambda x: cnp.cumsum(x, axis=1), X)
    assert "< 1024" not in text and "temp" not in text


def test_sorts_are_told_the_lengths_and_read_nothing_behind() -> None:
    text = text_of(lambda x: cnp.median(cnp.tanh(x), axis=0), X)
    assert re.search(r'host call 0 "sort" \(temp\d+@\d+\[0\] count 65536\) = \(.*, temp\d+@\d+\[0\] count 64\)', text)
    assert "< 1024" not in text


def test_gradients_of_sorts_scatter_what_there_is() -> None:
    f = ct.grad(lambda x: cnp.sum(cnp.sort(x, axis=0) * cnp.tanh(x)))
    text = text_of(f, X)
    assert "< 1024" not in text


def test_products_are_written_where_their_zeros_are() -> None:
    text = text_of(lambda x: x @ np.ones((64, 64), np.float32), X)
    assert "out0" in text and re.search(r"gemm.*out0", text), text
