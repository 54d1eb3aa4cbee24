"""Loops that change a part of what they carry: a step costs what it changes, not the size of the array, in derivatives too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

SIZE, STEPS = 1040, 9  # no other loop has as many elements


def _loop(body: Callable[[Any, Any], Any], start: Any) -> Any:
    return ct.lax.fori_loop(1, STEPS, body, start)


def replaced(x: Any) -> Any:
    return cnp.sum(_loop(lambda i, d: d.at[i].set(cnp.sin(d[i - 1]) * x[i]), x * 1) ** 2)


def added(x: Any) -> Any:
    return cnp.sum(_loop(lambda i, d: d.at[i].add(cnp.sin(d[i - 1]) * x[i]), x * 1) ** 2)


def multiplied(x: Any) -> Any:
    return cnp.sum(_loop(lambda i, d: d.at[i].multiply(cnp.sin(d[i - 1])), x * 1) ** 2)


def assigned(x: Any) -> Any:
    def body(i: Any, d: Any) -> Any:
        d[i] += cnp.sin(d[i - 1]) * x[i]
        return d

    return cnp.sum(_loop(body, x * 1) ** 2)


def rows(x: Any) -> Any:
    table = x.reshape(-1, 8)
    return cnp.sum(_loop(lambda i, d: d.at[i].set(cnp.tanh(d[i - 1] + table[i])), table * 1) ** 2)


def columns(x: Any) -> Any:
    table = x.reshape(-1, 130)
    return cnp.sum(_loop(lambda i, d: d.at[:, i].set(cnp.tanh(d[:, i - 1] + table[:, i])), table * 1) ** 2)


def parts_of_rows(x: Any) -> Any:
    table = x.reshape(-1, 8)
    return cnp.sum(_loop(lambda i, d: d.at[i, 1:5].set(cnp.tanh(d[i - 1, 2:6] + table[i, :4])), table * 1) ** 2)


def parts_of_rows_added(x: Any) -> Any:
    table = x.reshape(-1, 8)
    return cnp.sum(_loop(lambda i, d: d.at[i, ::2].add(cnp.tanh(d[i - 1, :4])), table * 1) ** 2)


def windows(x: Any) -> Any:
    def body(i: Any, d: Any) -> Any:
        return ct.lax.dynamic_update_slice(d, cnp.sin(ct.lax.dynamic_slice(d, (i,), (4,))), (i + 1,))

    return cnp.sum(_loop(body, x) ** 2)


def two_arrays(x: Any) -> Any:
    def body(i: Any, both: Any) -> Any:
        d, e = both
        d[i] = cnp.sin(e[i - 1]) + x[i]
        e[i] = cnp.cos(d[i]) * d[i - 1]
        return d, e

    d, e = _loop(body, (x * 1, x * 2))
    return cnp.sum(d * e)


def exchanged(x: Any) -> Any:
    def body(i: Any, d: Any) -> Any:
        before = d[i] * 1.0
        d[i] = d[i - 1]
        d[i - 1] = before
        return d

    return cnp.sum(_loop(body, x * 1) * x)


def at_one_place(x: Any) -> Any:
    def body(i: Any, d: Any) -> Any:
        d[0] = d[0] * x[i] + d[1]
        return d

    return cnp.sum(_loop(body, x * 1) ** 2)


def last_places(x: Any) -> Any:
    return cnp.sum(_loop(lambda i, d: d.at[-3:].set(d[-4:-1] * x[i]), x * 1) ** 2)


def chosen(x: Any) -> Any:
    return cnp.sum(_loop(lambda i, d: d.at[i].set(cnp.where(d[i - 1] > 0.3, d[i - 1] * x[i], x[i])), x * 1) ** 2)


def in_branches(x: Any) -> Any:
    def body(i: Any, d: Any) -> Any:
        return ct.lax.cond(d[i - 1] > 0.3, lambda d: d.at[i].set(d[i - 1] * x[i]), lambda d: d.at[i].set(x[i]), d)

    return cnp.sum(_loop(body, x * 1) ** 2)


PROGRAMS = [
    replaced,
    added,
    multiplied,
    assigned,
    rows,
    columns,
    parts_of_rows,
    parts_of_rows_added,
    windows,
    two_arrays,
    exchanged,
    at_one_place,
    last_places,
    chosen,
    in_branches,
]
# What a branch reads of arrays has a cotangent as large as the array, which is added to the others.
AS_A_WHOLE = {(in_branches, "grad"), (in_branches, "hvp"), (in_branches, "vmap of grad")}
TRANSFORMS = {
    "value": lambda f: f,
    "grad": ct.grad,
    "jvp": lambda f: lambda x: ct.jvp(f, (x,), (x * x,))[1],
    "hvp": lambda f: lambda x: ct.jvp(ct.grad(f), (x,), (x * x,))[1],
    "vmap of grad": lambda f: lambda x: ct.vmap(ct.grad(f))(cnp.stack([x, x / 2, x / 3])),
}
X = np.linspace(0.1, 0.9, SIZE).astype(np.float32)


@pytest.fixture
def unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop, written out in Python."""

    def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], value: Any) -> Any:
        for i in range(lower, upper):
            value = body(i, value)
        return value

    monkeypatch.setattr(ct.lax, "fori_loop", fori_loop)


def whole_arrays(text: str) -> list[str]:
    """The lines inside of a loop of all steps that go through an array of all elements."""
    found, depth = [], -1
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth >= 0 and indent <= depth:
            depth = -1
        if depth < 0 and re.match(rf" *for %\d+ < {STEPS - 1}\b", line):
            depth = indent
        elif depth >= 0 and re.search(rf"(count|for %\d+ <) ({SIZE}|{3 * SIZE}|{SIZE // 8})\b", line):
            found.append(line)
    return found


@pytest.mark.usefixtures("names_devices")  # loops as the processor has them
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_step_touches_what_it_changes(program: Callable[[Any], Any], transform: str) -> None:
    text = ct.jit(TRANSFORMS[transform](program)).lower(X).compile().as_text()
    assert re.search(rf"for %\d+ < {STEPS - 1}\b", text)
    assert bool(whole_arrays(text)) == ((program, transform) in AS_A_WHOLE)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_those_of_the_written_out_loop(
    program: Callable[[Any], Any], transform: str, unrolled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = np.asarray(ct.jit(TRANSFORMS[transform](program))(X))
    monkeypatch.undo()
    result = np.asarray(ct.jit(TRANSFORMS[transform](program))(X))
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-6)
    assert np.any(result != 0)


def test_an_array_that_is_read_after_its_update_keeps_its_elements() -> None:
    """What is read of the old array late is as large as the array: both have to be there."""

    def program(x: Any) -> Any:
        def body(i: Any, d: Any) -> Any:
            new = d.at[i].set(0.0)
            return new + cnp.cumsum(d)[::-1] * 1e-3

        return _loop(body, x * 1)

    expected = X.copy()
    for i in range(1, STEPS):
        new = expected.copy()
        new[i] = 0
        expected = new + np.cumsum(expected)[::-1] * np.float32(1e-3)
    np.testing.assert_allclose(np.asarray(ct.jit(program)(X)), expected, rtol=1e-5)


def test_the_last_of_few_equal_indices_has_the_gradient() -> None:
    """Fewer than the root of the array's size are compared with each other, more are put into a table."""
    for size in (8, 100):
        index = np.array([3, 1, 3, -1, 3])

        def program(x: Any, y: Any, index: Any = index) -> Any:
            return cnp.sum(x.at[index].set(y) * cnp.arange(1.0, x.size + 1))

        by_x, by_y = ct.jit(ct.grad(program, argnums=(0, 1)))(cnp.ones(size), cnp.ones(5))
        weights = np.arange(1.0, size + 1)
        np.testing.assert_array_equal(by_y, [0, 2, 0, size, 4])
        np.testing.assert_array_equal(by_x, np.where(np.isin(np.arange(size), [1, 3, size - 1]), 0, weights))
