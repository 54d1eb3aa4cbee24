"""cotangent.scipy.stats against SciPy."""

from __future__ import annotations

import cotangent as ct
import cotangent.scipy.stats as stats
import numpy as np
import pytest
from needs import needed

scipy_stats = needed("scipy.stats")

LINE = np.array([-3.0, -0.7, 0.0, 0.2, 0.5, 1.0, 1.7, 4.0])
PROBABILITIES = np.array([0.01, 0.3, 0.5, 0.9])
CONTINUOUS = {
    "norm": (),
    "uniform": (),
    "expon": (),
    "laplace": (),
    "logistic": (),
    "cauchy": (),
    "gumbel_r": (),
    "gumbel_l": (),
    "gamma": (2.5,),
    "chi2": (3.0,),
    "beta": (1.5, 2.5),
    "pareto": (2.0,),
    "t": (4.0,),
    "gennorm": (1.7,),
    "truncnorm": (-1.2, 2.0),
    "vonmises": (1.3,),
    "wrapcauchy": (0.4,),
}
DISCRETE = {
    "bernoulli": (0.3,),
    "binom": (5.0, 0.3),
    "betabinom": (5.0, 1.5, 0.7),
    "geom": (0.3,),
    "nbinom": (3.0, 0.4),
    "poisson": (2.5,),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    ours, theirs, shapes = getattr(stats, name), getattr(scipy_stats, name), [np.float64(s) for s in CONTINUOUS[name]]
    for function in dir(ours):
        points = PROBABILITIES if function in ("ppf", "isf") else LINE
        for loc, scale in [(0.0, 1.0), (0.3, 1.5)]:
            with np.errstate(all="ignore"):
                expected = getattr(theirs, function)(points, *shapes, loc, scale)
            actual = getattr(ours, function)(points, *shapes, loc=np.float64(loc), scale=np.float64(scale))
            if name == "vonmises" and function in ("pdf", "logpdf"):
                pass  # SciPy and this one give the density on the whole circle
            np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-14, err_msg=function)
    logpdf = lambda x: ours.logpdf(x, *shapes)  # noqa: E731
    inside = np.array([0.31, 0.77]) + (1.0 if name == "pareto" else 0.0)
    slope = ct.vmap(ct.grad(logpdf))(inside)
    np.testing.assert_allclose(slope, (logpdf(inside + 1e-6) - logpdf(inside - 1e-6)) / 2e-6, rtol=1e-5, atol=1e-8)
    assert np.isfinite(ct.vmap(ct.grad(logpdf))(LINE)).all() or name in ("laplace", "gamma", "chi2", "beta", "gennorm")


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    ours, theirs, shapes = getattr(stats, name), getattr(scipy_stats, name), DISCRETE[name]
    k = np.arange(-1.0, 8.0)
    for function in dir(ours):
        if function == "entropy":
            means = np.array([0.0, 0.5, 4.0, 120.0])
            np.testing.assert_allclose(ours.entropy(means), theirs.entropy(means), rtol=1e-6, atol=1e-9)
            continue
        points = PROBABILITIES if function == "ppf" else k
        with np.errstate(all="ignore"):
            expected = getattr(theirs, function)(points, *shapes)
        actual = getattr(ours, function)(points, *(np.float64(s) for s in shapes))
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-13, err_msg=function)
    np.testing.assert_allclose(ours.logpmf(k + 2, *shapes, loc=2), ours.logpmf(k, *shapes), rtol=1e-6)


def test_vectors():
    x, p = np.array([[1.0, 2.0, 3.0], [0.0, 4.0, 2.0]]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(stats.multinomial.logpmf(x, 6, p), scipy_stats.multinomial.logpmf(x, 6, p), rtol=1e-10)
    np.testing.assert_allclose(stats.multinomial.pmf(x[0], 6, p), scipy_stats.multinomial.pmf(x[0], 6, p), rtol=1e-10)
    alpha, point = np.array([1.5, 2.0, 0.7]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(
        stats.dirichlet.logpdf(point, alpha), scipy_stats.dirichlet.logpdf(point, alpha), rtol=1e-10
    )
    np.testing.assert_allclose(
        stats.dirichlet.pdf(point[:2], alpha), scipy_stats.dirichlet.pdf(point[:2], alpha), rtol=1e-10
    )
    mean, cov = np.array([0.5, -1.0]), np.array([[2.0, 0.3], [0.3, 0.5]])
    points = np.random.default_rng(0).standard_normal((4, 2))
    expected = scipy_stats.multivariate_normal.logpdf(points, mean, cov)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(points, mean, cov), expected, rtol=1e-10)
    gradient = ct.grad(lambda c: stats.multivariate_normal.logpdf(points[0], mean, c))(cov)
    assert np.isfinite(gradient).all()


def test_samples():
    a = np.array([[3, 1, 2, 3], [1, 1, 5, 5], [3, 4, 2, 5]])
    for axis in (0, 1, None):
        ours, theirs = stats.mode(a, axis=axis), scipy_stats.mode(a, axis=axis)
        np.testing.assert_array_equal(ours.mode, theirs.mode)
        np.testing.assert_array_equal(ours.count, theirs.count)
        for method in ["average", "min", "max", "dense", "ordinal"]:
            expected = scipy_stats.rankdata(a, method, axis=axis)
            np.testing.assert_array_equal(stats.rankdata(a, method, axis=axis), expected)
            with_nan = np.where(a == 4, np.nan, a.astype(float))
            np.testing.assert_array_equal(
                stats.rankdata(with_nan, method, axis=axis), scipy_stats.rankdata(with_nan, method, axis=axis)
            )
        assert stats.rankdata(np.zeros((0, 2)), axis=axis).size == 0
    assert np.isnan(stats.beta.pdf(np.array([0.2, 0.5]), -1.1, 2.0)).all()
    x = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(stats.sem(x), scipy_stats.sem(x), rtol=1e-12)
    for keepdims in (False, True):
        ours = stats.sem(x, axis=None, keepdims=keepdims)
        theirs = scipy_stats.sem(x, axis=None, keepdims=keepdims)
        assert ours.shape == np.shape(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_kernel_density():
    random = np.random.default_rng(0)
    for shape in [(20,), (2, 15)]:
        data, points = random.standard_normal(shape), random.standard_normal((*shape[:-1], 4))
        for options in [{}, {"bw_method": "silverman"}, {"weights": random.uniform(size=shape[-1])}]:
            ours, theirs = stats.gaussian_kde(data, **options), scipy_stats.gaussian_kde(data, **options)
            np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-8)
            np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=1e-8)
            np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), rtol=1e-8)
    np.testing.assert_allclose(ct.jit(lambda kde, x: kde(x))(ours, points), ours(points), rtol=1e-12)
    line = random.standard_normal(20)
    assert float(stats.gaussian_kde(line).integrate_box_1d(-1, 1)) == pytest.approx(
        scipy_stats.gaussian_kde(line).integrate_box_1d(-1, 1), rel=1e-8
    )
    drawn = stats.gaussian_kde(line).resample(ct.random.key(0), (1000,))
    assert drawn.shape == (1, 1000)
    assert abs(float(drawn.mean()) - line.mean()) < 0.15


INVALID = {
    "gamma": [(-1.0,), (0.0,)],
    "chi2": [(-1.0,), (0.0,)],
    "beta": [(-1.0, 2.0), (2.0, -1.0), (0.0, 1.0)],
    "pareto": [(-1.0,), (0.0,)],
    "t": [(-1.0,), (0.0,)],
    "gennorm": [(-1.0,), (0.0,)],
    "vonmises": [(-1.0,)],
    "wrapcauchy": [(1.5,), (-0.5,), (1.0,)],
    "truncnorm": [(2.0, -1.0), (1.0, 1.0)],
    "bernoulli": [(1.5,), (-0.5,)],
    "binom": [(5.0, 1.5), (-5.0, 0.5)],
    "betabinom": [(5.0, -1.0, 2.0), (-5.0, 1.0, 2.0), (5.0, 1.0, 0.0)],
    "geom": [(1.5,), (0.0,), (-0.5,)],
    "nbinom": [(3.0, 1.5), (-1.0, 0.5), (3.0, 0.0)],
    "poisson": [(-1.0,)],
}


@pytest.mark.parametrize("name", INVALID)
def test_parameters_that_make_no_distribution_give_nan(name):
    """Whatever the variable is, in the support or not; before, some probabilities were above 1."""
    distribution = getattr(stats, name)
    points = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    for shapes in INVALID[name]:
        given = [np.float64(shape) for shape in shapes]
        for function in dir(distribution):
            arguments = given if function == "entropy" else [points, *given]
            assert np.isnan(getattr(distribution, function)(*arguments)).all(), (function, shapes)
    mixed = [
        np.array([invalid, valid])
        for invalid, valid in zip(INVALID[name][0], {**CONTINUOUS, **DISCRETE}[name], strict=True)
    ]
    function = distribution.logpdf if name in CONTINUOUS else distribution.logpmf
    assert np.isnan(function(1.0, *mixed)).tolist() == [True, False]


@pytest.mark.parametrize(("name", "shapes"), [("cauchy", ()), ("pareto", (2.0,))])
def test_quantiles_at_and_beyond_the_ends(name, shapes):
    q = np.array([-0.5, 0.0, 1e-12, 0.24, 0.25, 0.5, 0.75, 0.76, 1.0, 1.5])
    for function in set(dir(getattr(stats, name))) & {"ppf", "isf"}:
        with np.errstate(all="ignore"):
            expected = getattr(getattr(scipy_stats, name), function)(q, *shapes)
        actual = getattr(getattr(stats, name), function)(q, *map(np.float64, shapes))
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15, err_msg=function)
        assert np.isnan(actual).tolist() == [True, *[False] * 8, True]


def test_slopes_of_quantiles():
    q = np.array([1e-6, 0.1, 0.26, 0.5, 0.74, 0.9])
    slope = ct.vmap(ct.grad(stats.cauchy.ppf))(q)
    np.testing.assert_allclose(slope, np.pi / np.sin(np.pi * q) ** 2, rtol=1e-12)


def test_errors():
    with pytest.raises(TypeError, match="needs a"):
        stats.gamma.logpdf(1.0)
    with pytest.raises(TypeError, match="no argument"):
        stats.norm.logpdf(1.0, mean=2.0)
    with pytest.raises(TypeError, match="at most"):
        stats.norm.logpdf(1.0, 0.0, 1.0, 2.0)
    with pytest.raises(AttributeError, match="it has"):
        stats.gamma.ppf(0.5, 1.0)
    with pytest.raises(ValueError, match="method"):
        stats.rankdata([1, 2], "first")


@pytest.mark.parametrize("features", [(), (1,), (3,)])
def test_nearest_codes(features):
    from scipy.cluster import vq

    random = np.random.default_rng(0)
    observations, codes = random.standard_normal((7, *features)), random.standard_normal((4, *features))
    for call in (ct.scipy.cluster.vq.vq, ct.jit(ct.scipy.cluster.vq.vq)):
        for ours, theirs in zip(call(observations, codes), vq.vq(observations, codes), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    with pytest.raises(ct.errors.ShapeError, match="same number of features"):
        ct.scipy.cluster.vq.vq(np.ones((3, 2)), np.ones((3, 1)))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_scales_that_are_not_positive_give_nan(name):
    """As in SciPy; before, `norm.cdf` of a negative scale was a probability."""
    ours, theirs, shapes = getattr(stats, name), getattr(scipy_stats, name), [np.float64(s) for s in CONTINUOUS[name]]
    scales = np.array([-1.0, 0.0, 2.0])
    for function in dir(ours):
        with np.errstate(all="ignore"):
            expected = getattr(theirs, function)(0.3, *shapes, 0.1, scales)
        actual = getattr(ours, function)(np.float64(0.3), *shapes, 0.1, scales)
        assert np.isnan(actual).tolist() == [True, True, False], function
        np.testing.assert_allclose(actual, expected, rtol=1e-6, err_msg=function)


@pytest.mark.parametrize(("name", "rest"), [("binom", (0.5,)), ("betabinom", (1.0, 2.0))])
def test_numbers_of_trials_that_are_not_whole_give_nan(name, rest):
    trials = np.array([2.5, 2.0])
    expected = getattr(scipy_stats, name).pmf(1, trials, *rest)
    np.testing.assert_allclose(getattr(stats, name).pmf(1, trials, *rest), expected, rtol=1e-6)
    assert np.isnan(expected).tolist() == [True, False]


FAR = np.array(
    [-1e300, -1e20, -500, -40, -8, -5, -3, -1e-20, 0, 1e-20, 2e-9, 1e-5, 0.5, 0.99999, 3, 5, 8, 40, 75, 500, 1e20]
)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("cauchy", ()),
        ("expon", ()),
        ("laplace", ()),
        ("logistic", ()),
        ("gumbel_l", ()),
        ("gumbel_r", ()),
        ("uniform", ()),
        ("gamma", (3.0,)),
        ("chi2", (15.0,)),
        ("beta", (1.5, 2.5)),
        ("gennorm", (1.0,)),
        ("gennorm", (2.0,)),
        ("t", (15.0,)),
        ("t", (1e8,)),
        ("truncnorm", (-9.0, 9.0)),
        ("truncnorm", (0.0, np.inf)),
    ],
)
def test_logarithms_of_probabilities_close_to_one_keep_their_digits(name, shapes):
    """They are small numbers, not the logarithm of a number that was rounded to 1."""
    smallest = 1.0
    for function in ("logcdf", "logsf"):
        with np.errstate(all="ignore"):
            expected = getattr(getattr(scipy_stats, name), function)(FAR, *shapes)
        actual = np.asarray(getattr(getattr(stats, name), function)(FAR, *map(np.float64, shapes)))
        normal = (np.abs(expected) > 1e-290) & np.isfinite(
            expected
        )  # SciPy's logarithms may be infinite where these are not
        np.testing.assert_allclose(actual[normal], expected[normal], rtol=1e-6 if shapes == (0.0, np.inf) else 2e-9)
        assert (actual[expected == 0] > -1e-290).all()
        smallest = min(smallest, np.abs(expected[normal]).min())
    assert smallest < 1e-10


def test_both_tails_of_counts_keep_their_digits():
    k = np.array([0.0, 1.0, 5.0, 50.0])
    for mu in (1e-10, 3.0):
        np.testing.assert_allclose(stats.poisson.sf(k, np.float64(mu)), scipy_stats.poisson.sf(k, mu), rtol=1e-11)
        expected = np.log1p(-scipy_stats.poisson.sf(k, mu))
        np.testing.assert_allclose(stats.poisson.logcdf(k, np.float64(mu)), expected, rtol=1e-11)
    assert float(stats.bernoulli.logcdf(0.0, np.float64(1e-20))) == -1e-20


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_nan_gives_nan(name):
    """A variable that is NaN is neither in the support nor beside it."""
    distribution = getattr(stats, name)
    given = [np.float64(shape) for shape in {**CONTINUOUS, **DISCRETE}[name]]
    for function in set(dir(distribution)) - {"entropy"}:
        apply = getattr(distribution, function)
        assert np.isnan(apply(np.array([np.nan, 0.5]), *given)).tolist()[0], function
        assert np.isnan(apply(np.float64(0.5), *given, loc=np.float64(np.nan))), function


@pytest.mark.parametrize("df", [1e6, 1e20, 1e100, np.inf])
def test_many_degrees_of_freedom(df):
    """Up to infinitely many, where Student's distribution is the normal one."""
    x = np.array([-np.inf, -30.0, -2.0, -1e-20, 0.0, 1e-300, 0.3, 5.0, np.inf])
    for function in ("pdf", "logpdf", "cdf", "sf", "logcdf"):
        expected = getattr(scipy_stats.t if df < 1e10 else scipy_stats.norm, function)(x, *[df] * (df < 1e10))
        np.testing.assert_allclose(getattr(stats.t, function)(x, df), expected, rtol=2e-10, err_msg=function)
    assert (
        ct.vmap(ct.grad(stats.t.logpdf), (0, None))(x[1:-1], df).round(6).tolist()
        == np.round(-x[1:-1] * (df + 1) / (df + x[1:-1] ** 2) if df < np.inf else -x[1:-1], 6).tolist()
    )
    at = np.array([-2.0, -1e-20, 0.3])
    np.testing.assert_allclose(
        ct.vmap(ct.grad(stats.t.cdf), (0, None))(at, df), stats.t.pdf(at, df), rtol=1e-9, err_msg="slope"
    )


def test_student_in_the_middle():
    """Where half of the probability is on either side, and the part in between is a small number."""
    for df in (0.5, 1.0, 15.0, 1e3):
        slope = float(stats.t.pdf(0.0, df))
        middle = np.asarray(stats.t.cdf(np.array([-1e-9, 1e-9]), df)) - 0.5
        np.testing.assert_allclose(middle, [-1e-9 * slope, 1e-9 * slope], rtol=1e-6)
        at = np.array([-0.7, -1e-9, 0.4, 3.0])
        np.testing.assert_allclose(ct.vmap(ct.grad(stats.t.cdf), (0, None))(at, df), stats.t.pdf(at, df), rtol=1e-9)


def test_squares_that_overflow():
    assert stats.cauchy.logpdf(np.array([1e200, -1e300])).round(6).tolist() == [-922.178767, -1382.695786]
    assert stats.cauchy.logpdf(np.float32(1e30)).round(3) == np.float32(-139.3).round(3)
    assert float(stats.t.logpdf(1e200, np.float64(2.0)).round(6)) == -1381.551056
    assert float(stats.logistic.logpdf(-np.inf)) == -np.inf
    # Far out in the support the truncated distribution has no mass left.
    assert float(stats.truncnorm.sf(1e200, 0.0, np.inf)) == 0
    assert float(stats.truncnorm.logcdf(-1e300, -np.inf, -3.0)) == -np.inf


def test_points_on_the_edge_of_a_simplex():
    x = np.array([0.1, 0.0, 0.2, 0.7])
    assert float(stats.dirichlet.pdf(x, np.ones(4)).round(12)) == scipy_stats.dirichlet.pdf(x, np.ones(4)) == 6
    assert float(stats.dirichlet.pdf(x, np.array([1.0, 2.0, 3.0, 4.0]))) == 0
    assert np.isnan(stats.dirichlet.pdf(x * np.nan, np.ones(4)))
    assert np.isnan(stats.dirichlet.pdf(x, np.array([1.0, 1.0, 1.0, -2.0])))
    assert np.isnan(stats.multinomial.logpmf([3, 4], 7, np.array([-2.0, 3.0])))
    assert np.isnan(stats.multinomial.logpmf([np.nan, 4], 7, np.array([0.3, 0.7])))
    assert float(stats.multinomial.logpmf([3, 4], 0, np.array([0.3, 0.7]))) == -np.inf
