"""Dead code elimination inside loops, branches and calls, and what it does to the residuals of reverse mode."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core

XS = np.arange(1.0, 5.0)
W = np.float64(0.7)


def equations(graph: Any, primitive: str) -> list[dict[str, Any]]:
    """Those of one primitive, also in sub-graphs."""
    found = []
    for equation in graph.equations():
        if equation["primitive"] == primitive:
            found.append(equation)
        for value in equation["attributes"].values():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ct.ir.Graph):
                    found += equations(inner, primitive)
    return found


def two_recurrences(w: Any, xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        used, unused = carry
        return (cnp.tanh(used * w + x), cnp.exp(unused * w)), (used * x, unused)

    return ct.lax.scan(step, (w, w), xs)


def test_unused_carries_and_results_of_a_scan_go() -> None:
    graph = _core.passes["dce"](ct.make_ir(lambda w, xs: two_recurrences(w, xs)[1][0])(W, XS))
    assert equations(graph, "exp") == [] and len(equations(graph, "tanh")) == 1
    (scan,) = equations(graph, "scan")
    assert scan["attributes"]["num_carries"] == 1 and len(scan["outputs"]) == 2


def test_the_gradient_of_a_scan_keeps_only_the_residuals_it_needs() -> None:
    graph = ct.make_ir(ct.grad(lambda w, xs: cnp.sum(two_recurrences(w, xs)[1][0])))(W, XS)
    assert equations(graph, "exp") == []
    forward, backward = equations(graph, "scan")
    assert forward["attributes"]["num_carries"] == 1
    # One carry and three stacks: the carry of each step, tanh's derivative, and the result itself, whose length the
    # cotangent gets.
    assert len(forward["outputs"]) == 4
    assert len(backward["attributes"]["graph"].in_avals) == len(backward["operands"]) <= 7


def test_the_residuals_of_vjp_are_those_that_are_read() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            return (c[0] * v, c[1] + 1), cnp.sin(v)

        (product, _), sines = ct.lax.scan(step, (np.float64(1.0), np.int32(0)), x)
        return product, sines

    graph = ct.make_ir(f)(XS)
    _, tangent, count = _core.graph_linearize(graph, [True, *[False] * (len(graph.in_avals) - 1)])
    assert count == 3  # the carry before each step, the sequence, cos
    assert len(tangent.in_avals) == count + 1


def test_while_cond_and_call() -> None:
    def loop(n: Any, x: Any) -> Any:
        body = lambda c: (c[0] + 1, cnp.sin(c[1]), cnp.exp(c[2]))  # noqa: E731
        return ct.lax.while_loop(lambda c: c[0] < n, body, (0, x, x))[1]

    graph = _core.passes["dce"](ct.make_ir(loop)(3, W))
    assert len(equations(graph, "exp")) == 0 and len(equations(graph, "sin")) == 1

    def branch(x: Any) -> Any:
        return ct.lax.cond(x > 0, lambda v: (cnp.sin(v), cnp.exp(v)), lambda v: (cnp.cos(v), cnp.log(v)), x)[0]

    graph = _core.passes["dce"](ct.make_ir(branch)(W))
    assert equations(graph, "exp") == equations(graph, "log") == []

    called = ct.jit(lambda x, y: (cnp.sin(x), cnp.exp(y)))
    graph = _core.passes["dce"](ct.make_ir(lambda x, y: called(x, y)[0])(W, W))
    assert equations(graph, "exp") == [] and len(equations(graph, "call")[0]["operands"]) == 1


@pytest.mark.parametrize("used", [0, 1, 2, 3])
def test_values_and_derivatives_do_not_change(used: int) -> None:
    def f(w: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            a, b, i = carry
            count = ct.lax.while_loop(lambda s: s[0] < i, lambda s: (s[0] + 1, s[1] * w), (0, x))[1]
            c = ct.lax.cond(i > 1, lambda: (a * b, cnp.sin(b)), lambda: (a + w, b))
            return (c[0], c[1] * 0.5, i + 1), (count, a * x)

        carries, stacked = ct.lax.scan(step, (w, 2 * w, 0), xs)
        return cnp.sum([*carries[:2], *stacked][used])

    whole = ct.make_ir(f)(W, XS)
    lean = _core.passes["dce"](whole)
    assert float(lean.evaluate([W, XS])[0]) == float(whole.evaluate([W, XS])[0]) == pytest.approx(float(f(W, XS)))
    if used != 2:  # has a while loop
        ct.test_util.check_grads(f, (W, XS), order=2)


def test_derivatives_that_are_numbers_are_not_kept_for_the_reverse_pass() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)

    def total(rows: ct.Array) -> ct.Array:
        return ct.lax.scan(lambda sum, row: (sum + ct.nn.logsumexp(row), None), 0.0, rows)[0]

    gradient = ct.jit(ct.grad(total))
    forward = gradient.lower(rows).as_text().split(" = scan ")[0].splitlines()[-1]
    # What leaves the forward scan: the sum, the exponentials, and what they add up to; no array of ones.
    assert forward.count("float32[4,6]") == 1, forward
    np.testing.assert_allclose(gradient(rows), ct.nn.softmax(rows, axis=1), rtol=1e-6)
