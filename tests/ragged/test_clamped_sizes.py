"""Sizes that a program clamps, or counts back from the end, are the sizes of slices that say the same, also in derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

Program = Callable[[Any], Any]


def size(x: Any) -> Any:
    return x.shape[0]


def of_chosen(x: Any, f: Program) -> Any:
    return f(x[x > 2])


PROGRAMS: dict[str, Program] = {
    "the first three": lambda x: x[: cnp.minimum(size(x), 3)] * x[:3],
    "all but one, clamped": lambda x: x[: cnp.maximum(size(x) - 1, 0)] * x[1:],
    "all but one": lambda x: x[: size(x) - 1] * x[1:] + x[:-1],
    "all but two": lambda x: x[: size(x) - 2] * x[:-2] + x[2:],
    "a clipped window": lambda x: x[: cnp.clip(size(x) - 2, 0, 2)] * x[2:4],
    "halves": lambda x: x[size(x) // 2 :] * x[: (size(x) + 1) // 2],
    "a clamped half": lambda x: x[: cnp.minimum(size(x) // 2, 2)] * x[: size(x) // 2][:2],
    "rows": lambda x: x[:, None] * x[None, : cnp.minimum(size(x), 3)] * x[:3],
    "in a loop": lambda x: ct.lax.fori_loop(0, 2, lambda i, y: y * x[:3], x[: cnp.minimum(size(x), 3)]),
    "in a branch": lambda x: ct.lax.cond(
        x.sum() > 3, lambda x: x[: cnp.minimum(size(x), 3)] * x[:3], lambda x: x[:3], x
    ),
    # Of two elements and more the second is there; of one, neither it nor the result is.
    "the second": lambda x: x - x[1:2],
    "the second, in front": lambda x: x[1:2] - x,
    "the second, twice": lambda x: x * x[1:2] * x[:1] + x[1:2],
    "the second of all but one": lambda x: x[:-1] - x[1:2],
    "the second of rows": lambda x: x[:, None] - x[1:2, None],
    # Of n elements n at most are chosen.
    "chosen": lambda x: x[: size(x[x > 2])] * x[x > 2],
    "chosen of the chosen": lambda x: of_chosen(x, lambda y: x[: size(y[y < 4])] * y[y < 4] * y[: size(y[y < 4])]),
    "halves of the chosen": lambda x: of_chosen(x, lambda y: y[: size(y) // 2] * x[: size(y) // 2]),
    "chosen in front": lambda x: of_chosen(x, lambda y: x * cnp.concatenate([y, x[size(y) :]])),
    "chosen, in a loop": lambda x: of_chosen(x, lambda y: ct.lax.fori_loop(0, 2, lambda i, z: z * x[: size(z)] * y, y)),
    "chosen, in a branch": lambda x: of_chosen(
        x, lambda y: ct.lax.cond(x.sum() > 3, lambda y: y * x[: size(y)], lambda y: y, y)
    ),
}


def ragged_of(x: Any, length: int) -> ct.Ragged:
    return ct.Ragged(np.where(np.arange(len(x)) < length, x, np.nan), {0: length})


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("bound", [1, 2, 5])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_those_of_slices(name: str, bound: int, wide: bool) -> None:
    f = PROGRAMS[name]
    loss = lambda x: (f(x) ** 2).sum()  # noqa: E731
    x = np.arange(1.0, bound + 1)
    with ct.config.enable_x64(wide):
        for length in range(bound + 1):
            exact, ragged = cnp.array(x[:length]), ragged_of(x, length)
            np.testing.assert_allclose(ct.mask(f)(ragged).unpad(), f(exact), rtol=1e-5)
            slope = np.asarray(ct.grad(loss)(exact))
            runs: list[Any] = [
                ct.grad(ct.mask(loss)),
                ct.mask(ct.grad(loss)),
                ct.jit(ct.grad(ct.mask(loss))),
            ]
            for run in runs:
                np.testing.assert_allclose(run(ragged).unpad(), slope, rtol=1e-5)
            direction = ct.jvp(ct.mask(loss), (ragged,), (ragged,))[1]
            np.testing.assert_allclose(direction, (slope * x[:length]).sum(), rtol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_of_a_batch(name: str) -> None:
    f = PROGRAMS[name]
    loss = lambda x: (f(x) ** 2).sum()  # noqa: E731
    rows = [np.arange(1.0, length + 1) for length in (0, 1, 2, 5)]
    found = ct.jit(ct.vmap(ct.grad(ct.mask(loss))))(ct.ragged(rows)).to_list()
    for part, row in zip(found, rows, strict=True):
        np.testing.assert_allclose(part, ct.grad(loss)(cnp.array(row)), rtol=1e-5)


def test_norms_of_examples() -> None:
    loss = lambda w, x: ((x[: cnp.minimum(size(x), 3)] * w * x[:3]) ** 2).sum()  # noqa: E731
    rows = [np.arange(1.0, length + 1) for length in (0, 1, 2, 5)]
    found = ct.per_example.norms(ct.mask(loss))(2.0, ct.ragged(rows))
    np.testing.assert_allclose(found, [abs(2 * 2.0 * (row[:3] ** 4).sum()) for row in rows], rtol=1e-5)


def test_three_from_the_end_are_others() -> None:
    """Of two elements, x[: n - 3] is x[:-1], which has one, and x[:-3] has none."""
    with pytest.raises(ct.errors.ShapeError, match="different ragged lengths"):
        ct.mask(lambda x: x[: size(x) - 3] * x[:-3])(ragged_of(np.arange(5.0), 2))
    f = lambda x: x[: size(x) - 3]  # noqa: E731
    for length in range(6):
        found = ct.mask(f)(ragged_of(np.arange(5.0), length)).unpad()
        np.testing.assert_array_equal(found, f(np.arange(length)))


def test_a_message_adds_no_zero() -> None:
    with pytest.raises(ct.errors.ShapeError, match=r"lengths: x\.shape\[0\] and min\(3, x\.shape\[0\]\)"):
        ct.mask(lambda x: x * x[:3])(ragged_of(np.arange(5.0), 2))


def test_one_element_that_may_not_be_there() -> None:
    """x[2:3] has none of two elements, where the program has no result."""
    with pytest.raises(
        ct.errors.ShapeError,
        match=r"axis 0 has max\(min\(3, x\.shape\[0\]\) - 2, 0\) elements, one at most, beside one of x\.shape\[0\]",
    ) as error:
        ct.mask(lambda x: x - x[2:3])(ragged_of(np.arange(5.0), 4))
    assert "test_clamped_sizes.py" in str(error.value)
    assert "take the element itself" in str(error.value)


def test_what_was_chosen_elsewhere_may_be_more() -> None:
    with pytest.raises(ct.errors.ShapeError, match="different ragged lengths"):
        ct.mask(lambda x, y: x[: size(y[y > 2])] * y[y > 2])(ragged_of(np.arange(5.0), 2), ragged_of(np.arange(5.0), 4))
    with pytest.raises(ct.errors.ShapeError, match="different ragged lengths"):
        ct.mask(lambda x: x[1:][: size(x[x > 2])] * x[x > 2])(ragged_of(np.arange(5.0), 2))


PRODUCTS = {
    "matmul": lambda x, y: x @ y,
    "dot": cnp.dot,
    "inner": cnp.inner,
    "vecdot": cnp.vecdot,
    "tensordot": lambda x, y: cnp.tensordot(x, y, axes=1),
    "of a matrix": lambda x, y: cnp.sum(cnp.stack([x, 2 * x]) @ y),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_one_length_that_is_padded_to_two_bounds(name: str) -> None:
    product, x, y = PRODUCTS[name], np.array([1.0, 2.0, np.nan, np.nan]), np.array([3.0, 4.0, np.nan])
    left, right = (ct.Ragged(data, {0: 2}, {0: "n"}) for data in (x, y))
    expected = float(product(x[:2], y[:2]))
    for program in (ct.mask(product), ct.jit(ct.mask(product))):
        assert float(program(left, right)) == expected
    slopes = ct.grad(ct.mask(product), (0, 1))(left, right)
    assert [slope.tolist() for slope in slopes] == [slope.tolist() for slope in ct.grad(product, (0, 1))(x[:2], y[:2])]
