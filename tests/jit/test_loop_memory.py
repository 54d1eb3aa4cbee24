"""Where loops keep arrays: small ones in registers, results larger than the caches past them."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import Library


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("n", [3, 16, 33, 64, 65])
def test_small_carried_arrays(dtype, n):
    x = (np.random.default_rng(n).standard_normal(n) * 4).astype(dtype)
    w = np.flip(x).copy()

    def body(_, state):
        a, b, total, first = state
        return a + w, b * dtype(1) + a, total + cnp.sum(b, dtype=dtype), first + a[0]

    def function(x):
        return ct.lax.fori_loop(0, 5, body, (x, x, x[1] * dtype(0), x[0] * dtype(0)))

    state = x, x, x[1] * dtype(0), x[0] * dtype(0)
    with np.errstate(over="ignore"):
        for i in range(5):
            a, b, total, first = body(i, tuple(cnp.asarray(s) for s in state))
            state = tuple(np.asarray(s) for s in (a, b, total, first))
    for ours, expected in zip(ct.jit(function)(x), state, strict=True):
        np.testing.assert_allclose(
            np.asarray(ours, np.float64), np.asarray(expected, np.float64), rtol=2e-2 if dtype == np.float16 else 1e-4
        )


def test_small_arrays_of_a_while_loop():
    x = np.random.default_rng(0).standard_normal(20).astype(np.float32)
    halved = ct.jit(lambda x: ct.lax.while_loop(lambda s: cnp.sum(s * s) > 1e-3, lambda s: s * 0.5, x))(x)
    expected = x
    while np.sum(expected * expected) > 1e-3:
        expected = expected * np.float32(0.5)
    np.testing.assert_array_equal(halved, expected)


def test_loops_in_loops_of_small_arrays():
    def function(x, rows):
        def outer(s, row):
            s = ct.lax.fori_loop(0, 4, lambda i, t: t * 0.5 + row, s)
            return s, s + s[2]

        return ct.lax.scan(outer, x, rows)

    rng = np.random.default_rng(0)
    x, rows = rng.standard_normal(12), rng.standard_normal((6, 12))
    last, stacked = ct.jit(function)(x, rows)
    for row, ours in zip(rows, stacked, strict=True):
        for _ in range(4):
            x = x * 0.5 + row
        np.testing.assert_allclose(ours, x + x[2], rtol=1e-12)
    np.testing.assert_allclose(last, x, rtol=1e-12)


LARGE = (1 << 22) + 5


@pytest.mark.parametrize("n", [1 << 22, LARGE])
def test_results_larger_than_the_caches(n):
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    doubled, halved = ct.jit(lambda x: (x * 2 + 1, cnp.sum(x * x)))(x)
    np.testing.assert_array_equal(doubled, x * 2 + 1)
    np.testing.assert_allclose(halved, np.sum(x.astype(np.float64) ** 2), rtol=1e-4)
    shifted = ct.jit(lambda x: cnp.concatenate([x[3:], x[:3] * 2]))(x)
    np.testing.assert_array_equal(shifted[:-3], x[3:])
    value, gradient = ct.jit(ct.value_and_grad(lambda x: cnp.sum(cnp.tanh(x))))(x)
    np.testing.assert_allclose(value, np.sum(np.tanh(x.astype(np.float64))), rtol=1e-3)
    np.testing.assert_allclose(gradient, 1 - np.tanh(x.astype(np.float64)) ** 2, atol=1e-6)


def test_large_results_that_are_not_aligned(tmp_path):
    """Who calls an exported library may keep its results anywhere."""
    x = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)
    ct.export.compile(lambda x: x * 2 + 1, x, name="step").save(tmp_path)
    library = Library(tmp_path, "step")
    memory = np.zeros(LARGE + 32, np.float32)
    for first in (0, 1, 7):
        result = memory[first : first + LARGE]
        assert library.call([x], [result]) == 0
        np.testing.assert_array_equal(result, x * 2 + 1)


@pytest.mark.parametrize("shape", [(2048, 2050), (2080, 2101), (2048, 128)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_large_transposes(shape, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    y = (np.random.default_rng(1).standard_normal(shape[::-1]) * 50).astype(dtype)
    np.testing.assert_array_equal(ct.jit(lambda x, y: x.T + y)(x, y), x.T + y)


def test_a_scatter_stores_its_indices_at_most_once():
    x, i = np.zeros(5000, np.float32), np.arange(5000, dtype=np.int32) % 7 - 3
    v = np.ones(5000, np.float32)
    function = lambda x, i, v: x.at[i].add(v)  # noqa: E731
    expected = x.copy()
    np.add.at(expected, i, v)
    np.testing.assert_array_equal(ct.jit(function)(x, i, v), expected)
    # Wrapping and checking them costs less as vectors than element by element; one array is all that it takes.
    assert ct.explain(function)(x, i, v).loops.count("buffer temp") <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_loops_read_stretches_of_arrays_in_place(dtype):
    """As sequences, forwards and backwards, and as constants of loops of both kinds."""
    x = np.arange(4000 * 6).reshape(4000, 6).astype(dtype) % 11
    start = np.zeros(6, dtype)

    def function(x):
        def step(carry, rows):
            return carry + rows[0] - rows[-1], cnp.sum(rows[0] * rows[1])

        forwards, ahead = ct.lax.scan(step, start, x[10:3010].reshape((1000, 3, 6)))
        backwards, behind = ct.lax.scan(step, forwards, x[1000:].reshape((1500, 2, 6)), reverse=True)
        rows = x[7:1007].reshape((2, 500, 6))
        several = ct.lax.fori_loop(0, 3, lambda i, s: s + cnp.sum(rows[0] - rows[1], axis=0), backwards)
        more = ct.lax.while_loop(
            lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + rows[0, -1] - rows[1, 0]), (0, several)
        )
        return ahead, behind, more[1]

    def sums(rows, carry):
        total = carry + np.sum(rows[:, 0] - rows[:, -1], axis=0)
        return total, np.sum(rows[:, 0] * rows[:, 1], axis=1)

    carry, ahead = sums(x[10:3010].reshape(1000, 3, 6), start)
    carry, behind = sums(x[1000:].reshape(1500, 2, 6), carry)
    rows = x[7:1007].reshape(2, 500, 6)
    last = carry + 3 * np.sum(rows[0] - rows[1], axis=0) + 4 * (rows[0, -1] - rows[1, 0])
    for ours, expected in zip(ct.jit(function)(x), (ahead, behind, last), strict=True):
        np.testing.assert_allclose(ours, expected)
    assert ct.explain(function)(x).scratch_bytes < 2048


def test_a_stretch_of_what_is_computed_makes_no_more_of_it():
    x = np.linspace(0, 1, 4000).reshape(1000, 4)
    f = lambda x: ct.lax.scan(lambda c, row: (c + row, c), cnp.zeros(4, "float64"), cnp.tanh(x)[20:30])[1]  # noqa: E731
    expected = np.cumsum(np.tanh(x[20:30]), axis=0) - np.tanh(x[20:30])
    np.testing.assert_allclose(ct.jit(f)(x), expected, rtol=1e-6, atol=1e-7)
    assert ct.explain(f)(x).scratch_bytes < 2048
