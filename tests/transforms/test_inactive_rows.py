"""vmap of cond, switch and while_loop: rows that do not take a branch, or are done, harm nothing and cost nothing that can be saved."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

XS = np.array([-1.0, 0.0, 4.0, 9.0])


def allclose(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-12)


def root(w: Any, x: Any) -> Any:
    """sqrt(x) w where x is positive, else x w: sqrt and its derivative are NaN or infinite for other rows."""
    return ct.lax.cond(x > 0, lambda v: cnp.sqrt(v) * w, lambda v: v * w, x)


def loop(f: Any, *args: Any) -> Any:
    return np.stack([np.asarray(f(*[a[i] for a in args])) for i in range(len(args[0]))])


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_do_not_see_the_branch_that_a_row_does_not_take(jit: bool) -> None:
    wrap = ct.jit if jit else lambda f: f
    w = np.float64(3.0)
    own = wrap(ct.grad(lambda x: cnp.sum(ct.vmap(lambda v: root(w, v))(x))))(XS)
    allclose(own, [3.0, 3.0, 0.75, 0.5])
    shared = wrap(ct.grad(lambda w: cnp.sum(ct.vmap(lambda v: root(w, v))(XS))))(w)
    allclose(shared, -1.0 + 0.0 + 2.0 + 3.0)
    for rows in (XS[:2], XS[2:]):  # all of them take one branch
        shared = wrap(ct.grad(lambda w, rows=rows: cnp.sum(ct.vmap(lambda v: root(w, v))(rows))))(w)
        allclose(shared, np.where(rows > 0, np.sqrt(np.abs(rows)), rows).sum())
    twice = wrap(ct.grad(lambda w: cnp.sum(ct.vmap(ct.vmap(lambda v: root(w, v)))(XS.reshape(2, 2)))))(w)
    allclose(twice, 4.0)
    outside = wrap(ct.vmap(ct.grad(root), (None, 0)))(w, XS)
    allclose(outside, [-1.0, 0.0, 2.0, 3.0])


@pytest.mark.parametrize("jit", [False, True])
def test_forward_mode(jit: bool) -> None:
    wrap = ct.jit if jit else lambda f: f
    f = lambda w, x: ct.vmap(lambda v: root(w, v))(x)  # noqa: E731
    _, tangent = wrap(lambda: ct.jvp(f, (np.float64(3.0), XS), (np.float64(1.0), np.ones(4))))()
    allclose(tangent, [-1.0 + 3.0, 3.0, 2.0 + 0.75, 3.0 + 0.5])


@pytest.mark.parametrize("jit", [False, True])
def test_a_loop_in_a_branch_sees_only_rows_that_take_the_branch(jit: bool) -> None:
    """x is halved down to 1; for rows up to 0 that would never end."""
    wrap = ct.jit if jit else lambda f: f

    def halvings(x: Any) -> Any:
        count = lambda v: ct.lax.while_loop(lambda s: s[0] != 1, lambda s: (s[0] // 2, s[1] + 1), (v, 0))[1]  # noqa: E731
        return ct.lax.cond(x > 0, count, lambda v: -v, x)

    xs = np.array([8, -3, 1, 0, 32], np.int32)
    assert wrap(ct.vmap(halvings))(xs).tolist() == [3, 3, 0, 0, 5]
    assert wrap(ct.vmap(halvings))(-xs[1:2]).tolist() == [1]
    assert wrap(ct.vmap(halvings))(np.array([-2, 0], np.int32)).tolist() == [2, 0]
    assert wrap(ct.vmap(ct.vmap(halvings)))(xs[:4].reshape(2, 2)).tolist() == [[3, 3], [0, 0]]


@pytest.mark.parametrize("jit", [False, True])
def test_a_loop_in_a_loop_sees_only_rows_that_go_on(jit: bool) -> None:
    """The inner loop ends only for the values that the outer one lets in."""
    wrap = ct.jit if jit else lambda f: f

    def f(n: Any) -> Any:
        def body(state: Any) -> Any:
            n, total = state
            down = ct.lax.while_loop(lambda m: m != 0, lambda m: m - 1, n)  # does not end from below 0
            return n - 2, total + down + 1

        return ct.lax.while_loop(lambda s: s[0] > 0, body, (n, 0))[1]

    ns = np.array([5, 0, 2, 9, -1], np.int32)
    assert wrap(ct.vmap(f))(ns).tolist() == [max(0, (int(n) + 1) // 2) for n in ns]


def test_a_branch_that_no_row_takes_does_not_run() -> None:
    def expensive(v: Any) -> Any:
        return ct.lax.scan(lambda c, _: (cnp.sin(c), None), v, None, length=100)[0]

    graph = ct.make_ir(ct.vmap(lambda x: ct.lax.cond(x > 0, expensive, lambda v: v, x)))(XS)
    assert [e["primitive"] for e in graph.equations()].count("cond") == 1
    assert all(e["primitive"] != "scan" for e in graph.equations())
    cheap = ct.make_ir(ct.vmap(lambda x: ct.lax.cond(x > 0, cnp.sin, lambda v: v, x)))(XS)
    assert all(e["primitive"] != "cond" for e in cheap.equations())


@pytest.mark.parametrize("jit", [False, True])
def test_switch(jit: bool) -> None:
    wrap = ct.jit if jit else lambda f: f
    w = np.float64(2.0)

    def f(w: Any, i: Any, x: Any) -> Any:
        branches = [lambda v: cnp.log(v) * w, lambda v: v, lambda v: ct.lax.fori_loop(0, 3, lambda _, c: c * w, v)]
        return ct.lax.switch(i, branches, x)

    index = np.array([-7, 0, 1, 2, 3, 99], np.int32)
    xs = np.array([2.0, 3.0, -1.0, 0.0, 1.0, -2.0])
    allclose(wrap(ct.vmap(f, (None, 0, 0)))(w, index, xs), [2 * np.log(2), 2 * np.log(3), -1, 0, 8, -16])
    gradient = wrap(ct.grad(lambda w: cnp.sum(ct.vmap(f, (None, 0, 0))(w, index, xs))))(w)
    allclose(gradient, np.log(2) + np.log(3) + 3 * 4 * (0 + 1 - 2))
    allclose(wrap(ct.vmap(f, (None, 0, None)))(w, index, np.float64(3.0))[2:], [3, 24, 24, 24])


@pytest.mark.parametrize("jit", [False, True])
def test_rows_that_are_done_stay_as_they_are(jit: bool) -> None:
    wrap = ct.jit if jit else lambda f: f

    def f(limit: Any, x: Any) -> Any:
        return ct.lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] * s[1], s[1], s[2] + 1), (x, x, 0))[::2]

    xs, limits = np.array([2.0, 3.0, 50.0, 1.5]), np.array([20.0, 100.0, 10.0, 1.0])
    value, steps = wrap(ct.vmap(f))(limits, xs)
    allclose(value, loop(lambda a, b: f(a, b)[0], limits, xs))
    assert steps.tolist() == [4, 4, 0, 0]
    tangent = wrap(lambda: ct.jvp(lambda x: ct.vmap(f)(limits, x)[0], (xs,), (np.ones(4),))[1])()
    allclose(tangent, [5 * 2.0**4, 5 * 3.0**4, 1, 1])
    assert ct.vmap(f)(limits[:0], xs[:0])[0].shape == (0,)


def test_zero_rows() -> None:
    assert ct.jit(ct.vmap(lambda v: root(2.0, v)))(XS[:0]).shape == (0,)
