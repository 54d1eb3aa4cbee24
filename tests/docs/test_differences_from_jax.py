"""Every difference on the page docs/differences_from_jax.md is as it says: a test for each paragraph, and a paragraph for each test."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest
from needs import needed
from places import ROOT

PAGE = ROOT / "docs" / "differences_from_jax.md"
F32 = np.float32
TESTS: dict[str, Callable[[], None]] = {}


def row(title: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(test: Callable[[], None]) -> Callable[[], None]:
        TESTS[title] = test
        return test

    return add


def titles() -> list[str]:
    text = PAGE.read_text().split("## On purpose")[1].split("## Not there yet")[0]
    return re.findall(r"(?m)^\*\*(.+?)\*\*", text)


def test_every_difference_has_a_test_and_every_test_a_difference() -> None:
    assert sorted(titles()) == sorted(TESTS)


@row("A read outside of an axis is differentiated as what it reads.")
def _() -> None:
    x = cnp.array([1.0, 2.0])
    for read in (lambda x, i: x[i], lambda x, i: x.at[i].get(mode="clip")):
        assert ct.jit(read)(x, cnp.array(5)) == 2
        assert ct.grad(read)(x, cnp.array(5)).tolist() == [0, 1]


@row("Powers of Python's 0.5 and 1.5")
def _() -> None:
    for x, exponent, root in (
        (-np.inf, 0.5, np.nan),
        (-0.0, -0.5, -np.inf),
        (-np.inf, 1.5, np.nan),
        (4.0, -1.5, 0.125),
    ):
        np.testing.assert_array_equal(cnp.array([x]) ** exponent, [root])
    assert ct.lax.pow(cnp.array([-np.inf]), 0.5).tolist() == [np.inf]


@row("Limits and edges are exact.")
def _() -> None:
    assert cnp.clip(np.uint8([0, 1, 200]), -1, 300).tolist() == [0, 1, 200]
    counts, edges = cnp.histogram(np.zeros(3, F32), 3, range=(-2, 4))
    assert counts.tolist() == [0, 3, 0] and edges.tolist() == [-2, 0, 2, 4]
    counts, _ = cnp.histogram(cnp.ones(5000, "float16"), 2, range=(0, 2))
    assert counts.tolist() == [0, 5000] and counts.dtype == F32


@row("Options that only permit or promise something")
def _() -> None:
    x = cnp.arange(4.0)
    for precision in (None, "default", "highest", ct.lax.Precision.HIGH):
        assert cnp.matmul(x, x, precision=precision) == 14
    with pytest.raises(ValueError, match="unknown precision"):
        cnp.matmul(x, x, precision="exact")
    assert np.isnan(ct.scipy.linalg.inv(np.full((1, 1), np.nan), overwrite_a=True, check_finite=True)).all()
    assert ct.lax.approx_max_k(x, 2, recall_target=0.1)[0].tolist() == [3, 2]
    assert x.at[np.array([3, 0])].get(indices_are_sorted=True, unique_indices=True).tolist() == [3, 0]
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.at[0].get(sorted=True)
    with pytest.raises(ValueError, match="order must be"):
        cnp.array([1.0], order="Z")


@row("Integers divided by zero")
def _() -> None:
    x, zero = cnp.array([5, -5]), cnp.array(0)
    assert (x // zero).tolist() == [0, 0] and (x % zero).tolist() == [0, 0]
    assert ct.lax.div(x, cnp.zeros_like(x)).tolist() == [-1, -1]
    assert ct.lax.rem(x, cnp.zeros_like(x)).tolist() == [5, -5]


@row("64-bit data is always honoured.")
def _() -> None:
    assert ct.grad(lambda x: x * x)(np.float64(3)).dtype == np.float64
    assert cnp.asarray(np.arange(3.0)).dtype == np.float64 and cnp.zeros(2).dtype == np.float32
    assert (cnp.ones(2) * np.sqrt(2)).dtype == np.float32
    for width, table in (("float32", np.ones(2, F32)), ("float64", np.ones(2))):
        loop = lambda c, _, table=table: (c * table, None)  # noqa: E731
        if width == "float32":
            assert ct.lax.scan(loop, cnp.ones(2), None, 3)[0].dtype == width
            continue
        # The message of what changes width by it has the line and the fix.
        message = r"(?s)float64 value entered, first at .*test_differences_from_jax.py.*fix: .*astype\(\"float32\"\)"
        with pytest.raises(ct.errors.DTypeError, match=message):
            ct.lax.scan(loop, cnp.ones(2), None, 3)
        with pytest.raises(TypeError, match=message):
            ct.jit(lambda x, t=table: ct.lax.cond(True, lambda x: x, lambda x: x * t, x))(cnp.ones(2))

    assert (cnp.ones(1, "uint32") * 4 + cnp.full(1, -1, "int32")).dtype == np.int64
    assert (cnp.asarray([2**32 - 1], "uint32") + cnp.ones(1, "int32")).tolist() == [2**32]


@row("Where operands tie, they share the derivative")
def _() -> None:
    for clamp in (ct.lax.clamp, lambda low, x, high: cnp.clip(x, low, high)):
        for transform in (lambda f: f, ct.jit):
            slopes = transform(ct.grad(clamp, (0, 1, 2)))
            assert [float(slope) for slope in slopes(2.0, 2.0, 3.0)] == [0.5, 0.5, 0]
            assert [float(slope) for slope in slopes(2.0, 3.0, 3.0)] == [0, 0.5, 0.5]
    assert ct.vmap(ct.grad(ct.nn.sparse_sigmoid))(cnp.array([-1.0, 0.0, 1.0])).tolist() == [0.25, 0.5, 0.25]
    assert ct.grad(ct.grad(ct.nn.celu))(0.0) == ct.grad(ct.grad(ct.nn.elu))(0.0) == 1
    assert ct.grad(lambda q: cnp.quantile(cnp.array([1.0, 2.0, 4.0]), q))(0.5) == 4


@row("`top_k` orders as `sort`")
def _() -> None:
    x = np.array([1, -0.0, np.copysign(np.nan, -1), 0.0, np.inf, np.nan], F32)
    assert ct.lax.top_k(x, 6)[1].tolist() == [2, 5, 4, 0, 1, 3]


@row("Python ints")
def _() -> None:
    assert cnp.asarray(2**40).dtype == np.int64
    with pytest.raises(OverflowError):
        cnp.ones(2, "int32") + 2**40
    assert (cnp.ones(2, "int8") + 300).tolist() == [45, 45]


@row("Quotients by `//`")
def _() -> None:
    assert float(cnp.float32(np.inf) // 2) == np.inf and float(cnp.float32(2) // np.inf) == 0.0
    assert np.signbit(cnp.remainder(F32(4), F32(-2)))


@row("Derivatives are finite where the program's meaning is clear.")
def _() -> None:
    assert float(ct.grad(lambda x: cnp.where(x > 0, cnp.sqrt(x), 0.0))(F32(0))) == 0.0
    assert ct.grad(lambda x: cnp.sqrt(x @ x))(np.zeros(2, F32)).tolist() == [0, 0]
    assert float(ct.grad(cnp.sqrt)(0.0)) == np.inf


@row("Linear algebra")
def _() -> None:
    x = np.array([[2.0, 1.0], [1.0, 3.0]], np.float16)
    assert cnp.linalg.inv(x).dtype == np.float16
    np.testing.assert_allclose(ct.grad(cnp.linalg.det)(np.diag([0.0, 2.0])), np.diag([2.0, 0.0]))
    with pytest.raises(np.linalg.LinAlgError):
        cnp.linalg.inv(np.ones((2, 3)))


@row("Masks in updates may be traced")
def _() -> None:
    assert ct.jit(lambda x: x.at[x > 1].set(0.0))(cnp.arange(4.0)).tolist() == [0, 1, 0, 0]


@row("Rules of `custom_vmap` are asked about what is mapped only.")
def _() -> None:
    twice = ct.custom_batching.custom_vmap(lambda x: 2 * x)
    twice.def_vmap(lambda size, mapped, x: (200 * x, True))
    branch = lambda p, x: ct.lax.cond(p, twice, lambda x: x, x)  # noqa: E731
    predicates, x = np.array([True, False]), np.ones(2, F32)
    assert ct.vmap(branch, (0, None))(predicates, x[0]).tolist() == [2, 1]
    assert ct.vmap(branch)(predicates, x).tolist() == [200, 1]


@row("Values may be looked at outside of `jit` and `vmap`, and constants may leave.")
def _() -> None:
    assert float(ct.grad(lambda x: x * x if x > 0 else -x)(F32(-2))) == -1.0
    with pytest.raises(TypeError, match="stop_gradient"):
        ct.grad(lambda x: x * float(x))(2.0)
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(lambda x: x if x > 0 else -x)(2.0)


@row("NumPy's functions of traced arrays are recorded.")
def _() -> None:
    assert float(ct.grad(lambda x: np.exp(x))(0.0)) == 1.0
    np.testing.assert_allclose(ct.jit(lambda x: np.concatenate([x, x]))(cnp.ones(2)), np.ones(4))
    assert isinstance(np.exp(cnp.ones(2)), np.ndarray)


@row("Memory is not shared with what may write to it.")
def _() -> None:
    source = np.arange(3.0)
    array = cnp.from_dlpack(source)
    source[0] = 7.0
    assert array.tolist() == [0, 1, 2]
    assert cnp.asarray(np.frombuffer(b"\x02\x00", bool)).astype(int).tolist() == [1, 0]


@row("A function is captured once, however many transforms are stacked.")
def _() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x * x

    ct.hessian(f)(2.0)
    once = len(calls)
    ct.vmap(ct.grad(ct.jit(ct.checkpoint(f))))(np.ones(2))
    assert (once, len(calls)) == (1, 2)


@row("Ragged data is a transform.")
def _() -> None:
    assert float(ct.mask(cnp.sum)(ct.Ragged(np.ones(4), {0: 3}))) == 3.0


@row("Reverse mode goes through `while_loop`")
def _() -> None:
    double = lambda x: ct.lax.while_loop(lambda s: s < 10, lambda s: 2 * s, x)  # noqa: E731
    assert float(ct.grad(double)(3.0)) == 4.0


@row("Options of the transforms")
def _() -> None:
    with pytest.raises(TypeError, match="int"):
        ct.linear_transpose(lambda x: x, np.ones(2, int))(np.ones(2, int))
    assert callable(ct.checkpoint(prevent_cse=False)(cnp.sin))
    with pytest.raises(ValueError, match="compiler options"):
        ct.jit(cnp.sin).lower(1.0).compile({"a": 1})


@row("Export")
def _() -> None:
    assert callable(ct.export.compile) and not hasattr(ct.export, "deserialize")
    x = np.array([0.5, 1.0, 2.0], F32)
    with tempfile.TemporaryDirectory() as folder:
        loaded = ct.export.load(ct.export.compile(lambda x: cnp.sum(cnp.sin(x)), x, name="f").save(folder))
        np.testing.assert_allclose(ct.jvp(loaded, (x,), (x,))[1], np.sum(x * np.cos(x)), rtol=1e-6)
        np.testing.assert_allclose(ct.vmap(loaded)(np.stack([x, -x])), np.sin(x).sum() * np.array([1, -1]), rtol=1e-6)
        np.testing.assert_allclose(ct.hessian(loaded)(x), np.diag(-np.sin(x)), rtol=1e-6, atol=1e-7)
    jax = needed("jax")
    theirs = jax.export.export(jax.jit(lambda x: jax.numpy.sum(jax.numpy.sin(x))))(x).call
    np.testing.assert_allclose(jax.grad(theirs)(x), np.cos(x), rtol=1e-6)
    with pytest.raises(TypeError, match="jvp"):
        jax.jvp(theirs, (x,), (x,))
    with pytest.raises(NotImplementedError, match="not implemented"):
        jax.vmap(theirs)(np.stack([x, -x]))


@row("Random bits")
def _() -> None:
    jax = needed("jax")
    np.testing.assert_array_equal(ct.random.bits(ct.random.key(3), (5,)), jax.random.bits(jax.random.key(3), (5,)))


@row("Random keys")
def _() -> None:
    with pytest.raises((ValueError, NotImplementedError, TypeError), match="rbg"):
        ct.random.key(0, impl="rbg")
    jax = needed("jax")
    key, its = ct.random.PRNGKey(0), jax.random.PRNGKey(0)
    assert (
        jax.random.fold_in(its, 5.5).tolist()
        == jax.random.fold_in(its, 5).tolist()
        == ct.random.fold_in(key, 5).tolist()
    )
    for refused in (5.5, np.float32(5)):
        with pytest.raises(TypeError, match="fold_in: data must be an integer scalar"):
            ct.random.fold_in(key, refused)
    assert (
        ct.random.fold_in(key, -1).tolist()
        == ct.random.fold_in(key, 2**40 - 1).tolist()
        == jax.random.fold_in(its, 2**32 - 1).tolist()
    )


@row("`x[i] = y`")
def _() -> None:
    jax = needed("jax")
    x = cnp.zeros(2)
    x[0] = 1.0
    assert x.tolist() == [1, 0]
    with pytest.raises(TypeError, match="immutable"):
        jax.numpy.zeros(2)[0] = 1.0
    assert cnp.astype(x, x.dtype) is not x


@row("float8")
def _() -> None:
    x = cnp.ones(2, ml_dtypes.float8_e4m3fn)
    with pytest.raises(TypeError, match=r"convert|astype"):
        x + x
    assert x[:1].astype("float32").tolist() == [1.0]


@row("`reduce_precision`")
def _() -> None:
    assert float(ct.jvp(lambda x: ct.lax.reduce_precision(x, 5, 2), (1.0,), (1.123,))[1]) == F32(1.123)


@row("`ct.lax` takes Python numbers of the same kind")
def _() -> None:
    assert ct.lax.add(cnp.ones(2, "bfloat16"), 1.0).dtype == ml_dtypes.bfloat16
    with pytest.raises(TypeError):
        ct.lax.add(cnp.ones(2, "float32"), cnp.ones(2, "int32"))


@row("`scipy.signal.istft`")
def _() -> None:
    signal = np.sin(np.arange(64.0))
    spectrum = ct.scipy.signal.stft(signal, nperseg=16)[2]
    times, again = ct.scipy.signal.istft(spectrum, nperseg=16)
    np.testing.assert_allclose(again[:64], signal, atol=1e-6)
    assert times.shape == again.shape and float(times[1]) == 1.0


@row("Constant integers out of range are errors.")
def _() -> None:
    x = cnp.arange(3.0)
    for use in (lambda x: x[5], lambda x: x[-5], lambda x: x.at[5].set(1.0), lambda x: x.at[5].get()):
        for transform in (lambda f: f, ct.jit):
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
                transform(use)(x)
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
            ct.vmap(use)(x[None])
    assert np.isnan(x.at[5].get(mode="fill")) and x.at[5].set(1.0, mode="drop").tolist() == [0, 1, 2]
    for index in (np.array([0, 5]), cnp.array([0, 5])):
        assert x[index].tolist() == [0, 2] and x.at[index].set(9.0).tolist() == [9, 1, 2]
        assert ct.jit(lambda x, i: x[i])(x, index).tolist() == [0, 2]
    assert float(ct.jit(lambda x, i: x[i])(x, 5)) == 2.0 and x[1:9].tolist() == [1, 2]


@row("Lists are arrays and indices")
def _() -> None:
    assert cnp.arange(3.0)[[0, 2]].tolist() == [0, 2]
    assert cnp.arange(3.0)[range(2)].tolist() == [0, 1] and int(cnp.sum(range(5))) == 10
    assert cnp.add([1.0, 2.0], cnp.ones(2)).tolist() == [2, 3]
    assert ct.random.normal(ct.random.key(0), 3).shape == (3,)


@row("Masked arrays of NumPy")
def _() -> None:
    masked = np.ma.array([1, 2], mask=[True, False])
    for call in (cnp.array, ct.jit(cnp.sin)):
        with pytest.raises(ValueError, match="filled"):
            call(masked)


@row("`searchsorted` and `digitize`")
def _() -> None:
    x = cnp.arange(3.0)
    with ct.enable_x64(True):
        assert cnp.searchsorted(x, 1.0).dtype == cnp.digitize(x, x).dtype == cnp.argmax(x).dtype == np.int64
    assert cnp.searchsorted(x, 1.0).dtype == np.int32


@row("Derivatives of updates")
def _() -> None:
    x, indices = cnp.array([3.0, 5.0]), cnp.array([0, 0])
    assert ct.grad(lambda y: cnp.sum(x.at[indices].multiply(y)))(cnp.array([2.0, 7.0])).tolist() == [21, 6]
    gradient = ct.grad(lambda x: cnp.sum(x.at[indices[:1]].apply(cnp.square)))
    assert gradient(x).tolist() == [6, 1]


@row("Derivatives of integers")
def _() -> None:
    gradient = ct.grad(lambda x, i: x[i], argnums=(0, 1), allow_int=True)
    x, i = cnp.arange(3.0), cnp.array(1)
    assert gradient(x, i)[1].dtype == ct.float0
    inside = ct.jit(gradient)(x, i)[1]
    assert inside.dtype == bool and not inside


@row("Rules of custom functions")
def _() -> None:
    f = ct.custom_vjp(lambda x, flag=True: cnp.exp(x))
    f.defvjp(lambda x, flag: (f(x), (x, flag)), lambda r, g: ((2.0 if r[1] is True else 0.0) * g * f(r[0]), None))
    derivative = f
    for _order in range(5):
        derivative = ct.grad(derivative)
    assert float(ct.jit(derivative)(0.0)) == 32.0

    g = ct.custom_vjp(lambda x, y: (x, y))
    g.defvjp(lambda x, y: ((x.value, y.value), y.perturbed), lambda _, c: (c[0], c[1]), symbolic_zeros=True)
    assert ct.grad(lambda x: g(x, 2.0)[0])(1.0) == 1


@row("`named_call` and `named_scope`")
def _() -> None:
    assert "call" not in ct.make_ir(ct.named_call(cnp.sin, name="wave"))(1.0).text()
    with pytest.raises(ValueError, match="stablehlo"):
        ct.jit(cnp.sin).lower(1.0).as_text("stablehlo")


@row("An array is on one device.")
def _() -> None:
    x = cnp.ones(2)
    assert ct.device_put(x, x.device) is x
    with pytest.raises(ValueError, match="several devices"):
        ct.jit(cnp.sin, in_shardings=(type("Two", (), {"num_devices": 2})(),))


@row("Types may be asked of types.")
def _() -> None:
    assert cnp.iscomplexobj(np.dtype("complex64")) and cnp.size(ct.ShapeDtypeStruct((2, 3), "int8")) == 6
    assert cnp.sum(cnp.ones((2, 3)), axis=range(2)) == 6


@row("Limits are errors that state them.")
def _() -> None:
    with pytest.raises(MemoryError):
        ct.eval_shape(lambda: cnp.zeros(2**62))
    with pytest.raises(ValueError, match="64"):
        cnp.zeros((1,) * 65)
    deep: Any = 1.0
    for _level in range(2000):
        deep = [deep]
    with pytest.raises((ValueError, RecursionError), match="levels"):
        ct.tree.leaves(deep)
    with pytest.raises(TypeError, match="keepdims"):
        cnp.sum(cnp.ones(2), keepdims="no")


@row("A Fourier transform of no points")
def _() -> None:
    for transform in (cnp.fft.fft, cnp.fft.ifft, cnp.fft.rfft, cnp.fft.fft2):
        with pytest.raises(ValueError, match="number of FFT data points"):
            transform(cnp.zeros((2, 0)))
    assert cnp.fft.fft(cnp.zeros((0, 2))).shape == (0, 2)


@row("Errors of shapes and dtypes")
def _() -> None:
    for error in (ct.errors.ShapeError, ct.errors.DTypeError):
        assert issubclass(error, TypeError) and issubclass(error, ValueError)


@pytest.mark.parametrize("title", TESTS)
def test_difference(title: str) -> None:
    TESTS[title]()


@row("Parameters of distributions")
def _() -> None:
    key = ct.random.key(0)
    for draw in (lambda: ct.random.gamma(key, 1j), lambda: ct.random.uniform(key, (3,), minval=1j)):
        with pytest.raises(TypeError, match="real"):
            draw()
    with pytest.warns(UserWarning, match="randint"):
        assert ct.random.randint(key, 0, 10, 3).shape == (0,)


@row("`scipy.stats`")
def _() -> None:
    assert np.isnan(ct.scipy.stats.norm.cdf(0.5, scale=-1.0))
    assert np.isnan(ct.scipy.stats.binom.pmf(1, 2.5, 0.5))
