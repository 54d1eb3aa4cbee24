"""Products of the steps of a loop: one before or after the loop, with the same values as in it."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def normal(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def products_after_loops(function, *arguments):
    """How many groups of the program are products outside of loops."""
    return sum(group.name.startswith("dot_general") for group in ct.explain(function)(*arguments).groups)


def check(function, *arguments, rtol=2e-4):
    expected = ct.jit(function, backend="interpreter")(*arguments)
    for ours, theirs in zip(ct.tree.leaves(ct.jit(function)(*arguments)), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * float(np.max(np.abs(theirs))))


def network(params, xs):
    w, u, b = params
    return cnp.mean(
        ct.lax.scan(lambda h, x: (cnp.tanh(x @ w + h @ u + b),) * 2, cnp.zeros((4, 32), xs.dtype), xs)[1] ** 2
    )


PARAMS = normal(24, 32), normal(32, 32, seed=1) / 6, normal(32, seed=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_a_recurrent_network(dtype):
    params = tuple(p.astype(dtype) for p in PARAMS)
    xs = normal(9, 4, 24, seed=3, dtype=dtype)
    gradient = ct.grad(network)
    check(gradient, params, xs)
    assert products_after_loops(gradient, params, xs) == 3  # of xs with w, and for the gradients of w and u

    def unrolled(params, xs):
        w, u, b = params
        h, total = cnp.zeros((4, 32), xs.dtype), 0.0
        for x in xs:
            h = cnp.tanh(x @ w + h @ u + b)
            total = total + cnp.mean(h**2) / 9
        return total

    for ours, theirs in zip(ct.jit(gradient)(params, xs), ct.jit(ct.grad(unrolled))(params, xs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def test_under_vmap_and_second_derivatives():
    xs = normal(3, 9, 4, 24, seed=3)
    check(ct.vmap(ct.grad(network), in_axes=(None, 0)), PARAMS, xs)
    check(ct.grad(lambda p, x: sum(cnp.sum(g**2) for g in ct.grad(network)(p, x))), PARAMS, xs[0], rtol=2e-3)
    check(lambda p, x: ct.jvp(lambda q: ct.grad(network)(q, x), (p,), (p,))[1], PARAMS, xs[0], rtol=2e-3)


def summed(step):
    """The last carry of a loop that starts with a matrix that is not 0."""
    return lambda xs, ys: ct.lax.scan(lambda s, xy: (step(s, *xy), None), normal(40, 50, seed=7), (xs, ys))[0]


XS, YS = normal(6, 3, 40), normal(6, 3, 50, seed=1)


def test_sums_start_where_the_loop_starts():
    function = summed(lambda s, x, y: s + x.T @ y)
    expected = normal(40, 50, seed=7) + np.einsum("tbi,tbj->ij", XS, YS)
    np.testing.assert_allclose(ct.jit(function)(XS, YS), expected, rtol=1e-4, atol=1e-4)
    assert products_after_loops(function, XS, YS) == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda s, x, y: s + (y.T @ x).T,
        lambda s, x, y: cnp.sin(x).T @ cnp.cos(y) + s,
        lambda s, x, y: s + cnp.einsum("bi,bj->ij", x * 2, y),
        lambda s, x, y: s - x.T @ y,
        lambda s, x, y: s + s * 0.1 + x.T @ y,
        lambda s, x, y: s + cnp.ones((40, 3)) @ y,
        lambda s, x, y: s + (x.T @ y) * 2,
        lambda s, x, y: s + cnp.outer(x[0], y[0]),
        lambda s, x, y: s + s[:, :3] @ y,
    ],
)
def test_steps(step):
    check(summed(step), XS, YS)


def test_reversed_loops_and_sums_that_are_stacked_too():
    check(lambda xs, ys: ct.lax.scan(lambda s, xy: (s + xy[0].T @ xy[1], s[0]), cnp.ones((40, 50)), (xs, ys)), XS, YS)
    check(
        lambda xs, ys: ct.lax.scan(
            lambda s, xy: (s + xy[0].T @ xy[1], None), cnp.ones((40, 50)), (xs, ys), reverse=True
        )[0],
        XS,
        YS,
    )


def test_products_with_batches():
    xs, ys = normal(6, 2, 3, 40), normal(6, 2, 3, 50, seed=1)
    function = lambda xs, ys: ct.lax.scan(  # noqa: E731
        lambda s, xy: (s + cnp.swapaxes(xy[0], 1, 2) @ xy[1], None), cnp.zeros((2, 40, 50)), (xs, ys)
    )[0]
    check(function, xs, ys)
    assert products_after_loops(function, xs, ys) >= 1


def test_loops_in_loops():
    def outer(xs, ys):
        inner = summed(lambda s, x, y: s + x.T @ y)
        return ct.lax.fori_loop(0, 3, lambda i, c: c * 0.5 + inner(xs * (1 + i), ys), cnp.zeros((40, 50)))

    check(outer, XS, YS)


def test_loops_of_no_and_one_step():
    for steps in (0, 1):
        check(summed(lambda s, x, y: s + x.T @ y), XS[:steps], YS[:steps])


def test_integers_stay():
    xs, ys = (normal(6, 3, 40) * 9).astype(np.int32), (normal(6, 3, 50) * 9).astype(np.int32)
    step = lambda s, xy: (s + xy[0].T @ xy[1], None)  # noqa: E731
    result = ct.jit(lambda xs, ys: ct.lax.scan(step, cnp.zeros((40, 50), np.int32), (xs, ys))[0])(xs, ys)
    np.testing.assert_array_equal(result, np.einsum("tbi,tbj->ij", xs, ys))


def test_ragged_sequences():
    gradient = ct.grad(
        ct.mask(lambda w, xs: cnp.sum(ct.lax.scan(lambda h, x: (cnp.tanh(x @ w + h),) * 2, cnp.zeros((2, 30)), xs)[1]))
    )
    w, xs = normal(20, 30), normal(5, 2, 20, seed=1)
    padded = ct.Ragged(np.concatenate([xs, np.full((4, 2, 20), np.nan, np.float32)]), {0: 5})
    np.testing.assert_allclose(ct.jit(gradient)(w, padded), ct.jit(gradient)(w, xs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("times", [2, 3])
def test_operands_of_repeated_elements(axis, times):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 2))
    other = np.repeat(x, times, axis)
    for subscripts in ("abc,abc->a", "abc,abd->acd", "abc,adc->cbd", "abc,dbc->bad"):
        y = rng.standard_normal([dict(zip("abc", other.shape, strict=True)).get(label, 4) for label in subscripts[4:7]])

        def f(x, y, subscripts=subscripts):
            return cnp.einsum(subscripts, cnp.repeat(x, times, axis), y)

        expected = np.einsum(subscripts, other, y)
        np.testing.assert_allclose(ct.jit(f)(x, y), expected, 1e-12)
        batches = np.stack([x, 2 * x]), np.stack([y, -y])
        np.testing.assert_allclose(ct.jit(ct.vmap(f))(*batches), [expected, -2 * expected], 1e-12)


def test_products_before_and_after_loops():
    w, u, v, h0 = normal(24, 32), normal(32, 32, seed=1) / 6, normal(40, 32, seed=2), normal(4, 32)
    xs = normal(6, 4, 24, seed=3)

    def function(w, u, v, h0, xs):
        def step(h, x):
            h = cnp.tanh(cnp.sin(x) @ w + h @ u.T)
            return h, (h @ v.T, cnp.cos(v @ h.T))

        return ct.lax.scan(step, h0, xs, reverse=True)

    check(function, w, u, v, h0, xs)
    assert products_after_loops(function, w, u, v, h0, xs) == 2  # of sin(xs) with w, and of all h with v
    loss = lambda *a: cnp.sum(function(*a)[1][0] ** 2) + cnp.sum(function(*a)[1][1])  # noqa: E731
    check(ct.grad(loss, (0, 1, 2, 4)), w, u, v, h0, xs, rtol=2e-3)
    check(ct.vmap(function, in_axes=(None, None, None, 0, 0)), w, u, v, normal(3, 4, 32), normal(3, 6, 4, 24))
