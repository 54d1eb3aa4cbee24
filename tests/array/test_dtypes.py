"""Promotion over the whole lattice against JAX, weak types included, and the float8 kinds against ml_dtypes."""

from __future__ import annotations

import functools
import itertools
import warnings

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest
from needs import needed

jax = needed("jax")
jnp = jax.numpy

STRONG = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip
WEAK = {"bool*": True, "int*": 1, "float*": 1.0, "complex*": 1j}
FLOAT8 = [
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip


@functools.cache
def theirs(x64):
    """(left, right) -> dtype and weakness of JAX's sum, and of its dtypes' join."""
    with jax.enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        operands = {name: jnp.ones(2, name) for name in STRONG} | {name: jnp.asarray(x) for name, x in WEAK.items()}
        return {
            (a, b): (str((x := jax.eval_shape(jnp.add, operands[a], operands[b])).dtype), x.weak_type, str(jnp.result_type(operands[a], operands[b])))
            for a, b in itertools.product(operands, repeat=2)
        }  # fmt: skip


def ours(a, b):
    left, right = (cnp.asarray(WEAK[n]) if n in WEAK else cnp.ones(2, n) for n in (a, b))
    total = left + right
    assert (left * right).dtype == total.dtype
    assert ct.eval_shape(lambda x, y: x + y, left, right).dtype == total.dtype
    return str(total.dtype), total.weak_type, str(cnp.result_type(left, right))


@pytest.mark.parametrize("a", [*STRONG, *WEAK])
def test_sums_with_x64(a):
    with ct.config.enable_x64(True), jax.enable_x64(True):
        for b in [*STRONG, *WEAK]:
            assert ours(a, b) == theirs(True)[a, b], b
            if a in STRONG and b in STRONG:
                assert cnp.promote_types(a, b) == jnp.promote_types(a, b)


WIDE = {"int64", "uint64", "float64", "complex128"}
NARROW = {"float64": "float32", "int64": "int32", "complex128": "complex64"}


@pytest.mark.parametrize("a", [*STRONG, *WEAK])
def test_sums_without_x64_differ_only_where_64_bits_are_honoured(a):
    for b in [*STRONG, *WEAK]:
        dtype, weak, joined = theirs(True)[a, b]
        # Only the dtypes of Python's numbers are narrower.
        expected = (NARROW.get(dtype, dtype), weak, NARROW.get(joined, joined)) if weak else (dtype, weak, joined)
        assert ours(a, b) == expected, b
        if not WIDE & {a, b, expected[0]}:
            assert expected == theirs(False)[a, b], b


def test_python_numbers_beside_arrays():
    for x64, x, y in itertools.product((False, True), STRONG, (True, 1, 1.0, 1j)):
        with ct.config.enable_x64(x64), jax.enable_x64(x64), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not x64 and x.endswith(("64", "128")) and x != "complex64":
                continue
            left, right = (jax.eval_shape(f, jnp.ones(2, x)) for f in (lambda z, y=y: z * y, lambda z, y=y: y * z))
            for a, b in [(cnp.ones(2, x) * y, left), (y * cnp.ones(2, x), right)]:
                assert (a.dtype, a.weak_type) == (b.dtype, b.weak_type), (x64, x, y)


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_python_ints_beside_narrower_arrays(wrap):
    assert wrap(lambda x: x + 300)(cnp.int8(1)) == 45  # as the sum of elements would
    assert wrap(lambda x: x - 1)(cnp.uint8(0)) == 255
    assert wrap(lambda x: x & 0x80000000)(cnp.uint32(0xFFFFFFFF)) == 0x80000000
    assert wrap(lambda x: x + 2**63)(cnp.uint64(1)) == 2**63 + 1
    for x, number in [
        (cnp.int32(1), 2**40),
        (cnp.uint32(1), 2**32),
        (cnp.int64(1), -(2**63) - 1),
        (cnp.uint64(1), 2**64),
    ]:
        with pytest.raises(OverflowError, match=f"the Python int {number} does not fit {x.dtype}\\n.*wider"):
            wrap(lambda x, n=number: x + n)(x)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_python_ints_as_arrays(dtype):
    limits = np.iinfo(dtype)
    for number in (limits.min, limits.max):
        assert int(cnp.array(number, dtype)) == int(cnp.full((), number, dtype)) == number
    for number in (limits.min - 1, limits.max + 1):
        for make in (lambda n: cnp.array(n, dtype), lambda n: cnp.array([n], dtype), lambda n: cnp.full(3, n, dtype)):
            with pytest.raises(OverflowError):
                make(number)
    for number in (2**64, -(2**63) - 1):
        for make in (lambda n: cnp.array(n), lambda n: cnp.array([n]), ct.jit(lambda n: n)):
            with pytest.raises(OverflowError):
                make(number)


@pytest.mark.parametrize("function", ["sin", "mean", "true_divide", "var", "linspace"])
def test_functions_of_integers(function):
    for x64, name in itertools.product((False, True), ["bool", "int8", "uint16", "int32", "uint32", "int64"]):
        with ct.config.enable_x64(x64), jax.enable_x64(x64), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = {"true_divide": 2, "linspace": 2}.get(function, 1)
            pair = []
            for module, shape in ((cnp, ct.eval_shape), (jnp, jax.eval_shape)):
                call = getattr(module, function)
                pair.append(shape(lambda x, call=call: call(*[x] * arguments), module.ones(3, name)))
            assert pair[0].dtype == pair[1].dtype, (x64, name)


def test_weak_types_are_kept_by_transforms():
    x = cnp.arange(3)
    assert (x * 2.5).weak_type and ct.jit(lambda x: x * 2.5)(x).weak_type
    assert ((x * 2.5) * cnp.ones(3, "bfloat16")).dtype == cnp.bfloat16
    assert ct.vmap(lambda x: x * 2.5)(x).tolist() == [0, 2.5, 5]
    assert ct.lax.scan(lambda c, x: (c + x * 0.5, x), 0.0, x)[0] == 1.5
    assert "weak" in repr(x * 1.5) and "weak" in str(ct.make_ir(lambda x: x * 2.5)(x))


# ---- float8 ----------------------------------------------------------------------------------------------------------


def every_float8(name):
    return np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))


def edges(name):
    """Numbers at, and next to, the middles between neighbours."""
    info = ml_dtypes.finfo(getattr(ml_dtypes, name))
    finite = every_float8(name).astype(np.float64)
    finite = np.unique(finite[np.isfinite(finite)])
    middles = (finite[1:] + finite[:-1]) / 2
    largest = float(info.max)
    beyond = [largest * f for f in (1.0, 1.01, 1.03, 1.0625, 1.07, 1.2, 1.5, 4.0)]
    tiny = float(info.smallest_subnormal)
    values = [*finite, *middles, *beyond, tiny / 2, tiny / 4, tiny * 0.75, 0.0, -0.0, np.inf, -np.inf, np.nan]
    values = np.array([*values, *(-v for v in values)])
    return np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])


def same_numbers(actual, expected):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan)
    bits = np.dtype(f"u{actual.dtype.itemsize}")
    np.testing.assert_array_equal(actual.view(bits)[~nan], expected.view(bits)[~nan])


FLOATS = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_to_and_from_floats(name):
    dtype, theirs = getattr(cnp, name), getattr(ml_dtypes, name)
    assert cnp.finfo(name).max == ml_dtypes.finfo(name).max and cnp.finfo(name).bits == 8
    with np.errstate(all="ignore"):
        values = edges(name)
        # ml_dtypes rounds float64 to float32 first: only what float32 has is compared here.
        values = np.where((values.astype(np.float32) == values) | np.isnan(values), values, 1.0)
        inputs = [values.astype(other) for other in FLOATS]
        narrow = [x.astype(np.float32).astype(theirs) for x in inputs]
        wide = [every_float8(name).astype(other) for other in FLOATS]
    to = lambda xs: [x.astype(dtype) for x in xs]  # noqa: E731
    back = lambda x: [x.astype(other) for other in FLOATS]  # noqa: E731
    for narrowed in (to([cnp.asarray(x) for x in inputs]), ct.jit(to)([cnp.asarray(x) for x in inputs])):
        for actual, expected in zip(narrowed, narrow, strict=True):
            same_numbers(actual, expected)
    stored = cnp.asarray(every_float8(name))
    for widened in (back(stored), ct.jit(back)(stored)):
        for actual, expected in zip(widened, wide, strict=True):
            same_numbers(actual, expected)


@pytest.mark.parametrize("name", [*FLOAT8, "float16", "bfloat16"])
def test_float64_is_rounded_once(name):
    low, high = (float(np.asarray(v, np.float32).astype(getattr(ml_dtypes, name, np.float16))) for v in (1.0, 1.99))
    spacing = float(np.spacing(np.float16(1))) if name == "float16" else float(ml_dtypes.finfo(name).eps)
    middle = low + spacing / 2
    for x, expected in [(middle + 2.0**-40, low + spacing), (middle - 2.0**-40, low)]:
        for convert in (lambda x: x.astype(name), ct.jit(lambda x: x.astype(name))):
            assert float(convert(cnp.asarray(np.array([x])))[0]) == expected, (x, high)


@pytest.mark.parametrize("a", FLOAT8)
def test_float8_between_themselves_and_storage(a):
    x = every_float8(a)
    with np.errstate(all="ignore"):
        expected = [x.astype(np.float32).astype(getattr(ml_dtypes, b)) for b in FLOAT8]
    convert = lambda x: [x.astype(b) for b in FLOAT8]  # noqa: E731
    for results in (convert(cnp.asarray(x)), ct.jit(convert)(cnp.asarray(x))):
        for actual, want in zip(results, expected, strict=True):
            same_numbers(actual, want)
    y = cnp.asarray(x).reshape(16, 16)
    assert y.dtype == getattr(ml_dtypes, a) and repr(y)
    same_numbers(ct.jit(lambda y: cnp.concatenate([y[2:, ::3].T, y[:6, :14]]))(y),
                 np.concatenate([x.reshape(16, 16)[2:, ::3].T, x.reshape(16, 16)[:6, :14]]))  # fmt: skip
    assert cnp.promote_types(a, "int8") == jnp.promote_types(a, "int8")
    with pytest.raises(ct.errors.DTypeError, match="storage format"):
        y + y
    with pytest.raises(ct.errors.DTypeError, match="no common dtype"):
        cnp.promote_types(a, "float16")


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "float4_e2m1fn", "float6_e2m3fn"])
def test_elements_of_less_than_a_byte_are_a_clear_error(name):
    for make in (lambda t: cnp.zeros(2, t), lambda t: cnp.asarray(np.zeros(2, t))):
        with pytest.raises(ct.errors.DTypeError, match="smaller than a byte"):
            make(getattr(ml_dtypes, name))


def test_limits():
    with pytest.raises(ValueError, match="finfo takes floating dtypes"):
        cnp.finfo("int32")
    for name in ("int8", "uint64"):
        assert (cnp.iinfo(name).min, cnp.iinfo(name).max) == (np.iinfo(name).min, np.iinfo(name).max)
    assert cnp.finfo("complex64").bits == 32


@pytest.mark.parametrize(
    "make",
    [
        lambda np_, lax, weak: lax.full((3,), 1.0, "float32"),
        lambda np_, lax, weak: lax.full_like(weak, 1.0, "float32"),
        lambda np_, lax, weak: lax.full_like(np.float32(1), 1.0),
        lambda np_, lax, weak: lax.full_like(weak, 1.0),
        lambda np_, lax, weak: np_.full((3,), 1.0, "float32"),
        lambda np_, lax, weak: np_.concatenate([weak, weak], dtype="float32"),
        lambda np_, lax, weak: np_.stack([weak, weak], dtype="float32"),
        lambda np_, lax, weak: np_.hstack([weak, weak], dtype="float32"),
        lambda np_, lax, weak: np_.vstack([weak, weak], dtype="float32"),
        lambda np_, lax, weak: np_.concatenate([weak, weak]),
        lambda np_, lax, weak: lax.bitcast_convert_type(weak, "float32"),
    ],
)
def test_a_dtype_that_is_given_is_not_weak(make):
    ours = make(cnp, ct.lax, cnp.broadcast_to(cnp.asarray(1.0), (3,)))
    expected = make(jnp, jax.lax, jnp.broadcast_to(jnp.asarray(1.0), (3,)))
    assert (ours.dtype, ours.weak_type) == (expected.dtype, expected.weak_type)


def test_zeros_of_the_dtype_without_values():
    for zeros in (cnp.zeros((2, 3), ct.float0), cnp.zeros_like(np.ones((2, 3)), dtype=ct.float0)):
        assert zeros.shape == (2, 3) and zeros.dtype == ct.float0
    assert cnp.zeros_like(np.zeros(3, ct.float0)).dtype == ct.float0
    assert ct.vjp(lambda n: n + 1, 3)[1](cnp.zeros((), ct.float0))[0].dtype == ct.float0


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_dtype_objects_are_as_wide_as_they_say(dtype):
    for spelling in (np.dtype(dtype), dtype, np.dtype(dtype).type, cnp.ones(2, dtype).dtype):
        narrow = {"float64": "float32", "int64": "int32", "complex128": "complex64"}[dtype]
        assert cnp.promote_types(spelling, narrow) == dtype
        assert cnp.promote_types(narrow, spelling) == dtype
        assert cnp.result_type(spelling, cnp.ones(2, narrow)) == dtype
