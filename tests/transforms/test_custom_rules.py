"""custom_jvp and custom_vjp: the rule is used, under every transform."""

from __future__ import annotations

import math
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.array([1.0, 2.0, 3.0])


def make_jvp() -> Any:
    @ct.custom_jvp
    def f(x: Any) -> Any:
        return x * x

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), 10.0 * x * t

    return f


def make_vjp() -> Any:
    @ct.custom_vjp
    def f(x: Any) -> Any:
        return x * x

    f.defvjp(lambda x: (x * x, x), lambda residual, g: (10.0 * residual * g,))
    return f


@pytest.mark.parametrize("make", [make_jvp, make_vjp])
def test_rule_survives_transforms(make: Any) -> None:
    f = make()
    expected = 10 * X
    np.testing.assert_allclose(f(X), X * X)
    np.testing.assert_allclose(ct.grad(lambda x: cnp.sum(f(x)))(X), expected)
    np.testing.assert_allclose(ct.grad(lambda x: cnp.sum(ct.vmap(f)(x)))(X), expected)
    np.testing.assert_allclose(ct.vmap(ct.grad(f))(X), expected)
    np.testing.assert_allclose(ct.jit(ct.vmap(ct.grad(ct.jit(f))))(X), expected)
    np.testing.assert_allclose(ct.grad(lambda x: cnp.sum(ct.vmap(ct.vmap(f))(x)))(X[None]), expected[None])
    np.testing.assert_allclose(
        ct.grad(lambda x: ct.lax.scan(lambda c, v: (c + f(v), None), 0.0, x)[0])(X), expected, rtol=1e-6
    )
    np.testing.assert_allclose(ct.grad(ct.grad(f))(np.float64(2.0)), 10.0)
    masked = ct.grad(lambda r: ct.mask(lambda x: cnp.sum(f(x)))(r))(ct.Ragged(X, {0: 2}))
    np.testing.assert_allclose(masked.data, [10.0, 20.0, 0.0])


def test_custom_jvp_forward_mode() -> None:
    f = make_jvp()
    np.testing.assert_allclose(ct.jvp(f, (X,), (np.ones(3),))[1], 10 * X)
    np.testing.assert_allclose(ct.jacfwd(f)(X), np.diag(10 * X))


def test_defjvps_and_nondiff() -> None:
    @ct.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defjvps(lambda t, out, x, y: 2.0 * t, None)
    assert [float(g) for g in ct.grad(f, argnums=(0, 1))(3.0, 4.0)] == [2.0, 0.0]

    calls = []

    def power(n: int, x: Any) -> Any:
        return x**n

    g = ct.custom_jvp(power, nondiff_argnums=(0,))

    @g.defjvp
    def _(n: int, primals: Any, tangents: Any) -> Any:
        calls.append(n)
        return primals[0] ** n, tangents[0] * 7.0

    assert float(ct.grad(lambda x: g(3, x))(2.0)) == 7.0
    assert calls == [3]


def test_closed_over_tracers() -> None:
    def outer(w: Any) -> Any:
        @ct.custom_vjp
        def f(x: Any) -> Any:
            return x * 2.0

        f.defvjp(lambda x: (x * 2.0, None), lambda _, g: (g * 5.0,))
        return f(w) + w

    assert float(ct.grad(outer)(1.0)) == 6.0


def test_pytree_arguments_and_none_cotangents() -> None:
    @ct.custom_vjp
    def f(p: Any, n: Any) -> Any:
        return p["a"] * p["b"]

    f.defvjp(lambda p, n: (p["a"] * p["b"], p), lambda p, g: ({"a": g * 3.0, "b": g * 4.0}, None))
    gradient = ct.grad(f)({"a": 1.0, "b": 2.0}, 3.0)
    assert float(gradient["a"]) == 3.0 and float(gradient["b"]) == 4.0
    assert float(ct.grad(f, argnums=1)({"a": 1.0, "b": 2.0}, 3.0)) == 0.0


def test_errors() -> None:
    f = ct.custom_jvp(lambda x: x)
    with pytest.raises(AttributeError, match="defjvp"):
        ct.grad(f)(1.0)
    g = ct.custom_vjp(lambda x: x)
    with pytest.raises(AttributeError, match="defvjp"):
        ct.grad(g)(1.0)
    with pytest.raises(ct.errors.NotDifferentiableError, match="forward-mode"):
        ct.jvp(make_vjp(), (1.0,), (1.0,))
    g.defvjp(lambda x: x, lambda r, c: (c,))
    with pytest.raises(TypeError, match="residuals"):
        ct.grad(g)(1.0)
    g.defvjp(lambda x: (x, None), lambda r, c: (c, c))
    with pytest.raises(TypeError, match="tuple of 1"):
        ct.grad(g)(1.0)
    g.defvjp(lambda x: (x, None), lambda r, c: (cnp.zeros(3),))
    with pytest.raises(ct.errors.ShapeError, match="cotangent of argument 0"):
        ct.grad(g)(1.0)

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return primals[0]

    with pytest.raises(TypeError, match="output tangent"):
        ct.grad(f)(1.0)


def test_a_forward_rule_that_calls_its_own_function():
    @ct.custom_vjp
    def f(x):
        return cnp.sin(x)

    def forward(x):
        return f(x), x

    # Twice the derivative, so that every order tells whether the rule was used.
    f.defvjp(forward, lambda x, g: (2 * g * cnp.cos(x),))
    assert float(ct.grad(f)(0.5)) == pytest.approx(2 * math.cos(0.5), rel=1e-6)
    assert float(ct.jit(ct.grad(ct.grad(f)))(0.5)) == pytest.approx(-2 * math.sin(0.5), rel=1e-6)
    assert float(ct.grad(ct.grad(ct.grad(f)))(0.5)) == pytest.approx(-2 * math.cos(0.5), rel=1e-6)
    rule = ct.vjp(f, 0.5)[1]
    assert float(rule(1.0)[0]) == pytest.approx(2 * math.cos(0.5), rel=1e-6)
    value = ct.grad(lambda x: ct.value_and_grad(f)(x)[0])(0.5)
    assert float(value) == pytest.approx(2 * math.cos(0.5), rel=1e-6)


@pytest.mark.parametrize("transform", [lambda f: f, ct.jit, lambda f: lambda x: ct.vmap(f)(cnp.full(2, x))[1]])
def test_backward_rules_that_call_each_other_serve_every_order(transform) -> None:
    sin, cos = ct.custom_vjp(cnp.sin), ct.custom_vjp(cnp.cos)
    # Twice the derivative, so that every order tells whether the rules were used.
    sin.defvjp(lambda x: (cnp.sin(x), x), lambda x, g: (2 * g * cos(x),))
    cos.defvjp(lambda x: (cnp.cos(x), x), lambda x, g: (-2 * g * sin(x),))
    derivative = sin
    orders = [math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x), math.sin, math.cos, lambda x: -math.sin(x)]
    for order, expected in enumerate(orders, 1):
        derivative = ct.grad(derivative)
        assert float(transform(derivative)(0.5)) == pytest.approx(2**order * expected(0.5), rel=1e-6)


def test_a_custom_vjp_function_says_so_when_it_closes_over_what_is_differentiated():
    def program(scale):
        @ct.custom_vjp
        def f(x):
            return scale * x

        f.defvjp(lambda x: (f(x), None), lambda _, g: (scale * g,))
        return f

    assert float(ct.grad(lambda x: program(3.0)(x))(2.0)) == 3.0
    np.testing.assert_allclose(ct.vmap(lambda s: ct.grad(program(s))(2.0))(np.arange(3.0)), np.arange(3.0))
    for transform in (ct.grad, lambda f: ct.grad(lambda s: ct.vmap(f)(s * cnp.ones(2)).sum())):
        with pytest.raises(ct.errors.NotDifferentiableError, match="closes over"):
            transform(lambda s: program(s)(2.0))(3.0)
    assert float(ct.grad(lambda s: program(ct.lax.stop_gradient(s))(s))(3.0)) == 3.0


def test_a_closure_of_a_custom_jvp_is_not_differentiated() -> None:
    def program(scale):
        f = ct.custom_jvp(lambda x: scale * x)
        f.defjvp(lambda primals, tangents: (scale * primals[0], scale * tangents[0]))
        return f

    assert float(ct.grad(lambda x: program(3.0)(x))(2.0)) == 3.0
    assert float(ct.grad(lambda s: program(ct.lax.stop_gradient(s))(s))(3.0)) == 3.0
    for transform in (ct.grad, ct.jacfwd):
        with pytest.raises(ct.errors.NotDifferentiableError, match=r"custom_jvp.*closes over"):
            transform(lambda s: program(s)(2.0))(3.0)


def test_rules_may_look_at_values_in_an_eager_gradient():
    @ct.custom_vjp
    def f(x):
        return cnp.sin(x)

    def backward(x, g):
        return (2 * g,) if x > 0 else (3 * g,)

    f.defvjp(lambda x: (f(x) if x > 1 else -f(-x), x), backward)
    assert float(ct.grad(f)(2.0)) == 2 and float(ct.grad(f)(-2.0)) == 3
    assert float(ct.grad(lambda x: f(f(x) * -3))(2.0)) == 3 * -3 * 2
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(ct.grad(f))(2.0)


def test_zeros_and_values_for_rules():
    zero = ct.custom_derivatives.zero_from_primal
    assert zero(np.ones(2)).dtype == np.float64 and zero(3).dtype == ct.float0
    assert isinstance(zero(1.0, symbolic_zeros=True), ct.custom_derivatives.SymbolicZero)
    tree = zero({"a": np.ones(2), "n": 3}, symbolic_zeros=True)
    assert (tree["a"].shape, tree["a"].dtype, tree["n"].dtype) == ((2,), np.float64, ct.float0)
    spec = ct.ShapeDtypeStruct((2, 3), "float16")
    made = ct.custom_derivatives.SymbolicZero(spec)
    assert (made.aval, made.shape, made.ndim, made.size, made.dtype) == (spec, (2, 3), 2, 6, np.float16)
    assert ct.custom_derivatives.SymbolicZero.from_primal_value(1).aval == ct.ShapeDtypeStruct((), ct.float0)
    primal = ct.custom_derivatives.CustomVJPPrimal(2.0, True)
    assert ct.custom_derivatives.custom_vjp_primal_tree_values({"a": primal, "b": 1}) == {"a": 2.0, "b": 1}


def test_rules_may_return_symbolic_zeros_that_they_make():
    @ct.custom_jvp
    def f(x, y):
        return x * y, x

    def rule(primals, tangents):
        zero = ct.custom_derivatives.SymbolicZero(ct.typeof(primals[0]))
        return f(*primals), (tangents[0] * primals[1], zero)

    f.defjvp(rule, symbolic_zeros=True)
    assert [float(t) for t in ct.jvp(f, (2.0, 3.0), (1.0, 1.0))[1]] == [3.0, 0.0]

    g = ct.custom_vjp(lambda x, n: x * n)
    g.defvjp(lambda x, n: (x * n, n), lambda n, c: (c * n, ct.custom_derivatives.SymbolicZero(ct.typeof(n))))
    assert [float(t) for t in ct.grad(g, (0, 1))(2.0, 3.0)] == [3.0, 0.0]


def test_checkpointed_functions_get_arrays_and_trees_of_prevent_cse():
    f = ct.checkpoint(lambda x, y: cnp.sin(x.sum() * y), prevent_cse=(False, True))
    np.testing.assert_allclose(f(0.5, 2.0), np.sin(1.0), 1e-6)
    np.testing.assert_allclose(ct.grad(f)(0.5, 2.0), 2 * np.cos(1.0), 1e-6)


def test_policies_of_checkpoint_must_be_policies():
    with pytest.raises(TypeError, match="policy must be one of"):
        ct.checkpoint(cnp.sin, policy="dots")
