"""Ragged axes of one element at most, which in memory are like any axis of size 1."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

PROGRAMS: dict[str, Any] = {
    "kron": lambda x: cnp.kron(x, np.ones(2)),
    "kron of an exact one": lambda x: cnp.kron(np.ones(2), x),
    "kron of matrices": lambda x: cnp.kron(cnp.outer(x, x), np.arange(4.0).reshape(2, 2)),
    "kron with a number of one element": lambda x: cnp.kron(x, np.ones(1)),
    "matvec": lambda x: cnp.matvec(cnp.outer(x, np.arange(3.0)), np.ones(3)),
    "vecmat": lambda x: cnp.vecmat(np.ones(3), cnp.outer(np.arange(3.0), x)),
    "einsum with an axis of one element": lambda x: cnp.einsum("ij,j->i", x[:, None] * np.arange(2.0), np.ones(1)),
    "hessian": ct.hessian(lambda y: (y**3).sum() * y.sum()),
    "jacfwd": ct.jacfwd(lambda x: cnp.outer(x, np.arange(2.0))),
    "jacrev": ct.jacrev(lambda x: cnp.outer(x, np.arange(2.0))),
    "jacobian of an exact result": ct.jacrev(lambda x: x.sum() * cnp.ones((2, 3))),
    "median of rows": lambda x: cnp.median(cnp.outer(x, np.arange(3.0)), axis=1),
    "quantiles of columns": lambda x: cnp.quantile(cnp.outer(np.arange(3.0), x), np.array([0.25, 0.5]), axis=0),
    "argmax": lambda x: cnp.argmax(cnp.outer(np.arange(3.0), x + 1)),
    "a column set": lambda x: cnp.outer(x, np.ones(2)).at[:, 0].set(x),
    "a column added to": lambda x: cnp.outer(x, np.ones(2)).at[:, -1].add(3 * x),
    "rows set": lambda x: cnp.outer(np.ones(3), x).at[np.array([2, 0])].set(5.0),
    "a new axis set": lambda x: cnp.outer(x, np.ones(2)).at[None, :, 1].set(x),
}


def rows_less_their_means(x: Any) -> Any:
    rows = cnp.outer(np.arange(1.0, 4.0), x)
    return ct.lax.scan(lambda total, row: (total + row.sum(), row * row - row.sum()), 0.0, rows)[1]


def doubled_until_large(x: Any) -> Any:
    return ct.lax.while_loop(lambda x: x.sum() < 9, lambda x: 2 * x + 1, x + 1)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("program", [rows_less_their_means, doubled_until_large])
def test_gradients_of_loops(program: Any, reverse: bool) -> None:
    """A slice of one row, beside an axis that may have one element."""
    loss = lambda x: (program(x) ** 2).sum()  # noqa: E731
    for length in (0, 1):
        if program is doubled_until_large and length == 0:
            continue  # a sum of none never grows
        exact, ragged = (
            cnp.array(np.array([2.0])[:length]),
            ct.Ragged(np.array([2.0 if length else np.nan]), {0: length}),
        )
        run: Any = ct.mask(ct.grad(loss)) if reverse else ct.grad(ct.mask(loss))
        np.testing.assert_allclose(run(ragged).unpad(), ct.grad(loss)(exact), rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_element_or_none(name: str) -> None:
    f = PROGRAMS[name]
    for length in (0, 1):
        if length == 0 and name == "argmax":
            continue
        want = np.asarray(f(cnp.array(np.array([2.0])[:length])))
        runs: list[Any] = [ct.mask(f), ct.jit(ct.mask(f))]
        for run in runs:
            found = run(ct.Ragged(np.array([2.0 if length else np.nan]), {0: length}))
            found = np.asarray(found.unpad() if isinstance(found, ct.Ragged) else found)
            assert found.shape == want.shape
            np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "argmax"])
def test_groups_of_a_batch_that_have_one_element_at_most(name: str) -> None:
    f = PROGRAMS[name]
    rows = [np.array([]), np.array([1.0, 2.0]), np.array([3.0])]
    found = ct.pack(f)(ct.ragged([row.astype(np.float32) for row in rows]))
    for part, row in zip(found.to_list() if isinstance(found, ct.Ragged) else found, rows, strict=True):
        np.testing.assert_allclose(part, f(cnp.array(row, np.float32)), rtol=1e-5)


def test_the_gradient_of_a_product_with_one_element() -> None:
    gradient = ct.grad(ct.mask(lambda x: (cnp.kron(x, np.array([1.0, 4.0])) ** 2).sum()))
    for length in (0, 1):
        found = gradient(ct.Ragged(np.array([3.0]), {0: length}))
        np.testing.assert_array_equal(found.unpad(), [102.0][:length])
