"""Loops that run over an axis in segments (paddings, pieces of concatenations): values are those of the interpreter."""

from __future__ import annotations

from functools import partial

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def draw(*shape, dtype=np.float32, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 4
    return (x + 1j * x[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def check(function, *arguments, atol=1e-4):
    expected = ct.jit(function, backend="interpreter")(*arguments)
    for ours, theirs in zip(ct.tree.leaves(ct.jit(function)(*arguments)), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=atol)


def loops_of(function, *arguments):
    """As the processor has them, whatever device the tests run on."""
    with ct.default_device("cpu"):
        return ct.explain(function)(*arguments).loops


def branches(function, *arguments):
    return loops_of(function, *arguments).count(" if ")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.bool_, np.complex64])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pieces(dtype, axis):
    shapes = [[20, 30, 150] for _ in range(4)]
    for shape, size in zip(shapes, (7, 140, 1, 300), strict=True):
        shape[axis] = size
    pieces = [draw(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    for count in (2, 3, 4):
        check(lambda *xs: cnp.concatenate(xs, axis), *pieces[:count])


@pytest.mark.parametrize("low_high", [(3, 0), (0, 3), (200, 1), (-5, 4), (-5, -130)])
@pytest.mark.parametrize("interior", [0, 1])
def test_paddings_of_either_axis(low_high, interior):
    x = draw(150, 260)
    for axis in (0, 1):
        config = [(0, 0, 0), (0, 0, 0)]
        config[axis] = (*low_high, interior)
        check(lambda x: ct.lax.pad(x, 2.0, config), x)
    check(lambda x: ct.lax.pad(x, 2.0, [(*low_high, interior)] * 2), x)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap", "maximum", "linear_ramp"])
def test_modes_of_padding(mode):
    for widths in (3, ((2, 0), (0, 5)), ((0, 0), (150, 1))):
        check(lambda x: cnp.pad(x, widths, mode) * 2, draw(90, 160))


@pytest.mark.parametrize("shift", [1, -1, 130, -200, 0, 400])
def test_rolls_and_stencils(shift):
    x = draw(64, 400)
    check(lambda x: cnp.roll(x, shift, 1), x)
    check(lambda x: cnp.roll(x, (shift, 1), (1, 0)), x)
    check(lambda x: cnp.roll(x, shift, 1) + cnp.roll(x, -1, 1) - 2 * x + cnp.roll(x, 1, 0), x)
    check(lambda x: cnp.roll(x, shift), x)
    check(ct.grad(lambda x: (cnp.roll(x, shift, 1) * cnp.sin(x)).sum()), x)


def test_what_is_computed_from_pieces_and_what_they_are_computed_from():
    x, y = draw(50, 200), draw(50, 300, seed=1)
    check(lambda x, y: cnp.exp(-cnp.abs(cnp.concatenate([cnp.sin(x), y * 2], 1))) + 1, x, y)
    check(lambda x, y: cnp.concatenate([x, y], 1).sum(1), x, y)
    check(lambda x, y: cnp.concatenate([x, y], 1).sum(0), x, y)
    check(lambda x, y: cnp.concatenate([cnp.concatenate([x, y], 1), cnp.concatenate([y, x], 1)], 0).T, x, y)
    check(ct.vmap(lambda x, y: cnp.concatenate([x[1:], y, x[:1]])), x, y)


def test_long_segments_have_no_branches():
    assert branches(lambda x, y: cnp.concatenate([x, y], 1), draw(50, 200), draw(50, 300)) == 0
    assert branches(lambda x: cnp.pad(x, ((0, 0), (3, 4))), draw(50, 300)) == 0
    assert branches(lambda x: cnp.roll(x, 1, 1) + cnp.roll(x, -1, 1), draw(50, 300)) == 0
    # Rows of a few elements are one loop, with branches.
    assert branches(lambda x: cnp.pad(x, ((0, 0), (1, 1))), draw(5000, 4)) > 0


@pytest.mark.parametrize("shape", [(64, 300), (300, 64), (33, 129), (20, 30, 140), (4, 2, 3000)])
@pytest.mark.parametrize("shift", [cnp.fft.fftshift, cnp.fft.ifftshift])
def test_shifts_of_all_axes(shape, shift):
    x, weight = draw(*shape), draw(*shape, seed=1)
    check(shift, x)
    check(lambda x: shift(x * x) + 1, x)
    check(ct.grad(lambda x: (weight * shift(x)).sum()), x)


def test_segments_of_two_axes_are_written_at_once():
    x, row = draw(200, 300), draw(300)
    gradient = ct.grad(lambda x, row: (row * cnp.fft.fftshift(x)).sum())
    for function, arguments in [
        (cnp.fft.fftshift, (x,)),
        (gradient, (x, row)),
        (lambda x: cnp.block([[x, x + 1], [x * 2, cnp.abs(x)]]), (x,)),
        (lambda x: cnp.pad(x, ((150, 0), (0, 150))), (x,)),
    ]:
        check(function, *arguments)
        assert branches(function, *arguments) == 0
        assert ct.explain(function)(*arguments).scratch_bytes == 0


def test_few_nests_for_many_segments():
    x = draw(200, 300)
    both_sides = loops_of(lambda x: cnp.pad(x, 150), x)
    assert both_sides.count("for ") <= 6


def filtered(x, filters, padding, stride=1, spacing=1):
    """Each feature by a filter of its own."""
    pads = [(padding, padding)] * 2
    return ct.lax.conv_general_dilated(
        x, filters, (stride, stride), pads, rhs_dilation=(spacing, spacing), feature_group_count=x.shape[1]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.complex64])
@pytest.mark.parametrize(("size", "window", "padding", "stride", "spacing"), [
    (16, 3, 1, 1, 1), (40, 3, 1, 1, 1), (150, 3, 1, 1, 1), (24, 2, 1, 1, 1), (24, 5, 2, 1, 1), (24, 3, 2, 1, 2),
    (33, 3, 1, 2, 1), (32, 3, 0, 1, 1), (20, 7, 3, 1, 1), (9, 3, 8, 1, 1), (30, 1, 4, 3, 1), (24, 9, 4, 1, 1),
    (150, 9, 4, 1, 1), (40, 9, 8, 2, 2),
])  # fmt: skip
def test_windows_that_see_what_is_outside(dtype, size, window, padding, stride, spacing):
    x, filters = draw(2, 5, size, size + 3, dtype=dtype), draw(5, 1, window, window, dtype=dtype, seed=1)
    if dtype == np.float16:
        x, filters = x / 16, filters / 16
    function = partial(filtered, padding=padding, stride=stride, spacing=spacing)
    check(function, x, filters, atol=4e-3 if dtype == np.float16 else 1e-4)
    if np.dtype(dtype).kind == "f" and dtype != np.float16:
        check(ct.grad(lambda x, filters: (function(x, filters) ** 2).sum() / 64, (0, 1)), x, filters, atol=1e-3)


def test_windows_inside_are_computed_without_branches():
    # Filters of so many places are not written out as slices.
    x, filters = draw(1, 2, 160, 200), draw(2, 1, 9, 9, seed=1)
    loops = loops_of(partial(filtered, padding=4), x, filters).split("  for ")
    straight = [loop for loop in loops if " < 192 " in loop]
    assert straight and not any(" if " in loop for loop in straight)


@pytest.mark.parametrize("window", [(8, 8, 8), (3, 3, 3), (2, 9, 2), (1, 3, 9)])
def test_windows_are_written_out_for_a_few_places_whatever_their_rank(window):
    x = draw(2, 1, 20, 22, 24)
    function = lambda x: (ct.lax.conv_general_dilated_patches(x, window, (1, 1, 1), "SAME") ** 2).sum(1)  # noqa: E731
    check(function, x, atol=1e-2)
    assert loops_of(function, x).count("load") < 60


def test_what_is_outside_of_a_window_stays_zero_whatever_the_filter():
    filters = np.ones((4, 1, 3, 3), np.float32)
    filters[:, :, 0] = np.inf
    gradient = ct.jit(ct.grad(lambda x: filtered(x, filters, 1).sum()))(np.ones((2, 4, 40, 40), np.float32))
    # The last row is seen by two rows of the filter, which are finite.
    expected = np.full((2, 4, 40, 40), np.inf, np.float32)
    expected[:, :, -1] = 6.0
    expected[:, :, -1, [0, -1]] = 4.0
    np.testing.assert_array_equal(gradient, expected)


def test_a_shape_that_gains_or_loses_axes_of_one_element_is_read_without_divisions():
    x, row = draw(40, 30, 50), draw(30)
    function = lambda x, row: (x.reshape(40, 1, 30, 50) * row[:, None]).reshape(40, 30, 1, 50)[:, ::-1] + 1.0  # noqa: E731
    check(function, x, row)
    loops = loops_of(function, x, row)
    assert " div " not in loops and " rem " not in loops


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int8, np.complex64])
@pytest.mark.parametrize(("stride", "start"), [(2, 0), (2, 1), (3, 1), (4, 3), (5, 0)])
def test_spread_elements(dtype, stride, start):
    x = draw(6, 7, 83, dtype=dtype)
    config = [(0, 0, 0), (1, 2, 0), (start, 3, stride - 1)]
    check(lambda x: ct.lax.pad(x, dtype(2), config), x)
    check(lambda x: ct.lax.pad(x, dtype(0), [config[0], config[2], config[2]]), x)
    if np.dtype(dtype).kind == "f" and dtype != np.float16:
        check(ct.grad(lambda x: (x[..., start::stride] ** 2).sum() + (x[:, start::stride] ** 3).sum()), x)


@pytest.mark.parametrize(
    ("window", "stride", "padding"), [(2, 2, "VALID"), (3, 2, "SAME"), (3, 3, "SAME"), (5, 4, "SAME")]
)
def test_gradients_of_windows_with_strides(window, stride, padding):
    x, filters = draw(3, 6, 45, 52), draw(4, 6, window, window, seed=1)
    windows, strides = (1, 1, window, window), (1, 1, stride, stride)
    for combine, start in ((ct.lax.add, 0.0), (ct.lax.max, -np.inf)):
        pool = partial(ct.lax.reduce_window, init_value=start, computation=combine, window_dimensions=windows)
        check(ct.grad(lambda x, pool=pool: (pool(x, window_strides=strides, padding=padding) ** 2).sum()), x)
    apply = partial(ct.lax.conv_general_dilated, window_strides=(stride, stride), padding=padding)
    check(ct.grad(lambda x, filters: (apply(x, filters) ** 2).sum() / 64, (0, 1)), x, filters, atol=1e-3)
    spread = partial(ct.lax.conv_transpose, strides=(stride, stride), dimension_numbers=("NCHW", "HWIO", "NCHW"))
    check(lambda x, filters: spread(x, filters.transpose(2, 3, 1, 0), padding=padding), x, filters)


def test_spread_arrays_are_written_phase_by_phase_without_branches():
    loops = loops_of(ct.grad(lambda x: (x[:, ::2] ** 2).sum()), draw(64, 256))
    assert " if " not in loops and " rem " not in loops and loops.count("store out0[") == 2


@pytest.mark.parametrize(("source", "target"), [
    (np.int64, np.int32), (np.int64, np.int8), (np.int32, np.int8), (np.int32, np.uint16), (np.float64, np.float32),
    (np.float32, np.float16), (np.float32, np.int8), (np.int8, np.int64),
])  # fmt: skip
def test_strided_results_of_other_sizes_leave_their_neighbours_alone(source, target):
    for rows in (2, 3, 4, 5, 7, 8, 9, 16, 17):
        for columns in (2, 3, 4, 5, 7, 8, 16, 19):
            x = (draw(rows, columns) * 6).astype(source)
            function = lambda x: (cnp.maximum(x.T, 1) + x[0, 0] * 0).astype(target)  # noqa: E731
            np.testing.assert_array_equal(ct.jit(function)(x), np.maximum(x.T, 1).astype(target))
            padded = ct.jit(lambda x: ct.lax.pad(x.astype(target), target(0), [(0, 0, 0), (1, 0, 2)]))(x)
            expected = np.zeros((rows, 3 * columns - 1), target)
            expected[:, 1::3] = x.astype(target)
            np.testing.assert_array_equal(padded, expected)
