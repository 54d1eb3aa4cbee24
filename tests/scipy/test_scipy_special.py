"""cotangent.scipy.special against SciPy, over the real line, in single and double precision, with derivatives."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import cotangent.scipy.special as special
import numpy as np
import pytest
from needs import needed

scipy_special = needed("scipy.special")

LINE = np.concatenate(
    [np.linspace(-30, 30, 41), [1e-8, 1e-3, 0.1, 0.25, 0.5, 1.5, 3.9, 4.1, 49.0, 51.0, 100.0, 700.0, 1e5]]
)
POSITIVE = np.array([1e-3, 0.3, 1.0, 2.5, 7.0, 40.0])
UNIT = np.array([0.0, 1e-300, 1e-20, 1e-5, 0.01, 0.03, 0.3, 0.5, 0.7, 0.99, 1 - 1e-9, 1.0])
WHOLE = np.arange(12.0)
grid = np.meshgrid

# name -> (arguments, relative error in float64)
CASES: dict[str, tuple[tuple[np.ndarray, ...], float]] = {
    "beta": (tuple(grid(POSITIVE, POSITIVE)), 1e-12),
    "betainc": (tuple(grid(POSITIVE, POSITIVE, UNIT)), 1e-11),
    "betaln": (tuple(grid(POSITIVE, POSITIVE)), 1e-12),
    "boxcox": (tuple(grid(POSITIVE, [-1.0, 0.0, 0.5, 2.0])), 1e-12),
    "boxcox1p": (tuple(grid(POSITIVE, [-1.0, 0.0, 0.5, 2.0])), 1e-12),
    "comb": (tuple(grid([0.0, 1.0, 5.0, 10.0, 50.5], [0.0, 1.0, 3.0, 7.0, 2.5])), 1e-12),
    "dawsn": ((LINE,), 1e-12),
    "digamma": ((np.concatenate([POSITIVE, -POSITIVE + 0.1]),), 1e-11),
    "entr": ((LINE,), 1e-14),
    "erf": ((LINE,), 1e-14),
    "erfc": ((LINE,), 1e-12),
    "erfcx": ((LINE[LINE > -5],), 1e-12),
    "erfinv": ((2 * UNIT - 1,), 1e-12),
    "exp1": ((LINE,), 1e-13),
    "expi": ((LINE,), 1e-13),
    "expit": ((LINE,), 1e-13),
    "expn": (tuple(grid([0.0, 1.0, 2.0, 5.0, 20.0], LINE)), 1e-13),
    "factorial": ((WHOLE,), 1e-14),
    "gamma": ((np.concatenate([POSITIVE, -POSITIVE + 0.1]),), 1e-12),
    "gammainc": (tuple(grid(POSITIVE, POSITIVE)), 1e-9),
    "gammaincc": (tuple(grid(POSITIVE, POSITIVE)), 1e-10),
    "gammaln": ((np.concatenate([POSITIVE, -POSITIVE + 0.1]),), 1e-11),
    "gammasgn": ((np.array([-2.5, -2.0, -1.5, -0.0, 0.0, 3.0, np.nan]),), 0),
    "hyp1f1": (
        tuple(grid([0.5, 1.0, 2.5, -2.0, -0.7], [0.5, 1.2, 3.0], [-200, -30, -5, -0.1, 0, 0.2, 3, 30, 200.0])),
        1e-12,
    ),
    "hyp2f1": (
        tuple(grid([0.5, 2.5, -2.0], [0.5, 1.2], [1.7, 0.5, 4.0], [-20, -3, -0.5, 0, 0.2, 0.7, 0.95, 1])),
        1e-11,
    ),
    "i0": ((LINE[:41],), 1e-12),
    "i0e": ((LINE,), 1e-12),
    "i1": ((LINE[:41],), 1e-12),
    "i1e": ((LINE,), 1e-12),
    "kl_div": (tuple(grid([-1, 0, 0.5, 2.0], [-1, 0, 0.3, 2.0])), 1e-14),
    "log_ndtr": ((LINE,), 1e-12),
    "logit": ((UNIT,), 1e-14),
    "ndtr": ((LINE,), 1e-12),
    "ndtri": ((UNIT,), 1e-13),
    "owens_t": (tuple(grid([-3, 0, 0.1, 1, 3, 8.0], [-5, -1, 0, 0.3, 1, 2, 50, np.inf])), 1e-12),
    "poch": (tuple(grid(POSITIVE, [0.0, 1.0, 2.5, 7.0])), 1e-12),
    "polygamma": (tuple(grid([0.0, 1.0, 2.0, 5.0], POSITIVE)), 1e-11),
    "rel_entr": (tuple(grid([-1, 0, 0.5, 2.0], [-1, 0, 0.3, 2.0])), 1e-14),
    "spence": ((LINE,), 1e-13),
    "xlog1py": (tuple(grid([0.0, 1.0, -2.0], [-0.5, 0.0, 3.0])), 1e-14),
    "xlogy": (tuple(grid([0.0, 1.0, -2.0], [0.5, 1.0, 3.0])), 1e-14),
    "zeta": (tuple(grid([1.5, 2.0, 5.0], POSITIVE)), 1e-12),
}


def integer_orders(name: str, arguments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    first_is_whole = name in ("expn", "polygamma")
    return (arguments[0].astype(int), *arguments[1:]) if first_is_whole else arguments


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    arguments, tolerance = CASES[name]
    with np.errstate(all="ignore"):
        expected = getattr(scipy_special, name)(*integer_orders(name, arguments))
    function = getattr(special, name)
    actual = function(*arguments)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=1e-14 if name == "betaln" else 1e-300)
    single = ct.jit(function)(*(a.astype(np.float32) for a in arguments))
    assert single.dtype == np.float32
    with np.errstate(all="ignore"):
        rounded = tuple(a.astype(np.float32).astype(np.float64) for a in arguments)
        narrow = getattr(scipy_special, name)(*integer_orders(name, rounded))
        np.testing.assert_allclose(single, narrow.astype(np.float32), rtol=3e-4, atol=1e-30)
    assert function(*(a[:0] for a in arguments)).size == 0
    half = function(*(cnp.asarray(a, "float16") for a in arguments))
    assert half.dtype == np.float16


def test_exponential_integrals_of_orders_between_whole_numbers():
    quad = needed("scipy.integrate").quad

    def integral(n, x):
        return quad(lambda t: np.exp(-x * t) / t**n, 1, np.inf, epsabs=0, epsrel=1e-12)[0]

    for n in (1.2, 1.7, 2.5, 6.1):
        for x in (1.01, 2.0, 7.0):
            np.testing.assert_allclose(special.expn(n, np.float64(x)), integral(n, x), rtol=1e-11)
            slope = ct.grad(lambda x, n=n: special.expn(n, x))(np.float64(x))
            np.testing.assert_allclose(slope, -integral(n - 1, x), rtol=1e-11)
    for n, x in ((1.7, 0.37), (1.7, 1.0), (2.5, 0.0), (0.5, 3.0)):
        assert np.isnan(special.expn(n, np.float64(x)))


DERIVATIVES = {
    **{
        name: (np.linspace(-2.3, 2.6, 7),)
        for name in ["dawsn", "erf", "erfc", "erfcx", "expit", "ndtr", "log_ndtr", "i0e", "i1e"]
    },
    **dict.fromkeys(["entr", "exp1", "expi", "gammaln", "digamma", "spence"], (POSITIVE[1:-1],)),
    **dict.fromkeys(["logit", "ndtri"], (UNIT[4:-2],)),
    **{
        name: tuple(grid([0.7, 2.2], [0.4, 3.1]))
        for name in ["betaln", "beta", "xlogy", "rel_entr", "kl_div", "owens_t", "boxcox"]
    },
    "gammainc": tuple(grid([0.7, 4.2], [0.4, 5.1])),
    "gammaincc": tuple(grid([0.7, 4.2], [0.4, 5.1])),
    "betainc": tuple(grid([0.7, 3.0], [1.5], [0.2, 0.8])),
    "hyp1f1": tuple(grid([0.7], [1.5], [-2.0, 0.4, 3.0])),
    "hyp2f1": tuple(grid([0.7], [1.2], [2.5], [-2.0, 0.4])),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    function, arguments = getattr(special, name), DERIVATIVES[name]
    gradients = ct.grad(lambda *a: function(*a).sum(), argnums=tuple(range(len(arguments))))(*arguments)
    for i, gradient in enumerate(gradients):
        step = 1e-5
        ends = [function(*(a + s * step if k == i else a for k, a in enumerate(arguments))) for s in (1, -1)]
        np.testing.assert_allclose(gradient, (ends[0] - ends[1]) / (2 * step), rtol=2e-6, atol=1e-8)
    second = ct.vmap(ct.grad(ct.grad(function, argnums=len(arguments) - 1), argnums=len(arguments) - 1))
    flat = tuple(a.ravel() for a in arguments)
    slope = ct.vmap(ct.grad(function, argnums=len(arguments) - 1))
    ends = [slope(*flat[:-1], flat[-1] + s * 1e-5) for s in (1, -1)]
    np.testing.assert_allclose(second(*flat), (ends[0] - ends[1]) / 2e-5, rtol=5e-5, atol=1e-6)


ENDS = np.array([0.0, -0.0, 1e-300, np.nan, -1.0, 1e5])


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1", "rgamma"])
def test_ends_of_bessel_functions_and_of_the_reciprocal_gamma(name):
    np.testing.assert_allclose(getattr(special, name)(ENDS), getattr(scipy_special, name)(ENDS), rtol=1e-10)


def test_bessel_functions_of_whole_orders():
    x = np.array([0.0, 0.3, 2.0, 7.9, 8.1, 50.0, np.nan])
    for n in (0, 1, 2, 7, -1, -4):
        for name in ("jn", "jv"):
            np.testing.assert_allclose(
                getattr(special, name)(n, x), getattr(scipy_special, name)(n, x), rtol=1e-11, atol=1e-15
            )
        np.testing.assert_allclose(special.yn(n, x), scipy_special.yn(n, x), rtol=1e-11, atol=1e-15)
    orders = np.array([[0], [3], [-2]])
    np.testing.assert_allclose(ct.jit(lambda x: special.jn(orders, x))(x), scipy_special.jn(orders, x), rtol=1e-11)
    np.testing.assert_allclose(special.yn(orders, x[1:-1]), scipy_special.yn(orders, x[1:-1]), rtol=1e-11)
    # Upwards the values overflow, and stay infinite.
    assert special.yn(40, np.float64(1e-10)) == -np.inf
    np.testing.assert_array_equal(special.j0(np.array([np.inf, -np.inf])), [0, 0])
    with pytest.raises(NotImplementedError, match="must be whole numbers"):
        special.jv(0.5, 1.0)
    with pytest.raises(ct.errors.ConcretizationError, match="is needed here"):
        ct.jit(special.jn)(1, 2.0)


def test_modified_bessel_functions_of_any_order():
    v = np.array([0.0, 0.3, 1.0, 2.5, 11.9, 29.0, 50.0])[:, None]
    x = np.array([0.0, 1e-3, 0.7, 3.9, 4.1, 7.9, 8.1, 40.0, 300.0, 1e4])
    np.testing.assert_allclose(special.iv(v, x[:-1]), scipy_special.iv(v, x[:-1]), rtol=3e-13)
    np.testing.assert_allclose(special.ive(v, x), scipy_special.ive(v, x), rtol=3e-13)
    random = np.random.default_rng(0)
    many, numbers = random.uniform(0, 60, 2000), random.uniform(0.1, 300, 2000)
    np.testing.assert_allclose(special.ive(many, numbers), scipy_special.ive(many, numbers), rtol=1e-12)
    # Of negative arguments where the order is whole.
    np.testing.assert_allclose(special.iv(v, -x[1:5]), scipy_special.iv(v, -x[1:5]), rtol=3e-13)
    np.testing.assert_allclose(special.iv(-2.0, x[:5]), scipy_special.iv(-2.0, x[:5]), rtol=3e-13)
    np.testing.assert_array_equal(special.iv([1.0, 2.0, 1.0], [-np.inf, -np.inf, np.inf]), [-np.inf, np.inf, np.inf])
    np.testing.assert_allclose(special.iv(2.0, np.float64(712.0)), scipy_special.iv(2.0, 712.0), rtol=1e-11)
    slopes = ct.vmap(ct.grad(special.iv, 1))
    v, x = np.array([0.0, 0.0, 1.0, 2.5, 60.0]), np.array([0.0, 2.0, 0.0, 9.0, 30.0])
    np.testing.assert_allclose(slopes(v, x), scipy_special.ivp(v, x), rtol=1e-12)


def test_derivatives_where_functions_vanish_or_their_formulas_cancel():
    # The second of J_1 is -3 x / 8 near 0, where the derivative of J_0 - J_1 / x would cancel.
    second = ct.grad(ct.grad(special.j1))
    np.testing.assert_allclose(second(np.float64(1e-4)), -0.375e-4, rtol=1e-8)
    np.testing.assert_allclose(ct.grad(second)(np.float64(1e-4)), -0.375, rtol=1e-7)
    # At poles of gamma, (-1)^n n!.
    np.testing.assert_allclose(ct.vmap(ct.grad(special.rgamma))(-np.arange(5.0)), [1, -1, 2, -6, 24], rtol=1e-14)
    for name, x in (("j0", [0.0, 0.5, 9.0]), ("y0", [0.5, 9.0]), ("y1", [0.5, 9.0]), ("erfcinv", [0.1, 0.6, 1.7])):
        ct.test_util.check_grads(getattr(special, name), (np.array(x),), order=2, modes=["fwd", "rev"])
    for function in (lambda x: special.jn(3, x), lambda x: special.yn(3, x)):
        ct.test_util.check_grads(function, (np.array([0.5, 3.0, 9.0]),), order=2, modes=["fwd", "rev"])


def test_erfcinv():
    y = np.array([0.0, 1e-300, 1e-8, 0.4999, 0.5, 1.0, 1 + 1e-9, 1.7, 2.0, -0.1, 2.1])
    np.testing.assert_allclose(special.erfcinv(y), scipy_special.erfcinv(y), rtol=1e-13)


def test_gamma_of_complex_numbers():
    random = np.random.default_rng(0)
    z = random.uniform(-12, 12, 400) + 1j * random.uniform(-12, 12, 400)
    z = np.concatenate([z, [-0.5 + 0j, -1.5 + 0j, 3.5 + 0j, -2.5 + 1e-12j, -2.5 - 1e-12j, 1e5 + 1j]])
    np.testing.assert_allclose(special.loggamma(z), scipy_special.loggamma(z), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(special.gamma(z[:-1]), scipy_special.gamma(z[:-1]), rtol=1e-11)
    poles = np.array([0, -1, -7], np.complex64)
    for name in ("gamma", "loggamma"):
        result = getattr(special, name)(poles)
        assert result.dtype == np.complex64
        assert np.isnan(result.real).all() and np.isnan(result.imag).all()
    slope = ct.grad(lambda z: special.loggamma(z).real)(1.3 + 0.7j)
    np.testing.assert_allclose(slope, scipy_special.digamma(1.3 + 0.7j), rtol=1e-5)


def test_comb_of_nothing_with_repetition():
    n, k = np.array([0.0, 3.0, 0.0, 4.0]), np.array([0.0, 2.0, 1.0, 0.0])
    np.testing.assert_allclose(special.comb(n, k, repetition=True), scipy_special.comb(n, k, repetition=True))


def test_hyp2f1_beyond_one():
    assert float(special.hyp2f1(0.45, 0.7, 0.45, 1.5)) == np.inf
    assert float(special.hyp2f1(-2.0, 3.0, 4.0, 1.5)) == pytest.approx(0.1)


def test_pairs_and_complex_numbers():
    for ours, theirs in zip(special.fresnel(LINE), scipy_special.fresnel(LINE), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    sine, cosine = scipy_special.sici(LINE)
    np.testing.assert_allclose(special.sici(LINE)[0], sine, rtol=1e-13)
    np.testing.assert_allclose(special.sici(LINE)[1], cosine, rtol=1e-12)
    np.testing.assert_array_equal(special.sici(np.array([0, np.inf, -np.inf]))[1], [-np.inf, 0, np.nan])
    random = np.random.default_rng(0)
    z = np.concatenate([(random.standard_normal(40) + 1j * random.standard_normal(40)) * s for s in (0.1, 1, 3, 10)])
    expected = scipy_special.wofz(z)
    tame = np.abs(expected) < 1e100
    np.testing.assert_allclose(special.wofz(z[tame]), expected[tame], rtol=1e-12)
    np.testing.assert_allclose(special.erfcx(-1j * z[tame]), expected[tame], rtol=1e-12)
    x = np.array([0.0, 0.1, 1.0, 5.0, 20.0])
    np.testing.assert_allclose(
        special.bessel_jn(x, v=4), [scipy_special.jv(k, x) for k in range(5)], rtol=1e-12, atol=1e-14
    )
    n, m = np.meshgrid([0, 1, 2, 5, 10], [-10, -3, -1, 0, 2, 5])
    inside = np.abs(m) <= n
    for theta in (np.float64(0.7), np.float64(-2.0)):
        phi = np.float64(1.3)
        ours, theirs = special.sph_harm_y(n, m, theta, phi, n_max=10), scipy_special.sph_harm_y(n, m, theta, phi)
        np.testing.assert_allclose(np.asarray(ours)[inside], theirs[inside], rtol=1e-12)
    np.testing.assert_allclose(special.bernoulli(12), scipy_special.bernoulli(12), rtol=1e-6)
    assert special.bernoulli(1000)[258:263].tolist() == [np.inf, 0, -np.inf, 0, np.inf]
    np.testing.assert_allclose(
        special.multigammaln(np.array([3.0, 10.0]), 3), scipy_special.multigammaln([3.0, 10.0], 3)
    )


def test_reductions():
    x = np.array([[0.1, -2.0, 3.0], [-np.inf, -np.inf, -np.inf]])
    np.testing.assert_allclose(special.logsumexp(x, axis=1), scipy_special.logsumexp(x, axis=1))
    np.testing.assert_allclose(special.softmax(x[0]), scipy_special.softmax(x[0]))
    np.testing.assert_allclose(special.log_softmax(x[0]), scipy_special.log_softmax(x[0]))


def test_masked_and_batched():
    rows = [np.array([0.5, 2.0]), np.array([1.0, 3.0, 0.2])]
    results = ct.vmap(ct.mask(lambda x: special.exp1(x).sum()))(ct.ragged(rows))
    np.testing.assert_allclose(results, [scipy_special.exp1(row).sum() for row in rows], rtol=1e-12)


def test_errors():
    with pytest.raises(ct.errors.DTypeError, match="real"):
        special.exp1(np.complex64(1))
    with pytest.raises(NotImplementedError, match="exact"):
        special.factorial(5, exact=True)
    with pytest.raises(ValueError, match="n_iter"):
        special.bessel_jn(1.0, v=60)
    with pytest.raises(ValueError, match="negative"):
        special.bernoulli(-1)


@pytest.mark.parametrize(
    ("function", "logarithm"), [(special.boxcox, np.log), (special.boxcox1p, np.log1p)], ids=["boxcox", "boxcox1p"]
)
def test_derivatives_of_boxcox_in_its_power(function, logarithm):
    """Also at and near 0, where they are those of the limit."""
    x = np.float64(1.5)
    log = logarithm(x)
    slope, curvature = ct.grad(function, argnums=1), ct.grad(ct.grad(function, argnums=1), argnums=1)
    for power in (0.0, 1e-300, 1e-12):
        assert float(function(x, np.float64(power))) == pytest.approx(log, rel=1e-11)
        assert float(slope(x, np.float64(power))) == pytest.approx(log**2 / 2, rel=1e-11)
        assert float(curvature(x, np.float64(power))) == pytest.approx(log**3 / 3, rel=1e-11)
    power = np.float64(4.0)
    raised = np.exp(power * log)
    expected = (raised * log - (raised - 1) / power) / power
    assert float(slope(x, power)) == pytest.approx(expected, rel=1e-14)
    assert float(curvature(x, power)) == pytest.approx((raised * log**2 - 2 * expected) / power, rel=1e-13)
    end = np.float64(0.0 if function is special.boxcox else -1.0)
    assert float(slope(end, np.float64(2.0))) == 0.25
    assert float(slope(end, np.float64(-1.0))) == np.inf


def test_boxcox_is_finite_where_only_the_power_overflows():
    x, power = np.float32(63.0), np.float32(22.0)
    expected = np.expm1(np.float64(power) * np.log(63.0)) / np.float64(power)
    assert expected < np.finfo(np.float32).max
    assert float(special.boxcox(x, power)) == pytest.approx(expected, rel=1e-6)
    assert float(special.boxcox1p(x - 1, power)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_that_cancel_are_computed_in_single_precision(dtype):
    p, q = (ct.numpy.array(x, dtype) for x in ([1.35, 81.0, 95.0], [1.57, 94.0, 109.0]))
    n, k = (ct.numpy.array(x, dtype) for x in ([20.0, 79.5, 30.0], [4.0, 62.0, 3.0]))
    for function, x, y in ((special.kl_div, p, q), (special.comb, n, k)):
        expected = function(x.astype("float32"), y.astype("float32")).astype(dtype)
        for tier in (function, ct.jit(function)):
            assert tier(x, y).dtype == x.dtype
            np.testing.assert_array_equal(tier(x, y).astype("float32"), expected.astype("float32"))


def test_rising_factorials_of_negative_steps():
    """``(z)_-k`` is ``1 / ((z - 1) ... (z - k))``, also next to a pole of gamma, where ``z - k`` has no digits of z."""
    for z in (-2.5, -1e-10, 1e-20, 1e-10, 0.5):
        for k in (1, 2, 5):
            factors = z - np.arange(1.0, k + 1)
            value = special.poch(np.float64(z), np.float64(-k))
            np.testing.assert_allclose(value, 1 / np.prod(factors), rtol=1e-13)
            slope = ct.grad(special.poch)(np.float64(z), np.float64(-k))
            np.testing.assert_allclose(slope, -np.sum(1 / factors) / np.prod(factors), rtol=1e-12)
    np.testing.assert_allclose(special.poch(np.float64(-1e-10), np.float64(1)), -1e-10, rtol=1e-13)
    near = [float(special.poch(np.float64(0.5), np.float64(m))) for m in (-3 - 1e-6, -3 + 1e-6)]
    slope = ct.grad(special.poch, 1)(np.float64(0.5), np.float64(-3))
    np.testing.assert_allclose(slope, (near[1] - near[0]) / 2e-6, rtol=1e-5)


def test_gamma_probabilities_of_negative_parameters():
    a = np.array([-np.inf, -2.5, -1e-10, 2.0])
    for function in (special.gammainc, special.gammaincc):
        assert (
            np.isnan(function(a, np.inf)).tolist() == np.isnan(function(a, 1.0)).tolist() == [True, True, True, False]
        )


def test_beta_probabilities_are_not_negative():
    """Where nearly all of the distribution is at 1, the little below it is lost in rounding."""
    value = special.betainc(np.array([0.5, 2.0, 5.0]), np.float64(1e-20), np.float64(1 - 1e-10))
    assert (value >= 0).all() and (value < 1e-14).all()
