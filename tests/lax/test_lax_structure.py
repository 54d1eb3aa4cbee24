"""Dynamic slices, sorting and running reductions of lax, against JAX."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core
from needs import needed

jax = needed("jax")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 6)).astype(np.float32)
U = RNG.standard_normal((2, 3)).astype(np.float32)


@pytest.mark.parametrize("start", [(0, 0), (1, 2), (9, 9), (-3, 1), (-9, -1)])
def test_dynamic_slices_count_from_the_end_and_are_clamped(start: Any) -> None:
    traced = [np.int32(s) for s in start]
    for f in (lambda g: g, ct.jit):
        found = f(lambda x, i, j: ct.lax.dynamic_slice(x, (i, j), (2, 3)))(X, *traced)
        np.testing.assert_array_equal(found, jax.lax.dynamic_slice(X, start, (2, 3)))
        found = f(lambda x, u, i, j: ct.lax.dynamic_update_slice(x, u, (i, j)))(X, U, *traced)
        np.testing.assert_array_equal(found, jax.lax.dynamic_update_slice(X, U, start))
    np.testing.assert_array_equal(ct.lax.dynamic_slice(X, start, (2, 3)), jax.lax.dynamic_slice(X, start, (2, 3)))


@pytest.mark.parametrize("index", [0, 3, 8, -2])
def test_slices_along_one_axis(index: int) -> None:
    for axis in (0, 1, -1):
        for name, arguments in [
            ("dynamic_slice_in_dim", (X, index, 2, axis)),
            ("dynamic_index_in_dim", (X, index, axis)),
            ("dynamic_index_in_dim", (X, index, axis, False)),
            ("dynamic_update_slice_in_dim", (X, np.take(X, [1, 0], axis), index, axis)),
            ("dynamic_update_index_in_dim", (X, np.take(X, 2, axis), index, axis)),
        ]:
            expected = getattr(jax.lax, name)(*arguments)
            np.testing.assert_array_equal(getattr(ct.lax, name)(*arguments), expected, err_msg=name)


def test_starts_that_differ_by_example() -> None:
    starts = np.array([0, 3, -1, 7], np.int32)
    f = lambda lax, s: lax.dynamic_slice(X, (s, np.int32(1)), (2, 3))  # noqa: E731
    expected = jax.vmap(lambda s: f(jax.lax, s))(starts)
    np.testing.assert_array_equal(ct.jit(ct.vmap(lambda s: f(ct.lax, s)))(starts), expected)


def test_wrong_starts_are_errors() -> None:
    with pytest.raises(ct.errors.ShapeError, match="one start for each of 2 axes"):
        ct.lax.dynamic_slice(X, (0,), (2, 3))
    with pytest.raises(ct.errors.DTypeError, match="starts must be integers"):
        ct.lax.dynamic_slice(X, (0.5, 0), (2, 3))
    with pytest.raises(ct.errors.ShapeError, match="a window of 9 elements does not fit"):
        ct.lax.dynamic_slice(X, (0, 0), (9, 3))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64", "int64", "bool", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 7, 100, 1000, 5000])
def test_sort_is_jax_sort(dtype: str, size: int) -> None:
    """Above 96 and 4096 elements with other digits of the radix sort; few of many by selection."""
    with jax.enable_x64(True):
        x = (RNG.standard_normal(size) * 100).astype(dtype)
        if np.dtype(dtype).kind == "f" and size > 5:
            x[:5] = [np.nan, -0.0, np.inf, 0.0, -np.inf]
        found, expected = np.asarray(ct.jit(ct.lax.sort)(x)), np.asarray(jax.lax.sort(x))
        np.testing.assert_array_equal(found, expected)
        if np.dtype(dtype).kind == "f":
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
        if dtype not in ("bool", "complex64"):
            for k in {0, min(3, size), size}:
                x = RNG.permutation(np.arange(size) // 2).astype(dtype)
                for a, b in zip(ct.lax.top_k(x, k), jax.lax.top_k(x, k), strict=True):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "uint8", "uint64"])
@pytest.mark.parametrize(("size", "k"), [(9, 1), (9, 2), (300, 0), (300, 1), (1000, 10), (1000, 249), (5000, 100)])
def test_the_first_few_of_many_are_those_of_the_whole_order(dtype: str, size: int, k: int) -> None:
    rng = np.random.default_rng(size)
    for scale in (3, 100):  # few and many equal elements
        x = np.abs(np.round(rng.normal(size=(3, size)) * scale)).astype(dtype)
        if x.dtype.kind == "f":
            x[:, ::7], x[:, 1::5], x[0, 2::3] = np.nan, -0.0, np.inf
        values, places = ct.lax.top_k(ct.numpy.array(x), k)
        order = np.asarray(ct.numpy.argsort(ct.numpy.array(x), axis=1, descending=True, stable=True))[:, :k]
        np.testing.assert_array_equal(np.asarray(places), order)
        np.testing.assert_array_equal(np.asarray(values), np.take_along_axis(x, order, 1))


def test_sort_by_several_keys() -> None:
    keys = RNG.integers(0, 5, (4, 300, 3)).astype(np.int32)
    values = RNG.standard_normal(keys.shape).astype(np.float32)
    order = np.arange(keys.size, dtype=np.int32).reshape(keys.shape)
    found = ct.jit(lambda *xs: ct.lax.sort(xs, dimension=1, num_keys=2))(keys, values, order)
    for a, b in zip(found, jax.lax.sort((keys, values, order), dimension=1, num_keys=2), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(ct.lax.sort_key_val(keys, order), jax.lax.sort_key_val(keys, order), strict=True):
        np.testing.assert_array_equal(a, b)


def test_gradients_follow_the_order() -> None:
    x = RNG.permutation(12).astype(np.float64).reshape(3, 4)
    weights = RNG.standard_normal((3, 2))
    f = lambda x: (ct.lax.top_k(x, 2)[0] * weights).sum()  # noqa: E731
    ct.test_util.check_grads(f, (x,), order=2)
    ct.test_util.check_grads(lambda x: ct.lax.top_k(x, 1, axis=0)[0] ** 3, (x,), order=2)
    ct.test_util.check_grads(lambda x: ct.lax.sort(x, 0) ** 2, (x,), order=2)


def test_the_padding_of_ragged_arrays_is_sorted_last() -> None:
    x = ct.Ragged(np.array([2, np.inf, np.nan, -1, -99, 99], np.float32), {0: 4})
    np.testing.assert_array_equal(ct.mask(ct.lax.sort)(x).unpad(), np.array([-1, 2, np.inf, np.nan], np.float32))
    values, places = ct.mask(lambda x: ct.lax.top_k(x, 2))(x)
    np.testing.assert_array_equal(values, np.array([np.nan, np.inf], np.float32))
    np.testing.assert_array_equal(places, [2, 1])
    first = ct.mask(lambda x: ct.lax.top_k(x, 1))(x)
    assert (np.isnan(first[0]).tolist(), first[1].tolist()) == ([True], [2])
    rows = ct.Ragged(np.array([[1.0, 3.0, 2.0], [np.nan] * 3]), {0: 1})
    assert ct.mask(lambda x: ct.lax.top_k(x, 1))(rows)[0].unpad().tolist() == [[3.0]]


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extrema(name: str) -> None:
    x = RNG.integers(0, 3, (4, 5)).astype(np.float32)
    for axis in (0, 1):
        found, expected = getattr(ct.lax, name)(x, axis, np.int32), getattr(jax.lax, name)(x, axis, np.int32)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
def test_running_reductions_of_weak_operands_are_weak(name: str) -> None:
    weak = ct.jit(lambda: 1.5)() * cnp.array(ct.jit(lambda: 2.0)())
    for x in (ct.lax.broadcast(weak, (3,)), cnp.ones(3)):
        f = getattr(ct.lax, name)
        assert f(x).weak_type is ct.jit(f)(x).weak_type is ct.make_ir(f)(x).out_avals[0][2] is x.weak_type
    of_arrays = {"cumsum": cnp.cumsum, "cumprod": cnp.cumprod, "cummax": cnp.maximum.accumulate}
    if name in of_arrays:
        assert not of_arrays[name](ct.lax.broadcast(weak, (3,))).weak_type


OVER = (((1,), (0,)), ((), ()))
WINDOWS = ((2, 2), (1, 1), "VALID")
# Of arrays of weak dtypes: what follows them, and what is of a dtype that is not weak.
OF_WEAK: dict[str, Any] = {
    **{
        name: lambda lax, x, name=name: getattr(lax, name)(x, (0,))
        for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")
    },
    "reduce_sum over nothing": lambda lax, x: lax.reduce_sum(x, ()),
    "reduce_or over nothing": lambda lax, x: lax.reduce_or(x, ()),
    "reduce": lambda lax, x: lax.reduce(x, x[0, 0] * 0, lax.add, (0,)),
    "reduce from a strong value": lambda lax, x: lax.reduce(x, np.zeros((), x.dtype), lax.add, (0,)),
    "reduce by a function": lambda lax, x: lax.reduce(x, x[0, 0], lambda a, b: a * b + a * 0, (0,)),
    "reduce_window": lambda lax, x: lax.reduce_window(x, x.dtype.type(0).item(), lax.add, *WINDOWS),
    "reduce_window from a strong value": lambda lax, x: lax.reduce_window(x, np.zeros((), x.dtype), lax.add, *WINDOWS),
    "reduce_window by a function": lambda lax, x: lax.reduce_window(x, x[0, 0], lambda a, b: a * b + a * 0, *WINDOWS),
    "dot": lambda lax, x: lax.dot(x, x),
    "dot with a strong one": lambda lax, x: lax.dot(x, lax.convert_element_type(x, x.dtype)),
    "dot of a preferred dtype": lambda lax, x: lax.dot(x, x, preferred_element_type=np.float32),
    "dot_general": lambda lax, x: lax.dot_general(x, x, OVER),
    "batch_matmul": lambda lax, x: lax.batch_matmul(x[None], x[None]),
    "conv": lambda lax, x: lax.conv(x[None, None], x[None, None], (1, 1), "SAME"),
    "conv with a strong one": lambda lax, x: lax.conv(
        x[None, None], lax.convert_element_type(x, x.dtype)[None, None], (1, 1), "SAME"
    ),
    "reduce_precision": lambda lax, x: lax.reduce_precision(x, 5, 10),
    "nextafter": lambda lax, x: lax.nextafter(x, x),
    "population_count": lambda lax, x: lax.population_count(x),
    "clz": lambda lax, x: lax.clz(x),
    "mulhi": lambda lax, x: lax.mulhi(x, x),
    "dynamic_update_slice": lambda lax, x: lax.dynamic_update_slice(x, x[:2, :2], (0, 0)),
    "associative_scan": lambda lax, x: lax.associative_scan(lax.add, x),
    "associative_scan of one": lambda lax, x: lax.associative_scan(lax.add, x[:1]),
    "cumlogsumexp": lambda lax, x: lax.cumlogsumexp(x),
}
FLOATS_ALONE = {"reduce_precision", "nextafter", "cumlogsumexp"}
INTEGERS_ALONE = {"reduce_and", "reduce_or", "reduce_xor", "reduce_or over nothing", "population_count", "clz", "mulhi"}


@pytest.mark.parametrize("name", OF_WEAK)
def test_results_are_weak_where_those_of_jax_are(name: str) -> None:
    f = OF_WEAK[name]
    numbers = [2] if name in INTEGERS_ALONE else [2.0] if name in FLOATS_ALONE else [2, 2.0]
    for number in numbers:
        weak, expected = (
            ct.lax.broadcast(cnp.asarray(number), (4, 4)),
            jax.lax.broadcast(jax.numpy.asarray(number), (4, 4)),
        )
        strong, other = (
            convert(x, x.dtype)
            for convert, x in ((ct.lax.convert_element_type, weak), (jax.lax.convert_element_type, expected))
        )
        for x, y in ((weak, expected), (strong, other)):
            assert x.weak_type == y.weak_type
            wanted, found = f(jax.lax, y), [f(ct.lax, x), ct.jit(lambda x: f(ct.lax, x))(x)]
            for result in found:
                assert (result.weak_type, result.dtype) == (wanted.weak_type, wanted.dtype)
                np.testing.assert_allclose(result, wanted, rtol=1e-6)
    if isinstance(numbers[-1], float):
        total = lambda x: (f(ct.lax, x) * 1.0).sum()  # noqa: E731
        strong = ct.lax.convert_element_type(weak, weak.dtype)
        np.testing.assert_array_equal(ct.grad(total)(weak), ct.grad(total)(strong))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_complex_numbers_are_of_real_parts_then_of_imaginary_ones(name: str, reverse: bool) -> None:
    x = np.random.default_rng(0).integers(-2, 3, (2, 30, 3)).astype(np.float64)
    x = (x[0] + 1j * x[1]).astype(np.complex64)
    fold = getattr(np, name)
    expected = np.array([fold(x[i:] if reverse else x[: i + 1], axis=0) for i in range(30)])
    for run in (lambda f: f, ct.jit):
        np.testing.assert_array_equal(run(lambda x: getattr(ct.lax, f"cum{name}")(x, 0, reverse))(x), expected)
        np.testing.assert_array_equal(run(lambda x: getattr(ct.lax, f"reduce_{name}")(x, (0,)))(x), fold(x, axis=0))
    assert np.isnan(complex(getattr(ct.lax, f"reduce_{name}")(np.array([1, np.nan, 2j]), (0,))))
    empty = getattr(ct.lax, f"reduce_{name}")(np.zeros((0, 2), np.complex64), (0,))
    assert empty.tolist() == [-np.inf if name == "max" else np.inf] * 2


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_reductions_and_their_jacobians(name: str) -> None:
    # Ties and a zero.
    x = np.array([[1, 1, 2], [2, 2, 0], [2, 1, 3], [0, 2, 2]], np.float32)
    for axis in (0, 1):
        for reverse in (False, True):
            ours = lambda x: getattr(ct.lax, name)(x, axis, reverse)  # noqa: E731
            theirs = lambda x: getattr(jax.lax, name)(x, axis, reverse)  # noqa: E731
            np.testing.assert_allclose(ct.jit(ours)(x), theirs(x))
            np.testing.assert_allclose(ct.jit(ct.jacrev(ours))(x), jax.jacobian(theirs)(x))


def test_the_update_of_a_carried_array_copies_nothing() -> None:
    def f(x: Any, us: Any) -> Any:
        def body(carry: Any, step: Any) -> Any:
            i, u = step
            old = ct.lax.dynamic_index_in_dim(carry, i, keepdims=False)
            return ct.lax.dynamic_update_index_in_dim(carry, 2 * old + u, i, 0), ()

        return ct.lax.scan(body, x, (ct.numpy.arange(10), us))[0]

    x, us = RNG.standard_normal((100, 16)).astype(np.float32), RNG.standard_normal((10, 16)).astype(np.float32)
    text = _core.compile_graph(ct.make_ir(f)(x, us)).loop_text()
    assert text.count("copy ") == 1, "only the input is copied, once"
    expected = x.copy()
    expected[:10] = 2 * x[:10] + us
    np.testing.assert_allclose(ct.jit(f)(x, us), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["set", "add", "subtract", "multiply", "divide", "power", "min", "max"])
@pytest.mark.parametrize("where", ["repeated", "pairs", "slice", "static", "mixed"])
def test_updates_at_an_index(name: str, where: str) -> None:
    """Where indices repeat, every update counts; of ``set`` the last one."""
    index: Any = {
        "repeated": np.array([[1, 3], [3, -1]], np.int32),
        "pairs": (np.array([0, 4, 0], np.int32), np.array([5, 2, 5], np.int32)),
        "slice": (slice(1, 4), slice(None, None, 2)),
        "static": (2, -1),
        "mixed": (slice(1, None), np.array([0, 2, 0], np.int32)),
    }[where]
    x = RNG.uniform(0.5, 2.0, (5, 6)).astype(np.float32)
    values = RNG.uniform(0.5, 2.0, x[index].shape).astype(np.float32)
    ours = lambda x, v: getattr(x.at[index], name)(v)  # noqa: E731
    expected = getattr(jax.numpy.asarray(x).at[index], name)(values)
    for f in (ours, ct.jit(ours)):
        np.testing.assert_allclose(f(ct.numpy.asarray(x), values), expected, rtol=1e-5)
    ct.test_util.check_grads(ours, (x.astype(np.float64), values.astype(np.float64)), order=1, modes=["rev"])
    whole = (x * 10).astype(np.int32), np.ceil(values).astype(np.int32)
    if name != "divide":
        expected = getattr(jax.numpy.asarray(whole[0]).at[index], name)(whole[1])
        np.testing.assert_array_equal(ours(ct.numpy.asarray(whole[0]), whole[1]), expected)


G, S = "GatherDimensionNumbers", "ScatterDimensionNumbers"
OPERAND = RNG.standard_normal((4, 5, 3)).astype(np.float32)
# Dimension numbers, slice sizes, indices; some of these lie outside.
SLICES = [
    (((1, 2), (0,), (0,)), (1, 5, 3), [[2], [0], [2], [7], [-1]]),
    (((0, 1, 2), (), (0, 1)), (2, 2, 3), [[1, 2], [3, 0], [0, 3], [1, 1]]),
    (((1,), (0, 1), (1, 0)), (1, 1, 3), [[4, 1], [0, 0], [4, 1]]),
    (((2,), (0, 1), (0, 1)), (1, 1, 2), [[[1, 2], [3, 4]], [[0, 0], [9, 0]]]),
    (((1,), (1,), (1,), (0,), (0,)), (1, 1, 3), [[1], [4], [0], [6]]),
]


@pytest.mark.parametrize("mode", [None, "clip", "fill"])
@pytest.mark.parametrize(("numbers", "sizes", "indices"), SLICES)
def test_gather_with_dimension_numbers(numbers: Any, sizes: Any, indices: Any, mode: Any) -> None:
    at = np.array(indices, np.int32)
    ours = lambda x: ct.lax.gather(x, at, getattr(ct.lax, G)(*numbers), sizes, mode=mode)  # noqa: E731
    expected = jax.lax.gather(OPERAND, at, getattr(jax.lax, G)(*numbers), sizes, mode=mode)
    for f in (ours, ct.jit(ours)):
        np.testing.assert_array_equal(f(OPERAND), expected)


@pytest.mark.parametrize("mode", [None, "clip"])
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"])
@pytest.mark.parametrize(("numbers", "sizes", "indices"), SLICES)
def test_scatters_with_dimension_numbers(name: str, numbers: Any, sizes: Any, indices: Any, mode: Any) -> None:
    at = np.array(indices, np.int32)
    shape = jax.lax.gather(OPERAND, at, getattr(jax.lax, G)(*numbers), sizes, mode="clip").shape
    updates = np.asarray(RNG.standard_normal(shape), np.float32)
    ours = lambda x, u: getattr(ct.lax, name)(x, at, u, getattr(ct.lax, S)(*numbers), mode=mode)  # noqa: E731
    expected = getattr(jax.lax, name)(OPERAND, at, updates, getattr(jax.lax, S)(*numbers), mode=mode)
    for f in (ours, ct.jit(ours)):
        np.testing.assert_allclose(f(OPERAND, updates), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(size: int, reverse: bool) -> None:
    a, b = RNG.uniform(0.5, 1, (2, size)), RNG.standard_normal((2, size))

    def affine(x: Any, y: Any) -> Any:
        return {"a": x["a"] * y["a"], "b": y["a"] * x["b"] + y["b"]}

    elems = {"a": a.astype(np.float32), "b": b.astype(np.float32)}
    found = ct.jit(lambda e: ct.lax.associative_scan(affine, e, reverse, 1))(elems)
    expected = jax.lax.associative_scan(affine, elems, reverse, 1) if size else elems
    for key, value in found.items():
        np.testing.assert_allclose(value, expected[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_cumlogsumexp(reverse: bool) -> None:
    x = np.array([[1.0, -np.inf, 300.0, 2.0], [0.0, 1.0, -5.0, 4.0]], np.float32)
    for axis in (0, 1):
        expected = jax.lax.cumlogsumexp(x, axis, reverse)
        np.testing.assert_allclose(ct.jit(lambda x: ct.lax.cumlogsumexp(x, axis, reverse))(x), expected, rtol=1e-6)
    ct.test_util.check_grads(lambda x: ct.lax.cumlogsumexp(x, 0, reverse), (RNG.standard_normal(5),), order=2)
    ragged = ct.Ragged(np.array([0.5, 1.0, 2.0, np.nan], np.float32), {0: 3})
    found = ct.mask(lambda x: ct.lax.cumlogsumexp(x, 0, reverse))(ragged).unpad()
    np.testing.assert_allclose(found, jax.lax.cumlogsumexp(np.array([0.5, 1, 2], np.float32), 0, reverse), rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "mul", "max", "min"])
def test_reduce_recognises_its_function(name: str) -> None:
    x, init = RNG.standard_normal((3, 4, 2)).astype(np.float32), np.float32(0.5)
    expected = jax.lax.reduce(x, init, getattr(jax.lax, name), (0, 2))
    f = lambda x: ct.lax.reduce(x, init, getattr(ct.lax, name), (0, 2))  # noqa: E731
    np.testing.assert_allclose(ct.jit(f)(x), expected, rtol=1e-5)
    assert "scan" not in ct.make_ir(f)(x).text()


def test_reductions_by_other_functions_and_of_bits() -> None:
    x = RNG.integers(0, 100, (3, 5, 2)).astype(np.int32)
    other = ct.lax.reduce(x, np.int32(1), lambda a, b: (a * b) % 7, (0, 1))
    np.testing.assert_array_equal(other, np.prod(x.astype(object) % 7, (0, 1)) % 7)
    for name, ufunc in [("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)]:
        for axes in [(0,), (0, 2), (0, 1, 2)]:
            np.testing.assert_array_equal(getattr(ct.lax, f"reduce_{name}")(x, axes), ufunc.reduce(x, axes))
        empty = np.zeros((0, 2), np.uint8)
        np.testing.assert_array_equal(getattr(ct.lax, f"reduce_{name}")(empty, (0,)), ufunc.reduce(empty, 0))


@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((3, 5), 1), ((4, 3), 0), ((1,), 0), ((16,), 0)])
def test_exported_programs_sort_by_a_network(shape: Any, axis: int, tmp_path: Any) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    if x.size > 4:
        x.flat[:4] = [1.0, 1.0, np.nan, -np.inf]

    def f(x: Any) -> Any:
        return (ct.lax.sort(x, axis), *ct.lax.top_k(x, min(2, shape[axis]), axis=axis))

    ct.export.compile(f, x, name="step").save(tmp_path)
    for found, expected in zip(ct.export.load(tmp_path)(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "bfloat16", "float8_e4m3fn", "float32", "complex64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_many_pieces_are_joined(dtype: str, axis: int) -> None:
    sizes = [i % 4 for i in range(40)]  # some have no elements
    values = [RNG.integers(0, 2 if dtype == "bool" else 9, (n, 3) if axis == 0 else (3, n)) for n in sizes]
    pieces = [np.asarray(value).astype(_core.canonical_dtype(dtype)) for value in values]
    found = ct.jit(lambda pieces: ct.numpy.concatenate(pieces, axis))(pieces)
    assert found.dtype == _core.canonical_dtype(dtype)
    np.testing.assert_array_equal(np.asarray(found), np.concatenate(pieces, axis))


def test_derivatives_and_batches_of_many_pieces() -> None:
    def f(x: Any) -> Any:
        many = ct.numpy.concatenate([x[i : i + 2] * (i + 1.5) for i in range(20)])
        return ct.numpy.sum(ct.numpy.stack([many[i] ** 2 for i in range(0, 40, 2)]) * many[1::2])

    x = RNG.standard_normal(22)
    ct.test_util.check_grads(f, (x,), order=2)
    rows = RNG.standard_normal((3, 22)).astype(np.float32)
    gradient = ct.jit(ct.grad(f))
    np.testing.assert_allclose(ct.jit(ct.vmap(ct.grad(f)))(rows), [gradient(row) for row in rows], rtol=1e-5)
    with ct.disable_jit():
        np.testing.assert_allclose(ct.grad(f)(rows[0]), gradient(rows[0]), rtol=1e-5)


@pytest.mark.parametrize(
    ("numbers", "sizes", "message"),
    [
        (((1,), (5,), (0,)), (1, 3), "axes left out of the slices .* must be distinct axes"),
        (((1,), (0,), (2,)), (1, 3), "indexed axes .* must be distinct axes"),
        (((1,), (0,), (0,)), (2, 3), "axis 0 is left out of the slices, so their size there must be 1; got 2"),
        (((1,), (), (1,), (0,), (1,)), (1, 3), "of the indices must be distinct axes"),
        (((1,), (), (1,), (0,), (0,)), (1, 3), "must have the same sizes"),
        (((1,), (), (0,), (0,), (0,)), (1, 3), "must be disjoint"),
        (((1,), (0,), (1,), (0,), (0,)), (1, 3), "must be disjoint"),
    ],
)
def test_dimension_numbers_that_name_no_axes(numbers: Any, sizes: Any, message: str) -> None:
    x, indices = cnp.arange(12.0).reshape(4, 3), cnp.zeros((5, 1), "int32")
    with pytest.raises(ct.errors.ShapeError, match=message):
        ct.lax.gather(x, indices, ct.lax.GatherDimensionNumbers(*numbers), sizes)
    scatter = ct.lax.ScatterDimensionNumbers((3,), (0,), (0,))
    with pytest.raises(ct.errors.ShapeError, match="must be axes of the updates"):
        ct.lax.scatter(x, indices, cnp.zeros((5, 3)), scatter)
