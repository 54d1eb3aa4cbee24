"""Methods and functions of NumPy's that change an array: they are assignments, eagerly and in captured functions."""

from __future__ import annotations

import linecache
import math
import warnings
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

PROGRAMS = {
    "fill": "x.fill(5)",
    "fill of a view": "x[1].fill(5)",
    "put": "x.put([0, -1], [7.0, 8.0])",
    "partition": "x.partition(1)",
    "flat": "x.flat = 5",
    "flat, repeated": "x.flat = [1.0, 2.0, 3.0]",
    "real": "x.real = 5",
    "row": "x[0].flat = [1.0, 2.0]",
}
FUNCTIONS = {
    "copyto": "np.copyto(x, [1.0, 2.0, 3.0])",
    "copyto where": "np.copyto(x, 0.0, where=x > 2)",
    "copyto of another": "np.copyto(x, x[::-1] * 2)",
    "put": "np.put(x, [0, 5], [7.0, 8.0])",
    "putmask": "np.putmask(x, x > 2, [10.0, 20.0])",
    "place": "np.place(x, x > 2, [10.0, 20.0])",
    "fill_diagonal": "np.fill_diagonal(x, 9.0)",
    "put_along_axis": "np.put_along_axis(x, np.array([[0], [2]]), 9.0, 1)",
    "add.at": "np.add.at(x, ([0, 0, 1], [1, 1, 2]), [1.0, 2.0, 3.0])",
    "subtract.at": "np.subtract.at(x, 0, 1.0)",
    "maximum.at": "np.maximum.at(x, (slice(None), 0), 3.5)",
    "view": "np.copyto(x[0], 7.0)",
}
VALUES = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], np.float32)


def program(source: str) -> Any:
    def function(x: Any) -> Any:
        exec(source, {"x": x, "np": np})
        return x + 0

    return function


@pytest.mark.parametrize("name", PROGRAMS)
def test_methods(name: str) -> None:
    function = program(PROGRAMS[name])
    expected = function(VALUES.copy())
    for run in (function, ct.jit(function), lambda x: ct.vmap(function)(x[None])[0]):
        np.testing.assert_array_equal(run(cnp.array(VALUES)), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy(name: str) -> None:
    function = program(FUNCTIONS[name])
    expected = function(VALUES.copy())
    np.testing.assert_array_equal(ct.jit(function)(VALUES), expected)
    found = ct.jvp(function, (cnp.array(VALUES),), (cnp.ones((2, 3)),))
    np.testing.assert_array_equal(found[0], expected)


def test_complex_parts() -> None:
    def function(z: Any) -> Any:
        z.real = 2.0
        z.imag = z.real * np.array([1, 2])
        return z + 0

    values = np.array([1j, 2.0], np.complex64)
    expected = function(values.copy())
    for run in (function, ct.jit(function)):
        np.testing.assert_array_equal(run(cnp.array(values)), expected)


def test_gradient() -> None:
    def loss(x: Any) -> Any:
        np.add.at(x, [0, 0], x[1] * x[1])
        x[1:].fill(2)
        return (x * x).sum()

    x = cnp.array([1.0, 3.0])
    total = 1.0 + 2 * 9.0
    assert ct.grad(loss)(x).tolist() == [2 * total, 2 * total * 2 * 2 * 3.0]


def test_sort_that_nobody_uses_is_warned_of() -> None:
    def statement(x: Any) -> Any:
        x.sort()  # the line
        return x

    def used(x: Any) -> Any:
        y = x.sort()
        return y + x.sort(descending=True) * 0

    x = cnp.array([3.0, 1.0, 2.0])
    for run in (statement, ct.jit(statement)):
        with pytest.warns(
            UserWarning, match=r"returns a sorted array, and x stays as it is\n  write x = x.sort\(\)"
        ) as caught:
            assert run(x).tolist() == [3.0, 1.0, 2.0]
        assert linecache.getline(caught[0].filename, caught[0].lineno).endswith("# the line\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert used(x).tolist() == ct.jit(used)(x).tolist() == [1.0, 2.0, 3.0]
        assert (lambda x: x.sort())(x).tolist() == [1.0, 2.0, 3.0]
        eval("x.sort()", {"x": x})


def test_copy_of_none_that_nobody_uses_is_warned_of() -> None:
    x = cnp.array([math.nan, 1.0])
    with pytest.warns(
        UserWarning, match=r"nan_to_num\(x, copy=False\) returns an array, and x stays as it is\n  write x\[...\] = "
    ):
        cnp.nan_to_num(x, copy=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = cnp.nan_to_num(x, copy=False)
        cnp.nan_to_num(x)
        x[...] = cnp.nan_to_num(x)
    assert x.tolist() == y.tolist() == [0.0, 1.0]
