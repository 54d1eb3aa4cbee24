"""Collectives over a ragged axis that has a name: over as many examples as there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

ELEMENTS = np.array([1.0, 2.5, -0.5, 3.0])
W = 3.0
Program = Callable[[Any], Any]

# Of one example.
PROGRAMS: dict[str, Program] = {
    "sum": lambda r: lax.psum(r, "i") * r,
    "sum of what all share": lambda r: lax.psum(cnp.array(W), "i") * r,
    "sum of a number": lambda r: lax.psum(1.0, "i") * r,
    "sum of an integer": lambda r: lax.psum(1, "i") * r,
    "sum of an array": lambda r: lax.psum(cnp.ones(2), "i").sum() + r,
    "sum of ones": lambda r: lax.psum(cnp.ones_like(r), "i") * r,
    "sum of bools": lambda r: lax.psum(r > 1.5, "i") + r,
    "mean": lambda r: r - lax.pmean(r, "i"),
    "mean of what all share": lambda r: r - lax.pmean(cnp.array(W), "i"),
    "largest": lambda r: r - lax.pmax(r, "i"),
    "smallest of what all share": lambda r: r - lax.pmin(cnp.array(W), "i"),
    "size": lambda r: r / lax.axis_size("i"),
    "ones of the size": lambda r: cnp.ones(lax.axis_size("i")).sum() * r,
    "number": lambda r: lax.axis_index("i") * r,
    "all": lambda r: lax.all_gather(r, "i").sum() + r,
    "all of what they share": lambda r: lax.all_gather(cnp.array(W), "i").sum() + r,
    "normalized": lambda r: (r - lax.pmean(r, "i")) / cnp.sqrt(lax.pmean(r * r, "i") + 1e-3),
    "two axes": lambda r: ct.vmap(lambda q: lax.psum(q, ("i", "j")) * lax.psum(1, ("j", "i")), axis_name="j")(
        cnp.stack([r, 2 * r])
    ).sum(),
    "gradient inside": lambda r: ct.grad(lambda q: lax.psum(cnp.sin(q * W), "i") ** 2)(r),
    "gradient of what all share, inside": lambda r: ct.grad(lambda w: lax.psum(w * w, "i"))(cnp.array(W)) + r,
    "gradient of a mean, inside": lambda r: ct.grad(lambda q: lax.pmean(q * q, "i"))(r),
    "tangent inside": lambda r: ct.jvp(lambda q: lax.psum(q * q, "i"), (r,), (r,))[1],
}


def mapped(f: Program) -> Program:
    return lambda x: ct.vmap(f, axis_name="i")(x)


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_collective_over_a_ragged_axis(name: str, length: int) -> None:
    f = mapped(PROGRAMS[name])
    padded = ELEMENTS.astype(np.float32)
    padded[length:] = np.nan
    x, exact = ct.Ragged(cnp.array(padded), {0: length}), cnp.array(ELEMENTS[:length], np.float32)
    for run in (ct.mask(f), ct.jit(ct.mask(f))):
        np.testing.assert_allclose(run(x).unpad(), f(exact), rtol=1e-5)

    def loss(x: Any) -> Any:
        return cnp.sum(cnp.sin(f(x)))

    want = ct.grad(loss)(exact)
    for run in (ct.grad(ct.mask(loss)), ct.jit(ct.mask(ct.grad(loss)))):
        np.testing.assert_allclose(run(x).unpad(), want, rtol=1e-3, atol=1e-5)


def test_one_result_for_all_examples() -> None:
    def f(x: Any) -> Any:
        return ct.vmap(lambda r: lax.psum(r * W, "i"), axis_name="i", out_axes=None)(x)

    x = ct.Ragged(cnp.array([1.0, 2.0, np.nan]), {0: 2})
    assert float(ct.mask(f)(x)) == 9.0
    assert ct.grad(ct.mask(f))(x).unpad().tolist() == [W, W]


def test_what_needs_a_number_of_examples() -> None:
    x = ct.Ragged(cnp.array([1.0, 2.0, np.nan]), {0: 2})
    with pytest.raises(
        NotImplementedError, match="the axis named 'i' is ragged: how many examples there are is not known"
    ):
        ct.mask(lambda x: ct.vmap(lambda r: lax.pbroadcast(r, "i", 1), axis_name="i")(x))(x)
