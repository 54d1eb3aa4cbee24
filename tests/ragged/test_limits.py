"""Compiled programs end their loops and products at lengths, and read nothing behind them (`jit/fuse/limits.h`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

BOUND, WIDTH = 96, 8
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((BOUND, WIDTH)).astype(np.float32)
W = (RANDOM.standard_normal((WIDTH, WIDTH)) / 3).astype(np.float32)


def attention(x: Any) -> Any:
    return ct.nn.softmax(x @ x.T) @ x


def recurrent(x: Any) -> Any:
    def step(h: Any, row: Any) -> tuple[Any, Any]:
        h = cnp.tanh(row @ W + h @ W)
        return h, h

    return ct.lax.scan(step, cnp.zeros(WIDTH, np.float32), x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: cnp.tanh(x) * 2,
    "product": lambda x: x @ W,
    "columns": lambda x: W @ x.T,
    "sum of products": lambda x: x.T @ x,
    "two layers": lambda x: cnp.sum(cnp.tanh(cnp.tanh(x @ W) @ W) ** 2),
    "softmax down": lambda x: ct.nn.softmax(x, axis=0),
    "largest": lambda x: cnp.max(x, axis=0, initial=-9.0),
    "attention": attention,
    "recurrent": recurrent,
    "up to a length and as a whole": lambda x: (cnp.exp(x), cnp.sum(x, axis=1), x[: x.shape[0] // 2] @ W),
}


def padded(n: int) -> ct.Ragged:
    data = np.full_like(X, np.nan)
    data[:n] = X[:n]
    return ct.Ragged(data, {0: n})


def unpadded(tree: Any) -> list[np.ndarray]:
    leaves = ct.tree.leaves(tree, is_leaf=lambda x: isinstance(x, ct.Ragged))
    return [np.asarray(leaf.unpad() if isinstance(leaf, ct.Ragged) else leaf) for leaf in leaves]


def assert_same(ours: Any, theirs: Any) -> None:
    for got, want in zip(unpadded(ours), unpadded(theirs), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_of_a_longer_call_is_not_read(name: str) -> None:
    f = PROGRAMS[name]
    compiled = ct.jit(ct.mask(f))
    for n in (BOUND, 0, 1, 17, BOUND, 33, 5):
        assert_same(compiled(padded(n)), f(X[:n]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_and_rows_of_a_batch(name: str) -> None:
    f = PROGRAMS[name]

    def loss(x: Any) -> Any:  # sums of products go up to 100, and what rounding leaves in them is not to be in the sine
        return sum(cnp.sum(cnp.sin(y / 8)) for y in ct.tree.leaves(f(x)))

    compiled = ct.jit(ct.grad(ct.mask(loss)))
    lengths = [BOUND, 1, 0, 40]
    for n in lengths:
        assert_same(compiled(padded(n)), ct.grad(loss)(cnp.array(X[:n])))
    rows = ct.Ragged(np.stack([padded(n).data for n in lengths]), {1: np.array(lengths, np.int32)})
    batch = ct.jit(ct.vmap(ct.grad(ct.mask(loss))))(rows)
    for row, n in enumerate(lengths):
        assert_same(batch.data[row][:n], ct.grad(loss)(cnp.array(X[:n])))


def text_of(f: Callable[..., Any], *arguments: Any) -> str:
    """Loops and products as the processor has them, whatever device the tests run on."""
    return ct.jit(f, backend="llvm").lower(*arguments).compile().as_text()


LOOPS = re.compile(r"for %\d+ < (\d+)\b")
PRODUCT = re.compile(r"gemm (\S+) first (\(.*?\))")


@pytest.mark.parametrize(
    "name", ["elements", "product", "columns", "sum of products", "two layers", "softmax down", "attention"]
)
def test_no_loop_goes_over_the_bound(name: str) -> None:
    text = text_of(ct.mask(PROGRAMS[name]), padded(3))
    long = [int(n) for n in LOOPS.findall(text) if int(n) % BOUND == 0]
    assert not long, text
    products = text.count("gemm ")
    assert len(PRODUCT.findall(text)) == products, text


def last_of_rows(rows: Any) -> Any:
    """Of recurrent networks over rows, without another trace of lengths than how many steps there are."""
    return ct.vmap(ct.mask(lambda x: recurrent(x)[0]))(rows)


def rows_of(*lengths: int) -> ct.Ragged:
    return ct.Ragged(np.stack([padded(n).data for n in lengths]), {1: np.array(lengths, np.int32)})


def test_sequences_are_turned_up_to_the_longest_row() -> None:
    text = text_of(last_of_rows, rows_of(3, 5))
    long = [int(n) for n in LOOPS.findall(text) if int(n) % BOUND == 0]
    assert not long, text


def test_rows_of_recurrent_networks() -> None:
    compiled = ct.jit(last_of_rows)
    for lengths in ((BOUND, 7), (0, 0), (1, 40), (5, 2)):
        wanted = [np.asarray(recurrent(cnp.array(X[:n]))[0]) for n in lengths]
        np.testing.assert_allclose(np.asarray(compiled(rows_of(*lengths))), np.stack(wanted), rtol=2e-5, atol=2e-5)


def by_hand(x: Any, n: Any) -> Any:
    inside = cnp.arange(BOUND) < n
    hidden = cnp.tanh(x @ W)
    return cnp.sum(cnp.where(inside[:, None], hidden, 0.0) ** 2), cnp.where(~inside, 0.0, cnp.sum(x, axis=1))


def test_masks_by_hand_end_loops_too() -> None:
    compiled = ct.jit(by_hand)
    text = text_of(by_hand, X, np.int32(3))
    assert f"gemm {BOUND}x{WIDTH}x{WIDTH} first (%" in text
    for n in (-3, 0, 7, BOUND, BOUND + 5):
        x = X.copy()
        x[max(n, 0) :] = np.nan
        total, sums = compiled(x, np.int32(n))
        inside = x[: max(n, 0)]
        np.testing.assert_allclose(total, np.sum(np.tanh(inside @ W) ** 2), rtol=1e-5)
        np.testing.assert_allclose(sums[: max(n, 0)], inside.sum(axis=1), rtol=1e-4, atol=1e-6)
        assert not np.any(sums[max(n, 0) :])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "int64", "uint64"])
def test_lengths_of_every_integer(dtype: str) -> None:
    with ct.enable_x64():
        compiled = ct.jit(lambda x, n: cnp.sum(cnp.where(cnp.arange(BOUND, dtype=dtype) < n, x, 0)))
        for n in (0, 5, BOUND, 100, np.iinfo(dtype).max):
            assert float(compiled(np.ones(BOUND), np.asarray(n, dtype))) == min(n, BOUND)


def test_a_fold_takes_its_own_identity_only() -> None:
    f = ct.jit(lambda x, n: cnp.max(cnp.where(cnp.arange(BOUND) < n, x, 0.0)))
    assert float(f(np.full(BOUND, -2.0, np.float32), 5)) == 0
    zero = ct.jit(lambda a, b, n: cnp.where(cnp.arange(BOUND) < n, a, 0.0) @ b)
    assert np.isnan(zero(np.ones(BOUND, np.float32), np.full(BOUND, np.nan, np.float32), 0))


def test_what_a_mask_clears_is_cleared_in_every_factor() -> None:
    """Two copies of an array in a gradient: the product that is made of two factors is cleared in both."""

    def loss(a: Any) -> Any:
        both = cnp.concatenate([a, a], 0)
        return cnp.sum(cnp.tanh(both @ a.T) @ a)

    compiled = ct.jit(ct.mask(ct.grad(loss)))
    for n in (0, 1, 40):
        data = np.full((1000, 1), np.nan, np.float32)
        data[:n] = RANDOM.standard_normal((n, 1))
        assert_same(compiled(ct.Ragged(data, {0: n})), ct.grad(loss)(cnp.array(data[:n])))


def test_a_gradient_through_a_table_ends_at_the_length() -> None:
    table = RANDOM.standard_normal((20, WIDTH)).astype(np.float32)

    def loss(table: Any, words: Any) -> Any:
        return cnp.sum(cnp.sin(attention(table[words])))

    words = np.full(BOUND, -1, np.int32)
    words[:5] = [3, 1, 3, 19, 0]
    gradient = ct.grad(lambda table, words: ct.mask(loss)(table, words))
    ragged = ct.Ragged(words, {0: 5})
    text = text_of(gradient, table, ragged)
    assert len(PRODUCT.findall(text)) == text.count("gemm "), text
    assert_same(ct.jit(gradient)(table, ragged), ct.grad(loss)(cnp.array(table), words[:5]))


def test_random_programs_over_memory_of_nan() -> None:
    """Everything that is stored is NaN or -1 before it is written; loops end at lengths however short."""
    program = Path(__file__).with_name("limits_law.py")
    environment = {**os.environ, "CT_CHECK_LIMITS": "1", "CT_CHECK_PASSES": "1", "CT_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, program, "0", "250"], env=environment, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr


def cross_entropy(x: Any) -> Any:
    """As of a language model: what is wanted of each row is an element that an index says."""
    labels = cnp.argmax(x, axis=1)
    return cnp.sum(ct.nn.logsumexp(x @ W, axis=1) - cnp.take_along_axis(x @ W, labels[:, None], 1)[:, 0])


@pytest.mark.parametrize(
    ("name", "loops"),
    # An index that is read at must be a place that there is: those are computed for all elements.
    [("two layers", 0), ("softmax down", 0), ("attention", 0), ("cross entropy", 2)],
)
def test_no_loop_of_a_gradient_of_rows_goes_over_the_bound(name: str, loops: int) -> None:
    f = {**PROGRAMS, "cross entropy": cross_entropy}[name]

    def loss(x: Any) -> Any:  # a cross entropy is about 250
        return cnp.sum(cnp.sin(f(x) / 8))

    lengths = np.array([BOUND, 1, 0, 40, 7], np.int32)
    rows = ct.Ragged(np.stack([padded(int(n)).data for n in lengths]), {1: lengths})
    gradients = ct.vmap(ct.grad(ct.mask(loss)))
    compiled = ct.jit(gradients)
    text = text_of(gradients, rows)
    assert len([n for n in LOOPS.findall(text) if int(n) % BOUND == 0]) <= loops, text
    assert len(PRODUCT.findall(text)) == text.count("gemm "), text
    for row, n in enumerate(lengths):
        assert_same(compiled(rows).data[row][:n], ct.grad(loss)(cnp.array(X[:n])))


def test_a_fold_ends_at_a_length_whatever_is_computed_of_it() -> None:
    text = text_of(ct.mask(ct.grad(lambda x: cnp.sum(ct.nn.logsumexp(x, axis=0)))), padded(3))
    assert not [n for n in LOOPS.findall(text) if int(n) % BOUND == 0], text


@pytest.mark.parametrize("k", [-9, -1, 0, 3, 9])
def test_which_of_two_integers_is_larger_where_only_the_program_knows(k: int) -> None:
    """Ranges of lengths, which are never negative, do not hold for other integers."""
    f = ct.jit(lambda k: (cnp.minimum(cnp.maximum(-cnp.clip(k, -6, 6), 0), 1), cnp.clip(cnp.clip(k, 0, 5), 0, 7)))
    first, second = f(np.int32(k))
    assert (int(first), int(second)) == (min(max(-min(max(k, -6), 6), 0), 1), min(max(k, 0), 5))


def convolution_loss(x: Any, kernel: Any) -> Any:
    return cnp.sum(ct.lax.conv_general_dilated(x.T[None], kernel, (1,), "SAME") ** 2)


KERNEL = np.random.default_rng(3).normal(size=(X.shape[1], X.shape[1], 3)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 7, BOUND])
def test_gradients_of_a_convolution(n: int) -> None:
    """A window shows places some steps apart: what is wanted of them ends that many steps behind the length."""
    gradients = ct.grad(convolution_loss, (0, 1))
    ours, theirs = ct.jit(ct.mask(gradients))(padded(n), KERNEL), gradients(cnp.array(X[:n]), KERNEL)
    np.testing.assert_allclose(np.asarray(ours[0].unpad()), np.asarray(theirs[0]), rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(np.asarray(ours[1]), np.asarray(theirs[1]), rtol=2e-3, atol=2e-3)


def test_no_loop_of_a_gradient_of_a_convolution_goes_over_the_bound() -> None:
    text = text_of(ct.mask(ct.grad(convolution_loss, 1)), padded(3), KERNEL)
    assert not [n for n in LOOPS.findall(text) if int(n) % BOUND == 0], text
    assert len(PRODUCT.findall(text)) == text.count("gemm "), text


def largest(x: Any) -> Any:
    return ct.lax.reduce_window(cnp.tanh(x), -np.inf, ct.lax.max, (3, 1), (2, 1), "SAME")


def every_third(x: Any) -> Any:
    return cnp.exp(x)[1::3] @ W


def strided(x: Any) -> Any:
    return ct.lax.conv_general_dilated(cnp.tanh(x).T[None], KERNEL, (2,), "SAME")[0].T


def scanned(x: Any) -> Any:
    def compose(a: Any, b: Any) -> Any:
        return a[0] * b[0], b[0] * a[1] + b[1]

    return ct.lax.associative_scan(compose, (cnp.tanh(x), x))[1]


def averages(x: Any) -> Any:
    sums = ct.lax.reduce_window(x, 0.0, ct.lax.add, (2, 2), (2, 2), "VALID")
    return sums / 4


def window_of(size: int) -> Callable[[Any], Any]:
    return lambda x: ct.lax.reduce_window(x, -np.inf, ct.lax.max, (size, 1), (1, 1), "SAME")


STEPS: dict[str, Callable[[Any], Any]] = {
    "pooling": largest,
    "averages of windows": averages,
    "windows of many elements": window_of(40),
    "sums of rows": lambda x: cnp.sum(cnp.tanh(x[::2]) * 2, axis=1) / 3,
    "two folds of rows": lambda x: cnp.exp(cnp.sum(x, 1) / 4) * cnp.max(x, axis=1),
    "slice": every_third,
    "halves": lambda x: cnp.tanh(x)[: x.shape[0] // 2 * 2].reshape(-1, 2, WIDTH).sum(1) @ W,
    "convolution": strided,
    "transposed convolution": lambda x: ct.lax.conv_transpose(cnp.tanh(x)[None], KERNEL.T, (2,), "SAME")[0],
    "dilated convolution": lambda x: ct.lax.conv_general_dilated(x.T[None], KERNEL, (1,), "SAME", None, (3,))[0].T,
    "scan": scanned,
    "scan from the end": lambda x: ct.lax.associative_scan(cnp.add, cnp.tanh(x), reverse=True),
    "first elements": lambda x: (cnp.tanh(x) + cnp.sum(cnp.tanh(x)[:3], 0)) @ W,
}


@pytest.mark.parametrize("name", STEPS)
def test_lengths_divided_by_a_step(name: str) -> None:
    f = STEPS[name]
    compiled, batched = ct.jit(ct.mask(f)), ct.jit(ct.vmap(ct.mask(f)))
    lengths = [BOUND, 3, 17, 40, 4, 95]
    for n in lengths:
        assert_same(compiled(padded(n)), f(cnp.array(X[:n])))
    rows = batched(ct.Ragged(np.stack([padded(n).data for n in lengths]), {1: np.array(lengths, np.int32)}))
    for row, n in enumerate(lengths):
        assert_same(rows[row], f(cnp.array(X[:n])))


@pytest.mark.parametrize("name", STEPS)
def test_gradients_of_lengths_divided_by_a_step(name: str) -> None:
    def loss(x: Any) -> Any:
        return cnp.sum(cnp.sin(STEPS[name](x)))

    compiled = ct.jit(ct.mask(ct.grad(loss)))
    for n in (BOUND, 3, 17, 40):
        assert_same(compiled(padded(n)), ct.grad(loss)(cnp.array(X[:n])))


@pytest.mark.parametrize(
    "name", ["pooling", "averages of windows", "sums of rows", "two folds of rows", "slice", "scan"]
)
def test_no_loop_goes_over_a_bound_divided_by_a_step(name: str) -> None:
    text = text_of(ct.mask(STEPS[name]), padded(3))
    assert not [n for n in LOOPS.findall(text) if int(n) > 2 * WIDTH], text
    assert len(PRODUCT.findall(text)) == text.count("gemm "), text


def test_a_length_by_hand_may_be_negative_where_windows_have_a_step() -> None:
    def by_hand(x: Any, n: Any) -> Any:
        y = cnp.tanh(x)
        pairs = cnp.where((cnp.arange(BOUND // 2) < n)[:, None], y[::2] + y[1::2], 0.0)
        return pairs, cnp.sum(y[:3])

    compiled = ct.jit(by_hand)
    for dtype in (np.int32, np.int64):
        for n in (-5, 0, 7, BOUND, np.iinfo(dtype).max, np.iinfo(dtype).min):
            with ct.enable_x64():
                pairs, first = compiled(X, dtype(n))
            inside = (np.arange(BOUND // 2) < n)[:, None]
            want = np.where(inside, np.tanh(X)[::2] + np.tanh(X)[1::2], 0.0)
            np.testing.assert_allclose(pairs, want, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(first, np.tanh(X)[:3].sum(), rtol=1e-5)


def test_what_is_filled_twice_is_filled_once() -> None:
    """Behind the length pooling sees the initial value, whatever the padding was before."""
    f = ct.mask(lambda x: ct.lax.reduce_window(x, -np.inf, ct.lax.max, (3, 1), (2, 1), "VALID"))
    text = text_of(f, padded(3))
    assert text.count("float32 = select") == 3, text


def test_folds_end_along_both_axes_and_zeros_are_written_behind() -> None:
    def sums(x: Any) -> Any:
        return cnp.sum(cnp.tanh(x)[:, :, None] * cnp.arange(1.0, 4.0), axis=2) / 2

    data = np.full((48, 32), np.nan, np.float32)
    compiled = ct.jit(ct.mask(sums))
    for rows, columns in ((48, 32), (5, 7), (0, 3), (3, 0), (17, 32), (48, 1)):
        data[:] = np.nan
        data[:rows, :columns] = RANDOM.standard_normal((rows, columns))
        found = compiled(ct.Ragged(data.copy(), {0: rows, 1: columns}))
        assert_same(found, sums(cnp.array(data[:rows, :columns])))
        assert not found.data[rows:].any()
        assert not found.data[:, columns:].any()
    text = text_of(ct.mask(sums), ct.Ragged(data, {0: 3, 1: 4}))
    assert "48" not in LOOPS.findall(text), text
