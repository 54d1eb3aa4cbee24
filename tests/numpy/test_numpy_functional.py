"""cotangent.numpy: functions that take functions, grids by slices, dtypes and their promotion, files, printing."""

from __future__ import annotations

import inspect
import io

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import needed

jax = needed("jax")
jnp = jax.numpy
rng = np.random.default_rng(0)
A, V = rng.standard_normal((3, 4)), rng.standard_normal(7)


def check(actual, expected):
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for x, y in zip(actual, expected, strict=True):
            check(x, y)
        return
    if isinstance(expected, jax.Array):
        assert actual.dtype == expected.dtype
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-12)


CALLS = [
    lambda m: m.vectorize(lambda x, y: x + y)(A, V[:4]),
    lambda m: m.vectorize(lambda x, y: x @ y, signature="(n),(n)->()")(A, V[:4]),
    lambda m: m.vectorize(lambda a, y: (a @ y, y.sum()), signature="(m,n),(n)->(m),()")(
        np.stack([A, A]), np.ones((2, 1, 4))
    ),
    lambda m: m.vectorize(lambda x, k: x * k, excluded={1})(A, 3),
    lambda m: m.vectorize(lambda x, y: x + y)(np.ones((1, 3)), np.ones((1, 1))),
    lambda m: m.apply_along_axis(lambda x: x.cumsum(), 0, A),
    lambda m: m.apply_along_axis(lambda x: x[:, None] * x, 1, A),
    lambda m: m.apply_over_axes(lambda a, i: a.sum(i), A, (0, 1)),
    lambda m: m.piecewise(V, [V < 0, V > 1], [lambda x: -x, lambda x: x * x, 5.0]),
    lambda m: m.piecewise(V, [V < 0, V > 1], [0.0, 1.0]),
    lambda m: m.fromfunction(lambda i, j: i * j + 1, (3, 4)),
    lambda m: m.fromfunction(lambda i, j: i == j, (3, 4), dtype=int),
    lambda m: m.frompyfunc(lambda x, y: x * 2 + y, 2, 1)(A, V[:4]),
    lambda m: m.frompyfunc(lambda x, y: x * 2 + y, 2, 1).reduce(A, axis=1),
    lambda m: m.frompyfunc(lambda x, y: x * 2 + y, 2, 1).accumulate(V),
    lambda m: m.frompyfunc(lambda x, y: x / y, 2, 1).reduce(A, axis=1, initial=3.0),
    lambda m: m.frompyfunc(lambda x, y: x / y, 2, 1).reduce(A, axis=0, initial=3.0, where=A > 0),
    lambda m: m.frompyfunc(lambda x, y: x * 2 + y, 2, 1, identity=0).reduce(A, axis=None),
    lambda m: m.frompyfunc(lambda x, y: x * 2 + y, 2, 1).reduceat(A, np.array([0, 2, 1]), axis=1),
    lambda m: m.frompyfunc(lambda x, y: x * 2 + y, 2, 1).reduceat(V, np.array([], int)),
    lambda m: m.vectorize(lambda x, y: x if y is None else x + y)(A, None),
    lambda m: m.vectorize(lambda x, y, z: x * z, signature="(n),(),()->(n)")(A, None, V[:3]),
    lambda m: m.mgrid[:],
    lambda m: m.mgrid[0:3, 1:5:2],
    lambda m: m.mgrid[0:1:5j],
    lambda m: m.ogrid[0:3, 1:5:2],
    lambda m: m.r_[0:3, 5, A[0]],
    lambda m: m.r_["0,2", A[0], A[1]],
    lambda m: m.r_["-1", A, A],
    lambda m: m.r_["r", A[0], A[1]],
    lambda m: m.r_["c", A[0], A[1]],
    lambda m: m.c_["r", A, A],
    lambda m: m.zeros(np.array(3)),
    lambda m: m.ones(np.array([2, 3])),
    lambda m: m.c_[A[0], A[1]],
    lambda m: m.c_[1:3, 4:6],
    *(
        lambda m, num=num, endpoint=endpoint: m.linspace(A, 1.0, num, endpoint=endpoint, retstep=True)
        for num in (0, 1, 3)
        for endpoint in (True, False)
    ),
    *(
        lambda m, mode=mode, wrap=wrap: m.take_along_axis(
            A, np.array([[-1, -9], [5, 2], [0, -4]]), 1, mode=mode, wrap_negative_indices=wrap
        )
        for mode in (None, "clip", "fill", "one_hot")
        for wrap in (None, True, False)
    ),
    lambda m: m.take(A, np.array([-1, -9, 5]), 1, mode="clip"),
    lambda m: (m.geomspace(1j, 8, 4), m.geomspace(1 + 1j, -8, 3), m.geomspace(-1.0, -8.0, 4)),
    lambda m: m.histogram2d(V, V * 2, bins=[3, m.asarray(np.linspace(-1, 1, 4))]),
    lambda m: m.histogram2d(V, V * 2, bins=m.asarray(np.linspace(-1, 1, 4))),
    lambda m: (m.array(range(3)), m.asarray(range(2, 4))),
    *(
        lambda m, total=total: {cnp: ct, jnp: jax}[m].jit(lambda r: m.repeat(A, r, 0, total_repeat_length=total))(
            np.array([1, 2, 0])
        )
        for total in (0, 2, 3, 6)
    ),
    lambda m: m.repeat(A, np.array([1, 2, 0]), 0, total_repeat_length=5),
    lambda m: m.repeat(A, 2, 1, total_repeat_length=9),
    *(lambda m, shape=shape: m.cov(np.zeros(shape)) for shape in [(0,), (0, 2), (2, 0)]),
    lambda m: {cnp: ct, jnp: jax}[m].lax.mul(np.float32(2.0), V, out_dtype=np.float32),
    *(lambda m, shape=shape: m.asarray(A)[np.empty(shape, bool)] for shape in [(0,), (0, 4), (3, 0)]),
    lambda m: {cnp: ct, jnp: jax}[m].lax.scan(lambda c, x: (c + x, c), 0.0, V, unroll=0),
    *(
        lambda m, k=k: {cnp: ct, jnp: jax}[m].jit(lambda k: (m.tri(4, 3, k, "float32"), m.eye(3, k=k)))(k)
        for k in (-(2**33), -1, 1, 2**33)
    ),
    lambda m: m.bincount(np.array([True, False, True])),
    *(
        lambda m, dtype=dtype, period=period: m.unwrap(np.array([0, 5, 9, 3], dtype), period=period)
        for dtype in ("int8", "int64", "float32")
        for period in (4, 2 * np.pi)
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_agrees_with_jax(call):
    with ct.config.enable_x64(True), jax.enable_x64(True):
        check(call(cnp), call(jnp))


def test_size_of_several_axes():
    x = cnp.zeros((2, 3, 4))
    assert [cnp.size(x), cnp.size(x, 1), cnp.size(x, (0, -1)), cnp.size(x, ())] == [24, 3, 8, 1]


def test_folds_of_slices_with_computed_bounds():
    f, index = cnp.frompyfunc(lambda x, y: x * 2 + y, 2, 1), np.array([0, 2, 2, 1])
    check(ct.jit(lambda x, i: f.reduceat(x, i, axis=1))(A, index), f.reduceat(A, index, axis=1))
    g = cnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    for axis in (0, 1):
        check(ct.jit(lambda x, i, a=axis: g.reduceat(x, i, axis=a))(A, index), np.add.reduceat(A, index, axis=axis))
        check(ct.jit(lambda x, i, a=axis: cnp.maximum.reduceat(x, i, a))(A, index), np.maximum.reduceat(A, index, axis))
    none = np.array([], int)
    assert ct.jit(lambda x, i: g.reduceat(x, i, axis=1))(A, none).shape == (3, 0)
    check(ct.jit(lambda x, i: cnp.maximum.reduceat(x, i))(V, index), np.maximum.reduceat(V, index))


def test_functions_of_elements_are_equal_by_what_they_are_made_of():
    def f(x, y):
        return x + y

    assert cnp.frompyfunc(f, 2, 1) == cnp.frompyfunc(f, 2, 1) != cnp.frompyfunc(f, 2, 1, identity=0)
    assert len({cnp.frompyfunc(f, 2, 1), cnp.frompyfunc(f, 2, 1), cnp.add}) == 2
    assert (cnp.add.nin, cnp.add.nout, cnp.add.nargs, cnp.negative.nargs) == (2, 1, 2, 1)


def test_vectorize_says_how_many_arguments_and_results_there_are():
    f = cnp.vectorize(lambda x, y: (x, y), signature="(n),(n)->(n)")
    with pytest.raises(TypeError, match="has 2 arguments, but 1 are given"):
        f(A)
    with pytest.raises(TypeError, match="has 1 results; the function returned 2"):
        f(A, A)
    with pytest.raises(ValueError, match="argument 1 is None"):
        f(A, None)


class Wrapped:
    """An array in an object of another library."""

    def __init__(self, x):
        self.x = x

    def __jax_array__(self):
        return self.x


def test_objects_that_make_themselves_an_array():
    x = cnp.arange(3.0)
    check(cnp.sin(Wrapped(x)), cnp.sin(x))
    check(x * Wrapped(x) + cnp.asarray(Wrapped(V[:3])), x * x + V[:3])
    check(x @ Wrapped(x), x @ x)
    check(ct.jit(lambda y: y + 1)(Wrapped(x)), x + 1)


def test_lists_of_numpy_numbers_have_the_promoted_dtype():
    assert cnp.array([0, np.float16(1)]).dtype == np.float16
    assert cnp.array([[1.5, 2], [np.float32(1), 3]]).dtype == np.float32
    assert cnp.array([np.int8(1), np.uint8(2)]).dtype == np.int16


@pytest.mark.parametrize("start", ["0,3,0", "0,3,1"])
def test_joined_arrays_with_a_position_for_their_axes(start):
    check(cnp.r_[start, A, A], np.r_[start, A, A])


def test_einsum_contracts_in_the_order_of_the_path():
    b = rng.standard_normal((4, 50))
    path, report = cnp.einsum_path("ij,jk,kl->il", A, b, b.T)
    assert path == jnp.einsum_path("ij,jk,kl->il", A, b, b.T)[0]
    assert "FLOP" in str(report)


# ---- Dtypes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda lib, f: f, lambda lib, f: lib.jit(f)], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.zeros_like(x),
        lambda m, x: m.ones_like(x, shape=(3,)),
        lambda m, x: m.full_like(x, 2),
        lambda m, x: m.full_like(x, np.arange(3), shape=(3,)),
        lambda m, x: m.zeros_like(x, dtype="float32"),
        lambda m, x: m.sinc(x) + m.deg2rad(x) + m.exp2(x),
        lambda m, x: m.floor_divide(x, 2) + m.remainder(x, 2),
        lambda m, x: m.hypot(x, 2.0) + m.logaddexp(x, 1.0) + m.heaviside(x, 0.5),
        lambda m, x: {cnp: ct, jnp: jax}[m].nn.silu(x * 1.0),
        lambda m, x: {cnp: ct, jnp: jax}[m].nn.relu(x * 1.0),
        lambda m, x: {cnp: ct, jnp: jax}[m].lax.rsqrt(x * 1.0),
        lambda m, x: {cnp: ct, jnp: jax}[m].lax.fori_loop(0, 3, lambda i, y: y + i, m.zeros((), "int8")),
        lambda m, x: m.array(x),
        lambda m, x: m.array([x]),
        lambda m, x: m.asarray((x, 2)),
        lambda m, x: m.array([[x], [3.0]]),
        lambda m, x: m.pad(m.stack([m.asarray(x)]), 1),
        lambda m, x: m.pad(m.stack([m.asarray(x)]), 1, mode="empty"),
        lambda m, x: m.pad(m.stack([m.asarray(x)]), 1, mode="edge"),
    ],
)
@pytest.mark.parametrize("x", [1, 1.0, np.float32(1)])
def test_weak_types_are_those_of_jax(f, x, wrap):
    actual, expected = wrap(ct, lambda x: f(cnp, x))(x), wrap(jax, lambda x: f(jnp, x))(x)
    assert (actual.dtype, actual.weak_type) == (expected.dtype, expected.weak_type)


@pytest.mark.parametrize("mode", ["fill", "clip", "drop"])
@pytest.mark.parametrize("index", [5, -9, (1, 7), (slice(None), 9), (np.array([0, 1]), -8), 2])
def test_constant_positions_outside_are_an_error_unless_a_mode_is_given(index, mode):
    ours, theirs = cnp.arange(12.0).reshape(3, 4).at[index], jnp.arange(12.0).reshape(3, 4).at[index]
    check(ours.set(7.0, mode=mode), theirs.set(7.0, mode=mode))
    check(ours.add(1.0, mode=mode), theirs.add(1.0, mode=mode))
    if mode != "drop":
        check(ours.get(mode=mode), theirs.get(mode=mode))
    if index != 2:
        for call in (ours.get, lambda: ours.set(1.0)):
            with pytest.raises(IndexError, match="out of bounds"):
                call()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_unique_finds_all_nans(dtype):
    x = np.array([-0.0, 0.0, 1.0, 1.0, np.nan, -np.nan])
    if np.dtype(dtype).kind == "c":
        x = np.array([complex(a, b) for a in x for b in x])
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    for ours, theirs in zip(cnp.unique(x.astype(dtype), **options), np.unique(x.astype(dtype), **options), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    ours, theirs = (m.unique(x.astype(dtype), equal_nan=False) for m in (cnp, np))
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))


def test_comparisons_with_lists_are_an_error():
    for compare in (lambda x: x == [1, 2], lambda x: x != (1, 2), lambda x: x < [1, 2]):
        with pytest.raises(TypeError, match=r"cannot be compared|not supported"):
            compare(cnp.ones(2))
    assert cnp.ones(2) != "a" and cnp.ones(2) != None  # noqa: E711
    for error in (IndexError, ct.errors.ConcretizationError, ct.errors.NonConcreteBooleanIndexError):
        with pytest.raises(error):
            ct.linear_transpose(lambda x: x[x > 0], cnp.ones(2))
    assert cnp.ones((2, 3)).aval == ct.ShapeDtypeStruct((2, 3), "float32") and cnp.array(1).aval.weak_type


def test_dtype_queries():
    assert cnp.result_type(np.float32, np.int32) == np.float32
    assert cnp.result_type(cnp.ones(2, "bfloat16"), 1.0) == cnp.bfloat16
    assert cnp.result_type(cnp.int8, cnp.int64) == np.int64 and cnp.result_type(cnp.float64, np.float16) == np.float64
    assert cnp.int64 != int and cnp.float64 != float and cnp.bool_ != bool and cnp.int64 == "int64"
    assert cnp.issubdtype(cnp.bfloat16, cnp.floating) and cnp.issubdtype(np.int32, cnp.integer)
    assert not cnp.issubdtype(np.float32, cnp.integer)
    assert cnp.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert cnp.finfo("bfloat16").bits == 16 and cnp.iinfo("int8").max == 127
    assert cnp.isdtype(np.float32, "real floating") and cnp.can_cast("int8", "int16")
    for array in (cnp.ones(2), np.ones(2, np.float32)):
        assert cnp.can_cast(array, np.float64) and not cnp.can_cast(array, np.float16)
        assert cnp.isdtype(array, "real floating") and not cnp.isdtype(array, ("bool", "integral"))
        assert cnp.issubdtype(array, cnp.floating) and not cnp.issubdtype(array, cnp.integer)
    assert cnp.float32(3).dtype == cnp.float32 == np.float32 and np.dtype(cnp.float32) == np.float32
    with ct.config.enable_x64(True):
        assert np.dtype(cnp.int_) == np.int64 and cnp.ones(2).dtype == cnp.float64
    assert np.dtype(cnp.int_) == np.int32 and cnp.array(np.float64(1)).dtype == np.float64
    assert (cnp.iscomplexobj(1j), cnp.isrealobj(1.0), cnp.isscalar(2)) == (True, True, True)
    assert (cnp.ndim(A), cnp.shape(A), cnp.size(A, 1), cnp.broadcast_shapes((3, 1), (4,))) == (2, (3, 4), 4, (3, 4))


def test_namespace_info():
    info = cnp.ones(2).__array_namespace__().__array_namespace_info__()
    assert set(info.dtypes(kind="integral")) == {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    assert info.default_device() in info.devices() and cnp.ones(2).device == info.default_device()
    assert info.default_dtypes()["real floating"] == np.float32
    assert cnp.__array_api_version__ == "2024.12"


# ---- Files, buffers, text --------------------------------------------------------------------------------------------


def test_files_and_buffers():
    file = io.BytesIO()
    cnp.save(file, cnp.arange(3))
    file.seek(0)
    check(cnp.load(file), [0, 1, 2])
    file = io.BytesIO()
    cnp.savez(file, cnp.ones(2), b=cnp.zeros(1))
    file.seek(0)
    assert set(cnp.load(file)) == {"arr_0", "b"}
    check(cnp.frombuffer(b"123", dtype="uint8"), [49, 50, 51])
    check(cnp.fromstring("1 2 3", sep=" "), [1, 2, 3])
    check(cnp.fromiter(range(3), int), [0, 1, 2])
    check(cnp.from_dlpack(np.arange(3)), [0, 1, 2])
    check(np.from_dlpack(cnp.arange(3)), [0, 1, 2])


def test_printing_is_that_of_numpy():
    x = cnp.array([[1.5, 2.0]])
    assert repr(x) == cnp.array_repr(x) == "Array([[1.5, 2. ]], dtype=float32)"
    assert str(x) == cnp.array_str(x) == "[[1.5 2. ]]"
    with cnp.printoptions(precision=2):
        assert str(cnp.array([1 / 3])) == "[0.33]"
    assert cnp.get_printoptions()["precision"] == np.get_printoptions()["precision"]


@pytest.mark.parametrize("to", ["uint8", "int16", "float32", "float64", "complex64", "bool"])
def test_views_of_bytes(to):
    x = rng.standard_normal((2, 4)).astype(np.float32)
    expected = x.view("u1").astype(bool) if to == "bool" else x.view(to)
    np.testing.assert_array_equal(np.asarray(cnp.asarray(x).view(to)), expected)
    assert cnp.asarray(x).byteswap().tobytes() == x.byteswap().tobytes()


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_quotients_and_remainders_of_zeros_and_infinities(wrap):
    values = np.float32([0.0, -0.0, 1.0, -1.0, 3.5, -3.5, 7.0, np.inf, -np.inf, np.nan, 1e38, 1e-40])
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        quotient, rest, exact = np.floor_divide(x, y), np.remainder(x, y), x / y
    # The array API standard: a quotient by or of an infinity is not rounded.
    quotient = np.where(np.isinf(x) | np.isinf(y), exact, quotient)
    for function, expected in [(cnp.floor_divide, quotient), (cnp.remainder, rest)]:
        result = np.asarray(wrap(function)(x, y))
        np.testing.assert_array_equal(result, expected)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))
    derivatives = wrap(ct.grad(cnp.remainder, (0, 1)))
    for numbers, expected in [
        ((4.0, 2.0), (1, -2)),
        ((-3.0, 2.0), (1, 2)),
        ((-3.0, -2.0), (1, -1)),
        ((3.0, -2.0), (1, 2)),
    ]:
        assert derivatives(*numbers) == expected


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_exponentials_of_what_is_not_finite(wrap, dtype):
    values = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    x = np.array([complex(a, b) for a in values for b in values], dtype)
    with np.errstate(all="ignore"):
        exponential = np.exp(x)
        # Less one, but for what exp itself has as NumPy has it.
        less_one = np.where(np.isfinite(x), np.expm1(x), exponential - 1)
        real = x.imag == 0
        less_one.imag[real] = x.imag[real]
    for function, expected in [(cnp.exp, exponential), (cnp.expm1, less_one)]:
        result = np.asarray(wrap(function)(x))
        np.testing.assert_allclose(result.real, expected.real, 1e-6)
        np.testing.assert_allclose(result.imag, expected.imag, 1e-6)


def test_poly_of_many_zeros_is_one_loop():
    zeros = rng.uniform(-1, 1, 200)
    assert len(ct.make_ir(cnp.poly)(zeros).equations()) < 40
    check(cnp.poly(zeros), np.poly(zeros))
    gradient = ct.grad(lambda z: cnp.polyval(cnp.poly(z), 2.0))(zeros[:50])
    check(gradient, -np.prod(2 - zeros[:50]) / (2 - zeros[:50]))


@pytest.mark.parametrize("count", [3, 40])
def test_poly_of_an_infinite_zero_leaves_the_highest_power(count):
    zeros = np.concatenate([np.linspace(0.5, 1, count - 1), [np.inf]])
    with np.errstate(invalid="ignore"):
        check(cnp.poly(zeros), np.poly(zeros))


@pytest.mark.parametrize("name", ["value", "gradient"])
def test_polyval_of_many_coefficients_is_one_loop(name):
    functions = {"value": cnp.polyval, "gradient": ct.grad(lambda p, x: cnp.polyval(p, x).sum(), (0, 1))}
    p, x = rng.standard_normal(300), rng.uniform(-1, 1, 4)
    graph = ct.make_ir(functions[name])(p, x)
    assert len(graph.equations()) < 40
    if name == "value":
        check(cnp.polyval(p, x), np.polyval(p, x))
    else:
        check(functions[name](p, x)[1], np.polyval(np.polyder(p), x))


def test_polyval_takes_several_coefficients_at_a_time():
    assert "float64[50,6]" in str(ct.make_ir(cnp.polyval)(np.ones(300), np.ones(4)))
    x = rng.uniform(-1, 1, 5)
    for count in range(33, 40):
        p = rng.standard_normal((count, 5))
        result = np.zeros(5)
        for row in p:
            result = result * x + row
        np.testing.assert_array_equal(ct.jit(cnp.polyval)(p, x), result)


@pytest.mark.parametrize("length", [0, 1, 25, 50])
def test_polyval_of_a_ragged_polynomial(length):
    p, x = rng.standard_normal(50), rng.uniform(-1, 1, 3)
    padded = np.where(np.arange(50) < length, p, np.nan)
    check(ct.mask(cnp.polyval)(ct.Ragged(padded, {0: length}), x), np.polyval(p[:length], x))


def test_a_ufunc_has_the_signature_and_the_text_of_its_function() -> None:
    assert list(inspect.signature(cnp.add).parameters) == ["x", "y"]
    assert list(inspect.signature(cnp.negative).parameters) == ["x"]
    assert list(inspect.signature(cnp.frompyfunc(lambda first, second: first, 2, 1)).parameters) == ["first", "second"]
    assert "x, y : array" in str(cnp.add.__doc__)
    assert not hasattr(cnp.add, "no_such_thing")
