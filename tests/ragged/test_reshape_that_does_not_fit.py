"""Reshapes whose sizes do not fit the length at hand: an error where it is known, and reported by `checkify` elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import checkify

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "pairs": lambda x: x.reshape(-1, 2),
    "halves": lambda x: x.reshape(2, x.shape[0] // 2),
    "known": lambda x: x.reshape(4, 1),
    "function": lambda x: cnp.reshape(x, (2, -1)),
    "twice": lambda x: cnp.concatenate([x, x]).reshape(-1, 4),
    "a computed length": lambda x: x[x >= 0].reshape(-1, 2),
}
FITS = {"known": (4,), "twice": (0, 2, 4, 6, 8)}


def _padded(length: int) -> Any:
    return ct.Ragged(np.where(np.arange(8) < length, np.arange(8.0), np.nan), {0: length})


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_eager(name: str, length: int) -> None:
    program = PROGRAMS[name]
    if length in FITS.get(name, (0, 2, 4, 6, 8)):
        found = ct.mask(program)(_padded(length))
        found = found.unpad() if isinstance(found, ct.Ragged) else found
        exact = np.arange(float(length))
        want = {
            "halves": lambda: exact.reshape(2, length // 2),
            "known": lambda: exact.reshape(4, 1),
            "function": lambda: exact.reshape(2, length // 2),
            "twice": lambda: np.concatenate([exact, exact]).reshape(length // 2, 4),
        }.get(name, lambda: exact.reshape(length // 2, 2))()
        np.testing.assert_array_equal(np.asarray(found), want)
        return
    with pytest.raises(
        ct.errors.ShapeError, match="the elements of an array and of its new shape have lengths"
    ) as caught:
        ct.mask(program)(_padded(length))
    assert "test_reshape_that_does_not_fit.py" in str(caught.value)
    assert "cut the array to a size that fits" in str(caught.value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_checkify_reports_it(name: str) -> None:
    masked = ct.jit(ct.mask(PROGRAMS[name]))
    run = checkify.checkify(masked, errors=checkify.index_checks)
    error, _ = run(_padded(4))
    assert error.get() is None
    error, _ = run(_padded(5))
    assert "the elements of an array and of its new shape have different lengths" in error.get()


def test_of_a_batch() -> None:
    data = np.arange(16.0).reshape(2, 8)
    run = checkify.checkify(ct.vmap(ct.mask(PROGRAMS["pairs"])), errors=checkify.index_checks)
    assert run(ct.Ragged(data, {1: [4, 6]}))[0].get() is None
    assert "different lengths" in run(ct.Ragged(data, {1: [4, 5]}))[0].get()


def test_results_and_derivatives_stay_what_they_are() -> None:
    def total(x: Any) -> Any:
        return (x.reshape(-1, 2).sum(axis=1) ** 2).sum()

    exact = np.arange(4.0)
    want = 2 * np.repeat(exact.reshape(2, 2).sum(1), 2)
    for wrap in (lambda f: f, ct.jit):
        slope = wrap(ct.grad(lambda x: ct.mask(total)(x)))(_padded(4))
        np.testing.assert_allclose(slope.unpad(), want)
    structure = ct.mask(lambda x: {"a": x.reshape(-1, 2), "n": x.shape[0] * 1.0})(_padded(4))
    assert sorted(structure) == ["a", "n"] and float(structure["n"]) == 4.0


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize(
    "program",
    [
        lambda x: (x.reshape(1, -1) ** 2).sum(),
        lambda x: (x.reshape(-1, 1) ** 2).sum(),
        lambda x: (cnp.squeeze(x[None], 0) ** 2).sum(),
        lambda x: (x[None, :, None].reshape(x.shape[0], 1) ** 2).sum(),
    ],
)
def test_a_bound_of_one_and_derivatives(program: Callable[[Any], Any], length: int) -> None:
    x = ct.Ragged(np.array([3.0]), {0: length})
    want = [6.0] * length
    assert float(ct.jit(ct.mask(program))(x)) == 9.0 * length
    assert ct.grad(ct.mask(program))(x).unpad().tolist() == want
    assert ct.jit(ct.mask(ct.grad(program)))(x).unpad().tolist() == want
    batch = ct.Ragged(np.array([[3.0], [3.0]]), {1: [length, 1]})
    assert ct.vmap(ct.grad(ct.mask(program)))(batch).to_list()[0].tolist() == want
