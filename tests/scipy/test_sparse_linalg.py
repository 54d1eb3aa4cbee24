"""Iterative solvers of `ct.scipy.sparse.linalg` against direct ones and SciPy's."""

from __future__ import annotations

import cotangent as ct
import numpy as np
import pytest
import scipy.sparse.linalg
from cotangent.scipy.sparse import linalg
from cotangent.test_util import check_grads

rng = np.random.default_rng(0)
N = 6
METHODS = {"cg": linalg.cg, "bicgstab": linalg.bicgstab, "gmres": linalg.gmres}
TOLERANCE = {"float32": 1e-6, "float64": 1e-12, "complex64": 1e-6, "complex128": 1e-12}


def system(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    draw = lambda *shape: rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in dtype else 0)  # noqa: E731
    matrix = draw(N, N)
    matrix = matrix @ matrix.conj().T + np.eye(N) if name == "cg" else matrix + 4 * np.eye(N)
    return matrix.astype(dtype), draw(N).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", METHODS)
def test_solutions(name: str, dtype: str) -> None:
    matrix, b = system(name, dtype)
    method, tolerance = METHODS[name], TOLERANCE[dtype]
    expected = np.linalg.solve(matrix.astype(complex), b)
    calls = [
        lambda b: method(matrix, b, tol=tolerance)[0],
        lambda b: method(lambda x: matrix @ x, b, x0=np.ones(N, dtype), tol=tolerance, M=np.linalg.inv(matrix))[0],
    ]
    for call in calls:
        for result in (call(b), ct.jit(call)(b), ct.vmap(call)(np.stack([b, 2 * b]))[1] / 2):
            assert result.dtype == dtype
            np.testing.assert_allclose(result, expected, rtol=1e3 * tolerance, atol=1e3 * tolerance)


@pytest.mark.parametrize("name", METHODS)
def test_derivatives_are_those_of_the_solution(name: str) -> None:
    matrix, b = system(name, "float64")

    def solve(matrix, b):
        symmetric = matrix @ matrix.T + np.eye(N) if name == "cg" else matrix
        return METHODS[name](symmetric, b, tol=1e-13)[0]

    check_grads(solve, (matrix, b), order=2, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("steps", [1, 3])
def test_steps_are_scipy_s(steps: int) -> None:
    for name in ("cg", "bicgstab"):
        matrix, b = system(name, "float64")
        expected = getattr(scipy.sparse.linalg, name)(matrix, b, maxiter=steps)[0]
        np.testing.assert_allclose(METHODS[name](matrix, b, maxiter=steps)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_pytrees_zeros_and_restarts(name: str) -> None:
    operator = lambda x: {"a": x["a"] + 0.5 * x["b"], "b": 0.5 * x["a"] + x["b"]}  # noqa: E731
    solution, info = METHODS[name](operator, {"a": 1.0, "b": -4.0})
    assert info is None
    np.testing.assert_allclose([solution["a"], solution["b"]], [4.0, -6.0], rtol=1e-5)
    np.testing.assert_array_equal(METHODS[name](np.eye(3), np.zeros(3))[0], np.zeros(3))
    np.testing.assert_array_equal(METHODS[name](np.eye(3, dtype=np.float32), np.arange(3))[0], np.arange(3.0))
    wide = np.diag(np.arange(1.0, 31.0))
    options = {"restart": 4, "maxiter": 200} if name == "gmres" else {}
    np.testing.assert_allclose(METHODS[name](wide, np.ones(30), tol=1e-9, **options)[0], 1 / np.diag(wide), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.cg(lambda x: x, {"x": 1.0}, {"y": 1.0}), ValueError, "the same structure"),
        (lambda: linalg.cg(lambda x: x, np.ones(2), np.ones((2, 1))), ct.errors.ShapeError, "the same shapes"),
        (lambda: linalg.cg(np.ones((3, 2)), np.ones(2)), ct.errors.ShapeError, "square matrix"),
        (lambda: linalg.gmres([[1.0]], np.ones(1)), TypeError, "a function or a matrix"),
        (lambda: linalg.gmres(np.eye(1), np.ones(1), solve_method="other"), ValueError, "solve_method"),
    ],
)
def test_errors(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
