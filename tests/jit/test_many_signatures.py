"""A jitted function that is called with many shapes finds the right program for each as quickly as for the first."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import cotangent as ct
import numpy as np
import pytest

Pair = namedtuple("Pair", "a b")


def test_the_right_one_of_many_shapes_and_structures_is_found():
    traced = []

    def f(x: Any, *, scale: Any = 1) -> Any:
        traced.append(x)
        return ct.tree.map(lambda leaf: leaf * scale + 1, x)

    jitted = ct.jit(f)
    calls = []
    for n in range(12):
        a, b = np.full(n, 2.0, np.float32), np.full((2, n), 3.0, np.float32)
        for x in (a, (a, b), [a, b], {"a": a, "b": b}, Pair(a, b), Pair(b, a), {"a": b, "b": a}, (a, None, [b])):
            calls.append((x, {}))
            calls.append((x, {"scale": 2.0}))
    for _ in range(2):
        for x, keywords in calls:
            result = jitted(x, **keywords)
            expected = ct.tree.map(lambda leaf: leaf * keywords.get("scale", 1) + 1, x)
            assert ct.tree.structure(result) == ct.tree.structure(expected)
            for one, other in zip(ct.tree.leaves(result), ct.tree.leaves(expected), strict=True):
                np.testing.assert_array_equal(one, other)
    assert len(traced) == len(calls), "a signature was captured twice"
    assert jitted._cache_size() == len(calls)
    jitted.clear_cache()
    assert jitted._cache_size() == 0


def test_one_program_whatever_kind_of_array_it_was_made_from():
    traced = []

    def f(x: Any) -> Any:
        traced.append(x)
        return x["a"] + x["b"]

    jitted = ct.jit(f)
    numbers = {"a": np.ones(3, np.float32), "b": 2.0}
    for n in range(10, 16):  # others in between, so that it is no recent one
        jitted({"a": np.ones(n, np.float32), "b": 2.0})
    before = len(traced)
    jitted(numbers)
    for n in range(10, 16):
        jitted({"a": np.ones(n, np.float32), "b": 2.0})
    for value in ({"b": 2.0, "a": numbers["a"]}, {"a": ct.numpy.ones(3, np.float32), "b": 3.0}):
        for n in range(10, 16):
            jitted({"a": np.ones(n, np.float32), "b": 2.0})
        np.testing.assert_array_equal(jitted(value), np.ones(3) + value["b"])
    assert len(traced) == before + 1


def test_static_arguments_of_many_values():
    jitted = ct.jit(lambda x, n, *, mode: x * n + len(mode), static_argnums=1, static_argnames="mode")
    for _ in range(2):
        for n in range(20):
            assert float(jitted(2.0, n, mode="m" * n)) == 3.0 * n
    with pytest.raises(ValueError, match="static arguments must be hashable"):
        jitted(2.0, [1], mode="m")


class Counted:
    """A static argument, equal to every other one, that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return isinstance(other, Counted)

    def __hash__(self) -> int:
        return 7


def test_looking_up_does_not_slow_with_the_number_of_shapes(long_run: bool):
    count = 10_000 if long_run else 2_000
    # Static arguments are compared before the shapes of what follows them: once for each signature that is looked at.
    jitted = ct.jit(lambda _, x: x + 1, backend="interpreter", static_argnums=0)
    arrays = [ct.numpy.zeros((n, 0), np.float32) for n in range(count)]
    for x in arrays:
        jitted(Counted(), x)
    assert jitted._cache_size() == count
    Counted.comparisons = 0
    for x in arrays:
        jitted(Counted(), x)
    assert jitted._cache_size() == count
    assert count < Counted.comparisons <= 6 * count, "the last few that fitted, and those with the hash of the call"


def test_equal_static_arguments_of_other_types_are_others():
    divided = ct.jit(lambda a, s: a / s, static_argnums=1)
    x = np.ones(2, np.float32)
    assert np.asarray(divided(x, 0.0)).tolist() == [np.inf] * 2
    assert np.asarray(divided(x, -0.0)).tolist() == [-np.inf] * 2
    scaled = ct.jit(lambda a, t: a * t[0][0], static_argnums=1)
    i = np.array([1, 2], np.int32)
    for value, dtype in [(2, "int32"), (2.0, "float32"), (2, "int32"), (True, "int32"), (1, "int32"), (1.0, "float32")]:
        result = scaled(i, ((value,),))
        assert result.dtype == dtype
        assert np.asarray(result).tolist() == [value, 2 * value]
