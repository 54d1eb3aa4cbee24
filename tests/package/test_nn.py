"""cotangent.nn against jax.nn: values and first derivatives."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
import scipy.special
from cotangent import nn
from needs import needs

try:
    import jax
except ImportError:
    jax = None

needs_jax = needs("jax")
X = np.array([-90.0, -20.0, -3.5, -1.2, -0.3, 0.2, 0.9, 2.5, 7.0, 88.0], np.float32)
ACTIVATIONS = [
    "relu",
    "relu6",
    "leaky_relu",
    "sigmoid",
    "log_sigmoid",
    "softplus",
    "squareplus",
    "soft_sign",
    "silu",
    "swish",
    "mish",
    "gelu",
    "elu",
    "selu",
    "celu",
]
ACTIVATIONS += ["hard_tanh", "hard_sigmoid", "hard_silu", "hard_swish", "tanh", "identity"]
ACTIVATIONS += ["sparse_plus", "sparse_sigmoid"]
BOTH = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def close(actual, expected, rtol=1e-5, atol=1e-6):
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=atol)


@needs_jax
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    # JAX's loses digits where the sum cancels.
    rtol = 1e-3 if name == "squareplus" else 1e-5
    close(getattr(nn, name)(X), getattr(jax.nn, name)(X), rtol)
    actual = ct.grad(lambda x: getattr(nn, name)(x).sum())(X)
    expected = jax.grad(lambda x: getattr(jax.nn, name)(x).sum())(X)
    close(actual, expected, rtol)


@needs_jax
def test_exact_gelu():
    close(nn.gelu(X, approximate=False), jax.nn.gelu(X, approximate=False))


@pytest.mark.parametrize(
    ("function", "slope"),
    [(nn.relu, 0.0), (nn.sigmoid, 0.25), (nn.softplus, 0.5), (nn.silu, 0.5), (nn.gelu, 0.5), (nn.elu, 1.0)],
)
def test_slopes_at_zero(function, slope):
    assert float(ct.grad(function)(0.0)) == pytest.approx(slope)


def test_second_derivatives_at_zero():
    assert float(ct.grad(ct.grad(nn.softplus))(0.0)) == pytest.approx(0.25)
    assert float(ct.grad(ct.grad(nn.sigmoid))(0.0)) == pytest.approx(0.0, abs=1e-7)
    assert float(ct.grad(ct.grad(ct.grad(nn.sigmoid)))(0.0)) == pytest.approx(-0.125)


def test_nan_passes_through_relu():
    assert np.isnan(float(nn.relu(np.nan)))


@needs_jax
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "standardize"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_over_axes(name, axis):
    x = BOTH * 30
    close(getattr(nn, name)(x, axis), getattr(jax.nn, name)(x, axis), rtol=2e-5, atol=1e-5)
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    actual = ct.grad(lambda x: (getattr(nn, name)(x, axis) * weights).sum())(BOTH)
    expected = jax.grad(lambda x: (getattr(jax.nn, name)(x, axis) * weights).sum())(BOTH)
    close(actual, expected, rtol=1e-3, atol=1e-4)


@needs_jax
def test_softmax_of_chosen_elements():
    where = BOTH > -0.5
    close(nn.softmax(BOTH, where=where), jax.nn.softmax(BOTH, where=where))
    close(nn.log_softmax(BOTH, where=where), jax.nn.log_softmax(BOTH, where=where))


@needs_jax
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    close(nn.logsumexp(BOTH * 50, axis, keepdims=keepdims), jax.nn.logsumexp(BOTH * 50, axis, keepdims=keepdims))
    close(nn.logsumexp(BOTH, axis, b=np.abs(BOTH)), jax.nn.logsumexp(BOTH, axis, b=np.abs(BOTH)))
    for actual, expected in zip(
        nn.logsumexp(BOTH, axis, b=BOTH, return_sign=True),
        jax.nn.logsumexp(BOTH, axis, b=BOTH, return_sign=True),
        strict=True,
    ):
        close(actual, expected, rtol=1e-4)


@pytest.mark.parametrize("return_sign", [False, True])
def test_logsumexp_of_weighted_complex_numbers(return_sign):
    x, weights = np.array([1 + 2j, -0.5j, 0.3]), np.array([0.5 - 1j, -2.0, 3j])
    total = np.sum(weights * np.exp(x))
    expected = (np.log(np.abs(total)), total / np.abs(total)) if return_sign else np.log(total)
    with ct.enable_x64(True):
        found = nn.logsumexp(x, b=weights, return_sign=return_sign)
    for one, other in zip(found, expected, strict=True) if return_sign else [(found, expected)]:
        close(one, other, rtol=1e-12)


def test_logsumexp_of_infinities():
    assert float(nn.logsumexp(np.array([-np.inf, -np.inf]))) == -np.inf
    assert float(nn.logsumexp(np.array([np.inf, 1.0]))) == np.inf
    assert float(nn.logsumexp(np.zeros(0))) == -np.inf


@needs_jax
def test_one_hot():
    x = np.array([[0, 2], [1, 5]])
    for options in ({}, {"axis": 0}, {"axis": 1}, {"dtype": np.int32}):
        close(nn.one_hot(x, 3, **options), jax.nn.one_hot(x, 3, **options))


@needs_jax
def test_glu():
    close(nn.glu(BOTH), jax.nn.glu(BOTH))
    with pytest.raises(TypeError, match="must have an even size"):
        nn.glu(BOTH, axis=0)


@needs_jax
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v = np.random.default_rng(1).standard_normal((3, 2, 5, 3, 4)).astype(np.float32)
    close(
        nn.dot_product_attention(q, k, v, is_causal=causal),
        jax.nn.dot_product_attention(q, k, v, is_causal=causal),
        rtol=1e-4,
        atol=1e-5,
    )


@needs_jax
@pytest.mark.parametrize(
    "name",
    [
        "glorot_uniform",
        "glorot_normal",
        "lecun_uniform",
        "lecun_normal",
        "he_uniform",
        "he_normal",
        "xavier_uniform",
        "kaiming_normal",
    ],
)
def test_initializers(name):
    actual = getattr(nn.initializers, name)()(ct.random.PRNGKey(3), (3, 4, 5))
    expected = getattr(jax.nn.initializers, name)()(jax.random.PRNGKey(3), (3, 4, 5))
    close(actual, expected, rtol=2e-5)


@needs_jax
@needs_jax
@pytest.mark.parametrize("name", ["glorot_uniform", "lecun_normal", "he_normal", "orthogonal"])
def test_complex_initializers(name):
    actual = getattr(nn.initializers, name)(dtype="complex64")(ct.random.PRNGKey(3), (3, 4, 5))
    expected = getattr(jax.nn.initializers, name)(dtype="complex64")(jax.random.PRNGKey(3), (3, 4, 5))
    assert actual.dtype == np.complex64
    close(actual, expected)


@needs_jax
def test_initializer_of_a_vector_of_weights():
    options = {"in_axis": 0, "out_axis": 0}
    actual = nn.initializers.he_normal(**options)(ct.random.PRNGKey(3), (6,))
    close(actual, jax.nn.initializers.he_normal(**options)(jax.random.PRNGKey(3), (6,)))
    with pytest.raises(ValueError, match="say which axes are inputs with in_axis"):
        nn.initializers.he_normal()(ct.random.PRNGKey(3), (6,))


def test_softmax_of_nothing():
    nothing = np.zeros(4, bool)
    assert nn.softmax(X[:4], where=nothing).tolist() == [0.0] * 4
    assert nn.log_softmax(X[:4], where=nothing).tolist() == [-np.inf] * 4


def test_relu6_has_no_slope_at_its_corners():
    assert [float(ct.grad(nn.relu6)(x)) for x in (-1.0, 0.0, 3.0, 6.0, 7.0)] == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert np.isnan(nn.relu6(np.nan))


def test_exact_gelu_of_large_negative_numbers():
    x = np.linspace(-12, 5, 40)
    np.testing.assert_allclose(nn.gelu(x.astype(np.float32), False), x * scipy.special.ndtr(x), rtol=2e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_squareplus_of_large_numbers(dtype):
    top = float(np.finfo(dtype).max) / 2
    x = np.array([-np.inf, -top, -100.0, -3.0, 0.0, 3.0, 100.0, top, np.inf], dtype)
    wide = x.astype(np.longdouble)
    root = np.sqrt(wide * wide + 4)
    low, high = np.minimum(wide, 0), np.maximum(wide, 0)
    value = np.where(wide < 0, 2 / (root - low), (high + root) / 2)
    with np.errstate(invalid="ignore"):
        slope = np.where(wide < 0, 2 / (root * (root - low)), (1 + high / root) / 2)
    slope[-1] = 1
    tolerance = {"rtol": 8 * float(np.finfo(dtype).eps), "atol": float(np.finfo(dtype).smallest_subnormal)}
    np.testing.assert_allclose(ct.nn.squareplus(x), value.astype(dtype), **tolerance)
    slopes = ct.vmap(ct.grad(ct.nn.squareplus))(x)
    np.testing.assert_allclose(slopes, slope.astype(dtype), tolerance["rtol"], float(np.finfo(dtype).eps) / 64)
    by_b = ct.vmap(ct.grad(ct.nn.squareplus, 1), (0, None))(x, dtype(4))
    np.testing.assert_allclose(by_b, (1 / (4 * root)).astype(dtype), **tolerance)
    np.testing.assert_allclose(
        ct.nn.squareplus(x[3:6], np.arange(3).astype(dtype)), [0, 0.5, (3 + 11**0.5) / 2], **tolerance
    )


def test_simple_initializers():
    key = ct.random.PRNGKey(3)
    close(nn.initializers.normal(0.5)(key, (4,)), jax.nn.initializers.normal(0.5)(jax.random.PRNGKey(3), (4,)))
    close(nn.initializers.uniform(0.5)(key, (4,)), jax.nn.initializers.uniform(0.5)(jax.random.PRNGKey(3), (4,)))
    close(
        nn.initializers.truncated_normal(0.5)(key, (4,)),
        jax.nn.initializers.truncated_normal(0.5)(jax.random.PRNGKey(3), (4,)),
    )
    assert nn.initializers.zeros(key, (2,)).tolist() == [0.0, 0.0]
    assert nn.initializers.ones(key, (2,)).tolist() == [1.0, 1.0]
    assert nn.initializers.constant(3.0)(key, (2,)).tolist() == [3.0, 3.0]
    for value, dtype in ((7, None), (True, None), (7, "int32")):
        ours = nn.initializers.constant(value, dtype)(key, (2,))
        theirs = jax.nn.initializers.constant(value, dtype)(jax.random.PRNGKey(3), (2,))
        assert (ours.dtype, ours.weak_type, ours.tolist()) == (theirs.dtype, False, theirs.tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.initializers.variance_scaling(1.0, "fan", "normal"), "mode must be"),
        (lambda: nn.initializers.variance_scaling(1.0, "fan_in", "gamma"), "unknown distribution"),
        (lambda: nn.initializers.he_normal()(ct.random.PRNGKey(0), (3,)), "at least two axes"),
    ],
)
def test_initializer_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_under_jit_and_vmap():
    for function in (nn.softmax, nn.gelu, nn.logsumexp, nn.sigmoid, lambda x: nn.one_hot(cnp.argmax(x), 4)):
        rows = np.stack([np.asarray(function(row)) for row in BOTH])
        np.testing.assert_allclose(np.asarray(ct.jit(ct.vmap(function))(BOTH)), rows, rtol=1e-5, atol=1e-6)


@needs_jax
def test_log_of_differences():
    x = np.array([1e-6, 0.1, 0.69, 0.7, 3.0, 50.0], np.float32)
    close(nn.log1mexp(x), jax.nn.log1mexp(x))
    close(ct.grad(lambda x: nn.log1mexp(x).sum())(x), jax.grad(lambda x: jax.nn.log1mexp(x).sum())(x))


@needs_jax
def test_logmeanexp():
    where = BOTH > -0.5
    for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": 1, "where": where}):
        close(nn.logmeanexp(BOTH * 50, **options), jax.nn.logmeanexp(BOTH * 50, **options))


@needs_jax
def test_stable_standardize():
    close(nn.standardize(BOTH, algorithm="stable"), jax.nn.standardize(BOTH, algorithm="stable"), rtol=1e-4)
    with pytest.raises(ValueError, match="algorithm must be"):
        nn.standardize(BOTH, algorithm="best")


LENGTHS = np.array([5, 3], np.int32)


@needs_jax
@pytest.mark.parametrize(
    "options",
    [
        {"query_seq_lengths": LENGTHS},
        {"key_value_seq_lengths": LENGTHS},
        {"local_window_size": 1},
        {"local_window_size": (2, 0), "is_causal": True},
        {"scale": 0.3, "bias": np.ones((2, 4, 5, 6), np.float32) * np.arange(6, dtype=np.float32)},
        {"mask": np.arange(6) != 2 * np.ones((2, 1, 5, 6))},
        {"return_residual": True},
    ],
)
def test_attention_of_grouped_heads(options):
    rng = np.random.default_rng(2)
    q = rng.standard_normal((2, 5, 4, 3)).astype(np.float32)
    k, v = rng.standard_normal((2, 2, 6, 2, 3)).astype(np.float32)
    actual = nn.dot_product_attention(q, k, v, **options)
    expected = jax.nn.dot_product_attention(q, k, v, **options)
    for a, b in zip(ct.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        close(a, b, rtol=1e-4, atol=1e-5)


def test_attention_errors():
    q = np.ones((2, 5, 3, 4), np.float32)
    with pytest.raises(TypeError, match="do not fit"):
        nn.dot_product_attention(q, q[:, :, :2], q[:, :, :2])
    with pytest.raises(TypeError, match="mask must be bool"):
        nn.dot_product_attention(q, q, q, mask=np.ones((1, 1, 5, 5)))
    with pytest.raises(ValueError, match="unsupported implementation"):
        nn.dot_product_attention(q, q, q, implementation="cudnn")


@pytest.mark.parametrize(
    ("name", "expected"),  # what JAX 0.10.2 gives
    [
        ("relu", [1 + 1j, 0, 0.3]),
        ("relu6", [1 + 1j, 0, 0.3]),
        ("leaky_relu", [1 + 1j, -0.02 + 0.005j, 0.3]),
        ("elu", [1 + 1j, -0.88123214 + 0.06488319j, 0.3]),
        ("softplus", [1.2135701 + 0.74728847j, 0.11390687 + 0.05793023j, 0.8543553]),
        ("log_sigmoid", [-0.21357006 + 0.2527113j, -2.1139069 + 0.44206977j, -0.55435526]),
    ],
)
def test_activations_of_complex_numbers(name, expected):
    z = cnp.array([1 + 1j, -2 + 0.5j, 0.3])
    got = getattr(nn, name)(z)
    assert got.dtype == np.complex64
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_mish_of_complex_numbers():
    z = cnp.array([1 + 1j, -2 + 0.5j])
    value, slope = ct.jvp(nn.mish, (z,), (z,))
    np.testing.assert_allclose(value, [0.799165 + 1.1439717j, -0.25620994 - 0.05759662j], rtol=1e-5)
    np.testing.assert_allclose(slope, [1.2884924 + 1.4134421j, 0.2511755 - 0.08860727j], rtol=1e-5)


@needs_jax
def test_geometric_mean_of_fans():
    actual = nn.initializers.variance_scaling(2.0, "fan_geo_avg", "normal")(ct.random.PRNGKey(3), (3, 8))
    close(actual, jax.nn.initializers.variance_scaling(2.0, "fan_geo_avg", "normal")(jax.random.PRNGKey(3), (3, 8)))


@needs_jax
@pytest.mark.parametrize("name", ["orthogonal", "delta_orthogonal"])
def test_orthogonal_initializers(name):
    for shape in ((3, 2, 4), (2, 3, 2, 2)):
        actual = getattr(nn.initializers, name)(2.0)(ct.random.PRNGKey(3), shape)
        close(actual, getattr(jax.nn.initializers, name)(2.0)(jax.random.PRNGKey(3), shape), rtol=1e-4)
    with pytest.raises(ValueError, match="axes; got shape"):
        getattr(nn.initializers, name)()(ct.random.PRNGKey(3), (3,))
