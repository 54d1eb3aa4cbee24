"""Assignments where a computed mask is true, to arrays of one element and of none, and by scalar masks."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def clip(x: Any) -> Any:
    x[x > 0.5] = 0.5
    return x


def shrink(x: Any) -> Any:
    x[x > 0.5] *= 0.5
    return x


def grow(x: Any) -> Any:
    part = x[1:]
    part[part > 0.5] += x[0]
    return x


def shrink_all(x: Any) -> Any:
    x[x.sum() > 0.5] *= 0.5
    return x


def fill_all(x: Any) -> Any:
    x[x.sum() > 0.5] = cnp.full((1, *x.shape), 7.0) if isinstance(x, ct.Array) else np.full((1, *x.shape), 7.0)
    return x


VALUES = [0.25, 1.0, [0.25], [1.0], [[0.25]], [[1.0]], [0.25, 1.0], [1.0, 0.75, 0.0], [[0.25, 1.0]], []]


@pytest.mark.parametrize("function", [clip, shrink, shrink_all, fill_all])
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_as_numpy(function: Any, values: Any) -> None:
    x = np.asarray(values, np.float32)
    expected = function(x.copy())
    array = cnp.asarray(x)
    for found in (
        function(cnp.array(x)),
        ct.jit(function)(array),
        ct.vmap(function)(cnp.stack([array, array]))[1],
        ct.jit(ct.vmap(function))(cnp.stack([array, array]))[0],
        ct.jvp(function, (array,), (array,))[0],
    ):
        assert isinstance(found, ct.Array)
        np.testing.assert_array_equal(found, expected)
        assert found.shape == x.shape


@pytest.mark.parametrize("values", [[2.0, 1.0], [2.0, 0.25], [2.0, 1.0, 0.25]], ids=str)
def test_parts_of_one_element(values: Any) -> None:
    x = np.asarray(values, np.float32)
    for run in (lambda f: f, ct.jit, lambda f: lambda x: ct.vmap(f)(x[None])[0]):
        np.testing.assert_array_equal(run(grow)(cnp.array(x)), grow(x.copy()))


@pytest.mark.parametrize("x", [0.25, 1.0])
def test_derivatives(x: float) -> None:
    expected = 0.5 if x > 0.5 else 1.0
    assert ct.jit(ct.grad(shrink))(x).item() == expected
    assert ct.vmap(ct.grad(shrink))(cnp.array([x]))[0].item() == expected
    assert ct.jit(ct.grad(lambda x: shrink(x).sum()))(cnp.array([x])).tolist() == [expected]


def test_a_scalar_mask_beside_other_items() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def update(x: Any, least: Any) -> Any:
        mask = x[0, 1] > least
        x[mask, 0] += 10.0
        x[:, mask] *= 2.0
        x[mask] -= 1.0
        return x, x[mask].sum()

    for least in (0.5, 1.5):
        expected = update(x.copy(), np.float32(least))
        for found, value in zip(ct.jit(update)(cnp.asarray(x), least), expected, strict=True):
            np.testing.assert_array_equal(found, value)
