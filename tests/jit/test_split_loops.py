"""Loops that run over an axis in segments (paddings, pieces of concatenations): values are those of the interpreter."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def draw(*shape, dtype=np.float32, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 4
    return (x + 1j * x[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def check(function, *arguments):
    expected = ct.jit(function, backend="interpreter")(*arguments)
    for ours, theirs in zip(ct.tree.leaves(ct.jit(function)(*arguments)), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=1e-4)


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
