"""Convolutions whose windows are made a block of places at a time (jit/schedule/gather_in_blocks): values, memory, threads."""

from __future__ import annotations

from functools import partial

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

FIRST = ("NCHW", "OIHW", "NCHW")
LAST = ("NHWC", "HWIO", "NHWC")


def draw(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def operands(layout, batch, channels, size, outputs, window, dtype=np.float32):
    x = draw(batch, channels, size, size, dtype=dtype)
    filters = draw(outputs, channels, window, window, dtype=dtype, seed=1) / np.sqrt(channels * window**2).astype(dtype)
    if layout == LAST:
        return np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.ascontiguousarray(filters.transpose(2, 3, 1, 0))
    return x, filters


def convolution(x, filters, layout, stride=1, padding="SAME"):
    return ct.lax.conv_general_dilated(x, filters, (stride, stride), padding, dimension_numbers=layout)


def reference(x, filters, layout, stride, padding):
    """In float64, a place of the window after the other."""
    x, filters = np.float64(x), np.float64(filters)
    if layout == FIRST:
        x, filters = x.transpose(0, 2, 3, 1), filters.transpose(2, 3, 1, 0)
    window, size = filters.shape[0], x.shape[1]
    if padding == "SAME":
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        padding = [(total // 2, total - total // 2)] * 2
    x = np.pad(x, [(0, 0), *padding, (0, 0)])
    rows, columns = ((length - window) // stride + 1 for length in x.shape[1:3])
    result = sum(
        x[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride] @ filters[i, j]
        for i in range(window)
        for j in range(window)
    )
    return result.transpose(0, 3, 1, 2) if layout == FIRST else result


CASES = [
    (16, 16, 64, 32, 3, 1, "SAME"), (7, 32, 33, 24, 3, 2, "SAME"), (5, 3, 128, 32, 7, 2, [(3, 3), (3, 3)]),
    (1, 64, 64, 64, 3, 1, [(0, 0), (0, 0)]), (17, 48, 20, 40, 5, 1, "SAME"), (3, 16, 61, 16, 3, 1, [(0, 2), (1, 0)]),
    (37, 40, 12, 8, 3, 1, "SAME"),
]  # fmt: skip


@pytest.mark.parametrize("layout", [FIRST, LAST])
@pytest.mark.parametrize(("batch", "channels", "size", "outputs", "window", "stride", "padding"), CASES)
def test_values_and_derivatives(layout, batch, channels, size, outputs, window, stride, padding):
    x, filters = operands(layout, batch, channels, size, outputs, window)
    apply = partial(convolution, layout=layout, stride=stride, padding=padding)
    expected = reference(x, filters, layout, stride, padding)
    result = ct.jit(apply)(x, filters)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=2e-5)

    # The derivative by a direction in the filters, and by one in the input: sums over all places.
    weights = draw(*result.shape, seed=2)
    by_x, by_filters = ct.jit(ct.grad(lambda x, filters: (apply(x, filters) * weights).sum(), (0, 1)))(x, filters)
    for gradient, place in ((by_x, 0), (by_filters, 1)):
        direction = draw(*gradient.shape, seed=3)
        moved = [x, filters]
        moved[place] = direction
        change = np.float64(weights) * reference(*moved, layout, stride, padding)
        actual = np.vdot(np.float64(gradient), np.float64(direction))
        # As many terms as there are, of either sign.
        np.testing.assert_allclose(
            actual, change.sum(), rtol=1e-5, atol=2e-6 * np.sqrt((change**2).sum() * change.size) ** 0.5
        )


@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_float64_and_mixed_readers(layout):
    x, filters = operands(layout, 8, 24, 40, 24, 3, np.float64)
    apply = partial(convolution, layout=layout)
    both = ct.jit(lambda x, filters: (apply(x, filters), apply(x, filters * 2)))
    first, second = both(x, filters)
    expected = reference(x, filters, layout, 1, "SAME")
    np.testing.assert_allclose(first, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(second, 2 * expected, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("names_devices")  # the processor's programs make blocks
@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_what_windows_see_is_never_all_in_memory(layout):
    x, filters = operands(layout, 16, 32, 64, 32, 3)
    seen = x.nbytes * 9
    apply = partial(convolution, layout=layout)
    assert ct.explain(apply)(x, filters).scratch_bytes < seen / 4
    by_filters = ct.grad(lambda x, filters: (apply(x, filters) ** 2).sum(), 1)
    # The convolution and its square are kept for the derivative.
    assert ct.explain(by_filters)(x, filters).scratch_bytes < 3 * x.nbytes + seen / 4


@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_equal_bits_for_any_number_of_threads(layout):
    x, filters = operands(layout, 12, 24, 48, 40, 3)
    gradient = ct.grad(lambda x, filters: (convolution(x, filters, layout) ** 2).sum(), (0, 1))
    results = [ct.jit(gradient, threads=count)(x, filters) for count in (1, 2)]
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_an_input_that_changes_before_the_last_product_is_not_gathered_again():
    x, filters = operands(LAST, 8, 32, 40, 32, 3)

    @partial(ct.jit, donate_argnums=0)
    def step(x, filters):
        y = convolution(x, filters, LAST)
        return x + y.sum() * 1e-6, y

    moved, y = step(cnp.asarray(x), filters)
    expected = reference(x, filters, LAST, 1, "SAME")
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(moved, x + np.float32(expected.sum() * 1e-6), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float32"])
def test_spread_inputs_of_any_dtype_are_multiplied_element_by_element(dtype):
    x, filters = draw(2, 9, 8, 24, seed=4), draw(3, 3, 24, 4, seed=5)
    x, filters = (cnp.asarray(np.round(each * 4), dtype) for each in (x, filters))
    apply = partial(ct.lax.conv_transpose, strides=(3, 2), padding="SAME", dimension_numbers=LAST)
    wide = ct.jit(apply)(np.asarray(x).astype("float64"), np.asarray(filters).astype("float64"))
    found = ct.jit(apply)(x, filters)
    assert found.dtype == x.dtype
    expected = np.asarray(wide).astype(np.int64).astype(np.int8) if dtype == "int8" else np.asarray(wide)
    # Sums of whole numbers are exact until the result is rounded.
    np.testing.assert_allclose(np.asarray(found).astype(float), expected, rtol=4e-3 if dtype == "bfloat16" else 5e-4)
    assert ct.explain(apply)(x, filters).scratch_bytes < 20 * x.size * 4
