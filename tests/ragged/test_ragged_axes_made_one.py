"""Functions that take the elements of several axes as one line, of which any may be ragged: values of the array without padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

Program = Callable[[Any], Any]

# Of NumPy's module or ours.
FLATTENED: dict[str, Callable[[Any, Any], Any]] = {
    "argmax": lambda np, x: np.argmax(x),
    "argmin, axes kept": lambda np, x: np.argmin(x, keepdims=True),
    "nanargmax": lambda np, x: np.nanargmax(x),
    "nanargmin": lambda np, x: np.nanargmin(x),
    "median": lambda np, x: np.median(x),
    "median of two axes": lambda np, x: np.median(x, axis=(0, 1), keepdims=True),
    "nanmedian": lambda np, x: np.nanmedian(x),
    "quantile": lambda np, x: np.quantile(x, 0.3),
    "quantiles": lambda np, x: np.quantile(x, np.array([0.25, 0.75])),
    "quantile of columns": lambda np, x: np.quantile(x, 0.3, axis=0),
    "percentile, axes kept": lambda np, x: np.percentile(x, 30, keepdims=True),
    "take": lambda np, x: np.take(x, np.array([1, 0, -1]), mode="wrap"),
    "take_along_axis": lambda np, x: np.take_along_axis(x, np.array([0, 0]), None),
}

# Sizes of the memory and of the array; names of axes of one length.
SHAPES = [
    ((3, 6), (3, 4), None),
    ((5, 5), (3, 3), {0: "n", 1: "n"}),
    ((5, 6), (2, 4), None),
    ((2, 5, 3), (2, 4, 3), None),
    ((1, 4), (1, 3), None),
    ((6, 2), (4, 2), None),
]


def padded(values: np.ndarray[Any, Any], bound: tuple[int, ...], names: Any) -> Any:
    data = np.full(bound, np.nan)
    data[tuple(map(slice, values.shape))] = values
    lengths = {axis: n for axis, (n, most) in enumerate(zip(values.shape, bound, strict=True)) if n != most}
    return ct.Ragged(data, lengths, names=names) if names else ct.Ragged(data, lengths)


@pytest.mark.parametrize(("bound", "shape", "names"), SHAPES)
@pytest.mark.parametrize("name", FLATTENED)
def test_elements_are_counted_without_the_padding(name: str, bound: Any, shape: Any, names: Any) -> None:
    values = np.random.default_rng(3).standard_normal(shape)
    want = FLATTENED[name](np, values)
    for run in (ct.mask, lambda f: ct.jit(ct.mask(f))):
        found = run(lambda x: FLATTENED[name](cnp, x))(padded(values, bound, names))
        found = found.unpad() if isinstance(found, ct.Ragged) else found
        np.testing.assert_allclose(found, want, rtol=1e-12)


def test_weights_of_several_axes() -> None:
    values = np.random.default_rng(4).standard_normal((3, 4))
    weighted = lambda x: cnp.quantile(x, 0.3, weights=abs(x), method="inverted_cdf")  # noqa: E731
    order = np.argsort(values.ravel())
    running = np.cumsum(abs(values).ravel()[order])
    want = values.ravel()[order][np.searchsorted(running, 0.3 * running[-1])]
    np.testing.assert_allclose(ct.mask(weighted)(padded(values, (3, 6), None)), want)


def test_the_gradient_of_a_median_goes_to_the_middle() -> None:
    values = np.array([[3.0, 1.0], [9.0, 2.0], [4.0, 7.0]])
    gradient = ct.grad(ct.mask(cnp.median))(padded(values, (3, 4), None))
    np.testing.assert_array_equal(np.asarray(gradient.data)[:, :2], [[0.5, 0], [0, 0], [0.5, 0]])
