"""Functions of jax.lax that round, choose or describe: against JAX."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import ml_dtypes
import numpy as np
import pytest
from cotangent import lax
from needs import needed

jax = needed("jax")
rng = np.random.default_rng(0)

FORMATS = [(5, 10), (8, 7), (4, 3), (5, 2), (2, 0), (8, 0), (8, 23), (11, 52), (1, 1), (3, 30)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_reduce_precision(dtype):
    special = [np.nan, np.inf, -np.inf, 0, -0.0, 65504, 65520, 1e-8, 2.0**-126]
    x = np.concatenate([rng.standard_normal(1000) * 10.0 ** rng.integers(-38, 38, 1000), special])
    with np.errstate(all="ignore"):
        x = x.astype(np.float32).astype(getattr(ml_dtypes, dtype, dtype))
    ours = lambda x: [lax.reduce_precision(x, *bits) for bits in FORMATS]  # noqa: E731
    for results in (ours(x), ct.jit(ours)(x)):
        for actual, bits in zip(results, FORMATS, strict=True):
            expected = np.asarray(jax.lax.reduce_precision(jax.numpy.asarray(x), *bits)).astype(np.float32)
            np.testing.assert_array_equal(np.asarray(actual).astype(np.float32), expected, str(bits))
            nan = np.isnan(expected)
            np.testing.assert_array_equal(
                np.signbit(np.asarray(actual.astype("float32"))[~nan]), np.signbit(expected[~nan])
            )


def test_reduce_precision_under_transforms():
    x = np.array([1.0 + 2.0**-9, -3.3, 70000.0])
    y, t = ct.jvp(lambda x: lax.reduce_precision(x, 5, 8), (x,), (x * 3,))
    np.testing.assert_array_equal(np.float32(y), jax.lax.reduce_precision(np.float32(x), 5, 8))
    np.testing.assert_array_equal(t, x * 3)  # JAX rounds it as well
    gradient = ct.grad(lambda x: (lax.reduce_precision(x, 5, 4) * x).sum())(x)
    np.testing.assert_array_equal(gradient, x + np.asarray(lax.reduce_precision(x, 5, 4)))
    assert ct.vmap(lambda x: lax.reduce_precision(x, 5, 4))(x).shape == (3,)
    with pytest.raises(ct.errors.DTypeError, match="takes float arrays"):
        lax.reduce_precision(cnp.arange(2), 5, 10)
    with pytest.raises(ValueError, match="at least 1 exponent bit"):
        lax.reduce_precision(x, 0, 10)


@pytest.mark.parametrize(("padding", "strides"), [("SAME", (1, 1)), ("VALID", (2, 1)), ([(1, 0), (0, 2)], (1, 2))])
def test_convolution_with_filters_of_each_place(padding, strides):
    x = rng.standard_normal((2, 6, 5, 3)).astype(np.float32)
    numbers = ("NHWC", "HWIO", "NHWC")
    shape = lax.conv_general_dilated_patches(x, (3, 2), strides, padding, dimension_numbers=numbers).shape
    w = rng.standard_normal((shape[1], shape[2], 18, 4)).astype(np.float32)
    call = lambda m, x, w: m.conv_general_dilated_local(x, w, strides, padding, (3, 2), dimension_numbers=numbers)  # noqa: E731
    np.testing.assert_allclose(call(lax, x, w), call(jax.lax, x, w), rtol=1e-5, atol=1e-5)
    ours = ct.jit(ct.grad(lambda w: (call(lax, x, w) ** 2).sum()))(w)
    np.testing.assert_allclose(ours, jax.grad(lambda w: (call(jax.lax, x, w) ** 2).sum())(w), rtol=1e-4, atol=1e-4)
    with pytest.raises(ct.errors.ShapeError, match="the filters must have 18 inputs"):
        call(lax, x, w[:, :, :-1])


def test_shapes_of_convolutions():
    general = ((2, 5, 6, 3), (3, 2, 3, 4), (2, 1))
    numbers = ("NHWC", "HWIO", "NHWC")
    for name, arguments in [
        ("conv_general_shape_tuple", (*general, "SAME", numbers)),
        ("conv_general_shape_tuple", (*general, [(0, 1), (2, 0)], ("NHWC", "HWIO", "NCHW"))),
        ("conv_transpose_shape_tuple", (*general, "SAME", numbers)),
        ("conv_transpose_shape_tuple", (*general, "VALID", numbers)),
        ("conv_shape_tuple", ((4, 3, 5, 6), (4, 3, 3, 2), (2, 1), [(1, 1), (0, 0)], 2)),
        ("conv_general_permutations", (("NHWC", "HWIO", "NCHW"),)),
        ("reduce_window_shape_tuple", ((5, 7), (2, 3), (1, 2), [(0, 0), (1, 1)], (2, 1), (1, 2))),
    ]:
        assert tuple(getattr(lax, name)(*arguments)) == tuple(getattr(jax.lax, name)(*arguments)), name


def largest_with_position(module):
    def combine(a, b):
        first = a[0] >= b[0]
        return module.where(first, a[0], b[0]), module.where(first, a[1], b[1])

    return combine


def test_several_arrays_folded_together():
    y = rng.standard_normal((6, 7)).astype(np.float32)
    operands = (y, np.arange(42, dtype=np.int32).reshape(6, 7))
    init = (np.float32(-np.inf), np.int32(-1))
    for call in [
        lambda m, n: m.reduce_window(operands, init, largest_with_position(n), (2, 3), (2, 2), "SAME"),
        lambda m, n: m.reduce(operands, init, largest_with_position(n), (0,)),
        lambda m, n: m.reduce(operands, init, largest_with_position(n), (1, 0)),
    ]:
        for ours, theirs in zip(call(lax, cnp), call(jax.lax, jax.numpy), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(TypeError, match="must have the structure"):
        lax.reduce(operands, init[0], largest_with_position(cnp), (0,))


def test_positions_and_the_k_largest():
    z = np.arange(24).reshape(2, 3, 4)
    index = (np.array([0, 1, -1]), np.array([3, -1, 9]))
    np.testing.assert_array_equal(lax.index_take(z, index, (0, 2)), jax.lax.index_take(z, index, (0, 2)))
    y = rng.standard_normal((6, 7)).astype(np.float32)
    for ours, theirs in [
        (lax.approx_max_k(y, 3), jax.lax.approx_max_k(y, 3)),
        (lax.approx_min_k(y, 2, 0), jax.lax.approx_min_k(y, 2, 0)),
    ]:
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    with pytest.raises(NotImplementedError, match="aggregate_to_topk"):
        lax.approx_max_k(y, 3, aggregate_to_topk=False)


def test_functions_for_platforms_and_single_operands():
    assert lax.platform_dependent(2, cpu=lambda x: x + 1, cuda=lambda x: x) == 3
    assert lax.platform_dependent(2, cuda=lambda x: x + 1, default=lambda x: x - 1) == 1
    with pytest.raises(NotImplementedError, match="no function for the platform 'cpu'"):
        lax.platform_dependent(2, tpu=lambda x: x)
    assert lax.cond(True, lambda x: x + 1, lambda x: x, operand=2) == 3
    assert lax.switch(1, [lambda x: x, lambda x: x * 5], operand=2) == 10
    with pytest.raises(TypeError, match="not both"):
        lax.cond(True, lambda x: x, lambda x: x, 1, operand=2)


def test_negative_starts_may_be_left_alone():
    x = np.arange(10)
    slices = lambda m, start, wraps: m.dynamic_slice_in_dim(x, start, 3, allow_negative_indices=wraps)  # noqa: E731
    for start, wraps in [(-3, True), (4, True), (4, False)]:
        for given in (start, np.int32(start), cnp.asarray(start)):
            np.testing.assert_array_equal(slices(lax, given, wraps), slices(jax.lax, start, wraps))
    assert slices(lax, cnp.asarray(-3), False).tolist() == [0, 1, 2]  # clamped
    with pytest.raises(ValueError, match="allow_negative_indices is false"):
        slices(lax, -3, False)


def test_apply_goes_over_repeated_indices_again():
    x = np.arange(5, dtype=np.float32)
    f = lambda y: y * 2 + 1  # noqa: E731
    for index in [np.array([0, 1, 1, 1, 7]), np.array([[0, 1], [1, 1]]), 2, slice(1, 3), np.array([-1, 4])]:
        ours, theirs = cnp.asarray(x).at[index].apply(f), jax.numpy.asarray(x).at[index].apply(f)
        np.testing.assert_array_equal(ours, theirs)
    jitted = ct.jit(lambda x, i: x.at[i].apply(f))
    np.testing.assert_array_equal(jitted(x, np.array([0, 1, 1, 1])), [1, 15, 2, 3, 4])
    gradient = ct.grad(lambda x: x.at[np.array([1, 1])].apply(cnp.sin).sum())(x)
    np.testing.assert_allclose(gradient, [1, np.cos(np.sin(1)) * np.cos(1), 1, 1, 1], rtol=1e-6)


def test_windows_of_three_store_no_windows():
    x = np.ones((4, 8, 16, 16), np.float32)
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 1, 3, 3), (1, 1, 1, 1), "SAME")  # noqa: E731
    graph = ct.make_ir(ct.grad(lambda x: (pool(x) ** 2).sum()))(x)
    handle = getattr(graph, "_graph", graph)
    assert ct._core.compile_graph(handle, use_disk_cache=False).arena_bytes < 8 * x.nbytes
