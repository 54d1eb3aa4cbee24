"""Donated arguments: results in their memory where that is safe, and errors for arrays that were written over."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

# What is donated on a GPU is written over there, which tests/device looks at; what the host sees are copies.
ON_HOST = os.environ.get("CT_DEVICE", "cpu") in ("", "cpu", "llvm")


def address(x: ct.Array) -> int:
    return np.asarray(x).__array_interface__["data"][0] if ON_HOST else 0


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


class Holder:
    def __init__(self, array: ct.Array) -> None:
        self.array = array

    def __ct_array__(self) -> ct.Array:
        return self.array


COPIES: dict[str, Callable[[ct.Array], Any]] = {
    "array": cnp.array,
    "array of the dtype": lambda x: cnp.array(x, dtype=x.dtype),
    "array of an object that holds one": lambda x: cnp.array(Holder(x)),
    "numpy.copy": cnp.copy,
    "copy": lambda x: x.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "copy.deepcopy of a tree": lambda x: copy.deepcopy({"a": [x]})["a"][0],
    "asarray": lambda x: cnp.asarray(x, copy=True),
    "asarray of the dtype": lambda x: cnp.asarray(x, x.dtype, copy=True),
    "astype": lambda x: x.astype(x.dtype, copy=True),
    "numpy.astype": lambda x: cnp.astype(x, x.dtype, copy=True),
    "reshape": lambda x: cnp.reshape(x, x.shape, copy=True),
    "flatten": lambda x: x.flatten(),
    "full": lambda x: cnp.full(x.shape, x),
    "full_like": lambda x: cnp.full_like(x, x),
    "device_put": lambda x: ct.device_put(x, may_alias=False),
    "from_dlpack": lambda x: cnp.from_dlpack(x, copy=True),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_an_array_of_its_own(name: str) -> None:
    step = ct.jit(lambda x: x * 2, donate_argnums=0)
    values = np.arange(1000, dtype=np.float32) + 1
    for give_up in (step, lambda x: x.delete()):
        for donated in (0, 1):
            pair = [x := fresh(), COPIES[name](x)]
            assert pair[1].dtype == np.float32
            give_up(pair[donated])
            kept = pair[1 - donated]
            np.testing.assert_array_equal(np.asarray(kept), values)
            # What is left has the memory to itself.
            before = address(kept)
            pair.clear()
            x = None
            doubled = step(kept)
            np.testing.assert_array_equal(np.asarray(doubled), 2 * values)
            assert kept.is_deleted()
            assert name == "full_like" or address(doubled) == before


RESULTS: dict[str, Callable[[ct.Array], Any]] = {
    "+": lambda x: +x,
    "positive": cnp.positive,
    "clip": cnp.clip,
    "clip of an array": lambda x: x.clip(),
    "pad": lambda x: cnp.pad(x, 0),
    "squeeze": cnp.squeeze,
    "squeeze of no axes": lambda x: x.squeeze(axis=()),
    "ravel": cnp.ravel,
    "ravel of an array": lambda x: x.ravel(),
    "real": cnp.real,
    "real part": lambda x: x.real,
    "conj": cnp.conj,
    "conj of an array": lambda x: x.conj(),
    "power": lambda x: x**1,
    "atleast_1d": cnp.atleast_1d,
    "broadcast_arrays": lambda x: cnp.broadcast_arrays(x, x)[1],
    "tile": lambda x: cnp.tile(x, 1),
    "expand_dims": lambda x: cnp.expand_dims(x, ()),
    "flip": lambda x: cnp.flip(x, ()),
    "rot90": lambda x: cnp.rot90(x[None], 0)[0],
    "moveaxis": lambda x: cnp.moveaxis(x, 0, 0),
    "swapaxes": lambda x: cnp.swapaxes(x, 0, 0),
    "diff": lambda x: cnp.diff(x, 0),
    "block": cnp.block,
    "fftshift": lambda x: cnp.fft.fftshift(x, ()),
    "optimization_barrier": ct.lax.optimization_barrier,
    "bitcast_convert_type": lambda x: ct.lax.bitcast_convert_type(x, x.dtype),
    "view": lambda x: x.view(x.dtype),
    "integer_pow": lambda x: ct.lax.integer_pow(x, 1),
    "lax.pow": lambda x: ct.lax.pow(x, 1),
    "nn.identity": ct.nn.identity,
    "polyder": lambda x: cnp.polyder(x, 0),
    "einsum": lambda x: cnp.einsum("i", x),
    "view without a dtype": lambda x: x.view(),
    "named": lambda x: cnp.squeeze(a=x),
    "held": lambda x: cnp.ravel(Holder(x)),
    "round of integers": lambda x: cnp.round(x.astype(int)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_that_equals_its_argument_is_an_array_of_its_own(name: str) -> None:
    step = ct.jit(lambda x: x * 2, donate_argnums=0)
    x = fresh()
    expected = np.asarray(x).copy()
    result = RESULTS[name](x)
    np.testing.assert_array_equal(np.asarray(step(result)), 2 * expected)
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_integers_that_are_rounded_are_arrays_of_their_own() -> None:
    for function in (cnp.round, cnp.floor, cnp.ceil, cnp.trunc, cnp.fix, round, cnp.real, cnp.conj):
        x = cnp.arange(5) + 1
        function(x).delete()
        assert x.tolist() == [1, 2, 3, 4, 5]
    for function in (cnp.abs, lambda x: x.byteswap()):
        x = cnp.arange(5, dtype="uint8")
        function(x).delete()
        assert x.tolist() == [0, 1, 2, 3, 4]


def test_copies_share_memory_until_then() -> None:
    x = fresh()
    for spelling in (cnp.array, cnp.copy, copy.copy, copy.deepcopy, lambda x: x.astype(x.dtype)):
        assert spelling(x) is not x
        assert address(spelling(x)) == address(x)
    for kept in (
        cnp.asarray(x),
        cnp.array(x, copy=None),
        cnp.float32(x),
        x.astype(x.dtype, copy=False),
        ct.device_put(x),
    ):
        assert kept is x
    key = ct.random.key(0)
    again = copy.deepcopy(key)
    key.delete()
    assert ct.random.key_data(again).tolist() == [0, 0]
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert first is not x


def test_programs_have_no_step_for_copies() -> None:
    weights = fresh(3)

    def f(x: ct.Array) -> ct.Array:
        return cnp.array(x) + x.copy() * cnp.array(weights) + copy.deepcopy(x)

    def plain(x: ct.Array) -> ct.Array:
        return x + x * weights + x

    first, second = (re.sub("#.*", "", str(ct.make_jaxpr(function)(weights))) for function in (f, plain))
    assert first == second


def test_a_copy_of_a_known_array_stays_known() -> None:
    rows = cnp.array(2)
    f = ct.jit(lambda x: x[: int(cnp.array(rows))])
    assert f(fresh(3)).shape == (2,)


def test_a_deleted_array_is_an_error_by_either_name() -> None:
    x = fresh()
    ct.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert repr(x) == str(x) == "<deleted Array, float32[1000]>"
    for kind in (RuntimeError, ValueError, ct.errors.DeletedArrayError):
        with pytest.raises(kind, match="was deleted, or donated"):
            cnp.sum(x)
