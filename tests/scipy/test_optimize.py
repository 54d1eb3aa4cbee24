"""scipy.optimize.minimize on standard test functions, against known minima and SciPy."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.scipy.optimize import minimize
from needs import needed

METHODS = ["BFGS", "L-BFGS"]


def rosenbrock(x):
    return cnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("fun", "start", "minimum"),
    [
        (rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
        (rosenbrock, [0.5] * 12, [1.0] * 12),
        (himmelblau, [1.0, 1.0], [3.0, 2.0]),
        (matyas, [1.0, 2.0], [0.0, 0.0]),
        (lambda x: cnp.sum(cnp.cosh(x - 2.0)), [30.0, -5.0], [2.0, 2.0]),
    ],
    ids=["rosenbrock-2", "rosenbrock-12", "himmelblau", "matyas", "cosh"],
)
def test_minima(method, fun, start, minimum):
    result = ct.jit(lambda x: minimize(fun, x, method=method, tol=1e-7))(np.array(start))
    assert bool(result.success) and int(result.status) == 0
    np.testing.assert_allclose(result.x, minimum, atol=1e-5)
    assert float(cnp.max(cnp.abs(result.jac))) < 1e-7
    assert int(result.nfev) >= int(result.nit) > 0
    single = minimize(fun, np.array(start, np.float32), method=method, options={"gtol": 1e-3})
    assert single.x.dtype == np.float32
    np.testing.assert_allclose(single.x, minimum, atol=5e-2)


def test_the_effort_is_that_of_scipy():
    scipy_optimize = needed("scipy.optimize")
    start = np.full(8, -0.7)
    value = lambda x: float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))  # noqa: E731
    gradient = ct.jit(ct.grad(rosenbrock))
    theirs = scipy_optimize.minimize(value, start, jac=lambda x: np.asarray(gradient(x)), method="BFGS")
    ours = minimize(rosenbrock, start, method="BFGS")
    assert float(ours.fun) < 1e-9
    assert int(ours.nfev) < 2 * theirs.nfev


def test_arguments_options_and_batches():
    fun = lambda x, centre: cnp.sum((x - centre) ** 4 + (x - centre) ** 2)  # noqa: E731
    centre = np.array([1.0, -2.0])
    result = minimize(fun, np.zeros(2), (centre,), method="BFGS", tol=1e-8)
    np.testing.assert_allclose(result.x, centre, atol=1e-7)
    short = minimize(rosenbrock, np.array([-1.2, 1.0]), method="BFGS", options={"maxiter": 2})
    assert not bool(short.success) and int(short.status) == 1 and int(short.nit) == 2
    there = minimize(matyas, np.zeros(2), method="L-BFGS")
    assert bool(there.success) and int(there.nit) == 0
    starts = np.array([[-1.2, 1.0], [2.0, 2.0], [0.0, 0.0]])
    batch = ct.vmap(lambda x: minimize(rosenbrock, x, method="BFGS").x)(starts)
    np.testing.assert_allclose(batch, np.ones((3, 2)), atol=1e-5)


def test_errors():
    with pytest.raises(ValueError, match="unknown method"):
        minimize(matyas, np.zeros(2), method="Newton")
    with pytest.raises(ValueError, match="unknown options"):
        minimize(matyas, np.zeros(2), method="BFGS", options={"steps": 3})
    with pytest.raises(ct.errors.ShapeError, match="vector"):
        minimize(matyas, np.zeros((2, 1)), method="BFGS")
    with pytest.raises(ct.errors.DTypeError, match="floating"):
        minimize(matyas, np.zeros(2, int), method="BFGS")
    with pytest.raises(TypeError, match="tuple"):
        minimize(matyas, np.zeros(2), 3, method="BFGS")
