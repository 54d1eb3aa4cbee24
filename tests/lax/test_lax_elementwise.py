"""ct.lax against jax.lax: functions of elements, shapes and products; dtypes, derivatives, batches, masks, errors."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax, test_util
from needs import needed

jax = needed("jax")
jnp = jax.numpy

RNG = np.random.default_rng(0)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int32", "int8", "uint8", "uint16", "int64", "uint64")
COMPLEXES = ("complex64", "complex128")
NUMBERS = FLOATS + COMPLEXES + INTEGERS
PLAIN = np.array([[-2.5, -1.0, -0.3], [0.0, 0.7, 1.9]])
UNIT = np.array([[-0.9, -0.4, 0.0], [0.1, 0.5, 0.99]])
ABOVE = np.array([[0.1, 0.7, 1.0], [1.5, 3.0, 20.0]])
ENDS = [np.nan, np.inf, -np.inf, 0.0, -0.0]


def cast(x, dtype):
    """Values of a dtype; complex ones get an imaginary part."""
    if dtype.startswith("complex"):
        return (x + 1j * x[::-1, ::-1]).astype(dtype)
    if dtype == "bool":
        return x > 0
    if "int" in dtype:
        return np.array([[0, 1, 2], [5, 100, 127]]).astype(dtype) - (3 if dtype[0] == "i" else 0)
    return np.asarray(x, jnp.dtype(dtype))


def epsilon(dtype):
    return {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "complex64": 3e-6}.get(str(dtype), 1e-13)


def agree(actual, expected, scale=4.0):
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    assert actual.shape == expected.shape
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    tolerance = scale * epsilon(expected.dtype)
    if expected.dtype.kind in "bui":
        np.testing.assert_array_equal(np.asarray(actual), expected)
    else:
        np.testing.assert_allclose(
            np.asarray(actual).astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance / 4
        )


UNARY = {
    "neg": (NUMBERS, PLAIN), "sign": (NUMBERS, PLAIN), "abs": ((*FLOATS, *COMPLEXES, "int32", "int8"), PLAIN),
    "square": (NUMBERS, PLAIN), "reciprocal": (FLOATS + COMPLEXES, ABOVE), "exp": (FLOATS + COMPLEXES, PLAIN),
    "exp2": (FLOATS + COMPLEXES, PLAIN), "expm1": (FLOATS + COMPLEXES, PLAIN), "log": (FLOATS + COMPLEXES, ABOVE),
    "log1p": (FLOATS + COMPLEXES, ABOVE), "sqrt": (FLOATS + COMPLEXES, ABOVE), "rsqrt": (FLOATS + COMPLEXES, ABOVE),
    "cbrt": (FLOATS, PLAIN), "logistic": (FLOATS + COMPLEXES, PLAIN), "sin": (FLOATS + COMPLEXES, PLAIN),
    "cos": (FLOATS + COMPLEXES, PLAIN), "tan": (FLOATS + COMPLEXES, UNIT), "asin": (FLOATS + COMPLEXES, UNIT),
    "acos": (FLOATS + COMPLEXES, UNIT), "atan": (FLOATS + COMPLEXES, PLAIN), "tanh": (FLOATS + COMPLEXES, PLAIN),
    "sinh": (FLOATS + COMPLEXES, PLAIN), "cosh": (FLOATS + COMPLEXES, PLAIN), "asinh": (FLOATS + COMPLEXES, PLAIN),
    "acosh": (FLOATS + COMPLEXES, ABOVE + 1), "atanh": (FLOATS + COMPLEXES, UNIT), "floor": (FLOATS, PLAIN),
    "ceil": (FLOATS, PLAIN), "round": (FLOATS, PLAIN), "is_finite": (FLOATS, PLAIN), "conj": (("float32", *COMPLEXES), PLAIN),
    "real": (COMPLEXES, PLAIN), "imag": (COMPLEXES, PLAIN), "bitwise_not": (("bool", *INTEGERS), PLAIN),
    "population_count": (INTEGERS, PLAIN), "clz": (INTEGERS, PLAIN), "erf": (FLOATS, PLAIN), "erfc": (FLOATS, PLAIN),
    "erf_inv": (FLOATS, UNIT), "lgamma": (FLOATS, ABOVE), "digamma": (FLOATS, ABOVE), "bessel_i0e": (FLOATS, PLAIN),
    "bessel_i1e": (FLOATS, PLAIN),
}  # fmt: skip
FLAT = {"sign", "floor", "ceil", "round", "is_finite", "bitwise_not", "population_count", "clz"}
# Where JAX itself is less exact: worst relative errors of its float64 results, from SciPy's.
LOOSE = {"digamma": 30.0, "lgamma": 30.0, "erf_inv": 200.0, "tan": 20.0, "acosh": 20.0, "rsqrt": 20.0}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    dtypes, values = UNARY[name]
    ours, theirs = getattr(lax, name), getattr(jax.lax, name)
    with jax.enable_x64(True):
        for dtype in dtypes:
            x = cast(values, dtype)
            agree(ours(x), theirs(jnp.asarray(x)), LOOSE.get(name, 6.0))
    if "float32" in dtypes:
        ends = np.array(ENDS, np.float32)
        agree(ours(ends), theirs(ends))
    for dtype in {"float32", "int32", "bool", "complex64"} - set(dtypes):
        with pytest.raises(TypeError, match=f"lax.{name} takes .* arrays; got {dtype}"):
            ours(cast(PLAIN, dtype))
    assert ours(cast(values, dtypes[0])[:0]).shape == (0, 3)


@pytest.mark.parametrize("name", sorted(set(UNARY) - FLAT))
def test_unary_derivatives(name):
    dtypes, values = UNARY[name]
    for dtype in {"float64", "complex128"} & set(dtypes):
        # Away from 0, where some turn.
        x = cast(np.where(values == 0.0, 0.2, values), dtype)
        modes = ("fwd",) if name in ("real", "imag", "abs") and dtype[0] == "c" else ("fwd", "rev")
        test_util.check_grads(getattr(lax, name), [x], order=2, modes=modes, rtol=1e-5, atol=1e-5)


BINARY = {
    "add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "div": NUMBERS, "rem": FLOATS + INTEGERS,
    "max": (*NUMBERS, "bool"), "min": (*NUMBERS, "bool"), "pow": FLOATS + COMPLEXES, "atan2": FLOATS + COMPLEXES,
    "eq": (*NUMBERS, "bool"), "ne": (*NUMBERS, "bool"), "lt": (*FLOATS, *INTEGERS, "bool"),
    "le": FLOATS + INTEGERS, "gt": FLOATS + INTEGERS, "ge": (*FLOATS, *INTEGERS, "bool"),
    "bitwise_and": ("bool", *INTEGERS), "bitwise_or": ("bool", *INTEGERS), "bitwise_xor": ("bool", *INTEGERS),
    "shift_left": INTEGERS, "shift_right_logical": INTEGERS, "shift_right_arithmetic": INTEGERS,
    "mulhi": INTEGERS, "nextafter": ("float32", "float64", "bfloat16", "float16"),
    "complex": ("float32", "float64"), "zeta": FLOATS, "polygamma": FLOATS, "igamma": FLOATS,
    "igammac": FLOATS, "igamma_grad_a": ("float32", "float64"), "random_gamma_grad": ("float32", "float64"),
}  # fmt: skip
ABOVE_ZERO = ("pow", "zeta", "polygamma", "rem", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad")
SMOOTH = ["add", "sub", "mul", "div", "max", "min", "pow", "atan2", "complex"]


def pair(name, dtype):
    x = cast(ABOVE if name in ABOVE_ZERO else PLAIN, dtype)
    y = x[::-1, ::-1]
    if name.startswith(("igamma", "random")):
        y = x[::-1, ::-1] * np.asarray(0.5, x.dtype)
    if name == "zeta":
        x = x + np.asarray(2.0, x.dtype)
    if name == "polygamma":
        x = np.asarray([[0, 1, 2], [3, 1, 2]], x.dtype)
    if name == "div" and "int" in dtype:
        y = np.where(y == 0, 7, y).astype(x.dtype)
    if name == "shift_left":
        y = np.abs(y % 9)
    return x, y.astype(x.dtype)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    ours, theirs = getattr(lax, name), getattr(jax.lax, name)
    with jax.enable_x64(True):
        for dtype in BINARY[name]:
            x, y = pair(name, dtype)
            if dtype in ("int64", "uint64") and name == "mulhi":
                x, y = x * (2**55 + 12345), y * (2**56 + 999)
            agree(ours(x, y), theirs(jnp.asarray(x), jnp.asarray(y)), 200.0 if name in ABOVE_ZERO[1:] else 8.0)
    dtype = BINARY[name][0]
    x, y = pair(name, dtype)
    agree(ours(x, y[0, 0]), ours(x, np.full_like(x, y[0, 0])), 2.0)
    agree(ours(x, y[:, :1]), ours(x, np.broadcast_to(y[:, :1], x.shape)), 2.0)
    with pytest.raises(TypeError, match=f"lax.{name} takes arrays with equally many axes"):
        ours(x, y[0])
    if name != "pow":
        with pytest.raises(TypeError, match=f"lax.{name} takes operands of one dtype"):
            ours(x, y.astype("int16"))
    with pytest.raises(TypeError, match="takes arrays and numbers; got list"):
        ours([1.0], x)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_binary_derivatives(name, dtype):
    if dtype not in BINARY[name] or (dtype == "complex128" and name in ("max", "min")):
        pytest.skip("not of complex numbers")
    x, y = (z + np.asarray(0.05 * i, z.dtype) for i, z in enumerate(pair(name, dtype)))
    if name == "atan2":
        y = y + np.asarray(5.0, y.dtype)  # away from the cut
    test_util.check_grads(getattr(lax, name), [x, y], order=2, rtol=1e-5, atol=1e-5)


def test_python_numbers():
    x = np.ones(3, np.float32)
    agree(lax.add(x, 1.5), np.float32([2.5] * 3))
    assert lax.add(x.astype("bfloat16"), 1.0).dtype == "bfloat16"
    assert lax.mul(np.ones(2, np.int64), 3).dtype == "int64"
    assert lax.mul(x, np.sqrt(2)).dtype == "float32"
    assert lax.add(1.0, 2.0).weak_type
    assert lax.max(1, 2).dtype == "int32"
    for other in (1, True, 1j):
        with pytest.raises(TypeError, match="takes operands of one dtype"):
            lax.add(x, other)
    with pytest.raises(TypeError, match=r"or use ct.numpy.multiply, which promotes"):
        lax.mul(x, np.ones(3, np.int32))
    assert lax.mul(x, x, out_dtype="float64").dtype == "float64"


def test_powers():
    x = np.array([-2.0, 0.5, 3.0])
    for exponent in (-3, -1, 0, 1, 2, 5):
        np.testing.assert_allclose(np.asarray(lax.integer_pow(x, exponent)), x**exponent, rtol=1e-15)
        np.testing.assert_allclose(np.asarray(lax.pow(x, exponent)), x**exponent, rtol=1e-15)
    np.testing.assert_allclose(np.asarray(lax.pow(x, np.array([2, 3, -1]))), x ** np.array([2.0, 3, -1]), rtol=1e-15)
    assert lax.integer_pow(np.array([2, 3]), 3).tolist() == [8, 27]
    with pytest.raises(TypeError, match="negative power"):
        lax.integer_pow(np.array([2, 3]), -1)
    test_util.check_grads(lambda x: lax.integer_pow(x, -2), [x], order=2, rtol=1e-5)


def test_rounding():
    x = np.array([-2.5, -1.5, -0.5, -0.2, 0.49999997, 0.5, 1.5, 2.5, 8388609.0, np.inf, np.nan], np.float32)
    for method in lax.RoundingMethod:
        agree(lax.round(x, method), jax.lax.round(x, jax.lax.RoundingMethod(int(method))))
    assert np.signbit(np.asarray(lax.round(np.float32([-0.2, -0.0])))).all()
    # The derivative is 0 whatever it is multiplied with.
    slope = ct.grad(lambda x: lax.round(x) * np.float32(np.inf))
    assert [float(slope(np.float32(z))) for z in (0.2, -0.2, 3.0)] == [0.0, 0.0, 0.0]


def test_betainc():
    a, b, x = np.array([0.5, 2.0, 30.0]), np.array([3.0, 0.7, 20.0]), np.array([0.1, 0.8, 0.6])
    with jax.enable_x64(True):
        for dtype in FLOATS:
            operands = [z.astype(dtype) for z in (a, b, x)]
            agree(lax.betainc(*operands), jax.lax.betainc(*operands), 20.0)


def test_choices():
    x = np.arange(3.0)
    mask = np.array([True, False, True])
    agree(lax.select(mask, x, -x), np.where(mask, x, -x))
    agree(lax.select_n(mask, x, -x), np.where(mask, -x, x))
    agree(lax.select(True, x, -x), x)
    which = np.array([-4, 1, 9], np.int32)
    agree(lax.select_n(which, x, x + 10, x + 20), np.array([0.0, 11.0, 22.0]))
    agree(lax.select_n(np.int32(1), x, x + 10, x + 20), x + 10)
    agree(lax.clamp(0.5, x, 1.5), np.clip(x, 0.5, 1.5))
    agree(lax.clamp(x, x + 1, x + 0.5), x + 0.5)
    for call, message in [
        (lambda: lax.select(mask, x, 1.0), "one shape"),
        (lambda: lax.select_n(mask[:2], x, x), "selector must be a scalar"),
        (lambda: lax.select_n(mask, x, x, x), "bool selector"),
        (lambda: lax.select_n(x, x, x), "bool or signed integer"),
        (lambda: lax.select(mask, x, np.arange(3)), "one dtype"),
        (lambda: lax.clamp(x[:2], x, 1.0), "ends must be scalars"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(ValueError, match="at least one case"):
        lax.select_n(mask)
    test_util.check_grads(lambda *xs: lax.select_n(np.array([1, 0, 2]), *xs), [x, x + 1, x + 2], order=2)
    test_util.check_grads(lambda x: lax.clamp(0.7, x, 1.5), [x + 0.1], order=2)


def test_bitcast():
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    for dtype in ("int32", "uint16", "uint8", "float16"):
        parts = lax.bitcast_convert_type(x, dtype)
        agree(parts, jax.lax.bitcast_convert_type(x, dtype))
        agree(lax.bitcast_convert_type(parts, "float32"), x)
    assert lax.bitcast_convert_type(np.zeros(2, bool), "bool").dtype == "bool"
    with pytest.raises(TypeError, match="must hold the 2 parts"):
        lax.bitcast_convert_type(np.zeros(3, np.uint16), "float32")
    with pytest.raises(TypeError, match="bool and complex"):
        lax.bitcast_convert_type(x, "complex64")


def test_conversions():
    x = np.array([-1.5, 2.7, np.nan, 1e20], np.float32)
    for dtype in ("int32", "float16", "bool", "complex64", float, int):
        agree(lax.convert_element_type(x, dtype), jax.lax.convert_element_type(x, dtype))
    agree(lax.convert_element_type(np.complex64([1 + 2j]), "float32"), np.float32([1]))
    assert not lax.convert_element_type(1.0, "float32").weak_type
    with pytest.raises(ValueError, match="needs a dtype"):
        lax.convert_element_type(x, None)


X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
SHAPES = [
    ("broadcast", (X[0], (5, 2)), {}),
    ("broadcast_in_dim", (X[0], (3, 5, 4), (0, 2)), {}),
    ("broadcast_in_dim", (X[:1, :, 0], (4, 3, 2), (2, 1)), {}),
    ("broadcast_in_dim", (1.5, (2, 2), ()), {}),
    ("broadcast_like", (X[0], X), {}),
    ("broadcast_to_rank", (X, 5), {}),
    ("broadcast_to_rank", (X, 2), {}),
    ("reshape", (X, (4, 6)), {}),
    ("reshape", (X, (4, 6), (2, 0, 1)), {}),
    ("collapse", (X, 1), {}),
    ("collapse", (X, 0, 2), {}),
    ("collapse", (X, 0, -1), {}),
    ("collapse", (X, 1, 1), {}),
    ("expand_dims", (X, (0, -1)), {}),
    ("squeeze", (X[:1], (0,)), {}),
    ("squeeze", (X[:, :1, :1], (-1, 1)), {}),
    ("transpose", (X, (2, 0, 1)), {}),
    ("rev", (X, (0, 2)), {}),
    ("slice", (X, (0, 1, 0), (2, 3, 4), (1, 1, 3)), {}),
    ("slice", (X, (0, 1, 2), (2, 1, 4)), {}),
    ("slice_in_dim", (X, -3, None), {"axis": 2}),
    ("slice_in_dim", (X, None, None, 2), {"axis": 1}),
    ("index_in_dim", (X, -1), {"axis": 1}),
    ("index_in_dim", (X, 1), {"axis": -1, "keepdims": False}),
    ("pad", (X, 0.5, ((1, 2, 0), (0, 0, 1), (-1, -1, 2))), {}),
    ("tile", (X, (2, 1, 3)), {}),
    ("full", ((2, 3), 1.5), {}),
    ("full", ((2, 3), 2, "int8"), {}),
    ("full_like", (X, 2), {}),
    ("full_like", (X, 2, "int32", (3,)), {}),
    ("iota", ("int16", 5), {}),
    ("iota", ("complex64", 5), {}),
    ("broadcasted_iota", ("float32", (3, 4), 1), {}),
]


@pytest.mark.parametrize(("name", "args", "options"), SHAPES)
def test_shapes(name, args, options):
    agree(getattr(lax, name)(*args, **options), getattr(jax.lax, name)(*args, **options))
    if not isinstance(args[0], np.ndarray):
        return

    def function(x):
        return getattr(lax, name)(x, *args[1:], **options)

    if name != "full_like":
        test_util.check_grads(function, [args[0].astype("float64")], order=2)
    batch = np.stack([args[0], args[0] + 1])
    agree(ct.jit(ct.vmap(function))(batch), np.stack([np.asarray(function(x)) for x in batch]))


def test_pieces():
    agree(lax.concatenate([X, X[:, :1]], 1), np.concatenate([X, X[:, :1]], 1))
    agree(lax.concatenate(cnp.asarray(X), 0), np.concatenate(X, 0))
    agree(lax.stack([X, X], -1), np.stack([X, X], -1))
    for ours, theirs in [
        (lax.unstack(X, 1), jax.lax.unstack(X, 1)),
        (lax.split(X, (1, 0, 3), 2), jax.lax.split(X, (1, 0, 3), 2)),
    ]:
        assert type(ours) is type(theirs)
        for a, b in zip(ours, theirs, strict=True):
            agree(a, b)
    assert lax.broadcast_shapes((2, 1), (1, 3), ()) == (2, 3)
    assert lax.dtype(X) == "float32"
    assert lax.dtype(1) == "int32"
    assert lax.empty((2, 0), "int8").shape == (2, 0)
    tree = {"a": X, "b": (1.0,)}
    assert lax.optimization_barrier(tree)["b"][0].dtype == "float32"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.broadcast_in_dim(X, (2, 3, 5), (0, 1, 2)), TypeError, "does not fit"),
        (lambda: lax.broadcast_in_dim(X, (2, 3, 4), (0, 1)), ValueError, "need as many positions"),
        (lambda: lax.broadcast_in_dim(X, (2, 3, 4), (0, 1, 1)), ValueError, "named twice"),
        (lambda: lax.reshape(X, (5,)), TypeError, "do not fill"),
        (lambda: lax.reshape(X, (-1,)), TypeError, "must not be negative"),
        (lambda: lax.expand_dims(X, (0, 0)), ValueError, "named twice"),
        (lambda: lax.expand_dims(X, (7,)), ValueError, "out of bounds"),
        (lambda: lax.squeeze(X, (0,)), ValueError, "has not size 1"),
        (lambda: lax.transpose(X, (0, 0, 1)), ValueError, "not an order of the axes"),
        (lambda: lax.rev(X, 1), TypeError, "must be a sequence"),
        (lambda: lax.slice(X, (0, 0, 0), (2, 3, 5)), ValueError, "cannot be cut from 0 to 5"),
        (lambda: lax.slice(X, (0, 0), (2, 3)), ValueError, "needs 3 starts"),
        (lambda: lax.slice(X, (0, 0, 0), (2, 3, 4), (1, 1, 0)), ValueError, "steps of 0"),
        (lambda: lax.index_in_dim(X, 2), IndexError, "out of bounds for axis 0"),
        (lambda: lax.split(X, (1, 2)), ValueError, "do not add up to 2"),
        (lambda: lax.concatenate([], 0), ValueError, "at least one array"),
        (lambda: lax.concatenate([X, X], 3), ValueError, "out of bounds"),
        (lambda: lax.concatenate([X, X[:, :1]], 0), TypeError, "differ in other axes than 0"),
        (lambda: lax.concatenate([X, X.astype("int32")], 0), TypeError, "one dtype"),
        (lambda: lax.stack([X, X[0]]), TypeError, "are not equal"),
        (lambda: lax.tile(X, (2,)), ValueError, "needs 3 repetitions"),
        (lambda: lax.pad(X, 0, ((0, 0, 0),) * 3), TypeError, "one dtype"),
        (lambda: lax.pad(X, 0.0, ((0, 0, 0),)), ValueError, "needs 3 triples"),
        (lambda: lax.pad(X, 0.0, ((0, 0, -1),) * 3), ValueError, "interior padding must be nonnegative"),
        (lambda: lax.full((2,), X), TypeError, "must be a scalar"),
        (lambda: lax.full((-2,), 1), TypeError, "must not be negative"),
        (lambda: lax.iota(bool, 3), TypeError, "dtype of numbers"),
        (lambda: lax.broadcasted_iota(int, (3,), 1), ValueError, "out of bounds"),
    ],
)
def test_shape_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


DOT = (((2,), (1,)), ((0,), (0,)))
Y = RNG.standard_normal((2, 4, 5)).astype(np.float32)


def test_products():
    agree(lax.dot_general(X, Y, DOT), jax.lax.dot_general(X, Y, DOT), 20.0)
    agree(lax.batch_matmul(X, Y), jax.lax.batch_matmul(X, Y), 20.0)
    agree(lax.dot(X[0], Y[0]), X[0] @ Y[0], 20.0)
    agree(lax.dot(X[0, 0], X[0, 1]), X[0, 0] @ X[0, 1], 20.0)
    numbers = (((0,), (0,)), ((), ()))
    agree(lax.dot(X[0], X[1], dimension_numbers=numbers), X[0].T @ X[1], 20.0)
    for precision in (None, "highest", lax.Precision.HIGH, ("high", "default"), lax.DotAlgorithmPreset.DEFAULT):
        agree(lax.dot(X[0], Y[0], precision=precision), X[0] @ Y[0], 20.0)
    assert lax.Precision("float32") is lax.Precision.HIGHEST
    i8 = np.full((2, 3), 100, np.int8)
    for preferred in (None, "int32", "float32"):
        ours = lax.dot(i8, i8.T, preferred_element_type=preferred)
        agree(ours, jax.lax.dot(i8, i8.T, preferred_element_type=preferred))
    b16 = X[0].astype("bfloat16")
    agree(lax.dot(b16, b16.T, preferred_element_type="float32"), (lambda a: a @ a.T)(b16.astype(np.float32)), 20.0)
    agree(lax.dot(X[0], X[0].T, preferred_element_type="bfloat16"), (X[0] @ X[0].T).astype("bfloat16"))
    agree(lax.dot(X[0], b16.T), X[0] @ b16.astype(np.float32).T, 20.0)
    mask = X[0] > 0
    agree(lax.dot(mask, mask.T), jax.lax.dot(mask, mask.T))
    z = X[0] + 1j * X[1]
    agree(lax.dot(z, z.T), z @ z.T, 20.0)
    test_util.check_grads(
        lambda a, b: lax.dot_general(a, b, DOT), [X.astype("float64"), Y.astype("float64")], order=2, rtol=1e-5
    )
    gradient = ct.grad(lambda a: lax.dot(a, b16.T, preferred_element_type="float32").sum())(b16)
    assert gradient.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.dot(X, Y), TypeError, "give dimension_numbers"),
        (lambda: lax.dot(X[0], X[1]), TypeError, "are summed together, but their sizes differ"),
        (
            lambda: lax.dot_general(X, Y, (((2,), (2,)), ((), ()))),
            TypeError,
            "contracting axes have sizes (4,) and (5,)",
        ),
        (lambda: lax.dot_general(X, Y, (((-1,), (1,)), ((), ()))), ValueError, "must be distinct axes of the left"),
        (lambda: lax.dot_general(X, Y, ((2,), (1,))), TypeError, "dimension_numbers must be"),
        (lambda: lax.dot(X[0], Y[0], precision="best"), ValueError, "unknown precision 'best'"),
        (lambda: lax.batch_matmul(X, Y[0]), TypeError, "equally many axes"),
        (lambda: lax.ragged_dot(X[0], Y, np.ones(2)), TypeError, "group_sizes must be integers"),
        (lambda: lax.ragged_dot(X[0], Y, np.ones(2, int), group_offset=1), NotImplementedError, "group_offset"),
    ],
)
def test_product_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_ragged_products():
    lhs = RNG.standard_normal((7, 4)).astype(np.float32)
    sizes = np.array([3, 2], np.int32)
    agree(lax.ragged_dot(lhs, Y, sizes), jax.lax.ragged_dot(lhs, Y, sizes), 20.0)
    batch = np.stack([lhs, lhs * 2])
    rows = np.array([[1, 5], [4, 3]], np.int32)
    stacked = np.stack([np.asarray(lax.ragged_dot(a, Y, s)) for a, s in zip(batch, rows, strict=True)])
    agree(ct.vmap(lambda a, s: lax.ragged_dot(a, Y, s))(batch, rows), stacked, 20.0)
    for dims, args in [
        (((((0,), (0,)), ((), ())), [0], []), (lhs, lhs[:, :3], sizes)),
        (((((2,), (1,)), ((0,), (0,))), [1], [0]), None),
    ]:
        if args is None:
            continue
        ours = lax.ragged_dot_general(*args, lax.RaggedDotDimensionNumbers(*dims))
        theirs = jax.lax.ragged_dot_general(*args, jax.lax.RaggedDotDimensionNumbers(*dims))
        agree(ours, theirs, 20.0)
    test_util.check_grads(
        lambda a, b: lax.ragged_dot(a, b, sizes), [lhs.astype("float64"), Y.astype("float64")], order=2, rtol=1e-5
    )


@pytest.mark.parametrize("name", ["add", "max", "pow", "nextafter"])
def test_masks(name):
    x, y = (np.abs(z) for z in pair(name, "float64"))
    padded = [ct.Ragged(np.pad(z, ((0, 0), (0, 2)), constant_values=np.nan), {1: 3}, names={1: "n"}) for z in (x, y)]
    result = ct.mask(lambda a, b: getattr(lax, name)(a, b))(*padded)
    agree(result.unpad(), np.asarray(getattr(lax, name)(x, y)))


def test_spacing():
    x = np.array([-512, -1, -0.0, 0, 6e-8, 3, 65504])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(cnp.spacing(x.astype(np.float16)), np.spacing(x.astype(np.float16)))
    np.testing.assert_array_equal(cnp.spacing(x.astype(np.float32)), np.spacing(x.astype(np.float32)))
