"""Reverse mode through while_loop, against the same steps as a scan or written out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

W = np.random.default_rng(0).normal(size=(4, 4))
X = np.linspace(0.3, 0.9, 4)
VALUE = np.float64(0.6)
LENGTHS = (0, 1, 2, 3, 7, 33, 34, 100, 1000, 10_000)


def loop(x: Any, w: Any, n: Any) -> Any:
    """n steps of a map whose derivatives neither vanish nor explode."""
    return ct.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, cnp.cos(w @ s[1])), (0, x))[1].sum()


def unrolled(x: Any, w: Any, n: int) -> Any:
    return ct.lax.scan(lambda c, _: (cnp.cos(w @ c), None), x, None, length=n)[0].sum()


def close(mine: Any, expected: Any, rtol: float = 1e-9) -> None:
    for a, b in zip(ct.tree.leaves(mine), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-12)


JITTED = ct.jit(ct.value_and_grad(loop, argnums=(0, 1)))


@pytest.mark.parametrize("n", LENGTHS)
def test_gradients_of_carries_and_of_closures(n: int) -> None:
    expected = ct.value_and_grad(lambda x, w: unrolled(x, w, n), argnums=(0, 1))(X, W)
    close(JITTED(X, W, n), expected)
    if n < 50:
        close(ct.value_and_grad(loop, argnums=(0, 1))(X, W, n), expected)


def test_memory_does_not_grow_with_the_number_of_steps() -> None:
    def bytes_of(f: Any, n: int) -> int:
        compiled = ct.jit(ct.grad(lambda x: f(x, W, n))).lower(X).compile()
        return compiled.memory_analysis()["temp_size_in_bytes"]

    assert bytes_of(loop, 10) == bytes_of(loop, 10_000_000) < 10_000
    assert bytes_of(unrolled, 1000) > 30_000


@pytest.mark.parametrize(("n", "repeats"), [(1, 0), (33, 1), (100, 2), (561, 2), (562, 3), (2000, 3)])
def test_steps_are_run_again_a_bounded_number_of_times(n: int, repeats: int) -> None:
    calls = 0

    def one(i: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.float64(1.0)

    def f(x: Any) -> Any:
        def body(s: Any) -> Any:
            scale = ct.pure_callback(one, ct.ShapeDtypeStruct((), "float64"), s[0])
            return s[0] + 1, s[1] * scale

        return ct.lax.while_loop(lambda s: s[0] < n, body, (0, x))[1]

    assert float(ct.grad(f)(VALUE)) == 1.0
    # Twice forward (the value, and the count of steps), once for each step back, and what is made again.
    assert 2 * n <= calls <= (3 + repeats) * n


ORDERS: dict[str, Callable[[Any], Any]] = {
    "jvp of grad": lambda f: ct.jvp(ct.grad(lambda x: f(x, W)), (X,), (X[::-1].copy(),)),
    "grad of grad": lambda f: ct.grad(lambda w: (ct.grad(f)(X, w) ** 2).sum())(W),
    "jit of grad of grad": lambda f: ct.jit(ct.grad(lambda w: (ct.grad(f)(X, w) ** 2).sum()))(W),
    "hessian": lambda f: ct.hessian(lambda x: f(x, W))(X),
    "jacrev of jacrev": lambda f: ct.jit(ct.jacrev(ct.jacrev(lambda x: f(x, W))))(X),
    "vjp": lambda f: ct.vjp(lambda x: f(x, W), X)[1](np.float64(2.0)),
    "linearize": lambda f: ct.linearize(lambda x: f(x, W), X)[1](X),
    "checkpoint": lambda f: ct.jit(ct.grad(ct.checkpoint(lambda x: cnp.sin(f(x, W)))))(X),
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("n", [0, 1, 5, 36])
def test_nested_derivatives(name: str, n: int) -> None:
    close(ORDERS[name](lambda x, w: loop(x, w, n)), ORDERS[name](lambda x, w: unrolled(x, w, n)), 1e-7)


NS = np.array([0, 1, 3, 40])
ROWS = np.random.default_rng(3).normal(size=(4, 4))


def test_vmap_of_the_gradient() -> None:
    """Rows that stop at different steps."""
    expected = [
        ct.grad(lambda x, w, n=n: unrolled(x, w, int(n)), argnums=(0, 1))(x, W) for x, n in zip(ROWS, NS, strict=True)
    ]
    mine = ct.jit(ct.vmap(ct.grad(loop, argnums=(0, 1)), (0, None, 0)))(ROWS, W, NS)
    close(mine, [np.stack([np.asarray(e[k]) for e in expected]) for k in (0, 1)])
    total = ct.jit(ct.grad(lambda xs, w: ct.vmap(loop, (0, None, 0))(xs, w, NS).sum(), argnums=(0, 1)))(ROWS, W)
    close(total, [np.stack([np.asarray(e[0]) for e in expected]), sum(np.asarray(e[1]) for e in expected)])


def test_gradient_of_a_mask() -> None:
    def f(x: Any, n: Any) -> Any:
        body = lambda s: (s[0] + 1, cnp.cumsum(cnp.sin(s[1])) * 0.3)  # noqa: E731
        return cnp.sum(ct.lax.while_loop(lambda s: s[0] < n, body, (0, x))[1] ** 2)

    x = np.array([0.3, 0.5, 0.7, np.nan, np.nan])
    for n in (0, 6, 40):
        gradient = ct.jit(ct.grad(lambda r, n: ct.mask(f)(r, n)))(ct.Ragged(x, {0: 3}), n)
        close(gradient.unpad(), ct.grad(f)(x[:3], n))
        assert (np.asarray(gradient.data)[3:] == 0).all()
    rows = ct.ragged([np.array([0.3]), np.array([0.1, 0.2, 0.3]), np.zeros(0)])
    batched = ct.vmap(ct.grad(ct.mask(f)), (0, 0))(rows, np.array([3, 7, 2]))
    for mine, row, n in zip(batched.to_list(), rows.to_list(), (3, 7, 2), strict=True):
        close(mine, ct.grad(f)(row, n))


def test_carries_of_keys_and_integers() -> None:
    def step(key: Any, x: Any, i: Any) -> Any:
        key, sub = ct.random.split(key)
        return key, x * ct.random.normal(sub, x.shape, dtype=x.dtype) + i * ct.random.uniform(key, (), dtype=x.dtype)

    def f(x: Any, n: Any) -> Any:
        body = lambda s: (s[0] + 1, *step(s[1], s[2], s[0]))  # noqa: E731
        return ct.lax.while_loop(lambda s: s[0] < n, body, (0, ct.random.key(0), x))[2].sum()

    def g(x: Any, n: int) -> Any:
        key = ct.random.key(0)
        for i in range(n):
            key, x = step(key, x, i)
        return x.sum()

    for n in (0, 5, 40):
        close(ct.jit(ct.grad(f))(X, n), ct.grad(lambda x, n=n: g(x, n))(X))


def nested(x: Any, n: Any, m: Any) -> Any:
    inner = lambda v: ct.lax.fori_loop(0, m, lambda i, v: cnp.sin(v) * 1.1, v)  # noqa: E731
    return ct.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, inner(s[1]) + 0.1 * s[1]), (0, x))[1]


def nested_by_hand(x: Any, n: int, m: int) -> Any:
    for _ in range(n):
        v = x
        for _ in range(m):
            v = cnp.sin(v) * 1.1
        x = v + 0.1 * x
    return x


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (3, 4), (35, 2)])
def test_loops_in_loops(n: int, m: int) -> None:
    close(ct.jit(ct.grad(nested))(VALUE, n, m), ct.grad(lambda x: nested_by_hand(x, n, m))(VALUE))


def test_inside_of_a_scan() -> None:
    def f(x: Any) -> Any:
        step = lambda c, k: (ct.lax.fori_loop(0, k, lambda i, v: cnp.sin(v) * 1.1, c), c)  # noqa: E731
        return ct.lax.scan(step, x, np.arange(4))[1].sum()

    def g(x: Any) -> Any:
        total = 0.0
        for k in range(4):
            total = total + x
            for _ in range(k):
                x = cnp.sin(x) * 1.1
        return total

    close(ct.jit(ct.grad(f))(VALUE), ct.grad(g)(VALUE))


def test_until_convergence() -> None:
    def root(a: Any) -> Any:
        return ct.lax.while_loop(lambda s: abs(s * s - a) > 1e-12, lambda s: 0.5 * (s + a / s), a)

    close(ct.vmap(ct.grad(root))(np.array([2.0, 9.0, 0.3])), 0.5 / np.sqrt([2.0, 9.0, 0.3]), 1e-6)
    ct.test_util.check_grads(root, (np.float64(2.0),), order=2)


def test_complex_carries_and_small_floats() -> None:
    step = lambda z, start: z * z * 0.5 + start  # noqa: E731

    def f(z: Any, n: Any) -> Any:
        return abs(ct.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[1], z)), (0, z))[1])

    def g(start: Any) -> Any:
        z = start
        for _ in range(40):
            z = step(z, start)
        return abs(z)

    close(ct.grad(f)(0.1 + 0.2j, 40), ct.grad(g)(0.1 + 0.2j), 1e-5)
    for dtype in ("float16", "bfloat16", "float32"):
        x = cnp.array([0.5, 0.7], dtype=dtype)
        gradient = ct.jit(ct.grad(lambda x: nested(x, 5, 1).sum()))(x)
        assert gradient.dtype == x.dtype
        np.testing.assert_allclose(
            np.asarray(gradient, np.float64), ct.grad(lambda x: nested(x, 5, 1).sum())(np.array([0.5, 0.7])), rtol=0.05
        )


def test_linear_transpose() -> None:
    f = lambda v: ct.lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, W @ s[1]), (0, v))[1]  # noqa: E731
    close(ct.linear_transpose(f, X)(X)[0], np.linalg.matrix_power(W, 7).T @ X)


def test_a_condition_of_what_is_linear_is_an_error() -> None:
    f = lambda v: ct.lax.while_loop(lambda v: v[0] < 1.0, lambda v: v * 2.0, v)  # noqa: E731
    with pytest.raises(ct.errors.NotDifferentiableError, match="linear"):
        ct.linear_transpose(f, X)(X)


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit])
def test_effects_happen_once(wrap: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    def body(i: Any, x: Any) -> Any:
        ct.debug.print("step {}", i)
        return cnp.sin(x)

    wrap(ct.grad(lambda x, n: ct.lax.fori_loop(0, n, body, x)))(VALUE, 3)
    ct.effects_barrier()
    assert capsys.readouterr().out.split("\n") == ["step 0", "step 1", "step 2", ""]


def test_export() -> None:
    with tempfile.TemporaryDirectory() as directory:
        specs = (ct.ShapeDtypeStruct((4,), "float64"), ct.ShapeDtypeStruct((), "int32"))
        ct.export.compile(ct.grad(lambda x, n: loop(x, W, n)), *specs, name="step").save(directory)
        step = ct.export.load(directory)
        close(step(X, np.int32(50)), ct.grad(lambda x: unrolled(x, W, 50))(X))
