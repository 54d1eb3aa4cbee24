"""Rules of custom functions are captured when a derivative asks for them, and are told what is differentiated."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._transforms.rules_by_type import custom_jvp_by_type

X = np.array([1.0, 2.0, 3.0])
CALLS: list[str] = []


def raising_jvp() -> Any:
    f = ct.custom_jvp(lambda x: x * x)

    def rule(primals: Any, tangents: Any) -> Any:
        CALLS.append("rule")
        raise ZeroDivisionError("the rule ran")

    f.defjvp(rule)
    return f


def raising_vjp() -> Any:
    f = ct.custom_vjp(lambda x: x * x)

    def forward(x: Any) -> Any:
        CALLS.append("rule")
        raise ZeroDivisionError("the rule ran")

    f.defvjp(forward, lambda x, g: (g,))
    return f


UNDIFFERENTIATED: dict[str, Any] = {
    "jit": lambda f: ct.jit(f)(X),
    "vmap": lambda f: ct.vmap(f)(X),
    "jit vmap": lambda f: ct.jit(ct.vmap(f))(X),
    "scan": lambda f: ct.lax.scan(lambda c, x: (c, f(x)), 0.0, X)[1],
    "jit scan": lambda f: ct.jit(lambda x: ct.lax.scan(lambda c, x: (c, f(x)), 0.0, x)[1])(X),
    "grad of another": lambda f: ct.grad(lambda y, x: (y * f(x)).sum(), has_aux=False)(np.ones(3), X) * np.ones(3),
    "grad of an integer": lambda f: ct.grad(lambda y: (y * f(cnp.floor(y) * 0 + X)).sum())(np.ones(3)),
    "grad of what stops": lambda f: ct.grad(lambda y: (y * f(ct.lax.stop_gradient(y) * X)).sum())(np.ones(3)),
    "jit grad of another": lambda f: ct.jit(ct.grad(lambda y, x: (y * f(x)).sum()))(np.ones(3), X),
    "grad jit of another": lambda f: ct.grad(lambda y: (y * ct.jit(f)(X)).sum())(np.ones(3)),
    "value": lambda f: ct.value_and_grad(lambda y, x: (y * ct.jit(f)(x)).sum())(np.ones(3), X)[1],
    "eval_shape": lambda f: cnp.square(X) * (ct.eval_shape(f, X).shape == (3,)),
    "checkpoint": lambda f: ct.jit(ct.checkpoint(f))(X),
    "cond": lambda f: ct.jit(lambda x: ct.lax.cond(x[0] > 0, f, lambda x: x, x))(X),
}


@pytest.mark.parametrize("make", [raising_jvp, raising_vjp])
@pytest.mark.parametrize("name", UNDIFFERENTIATED)
def test_rules_do_not_run_where_nothing_is_differentiated(name: str, make: Any) -> None:
    CALLS.clear()
    np.testing.assert_allclose(UNDIFFERENTIATED[name](make()), X * X, rtol=1e-6)
    assert CALLS == []


@pytest.mark.parametrize("make", [raising_jvp, raising_vjp])
def test_what_a_rule_raises_is_raised_when_a_derivative_asks(make: Any) -> None:
    f = make()
    for derivative in (
        lambda x: ct.grad(f)(x),
        lambda x: ct.jit(ct.grad(f))(x),
        lambda x: ct.grad(ct.jit(f))(x),
        lambda x: ct.grad(lambda x: ct.vmap(f)(x * cnp.ones(2)).sum())(x),
        lambda x: ct.grad(lambda x: ct.lax.scan(lambda c, _: (f(c), None), x, None, 3)[0])(x),
    ):
        with pytest.raises(ZeroDivisionError, match="the rule ran"):
            derivative(2.0)


def with_factor(kind: str, k: Any) -> Any:
    """k x² with twice its derivative; the rule closes over k."""
    if kind == "jvp":
        f = ct.custom_jvp(lambda x: k * x * x)
        f.defjvp(lambda p, t: (f(*p), 4.0 * k * p[0] * t[0]))
    else:
        f = ct.custom_vjp(lambda x: k * x * x)
        f.defvjp(lambda x: (f(x), x), lambda x, g: (4.0 * k * x * g,))
    return f


CLOSURES: dict[str, Any] = {
    "eager": lambda f: ct.grad(f(2.0))(3.0),
    "array": lambda f: ct.grad(ct.jit(f(np.float64(2.0))))(3.0),
    "jit's value": lambda f: ct.grad(ct.jit(lambda x, k: f(k)(x)))(3.0, 2.0),
    "computed in jit": lambda f: ct.grad(ct.jit(lambda x, k: f(k + 1.0)(x)))(3.0, 1.0),
    "enclosing jit": lambda f: ct.jit(lambda k, x: ct.grad(f(k))(x))(2.0, 3.0),
    "enclosing jit, jitted": lambda f: ct.jit(lambda k, x: ct.grad(ct.jit(f(k)))(x))(2.0, 3.0),
    "vmap": lambda f: ct.vmap(lambda k: ct.grad(ct.jit(f(k)))(3.0))(np.array([2.0, 5.0]))[0],
    "vmap inside": lambda f: ct.grad(lambda x: ct.jit(lambda k, x: ct.vmap(f(k))(x * cnp.ones(2)))(2.0, x).sum() / 2)(
        3.0
    ),
    "scan": lambda f: ct.grad(ct.jit(lambda x, k: ct.lax.scan(lambda c, _: (c, f(k)(x)), 0.0, None, 1)[1][0]))(
        3.0, 2.0
    ),
    "partial": lambda f: ct.grad(ct.jit(lambda x, k: _by_partial(k)(x)))(3.0, 2.0),
    "object": lambda f: ct.grad(ct.jit(lambda x, k: _Holder(k).function()(x)))(3.0, 2.0),
}


def _by_partial(k: Any) -> Any:
    import functools

    f = ct.custom_jvp(functools.partial(lambda k, x: k * x * x, k))
    f.defjvp(functools.partial(lambda k, p, t: (f(*p), 4.0 * k * p[0] * t[0]), k))
    return f


class _Holder:
    def __init__(self, k: Any) -> None:
        self.state = {"k": [k]}

    def function(self) -> Any:
        f = ct.custom_jvp(lambda x: self.state["k"][0] * x * x)
        f.defjvp(self.rule)
        self.f = f
        return f

    def rule(self, primals: Any, tangents: Any) -> Any:
        return self.f(*primals), 4.0 * self.state["k"][0] * primals[0] * tangents[0]


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("name", CLOSURES)
def test_rules_close_over_values_of_programs_that_have_ended(name: str, kind: str) -> None:
    assert float(CLOSURES[name](lambda k: with_factor(kind, k))) == pytest.approx(24.0)


def test_an_array_that_only_a_rule_closes_over() -> None:
    table = cnp.array([10.0, 20.0, 30.0])
    f = ct.custom_jvp(lambda x: x * x)
    f.defjvp(lambda p, t: (f(*p), table * np.array([1.0, 2.0, 3.0], np.float32) * t[0]))
    x = np.ones(3, np.float32)
    for _ in range(3):
        np.testing.assert_allclose(ct.grad(lambda x: ct.jit(f)(x).sum())(x), [10, 40, 90])
        np.testing.assert_allclose(ct.jit(ct.grad(lambda x: ct.jit(f)(x).sum()))(x), [10, 40, 90])
    rows = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(ct.grad(lambda x: ct.jit(ct.vmap(f))(x).sum())(rows), [[10, 40, 90]] * 2)


def test_a_closure_that_is_differentiated_is_an_error_only_if_it_is_used() -> None:
    def program(k: Any) -> Any:
        f = ct.custom_jvp(lambda x: x * x)
        f.defjvp(lambda p, t: (p[0] * p[0], 2.0 * (k is not None) * p[0] * t[0]))
        return f

    assert float(ct.grad(lambda k: ct.jit(lambda k: program(k)(k))(k))(3.0)) == 6.0
    with pytest.raises(ct.errors.NotDifferentiableError, match="closes over"):
        ct.grad(lambda k: ct.jit(lambda k: with_factor("jvp", k)(k))(k))(3.0)


@pytest.mark.parametrize("order", [1, 2, 5, 6])
def test_rules_that_call_their_own_function_serve_every_order(order: int) -> None:
    f = ct.custom_vjp(cnp.exp)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (2.0 * g * f(x),))
    derivative = f
    for _ in range(order):
        derivative = ct.grad(derivative)
    expected = 2.0**order * np.exp(0.5)
    assert float(derivative(0.5)) == pytest.approx(expected, rel=1e-5)
    assert float(ct.jit(derivative)(0.5)) == pytest.approx(expected, rel=1e-5)


def test_python_values_among_residuals_stay_python_values() -> None:
    seen = []
    f = ct.custom_vjp(lambda x: x * x)

    def backward(residuals: Any, g: Any) -> Any:
        flag, text, number, x = residuals
        seen.append((flag, text, number))
        return (x * (3.0 if flag else 5.0) * number * g,)

    f.defvjp(lambda x: (x * x, (True, "text", 2, x)), backward)
    for transform in (
        ct.grad,
        lambda f: ct.grad(ct.jit(f)),
        lambda f: ct.jit(ct.grad(f)),
        lambda f: ct.vmap(ct.grad(f)),
    ):
        argument = np.array([2.0]) if transform not in (ct.grad,) else 2.0
        if transform is ct.grad or "vmap" not in str(transform.__code__.co_names):
            argument = 2.0
        np.testing.assert_allclose(transform(f)(argument), np.full(np.shape(argument), 12.0))
    assert set(map(str, seen)) == {"(True, 'text', 2)"}


def test_symbolic_zeros_say_what_is_differentiated() -> None:
    seen: list[Any] = []
    f = ct.custom_jvp(lambda x, y, n: x * y * n)

    def rule(primals: Any, tangents: Any) -> Any:
        _x, _y, _n = primals
        zero = [isinstance(t, ct.custom_derivatives.SymbolicZero) for t in tangents]
        seen.append(zero)
        total = 0.0
        if not zero[0]:
            total = total + 10.0 * tangents[0]
        if not zero[1]:
            total = total + 100.0 * tangents[1]
        return f(*primals), total

    f.defjvp(rule, symbolic_zeros=True)
    for wrap in (lambda f: f, ct.jit, ct.checkpoint):
        seen.clear()
        g = wrap(f)
        assert float(ct.grad(g)(2.0, 3.0, 4)) == 10.0
        assert float(ct.grad(g, argnums=1)(2.0, 3.0, 4)) == 100.0
        assert [float(x) for x in ct.grad(g, argnums=(0, 1))(2.0, 3.0, 4)] == [10.0, 100.0]
        assert float(ct.grad(lambda x, g=g: g(x, ct.lax.stop_gradient(x), 4))(2.0)) == 10.0
        assert [row for i, row in enumerate(seen) if row not in seen[:i]] == [
            [False, True, True],
            [True, False, True],
            [False, False, True],
        ]


def test_perturbed_says_what_is_differentiated() -> None:
    seen: list[Any] = []
    f = ct.custom_vjp(lambda x, y, n: x * y * n)

    def forward(x: Any, y: Any, n: Any) -> Any:
        seen.append((x.perturbed, y.perturbed, n.perturbed))
        return f(x.value, y.value, n.value), None

    f.defvjp(forward, lambda _, g: (g * 10.0, g * 100.0, None), symbolic_zeros=True)
    for wrap in (lambda f: f, ct.jit, ct.vmap):
        seen.clear()
        g = wrap(f)
        args = (
            [np.full((1,), v, d) for v, d in ((2.0, "f4"), (3.0, "f4"), (4, "i4"))]
            if wrap is ct.vmap
            else [2.0, 3.0, 4]
        )
        total = lambda *a, g=g: cnp.sum(g(*a))  # noqa: E731
        assert float(ct.grad(total)(*args)) == 10.0
        assert float(ct.grad(total, argnums=1)(*args)) == 100.0
        assert seen[0] == (True, False, False) and seen[-1] == (False, True, False)


def test_defaults_are_filled_in() -> None:
    f = ct.custom_jvp(lambda x, y=2.0: x * y)
    f.defjvp(lambda p, t: (f(*p), 10.0 * p[1] * t[0]))
    assert float(f(1.0)) == 2.0 and float(ct.grad(f)(1.0)) == 20.0
    assert float(ct.grad(f)(1.0, 3.0)) == 30.0 and float(ct.grad(lambda x: f(x, y=4.0))(1.0)) == 40.0
    g = ct.custom_vjp(lambda x, y=2.0, n=3: x * y * n, nondiff_argnames=("n",))
    g.defvjp(lambda x, y, n: (x * y * n, y), lambda n, y, c: (c * y * n * 10.0, None))
    assert float(g(1.0)) == 6.0 and float(ct.grad(g)(1.0)) == 60.0
    assert float(ct.jit(ct.grad(lambda x: g(x, n=5)))(1.0)) == 100.0
    # Defaults that are no floats stay what they are.
    total = ct.custom_vjp(lambda x, axis=None, keepdims=False, how="sum": getattr(cnp, how)(x, axis, keepdims=keepdims))
    total.defvjp(
        lambda x, axis, keepdims, how: (cnp.sum(x), (x, how)),
        lambda r, c: (10.0 * c * r[0] * len(r[1]), None, None, None),
    )
    for transform in (ct.grad, lambda f: ct.grad(ct.jit(f)), lambda f: ct.jit(ct.grad(f))):
        np.testing.assert_allclose(transform(total)(X), 30.0 * X)
    same = ct.custom_jvp(lambda x, axis=None, keepdims=False: cnp.sum(x, axis, keepdims=keepdims))
    same.defjvp(lambda p, t: (same(*p), 3.0 * cnp.sum(t[0]) if t[1].dtype == ct.float0 and p[2] is False else None))
    np.testing.assert_allclose(ct.grad(same)(X), [3, 3, 3])
    h = ct.custom_vjp(lambda x, *, k=2.0: x * k)
    h.defvjp(lambda x: (x * 2.0, None), lambda _, c: (c * 7.0,))
    assert float(ct.grad(h)(1.0)) == 7.0
    with pytest.raises(TypeError, match="keyword-only"):
        ct.grad(lambda x: h(x, k=3.0))(1.0)


def test_rules_under_named_axes_and_masks() -> None:
    f = ct.custom_jvp(lambda x: ct.lax.psum(x * x, "i"))
    f.defjvp(lambda p, t: (f(*p), ct.lax.psum(10.0 * p[0] * t[0], "i")))
    batched = ct.jit(ct.vmap(f, axis_name="i"))
    np.testing.assert_allclose(ct.grad(lambda x: batched(x)[0])(X), 10 * X)

    g = ct.custom_vjp(lambda x: cnp.sum(x * x) / x.shape[0])
    g.defvjp(lambda x: (g(x), x), lambda x, c: (c * 10.0 * x / x.shape[0],))
    ragged = ct.Ragged(X, {0: 2})
    for transform in (lambda f: f, ct.jit):
        np.testing.assert_allclose(ct.grad(transform(ct.mask(g)))(ragged).data, [5.0, 10.0, 0.0])
        np.testing.assert_allclose(transform(ct.mask(ct.grad(g)))(ragged).data[:2], [5.0, 10.0])


def test_programs_without_derivatives_are_compiled_once_however_often_they_are_captured() -> None:
    def program(x: Any) -> Any:
        return ct.jit(lambda x: ct.nn.relu(x) * 2.0)(x)

    np.testing.assert_allclose(program(X), 2 * X)
    graph = ct.make_ir(lambda x: ct.nn.relu(x))(X)
    again = ct.make_ir(lambda x: ct.nn.relu(x))(X)
    assert graph.text() == again.text()
    assert ct.ir.parse(graph.text()).text() == graph.text()
    saved = ct.ir.deserialize(graph.serialize())
    assert saved.text() == graph.text()
    np.testing.assert_allclose(saved.evaluate([ct.numpy.array(X)])[0], X)


SQUARE = np.array([[4.0, 1.0], [1.0, 3.0]])
ONE = np.float32(1.5)
OF_TYPES: dict[str, tuple[Any, Any]] = {
    "_real_sigmoid": (ct.nn.sigmoid, ONE),
    "_real_silu": (ct.nn.silu, ONE),
    "_real_mish": (ct.nn.mish, ONE),
    "_det": (cnp.linalg.det, np.kron(np.eye(2), SQUARE)),
    "_small_det": (cnp.linalg.det, SQUARE),
    "_slogdet": (cnp.linalg.slogdet, SQUARE),
    "_pinv": (cnp.linalg.pinv, SQUARE),
    "_pinv_and_values": (lambda a: cnp.linalg.lstsq(a, np.ones(2))[0], SQUARE),
    "_sqrtm": (ct.scipy.linalg.sqrtm, SQUARE),
    "_unitary_factor": (ct.scipy.linalg.polar, SQUARE),
    "_fraction": (cnp.modf, ONE),
    "_neighbor": (lambda x: cnp.nextafter(x, np.float32(2.0)), ONE),
}


def functions_by_type() -> dict[str, Any]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("cotangent.")]
    functions = [value for module in modules for value in vars(module).values()]
    return {f.__name__: f for f in functions if isinstance(f, custom_jvp_by_type)}


def test_every_function_that_is_remembered_by_type_is_tried_here() -> None:
    assert functions_by_type().keys() == OF_TYPES.keys()


@pytest.mark.parametrize("name", OF_TYPES)
def test_functions_of_the_package_are_captured_once_for_each_type(name: str) -> None:
    """Also where the rule calls the function again, and in higher derivatives; and captured or not, with the same derivatives."""
    remembered, (call, x) = functions_by_type()[name], OF_TYPES[name]
    leaves = lambda y: [z for z in ct.tree.leaves(y) if z.dtype.kind in "fc"]  # noqa: E731
    total = lambda x: sum(cnp.sum(cnp.real(y) * 3.0) for y in leaves(call(x)))  # noqa: E731
    once = ct.grad(total)
    twice = ct.grad(lambda x: cnp.sum(once(x) ** 2))
    remembered.program.cache_clear()
    remembered.rule.cache_clear()
    first = [np.asarray(ct.jit(f)(x)) for f in (once, twice)]
    programs, rules = remembered.program.cache_info(), remembered.rule.cache_info()
    assert programs.currsize >= 1 and rules.currsize >= 1
    again = [np.asarray(ct.jit(lambda x, f=f: f(x))(x)) for f in (once, twice)]
    assert remembered.program.cache_info().misses == programs.misses
    assert remembered.rule.cache_info().misses == rules.misses
    eager = [np.asarray(f(x)) for f in (once, twice)]
    for a, b, c in zip(first, again, eager, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-6)


def test_what_is_remembered_depends_on_types_and_settings() -> None:
    """The same shape of another dtype, a weak one, 64 bits: each has its own program."""
    slope = lambda x: ct.jit(ct.grad(lambda x: cnp.sum(ct.nn.sigmoid(x))))(x)  # noqa: E731
    expected = 0.25 - np.tanh(0.25) ** 2 / 4
    for x in (np.float32(0.5), np.float64(0.5), 0.5, np.full(3, 0.5, np.float32), np.full(3, 0.5)):
        for wide in (False, True):
            with ct.config.enable_x64(wide):
                result = slope(x)
                assert result.dtype == ct.numpy.asarray(x).dtype and result.shape == np.shape(x)
                np.testing.assert_allclose(result, np.full(np.shape(x), expected), rtol=1e-6)
    ragged = ct.Ragged(np.full(3, 0.5), {0: 2})
    for transform in (lambda f: f, ct.jit):
        np.testing.assert_allclose(transform(ct.mask(slope))(ragged).data[:2], [expected] * 2)
        np.testing.assert_allclose(
            ct.grad(transform(ct.mask(lambda x: cnp.sum(ct.nn.sigmoid(x)))))(ragged).data[:2], [expected] * 2
        )


def test_a_program_that_is_remembered_has_the_line_of_each_call() -> None:
    def first(x: Any) -> Any:
        return ct.nn.silu(x)

    def second(x: Any) -> Any:
        return 2.0 * ct.nn.silu(x)

    for function in (first, second):
        for transform in (ct.jit, lambda f: ct.jit(ct.value_and_grad(f))):
            with (
                ct.debug_nans(),
                pytest.raises(FloatingPointError, match=rf"test_rules_on_demand.*\({function.__name__}\)"),
            ):
                transform(function)(-np.inf)
        text = ct.make_ir(ct.grad(function))(1.0)
        assert f"({'second' if function is first else 'first'})" not in str(text)


def test_programs_are_remembered_in_several_threads_at_once() -> None:
    shapes = [(n,) for n in range(1, 40)]
    expected = 0.25 - np.tanh(0.25) ** 2 / 4

    def work(_: int) -> bool:
        slope = ct.grad(lambda x: cnp.sum(ct.nn.sigmoid(x)))
        return all(np.allclose(slope(np.full(shape, 0.5, np.float32)), expected) for shape in shapes)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_what_a_cache_kept_of_an_ended_program_is_not_closed_over() -> None:
    kept: list[object] = []

    @ct.custom_jvp
    def f(x):
        return x * 2

    @f.defjvp
    def rule(primals, tangents):
        kept[:] = kept[:1]
        return f(*primals), tangents[0] * 3

    ct.jit(lambda x: kept.append(x) or x)(1.0)
    assert len(kept) == 1
    assert float(ct.jit(lambda x: f(x))(1.0)) == 2.0
    assert float(ct.jit(ct.grad(lambda x: f(x)))(1.0)) == 3.0
