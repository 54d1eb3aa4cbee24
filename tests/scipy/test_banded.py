"""Systems of banded matrices, also with few rows, against dense ones."""

from __future__ import annotations

import cotangent as ct
import numpy as np
import pytest
from cotangent.test_util import check_grads

SHAPES = [
    (1, 1, 6, 2),
    (2, 1, 7, 3),
    (0, 2, 5, 1),
    (3, 0, 5, 2),
    (0, 0, 4, 1),
    (2, 3, 3, 2),
    (1, 2, 1, 1),
    (4, 1, 3, 1),
]


def dense(lower: int, upper: int, bands: np.ndarray) -> np.ndarray:
    n = bands.shape[1]
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            result[i, j] = bands[upper + i - j, j]
    return result


@pytest.mark.parametrize(("lower", "upper", "n", "k"), SHAPES)
def test_the_solution_is_that_of_the_dense_system(lower: int, upper: int, n: int, k: int) -> None:
    random = np.random.default_rng(0)
    bands, b = random.normal(size=(lower + upper + 1, n)), random.normal(size=(n, k))
    solve = lambda bands, b: ct.scipy.linalg.solve_banded((lower, upper), bands, b)  # noqa: E731
    expected = np.linalg.solve(dense(lower, upper, bands), b)
    np.testing.assert_allclose(solve(bands, b), expected, rtol=1e-9)
    np.testing.assert_allclose(ct.jit(solve)(bands, b[:, 0]), expected[:, 0], rtol=1e-9)
    regular = bands + 8 * np.eye(lower + upper + 1, 1, -upper)
    check_grads(solve, (regular, b), order=2, modes=["fwd", "rev"])


def test_what_is_outside_of_the_matrix_does_not_count() -> None:
    bands = np.array([[np.nan, 1, 1], [3, 3, 3], [1, 1, np.nan]])
    solve = lambda bands, b: ct.scipy.linalg.solve_banded((1, 1), bands, b)  # noqa: E731
    np.testing.assert_allclose(solve(bands, np.array([4, 5, 4])), [1, 1, 1], rtol=1e-6)
    slopes = ct.grad(lambda bands: solve(bands, np.array([4.0, 5, 4])).sum())(bands)
    assert np.isfinite(slopes).all() and slopes[0, 0] == 0 and slopes[2, 2] == 0
    many = ct.vmap(solve, (None, 0))(bands, np.array([[4.0, 5, 4], [8, 10, 8]]))
    np.testing.assert_allclose(many, [[1, 1, 1], [2, 2, 2]])
    with pytest.raises(ct.errors.ShapeError, match="the uppermost first"):
        solve(bands[:2], np.ones(3))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
def test_perturbed_tridiagonal_systems(dtype: str) -> None:
    solve = ct.lax.linalg.tridiagonal_solve
    zero, one = np.zeros(3, dtype), np.ones((3, 1), dtype)
    assert np.isnan(solve(zero, zero, zero, one)).any()
    large = np.abs(solve(zero, zero, zero, one, perturb_singular=True))
    np.testing.assert_allclose(large, 1 / np.finfo(dtype).eps, rtol=1e-5)
    singular = [np.array(x, dtype) for x in ([0, 1], [1, 3], [3, 0], [[1], [4]])]
    found = solve(*singular, perturb_singular=True)
    assert np.isfinite(found).all() and (np.abs(found) > 1e6).all()
    regular = [np.array(x, dtype) for x in ([0, 2, -2, 3], [1, 4, 1, -1], [2, -1, 1, 0], [[1], [2], [3], [4]])]
    np.testing.assert_allclose(solve(*regular, perturb_singular=True), [[8], [-3.5], [0], [-4]], atol=1e-5)
