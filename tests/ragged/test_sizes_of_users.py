"""Exact arrays that a user gives to a function beside a ragged axis: an error as of an operator, and right where sizes need not be equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import cotangent.scipy.linalg as scipy_linalg
import numpy as np
import pytest
from cotangent import lax

X = np.arange(8.0) - 3
INPUTS = (X, -X, np.abs(X) + 1, -np.abs(X))
Program = Callable[[Any], Any]

UNEQUAL: dict[str, Program] = {
    "add": lambda x: cnp.add(x[x > 0], x),
    "add, the other way": lambda x: cnp.add(x, x[x > 0]),
    "NumPy's array": lambda x: cnp.add(x[x > 0], np.arange(8.0)),
    "list": lambda x: cnp.add(x[x > 0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
    "NumPy's function": lambda x: np.add(x[x > 0], np.arange(8.0)),
    "NumPy's stack": lambda x: np.stack([x[x > 0], np.arange(8.0)]),
    "maximum": lambda x: cnp.maximum(x[x > 0], x),
    "arctan2": lambda x: cnp.arctan2(x, x[x > 0]),
    "power": lambda x: x[x > 0] ** x,
    "logical_and": lambda x: cnp.logical_and(x[x > 0] > 1, x > 1),
    "where": lambda x: cnp.where(x[x > 0] > 1, x[x > 0], x),
    "where, condition": lambda x: cnp.where(x > 1, x[x > 0], 1.0),
    "select": lambda x: cnp.select([x[x > 0] > 1], [x], 0),
    "clip": lambda x: cnp.clip(x[x > 0], 0, x),
    "stack": lambda x: cnp.stack([x[x > 0], x]),
    "column_stack": lambda x: cnp.column_stack([x[x > 0], x]),
    "block": lambda x: cnp.block([[x[x > 0]], [x]]),
    "concatenate along another axis": lambda x: cnp.concatenate([x[x > 0][None], x[None]], 0),
    "matmul operator": lambda x: cnp.ones((3, 8)) @ x[x > 0],
    "matmul operator, NumPy's array": lambda x: np.ones((3, 8)) @ x[x > 0],
    "matmul operator, from the left": lambda x: x[x > 0] @ cnp.ones((8, 3)),
    "matmul": lambda x: cnp.matmul(cnp.ones((3, 8)), x[x > 0]),
    "dot": lambda x: cnp.dot(x, x[x > 0]),
    "method": lambda x: x.dot(x[x > 0]),
    "inner": lambda x: cnp.inner(x, x[x > 0]),
    "tensordot": lambda x: cnp.tensordot(x, x[x > 0], 1),
    "einsum": lambda x: cnp.einsum("ij,j->i", np.ones((8, 8)), x[x > 0]),
    "lax.dot_general": lambda x: lax.dot_general(x, x[x > 0], (((0,), (0,)), ((), ()))),
    "lax.add": lambda x: lax.add(x[x > 0], x),
    "lax.select": lambda x: lax.select(x > 0, x, x[x > 0]),
    "lax.clamp": lambda x: lax.clamp(x - 1, x[x > 0], x),
    "lax.concatenate": lambda x: lax.concatenate([x[x > 0][None], x[None]], 0),
    "lax.scan": lambda x: lax.scan(lambda c, a: (c, a[0] + a[1]), 0.0, (x, x[x > 0])),
    "lax.broadcast_in_dim": lambda x: lax.broadcast_in_dim(x[x > 0], (3, 8), (1,)),
    "broadcast_to": lambda x: cnp.broadcast_to(x[x > 0], (8,)),
    "broadcast_to, a size": lambda x: cnp.broadcast_to(x, x[x > 0].shape),
    "broadcast_to, another size": lambda x: cnp.broadcast_to(x[x < 0], x[x > 0].shape),
    "broadcast_arrays": lambda x: cnp.broadcast_arrays(x[x > 0], x),
    "at": lambda x: x[x > 0].at[:].set(x),
    "average": lambda x: cnp.average(x[x > 0], weights=np.ones(8)),
    "sum where": lambda x: cnp.sum(x[x > 0], where=x > 1),
    "cov": lambda x: cnp.cov(x[x > 0], x),
    "trapezoid": lambda x: cnp.trapezoid(x[x > 0], x),
    "lexsort": lambda x: cnp.lexsort([x, x[x > 0]]),
    "bincount": lambda x: cnp.bincount(x[x > 0].astype(int), weights=x, length=9),
    "softmax": lambda x: ct.nn.softmax(x[x > 0], where=x > 1),
    "density": lambda x: ct.scipy.stats.norm.logpdf(x[x > 0], x, 1.0),
    "derived in the call": lambda x: cnp.einsum("ij,i->j", cnp.ones((8, 2)).T.T * 2, x[x > 0]),
    "gradient": lambda x: ct.grad(lambda w: cnp.dot(w, x[x > 0]))(x),
    "jit within": lambda x: ct.jit(lambda w: cnp.add(w, x[x > 0]))(x),
    "vmap within": lambda x: ct.vmap(lambda w: cnp.add(w, x[x > 0]))(cnp.ones((3, 8))),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_an_exact_array_beside_a_ragged_axis_is_an_error(name: str) -> None:
    with pytest.raises(ct.errors.ShapeError, match="they are of one size for one length only") as caught:
        ct.jit(UNEQUAL[name])(X)
    assert "test_sizes_of_users.py" in str(caught.value) or "from the array" in str(caught.value)


def test_the_message_names_the_function_and_what_to_do() -> None:
    with pytest.raises(ct.errors.ShapeError) as caught:
        ct.mask(lambda x: cnp.stack([x, cnp.zeros(8)]))(ct.Ragged(X, {0: 3}))
    text = str(caught.value)
    assert text.startswith("stack: an axis of 8 elements meets a ragged one, axis 0:")
    assert "y[:x.shape[axis]]" in text


EQUAL: dict[str, Callable[[Any, Any], Any]] = {
    "cut": lambda m, x: m.add(x[x > 0], x[: x[x > 0].shape[0]]),
    "one size": lambda m, x: m.maximum(x[x > 0], -x[x > 0]),
    "size 1": lambda m, x: m.multiply(x[x > 0], m.ones((1,))) + m.add(x[x > 0], 2.0),
    "outer": lambda m, x: m.outer(x, x[x > 0]),
    "concatenate": lambda m, x: m.concatenate([x, x[x > 0]]),
    "searchsorted": lambda m, x: m.searchsorted(m.sort(x), x[x > 0]),
    "isin": lambda m, x: m.isin(x, x[x > 0]),
    "interp": lambda m, x: m.interp(x[x > 0], m.sort(x), x),
    "take": lambda m, x: m.take(x, x[x > 0].astype(int) - 1),
    "kron": lambda m, x: m.kron(x, x[x > 0]),
    "polyval": lambda m, x: m.polyval(x / 8, x[x > 0]),
    "digitize": lambda m, x: m.digitize(x[x > 0], m.sort(x)),
    "union": lambda m, x: m.union1d(x, x[x > 0]),
    "other axes": lambda m, x: m.stack([x[x > 0]] * 8) + x[:, None],
    "product of other axes": lambda m, x: m.ones((8, 1)) @ x[x > 0][None],
    "take_along_axis": lambda m, x: m.take_along_axis(x[:6][x[:6] < 9], m.zeros(8, int), 0),
}


def _flat(result: Any) -> Any:
    return np.asarray(result.unpad() if isinstance(result, ct.Ragged) else result)


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("which", range(len(INPUTS)))
def test_sizes_that_need_not_be_equal(name: str, which: int) -> None:
    x = INPUTS[which]
    expected = EQUAL[name](np, x)
    np.testing.assert_allclose(_flat(ct.jit(lambda x: EQUAL[name](cnp, x))(x)), expected, rtol=1e-6)
    rows = ct.vmap(lambda x: EQUAL[name](cnp, x))(np.stack([x, x]))
    np.testing.assert_allclose(_flat(rows[1]), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["cut", "one size", "concatenate", "interp", "kron"])
def test_gradients(name: str) -> None:
    def total(x: Any) -> Any:
        return cnp.sum(cnp.sin(EQUAL[name](cnp, x)))

    x = X + 0.25
    found = ct.jit(ct.grad(total))(x)
    # Differences of the exact program.
    step = 1e-6
    for i in range(8):
        by = np.zeros(8)
        by[i] = step
        slope = (np.sin(EQUAL[name](np, x + by)).sum() - np.sin(EQUAL[name](np, x - by)).sum()) / (2 * step)
        assert abs(float(found[i]) - slope) < 1e-5 * max(1, abs(slope))


def test_what_the_package_makes_of_the_bound_is_let_through() -> None:
    x = ct.Ragged(np.array([3.0, 1.0, 2.0, np.nan]), {0: 3})
    for function, expected in (
        (ct.nn.softmax, np.exp([3, 1, 2]) / np.exp([3, 1, 2]).sum()),
        (cnp.cumsum, [3, 4, 6]),
        (cnp.argsort, [1, 2, 0]),
        (lambda v: cnp.pad(v, 1), [0, 3, 1, 2, 0]),
    ):
        np.testing.assert_allclose(ct.mask(function)(x).unpad(), expected, rtol=1e-5)


def test_a_system_is_as_large_as_its_right_hand_side() -> None:
    """A matrix of the bound beside a right-hand side that is shorter."""
    matrix = np.eye(6, dtype=np.float32) * 3
    right = ct.Ragged(np.arange(6, dtype=np.float32), {0: 4})
    for solve in (
        lambda b: ct.numpy.linalg.solve(matrix, b),
        lambda b: scipy_linalg.solve(matrix, b),
        lambda b: scipy_linalg.solve_triangular(matrix, b),
        lambda b: lax.linalg.triangular_solve(matrix, b, left_side=True),
        lambda b: scipy_linalg.cho_solve((matrix, True), b),
        lambda b: scipy_linalg.lu_solve(scipy_linalg.lu_factor(matrix), b),
    ):
        with pytest.raises(ct.errors.ShapeError, match="an axis of 6 elements meets a ragged one"):
            ct.jit(ct.mask(solve))(right)
    own = ct.mask(lambda b: ct.numpy.linalg.solve(2 * ct.numpy.eye(b.shape[0]), b))
    np.testing.assert_allclose(own(right).unpad(), np.arange(4) / 2)
