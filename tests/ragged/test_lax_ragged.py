"""Windows, scans and folds along ragged axes: what a mask gives equals the call without padding, and so do gradients."""

from __future__ import annotations

import itertools

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

BOUND = 9


def ragged(x, axes, fill):
    """The array in a larger one, with ``fill`` behind it."""
    shape = list(x.shape)
    for axis in axes:
        shape[axis] = BOUND
    data = np.full(shape, fill, x.dtype)
    data[tuple(slice(size) for size in x.shape)] = x
    return ct.Ragged(data, {axis: x.shape[axis] for axis in axes})


def check_law(f, x, axes, fill=np.nan, rtol=1e-5, differentiate=True):
    """unpad(mask(f)(pad(x), n)) == f(x); gradients agree, and are zero on padding."""
    padded = ragged(x, axes, fill)
    masked, plain = ct.mask(f)(padded), f(x)
    got = masked.unpad() if isinstance(masked, ct.Ragged) else masked
    assert got.shape == plain.shape
    np.testing.assert_allclose(got, plain, rtol=rtol, atol=1e-6)
    jitted = ct.jit(ct.mask(f))(padded)
    np.testing.assert_allclose(jitted.unpad() if isinstance(jitted, ct.Ragged) else jitted, plain, rtol=rtol, atol=1e-6)
    if not differentiate:
        return

    def loss(x):
        y = f(x)
        return cnp.sum(cnp.sin(y) * y)

    gradient = ct.jit(ct.grad(ct.mask(loss)))(padded)
    np.testing.assert_allclose(gradient.unpad(), ct.grad(loss)(x), rtol=1e-4, atol=1e-5)
    rest = np.array(gradient.data)
    rest[tuple(slice(size) for size in x.shape)] = 0
    assert not rest.any()


rng = np.random.default_rng(3)


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


FILTERS = draw(4, 2, 3)
PADDINGS = ["SAME", "SAME_LOWER", "VALID", [(2, 1)], [(0, -1)]]


@pytest.mark.parametrize("n", [0, 1, 3, 7, BOUND])
@pytest.mark.parametrize(("padding", "stride"), list(itertools.product(PADDINGS, [1, 2, 3])))
def test_convolutions_end_at_the_length(padding, stride, n):
    check_law(lambda x: lax.conv_general_dilated(x, FILTERS, (stride,), padding), draw(2, 2, n), [2])


@pytest.mark.parametrize("n", [2, 5])
def test_convolutions_with_dilations(n):
    check_law(
        lambda x: lax.conv_general_dilated(x, FILTERS, (2,), [(3, 2)], lhs_dilation=(2,), rhs_dilation=(2,)),
        draw(2, 2, n), [2],
    )  # fmt: skip
    spread = draw(3, 2, 4)
    check_law(lambda x: lax.conv_transpose(x, spread, (2,), "SAME"), draw(2, n, 2), [1])
    with pytest.raises(NotImplementedError, match="both a stride and a dilation"):
        ct.mask(lambda x: lax.conv_general_dilated(x, FILTERS, (2,), "SAME", lhs_dilation=(2,)))(
            ragged(draw(2, 2, n), [2], 0)
        )


def test_two_ragged_axes_and_ragged_batches():
    kernel = draw(3, 3, 2, 5)
    numbers = ("NHWC", "HWIO", "NHWC")
    x = draw(2, 5, 7, 2)
    check_law(lambda x: lax.conv_general_dilated(x, kernel, (2, 1), "SAME", dimension_numbers=numbers), x, [1, 2])
    check_law(lambda x: lax.conv_general_dilated(x, kernel, (1, 2), "VALID", dimension_numbers=numbers), x, [0, 2])
    check_law(lambda x: lax.conv_general_dilated_patches(x, (3,), (2,), "SAME"), draw(2, 2, 5), [2])
    rows = [draw(2, n) for n in (1, 4, 8)]
    batch = ct.vmap(ct.mask(lambda x: lax.conv_general_dilated(x[None], FILTERS, (2,), "SAME")[0]))(
        ct.ragged(rows, bound=BOUND)
    )
    for got, row in zip(batch.to_list(), rows, strict=True):
        want = lax.conv_general_dilated(row[None], FILTERS, (2,), "SAME")[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


POOLS = {
    "max": lambda x, *how: lax.reduce_window(x, -np.inf, lax.max, *how),
    "min": lambda x, *how: lax.reduce_window(x, np.inf, lax.min, *how),
    "sum": lambda x, *how: lax.reduce_window(x, 0.0, lax.add, *how),
    "own": lambda x, *how: lax.reduce_window(x, 1.0, lambda a, b: a * b + 0 * a, *how),
}


@pytest.mark.parametrize("n", [1, 4, BOUND])
@pytest.mark.parametrize(
    ("pool", "padding", "stride"),
    list(itertools.product(POOLS, ["SAME", "VALID", [(1, 1), (0, 0)]], [1, 2])),
)
def test_pooling_ends_at_the_length(pool, padding, stride, n):
    if pool == "own" and (stride == 1 or n == BOUND):
        pytest.skip("slow, and no different")
    check_law(lambda x: POOLS[pool](x, (3, 1), (stride, 1), padding), draw(n, 2), [0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, BOUND])
def test_associative_scans(n, reverse):
    check_law(lambda x: lax.associative_scan(lambda a, b: a / (1 + b * b) + b, x, reverse), draw(n, 2), [0])
    check_law(lambda x: lax.associative_scan(cnp.maximum, x, reverse, axis=1), draw(2, n), [1])
    pair = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])  # noqa: E731
    check_law(lambda x: lax.associative_scan(pair, (x, 2 * x), reverse)[1], draw(n, 2), [0])


@pytest.mark.parametrize("n", [1, 4, BOUND])
def test_folds_of_ragged_axes(n):
    x = rng.integers(0, 200, (n, 3)).astype(np.uint8)
    for fold in (lax.reduce_and, lax.reduce_or, lax.reduce_xor):
        check_law(lambda x, fold=fold: fold(x, (0,)), x, [0], fill=85, differentiate=False)
        check_law(lambda x, fold=fold: fold(x, (0, 1)), x, [0, 1], fill=85, differentiate=False)
    check_law(lambda x: lax.reduce(x, 0.0, lambda a, b: a + b * 1.0, (0,)), draw(n, 3), [0])
    check_law(lambda x: lax.reduce(x, 0.0, lambda a, b: cnp.hypot(a, b), (0, 1)), draw(n, 3), [0, 1])
