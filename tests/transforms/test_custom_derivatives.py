"""custom_root against JAX, custom_gradient and closure_convert."""

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


def kepler(lax: Any, lib: Any, transforms: Any) -> Any:
    """E with E - e sin E = M, for arrays."""

    def newton(f: Any, x: Any) -> Any:
        def body(state: Any) -> Any:
            i, x = state
            value, slope = transforms.jvp(f, (x,), (lib.ones_like(x),))
            return i + 1, x - value / slope

        return lax.while_loop(lambda s: s[0] < 30, body, (0, x))[1]

    def solve(e: Any, m: Any) -> Any:
        return lax.custom_root(lambda x: x - e * lib.sin(x) - m, m, newton, lambda g, y: y / g(lib.ones_like(y)))

    return solve


M = np.array([0.3, 1.2, 2.9])
ECC = np.array([0.1, 0.4, 0.6])
ROOTS = {
    "value": lambda t, f: f(ECC, M),
    "jit": lambda t, f: t.jit(f)(ECC, M),
    "jvp": lambda t, f: t.jvp(f, (ECC, M), (M, ECC)),
    "grad": lambda t, f: t.grad(lambda e, m: (f(e, m) ** 2).sum(), argnums=(0, 1))(ECC, M),
    "jit grad": lambda t, f: t.jit(t.grad(lambda e, m: (f(e, m) ** 2).sum(), argnums=(0, 1)))(ECC, M),
    "hessian": lambda t, f: t.hessian(lambda e: (f(e, M) ** 2).sum())(ECC),
    "grad grad": lambda t, f: t.grad(lambda m: t.grad(lambda e: f(e, m).sum())(ECC).sum())(M),
    "vmap": lambda t, f: t.vmap(f)(ECC, M),
    "vmap grad": lambda t, f: t.vmap(t.grad(f, argnums=(0, 1)))(ECC, M),
}


@pytest.mark.parametrize("name", ROOTS)
def test_root(name: str) -> None:
    got = ROOTS[name](ct, kepler(ct.lax, cnp, ct))
    expected = ROOTS[name](jax, kepler(jax.lax, jnp, jax))
    for a, b in zip(ct.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-8, atol=1e-10)


def test_root_with_aux_and_errors() -> None:
    def f(p: Any) -> Any:
        newton = lambda f, x: (ct.lax.fori_loop(0, 30, lambda _, x: 0.5 * (x + p / x), x), p * 2)  # noqa: E731
        return ct.lax.custom_root(lambda x: x * x - p, np.float64(1.0), newton, lambda g, y: y / g(1.0), has_aux=True)

    root, aux = ct.jit(f)(np.float64(4.0))
    assert float(root) == pytest.approx(2.0) and float(aux) == 8.0
    ct.test_util.check_grads(lambda p: f(p)[0], (np.float64(4.0),), order=2)
    with pytest.raises(TypeError, match="return the types"):
        ct.jit(lambda x: ct.lax.custom_root(lambda x: x[:1], x, lambda f, x: x, lambda g, y: y))(M)
    with pytest.raises(TypeError, match="expects a function"):
        ct.lax.custom_root(1, M, lambda f, x: x, lambda g, y: y)


def test_custom_gradient() -> None:
    @ct.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return cnp.sin(x) * y, lambda g: (g * 10.0 * y, g * x)

    assert [float(g) for g in ct.grad(f, argnums=(0, 1))(2.0, 3.0)] == [30.0, 2.0]
    np.testing.assert_allclose(ct.vmap(ct.grad(f))(M, ECC), 10 * ECC)
    np.testing.assert_allclose(ct.jit(ct.grad(lambda x: cnp.sum(ct.vmap(f)(x, ECC))))(M), 10 * ECC)


def test_closure_convert() -> None:
    def f(y: Any) -> Any:
        g, values = ct.closure_convert(lambda x: x * y + M[0], 2.0)
        assert len(values) == 1
        return g(3.0, *values)

    assert float(ct.grad(f)(np.float64(5.0))) == 3.0
    assert ct.closure_convert(lambda x: x + M, M)[1] == []


def test_argument_names_and_symbolic_zeros() -> None:
    @ct.custom_jvp
    def f(x: Any, n: Any) -> Any:
        return x * n

    seen: list[Any] = []

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append(tangents[1])
        return f(*primals), 7.0 * tangents[0]

    f.defjvp(rule, symbolic_zeros=True)
    assert float(ct.grad(f)(2.0, 3)) == 7.0
    assert isinstance(seen[0], ct.custom_derivatives.SymbolicZero)
    import functools

    g = functools.partial(ct.custom_vjp, nondiff_argnames=("n",))(lambda x, n: x**n)
    g.defvjp(lambda x, n: (x**n, x), lambda n, x, c: (c * n * 100.0,))
    assert float(ct.grad(g)(2.0, 3)) == 300.0
    h = functools.partial(ct.custom_vjp, nondiff_argnums=(1,))(lambda x, n: x**n)
    h.defvjp(lambda x, n: (x.value**n, x.value), lambda n, x, c: (None,), symbolic_zeros=True)
    assert float(ct.grad(h)(2.0, 3)) == 0.0
    with pytest.raises(ValueError, match="no argument of the function"):
        functools.partial(ct.custom_vjp, nondiff_argnames=("z",))(lambda x: x)


def test_named_call() -> None:
    f = ct.named_call(lambda x: x * x, name="square")
    graph = ct.make_ir(f)(2.0)
    assert [e["primitive"] for e in graph.equations()] == ["mul"]  # a name records nothing
    assert float(ct.grad(f)(3.0)) == 6.0 and float(f(3.0)) == 9.0
    with ct.named_scope("here"):
        assert float(ct.jit(f)(2.0)) == 4.0
    # Arguments and results are any objects.
    g = ct.named_call(lambda x, how: (x, how) if how == "pair" else x)
    assert ct.jit(lambda x: g(x, "pair")[0] + 1)(1.0).tolist() == 2.0


def test_what_is_evaluated_while_a_function_is_captured() -> None:
    @ct.jit
    def f(x: Any) -> Any:
        with ct.ensure_compile_time_eval():
            steps = int(cnp.sum(cnp.arange(4)))
        return x + steps

    assert float(f(1.0)) == 7.0

    @ct.jit
    def g(x: Any) -> Any:
        with ct.ensure_compile_time_eval():
            two = cnp.ones(()) + 1
            assert float(two) == 2.0
            return x * two + cnp.arange(3)[1]

    assert float(g(1.0)) == 3.0 and float(ct.grad(g)(1.0)) == 2.0
    # What is recorded is what depends on the argument.
    assert sorted(e["primitive"] for e in ct.make_ir(g.__wrapped__)(1.0).equations()) == ["add", "mul"]

    def with_values(x: Any) -> Any:
        with ct.ensure_compile_time_eval():
            inner = ct.grad(lambda y: y * y * cnp.ones(()))(3.0)
            squared = ct.jit(lambda y: y * y)(cnp.float32(3))
            return x * float(inner) + int(squared)

    assert float(ct.jit(with_values)(1.0)) == 15.0
    np.testing.assert_array_equal(ct.vmap(with_values)(np.arange(2.0, dtype=np.float32)), [9.0, 15.0])


def test_rules_see_values_in_eager_transforms() -> None:
    @ct.custom_jvp
    def f(x: Any) -> Any:
        return x * x

    f.defjvp(lambda p, d: (p[0] * p[0], (10.0 if float(p[0]) > 1 else 20.0) * d[0]))
    assert [float(ct.grad(f)(x)) for x in (2.0, 0.5)] == [10.0, 20.0]

    @ct.custom_vjp
    def g(x: Any) -> Any:
        return x * x

    g.defvjp(lambda x: (x * x, 3.0 if float(x) > 1 else 4.0), lambda kept, c: (c * kept,))
    assert [float(ct.grad(g)(x)) for x in (2.0, 0.5)] == [3.0, 4.0]
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(ct.grad(f))(2.0)
