"""Sizes that are equal for every length that there may be meet, however they were worked out; others do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

Program = Callable[[Any], Any]


def half(x: Any) -> Any:
    return x.shape[0] // 2


# A minimum or a maximum is one or the other of what it is made of; a length is at most its bound.
PROGRAMS: dict[str, Program] = {
    "the one before": lambda x: x - cnp.concatenate([x[:1], x[:-1]]),
    "the last in front": lambda x: x * cnp.concatenate([x[-1:], x[:-1]]),
    "the last": lambda x: x - x[-1:],
    "from the last": lambda x: x[-1:] - x,
    "a number in front": lambda x: x + cnp.concatenate([np.full(1, 3.0), x[:-1]]),
    "rotated": lambda x: x + cnp.concatenate([x[2:], x[:2]]),
    "rotated back": lambda x: x + cnp.concatenate([x[-2:], x[:-2]]),
    "three parts": lambda x: x + cnp.concatenate([x[:1], x[1:3], x[3:]]),
    "every third": lambda x: x + cnp.concatenate([x[::3], x[1::3], x[2::3]]),
    "halves": lambda x: x * cnp.concatenate([x[half(x) :], x[: half(x)]]),
    "what is positive": lambda x: x[x > 2] - cnp.concatenate([x[x > 2][:1], x[x > 2][:-1]]),
    "pairs": lambda x: x[: half(x) * 2].reshape(half(x), 2).sum(1),
    "in a loop": lambda x: ct.lax.fori_loop(0, 2, lambda i, y: y - cnp.concatenate([y[:1], y[:-1]]), x),
    "the last, in a loop": lambda x: ct.lax.fori_loop(0, 2, lambda i, y: y * y[-1:], x),
    "in a branch": lambda x: ct.lax.cond(x.sum() > 3, lambda x: x - x[-1:], lambda x: x, x),
    "up to the last but one": lambda x: x[: x.shape[0] - 1] * x[:-1] - x[: x.shape[0] - 1] * x[1:],
    "up to the last but two": lambda x: x[: x.shape[0] - 2] * x[:-2] - x[: x.shape[0] - 2] * x[2:],
    "three at most": lambda x: x[: cnp.minimum(x.shape[0], 3)] * x[:3],
    "three at most, in a branch": lambda x: ct.lax.cond(
        x.sum() > 3, lambda: x[:3] * x[: cnp.minimum(x.shape[0], 3)], lambda: x[:3]
    ),
    "a maximum, of an array": lambda x: x[: cnp.maximum(x.shape[0] - 1, 0)] * x[1:],
    "matrix": lambda x: (x[:, None] - cnp.concatenate([x[:1], x[:-1]])) @ x,
}


@pytest.mark.parametrize("bound", [1, 2, 4, 7])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_meet(name: str, bound: int) -> None:
    values: list[Any] = [ct.mask, lambda f: ct.jit(ct.mask(f))]
    f = PROGRAMS[name]
    loss = lambda x: (f(x) ** 2).sum()  # noqa: E731
    for length in range(bound + 1):
        x = np.arange(1.0, bound + 1)
        exact = cnp.array(x[:length])
        ragged = ct.Ragged(np.where(np.arange(bound) < length, x, np.nan), {0: length})
        wanted = np.asarray(f(exact))
        for run in values:
            found = run(f)(ragged)
            np.testing.assert_allclose(found.unpad(), wanted, rtol=1e-12)
        slope = np.asarray(ct.grad(loss)(exact))
        np.testing.assert_allclose(ct.grad(ct.mask(loss))(ragged).unpad(), slope, rtol=1e-12)
        np.testing.assert_allclose(ct.mask(ct.grad(loss))(ragged).unpad(), slope, rtol=1e-12)
        np.testing.assert_allclose(ct.jit(ct.grad(ct.mask(loss)))(ragged).unpad(), slope, rtol=1e-12)


WIDE = ["three at most", "three at most, in a branch", "a maximum, of an array", "up to the last but one"]


@pytest.mark.parametrize("name", WIDE)
def test_they_meet_as_wide_integers(name: str) -> None:
    with ct.config.enable_x64(True):
        test_they_meet(name, 4)


def test_they_meet_in_norms_of_gradients_and_across_two_axes() -> None:
    batch = ct.ragged([np.arange(1.0, 3.0), np.arange(1.0, 6.0), np.zeros(0)])
    loss = ct.mask(lambda w, x: (w * w * x[: cnp.minimum(x.shape[0], 3)] * x[:3]).sum())
    np.testing.assert_allclose(ct.per_example.norms(loss)(2.0, batch), [4.0 * 5, 4.0 * 14, 0.0], rtol=1e-6)

    def product(x: Any, y: Any) -> Any:
        shared = cnp.minimum(x.shape[0], y.shape[0])
        return (x[:shared] * y[: cnp.minimum(y.shape[0], x.shape[0])]).sum()

    x, y = ct.Ragged(np.arange(5.0), {0: 3}), ct.Ragged(np.arange(1.0, 5.0), {0: 2})
    np.testing.assert_allclose(ct.grad(ct.mask(product))(x, y).unpad(), [1.0, 2.0, 0.0], rtol=1e-6)


DIFFERENT: dict[str, Program] = {
    "two in front": lambda x: x + cnp.concatenate([x[:2], x[:-1]]),
    "one in front": lambda x: x[:3] + cnp.concatenate([x[:1], x[:-1]]),
    "halves that overlap": lambda x: x + cnp.concatenate([x[: half(x) + 1], x[half(x) :]]),
    "up to the last but three": lambda x: x[: x.shape[0] - 3] * x[:-3],  # of two elements, the first is x[: 2 - 3]
    "two of three": lambda x: x + cnp.concatenate([x[::3], x[1::3]]),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_others_do_not(name: str) -> None:
    with pytest.raises(ct.errors.ShapeError, match="different ragged lengths"):
        ct.mask(DIFFERENT[name])(ct.Ragged(np.arange(7.0), {0: 3}))


SIGNED: dict[str, Callable[[Any, Any], Any]] = {
    "elements from a place": lambda x, k: x[k:] + cnp.zeros(cnp.maximum(x.shape[0] - k, 0)),
    "elements up to a place": lambda x, k: x[:k] + cnp.zeros(cnp.minimum(x.shape[0], cnp.maximum(k, 0))),
    "a number held above zero": lambda x, k: cnp.zeros(cnp.maximum(k, -2) + 2) + cnp.zeros(cnp.maximum(k, 0) + 2),
}


@pytest.mark.parametrize("name", SIGNED)
def test_an_integer_may_be_negative(name: str) -> None:
    """These are equal for the numbers from 0 on; the results were those of other sizes for the rest."""
    f = SIGNED[name]
    with pytest.raises(ct.errors.ShapeError, match="different ragged lengths"):
        ct.mask(lambda x, k: f(x, cnp.clip(k, -3, 3)))(ct.Ragged(np.arange(4.0), {0: 3}), -1)
    found = ct.mask(lambda x, k: f(x, cnp.clip(k, 0, 3)))(ct.Ragged(np.arange(4.0), {0: 3}), 2)
    np.testing.assert_array_equal(found.unpad(), f(cnp.arange(3.0), 2))


def test_a_negative_number_of_bytes_is_a_number() -> None:
    """What an int8 may be is known; its negative is no less."""
    f = lambda k: cnp.ones(5 - k.astype("int32"))  # noqa: E731
    found = ct.mask(lambda x, k: (f(k), x))(ct.Ragged(np.arange(4.0), {0: 3}), np.int8(-100))
    assert found[0].unpad().tolist() == [1.0] * 105
