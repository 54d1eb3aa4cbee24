"""Loops in masked programs take as many steps as their sequences are long, whatever their steps look at, in every derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

BOUND = 5
ELEMENTS = np.array([2.0, 1.5, -3.0, 0.5, 1.25])
LENGTHS = (0, 1, 3, BOUND)
Program = Callable[[Any, Any], Any]

# Of a number and a sequence.
PROGRAMS: dict[str, Program] = {
    "elements unused": lambda w, x: lax.scan(lambda c, v: (c * w, None), 1.0, x)[0],
    "elements unused, backwards": lambda w, x: lax.scan(lambda c, v: (c * w, None), 1.0, x, reverse=True)[0],
    "elements unused, carries stacked": lambda w, x: (lambda last, stack: last + cnp.sum(stack * x))(
        *lax.scan(lambda c, v: (c * w, c), 1.0, x)
    ),
    "elements added": lambda w, x: lax.scan(lambda c, v: (c * 2 + v, None), 0.0 * w, x)[0],
    "elements added, carry scaled": lambda w, x: lax.scan(lambda c, v: (c * w + v, None), 0.0 * w, x)[0],
    "sine of the carry": lambda w, x: lax.scan(lambda c, v: (cnp.sin(c * w), c * c), w, x)[0],
    "stack of a constant": lambda w, x: cnp.sum(lax.scan(lambda c, v: (c, w), 0.0, x)[1]),
    "stack of a counter": lambda w, x: cnp.sum(lax.scan(lambda c, v: (c + 1.0, c * w), 0.0, x)[1]),
    "elements only stacked": lambda w, x: lax.scan(lambda c, v: (c * w, v), 1.0, x)[0],
    "map of a constant": lambda w, x: cnp.sum(lax.map(lambda v: w * w, x)),
    "two carries": lambda w, x: lax.scan(lambda c, v: ((c[0] * w, c[1] + c[0]), None), (1.0, 0.0), x)[0][1],
    "two sequences, one unused": lambda w, x: lax.scan(lambda c, v: (c * w + v[1], None), 1.0, (x, 2 * x))[0],
    "checkpoint": lambda w, x: lax.scan(ct.checkpoint(lambda c, v: (c * w, None)), 1.0, x)[0],
    "loop in a loop": lambda w, x: lax.scan(lambda c, v: (lax.scan(lambda a, b: (a * w, None), c, x)[0], None), 1.0, x)[
        0
    ],
    "branch in a loop": lambda w, x: lax.scan(
        lambda c, v: (lax.cond(c > 2, lambda c: c * w, lambda c: c + w, c), None), 1.0, x
    )[0],
    "carry of two": lambda w, x: lax.scan(lambda c, v: (c.at[0].multiply(w), None), cnp.ones(2), x)[0].sum(),
    "numbers": lambda w, x: lax.scan(lambda c, i: (c * w + i, None), 1.0, cnp.arange(x.shape[0]) * 1.0)[0],
    "length": lambda w, x: lax.scan(lambda c, v: (c * w, None), 1.0, None, length=x.shape[0])[0],
    "length, stacked": lambda w, x: cnp.sum(lax.scan(lambda c, v: (c * w, c), w, None, length=x.shape[0])[1] * x),
    "length and elements": lambda w, x: lax.scan(lambda c, v: (c * w + v, None), 1.0, x, length=x.shape[0])[0],
    "fori_loop": lambda w, x: lax.fori_loop(0, x.shape[0], lambda i, c: c * w, 1.0),
    "while_loop": lambda w, x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * w), (0, cnp.sum(x)))[1],
    "jit in the mask": lambda w, x: ct.jit(lambda w, x: lax.scan(lambda c, v: (c * w, None), 1.0, x)[0])(w, x),
}


@pytest.fixture(autouse=True)
def _float64() -> Any:
    with ct.config.enable_x64(True):
        yield


def ragged(length: int) -> Any:
    padded = ELEMENTS.copy()
    padded[length:] = np.nan
    return ct.Ragged(cnp.array(padded), {0: length})


def gradients(f: Program) -> Any:
    return ct.grad(f, argnums=(0, 1))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_masked_loop_is_the_exact_one(name: str, length: int) -> None:
    f, w, x = PROGRAMS[name], cnp.array(1.7), ragged(length)
    exact = cnp.array(ELEMENTS[:length])
    value, (by_w, by_x) = f(w, exact), gradients(f)(w, exact)
    np.testing.assert_allclose(ct.mask(f)(w, x), value, rtol=1e-12)
    np.testing.assert_allclose(ct.jit(ct.mask(f))(w, x), value, rtol=1e-12)
    for derived in (gradients(ct.mask(f)), ct.mask(gradients(f))):
        for run in (derived, ct.jit(derived)):
            found = run(w, x)
            np.testing.assert_allclose(found[0], by_w, rtol=1e-12)
            np.testing.assert_allclose(found[1].unpad(), by_x, rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_derivative_of_a_masked_loop(name: str) -> None:
    f, w = PROGRAMS[name], cnp.array(1.7)
    for length in (1, 3):
        want = ct.grad(ct.grad(f))(w, cnp.array(ELEMENTS[:length]))
        for derived in (ct.grad(ct.grad(ct.mask(f))), ct.grad(ct.mask(ct.grad(f)))):
            np.testing.assert_allclose(ct.jit(derived)(w, ragged(length)), want, rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_batch_of_masked_loops(name: str) -> None:
    f, w = PROGRAMS[name], cnp.array(1.7)
    batch = ct.ragged([ELEMENTS[:length] for length in LENGTHS], bound=BOUND)
    found = ct.jit(ct.vmap(ct.grad(ct.mask(f)), in_axes=(None, 0)))(w, batch)
    want = [ct.grad(f)(w, cnp.array(ELEMENTS[:length])) for length in LENGTHS]
    np.testing.assert_allclose(found, np.array([float(each) for each in want]), rtol=1e-12)


def test_a_length_that_is_not_that_of_the_sequences() -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, v: (c + v, None), 0.0, x, length=x.shape[0] - 1)[0]

    with pytest.raises(ValueError, match=r"scan: length is the size \(x\.shape\[0\] - 1\); the leading axis of xs"):
        ct.mask(f)(ragged(3))
