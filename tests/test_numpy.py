"""cotangent.numpy against NumPy, and against jax.numpy where it is installed."""

from __future__ import annotations

import itertools
import math

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

try:
    import jax.numpy as jnp
except ImportError:
    jnp = None

needs_jax = pytest.mark.skipif(jnp is None, reason="needs jax")
rng = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def check(actual, expected, rtol=2e-5, atol=2e-6):
    """Values, shape and dtype."""
    expected = np.asarray(expected)
    actual = np.asarray(actual)
    assert actual.shape == expected.shape
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(actual.astype(expected.dtype), expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(actual, expected)


def check_jax(name, *args, **kwargs):
    """The same call gives the same numbers and dtype as jax.numpy."""
    expected = getattr(jnp, name)(*args, **kwargs)
    actual = getattr(cnp, name)(*args, **kwargs)
    assert actual.dtype == expected.dtype, f"{actual.dtype} != {expected.dtype}"
    check(actual, expected)


# ---- Elementwise -----------------------------------------------------------------------------------------------------

ANY = np.array([-3.5, -1.0, -0.25, 0.0, 0.3, 1.0, 2.0, 8.0], np.float32)
UNIT = np.array([-1.0, -0.9, -1e-3, 0.0, 1e-5, 0.5, 1.0], np.float32)
POSITIVE = np.array([1e-6, 0.3, 1.0, 2.5, 1e6], np.float32)
ABOVE_ONE = np.array([1.0, 1.00001, 2.0, 50.0, 1e8], np.float32)
UNARY = [
    *(
        (name, ANY)
        for name in [
            "abs",
            "absolute",
            "negative",
            "positive",
            "square",
            "sign",
            "exp",
            "exp2",
            "expm1",
            "sin",
            "cos",
            "tan",
            "tanh",
            "sinh",
            "cosh",
        ]
    ),
    *(
        (name, ANY)
        for name in [
            "arctan",
            "arcsinh",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "cbrt",
            "sinc",
            "deg2rad",
            "rad2deg",
            "radians",
            "degrees",
        ]
    ),
    *(
        (name, ANY)
        for name in [
            "signbit",
            "isnan",
            "isfinite",
            "isinf",
            "isposinf",
            "isneginf",
            "conj",
            "real",
            "imag",
            "fabs",
            "nan_to_num",
        ]
    ),
    *((name, UNIT) for name in ["arcsin", "arccos", "asin", "acos"]),
    *((name, UNIT[1:-1]) for name in ("arctanh", "atanh")),
    *((name, POSITIVE) for name in ["sqrt", "log", "log2", "log10", "log1p", "reciprocal"]),
    *((name, ABOVE_ONE) for name in ("arccosh", "acosh")),
]


@needs_jax
@pytest.mark.parametrize(("name", "x"), UNARY, ids=[f"{n}-{i}" for i, (n, _) in enumerate(UNARY)])
def test_unary_agrees_with_jax(name, x):
    check_jax(name, x)
    check_jax(name, x.reshape(1, -1))
    check_jax(name, x[:0])


@needs_jax
@pytest.mark.parametrize(
    "name",
    ["abs", "sign", "floor", "ceil", "square", "negative", "sqrt", "exp", "round", "isnan", "isfinite", "tanh", "sinh"],
)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int8"])
def test_unary_of_integers(name, dtype):
    check_jax(name, np.array([0, 1, 5], dtype))


@needs_jax
@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tanh",
        "square",
        "negative",
        "conj",
        "real",
        "imag",
        "sign",
        "angle",
        "sinh",
        "cosh",
    ],
)
def test_unary_of_complex(name):
    check_jax(name, (normal(5) + 1j * normal(5)).astype(np.complex64))


BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
]
BINARY += [
    "remainder",
    "mod",
    "fmod",
    "floor_divide",
    "copysign",
    "heaviside",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
]
BINARY += ["logical_and", "logical_or", "logical_xor", "float_power"]


@needs_jax
@pytest.mark.parametrize("name", BINARY)
def test_binary_agrees_with_jax(name):
    x, y = np.abs(normal(3, 4)) + 0.1, normal(4) + 0.05
    check_jax(name, x, y)
    check_jax(name, x, 2.5)
    check_jax(name, 3, y)
    check_jax(name, x[:0], y)


@needs_jax
@pytest.mark.parametrize(
    "name",
    [
        "add",
        "multiply",
        "subtract",
        "divide",
        "maximum",
        "remainder",
        "fmod",
        "floor_divide",
        "power",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int8"])
def test_binary_of_integers(name, dtype):
    x = np.array([1, 5, 7, 100], dtype)
    y = np.array([3, 2, 7, 1], dtype)
    check_jax(name, x, y)
    if dtype != "uint8" and "power" not in name:
        check_jax(name, -x, y)
        check_jax(name, x, -y)


@pytest.mark.parametrize("x", [7, -7, 7.5, -7.5])
@pytest.mark.parametrize("y", [2, -2, 2.5])
def test_division_signs_follow_python(x, y):
    assert float(cnp.floor_divide(x, y)) == x // y
    assert float(cnp.remainder(x, y)) == pytest.approx(x % y)
    quotient, rest = divmod(cnp.array(x), y)
    assert (float(quotient), float(rest)) == (x // y, pytest.approx(x % y))


@pytest.mark.parametrize("exponent", [-3, -1, 0, 1, 2, 3, 10])
def test_static_integer_powers(exponent):
    check(cnp.array(ANY[:3]) ** exponent, ANY[:3] ** exponent)
    if exponent >= 0:
        check(cnp.array([2, -3]) ** exponent, np.array([2, -3]) ** exponent)


def test_power_of_negative_base_has_a_derivative():
    assert float(ct.grad(lambda x: x**3)(-2.0)) == 12.0


@pytest.mark.parametrize("decimals", [0, 1, 2, -1])
def test_round(decimals):
    check(
        cnp.round(np.array([1.234, 15.55, -2.5], np.float32), decimals),
        np.round(np.array([1.234, 15.55, -2.5], np.float32), decimals),
    )


def test_clip():
    check(cnp.clip(ANY, -1, 2), np.clip(ANY, -1, 2))
    check(cnp.clip(ANY, min=0), np.clip(ANY, 0, None))
    check(cnp.clip(ANY, max=0), np.clip(ANY, None, 0))


def test_infinities():
    check(cnp.logaddexp(-np.inf, -np.inf), np.float32(-np.inf))
    check(cnp.logaddexp(np.inf, 1.0), np.float32(np.inf))
    check(cnp.hypot(np.inf, 1.0), np.float32(np.inf))
    check(cnp.hypot(3e30, 4e30), np.float32(5e30))
    check(
        cnp.nan_to_num(np.array([np.nan, np.inf, -np.inf], np.float32)),
        np.nan_to_num(np.array([np.nan, np.inf, -np.inf], np.float32)),
    )


@pytest.mark.parametrize(
    ("function", "derivative", "at"),
    [
        (cnp.arctan, lambda x: 1 / (1 + x * x), [-2.0, 0.0, 1.5]),
        (cnp.arcsin, lambda x: 1 / np.sqrt(1 - x * x), [-0.5, 0.0, 0.9]),
        (cnp.arccos, lambda x: -1 / np.sqrt(1 - x * x), [-0.5, 0.0, 0.9]),
        (cnp.arcsinh, lambda x: 1 / np.sqrt(1 + x * x), [-3.0, 0.0, 1e-4, 2.0]),
        (cnp.arccosh, lambda x: 1 / np.sqrt(x * x - 1), [1.5, 4.0]),
        (cnp.arctanh, lambda x: 1 / (1 - x * x), [-0.5, 0.0, 0.9]),
        (cnp.sinh, np.cosh, [-2.0, -0.1, 0.0, 0.5, 3.0]),
        (cnp.cosh, np.sinh, [-2.0, 0.0, 3.0]),
        (cnp.tan, lambda x: 1 + np.tan(x) ** 2, [-1.0, 0.0, 0.7]),
        (cnp.sinc, lambda x: 0.0, [0.0]),
        (cnp.cbrt, lambda x: np.abs(x) ** (-2 / 3) / 3, [-8.0, 2.0]),
        (cnp.exp2, lambda x: np.log(2) * 2**x, [-1.0, 3.0]),
    ],
)
def test_derivatives_of_compositions(function, derivative, at):
    for x in at:
        assert float(ct.grad(function)(x)) == pytest.approx(derivative(x), rel=1e-4, abs=1e-6)


def test_second_derivatives_where_the_formula_changes():
    assert float(ct.grad(ct.grad(cnp.sinc))(0.0)) == pytest.approx(-(math.pi**2) / 3, rel=1e-4)
    assert float(ct.grad(ct.grad(lambda x: cnp.logaddexp(x, 0.0)))(0.0)) == pytest.approx(0.25)


# ---- Reductions ------------------------------------------------------------------------------------------------------

REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmax",
    "argmin",
    "ptp",
    "count_nonzero",
    "nansum",
    "nanmax",
    "nanmean",
    "amax",
    "amin",
]


@needs_jax
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (), 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_agree_with_jax(name, axis, keepdims):
    if name.startswith("arg") and isinstance(axis, tuple):
        pytest.skip("one axis only")
    x = normal(2, 3, 4)
    check_jax(name, x, axis=axis, keepdims=keepdims)


@needs_jax
@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean", "any", "argmax", "var", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "float32", "complex64"])
def test_reduction_dtypes(name, dtype):
    if dtype == "complex64" and name in ("max", "argmax"):
        pytest.skip("no order")
    check_jax(name, np.array([[1, 0, 1], [1, 1, 0]]).astype(dtype), axis=1)


@needs_jax
@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "count_nonzero"])
def test_reductions_of_nothing(name):
    check_jax(name, np.zeros((0, 3), np.float32), axis=0)
    check_jax(name, np.zeros((2, 0), np.float32))


@needs_jax
def test_reductions_with_where_and_initial():
    x, where = normal(3, 4), rng.random((3, 4)) < 0.5
    for name in ("sum", "prod", "max", "min"):
        check_jax(name, x, axis=1, where=where, initial=1.0)
    for name in ("mean", "var", "std"):
        check_jax(name, x, where=where)
    for name in ("any", "all"):
        check_jax(name, x > 0, axis=0, where=where)
    check_jax("max", x[:0], axis=0, initial=-5.0)
    check_jax("sum", x, dtype=np.int32)


def test_nan_in_extremes():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]], np.float32)
    check(cnp.max(x, 1), np.max(x, 1))
    check(cnp.argmax(x, 1), np.argmax(x, 1).astype(np.int32))
    check(cnp.argmin(x, 1), np.argmin(x, 1).astype(np.int32))
    check(cnp.nanmax(x[:1], 1), np.nanmax(x[:1], 1))
    check(cnp.nanargmax(x[:1], 1), np.nanargmax(x[:1], 1).astype(np.int32))
    assert np.isnan(cnp.nanmax(x, 1)[1])
    check(cnp.nanmean(x[0]), np.float32(2.0))
    check(cnp.nanstd(x[0]), np.float32(1.0))
    assert np.isnan(float(cnp.mean(np.zeros(0, np.float32))))


@needs_jax
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_running_sums(axis):
    x = normal(3, 5)
    check_jax("cumsum", x, axis=axis)
    check_jax("cumprod", x, axis=axis)


def test_average():
    x, w = normal(3, 4), np.abs(normal(4))
    check(cnp.average(x, 1, w), np.average(x, 1, w))
    check(cnp.average(x), np.average(x))
    _, total = cnp.average(x, weights=np.abs(x), returned=True)
    check(total, np.abs(x).sum())


def test_half_precision_sums_do_not_lose_small_terms():
    assert float(cnp.sum(np.ones(4096, np.float16))) == 4096.0
    assert float(cnp.mean(np.full(5000, 0.1, np.float16))) == pytest.approx(0.1, rel=1e-3)


# ---- Shapes ----------------------------------------------------------------------------------------------------------

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SHAPE_CALLS = [
    ("reshape", (X, (4, 6))),
    ("reshape", (X, (-1, 8))),
    ("reshape", (X, -1)),
    ("ravel", (X,)),
    ("transpose", (X,)),
    ("transpose", (X, (1, 0, -1))),
    ("swapaxes", (X, 0, -1)),
    ("moveaxis", (X, 0, -1)),
    ("moveaxis", (X, (0, 1), (-1, 0))),
    ("rollaxis", (X, 2)),
    ("expand_dims", (X, 1)),
    ("expand_dims", (X, (0, -1))),
    ("squeeze", (X[:1],)),
    ("squeeze", (X[:1], 0)),
    ("broadcast_to", (X[0], (5, 3, 4))),
    ("concatenate", ([X, X[:1]],)),
    ("concatenate", ([X, X], -1)),
    ("concatenate", ([X, X], None)),
    ("stack", ([X, X], 1)),
    ("stack", ([X, X], -1)),
    ("vstack", ([X[0, 0], X[0, 0]],)),
    ("hstack", ([X[0], X[0]],)),
    ("hstack", ([X[0, 0], X[0, 0]],)),
    ("dstack", ([X[0], X[0]],)),
    ("column_stack", ([X[0, 0], X[0, 1]],)),
    ("append", (X, X)),
    ("tile", (X, 2)),
    ("tile", (X[0], (2, 1, 3))),
    ("repeat", (X, 3)),
    ("repeat", (X, 2, 1)),
    ("repeat", (X, np.array([1, 0, 2]), 1)),
    ("flip", (X,)),
    ("flip", (X, (0, 2))),
    ("fliplr", (X,)),
    ("flipud", (X,)),
    ("rot90", (X,)),
    ("rot90", (X, 3, (1, 2))),
    ("roll", (X, 5)),
    ("roll", (X, -1, 2)),
    ("roll", (X, (1, 2), (0, 1))),
    ("pad", (X, 1)),
    ("pad", (X, ((0, 1), (2, 0), (0, 0)))),
    ("pad", (X[0], (1, 2), "edge")),
    ("pad", (X[0], (1, 2), "reflect")),
    ("pad", (X[0], (1, 2), "symmetric")),
    ("pad", (X[0], (1, 2), "wrap")),
    ("atleast_1d", (1.0,)),
    ("atleast_2d", (X[0, 0],)),
    ("atleast_3d", (X[0],)),
    ("tril", (X,)),
    ("triu", (X, 1)),
    ("tril", (X, -1)),
    ("diag", (X[0, 0],)),
    ("diag", (X[0, 0], -2)),
    ("diag", (X[0], 1)),
    ("diagonal", (X, 1)),
    ("diagonal", (X, -1, 1, 2)),
    ("diagflat", (X[0], 1)),
    ("trace", (X,)),
    ("diff", (X,)),
    ("diff", (X, 2, 0)),
    ("diff", (X, 1, 1)),
    ("vander", (X[0, 0],)),
    ("vander", (X[0, 0], 3, True)),
    ("polyval", (X[0, 0], X[0])),
    ("kron", (X[0], X[1, :2])),
    ("cross", (X[0, :, :3], X[1, :, :3])),
    ("convolve", (X[0, 0], X[0, 1, :3])),
    ("convolve", (X[0, 0], X[0, 1, :3], "same")),
    ("correlate", (X[0, 0], X[0, 1, :3], "full")),
    ("take", (X, np.array([1, 0, 1]), 1)),
    ("take", (X, np.array([[1, -1]]))),
    ("take_along_axis", (X, np.argsort(-X, axis=1), 1)),
    ("where", (X > 3, X, 0.0)),
    ("select", ([X > 20, X > 10], [X, -X], 5.0)),
]


@needs_jax
@pytest.mark.parametrize(("name", "args"), SHAPE_CALLS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SHAPE_CALLS)])
def test_shape_functions_agree_with_jax(name, args):
    check_jax(name, *args)


@needs_jax
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("split", (X, 2)),
        ("split", (X, [1, 3], 2)),
        ("array_split", (X, 3, 2)),
        ("hsplit", (X, 3)),
        ("vsplit", (X, 2)),
        ("dsplit", (X, 2)),
        ("broadcast_arrays", (X, X[0], 1.0)),
        ("meshgrid", (X[0, 0], X[0, 1, :2])),
        ("unstack", (X,)),
        ("tril_indices", (3,)),
    ],
)
def test_functions_that_return_several(name, args):
    for actual, expected in zip(getattr(cnp, name)(*args), getattr(jnp, name)(*args), strict=True):
        check(actual, expected)


@pytest.mark.parametrize("options", [{"indexing": "ij"}, {"sparse": True}, {"indexing": "ij", "sparse": True}])
def test_meshgrid_options(options):
    for actual, expected in zip(
        cnp.meshgrid([1, 2, 3], [4, 5], [6], **options), np.meshgrid([1, 2, 3], [4, 5], [6], **options), strict=True
    ):
        check(actual, expected)


# ---- Creation --------------------------------------------------------------------------------------------------------

CREATION_CALLS = [
    ("zeros", ((2, 3),)),
    ("zeros", (3, np.int8)),
    ("ones", ((0, 2),)),
    ("full", ((2,), 7)),
    ("full", ((2, 2), np.array([1.0, 2.0], np.float32))),
    ("full", ((), 1.5, np.float16)),
    ("zeros_like", (X,)),
    ("ones_like", (X, np.int32)),
    ("full_like", (X, 3)),
    ("eye", (3,)),
    ("eye", (3, 4, 1, np.int32)),
    ("identity", (2,)),
    ("tri", (3, 4, -1)),
    ("arange", (5,)),
    ("arange", (2, 9, 3)),
    ("arange", (5, 0, -2)),
    ("arange", (0.0, 1.0, 0.25)),
    ("arange", (3.0,)),
    ("arange", (4, None, None, np.float32)),
    ("arange", (5, 2)),
    ("linspace", (0, 1, 5)),
    ("linspace", (2.0, -3.0, 7)),
    ("linspace", (0, 1, 1)),
    ("linspace", (0, 1, 4, False)),
    ("linspace", (np.zeros(2, np.float32), np.ones(2, np.float32), 3)),
    ("logspace", (0, 2, 4)),
    ("geomspace", (1.0, 100.0, 3)),
    ("array", ([[1, 2], [3, 4]],)),
    ("array", ([1.5, 2],)),
    ("array", ([True, False],)),
    ("array", (1,)),
    ("array", ([1, 2], np.float32)),
    ("asarray", (X,)),
    ("indices", ((2, 3),)),
]


@needs_jax
@pytest.mark.parametrize(("name", "args"), CREATION_CALLS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CREATION_CALLS)])
def test_creation_agrees_with_jax(name, args):
    check_jax(name, *args)


def test_array_of_arrays():
    x = cnp.ones(2)
    check(cnp.array([x, x]), np.ones((2, 2), np.float32))
    check(cnp.array([x, [3.0, 4.0]], ndmin=3), np.array([[[1, 1], [3, 4]]], np.float32))


def test_dtype_queries():
    assert cnp.result_type(np.float32, np.int32) == np.float32
    assert cnp.result_type(cnp.ones(2, "bfloat16"), 1.0) == cnp.bfloat16
    assert cnp.issubdtype(cnp.bfloat16, cnp.floating)
    assert cnp.issubdtype(np.int32, cnp.integer)
    assert not cnp.issubdtype(np.float32, cnp.integer)
    assert cnp.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert cnp.finfo("bfloat16").bits == 16
    assert cnp.iinfo("int8").max == 127
    assert cnp.isdtype(np.float32, "real floating")


# ---- Products --------------------------------------------------------------------------------------------------------

A, B, V, W = normal(3, 4), normal(4, 5), normal(4), normal(4)
T3, U3 = normal(2, 3, 4), normal(2, 4, 5)
PRODUCT_CALLS = [
    ("dot", (V, W)),
    ("dot", (A, V)),
    ("dot", (A, B)),
    ("dot", (T3, B)),
    ("dot", (T3, U3)),
    ("dot", (A, 2.0)),
    ("matmul", (A, B)),
    ("matmul", (V, B)),
    ("matmul", (A, V)),
    ("matmul", (V, W)),
    ("matmul", (T3, U3)),
    ("matmul", (T3, B)),
    ("matmul", (A, U3)),
    ("matmul", (T3, V)),
    ("matmul", (V, U3)),
    ("matmul", (normal(6, 1, 3, 4), U3)),
    ("matmul", (A[:0], B)),
    ("matmul", (A[:, :0], B[:0])),
    ("vdot", (A, A)),
    ("inner", (A, V)),
    ("inner", (T3, A)),
    ("outer", (V, A)),
    ("tensordot", (A, B, 1)),
    ("tensordot", (T3, T3, 2)),
    ("tensordot", (T3, U3, ((0, 2), (0, 1)))),
    ("tensordot", (A, A, 0)),
    ("vecdot", (A, V)),
]


@needs_jax
@pytest.mark.parametrize(("name", "args"), PRODUCT_CALLS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(PRODUCT_CALLS)])
def test_products_agree_with_jax(name, args):
    if name == "tensordot" and args[-1] == 2:
        args = (T3, T3.transpose(1, 2, 0), 2)
    check_jax(name, *args)


@needs_jax
@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "int8"])
def test_products_of_other_dtypes(dtype):
    x = np.array([[1, 0], [1, 1]]).astype(dtype)
    check_jax("matmul", x, x)
    check_jax("dot", x, np.float32(2) * np.ones((2, 2), np.float32))


EINSUMS = [
    ("ij,jk->ik", (A, B)),
    ("ij,jk", (A, B)),
    ("ij->ji", (A,)),
    ("ij->", (A,)),
    ("ij", (A,)),
    ("ba", (A,)),
    ("i,j->ij", (V, W)),
    ("i,i", (V, W)),
    ("i,i->i", (V, W)),
    ("bij,bjk->bik", (T3, U3)),
    ("bij,bjk->ik", (T3, U3)),
    ("ii->i", (normal(4, 4),)),
    ("ii", (normal(4, 4),)),
    ("iij->j", (normal(3, 3, 2),)),
    ("...ij,...jk->...ik", (T3, B)),
    ("...j,j->...", (T3, V)),
    ("ij,jk,kl->il", (A, B, normal(5, 2))),
    ("ij,kj,lj->ikl", (A, A, A)),
    ("bij,bij->b", (T3, T3)),
    ("a,b,c->abc", (V, W, V)),
    ("ij,j,j->i", (A, V, W)),
    ("b...->...b", (T3,)),
    ("...,...->...", (T3, A)),
    ("i,->i", (V, np.float32(2.0))),
    ("ij,ij->j", (A, np.ones((1, 4), np.float32))),
]


@pytest.mark.parametrize(("subscripts", "operands"), EINSUMS, ids=[s for s, _ in EINSUMS])
def test_einsum(subscripts, operands):
    check(cnp.einsum(subscripts, *operands), np.einsum(subscripts, *operands), rtol=1e-4, atol=1e-5)


# ---- Comparisons -----------------------------------------------------------------------------------------------------


def test_closeness():
    x = np.array([1.0, np.nan, np.inf], np.float32)
    y = np.array([1.0 + 1e-6, np.nan, np.inf], np.float32)
    for equal_nan in (False, True):
        check(cnp.isclose(x, y, equal_nan=equal_nan), np.isclose(x, y, equal_nan=equal_nan))
        assert bool(cnp.allclose(x, y, equal_nan=equal_nan)) == equal_nan
    assert bool(cnp.array_equal(x[:1], x[:1]))
    assert not bool(cnp.array_equal(x, x[:2]))
    assert bool(cnp.array_equiv(np.ones((2, 2)), 1.0))


def test_nonzero_and_where_of_a_condition():
    x = np.array([[0, 1], [2, 0]])
    for actual, expected in zip(cnp.where(x), np.nonzero(x), strict=True):
        check(actual, expected.astype(np.int32))


@pytest.mark.parametrize("name", [n for n in cnp.__all__ if n not in ("ndarray",)])
def test_every_name_exists(name):
    assert getattr(cnp, name) is not None or name == "newaxis"


# ---- Under transforms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: cnp.mean(x, axis=0),
        lambda x: cnp.var(x),
        lambda x: cnp.einsum("ij,kj->ik", x, x),
        lambda x: cnp.concatenate([x, x * 2], axis=1),
        lambda x: cnp.pad(x, 1),
        lambda x: cnp.roll(x, 1, axis=1),
        lambda x: cnp.tril(x) @ x.T,
        lambda x: x[:, ::-1].reshape(-1),
        lambda x: cnp.argmax(x, axis=1),
        lambda x: cnp.where(x > 0, x, 0.0).sum(),
        lambda x: cnp.cumprod(x, axis=1),
    ],
)
def test_jit_and_vmap_agree_with_eager(function):
    x = normal(3, 4)
    expected = np.asarray(function(cnp.array(x)))
    np.testing.assert_allclose(np.asarray(ct.jit(function)(x)), expected, rtol=1e-5, atol=1e-6)
    batch = np.stack([x, x + 1])
    rows = np.stack([np.asarray(function(cnp.array(row))) for row in batch])
    np.testing.assert_allclose(np.asarray(ct.vmap(function)(batch)), rows, rtol=1e-5, atol=1e-6)


# ---- Errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cnp.sum(A, axis=2), ValueError, "sum: axis 2 is out of bounds for an array with 2 axes"),
        (lambda: cnp.sum(A, axis=(0, 0)), ValueError, "names an axis twice"),
        (lambda: cnp.sum(A, axis=1.5), TypeError, "an axis must be an integer"),
        (lambda: cnp.sum(A, out=A), NotImplementedError, "the out argument is not supported"),
        (lambda: cnp.max(np.zeros(0)), ValueError, "max of zero elements along axis None has no value"),
        (lambda: cnp.max(A, where=A > 0), ValueError, "where needs initial"),
        (lambda: cnp.max(np.ones(2, np.complex64)), TypeError, "complex numbers have no order"),
        (lambda: cnp.argmax(np.zeros(0)), ValueError, "argmax of zero elements"),
        (lambda: cnp.argmax(np.ones(2, np.complex64)), TypeError, "complex numbers have no order"),
        (lambda: cnp.clip(np.ones(2, np.complex64), 0), TypeError, "complex numbers have no order"),
        (lambda: cnp.cbrt(1j), TypeError, "cbrt takes real arrays"),
        (lambda: cnp.power(np.array([1, 2]), -1), TypeError, "integers cannot be raised to the negative power -1"),
        (lambda: cnp.reshape(A, (5, -1)), TypeError, "do not fill"),
        (lambda: cnp.reshape(A, (-1, -1)), ValueError, "only one size can be -1"),
        (lambda: cnp.reshape(A, (-2, 3)), ValueError, "sizes must not be negative"),
        (lambda: cnp.reshape(A, (5, 5)), TypeError, "cannot reshape"),
        (lambda: cnp.reshape(A, 12, order="F"), NotImplementedError, "arrays are row-major"),
        (lambda: cnp.transpose(A, (0, 0)), ValueError, "are not a permutation"),
        (lambda: cnp.matrix_transpose(V), ValueError, "needs at least two axes"),
        (lambda: cnp.moveaxis(A, (0, 1), 0), ValueError, "must name as many different axes"),
        (lambda: cnp.squeeze(A, 0), ValueError, "axis 0 has size 3, not 1"),
        (lambda: cnp.broadcast_to(A, (2, 4)), TypeError, "broadcast"),
        (lambda: cnp.concatenate([]), ValueError, "needs at least one array"),
        (lambda: cnp.concatenate([1.0, 2.0]), ValueError, "arrays without axes cannot be joined"),
        (lambda: cnp.stack([]), ValueError, "needs at least one array"),
        (lambda: cnp.stack([A, B]), ValueError, "must have the same shape"),
        (lambda: cnp.split(A, 2), ValueError, "do not divide into 2 equal parts"),
        (lambda: cnp.split(A, 0), ValueError, "must be positive"),
        (lambda: cnp.tile(A, -1), ValueError, "counts must not be negative"),
        (lambda: cnp.repeat(A, -1), ValueError, "counts must not be negative"),
        (lambda: cnp.rot90(A, 1, (0, 0)), ValueError, "axes must be different"),
        (lambda: cnp.pad(A, -1), ValueError, "widths must not be negative"),
        (lambda: cnp.pad(A, 1, "linear_ramp"), NotImplementedError, "mode 'linear_ramp' is not supported"),
        (lambda: cnp.zeros((-1,)), ValueError, "sizes must not be negative"),
        (lambda: cnp.zeros((1.5,)), TypeError, "a size must be an integer"),
        (lambda: cnp.arange(0, 1, 0), ValueError, "step must not be 0"),
        (lambda: cnp.linspace(0, 1, -1), ValueError, "num must not be negative"),
        (lambda: cnp.meshgrid(A), ValueError, "must have one axis"),
        (lambda: cnp.meshgrid(V, indexing="ab"), ValueError, "must be 'xy' or 'ij'"),
        (lambda: cnp.diag(T3), ValueError, "diag needs one or two axes"),
        (lambda: cnp.tril(V), ValueError, "needs at least two axes"),
        (lambda: cnp.where(A > 0, A), ValueError, "the condition alone"),
        (lambda: cnp.select([], []), ValueError, "at least one condition"),
        (lambda: cnp.array("abc"), TypeError, "cannot make an array of a str"),
        (lambda: cnp.array([[1, 2], [3]]), ValueError, "ragged"),
        (lambda: cnp.array(float("nan"), np.int32), ValueError, "does not fit int32"),
        (lambda: cnp.dot(A, A), TypeError, "dot: axis 1 of shape (3, 4) and axis 0 of shape (3, 4)"),
        (lambda: cnp.matmul(A, A), TypeError, "are summed together, but their sizes differ"),
        (lambda: cnp.matmul(A, 1.0), ValueError, "matmul takes arrays with at least one axis"),
        (lambda: cnp.tensordot(A, B, ((0,), (0, 1))), ValueError, "must come in pairs"),
        (lambda: cnp.tensordot(A, B, 5), ValueError, "does not fit arrays"),
        (lambda: cnp.einsum("ij,jk->ik", A), ValueError, "describes 2 operands, but there are 1"),
        (lambda: cnp.einsum("i->i", A), ValueError, "operand 0 has 2 axes"),
        (lambda: cnp.einsum("ij->ik", A), ValueError, "which no operand has"),
        (lambda: cnp.einsum("ij->ii", A), ValueError, "occurs twice in the result"),
        (lambda: cnp.einsum("i1->i", A), ValueError, "is not a label"),
        (lambda: cnp.einsum("ij,jk", A, A), TypeError, "label 'j' has size"),
        (lambda: cnp.diff(A, -1), ValueError, "n must not be negative"),
        (lambda: cnp.take(A, 1.5), TypeError, "indices must be integers"),
        (lambda: cnp.take(A, 1, mode="raise"), ValueError, "mode must be"),
        (lambda: cnp.take_along_axis(A, np.array([1]), 0), ValueError, "they must be equal"),
        (lambda: cnp.average(A, weights=V), ValueError, "average: weights of shape"),
        (lambda: cnp.convolve(A, V), ValueError, "arrays with one axis"),
        (lambda: cnp.cross(np.ones(4), np.ones(4)), ValueError, "vectors of 2 or 3 elements"),
        (lambda: cnp.add(A, B), TypeError, "do not broadcast"),
        (lambda: cnp.unknown_function, AttributeError, "has no attribute 'unknown_function'"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("x", "y"), itertools.product([np.float32, np.int8, np.uint8, np.float16, bool, np.complex64, np.int32], repeat=2)
)
@needs_jax
def test_promotion(x, y):
    check_jax("add", np.ones(2, x), np.ones(2, y))
    check_jax("divide", np.ones(2, x), np.ones(2, y))
