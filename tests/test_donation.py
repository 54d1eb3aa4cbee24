"""Donated arguments: results in their memory where that is safe, and errors for arrays that were written over."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def address(x: ct.Array) -> int:
    return np.asarray(x).__array_interface__["data"][0]


def fresh(n: int = 1000) -> ct.Array:
    return cnp.arange(n, dtype="float32") + 1


def test_result_reuses_the_memory() -> None:
    f = ct.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    x, y = fresh(), fresh()
    expected = np.asarray(x * 2 + y)
    before = address(x)
    result = f(x, y)
    assert address(result) == before
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert x.shape == (1000,)
    assert x.dtype == np.float32
    for use in (
        lambda: x + 1,
        lambda: np.asarray(x),
        lambda: f(x, y),
        lambda: float(cnp.sum(x)),
        lambda: memoryview(x),
    ):
        with pytest.raises((ValueError, BufferError), match="donated"):
            use()
    np.testing.assert_array_equal(np.asarray(f(y, y)), np.asarray(fresh() * 3))


def test_training_step_in_place() -> None:
    step = ct.jit(
        lambda params, g: ct.tree.map(lambda p, d: p - 0.1 * d, params, g),
        donate_argnums=(0,),
    )
    params = {"w": fresh(64), "b": [fresh(8), fresh(3)]}
    g = {"w": fresh(64), "b": [fresh(8), fresh(3)]}
    addresses = {address(leaf) for leaf in ct.tree_util.tree_leaves(params)}
    for _ in range(3):
        params = step(params, g)
    assert {address(leaf) for leaf in ct.tree_util.tree_leaves(params)} == addresses
    np.testing.assert_allclose(np.asarray(params["w"]), (np.arange(64, dtype=np.float32) + 1) * 0.7, rtol=1e-5)


def test_shared_memory_is_left_alone() -> None:
    f = ct.jit(lambda x: x + 1, donate_argnums=0)
    x = fresh()
    view = np.asarray(x)
    f(x)
    np.testing.assert_array_equal(view, np.arange(1000, dtype=np.float32) + 1)
    np.testing.assert_array_equal(np.asarray(x), view)  # and the array is still good
    exported = fresh()
    other = np.from_dlpack(exported)
    f(exported)
    np.testing.assert_array_equal(other, view)
    closed_over = fresh()
    g = ct.jit(lambda y: y + closed_over, donate_argnums=0)
    np.testing.assert_array_equal(np.asarray(g(closed_over)), 2 * view)
    np.testing.assert_array_equal(np.asarray(closed_over), view)
    numpy = np.ones(5, np.float32)
    f(numpy)
    np.testing.assert_array_equal(numpy, np.ones(5))


def test_the_same_array_twice() -> None:
    f = ct.jit(lambda x, y: (cnp.cumsum(x), x[::-1] + y), donate_argnums=(0, 1))
    x = fresh(10)
    expected = np.asarray(x)
    expected = expected.copy()
    first, second = f(x, x)
    np.testing.assert_array_equal(np.asarray(first), np.cumsum(expected))
    np.testing.assert_array_equal(np.asarray(second), expected[::-1] + expected)


def test_unsafe_orders_are_copied() -> None:
    f = ct.jit(lambda x: x[::-1] + x, donate_argnums=0)
    x = fresh(10)
    expected = np.arange(10, dtype=np.float32) + 1
    np.testing.assert_array_equal(np.asarray(f(x)), expected[::-1] + expected)


def test_inside_other_transforms_nothing_is_donated() -> None:
    f = ct.jit(lambda x: cnp.sum(x * x), donate_argnums=0)
    x = fresh(4)
    np.testing.assert_array_equal(np.asarray(ct.grad(f)(x)), 2 * np.asarray(x))


def test_wrong_positions() -> None:
    with pytest.raises(ValueError, match="both static and donated"):
        ct.jit(lambda n, x: x, static_argnums=0, donate_argnums=0)
    with pytest.raises(ValueError, match="donate_argnums"):
        ct.jit(lambda x: x, donate_argnums=3)
