"""Programs over arrays without elements, compiled: folds of what was moved, joined and computed of them."""

from __future__ import annotations

import itertools

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

MOVED = {
    "transposed": lambda x: x.T,
    "tiled": lambda x: cnp.tile(x, (2, 3)),
    "stacked": lambda x: cnp.stack([x, x + 1], axis=-1),
    "joined": lambda x: cnp.concatenate([x, x * 2, cnp.flip(x, 0)]),
    "repeated": lambda x: cnp.repeat(x, 3, axis=0),
    "raveled": lambda x: cnp.ravel(x.T)[1:],
    "product": lambda x: x.T @ x,
}
FOLDS = {
    "sum": cnp.sum,
    "prod": cnp.prod,
    "any": cnp.any,
    "all": cnp.all,
    "count_nonzero": cnp.count_nonzero,
    "max": lambda x: cnp.max(x, initial=-3),
}


@pytest.mark.parametrize(("moved", "fold"), list(itertools.product(MOVED, FOLDS)))
def test_folds(moved, fold):
    for shape, dtype in itertools.product([(0, 4), (3, 0), (0, 0)], ["float32", "int8", "bool", "complex64"]):
        if dtype == "complex64" and fold == "max":
            continue

        def f(x):
            return FOLDS[fold](MOVED[moved](x))

        x = np.zeros(shape, dtype)
        expected = np.asarray(f(cnp.asarray(x)))
        result = np.asarray(ct.jit(f)(x))
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
        batch = np.zeros((2, *shape), dtype)
        np.testing.assert_array_equal(ct.jit(ct.vmap(f))(batch), np.broadcast_to(expected, (2, *expected.shape)))


def test_they_are_explained_and_profiled():
    x = np.zeros((0, 4), np.float32)
    assert ct.explain(lambda x: cnp.sum(x.T))(x).scratch_bytes == 0
    assert float(ct.profile(lambda x: cnp.sum(x.T), runs=1)(x).result) == 0


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0), (0, 0)])
@pytest.mark.parametrize(
    "matrix",
    [
        ct.hessian,
        lambda f: ct.jacfwd(ct.grad(f)),
        lambda f: ct.jacrev(ct.grad(f)),
        lambda f: ct.jacfwd(ct.jacfwd(f)),
        lambda f: ct.jacrev(ct.jacrev(f)),
        lambda f: lambda x: cnp.diagonal(ct.hessian(lambda v: f(v.reshape(x.shape)))(x.reshape(-1))),
        lambda f: lambda x: cnp.trace(ct.hessian(lambda v: f(v.reshape(x.shape)))(x.reshape(-1))),
    ],
    ids=["hessian", "jacfwd grad", "jacrev grad", "jacfwd jacfwd", "jacrev jacrev", "diagonal", "trace"],
)
def test_matrices_of_derivatives(matrix, shape):
    for f in (lambda x: cnp.sum(x**2), lambda x: cnp.sum(cnp.tanh(x.T @ x)), lambda x: cnp.prod(cnp.cos(x)) + x.sum()):
        x = np.zeros(shape, np.float32)
        expected = np.asarray(matrix(f)(x))
        for result in (ct.jit(matrix(f))(x), ct.jit(ct.vmap(matrix(f)))(x[None])[0]):
            np.testing.assert_array_equal(result, expected)
            assert result.shape == expected.shape
