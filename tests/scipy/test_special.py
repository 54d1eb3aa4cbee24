"""Special functions against SciPy and mpmath: values, derivatives, batches, masks."""

from __future__ import annotations

import math

import cotangent as ct
import cotangent.numpy as cnp
import mpmath
import numpy as np
import pytest
from cotangent import _special as special
from cotangent import test_util
from cotangent._special import incomplete, support
from needs import needed

scipy_special = needed("scipy.special")

NEAR = np.concatenate([np.linspace(-6, 6, 121), [-30.0, -12.5, 12.5, 30.0, 1e-10, -1e-10]])
ABOVE = np.concatenate([np.linspace(0.01, 12, 151), 10.0 ** np.arange(-20, 20, 3)])
BELOW = -np.linspace(0.013, 9.3, 101)
INSIDE = np.concatenate([np.linspace(-0.999, 0.999, 101), 1 - 10.0 ** -np.arange(3, 16), [1e-300, 1e-20, 0.0]])
ORDERS, SHIFTS = (
    grid.ravel()
    for grid in np.meshgrid(np.concatenate([np.linspace(1.05, 12, 12), [50.0]]), [0.1, 0.5, 1, 3.7, 20, 1e5])
)
DERIVATIVES, POINTS = (grid.ravel() for grid in np.meshgrid(np.arange(8.0), np.linspace(0.1, 9.7, 15)))


def of_order(m, x):
    return scipy_special.polygamma(m.astype(int), x)


GAMMA_A = 10.0 ** np.linspace(-3, 4, 113)
GAMMA_X = GAMMA_A * np.exp(np.sin(np.arange(113.0)) * np.minimum(2, 3 / np.sqrt(GAMMA_A)))
BETA_A, BETA_B = 10.0 ** np.linspace(-1.5, 3.3, 97), 10.0 ** (1 + 1.5 * np.sin(2.7 * np.arange(97.0)))
BETA_X = scipy_special.betaincinv(BETA_A, BETA_B, np.linspace(0.02, 0.98, 97))


# Name, SciPy's function, operands; tolerance in float64 and in float32, relative to 1 where the function has zeros.
VALUES = [
    ("erf", scipy_special.erf, (NEAR,), 1e-15, 3e-7),
    ("erfc", scipy_special.erfc, (NEAR,), 2e-13, 4e-7),
    ("erfcx", scipy_special.erfcx, (NEAR[NEAR > -9],), 1e-13, 4e-7),
    ("erfinv", scipy_special.erfinv, (INSIDE,), 2e-15, 4e-7),
    ("gammaln", scipy_special.gammaln, (ABOVE,), 5e-14, 6e-7),
    ("gammaln", scipy_special.gammaln, (BELOW,), 1e-13, 3e-5),
    ("gamma", scipy_special.gamma, (ABOVE[:151],), 3e-15, 6e-7),
    ("gamma", scipy_special.gamma, (BELOW,), 3e-15, 6e-7),
    ("digamma", scipy_special.digamma, (ABOVE,), 2e-15, 6e-7),
    ("digamma", scipy_special.digamma, (BELOW[BELOW > -1],), 1e-14, 2e-6),
    ("zeta", scipy_special.zeta, (ORDERS, SHIFTS), 3e-15, 1e-6),
    ("polygamma", of_order, (DERIVATIVES, POINTS), 5e-15, 2e-6),
    ("gammainc", scipy_special.gammainc, (GAMMA_A, GAMMA_X), 2e-13, 2e-7),
    ("gammaincc", scipy_special.gammaincc, (GAMMA_A, GAMMA_X), 2e-13, 2e-7),
    ("betainc", scipy_special.betainc, (BETA_A, BETA_B, BETA_X), 3e-13, 2e-7),
    ("i0e", scipy_special.i0e, (NEAR,), 1e-15, 4e-7),
    ("i1e", scipy_special.i1e, (NEAR,), 3e-15, 5e-7),
    ("i0", scipy_special.i0, (NEAR,), 2e-15, 5e-7),
    ("i1", scipy_special.i1, (NEAR,), 3e-15, 6e-7),
]


@pytest.mark.parametrize(("name", "oracle", "operands", "double", "single"), VALUES)
def test_values(name, oracle, operands, double, single):
    for dtype, rtol in (("float64", double), ("float32", single)):
        xs = [x.astype(dtype) for x in operands]
        expected = oracle(*(x.astype("float64") for x in xs))
        for function in (getattr(special, name), ct.jit(getattr(special, name))):
            actual = function(*xs)
            assert actual.dtype == dtype
            with np.errstate(over="ignore"):
                np.testing.assert_allclose(np.asarray(actual), expected.astype(dtype), rtol=rtol, atol=0.2 * rtol)
    narrow = [np.clip(x, -6e4, 6e4).astype("float16") for x in operands]
    inside = np.abs(narrow[-1]) < 5
    expected = oracle(*(x.astype("float64") for x in narrow))
    inside &= (np.abs(expected) < 6e4) & (np.abs(expected) > 1e-4)
    actual = getattr(special, name)(*narrow)
    assert actual.dtype == "float16"
    np.testing.assert_allclose(np.asarray(actual)[inside], expected[inside], rtol=1e-3)


def test_zeta_left_of_zero():
    """By summing up to the first positive shift."""
    for s in (2.0, 3.0, 6.0):
        for q in (-0.3, -1.5, -7.25):
            terms = sum(np.array([(q + k) ** -s for k in range(int(-q) + 1)]))
            expected = terms + scipy_special.zeta(s, q + int(-q) + 1)
            np.testing.assert_allclose(float(special.zeta(np.float64(s), np.float64(q))), expected, rtol=1e-13)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("erfc", {(INF,): 0, (-INF,): 2, (NAN,): NAN, (0,): 1}),
        ("erfcx", {(INF,): 0, (-INF,): INF, (NAN,): NAN, (0,): 1}),
        ("erfinv", {(1,): INF, (-1,): -INF, (2,): NAN, (NAN,): NAN}),
        ("gammaln", {(0,): INF, (-3,): INF, (INF,): INF, (-INF,): INF, (NAN,): NAN, (1,): 0, (2,): 0}),
        ("gamma", {(-0.0,): -INF, (-2,): NAN, (INF,): INF, (NAN,): NAN, (4,): 6, (200,): INF}),
        ("digamma", {(0,): NAN, (-2,): NAN, (INF,): INF, (-INF,): NAN, (NAN,): NAN}),
        ("zeta", {(1, 2): INF, (0.5, 2): NAN, (2, 0): INF, (3, -4): INF, (2.5, -1.5): NAN, (2, INF): 0, (2, NAN): NAN}),
        ("polygamma", {(-1, 2): NAN, (1.5, 2): NAN, (0, NAN): NAN}),
        (
            "gammainc",
            {(2, 0): 0, (0, 1): 1, (0, 0): NAN, (-1, 1): NAN, (1, -1): NAN, (1, INF): 1, (INF, 1): 0, (NAN, 1): NAN},
        ),
        ("gammaincc", {(2, 0): 1, (0, 1): 0, (1, INF): 0, (1, NAN): NAN}),
        ("betainc", {(1, 2, 0): 0, (1, 2, 1): 1, (0, 1, 0.5): 1, (1, 0, 0.5): 0, (0, 0, 0.5): NAN, (1, 1, 1.5): NAN}),
        ("random_gamma_grad", {(1, 0): 0, (0, 1): NAN, (1, NAN): NAN}),
        ("i0e", {(0,): 1, (INF,): 0, (-INF,): 0, (NAN,): NAN}),
        ("i1e", {(0,): 0, (INF,): 0, (NAN,): NAN}),
    ],
)
def test_ends(name, points, dtype):
    for point, expected in points.items():
        actual = getattr(special, name)(*np.array(point, dtype))
        np.testing.assert_allclose(
            np.asarray(actual), np.array(expected, dtype), rtol=1e-6, atol=0.0, err_msg=f"{name}{point}"
        )


GRADIENTS = {
    "erfc": [[-1.3, 0.2, 2.5]],
    "erfcx": [[-1.3, 0.2, 2.5, 30.0]],
    "erfinv": [[-0.9, 0.0, 0.4]],
    "gammaln": [[-1.7, 0.3, 1.2, 2.2, 8.0]],
    "gamma": [[-1.7, 0.3, 1.2, 2.2, 4.0]],
    "digamma": [[-1.7, 0.3, 1.2, 2.2, 8.0]],
    "zeta": [[2.2, 3.0, 5.0], [0.4, 2.0, 7.0]],
    "gammainc": [[0.3, 1.4, 2.5, 19.0, 24.0, 30.0], [0.1, 1.3, 6.0, 18.0, 25.0, 45.0]],
    "gammaincc": [[0.3, 0.2, 2.5, 24.0], [0.1, 1.3, 6.0, 25.0]],
    "igamma_grad_a": [[0.3, 2.5, 24.0], [0.1, 6.0, 25.0]],
    "random_gamma_grad": [[0.3, 2.5, 24.0], [0.1, 6.0, 25.0]],
    "betainc": [[0.3, 2.5, 30.0], [1.2, 0.5, 20.0], [0.2, 0.7, 0.55]],
    "i0e": [[-9.5, -1.0, 0.3, 7.0]],
    "i1e": [[-9.5, -1.0, 0.3, 7.0]],
    "i0": [[-1.0, 0.3, 2.0]],
    "i1": [[-1.0, 0.3, 2.0]],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    test_util.check_grads(getattr(special, name), [np.array(x) for x in GRADIENTS[name]], order=2, rtol=1e-6, atol=1e-7)


def test_derivatives_of_polygamma():
    x = np.linspace(0.3, 8, 9)
    for m in range(4):
        actual = ct.vmap(ct.grad(lambda x, m=m: special.polygamma(float(m), x)))(x)
        np.testing.assert_allclose(np.asarray(actual), scipy_special.polygamma(m + 1, x), rtol=1e-13)
    third = ct.grad(ct.grad(ct.grad(special.gammaln)))
    np.testing.assert_allclose(np.asarray(ct.vmap(third)(x)), scipy_special.polygamma(2, x), rtol=1e-12)


def test_polygamma_where_factorials_overflow():
    for dtype, bound in ((np.float32, 1e-4), (np.float64, 2e-13)):
        m, x = np.meshgrid([20.0, 34.0, 35.0, 60.0, 171.0, 250.0], [0.3, 1.0, 10.0, 100.0, 500.0, -2.3])
        m, x = m.ravel().astype(dtype), x.ravel().astype(dtype)
        for actual, order in (
            (special.polygamma(m, x), m),
            (ct.vmap(ct.grad(special.polygamma, 1))(m, x), m + 1),
        ):
            exact = [mpmath.polygamma(int(n), mpmath.mpf(float(q))) for n, q in zip(order, x)]
            limits = np.finfo(dtype)
            expected = [float(e) if abs(e) < limits.max else np.inf * mpmath.sign(e) for e in exact]
            np.testing.assert_allclose(np.asarray(actual), np.array(expected, dtype), rtol=bound, atol=4 * limits.tiny)
    assert special.polygamma(50.0, np.inf) == 0


def test_derivatives_at_corners():
    assert float(ct.grad(special.i1e)(0.0)) == 0.5
    assert float(ct.grad(special.i0)(0.0)) == 0.0
    assert float(ct.grad(special.erfinv)(np.float64(0.0))) == pytest.approx(0.5 * np.sqrt(np.pi))
    np.testing.assert_allclose(
        float(ct.grad(ct.grad(ct.grad(special.erfcx)))(np.float64(2.0))), -0.09276382658574602, rtol=1e-12
    )


def test_derivatives_of_a_gamma_sample():
    """The quantile function's derivative by the parameter, from differences."""
    a, level = np.array([0.05, 0.7, 3.0, 25.0, 400.0]), np.array([0.3, 0.6, 0.05, 0.5, 0.99])
    x = scipy_special.gammaincinv(a, level)
    step = 1e-5 * a
    differences = (scipy_special.gammaincinv(a + step, level) - scipy_special.gammaincinv(a - step, level)) / (2 * step)
    np.testing.assert_allclose(np.asarray(special.random_gamma_grad(a, x)), differences, rtol=1e-7)
    single = special.random_gamma_grad(a.astype("float32"), x.astype("float32"))
    np.testing.assert_allclose(np.asarray(single), differences, rtol=1e-5)
    assert np.isfinite(np.asarray(special.random_gamma_grad(np.full(3, 1e-3), np.array([1e-300, 1e-30, 0.5])))).all()
    assert float(ct.grad(special.gammainc, 1)(1.0, 0.0)) == 1.0
    assert float(ct.grad(special.betainc, 2)(1.0, 3.0, 0.0)) == 3.0


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (incomplete._lower, (9.0, 6.0)),
        (incomplete._upper, (2.5, 7.0)),
        (incomplete._regularised_beta, (3.3, 2.6, 0.6)),
    ],
)
def test_iterations_end_at_the_precision_of_the_result(monkeypatch, function, arguments):
    while_loop, taken = incomplete.while_loop, []

    def counted(go_on, step, start):
        def counted_step(state):
            taken.append(state)
            return step(state)

        return while_loop(go_on, counted_step, start)

    for module in (incomplete, support):
        monkeypatch.setattr(module, "while_loop", counted)
    steps = []
    for dtype in ["float16", "float32", "float64"]:
        taken.clear()
        with ct.disable_jit():
            function(*(ct.numpy.array(x, dtype) for x in arguments))
        steps.append(len(taken))
    assert 3 < steps[0] < steps[1] < steps[2], steps


@pytest.mark.parametrize("name", ["erfc", "gammaln", "digamma", "zeta", "polygamma", "gammainc"])
def test_transforms(name):
    function = getattr(special, name)
    x = np.linspace(0.3, 7, 6).reshape(2, 3)
    operands = (np.full((2, 3), 2.0), x) if name in ("zeta", "polygamma", "gammainc") else (x,)
    expected = np.asarray(function(*operands))
    np.testing.assert_allclose(np.asarray(ct.vmap(ct.vmap(function))(*operands)), expected, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(ct.vmap(function, in_axes=1, out_axes=1)(*operands)), expected, rtol=1e-14)
    assert function(*(np.zeros((0, 3)) for _ in operands)).shape == (0, 3)
    padded = [np.concatenate([o, np.full((2, 2), np.nan)], axis=1) for o in operands]
    ragged = [ct.Ragged(o, {1: 3}, names={1: "n"}) for o in padded]
    total = ct.mask(lambda *xs: function(*xs).sum())
    np.testing.assert_allclose(float(total(*ragged)), expected.sum(), rtol=1e-13)
    gradient = ct.grad(lambda *xs: total(*xs), argnums=len(operands) - 1)(*ragged)
    plain = ct.grad(lambda *xs: function(*xs).sum(), argnums=len(operands) - 1)(*operands)
    np.testing.assert_allclose(np.asarray(gradient.data)[:, :3], np.asarray(plain), rtol=1e-12)
    assert not np.asarray(gradient.data)[:, 3:].any()


def test_promotion_and_errors():
    assert special.gammaln(3).dtype == "float32"
    assert special.zeta(np.full(1, 2.0), np.ones(3, np.float32)).dtype == "float64"
    assert special.zeta(2.0, np.ones((4, 1), "float32")).shape == (4, 1)
    with pytest.raises(TypeError, match="gammaln takes real arrays"):
        special.gammaln(1j)
    with pytest.raises(TypeError, match="operands must have equal shapes"):
        ct._core.bind("elementwise", [np.ones(2), np.ones(3)], graph=ct.make_ir(lambda x, y: x)(1.0, 1.0), name="f")
    with pytest.raises(TypeError, match="must return one scalar"):
        ct._core.bind("elementwise", [np.ones(2)], graph=ct.make_ir(lambda x: (x, x))(np.float64(1)), name="f")
    with pytest.raises(TypeError, match="all real or all complex"):
        ct._core.bind("elementwise", [np.ones(2) + 1j], graph=ct.make_ir(lambda x: x.real)(np.complex128(1j)), name="f")
    graph = ct.make_ir(lambda x, y: x)(np.float64(1), np.float64(1))
    partial = ct.make_ir(lambda x, y, z: x)(*[np.float64(1)] * 3)
    with pytest.raises(TypeError, match="fewer partial derivatives"):
        ct._core.bind("elementwise", [np.ones(2)] * 2, graph=graph, name="f", partials=[partial])


@pytest.mark.parametrize("shape", [(1,) * 64, (1, 2) * 5 + (1,) * 20 + (3,), (2,) * 12])
def test_arrays_of_many_axes(shape):
    x = np.linspace(0.3, 1.7, math.prod(shape)).reshape(shape)
    results = [
        transform(lambda x: ct.scipy.special.hyp1f1(x, 0.5 + x, -x))
        for transform in (lambda f: f(x), lambda f: ct.jit(f)(x))
    ]
    for result in results:
        np.testing.assert_allclose(result, scipy_special.hyp1f1(x, 0.5 + x, -x), rtol=1e-12)
    gradient = ct.grad(lambda x: cnp.sum(ct.scipy.special.gammaln(x)))(x)
    np.testing.assert_allclose(gradient, scipy_special.digamma(x), rtol=1e-10)


@pytest.mark.parametrize("a", [10.5, 11.0, 19.0, 25.0])
def test_gamma_probabilities_next_to_zero(a):
    """``x**a / gamma(a + 1)`` to first order; the digits of x are not lost against those of a."""
    for x in (1e-5, 1e-10, 1e-15):
        expected = np.exp(a * np.log(x) - scipy_special.gammaln(a + 1)) * (1 - a * x / (a + 1))
        if expected > 1e-300:
            np.testing.assert_allclose(special.gammainc(np.float64(a), np.float64(x)), expected, rtol=1e-11 + x * x)
            slope = ct.grad(special.gammainc, 1)(np.float64(a), np.float64(x))
            np.testing.assert_allclose(slope, expected * a / x, rtol=2 * x + 1e-11)
