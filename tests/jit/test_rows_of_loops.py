"""Loops whose rows are independent: threads take all steps of some rows each. Values and derivatives as op by op, whatever the threads do."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

TOLERANCES = {"float16": 5e-2, "float32": 2e-3, "float64": 1e-9}


def parameters(units: int, dtype: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.standard_normal(shape) * 0.1).astype(dtype)  # noqa: E731
    return {"w": draw(units, 4 * units), "u": draw(units, 4 * units), "b": draw(4 * units)}


def lstm(p: Any, x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        h, c = carry
        i, f, g, o = cnp.split(row @ p["w"] + h @ p["u"] + p["b"], 4, axis=-1)
        c = ct.nn.sigmoid(f) * c + ct.nn.sigmoid(i) * cnp.tanh(g)
        h = ct.nn.sigmoid(o) * cnp.tanh(c)
        return (h, c), h

    zero = cnp.zeros((x.shape[1], x.shape[2]), x.dtype)
    (_, c), hs = ct.lax.scan(step, (zero, zero), x)
    return cnp.sum(hs**2) + cnp.sum(c)


def gru(p: Any, x: Any) -> Any:
    n = x.shape[2]

    def step(h: Any, row: Any) -> Any:
        a, u = row @ p["w"][:, : 3 * n] + p["b"][: 3 * n], h @ p["u"][:, : 3 * n]
        reset, update = ct.nn.sigmoid(a[:, :n] + u[:, :n]), ct.nn.sigmoid(a[:, n : 2 * n] + u[:, n : 2 * n])
        h = (1 - update) * cnp.tanh(a[:, 2 * n :] + reset * u[:, 2 * n :]) + update * h
        return h, h.sum(-1)

    h, sums = ct.lax.scan(step, cnp.zeros((x.shape[1], n), x.dtype), x)
    return cnp.sum(h * h) + cnp.sum(cnp.sin(sums))


def largest(p: Any, x: Any) -> Any:
    n = x.shape[2]

    def step(h: Any, row: Any) -> Any:
        h = cnp.tanh(row @ p["w"][:, :n] + h @ p["u"][:, :n])
        return h, (h, h.max(-1), cnp.argmax(h, -1))

    _, (hs, most, places) = ct.lax.scan(step, cnp.zeros((x.shape[1], n), x.dtype), x, reverse=True)
    return (hs * most[..., None]).sum() + places.sum()


def counted(p: Any, x: Any) -> Any:
    n = x.shape[2]
    return ct.lax.fori_loop(0, 3 * x.shape[0], lambda i, c: cnp.tanh(c @ p["u"][:, :n] + x[0]), x[0]).sum()


def mixed(p: Any, x: Any) -> Any:
    """A mean over the rows: they depend on each other in each step."""
    n = x.shape[2]

    def step(h: Any, row: Any) -> Any:
        h = cnp.tanh(row @ p["w"][:, :n] + h @ p["u"][:, :n])
        h = h - h.mean(0)
        return h, h[::-1]

    return (ct.lax.scan(step, cnp.zeros((x.shape[1], n), x.dtype), x)[1] * x).sum()


def loops(function: Any, *arguments: Any) -> str:
    """Those of a program of the processor."""
    return str(ct.jit(function, backend="cpu").lower(*arguments).compile().as_text())


def is_split(function: Any, *arguments: Any) -> bool:
    return " parallel whole" in loops(function, *arguments)


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("shape", [(40, 16, 64), (33, 12, 48), (17, 24, 72), (50, 2, 32), (30, 7, 56)], ids=str)
@pytest.mark.parametrize("loss", [lstm, gru, largest, counted, mixed])
def test_values_and_gradients(loss: Any, shape: tuple[int, ...], dtype: str) -> None:
    p, x = parameters(shape[2], dtype), np.random.default_rng(1).standard_normal(shape).astype(dtype)
    function = ct.value_and_grad(loss)
    compiled = ct.jit(function)
    found = ct.tree.leaves(compiled(p, x))
    expected = ct.tree.leaves(ct.jit(function, backend="interpreter")(p, x))
    for ours, theirs in zip(found, expected, strict=True):
        wide = np.asarray(theirs, np.float64)
        np.testing.assert_allclose(
            np.asarray(ours, np.float64), wide, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * np.abs(wide).max()
        )
    bits = [np.asarray(leaf).tobytes() for leaf in found]
    for _ in range(5):
        assert [np.asarray(leaf).tobytes() for leaf in ct.tree.leaves(compiled(p, x))] == bits


def test_which_loops_are_split() -> None:
    p, x = parameters(64, "float32"), np.ones((64, 16, 64), np.float32)
    for loss in (lstm, gru):
        assert is_split(loss, p, x)
        assert is_split(ct.grad(loss), p, x)
    assert not is_split(mixed, p, x)
    assert not is_split(lstm, p, x[:, :7])  # rows that cannot be shared out evenly
    assert not is_split(lstm, p, x[:2])  # over before other threads would have begun


def test_bits_do_not_depend_on_threads() -> None:
    p, x = parameters(64, "float32"), np.random.default_rng(2).standard_normal((64, 32, 64)).astype(np.float32)
    function = ct.jit(ct.grad(lstm))
    before = ct.config.read("threads")
    results = []
    try:
        for threads in (1, 2, 4):
            ct.config.update("threads", threads)
            results.append([np.asarray(leaf).tobytes() for leaf in ct.tree.leaves(function(p, x))])
    finally:
        ct.config.update("threads", before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("carries", [1, 2])
def test_what_a_carry_was_is_read_behind_what_it_becomes(carries: int) -> None:
    rng = np.random.default_rng(3)
    w, first, x = (rng.standard_normal(size) * 0.2 for size in [(32, 32), (48, 32), (50, 48, 32)])

    def step(carry: Any, row: Any) -> Any:
        new = cnp.tanh(carry[0] @ w + row)
        return (new, *carry)[:carries], cnp.cumsum(carry[-1], 1)

    function = lambda first, x: ct.lax.scan(step, (first,) * carries, x)  # noqa: E731
    states = [first] * carries
    for row in x:
        states.append(np.tanh(states[-1] @ w + row))
    found, sums = ct.jit(function)(first, x)
    np.testing.assert_allclose(found[0], states[-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sums, np.cumsum(states[: len(x)], 2), rtol=1e-10, atol=1e-12)
    assert is_split(function, first, x)


def test_a_carry_that_is_read_first_is_updated_in_place() -> None:
    w, first, x = np.ones((32, 32)), np.ones((48, 32)), np.ones((50, 48, 32))

    def function(first: Any, x: Any) -> Any:
        return ct.lax.scan(lambda h, row: (cnp.tanh(h @ w) * row, cnp.cumsum(h, 1)), first, x)

    assert is_split(function, first, x)
    assert " always" not in loops(function, first, x)  # elements that change places at the end of a step
