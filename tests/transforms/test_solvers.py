"""custom_linear_solve against JAX and against the dense solution, and inside of custom_root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    """JAX keeps float64 in these tests."""
    with jax.enable_x64(True):
        yield


A = np.array([[4.0, 1.0, 0.5], [0.2, 3.0, -1.0], [0.3, 0.4, 5.0]])
B = np.array([1.0, -2.0, 0.5])


def jacobi(lax: Any, lib: Any, steps: int = 40) -> Any:
    """Solves by an iteration that only applies the map, and a diagonal that is found by probing it."""

    def solve(matvec: Any, b: Any) -> Any:
        diagonal = lib.stack([matvec(e)[i] for i, e in enumerate(np.eye(3))])
        body = lambda _, x: x + (b - matvec(x)) / diagonal  # noqa: E731
        return lax.while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, body(None, s[1])), (0, b / diagonal))[1]

    return solve


def solution(lax: Any, lib: Any, transposable: bool = True) -> Any:
    solve = jacobi(lax, lib)

    def f(a: Any, b: Any) -> Any:
        extra = {"transpose_solve": solve} if transposable else {}
        return lax.custom_linear_solve(lambda x: lib.sin(a) @ x + 3 * x, b, solve, **extra)

    return f


def dense(a: Any, b: Any) -> Any:
    """Cramer's rule."""
    m = cnp.sin(a) + 3 * cnp.eye(3)
    determinant = lambda u, v, w: cnp.sum(cnp.cross(u, v) * w)  # noqa: E731
    columns = [m[:, 0], m[:, 1], m[:, 2]]
    replaced = [[b if i == k else c for i, c in enumerate(columns)] for k in range(3)]
    return cnp.stack([determinant(*r) for r in replaced]) / determinant(*columns)


mine, theirs = solution(ct.lax, cnp), solution(jax.lax, jnp)
TRANSFORMS = {
    "value": lambda t, f: f(A, B),
    "jit": lambda t, f: t.jit(f)(A, B),
    "jvp": lambda t, f: t.jvp(f, (A, B), (A, B)),
    "grad": lambda t, f: t.grad(lambda a, b: (f(a, b) ** 2).sum(), argnums=(0, 1))(A, B),
    "jit grad": lambda t, f: t.jit(t.grad(lambda a, b: (f(a, b) ** 2).sum(), argnums=(0, 1)))(A, B),
    "jacrev": lambda t, f: t.jacrev(f, argnums=(0, 1))(A, B),
    "jacfwd": lambda t, f: t.jacfwd(f, argnums=(0, 1))(A, B),
    "hessian": lambda t, f: t.hessian(lambda b: (f(A, b) ** 3).sum())(B),
    "hessian a": lambda t, f: t.jacfwd(t.grad(lambda a: (f(a, B) ** 3).sum()))(A),
    "vmap b": lambda t, f: t.vmap(f, (None, 0))(A, np.stack([B, 2 * B])),
    "vmap a": lambda t, f: t.vmap(f, (0, None))(np.stack([A, A.T]), B),
    "vmap grad": lambda t, f: t.vmap(t.grad(lambda a, b: (f(a, b) ** 2).sum()), (0, 0))(
        np.stack([A, A.T]), np.stack([B, 2 * B])
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_linear_solve(name: str) -> None:
    got = TRANSFORMS[name](ct, mine)
    for reference in (TRANSFORMS[name](jax, theirs), TRANSFORMS[name](ct, dense)):
        for a, b in zip(ct.tree.leaves(got), jax.tree.leaves(jax.tree.map(np.asarray, reference)), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-8, atol=1e-10)


def test_second_order_by_finite_differences() -> None:
    ct.test_util.check_grads(mine, (A, B), order=2)


def test_symmetric_aux_and_trees() -> None:
    s = A + A.T
    inverse = np.linalg.inv(s)

    def f(scale: Any, b: Any) -> Any:
        matvec = lambda t: {"u": scale * (s @ t["u"]), "v": t["v"] * scale}  # noqa: E731
        solve = lambda mv, t: ({"u": inverse @ t["u"] / scale, "v": t["v"] / scale}, {"steps": 7})  # noqa: E731
        return ct.lax.custom_linear_solve(matvec, b, solve, symmetric=True, has_aux=True)

    b = {"u": B, "v": np.float64(3.0)}
    for run in (f, ct.jit(f)):
        x, aux = run(2.0, b)
        np.testing.assert_allclose(x["u"], np.linalg.solve(2 * s, B))
        assert float(x["v"]) == 1.5 and int(aux["steps"]) == 7
    g = ct.grad(lambda c, b: cnp.sum(f(c, b)[0]["u"]) + f(c, b)[0]["v"], argnums=(0, 1))(np.float64(2.0), b)
    np.testing.assert_allclose(g[0], -np.linalg.solve(s, B).sum() / 4 - 0.75)
    np.testing.assert_allclose(g[1]["u"], np.linalg.solve(2 * s, np.ones(3)))
    batched = ct.vmap(f, (0, None))(np.array([1.0, 2.0]), b)
    np.testing.assert_allclose(batched[0]["v"], [3.0, 1.5])
    assert batched[1]["steps"].tolist() == [7, 7]


def test_linear_solve_of_ragged_arrays() -> None:
    def f(d: Any, b: Any) -> Any:
        return cnp.sum(ct.lax.custom_linear_solve(lambda x: d * x, b, lambda mv, c: c / d, symmetric=True) ** 2)

    d, b = np.array([2.0, 4.0, np.nan]), np.array([1.0, 2.0, np.nan])
    pad = lambda x: ct.Ragged(x, {0: 2}, names={0: "n"})  # noqa: E731
    np.testing.assert_allclose(ct.mask(f)(pad(d), pad(b)), 0.5)
    gradient = ct.grad(lambda d: ct.mask(f)(d, pad(b)))(pad(d))
    np.testing.assert_allclose(gradient.unpad(), ct.grad(f)(d[:2], b[:2]))


ERRORS = [
    (lambda: ct.lax.custom_linear_solve(lambda x: x[:2], B, lambda m, b: b), TypeError, "return the types"),
    (lambda: ct.lax.custom_linear_solve(lambda x: (x,), B, lambda m, b: b), TypeError, "structure"),
    (lambda: ct.lax.custom_linear_solve(lambda x: x, B, lambda m, b: (b, b)), TypeError, "solution of the structure"),
    (lambda: ct.lax.custom_linear_solve(lambda x: x, B, lambda m, b: b, has_aux=True), TypeError, "pair"),
    (lambda: ct.lax.custom_root(lambda x: x[:1], B, lambda f, x: x, lambda g, y: y), TypeError, "return the types"),
    (lambda: ct.lax.custom_root(1, B, lambda f, x: x, lambda g, y: y), TypeError, "expects a function"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        ct.jit(call)()


def test_reverse_mode_needs_a_transposed_solver() -> None:
    f = solution(ct.lax, cnp, transposable=False)
    np.testing.assert_allclose(ct.jvp(f, (A, B), (A, B))[1], ct.jvp(mine, (A, B), (A, B))[1])
    with pytest.raises(ct.errors.NotDifferentiableError, match=r"(?s)transposed equation.*transpose_solve"):
        ct.grad(lambda b: cnp.sum(f(A, b)))(B)


def test_root_of_a_system_with_aux() -> None:
    """A fixed point of two coupled equations, by a linear solve of the dense Jacobian."""

    def f(p: Any) -> Any:
        equations = lambda z: {"x": z["x"] - 0.3 * cnp.cos(z["y"] * p), "y": z["y"] - 0.2 * cnp.sin(z["x"]) - p}  # noqa: E731

        def iterate(f: Any, z: Any) -> Any:
            step = lambda _, z: ct.tree.map(lambda a, b: a - b, z, f(z))  # noqa: E731
            return ct.lax.fori_loop(0, 60, step, z), p * 2

        def tangent_solve(g: Any, rhs: Any) -> Any:
            def solve(matvec: Any, b: Any) -> Any:
                step = lambda _, x: ct.tree.map(lambda x, b, m: x + b - m, x, b, matvec(x))  # noqa: E731
                return ct.lax.fori_loop(0, 60, step, b)

            return ct.lax.custom_linear_solve(g, rhs, solve, solve)

        return ct.lax.custom_root(
            equations, {"x": np.float64(0.0), "y": np.float64(0.0)}, iterate, tangent_solve, has_aux=True
        )

    p = np.float64(0.7)
    root, aux = ct.jit(f)(p)
    np.testing.assert_allclose(root["x"], 0.3 * np.cos(np.asarray(root["y"]) * 0.7), rtol=1e-9)
    assert float(aux) == 1.4
    ct.test_util.check_grads(lambda p: f(p)[0], (p,), order=2)


@pytest.mark.parametrize("dense", [True, False])
def test_tangent_solve_may_close_over_what_is_differentiated(dense: bool) -> None:
    def solve(a: Any, b: Any) -> Any:
        factors = ct.scipy.linalg.cho_factor(a)

        def tangent_solve(g: Any, y: Any) -> Any:
            if dense:
                return cnp.linalg.solve(ct.jacrev(g)(y), y)
            return ct.lax.custom_linear_solve(g, y, lambda _, y: ct.scipy.linalg.cho_solve(factors, y), symmetric=True)

        return ct.lax.custom_root(
            lambda x: a @ x - b, b, lambda f, b: ct.scipy.linalg.cho_solve(factors, b), tangent_solve
        )

    def f(a: Any, b: Any) -> Any:
        return solve(a @ a.T, b)

    a, b = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([0.5, -2.0])
    ct.test_util.check_grads(f, (a, b), order=2)
    for actual, expected in zip(
        ct.jacrev(f, (0, 1))(a, b), ct.jacrev(lambda a, b: cnp.linalg.solve(a @ a.T, b), (0, 1))(a, b), strict=True
    ):
        np.testing.assert_allclose(actual, expected, 1e-9, 1e-12)
    batch = np.stack([b, 2 * b])
    np.testing.assert_allclose(ct.vmap(f, (None, 0))(a, batch), [f(a, b), f(a, 2 * b)], 1e-9)
