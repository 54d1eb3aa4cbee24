"""pure_callback, io_callback, debug.callback: called the right number of times, with the right values, under every transform."""

from __future__ import annotations

import gc
import threading
import weakref

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._base import callbacks
from cotangent.experimental import io_callback

X = np.linspace(0.1, 1.3, 4, dtype=np.float32)


def sinh(x, method="sequential"):
    return ct.pure_callback(np.sinh, x, x, vmap_method=method)


@ct.custom_jvp
def smooth(x):
    """sinh with a derivative."""
    return sinh(x, "broadcast_all")


@smooth.defjvp
def _smooth_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return smooth(x), t * ct.pure_callback(np.cosh, x, x, vmap_method="broadcast_all")


# ---- pure_callback ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [lambda f: f, ct.jit, lambda f: ct.jit(ct.jit(f))])
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_values_of_every_dtype_go_there_and_back(transform, dtype, shape):
    dtype = ct._core.canonical_dtype(dtype)
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape).astype(dtype)

    def back(array):
        assert isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
        assert not array.flags.writeable
        return array[..., ::-1] if shape else array

    result = transform(lambda v: ct.pure_callback(back, v, v))(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(np.asarray(result), back(np.asarray(ct.numpy.array(x))))


def test_pytrees_in_and_out():
    def swap(pair, *, scale):
        return {"b": (pair["a"][0] * scale, [np.int32(7)]), "c": None}

    spec = {"b": (ct.ShapeDtypeStruct((2,), "float32"), [ct.ShapeDtypeStruct((), "int32")]), "c": None}
    out = ct.jit(lambda x: ct.pure_callback(swap, spec, {"a": (x, 1)}, scale=3.0))(np.ones(2, np.float32))
    np.testing.assert_array_equal(out["b"][0], [3, 3])
    assert int(out["b"][1][0]) == 7 and out["c"] is None


def test_widths_are_converted_and_python_numbers_taken():
    out = ct.jit(lambda x: ct.pure_callback(lambda v: (v.astype(np.float64), 3, np.int64(4)), (x, x, np.int8(0)), x))(
        np.float32(2)
    )
    assert [float(r) for r in out] == [2, 3, 4] and [r.dtype.name for r in out] == ["float32", "float32", "int8"]


def test_closed_over_arrays_and_constants():
    w = cnp.array([1.0, 2.0])
    f = ct.jit(lambda x: ct.pure_callback(lambda a, b: a + b, w, w, x) + w)
    np.testing.assert_allclose(f(1.0), [3, 5])


def test_pure_calls_that_nobody_needs_are_dropped_and_equal_ones_merged():
    calls = []

    def f(x):
        calls.append(1)
        return x

    def program(x):
        ct.pure_callback(f, x, x)
        return ct.pure_callback(f, x, x) + ct.pure_callback(f, x, x)

    ct.jit(program)(1.0)
    assert len(calls) == 1


def test_equal_callbacks_are_not_compiled_again():
    def f(x):
        return x * 2

    def program(x):
        return (ct.pure_callback(f, x, x, vmap_method="sequential") * x).sum()

    a = ct.make_ir(program)(X)
    assert a == ct.make_ir(program)(X) and hash(a) == hash(ct.make_ir(program)(X))


def test_derivative_needs_a_custom_rule():
    with pytest.raises(ct.errors.NotDifferentiableError, match="custom_jvp") as error:
        ct.grad(lambda x: sinh(x) * 2)(1.0)
    assert "test_callbacks.py" in str(error.value)
    # Not differentiated: constant operands, integer results, stop_gradient.
    assert float(ct.grad(lambda x: x * sinh(2.0))(1.0)) == pytest.approx(np.sinh(2.0))
    count = ct.pure_callback
    integer = ct.ShapeDtypeStruct((), "int32")
    assert float(ct.grad(lambda x: x * count(lambda v: np.int32(v), integer, x * 3))(1.0)) == 3
    assert float(ct.grad(lambda x: x * sinh(ct.lax.stop_gradient(x)))(1.0)) == pytest.approx(np.sinh(1.0), rel=1e-6)


def test_custom_rules_make_it_differentiable():
    for f in (smooth, ct.jit(smooth)):
        assert float(ct.grad(f)(0.5)) == pytest.approx(np.cosh(0.5), rel=1e-6)
        np.testing.assert_allclose(ct.vmap(ct.grad(f))(X), np.cosh(X), rtol=1e-6)
        np.testing.assert_allclose(ct.jit(ct.vmap(ct.grad(f)))(X), np.cosh(X), rtol=1e-6)
        np.testing.assert_allclose(ct.grad(lambda x: f(x).sum())(X), np.cosh(X), rtol=1e-6)


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]
)
@pytest.mark.parametrize("jit", [False, True])
def test_vmap_methods(method, jit):
    shapes = []

    def add(a, b):
        shapes.append((a.shape, b.shape))
        return a + b[..., None] if b.ndim and a.ndim > b.ndim else a + b

    def one(a, b):
        return ct.pure_callback(add, ct.ShapeDtypeStruct((3,), "float32"), a, b, vmap_method=method)

    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b = np.float32(10)
    f = ct.vmap(one, in_axes=(1, None))
    out = (ct.jit(f) if jit else f)(a, b)
    np.testing.assert_array_equal(out, a.T + b)
    expected = {
        "sequential": [((3,), ())] * 4,
        "sequential_unrolled": [((3,), ())] * 4,
        "expand_dims": [((4, 3), (1,))],
        "broadcast_all": [((4, 3), (4,))],
        "legacy_vectorized": [((4, 3), ())],
    }
    assert shapes == expected[method]
    # Nothing is batched: one call.
    shapes.clear()
    np.testing.assert_array_equal(ct.vmap(lambda _: one(a[:, 0], b))(X), np.tile(a[:, 0] + b, (4, 1)))
    assert shapes == [((3,), ())]


def test_nested_vmap():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for method in ("sequential", "expand_dims", "broadcast_all"):
        f = lambda a, b: ct.pure_callback(lambda p, q: p * q, a, a, b, vmap_method=method)  # noqa: E731
        out = ct.vmap(ct.vmap(f, in_axes=(0, None)), in_axes=(0, 0))(x, np.float32([2, 3]))
        np.testing.assert_array_equal(out, x * np.float32([[2], [3]]))


def test_vmap_needs_a_method():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        ct.vmap(lambda x: ct.pure_callback(np.sinh, x, x))(X)
    with pytest.raises(ValueError, match="vmap_method must be"):
        ct.pure_callback(np.sinh, X, X, vmap_method="fast")


@pytest.mark.parametrize("jit", [False, True])
def test_in_control_flow(jit):
    wrap = ct.jit if jit else lambda f: f
    xs = np.arange(5, dtype=np.float32)
    total, squares = wrap(lambda v: ct.lax.scan(lambda c, x: (c + sinh(x), smooth(x) * x), 0.0, v))(xs)
    assert float(total) == pytest.approx(np.sinh(xs).sum(), rel=1e-5)
    np.testing.assert_allclose(squares, np.sinh(xs) * xs, rtol=1e-5)
    gradient = wrap(ct.grad(lambda v: ct.lax.scan(lambda c, x: (c + smooth(x), None), 0.0, v)[0]))(xs)
    np.testing.assert_allclose(gradient, np.cosh(xs), rtol=1e-5)
    keep = lambda s: ct.pure_callback(lambda v: v < 20, np.bool_(False), s)  # noqa: E731
    assert float(wrap(lambda x: ct.lax.while_loop(keep, lambda s: s * 2, x))(3.0)) == 24
    branch = wrap(lambda p, x: ct.lax.cond(p, sinh, lambda v: -v, x))
    assert float(branch(True, 1.0)) == pytest.approx(np.sinh(1.0), rel=1e-6) and float(branch(False, 1.0)) == -1


def test_in_a_mask():
    def total(x):
        return ct.pure_callback(lambda v: np.float32(v.sum() + 100 * v.size), np.float32(0), x)

    rows = [np.arange(n, dtype=np.float32) for n in (3, 0, 2)]
    expected = [r.sum() + 100 * r.size for r in rows]
    for f in (ct.vmap(ct.mask(total)), ct.jit(ct.vmap(ct.mask(total)))):
        with pytest.raises(NotImplementedError, match="vmap_method"):
            f(ct.ragged(rows))
    f = ct.mask(total)
    for row, value in zip(rows, expected, strict=True):
        padded = np.full(4, np.nan, np.float32)
        padded[: len(row)] = row
        assert float(f(ct.Ragged(padded, {0: len(row)}))) == value
    each = ct.mask(lambda x: ct.pure_callback(lambda v: v.sum(), np.float32(0), x, vmap_method="expand_dims"))
    np.testing.assert_array_equal(ct.jit(ct.vmap(each))(ct.ragged(rows)), [r.sum() for r in rows])


# ---- what callbacks do -----------------------------------------------------------------------------------------------------


def test_callback_runs_programs_of_its_own():
    inner = ct.jit(lambda x: cnp.cumsum(cnp.cumsum(x * x)))

    def callback(x):
        assert isinstance(inner(x), ct.Array)
        return np.asarray(inner(x)) + np.asarray(ct.grad(lambda v: inner(v).sum())(x))

    f = lambda x: cnp.cumsum(ct.pure_callback(callback, x, x)) + cnp.cumsum(x)  # noqa: E731
    np.testing.assert_allclose(ct.jit(f)(X), f(X), rtol=1e-6)
    # While the outer function is being captured with values, too.
    np.testing.assert_allclose(
        ct.grad(
            lambda x: x.sum() * 2.0 if float(ct.pure_callback(callback, x, ct.lax.stop_gradient(x)).sum()) > 0 else 0.0
        )(X),
        [2.0] * 4,
    )


def test_exceptions_keep_their_type_and_name_the_line():
    class Mine(Exception):
        pass

    def fail(x):
        if x > 1:
            raise Mine("no more")
        return x

    def f(x):
        return ct.pure_callback(fail, x, x) + 1

    for g in (ct.jit(f), ct.jit(lambda x: ct.lax.scan(lambda c, v: (c, f(v)), 0.0, cnp.array([x, x + 5]))[1].sum())):
        with pytest.raises(Mine, match="no more") as error:
            g(7.0)
        assert "test_callbacks.py" in error.value.__notes__[0] and "(f)" in error.value.__notes__[0]
    g = ct.jit(f)
    with pytest.raises(Mine):
        g(7.0)
    assert float(g(0.5)) == 1.5  # the program can be run again


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (np.ones(3, np.float32), ct.errors.ShapeError, r"shape \(3,\); result_shape_dtypes says \(\)"),
        (np.int32(1), ct.errors.DTypeError, "dtype int32; result_shape_dtypes says float32"),
        (np.complex64(1), ct.errors.DTypeError, "dtype complex64"),
        ((1.0, 2.0), TypeError, "must return what result_shape_dtypes says|shape"),
        (None, TypeError, "None"),
        ("text", TypeError, "str"),
    ],
)
def test_wrong_results(result, error, text):
    for f in (lambda g: g, ct.jit):
        with pytest.raises(error, match=text):
            f(lambda x: ct.pure_callback(lambda v: result, x, x))(np.float32(1))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="expects a function"):
        ct.pure_callback(3, X, X)
    with pytest.raises(TypeError, match="result_shape_dtypes must be made of"):
        ct.pure_callback(np.sin, "float32", X)
    with pytest.raises(TypeError, match="unsupported type"):
        ct.pure_callback(np.sin, X, "text")
    with pytest.raises(ValueError, match="one device"):
        ct.pure_callback(np.sin, X, X, sharding="somewhere")


def test_kept_arrays_stay_valid():
    kept = []
    f = ct.jit(lambda x: (ct.debug.callback(kept.append, x * 2), x + 1)[1])
    for i in range(5):
        f(np.full(1000, i, np.float32))
    for i, array in enumerate(kept):
        np.testing.assert_array_equal(array, np.full(1000, 2.0 * i, np.float32))


def test_without_the_gil_and_from_many_threads():
    f = ct.jit(lambda x: ct.pure_callback(lambda v: v * 2, x, x + 1) - 1)
    x = np.ones(1 << 18, np.float32)  # large: native code runs without the GIL
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append((i, f(x * i)))) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(i for i, _ in results) == [0, 1, 2, 3]
    for i, result in results:
        np.testing.assert_array_equal(result, 2 * (x * i + 1) - 1)


def test_exported_libraries_refuse_it(tmp_path):
    def f(x):
        return sinh(x)

    with pytest.raises(NotImplementedError, match=r"ct\.pure_callback: runs in this process") as error:
        ct.export.compile(f, X).save(tmp_path)
    assert "test_callbacks.py" in str(error.value)
    with pytest.raises(NotImplementedError, match="exists only in this process"):
        ct.make_ir(f)(X).serialize()


def test_callbacks_are_freed_with_the_function():
    class Callback:
        def __call__(self, x):
            return x

    def run():
        callback = Callback()
        callback.__hash__ = None
        f = ct.make_ir(lambda x: ct.pure_callback(callback, x, x))(1.0)
        assert f.num_equations == 1
        return weakref.ref(callback)

    reference = run()
    callbacks._cached_adapter.cache_clear()
    gc.collect()
    assert reference() is None


# ---- io_callback -----------------------------------------------------------------------------------------------------------


class Log:
    def __init__(self):
        self.seen = []

    def __call__(self, *values):
        self.seen.append(tuple(np.asarray(v).tolist() for v in values))
        return np.int32(len(self.seen))


INT = ct.ShapeDtypeStruct((), "int32")


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_io_happens_once_and_in_order(jit, ordered):
    log = Log()

    def f(x):
        io_callback(log, INT, x, ordered=ordered)  # nobody uses the result
        a = io_callback(log, INT, x + 1, ordered=ordered)
        b = io_callback(log, INT, x + 1, ordered=ordered)  # equal, and not merged
        return ct.lax.fori_loop(0, 3, lambda i, s: s + io_callback(log, INT, i, ordered=ordered), a + b)

    assert int((ct.jit(f) if jit else f)(1)) == 2 + 3 + 4 + 5 + 6
    assert log.seen == [(1,), (2,), (2,), (0,), (1,), (2,)]


def test_io_under_vmap_runs_row_by_row():
    log = Log()
    out = ct.jit(ct.vmap(lambda x: io_callback(log, INT, x, 7)))(np.arange(3))
    assert out.tolist() == [1, 2, 3] and log.seen == [(0, 7), (1, 7), (2, 7)]


def test_io_in_an_unused_loop_and_branch():
    log = Log()

    @ct.jit
    def f(x):
        ct.lax.scan(lambda c, v: (c, io_callback(log, INT, v)), 0, cnp.arange(2))
        ct.lax.cond(x > 0, lambda: io_callback(log, INT, 10), lambda: io_callback(log, INT, 20))
        ct.jit(lambda v: io_callback(log, INT, v))(5)
        return x

    f(1)
    assert log.seen == [(0,), (1,), (10,), (5,)]


def test_io_is_not_differentiated():
    log = Log()
    assert float(ct.grad(lambda x: x * x * io_callback(log, INT, x))(2.0)) == 4.0
    assert len(log.seen) == 1
    with pytest.raises(ct.errors.NotDifferentiableError):
        ct.grad(lambda x: io_callback(log, x, x))(2.0)


def test_effects_barrier():
    assert ct.effects_barrier() is None
