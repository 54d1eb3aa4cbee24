"""Programs on arrays that do not fit the cache: the order of their loops, and loops that are merged, change times and no values."""

from __future__ import annotations

import re

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def normal(*shape, dtype=np.float32, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    return (x + 1j * x[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else (x * 4).astype(dtype)


def check(function, *arguments, rtol=1e-4):
    """The compiled function agrees with the interpreter."""
    expected = ct.jit(function, backend="interpreter")(*arguments)
    for ours, theirs in zip(ct.tree.leaves(ct.jit(function)(*arguments)), ct.tree.leaves(expected), strict=True):
        theirs = np.asarray(theirs)
        scale = float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0)) if theirs.dtype.kind in "fc" else 0
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)


def loops_of(function, *arguments):
    """As the processor has them, whatever device the tests run on."""
    with ct.default_device("cpu"):
        return ct.explain(function)(*arguments).loops


def top_level_loops(function, *arguments):
    """Lines of the program's loops that are inside of no other."""
    return [line for line in loops_of(function, *arguments).splitlines() if re.match(r"  for ", line)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8, np.complex64])
@pytest.mark.parametrize("shape", [(700, 100), (64, 5000), (9, 4096), (40, 33, 50)])
def test_sums_down_columns(shape, dtype):
    x = normal(*shape, dtype=dtype)
    exact = np.sum(x.astype(np.complex128 if np.dtype(dtype).kind == "c" else np.float64), axis=0)
    result = np.asarray(ct.jit(lambda x: cnp.sum(x, axis=0))(x))
    if np.dtype(dtype).kind in "iu":
        assert (result == np.sum(x, axis=0, dtype=result.dtype)).all()
    else:
        np.testing.assert_allclose(
            result, exact, rtol=2e-2 if dtype == np.float16 else 1e-4, atol=1e-2 * shape[0] ** 0.5
        )


@pytest.mark.parametrize("reduction", ["sum", "max", "min", "prod", "any", "all"])
def test_folds_down_columns(reduction):
    x = normal(600, 130) > 6 if reduction in ("any", "all") else 1 + normal(600, 130) / 1000
    check(lambda x: getattr(cnp, reduction)(x, axis=0), x)


def test_several_folds_with_what_comes_before_and_after():
    def f(x, mean):
        y = cnp.exp(x / 10 - mean)
        return y, cnp.tanh(cnp.sum(y, axis=0) / 1000), cnp.sum(y * x, axis=0) + mean

    check(f, normal(900, 128), normal(128))


def test_folds_over_the_middle_axis_and_under_vmap():
    x = normal(5, 300, 64)
    check(lambda x: cnp.sum(x * x, axis=1), x)
    check(ct.vmap(lambda x: cnp.sum(cnp.sin(x), axis=0)), x)
    check(lambda x: ct.lax.fori_loop(0, 3, lambda i, s: s + cnp.sum(x[i] * s, axis=0) / 1000, cnp.ones(64)), x)


def test_a_column_wise_fold_goes_by_rows():
    inner = loops_of(lambda x: cnp.sum(x, axis=0), normal(40, 3000))
    assert re.search(r"for %\d+ < 10\n +for %(\d+) < \d+ vectorize", inner), "four rows at a time"
    weighted = loops_of(lambda s, x: cnp.sum(s[:, None] * x, axis=0), normal(40), normal(40, 3000))
    assert re.search(r"for %\d+ < 10\n +for %(\d+) < \d+ vectorize", weighted)


@pytest.mark.parametrize("shape", [(512, 512), (600, 777), (1001, 300), (64, 4097)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.complex64])
def test_transposes(shape, dtype):
    x, y = normal(*shape, dtype=dtype), normal(*shape[::-1], dtype=dtype, seed=1)
    result = ct.jit(lambda x, y: (x.T + y, x + y.T))(x, y)
    np.testing.assert_allclose(result[0], x.T + y)
    np.testing.assert_allclose(result[1], x + y.T)


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((256, 256), (1, 0)),
        ((200, 301), (1, 0)),
        ((9, 1000), (1, 0)),
        ((1000, 8), (1, 0)),
        ((4, 64, 64, 16), (0, 3, 1, 2)),
        ((4, 10, 33, 20), (0, 3, 1, 2)),
        ((4, 16, 64, 64), (0, 2, 3, 1)),
        ((2, 3, 128, 64), (0, 1, 3, 2)),
        ((10, 2, 2, 256), (0, 3, 1, 2)),
        ((40, 50, 60), (2, 1, 0)),
        ((6, 50, 40, 8), (3, 2, 1, 0)),
        ((6, 50, 40, 8), (2, 3, 0, 1)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.complex64])
def test_transposes_alone(shape, order, dtype):
    x = normal(*shape, dtype=dtype)
    np.testing.assert_array_equal(ct.jit(lambda x: cnp.transpose(x, order))(x), np.transpose(x, order))
    turned = ct.jit(lambda x: cnp.transpose(cnp.flip(x, -1), order))(x)
    np.testing.assert_array_equal(turned, np.transpose(np.flip(x, -1), order))


def test_plain_transposes_take_squares():
    """No copy of a tile lies between the arrays, and two axes through which memory goes as if they were one are one."""
    for shape, order, along in [((256, 256), (1, 0), 32), ((4, 64, 64, 16), (0, 3, 1, 2), 128)]:
        lowered = ct.jit(lambda x, order=order: cnp.transpose(x, order), backend="llvm").lower(normal(*shape))
        loops = lowered.compile().as_text().splitlines()
        assert sum(line.strip().startswith("buffer") for line in loops) == 2
        assert loops[-3].strip().endswith(f"< {along} vectorize"), loops


def test_transposes_of_batches_and_of_guarded_elements():
    x = normal(4, 300, 200)
    np.testing.assert_array_equal(ct.jit(lambda x: cnp.swapaxes(x, 1, 2) * 2)(x), np.swapaxes(x, 1, 2) * 2)
    y = normal(300, 300)
    check(lambda y: cnp.pad(y, 1)[1:-1, 1:-1].T + cnp.triu(y), y)
    check(lambda y: cnp.where(y > 0, y.T, y) + y[0], y)


ROWS = (512, 300)


def normalised(x, gain, bias):
    centered = x - cnp.mean(x, axis=-1, keepdims=True)
    return centered * (cnp.mean(centered**2, axis=-1, keepdims=True) + 1e-5) ** -0.5 * gain + bias


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_row_by_row_programs(dtype):
    x, w = normal(*ROWS, dtype=dtype), normal(*ROWS, dtype=dtype, seed=1)
    rtol = 2e-2 if dtype == np.float16 else 1e-4
    check(lambda x: ct.nn.softmax(x, axis=-1), x, rtol=rtol)
    check(lambda x: ct.nn.logsumexp(x, axis=-1), x, rtol=rtol)
    check(ct.grad(lambda x: cnp.sum(ct.nn.softmax(x, axis=-1) * w)), x, rtol=rtol)
    check(ct.grad(lambda x: cnp.sum(ct.nn.logsumexp(x, axis=-1))), x, rtol=rtol)
    gain, bias = np.ones(300, dtype), np.zeros(300, dtype)
    check(lambda x: normalised(x, gain, bias), x, rtol=rtol)
    if dtype != np.float16:
        check(ct.value_and_grad(lambda *a: cnp.sum(normalised(*a) * w), (0, 1, 2)), x, gain, bias, rtol=rtol)


def test_rows_of_infinities_and_nan():
    x = normal(*ROWS)
    x[3] = -np.inf
    x[4, 5], x[6, 7] = np.nan, np.inf
    check(lambda x: ct.nn.softmax(x, axis=-1), x)
    check(lambda x: (ct.nn.logsumexp(x, axis=-1), cnp.argmax(x, axis=-1)), x)


def test_softmax_is_one_loop_that_keeps_a_row_for_each_chunk():
    function = lambda x: ct.nn.softmax(x, axis=-1)  # noqa: E731
    assert len(top_level_loops(function, normal(1024, 1024))) == 1
    assert ct.explain(function)(normal(1024, 1024)).scratch_bytes < 2**20
    assert len(top_level_loops(function, normal(16, 64))) > 1  # small: loops over rows are vectors


@pytest.mark.parametrize("rows", [509, 512, 1000])  # a prime has no chunks
def test_chunks(rows):
    check(lambda x: ct.nn.softmax(x * 2, axis=-1) + cnp.max(x, axis=-1, keepdims=True), normal(rows, 300))


def test_rows_that_others_read_are_not_merged():
    def shifted(x):
        y = x - cnp.max(x, axis=-1, keepdims=True)
        return cnp.exp(y) / cnp.sum(cnp.exp(y[::-1]), axis=-1, keepdims=True), cnp.roll(
            cnp.cumsum(y, axis=-1), 1, axis=0
        )

    check(shifted, normal(*ROWS))
    check(lambda x: cnp.sum(x, axis=1) + cnp.sum(x, axis=1)[::-1], normal(*ROWS))


def test_donated_arguments():
    x = normal(*ROWS)
    expected = np.asarray(ct.jit(lambda x: ct.nn.softmax(x, axis=-1))(x))
    given = cnp.array(x)
    np.testing.assert_array_equal(ct.jit(lambda x: ct.nn.softmax(x, axis=-1), donate_argnums=0)(given), expected)


def test_ragged_rows():
    batch = ct.ragged([normal(n, seed=n) for n in (300, 7, 512, 1)], bound=512)
    result = ct.jit(ct.vmap(ct.mask(lambda x: ct.nn.softmax(x))))(batch)
    for row, n in zip(result.to_list(), (300, 7, 512, 1), strict=True):
        x = normal(n, seed=n)
        e = np.exp(x - x.max())
        np.testing.assert_allclose(row, e / e.sum(), rtol=1e-5, atol=1e-7)


def test_a_long_chain_and_its_gradient_need_no_temporaries():
    def chain(x):
        for _ in range(25):
            x = cnp.tanh(x) * 1.01
        return cnp.sum(x)

    report = ct.explain(ct.grad(chain))(ct.ShapeDtypeStruct((10**7,), np.float32))
    assert report.scratch_bytes == 0
    check(ct.grad(chain), normal(1000), rtol=1e-3)


def test_what_is_broadcast_is_stored_small():
    report = ct.explain(ct.grad(lambda x: cnp.sum(normalised(x, 1.0, 0.0) ** 3)))(normal(2048, 512))
    assert report.scratch_bytes < 2048 * 512 * 4


def test_large_blocks_are_used_again():
    function = ct.jit(lambda x: x + 1)
    x = cnp.zeros(2**21)
    first = np.asarray(function(x)).ctypes.data
    results = [function(x) for _ in range(3)]
    assert len({np.asarray(result).ctypes.data for result in results}) == 3
    for result in results:
        np.testing.assert_array_equal(result, np.ones(2**21, np.float32))
    assert first != 0
