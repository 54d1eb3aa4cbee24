"""cotangent.random against jax.random: the same bits."""

from __future__ import annotations

import inspect
import re
import warnings

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import random
from needs import needed, needs

try:
    import jax
except ImportError:
    jax = None

needs_jax = needs("jax")
KEYS = [0, 1, 42, 2**31, 2**32 - 1, -1, -(2**31)]


def key(seed=7):
    return random.PRNGKey(seed)


def jax_key(seed=7):
    return jax.random.PRNGKey(seed)


def same(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def close(actual, expected, rtol=2e-6, atol=1e-6):
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(
        np.asarray(actual, np.complex128), np.asarray(expected, np.complex128), rtol=rtol, atol=atol
    )


@needs_jax
@pytest.mark.parametrize("seed", KEYS)
def test_keys(seed):
    same(random.PRNGKey(seed), jax.random.PRNGKey(seed))
    same(random.split(key(seed)), jax.random.split(jax_key(seed)))
    same(random.split(key(seed), 5), jax.random.split(jax_key(seed), 5))
    same(random.split(key(seed), (2, 3)), jax.random.split(jax_key(seed), (2, 3)))
    same(random.fold_in(key(seed), 123), jax.random.fold_in(jax_key(seed), 123))
    same(random.fold_in(key(seed), np.uint32(2**31 + 5)), jax.random.fold_in(jax_key(seed), np.uint32(2**31 + 5)))


@needs_jax
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0,), (2, 0, 3)])
def test_bits(dtype, shape):
    same(random.bits(key(), shape, dtype), jax.random.bits(jax_key(), shape, dtype))


@needs_jax
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (11,), (3, 4)])
def test_uniform(dtype, shape):
    same(random.uniform(key(), shape, dtype), jax.random.uniform(jax_key(), shape, dtype))
    # Scaled in one rounding there, in two here.
    close(
        random.uniform(key(), shape, dtype, -2.0, 3.0),
        jax.random.uniform(jax_key(), shape, dtype, -2.0, 3.0),
        rtol=2e-2 if dtype != "float32" else 2e-6,
    )


@needs_jax
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int16", "uint8", "int8"])
@pytest.mark.parametrize(("low", "high"), [(0, 10), (5, 6), (3, 3), (0, 100), (1, 127), (0.5, 7.9)])
def test_randint(dtype, low, high):
    same(random.randint(key(), (50,), low, high, dtype), jax.random.randint(jax_key(), (50,), low, high, dtype))


@needs_jax
def test_randint_of_whole_ranges():
    same(random.randint(key(), (50,), 0, 256, "uint8"), jax.random.randint(jax_key(), (50,), 0, 256, "uint8"))
    same(random.randint(key(), (50,), -(2**31), 2**31 - 1), jax.random.randint(jax_key(), (50,), -(2**31), 2**31 - 1))
    ends = np.array([[1], [50]], np.int32)
    same(random.randint(key(), (2, 4), 0, ends), jax.random.randint(jax_key(), (2, 4), 0, ends))


@needs_jax
@pytest.mark.parametrize("name", ["normal", "gumbel", "exponential", "laplace", "logistic"])
@pytest.mark.parametrize("shape", [(), (1000,), (3, 4), (0,)])
def test_continuous_distributions(name, shape):
    close(getattr(random, name)(key(), shape), getattr(jax.random, name)(jax_key(), shape), rtol=1e-5, atol=2e-6)


@needs_jax
def test_other_normals():
    close(random.normal(key(), (50,), "float16"), jax.random.normal(jax_key(), (50,), "float16"), rtol=2e-3)
    close(
        random.normal(key(), (50,), "complex64"), jax.random.normal(jax_key(), (50,), "complex64"), rtol=1e-5, atol=1e-6
    )
    close(
        random.truncated_normal(key(), -1.0, 2.0, (200,)),
        jax.random.truncated_normal(jax_key(), -1.0, 2.0, (200,)),
        rtol=1e-5,
        atol=1e-6,
    )
    close(random.cauchy(key(), (50,)), jax.random.cauchy(jax_key(), (50,)), rtol=1e-4)


@needs_jax
def test_discrete_distributions():
    same(random.bernoulli(key(), 0.3, (100,)), jax.random.bernoulli(jax_key(), 0.3, (100,)))
    same(random.bernoulli(key(), np.float32([0.1, 0.9])), jax.random.bernoulli(jax_key(), np.float32([0.1, 0.9])))
    same(random.rademacher(key(), (100,)), jax.random.rademacher(jax_key(), (100,), np.int32))
    logits = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    same(random.categorical(key(), logits), jax.random.categorical(jax_key(), logits))
    same(random.categorical(key(), logits, axis=0), jax.random.categorical(jax_key(), logits, axis=0))
    same(random.categorical(key(), logits, shape=(5, 4)), jax.random.categorical(jax_key(), logits, shape=(5, 4)))
    same(random.choice(key(), 10, (20,)), jax.random.choice(jax_key(), 10, (20,)))
    values = np.arange(5, dtype=np.float32) * 2
    same(random.choice(key(), values, (20,)), jax.random.choice(jax_key(), values, (20,)))
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.0], np.float32)
    same(random.choice(key(), values, (20,), p=p), jax.random.choice(jax_key(), values, (20,), p=p))


@needs_jax
def test_with_64_bits():
    with ct.config.enable_x64(), jax.enable_x64(True):
        same(random.PRNGKey(2**40 + 3), jax.random.PRNGKey(2**40 + 3))
        same(random.bits(key(), (5,), "uint64"), jax.random.bits(jax_key(), (5,), "uint64"))
        same(random.uniform(key(), (5,)), jax.random.uniform(jax_key(), (5,)))
        same(random.randint(key(), (50,), -5, 10**12), jax.random.randint(jax_key(), (50,), -5, 10**12))
        close(random.normal(key(), (2000,)), jax.random.normal(jax_key(), (2000,)), rtol=1e-12, atol=1e-14)


def test_erfinv():
    scipy_special = needed("scipy.special")
    from cotangent._special import erfinv

    x = np.concatenate([np.linspace(-0.999, 0.999, 301), 1 - 10.0 ** -np.arange(3, 16), [1e-300, 1e-20, 0.0]])
    np.testing.assert_allclose(np.asarray(erfinv(x)), scipy_special.erfinv(x), rtol=5e-14)
    single = np.concatenate([np.linspace(-0.9999, 0.9999, 301), 1 - 2.0 ** -np.arange(3, 25)]).astype(np.float32)
    expected = scipy_special.erfinv(single.astype(np.float64))
    np.testing.assert_allclose(np.asarray(erfinv(single)), expected, rtol=2e-6)
    np.testing.assert_array_equal(np.asarray(erfinv(np.float32([-1, 1, 2]))), np.float32([-np.inf, np.inf, np.nan]))
    assert float(ct.grad(erfinv)(0.3)) == pytest.approx(
        0.5 * np.sqrt(np.pi) * np.exp(scipy_special.erfinv(0.3) ** 2), rel=1e-5
    )


def test_under_transforms():
    expected = np.stack([np.asarray(random.normal(k, (4,))) for k in random.split(key(), 3)])
    np.testing.assert_allclose(
        np.asarray(ct.vmap(lambda k: random.normal(k, (4,)))(random.split(key(), 3))), expected, rtol=1e-6
    )
    np.testing.assert_allclose(
        np.asarray(ct.jit(lambda s: random.normal(random.PRNGKey(s), (4,)))(7)),
        np.asarray(random.normal(key(), (4,))),
        rtol=1e-6,
    )
    assert float(ct.grad(lambda scale: (scale * random.normal(key(), (3,))).sum())(2.0)) == pytest.approx(
        float(random.normal(key(), (3,)).sum()), rel=1e-5
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: random.PRNGKey(1.5), TypeError, "the seed must be an integer scalar"),
        (lambda: random.PRNGKey(2**70), OverflowError, "does not fit int64"),
        (lambda: random.key(2**63), OverflowError, "pass np.uint64(9223372036854775808)"),
        (lambda: random.normal(0), TypeError, "normal: key must be a random key; got 0"),
        (lambda: random.normal(random.split(key())), ValueError, "expected one random key"),
        (lambda: random.fold_in(key(), 1.5 * cnp.ones(2)), TypeError, "data must be an integer scalar"),
        (lambda: random.bits(key(), (), "int32"), TypeError, "must be an unsigned integer"),
        (lambda: random.uniform(key(), (), "int32"), TypeError, "the dtype must be floating"),
        (lambda: random.bernoulli(key(), 1), TypeError, "the probability must be floating"),
        (lambda: random.randint(key(), (), 0, 5, "float32"), TypeError, "the dtype must be an integer"),
        (lambda: random.randint(key(), (), 0j, 5), TypeError, "the ends must be real numbers"),
        (lambda: random.categorical(key(), np.zeros((2, 3), np.float32), shape=(3,)), ValueError, "does not end with"),
        (lambda: random.choice(key(), 5, (6,), replace=False), ValueError, "6 different elements"),
        (lambda: random.gamma(key(), np.ones(3), (2,)), TypeError, "do not broadcast"),
        (lambda: random.gamma(key(), 1.0, (2,), "int32"), TypeError, "the dtype must be floating"),
        (lambda: random.poisson(key(), 1.0, (2,), "float32"), TypeError, "the dtype must be an integer"),
        (lambda: random.permutation(key(), 1.5), TypeError, "takes an integer or an array"),
        (lambda: random.gumbel(key(), mode="top"), ValueError, "mode must be"),
        (lambda: random.choice(key(), 0, (2,)), ValueError, "nothing to choose from"),
        (
            lambda: random.choice(key(), 3, (2,), p=np.ones(2)),
            ValueError,
            "p.size is 2 and the number of elements is 3",
        ),
        (
            lambda: random.choice(key(), 3, (2,), p=np.ones((3, 1))),
            ValueError,
            "p has shape (3, 1), but there are 3 elements",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.2, 0.2], np.float32)
MEAN, COVARIANCE = np.array([1, 2], np.float32), np.array([[2, 0.5], [0.5, 1]], np.float32)
EXACT = [
    ("permutation", (10,), {}),
    ("permutation", (TABLE,), {"axis": 1}),
    ("permutation", (TABLE,), {"independent": True}),
    ("choice", (10, (5,)), {"replace": False}),
    ("choice", (5, (3,)), {"replace": False, "p": WEIGHTS}),
    ("categorical", (np.log(WEIGHTS),), {"shape": (3,), "replace": False}),
    ("bernoulli", (0.3, (20,)), {"mode": "high"}),
    ("geometric", (0.3, (50,)), {}),
    ("poisson", (3.0, (100,)), {}),
    ("poisson", (np.array([[0.5], [20.0], [300.0], [0.0]], np.float32), (4, 50)), {}),
    ("binomial", (10, 0.3, (50,)), {}),
    ("binomial", (np.array([[5.0], [100.0], [1000.0]], np.float32), 0.7, (3, 50)), {}),
    ("multinomial", (20.0, np.array([0.2, 0.3, 0.5], np.float32)), {}),
]
CONTINUOUS = [
    ("gamma", (2.5, (50,)), {}),
    ("gamma", (np.array([0.3, 4.0], np.float32),), {}),
    ("loggamma", (0.05, (50,)), {}),
    ("beta", (0.5, 2.0, (20,)), {}),
    ("dirichlet", (np.array([1, 2, 0.5], np.float32), (4,)), {}),
    ("chisquare", (3.0, (20,)), {}),
    ("f", (3.0, 5.0, (20,)), {}),
    ("t", (4.0, (20,)), {}),
    ("generalized_normal", (3.0, (20,)), {}),
    ("ball", (3,), {"shape": (5,)}),
    ("lognormal", (0.5, (20,)), {}),
    ("pareto", (2.0, (20,)), {}),
    ("rayleigh", (2.0, (20,)), {}),
    ("wald", (2.0, (20,)), {}),
    ("weibull_min", (2.0, 1.5, (20,)), {}),
    ("maxwell", ((20,),), {}),
    ("double_sided_maxwell", (1.0, 2.0, (20,)), {}),
    ("triangular", (0.0, 1.0, 3.0, (20,)), {}),
    ("gumbel", ((20,),), {"mode": "high"}),
    ("gumbel", ((20,),), {"mode": "highest"}),
    ("multivariate_normal", (MEAN, COVARIANCE, (5,)), {}),
    ("multivariate_normal", (MEAN, COVARIANCE, (5,)), {"method": "eigh"}),
    ("multivariate_normal", (MEAN, COVARIANCE, (5,)), {"method": "svd"}),
    ("orthogonal", (3,), {}),
    ("orthogonal", (3, (2,)), {"m": 5}),
]


@needs_jax
@pytest.mark.parametrize(("name", "args", "options"), EXACT)
def test_exact_draws(name, args, options):
    same(getattr(random, name)(key(), *args, **options), getattr(jax.random, name)(jax_key(), *args, **options))


@needs_jax
@pytest.mark.parametrize(("name", "args", "options"), CONTINUOUS)
def test_continuous_draws(name, args, options, request):
    if options.get("method") == "eigh":  # the signs of LAPACK's vectors, and so of draws, are the processor's
        request.getfixturevalue("names_devices")
    close(
        getattr(random, name)(key(), *args, **options),
        getattr(jax.random, name)(jax_key(), *args, **options),
        rtol=5e-6,
        atol=2e-6,
    )


@needs_jax
@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_gradients_of_gamma_draws(name):
    a = np.array([0.1, 0.7, 3.0, 30.0], np.float32)
    actual = ct.grad(lambda a: getattr(random, name)(key(), a).sum())(a)
    expected = jax.grad(lambda a: getattr(jax.random, name)(jax_key(), a).sum())(a)
    close(actual, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "args"), [("gamma", (0.7, (3,))), ("poisson", (20.0, (3,))), ("permutation", (6,))])
def test_draws_under_transforms(name, args):
    def draw(k):
        return getattr(random, name)(k, *args)

    keys = random.split(key(), 3)
    expected = np.stack([np.asarray(draw(k)) for k in keys])
    for function in (ct.vmap(draw), ct.jit(ct.vmap(draw))):
        np.testing.assert_allclose(np.asarray(function(keys)), expected, rtol=1e-5)


def test_draws_of_nothing():
    assert random.gamma(key(), 1.0, (0, 3)).shape == (0, 3)
    assert random.poisson(key(), 1.0, (0,)).shape == (0,)
    assert random.permutation(key(), 0).shape == (0,)


def test_many_numbers_are_those_of_a_program():
    from cotangent.random.basic import _MANY

    for name in ("uniform", "normal"):
        draw = getattr(random, name)
        many = draw(key(), (_MANY,), "float32")
        np.testing.assert_allclose(
            many[:1000], ct.jit(lambda k, draw=draw: draw(k, (_MANY,), "float32"))(key())[:1000], rtol=1e-6
        )
    ends = random.uniform(key(), (_MANY,), "float32", cnp.full(_MANY, 2.0), 3.0)
    assert float(ends.min()) >= 2.0 and float(ends.max()) < 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda p: random.ball(key(), 3, p),
        lambda p: random.generalized_normal(key(), p),
        lambda p: random.weibull_min(key(), 1.0, p),
    ],
)
@pytest.mark.parametrize("p", [0, -1.0, np.float32(np.nan)])
def test_exponents_of_densities_are_positive(call, p):
    with pytest.raises(ValueError, match="must be positive"):
        call(p)


# Calls that are possible, and not meant: the arguments behind the key, what is warned of, and the call that was meant.
ODD_CALLS = [
    ("randint", (0, 10, 3), "makes no numbers", "ct.random.randint(key, (3,), 0, 10)"),
    ("randint", (5, 10, 3), "makes 5 numbers, all of them 10", "ct.random.randint(key, (3,), 5, 10)"),
    ("randint", (1, 7, (3,)), "a number for the shape, and (3,) for maxval", "ct.random.randint(key, (3,), 1, 7)"),
    ("normal", (0,), "makes no numbers", "ct.random.normal(key)"),
    ("gumbel", (0,), "makes no numbers", "ct.random.gumbel(key)"),
    ("laplace", (0,), "makes no numbers", "ct.random.laplace(key)"),
    ("logistic", (0,), "makes no numbers", "ct.random.logistic(key)"),
    ("uniform", (0,), "makes no numbers", "ct.random.uniform(key, minval=0)"),
    ("truncated_normal", ((3,), -1, 1), "and (3,) for lower", "ct.random.truncated_normal(key, -1, 1, (3,))"),
    ("poisson", ((3,), 2), "and (3,) for lam", "ct.random.poisson(key, 2, (3,))"),
    ("gamma", ((3,), 2), "and (3,) for a", "ct.random.gamma(key, 2, (3,))"),
    ("choice", ((3,), 5), "and (3,) for a", "ct.random.choice(key, 5, (3,))"),
]


@pytest.mark.parametrize(("name", "arguments", "what", "meant"), ODD_CALLS)
def test_calls_that_are_not_meant_are_warned_of(name, arguments, what, meant):
    """What comes out is what the arguments say; with the shape written as one nothing is said."""
    function = getattr(random, name)
    parameters = [p for p in inspect.signature(function).parameters if p != "key"]
    shape = arguments[parameters.index("shape")]
    with pytest.warns(UserWarning, match=re.escape(what)) as noted:
        given = function(key(), *arguments)
    message = str(noted[0].message)
    assert message.startswith(f"{name}: ")
    assert message.endswith(f"\n  write {meant}; if the shape is meant, write it as ({shape},)")
    assert noted[0].filename == __file__
    assert given.shape == (shape,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eval(meant, {"ct": ct, "key": key()})
        as_tuple = [(x,) if p == "shape" else x for p, x in zip(parameters, arguments)]
        np.testing.assert_array_equal(function(key(), *as_tuple), given)


def test_calls_in_the_order_of_the_parameters_are_not_warned_of():
    k = key()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert random.randint(k, (0,), 10, 3).shape == (0,)
        assert random.randint(k, (5,), 10, 3).tolist() == [10] * 5
        assert random.randint(k, 0, 0, 10).shape == (0,)
        assert random.randint(k, 3, 0, 10).shape == (3,)
        assert random.randint(k, 3, 2, 2).tolist() == [2, 2, 2]
        assert random.randint(k, 2, (0, 5), (1, 6)).tolist() == [0, 5]
        assert random.normal(k, (0,)).shape == random.normal(k, shape=0).shape == (0,)
        assert random.normal(k, 3).shape == random.uniform(k, [3]).shape == (3,)
        assert random.uniform(k, 0, minval=1.0).shape == random.bits(k, 0).shape == (0,)
        assert random.choice(k, (1, 2, 3), 2).shape == (2,)
        assert random.dirichlet(k, (1.0, 2.0, 3.0), 2).shape == (2, 3)
        assert random.poisson(k, np.array([3]), 2).shape == (2,)


# Calls that are errors: the arguments behind the key, and the call that was meant.
MISPLACED = [
    ("uniform", ((3,), -1, 1), "ct.random.uniform(key, (3,), minval=-1, maxval=1)"),
    ("uniform", (0, 1, 3), "ct.random.uniform(key, (3,), minval=0, maxval=1)"),
    ("uniform", (3, 0.0, 1.0), "ct.random.uniform(key, (3,), minval=0.0, maxval=1.0)"),
    ("uniform", (-1.0, 1.0, (2, 3)), "ct.random.uniform(key, (2, 3), minval=-1.0, maxval=1.0)"),
    ("uniform", ((3,), -1), "ct.random.uniform(key, (3,), minval=-1)"),
    ("uniform", (-1, 1), "ct.random.uniform(key, minval=-1, maxval=1)"),
    ("normal", ((3,), 0.1), "0.1 * ct.random.normal(key, (3,))"),
    ("normal", (3, 0.1), "0.1 * ct.random.normal(key, (3,))"),
    ("normal", ((3,), 5.0, 0.1), "5.0 + 0.1 * ct.random.normal(key, (3,))"),
    ("normal", (5.0, 0.1, 3), "5.0 + 0.1 * ct.random.normal(key, (3,))"),
    ("normal", (5.0, 0.1, (3,)), "5.0 + 0.1 * ct.random.normal(key, (3,))"),
    ("normal", (5.0,), "5.0 + ct.random.normal(key)"),
    ("normal", (0, 1), "ct.random.normal(key)"),
    ("laplace", (0.0, 2.0, (3,)), "2.0 * ct.random.laplace(key, (3,))"),
    ("logistic", (1.0, 2.0, (3,)), "1.0 + 2.0 * ct.random.logistic(key, (3,))"),
    ("gumbel", (1.0, 2.0), "1.0 + 2.0 * ct.random.gumbel(key)"),
    ("exponential", (2.0,), "2.0 * ct.random.exponential(key)"),
    ("exponential", ((3,), 2.0), "2.0 * ct.random.exponential(key, (3,))"),
    ("gamma", (2.0, 3.0, (3,)), "3.0 * ct.random.gamma(key, 2.0, (3,))"),
    ("gamma", (2, 1, 3), "ct.random.gamma(key, 2, (3,))"),
    ("lognormal", (0.5, 1.0, (3,)), "ct.numpy.exp(0.5) * ct.random.lognormal(key, 1.0, (3,))"),
    ("wald", (1.0, 2.0, (3,)), "2.0 * ct.random.wald(key, 1.0 / 2.0, (3,))"),
    ("randint", (0, 10, (2, 3)), "ct.random.randint(key, (2, 3), 0, 10)"),
    ("randint", (0.0, 10.0, (3,)), "ct.random.randint(key, (3,), 0.0, 10.0)"),
    ("bernoulli", ((3,), 0.5), "ct.random.bernoulli(key, 0.5, (3,))"),
    ("beta", ((3,), 1.0, 2.0), "ct.random.beta(key, 1.0, 2.0, (3,))"),
    ("binomial", ((3,), 10, 0.5), "ct.random.binomial(key, 10, 0.5, (3,))"),
    ("geometric", ((3,), 0.5), "ct.random.geometric(key, 0.5, (3,))"),
    ("t", ((3,), 2.0), "ct.random.t(key, 2.0, (3,))"),
    ("truncated_normal", ((2, 3), -1, 1), "ct.random.truncated_normal(key, -1, 1, (2, 3))"),
    ("truncated_normal", ((3,), -1.0, 1.0), "ct.random.truncated_normal(key, -1.0, 1.0, (3,))"),
    ("triangular", ((3,), 0.0, 0.5, 1.0), "ct.random.triangular(key, 0.0, 0.5, 1.0, (3,))"),
    ("weibull_min", ((3,), 1.0, 2.0), "ct.random.weibull_min(key, 1.0, 2.0, (3,))"),
]


@pytest.mark.parametrize(("name", "arguments", "meant"), MISPLACED)
def test_errors_of_misplaced_arguments_write_the_call_that_was_meant(name, arguments, meant):
    with pytest.raises((TypeError, ValueError)) as raised:
        getattr(random, name)(key(), *arguments)
    message = str(raised.value).splitlines()
    assert message[0].startswith(name)
    assert message[1] == f"  write {meant}"
    made = eval(meant, {"ct": ct, "key": key()})
    shapes = [x for x in arguments if isinstance(x, tuple)]
    assert made.shape == (shapes[0] if shapes else (3,) if 3 in arguments else ())


@pytest.mark.parametrize("name", ["bernoulli", "randint", "truncated_normal", "uniform"])
def test_parameters_do_not_make_the_result_larger(name):
    """As in JAX: what is drawn once for each element of the shape is not repeated along an axis of a parameter."""
    wide = np.full((2, 3), 0.5, np.float32)
    calls = {
        "bernoulli": lambda shape: random.bernoulli(key(), wide, shape),
        "randint": lambda shape: random.randint(key(), shape, (4 * wide).astype(int), 9),
        "truncated_normal": lambda shape: random.truncated_normal(key(), wide, 2.0, shape),
        "uniform": lambda shape: random.uniform(key(), shape, minval=wide),
    }
    for shape in ((3,), (), (1, 3)):
        with pytest.raises(ValueError, match=rf"{name}: parameters of shapes .*\(2, 3\).* do not broadcast to "):
            calls[name](shape)
    np.testing.assert_array_equal(calls[name]((4, 2, 3)).shape, (4, 2, 3))


@pytest.mark.parametrize(
    "draw",
    [
        lambda z: random.gamma(key(), z),
        lambda z: random.loggamma(key(), z),
        lambda z: random.beta(key(), 1.0, z),
        lambda z: random.dirichlet(key(), z[None]),
        lambda z: random.poisson(key(), z),
        lambda z: random.binomial(key(), z, 0.5),
        lambda z: random.binomial(key(), 2, z),
        lambda z: random.multinomial(key(), z, cnp.array([0.5, 0.5])),
        lambda z: random.uniform(key(), (), minval=z),
        lambda z: random.uniform(key(), (), maxval=z),
        lambda z: random.truncated_normal(key(), z, 1.0),
        lambda z: random.t(key(), z),
        lambda z: random.f(key(), z, 1.0),
        lambda z: random.chisquare(key(), z),
        lambda z: random.pareto(key(), z),
        lambda z: random.rayleigh(key(), z),
        lambda z: random.wald(key(), z),
        lambda z: random.triangular(key(), z, 2.0, 3.0),
        lambda z: random.lognormal(key(), z),
        lambda z: random.generalized_normal(key(), z),
        lambda z: random.ball(key(), 2, z),
        lambda z: random.weibull_min(key(), 1.0, z),
    ],
)
def test_complex_parameters_are_refused(draw):
    with pytest.raises(ct.errors.DTypeError, match=r"must be (real|floating); got complex64"):
        draw(cnp.array(1 + 1j))
    draw(cnp.array(1.0))
