"""Sizes of ragged axes where functions take numbers: what an exact program of every length computes, under mask, jit, vmap and grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax
from cotangent.errors import ConcretizationError

BOUND = 5
ELEMENTS = np.array([2.0, -1.5, 3.0, 0.5, 1.25])
IDS = np.array([0, 1, 0, 3, 2])
Program = Callable[[Any], Any]


def ids(x: Any) -> Any:
    return cnp.array(IDS)[: x.shape[0]]


# A function of a sequence, and the least length that it is defined for.
PROGRAMS: dict[str, tuple[Program, int]] = {
    "pad to a number": (lambda x: cnp.pad(x, (0, 8 - x.shape[0])), 0),
    "pad to a number, at most": (lambda x: cnp.pad(x, (0, 4 - cnp.minimum(x.shape[0], 4))), 0),
    "pad by what is computed": (lambda x: cnp.pad(x, ((cnp.minimum(x.shape[0], 2), 1),)), 0),
    "pad before": (lambda x: cnp.pad(x, (x.shape[0], 1), constant_values=7.0), 0),
    "pad what is exact": (lambda x: cnp.pad(cnp.array([1.0, 2.0]), (0, x.shape[0])), 0),
    "pad nothing": (lambda x: cnp.pad(cnp.ones(0), (1, x.shape[0]), constant_values=3.0), 0),
    "pad two axes": (lambda x: cnp.pad(cnp.outer(x, x), ((1, 8 - x.shape[0]), (0, x.shape[0]))), 0),
    "pad one axis of two": (lambda x: cnp.pad(cnp.outer(x, x), {1: (0, 6 - x.shape[0])}), 0),
    "pad, two values": (lambda x: cnp.pad(x, (1, x.shape[0]), constant_values=(4.0, 5.0)), 0),
    "bincount": (lambda x: cnp.bincount(ids(x), length=x.shape[0]), 0),
    "bincount with weights": (lambda x: cnp.bincount(ids(x), x, length=x.shape[0]), 0),
    "segment_sum": (lambda x: ct.ops.segment_sum(x, ids(x), x.shape[0]), 0),
    "segment_max": (lambda x: ct.ops.segment_max(x, ids(x), x.shape[0]), 0),
    "segment_sum, clipped": (lambda x: ct.ops.segment_sum(x, ids(x) + 2, x.shape[0], mode="clip"), 1),
    "top_k of half": (lambda x: lax.top_k(x, x.shape[0] // 2)[0], 0),
    "top_k of three at most": (lambda x: lax.top_k(x, cnp.minimum(x.shape[0], 3))[0], 0),
    "scan of a number at most": (
        lambda x: lax.scan(lambda c, _: (c * 2, c), 1.0, None, length=cnp.minimum(x.shape[0], 3))[1],
        0,
    ),
    "bincount of three at most": (lambda x: cnp.bincount(ids(x), length=cnp.minimum(x.shape[0], 3)), 0),
    "segments, three at most": (lambda x: ct.ops.segment_sum(x, ids(x), cnp.minimum(x.shape[0], 3)), 0),
    "top_k, places": (lambda x: lax.top_k(x, x.shape[0] // 2)[1], 0),
    "top_k of rows": (lambda x: lax.top_k(cnp.outer(x, x), x.shape[0] // 2, axis=0)[0], 0),
    "repeat a number": (lambda x: cnp.repeat(2.0, x.shape[0]) * x, 0),
    "repeat each": (lambda x: cnp.repeat(x, x.shape[0]), 0),
    "repeat columns": (lambda x: cnp.repeat(cnp.array([[1.0, 2.0], [3.0, 4.0]]), x.shape[0], axis=1), 0),
    "arrays of sizes": (lambda x: cnp.array([[x.shape[0], 2], [1, x.size]]) * 1.5, 0),
    "arrays of sizes and floats": (lambda x: cnp.asarray([x.shape[0] // 2, 0.5]), 0),
    "the shape as an array": (lambda x: cnp.array(cnp.outer(x, x)[:, :2].shape) + 0.5, 2),
    "resize to twice the size": (lambda x: ct.image.resize(x, (2 * x.shape[0],), "linear"), 1),
    "resize to half the size": (lambda x: ct.image.resize(x, (x.shape[0] // 2,), "nearest"), 1),
    "arange of floats": (lambda x: cnp.arange(0.0, x.shape[0]), 0),
    "arange in halves": (lambda x: cnp.arange(0.0, x.shape[0], 0.5), 0),
    "arange in tenths": (lambda x: cnp.arange(0.3, x.shape[0], 0.1), 0),
    "arange from a size": (lambda x: cnp.arange(x.shape[0], 7.5), 0),
    "arange down": (lambda x: cnp.arange(x.shape[0], -0.5, -0.75), 0),
    "the first beside all": (lambda x: x[:1] * x, 0),
    "the last beside all": (lambda x: x - x[-1:], 0),
    "the first in a choice": (lambda x: cnp.where(x > 0, x[:1], x), 0),
    "the first row beside all": (lambda x: cnp.outer(x, x)[:1] * cnp.outer(x, x), 0),
    "the last column beside all": (lambda x: cnp.outer(x, x) - cnp.outer(x, x)[:, -1:], 0),
    "the first as a column": (lambda x: x[:1, None] * x, 0),
    "the one before": (lambda x: x + cnp.concatenate([cnp.zeros(1), x[:-1]]), 0),
    "the one after": (lambda x: cnp.where(x > 0, x, cnp.concatenate([x[1:], cnp.zeros(1)])), 0),
    "the sum before": (lambda x: x / cnp.concatenate([cnp.ones(1), cnp.cumsum(x * x)[:-1] + 1]), 0),
    "NumPy's sqrt": (lambda x: x / np.sqrt(x.shape[0]), 1),
    "NumPy's log": (lambda x: x * np.log(x.shape[0]), 1),
    "NumPy's integer times a size": (lambda x: cnp.zeros(np.int64(2) * x.shape[0]), 0),
    "NumPy's minimum": (lambda x: x[: np.minimum(x.shape[0], 2)], 0),
    "NumPy's maximum": (lambda x: cnp.ones(np.maximum(x.shape[0], 2)), 0),
    "NumPy's number times a size": (lambda x: np.float64(2) * x.shape[0] * x, 0),
    "NumPy's array times a size": (lambda x: np.arange(3.0) * x.shape[0], 0),
    "NumPy's array before a size": (lambda x: cnp.where(np.arange(3) < x.shape[0], 1.0, 2.0), 0),
    "NumPy's number equal to a size": (lambda x: cnp.where(np.int64(3) == x.shape[0], x, 0.0), 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_size_is_as_good_as_a_number(name: str) -> None:
    f, least = PROGRAMS[name]
    for length in range(least, BOUND + 1):
        padded = ELEMENTS.copy()
        padded[length:] = np.nan
        x = ct.Ragged(cnp.array(padded), {0: length})
        want = np.asarray(f(cnp.array(ELEMENTS[:length])))
        for run in (ct.mask(f), ct.jit(ct.mask(f))):
            found = run(x)
            found = np.asarray(found.unpad() if isinstance(found, ct.Ragged) else found)
            assert found.dtype == want.dtype
            np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_where_a_size_is_a_number(name: str) -> None:
    f, least = PROGRAMS[name]

    def loss(x: Any) -> Any:
        y = f(x)
        y = y if y.dtype == np.float32 else y.astype(np.float32)
        return cnp.sum(cnp.sin(y)) + cnp.sum(x)

    lengths = range(least, BOUND + 1)
    batch = ct.ragged([ELEMENTS[:length].astype(np.float32) for length in lengths], bound=BOUND)
    found = ct.jit(ct.vmap(ct.grad(ct.mask(loss))))(batch)
    for row, length in enumerate(lengths):
        want = ct.grad(loss)(cnp.array(ELEMENTS[:length], np.float32))
        np.testing.assert_allclose(np.asarray(found.data)[row, :length], want, rtol=1e-5, atol=1e-6)


def ragged() -> Any:
    return ct.Ragged(cnp.array(ELEMENTS), {0: 3})


@pytest.mark.parametrize(
    ("f", "hint"),
    [
        (lambda x: np.arange(8.0)[: x.shape[0]] * x, r"ct\.numpy\.array\(a\)\[:n\]"),
        (lambda x: sum(x[i] for i in range(x.shape[0])), r"for range\(n\) use ct\.lax\.fori_loop"),
        (lambda x: x / float(x.shape[0]), r"2\.0 \* n, x / n"),
    ],
)
def test_a_number_that_is_not_known_yet_says_what_to_do(f: Program, hint: str) -> None:
    with pytest.raises(ConcretizationError, match=hint):
        ct.mask(f)(ragged())


def test_a_mode_of_pad_that_has_no_sizes() -> None:
    with pytest.raises(NotImplementedError, match="pad: mode 'edge' with a width that is the size of a ragged axis"):
        ct.mask(lambda x: cnp.pad(x, (0, x.shape[0]), mode="edge"))(ragged())


def test_a_range_of_floats_between_two_sizes() -> None:
    with pytest.raises(
        TypeError, match=r"arange: of floats, one of start and stop may be a size.*\n  count with integers"
    ):
        ct.mask(lambda x: cnp.arange(x.shape[0], 2 * x.shape[0], 0.5))(ragged())


@pytest.mark.parametrize(
    ("f", "sizes"),
    [
        (lambda x: x[1:] * x, r"max\(x\.shape\[0\] - 1, 0\) and x\.shape\[0\]"),
        (
            lambda x: x[: x.shape[0] // 2] + x[x.shape[0] // 2 :],
            r"min\(x\.shape\[0\] // 2, x\.shape\[0\]\) and max\(x\.shape\[0\] - \(x\.shape\[0\] // 2\), 0\)",
        ),
        (
            lambda x: cnp.concatenate([x, x]) + cnp.tile(x, 3),
            r"x\.shape\[0\] \+ x\.shape\[0\] and x\.shape\[0\] \+ x\.shape\[0\] \+ x\.shape\[0\]",
        ),
        (lambda x: cnp.outer(x, x[1:]) + cnp.outer(x, x), r"max\(x\.shape\[0\] - 1, 0\) and x\.shape\[0\]"),
    ],
)
def test_two_sizes_that_differ_are_named(f: Program, sizes: str) -> None:
    with pytest.raises(
        ct.errors.ShapeError,
        match=rf"two different ragged lengths: {sizes}\n(?:.*\n)+  they must be equal for every length that there may be: cut both to the smaller one",
    ):
        ct.mask(f)(ragged())


def test_arrays_of_sizes_and_images_of_them_in_64_bits() -> None:
    with ct.config.enable_x64(True):
        assert ct.mask(lambda x: cnp.array([x.shape[0], 2]))(ragged()).dtype == np.int64
        doubled = ct.mask(lambda x: ct.image.resize(x, (2 * x.shape[0],), "nearest"))(ragged())
        np.testing.assert_array_equal(doubled.unpad(), np.repeat(ELEMENTS[:3], 2))


def test_numbers_of_copies_without_a_bound_say_which_argument_takes_one() -> None:
    counts = np.array([2, 0, 1])
    with pytest.raises(
        ConcretizationError,
        match=r"at .*test_sizes_as_numbers.py:.*\n  name a bound: total_repeat_length=ct\.dimension\(repeats\.sum\(\), bound=",
    ):
        ct.jit(lambda n: cnp.repeat(cnp.arange(3), n))(counts)
    bounded = ct.jit(lambda n: cnp.repeat(cnp.arange(3), n, total_repeat_length=ct.dimension(n.sum(), bound=8)))
    np.testing.assert_array_equal(bounded(counts).unpad(), [0, 0, 2])
