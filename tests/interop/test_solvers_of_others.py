"""SciPy's solvers and scikit-learn's estimators call our functions as they are: jitted, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import needed, require

optimize = needed("scipy.optimize")
integrate = needed("scipy.integrate")

START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


value = ct.jit(rosenbrock)
both = ct.jit(ct.value_and_grad(rosenbrock))
slope = ct.jit(ct.grad(rosenbrock))
curvature = ct.jit(ct.hessian(rosenbrock))
product = ct.jit(lambda x, p: ct.jvp(ct.grad(rosenbrock), (x,), (p,))[1])

MINIMIZED: dict[str, Callable[[], Any]] = {
    "BFGS": lambda: optimize.minimize(value, START, jac=slope, method="BFGS", tol=1e-10),
    "L-BFGS-B": lambda: optimize.minimize(both, START, jac=True, method="L-BFGS-B", tol=1e-14),
    "Newton-CG": lambda: optimize.minimize(value, START, jac=slope, hess=curvature, method="Newton-CG", tol=1e-10),
    "trust-ncg": lambda: optimize.minimize(value, START, jac=slope, hessp=product, method="trust-ncg", tol=1e-10),
    "trust-exact": lambda: optimize.minimize(value, START, jac=slope, hess=curvature, method="trust-exact"),
    "SLSQP": lambda: optimize.minimize(both, START, jac=True, method="SLSQP", tol=1e-14),
    "Nelder-Mead": lambda: optimize.minimize(value, START[:2], method="Nelder-Mead", tol=1e-8),
    "differential_evolution": lambda: optimize.differential_evolution(value, [(0, 2)] * 2, seed=0),
    "basinhopping": lambda: optimize.basinhopping(both, START[:2], niter=2, minimizer_kwargs={"jac": True}),
}


@pytest.mark.parametrize("method", list(MINIMIZED))
def test_minimizers(method: str) -> None:
    np.testing.assert_allclose(MINIMIZED[method]().x, 1.0, atol=2e-4)


def test_functions_compute_in_64_bits_as_solvers_do() -> None:
    assert value(START).dtype == "float64"
    assert optimize.check_grad(value, slope, START) < 1e-3


def crossing(x: Any) -> Any:
    return cnp.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


def test_roots_and_fits() -> None:
    f, jacobian = ct.jit(crossing), ct.jit(ct.jacobian(crossing))
    expected = [0.8411639, 0.1588361]
    for found in (
        optimize.root(f, np.zeros(2), jac=jacobian).x,
        optimize.root(f, np.zeros(2), jac=jacobian, method="lm").x,
        optimize.fsolve(f, np.zeros(2), fprime=jacobian),
        optimize.least_squares(f, np.zeros(2), jac=jacobian).x,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    x = np.linspace(0, 1, 10)
    fitted = optimize.curve_fit(ct.jit(lambda x, a, b: a * cnp.exp(b * x)), x, 2 * np.exp(-x))[0]
    np.testing.assert_allclose(fitted, [2.0, -1.0], atol=1e-4)
    square = ct.jit(lambda x: x * x - 2)
    # A number of Python is a float32 here, as in JAX.
    assert optimize.brentq(square, 0, 2) == pytest.approx(2**0.5, abs=1e-6)
    assert optimize.newton(square, np.float64(1), fprime=ct.jit(ct.grad(square))) == pytest.approx(2**0.5, abs=1e-8)


def turning(t: Any, y: Any) -> Any:
    return cnp.stack([y[1], -y[0]])


@pytest.mark.parametrize("method", ["RK45", "DOP853", "LSODA", "BDF", "Radau"])
def test_differential_equations(method: str) -> None:
    options = {} if method in ("RK45", "DOP853") else {"jac": ct.jit(ct.jacobian(turning, 1))}
    found = integrate.solve_ivp(ct.jit(turning), (0, 1), [1.0, 0.0], method=method, rtol=1e-8, atol=1e-8, **options)
    np.testing.assert_allclose(found.y[:, -1], [np.cos(1), -np.sin(1)], atol=1e-5)


def test_integrals_and_boundary_values() -> None:
    assert integrate.quad(ct.jit(cnp.sin), 0, 1)[0] == pytest.approx(1 - np.cos(1), abs=1e-6)
    assert integrate.dblquad(ct.jit(lambda y, x: x * y), 0, 1, 0, 1)[0] == pytest.approx(0.25, abs=1e-6)
    found = integrate.odeint(ct.jit(turning), [1.0, 0.0], np.linspace(0, 1, 3), tfirst=True)
    np.testing.assert_allclose(found[-1], [np.cos(1), -np.sin(1)], atol=1e-6)
    solved = integrate.solve_bvp(
        ct.jit(lambda x, y: cnp.stack([y[1], -y[0]])),
        ct.jit(lambda a, b: cnp.stack([a[0], b[0] - 1])),
        np.linspace(0, 1, 5),
        np.zeros((2, 5)),
    )
    assert solved.y[0, -1] == pytest.approx(1.0, abs=1e-6)


def test_results_are_seen_by_numpy_without_a_copy() -> None:
    x = ct.jit(lambda x: 2 * x)(np.arange(1000.0))
    view = np.asarray(x)
    assert np.shares_memory(view, np.asarray(x))
    assert np.shares_memory(view, np.from_dlpack(x))
    assert not view.flags.owndata and not view.flags.writeable
    assert np.asarray(x, np.float64).base is not None


def test_estimators() -> None:
    require("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import SVC

    x = np.random.default_rng(0).normal(size=(40, 3))
    y = (x[:, 0] > 0).astype(int)
    doubled = FunctionTransformer(ct.jit(lambda x: 2 * x))
    np.testing.assert_allclose(clone(doubled).fit_transform(x), 2 * x)
    kernel = ct.jit(lambda a, b: cnp.exp(-((a[:, None] - b[None]) ** 2).sum(-1)))
    np.testing.assert_allclose(
        SVC(kernel=kernel).fit(x, y).decision_function(x), SVC(gamma=1.0).fit(x, y).decision_function(x), atol=1e-6
    )
    city = ct.jit(lambda a, b: cnp.abs(a - b).sum())
    assert KNeighborsClassifier(metric=city).fit(x, y).score(x, y) > 0.9
    mean = make_scorer(ct.jit(lambda a, b: -((a - b) ** 2).mean()))
    assert max(cross_val_score(Ridge(), x, x[:, 0], scoring=mean)) < 0
    ours = LogisticRegression().fit(cnp.asarray(x), cnp.asarray(y))
    np.testing.assert_allclose(ours.coef_, LogisticRegression().fit(x, y).coef_, rtol=1e-6)
    # Jitted functions go to joblib's processes.
    assert min(cross_val_score(make_pipeline(doubled, LogisticRegression()), x, y, n_jobs=2)) > 0.8
