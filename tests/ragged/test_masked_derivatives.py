"""Derivatives inside of masks, of functions in which it matters where an array ends: what exact programs of each length compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

BOUNDS = (4, 3)
ELEMENTS = np.random.default_rng(0).uniform(0.3, 1.6, BOUNDS)
LENGTHS = ((2, 2), (4, 3), (1, 1), (3, 1), (1, 3))
Program = Callable[[Any], Any]

PROGRAMS: dict[str, Program] = {
    "flip rows": lambda x: cnp.flip(x, 0),
    "flip columns": lambda x: cnp.flip(x, 1),
    "flip": lambda x: cnp.flip(x),
    "roll": lambda x: cnp.roll(x, 1, 0),
    "transpose": lambda x: x.T[::-1],
    "last row": lambda x: x[-1],
    "all but the last": lambda x: x[:-1] * x[1:],
    "cumulative from the end": lambda x: cnp.cumsum(x[::-1], 0)[::-1],
    "sort": lambda x: cnp.sort(x, 0),
    "flattened": lambda x: cnp.flip(x.reshape(-1)),
    "repeated": lambda x: cnp.concatenate([x, x[::-1]]),
    "mean": lambda x: cnp.mean(x, 0),
    "convolution": lambda x: cnp.convolve(x[:, 0], x[:, 0]),
    "fft": lambda x: cnp.fft.fft(x[:, 0]).real,
}


@pytest.fixture(autouse=True)
def _float64() -> Any:
    with ct.config.enable_x64(True):
        yield


def ragged(rows: int, columns: int, fill: float = np.nan) -> Any:
    padded = ELEMENTS.copy()
    padded[rows:] = fill
    padded[:, columns:] = fill
    return ct.Ragged(cnp.array(padded), {0: rows, 1: columns})


@pytest.mark.parametrize("jacobian", [ct.jacfwd, ct.jacrev])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_jacobian_inside_of_a_mask(name: str, jacobian: Any) -> None:
    f = PROGRAMS[name]
    for rows, columns in LENGTHS:
        want = jacobian(f)(cnp.array(ELEMENTS[:rows, :columns]))
        for run in (ct.mask(jacobian(f)), ct.jit(ct.mask(jacobian(f)))):
            found = run(ragged(rows, columns)).unpad()
            assert found.shape == want.shape
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_transpose_of_a_linear_function_is_as_ragged_as_its_argument(rows: int) -> None:
    def f(x: Any) -> Any:
        return ct.linear_transpose(lambda y: y.sum(0), x)(cnp.arange(x.shape[1]) + 1.0)[0]

    found = ct.mask(f)(ragged(rows, 2)).unpad()
    np.testing.assert_array_equal(found, np.broadcast_to([1.0, 2.0], (rows, 2)))


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_batch_of_a_users_derivative_that_looks_at_no_example(rows: int) -> None:
    @ct.custom_vjp
    def scaled(x: Any, w: Any) -> Any:
        return x * w

    scaled.defvjp(
        lambda x, w: (x * w, (x,)),
        lambda kept, g: (cnp.full(kept[0].shape[0], 3.0), cnp.asarray(kept[0].shape[0]) * 1.0),
    )

    def loss(w: Any, x: Any) -> Any:
        return cnp.sum(ct.vmap(lambda row: scaled(row, w))(x))

    x = ragged(rows, 2)
    for run in (ct.grad(ct.mask(loss)), ct.mask(ct.grad(loss)), ct.jit(ct.grad(ct.mask(loss)))):
        assert float(run(cnp.array(2.0), x)) == 2.0 * rows
    by_x = ct.grad(ct.mask(loss), 1)(cnp.array(2.0), x).unpad()
    np.testing.assert_array_equal(by_x, np.full((rows, 2), 3.0))
