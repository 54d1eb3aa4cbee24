"""Matrices that are given by the names of the parameters."""

from __future__ import annotations

import inspect

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.scipy import linalg
from numpy.testing import assert_allclose

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])
B = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
OF_ONE = [
    *(cnp.linalg.cholesky, cnp.linalg.qr, cnp.linalg.svd, cnp.linalg.eigh, cnp.linalg.eigvalsh, cnp.linalg.eig),
    *(cnp.linalg.eigvals, cnp.linalg.inv, cnp.linalg.det, cnp.linalg.slogdet, cnp.linalg.pinv),
    *(linalg.cholesky, linalg.qr, linalg.svd, linalg.eigh, linalg.schur, linalg.lu, linalg.expm, linalg.sqrtm),
    *(ct.lax.linalg.cholesky, ct.lax.linalg.qr, ct.lax.linalg.svd, ct.lax.linalg.lu, ct.lax.linalg.eig),
]
OF_TWO = [cnp.linalg.solve, cnp.linalg.lstsq, linalg.solve, linalg.eigh, linalg.solve_triangular]


def equal(actual, expected):
    for x, y in zip(ct.tree.leaves(actual), ct.tree.leaves(expected), strict=True):
        assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12, atol=1e-12)


def names(function):
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("function", OF_ONE, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_one_matrix_by_name(function):
    name, *_ = names(function)
    if inspect.signature(function).parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
        with pytest.raises(TypeError):
            function(**{name: A})
        return
    equal(function(**{name: A}), function(A))


@pytest.mark.parametrize("function", OF_TWO, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_two_matrices_by_name(function):
    first, second, *_ = names(function)
    other = A if function is linalg.eigh else B
    equal(function(**{first: A, second: other}), function(A, other))
    equal(function(**{second: other, first: A}), function(A, other))
    equal(function(A, **{second: other}), function(A, other))


def test_halves_by_name_are_halves():
    half = A.astype(np.float16)
    assert cnp.linalg.solve(a=half, b=half[:, 0]).dtype == np.dtype("float16")


@pytest.mark.parametrize("function", [cnp.linalg.qr, cnp.linalg.solve, linalg.cholesky])
def test_a_matrix_that_is_missing(function):
    with pytest.raises(TypeError, match="missing"):
        function()
