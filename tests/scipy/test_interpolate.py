"""cotangent.scipy.interpolate against SciPy."""

from __future__ import annotations

import cotangent as ct
import numpy as np
import pytest
from cotangent.scipy.interpolate import RegularGridInterpolator
from cotangent.test_util import check_grads
from needs import needed

scipy_interpolate = needed("scipy.interpolate")
random = np.random.default_rng(0)
LINES = [np.array([0.0, 1.0, 2.5, 3.0]), np.linspace(-1, 1, 5), np.array([2.0, 4.0])]


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("rest", [(), (2,)])
@pytest.mark.parametrize("fill", [np.nan, 7.0, None])
def test_agrees_with_scipy(method, rank, rest, fill):
    points = LINES[:rank]
    values = random.standard_normal((*map(len, points), *rest))
    at = random.uniform(-0.5, 4.5, (3, 6, rank))
    ours = RegularGridInterpolator(points, values, method, False, fill)
    theirs = scipy_interpolate.RegularGridInterpolator(points, values, method, False, fill)
    np.testing.assert_allclose(ours(at), theirs(at), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ct.jit(ours)(at), theirs(at), rtol=1e-12, atol=1e-12)
    if rank > 1:
        parts = tuple(at[..., i] for i in range(rank))
        np.testing.assert_allclose(ours(parts), theirs(parts), rtol=1e-12, atol=1e-12)


def test_derivatives():
    values = random.standard_normal((4, 5))
    at = np.array([[0.3, 0.1], [2.7, -0.7]])
    check_grads(lambda v, x: RegularGridInterpolator(LINES[:2], v)(x), (values, at), order=2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RegularGridInterpolator(LINES[:1], np.ones(4), "cubic"), ValueError, "unknown method 'cubic'"),
        (lambda: RegularGridInterpolator(LINES[:1], np.ones(4), bounds_error=True), NotImplementedError, "fill_value"),
        (lambda: RegularGridInterpolator(LINES[:2], np.ones(4)), ct.errors.ShapeError, "2 axes of points"),
        (lambda: RegularGridInterpolator(LINES[:1], np.ones(5)), ct.errors.ShapeError, "coordinates of axis 0"),
        (lambda: RegularGridInterpolator(LINES[:2], np.ones((4, 5)))(np.ones(3)), ct.errors.ShapeError, "2 axes"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
