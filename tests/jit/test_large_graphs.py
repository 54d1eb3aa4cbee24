"""Loops of Python that are written out to many equations: what they cost to compile, and the warning before that."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.array([3.0, 5.0], np.float32)
STEPS = 25_000  # of four equations each, two of them constants


def written_out(x: Any) -> Any:
    for _ in range(STEPS):
        x = x * 0.5 + 1.0  # the line
    return x


def as_a_loop(x: Any) -> Any:
    return ct.lax.fori_loop(0, STEPS, lambda _, c: c * 0.5 + 1.0, x)


def line_of(function: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_the_warning_names_the_line_and_what_to_write() -> None:
    f = ct.jit(written_out)
    with pytest.warns(UserWarning, match="written_out: ") as record:
        assert f(X).tolist() == [2.0, 2.0]
    line = line_of(written_out, "# the line")
    assert [(str(w.message), w.filename, w.lineno) for w in record] == [
        (
            f"written_out: 100,000 equations, 100,000 of them from {__file__}:{line} (written_out): compiling them may take 15 s\n"
            "  write the loop that repeats this line with ct.lax.fori_loop or ct.lax.scan, which compile a step once, or with"
            " ct.vmap where the steps are independent\n"
            "  see docs/profiling.md#compiling",
            __file__,
            line,
        )
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(X.astype(np.float64)).tolist() == [2.0, 2.0]  # once for each function
        assert ct.jit(as_a_loop)(X).tolist() == [2.0, 2.0]


def test_the_warning_is_one_of_pythons() -> None:
    def silenced(x: Any) -> Any:
        return written_out(x) + 1

    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("ignore")
        assert ct.jit(silenced)(X).tolist() == [3.0, 3.0]
    assert record == []

    def refused(x: Any) -> Any:
        return written_out(x) + 2

    f = ct.jit(refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match=r"^refused: 100,00[12] equations"):
                f(X)
    with pytest.warns(UserWarning, match=r"^refused: 100,00[12] equations"):
        assert f(X).tolist() == [4.0, 4.0]


def dtw(x: Any, y: Any) -> Any:
    """Rows of a matrix, a number at a time."""
    above = [0.0, *[1e10] * len(y)]
    for i in range(len(x)):
        row: list[Any] = [1e10]
        for j in range(len(y)):
            row.append(abs(x[i] - y[j]) + cnp.minimum(cnp.minimum(above[j + 1], row[j]), above[j]))
        above = row
    return above[-1]


def dtw_in_an_array(x: Any, y: Any) -> Any:
    table = cnp.full((len(x) + 1, len(y) + 1), 1e10)
    table[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            before = cnp.minimum(cnp.minimum(table[i, j + 1], table[i + 1, j]), table[i, j])
            table[i + 1, j + 1] = abs(x[i] - y[j]) + before
    return table[-1, -1]


def soft_dtw(x: Any, y: Any) -> Any:
    above = [0.0, *[1e3] * len(y)]
    for i in range(len(x)):
        row: list[Any] = [1e3]
        for j in range(len(y)):
            row.append(abs(x[i] - y[j]) - cnp.log(cnp.exp(-above[j + 1]) + cnp.exp(-row[j]) + cnp.exp(-above[j])))
        above = row
    return above[-1]


@pytest.mark.parametrize("f", [dtw, dtw_in_an_array, soft_dtw], ids=lambda f: f.__name__)
def test_a_table_written_out_is_what_its_elements_are_one_by_one(f: Callable[..., Any]) -> None:
    """What is alike becomes one function, called with other numbers each time; the interpreter knows of none."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal(12), random.standard_normal(9)
    for g in (f, ct.value_and_grad(f, argnums=(0, 1))):
        for found, expected in zip(
            ct.tree.leaves(ct.jit(g)(x, y)), ct.tree.leaves(ct.jit(g, backend="interpreter")(x, y)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def seconds_to_compile(f: Callable[..., Any], *arguments: Any) -> float:
    lowered = ct.jit(f).lower(*arguments)
    start = time.process_time()
    lowered.compile()
    return time.process_time() - start


@pytest.mark.parametrize("f", [dtw, dtw_in_an_array], ids=lambda f: f.__name__)
def test_the_time_to_compile_grows_with_the_equations_only(f: Callable[..., Any]) -> None:
    """Four times the elements: it was seven times, and twenty where they are those of an array."""
    random = np.random.default_rng(0)
    short, long = (random.standard_normal((2, n)).astype(np.float32) for n in (20, 40))
    gradient = ct.grad(f)
    first, second = seconds_to_compile(gradient, *short), seconds_to_compile(gradient, *long)
    assert second < 6 * first
