"""custom_vmap and sequential_vmap."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.arange(3.0)


def make() -> tuple[Any, list[Any]]:
    """A function whose batch rule says so: it adds 100 to what it computes."""
    calls: list[Any] = []

    @ct.custom_batching.custom_vmap
    def f(x: Any, y: Any) -> Any:
        return {"s": cnp.sin(x) * y["a"], "t": y["a"]}

    @f.def_vmap
    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        calls.append((axis_size, in_batched))
        x_batched, y_batched = in_batched[0], in_batched[1]["a"]
        return {"s": cnp.sin(x) * y["a"] + 100, "t": y["a"]}, {"s": x_batched or y_batched, "t": y_batched}

    return f, calls


def test_the_rule_is_used_under_vmap_only() -> None:
    f, calls = make()
    y = {"a": 2.0}
    np.testing.assert_allclose(f(1.0, y)["s"], 2 * np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(ct.jit(f)(1.0, y)["s"], 2 * np.sin(1.0), rtol=1e-6)
    for wrap in (lambda g: g, ct.jit):
        result = wrap(ct.vmap(f, (0, None)))(X, y)
        np.testing.assert_allclose(result["s"], 2 * np.sin(X) + 100)
        assert result["t"].tolist() == [2.0, 2.0, 2.0]
    assert calls[0] == (3, [True, {"a": False}])
    result = ct.vmap(ct.jit(f), (None, 0), out_axes={"s": 0, "t": 0})(1.0, {"a": X})
    np.testing.assert_allclose(result["s"], np.sin(1.0) * X + 100, rtol=1e-6)
    nested = ct.vmap(ct.vmap(f, (0, None)), (None, 0))(X, {"a": X})
    np.testing.assert_allclose(nested["s"], np.sin(X)[None] * X[:, None] + 100)
    np.testing.assert_allclose(
        ct.vmap(f, (1, None))(np.stack([X, X]), y)["s"], np.stack([2 * np.sin(X)] * 2, 1).reshape(3, 2) + 100
    )


def test_derivatives() -> None:
    f, _ = make()
    y = {"a": np.float64(2.0)}
    g = lambda x: f(x, y)["s"]  # noqa: E731
    np.testing.assert_allclose(ct.grad(g)(1.0), 2 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(
        ct.grad(lambda x: cnp.sum(ct.vmap(g)(x) ** 2))(X), 2 * (2 * np.sin(X) + 100) * 2 * np.cos(X)
    )
    np.testing.assert_allclose(ct.vmap(ct.grad(g))(X), 2 * np.cos(X))  # reverse mode goes into the function
    for directions in (X, None):  # a tangent for each example, or one for all
        tangent = X if directions is not None else np.float64(1.0)
        value, derivative = ct.vmap(lambda x, t: ct.jvp(g, (x,), (t,)), (0, 0 if directions is not None else None))(
            X, tangent
        )
        np.testing.assert_allclose(value, 2 * np.sin(X) + 100)
        np.testing.assert_allclose(derivative, 2 * np.cos(X) * tangent)
    value, derivative = ct.vmap(lambda t: ct.jvp(g, (np.float64(1.0),), (t,)))(X)
    np.testing.assert_allclose(derivative, 2 * np.cos(1.0) * X)
    second = ct.vmap(lambda x: ct.jvp(lambda v: ct.jvp(g, (v,), (1.0,))[1], (x,), (1.0,))[1])(X)
    np.testing.assert_allclose(second, -2 * np.sin(X))


def test_the_rule_is_used_inside_loops_branches_and_rules() -> None:
    @ct.custom_batching.custom_vmap
    def f(x: Any) -> Any:
        return cnp.sin(x)

    f.def_vmap(lambda n, b, x: (cnp.sin(x) + 100, b[0]))

    @ct.custom_jvp
    def seven(x: Any) -> Any:
        return f(x)

    seven.defjvp(lambda p, t: (seven(p[0]), 7 * t[0]))

    @ct.custom_batching.custom_vmap
    def outer(x: Any) -> Any:
        return x

    outer.def_vmap(lambda n, b, x: (ct.vmap(f)(x) + 1000, b[0]))
    y = np.sin(X) + 100
    twice = np.sin(y) + 100
    for wrap in (lambda g: g, ct.jit):
        for function, expected in (
            (lambda x: ct.lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0], twice),
            (lambda x: ct.lax.fori_loop(0, 2, lambda i, c: f(c), x), twice),
            (lambda x: ct.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x))[1], twice),
            (lambda x: ct.lax.cond(x > 0, f, lambda v: v, x), np.where(X > 0, y, X)),
            (ct.checkpoint(f), y),
            (seven, y),
            (outer, y + 1000),
        ):
            np.testing.assert_allclose(wrap(ct.vmap(function))(X), expected)
        np.testing.assert_allclose(wrap(ct.vmap(ct.vmap(ct.vmap(f))))(X.reshape(1, 3, 1)).ravel(), y)
    assert ct.vmap(ct.grad(seven))(X).tolist() == [7.0] * 3
    assert ct.grad(lambda x: cnp.sum(ct.vmap(seven)(x)))(X).tolist() == [7.0] * 3


def test_mask_goes_into_the_function() -> None:
    f = ct.custom_batching.custom_vmap(cnp.square)
    f.def_vmap(lambda n, b, x: (x**2 + 100, b[0]))
    ragged = ct.Ragged(cnp.array([1.0, 2.0, np.nan]), {0: 2})
    rows = ct.Ragged(cnp.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan]]), {1: np.array([2, 1])})
    assert float(ct.mask(lambda x: cnp.sum(f(x)))(ragged)) == 5.0
    assert float(ct.mask(lambda x: cnp.sum(ct.vmap(f)(x)))(ragged)) == 205.0
    assert ct.vmap(ct.mask(lambda x: cnp.sum(f(x))))(rows).tolist() == [5.0, 9.0]


def test_defaults() -> None:
    seen: list[Any] = []

    @ct.custom_batching.custom_vmap
    def f(x: Any, power: Any = 2, name: Any = "a", pair: Any = [1, True], scale: Any = 3.0) -> Any:
        return x**power * scale

    @f.def_vmap
    def rule(size: int, in_batched: Any, x: Any, power: Any, name: Any, pair: Any, scale: Any) -> Any:
        seen.append((in_batched, power, name, pair))
        return x**power * scale + 100, in_batched[0]

    for wrap in (lambda g: g, ct.jit):
        assert wrap(ct.vmap(f))(X).tolist() == [100.0, 103.0, 112.0]
        assert wrap(ct.vmap(lambda x: f(x, scale=x)))(X).tolist() == [100.0, 101.0, 108.0]
    assert seen[0] == ([True, False, False, [False, False], False], 2, "a", [1, True])
    assert ct.vmap(lambda x: f(x, power=3))(X).tolist() == [100.0, 103.0, 124.0]
    mapped = ct.custom_batching.sequential_vmap(f.fun)
    assert ct.vmap(mapped)(X).tolist() == [0.0, 3.0, 12.0]
    # Rules of two functions that differ in a default that compares equal.
    given: list[Any] = []

    def shared(size: int, in_batched: Any, x: Any, k: Any) -> Any:
        given.append(type(k))
        return x, in_batched[0]

    for default in (True, 1):
        g = ct.custom_batching.custom_vmap(lambda x, k=default: x)
        g.def_vmap(shared)
        ct.vmap(g)(X)
    assert given == [bool, int]


def test_equal_programs_are_equal() -> None:
    f, _ = make()
    program = lambda: ct.make_ir(lambda x: ct.jvp(lambda v: f(v, {"a": 2.0})["s"], (x,), (1.0,)))(1.0)  # noqa: E731
    assert program() == program()


def test_constants_of_a_rule() -> None:
    @ct.custom_batching.custom_vmap
    def f(x: Any) -> Any:
        return x

    f.def_vmap(lambda n, b, x: (x + np.array([1.0, 20.0, 300.0]) + np.zeros(()), b[0]))
    assert ct.vmap(f)(X).tolist() == [1.0, 21.0, 302.0]
    f.def_vmap(lambda n, b, x: (x + np.zeros(1000)[0] + cnp.sum(np.arange(1000.0)), b[0]))
    assert ct.vmap(f)(X).tolist() == [499500.0, 499501.0, 499502.0]
    assert ct.jit(ct.vmap(f))(X).tolist() == [499500.0, 499501.0, 499502.0]


@pytest.mark.parametrize("wrap", [lambda g: g, ct.jit])
def test_a_rule_closes_over_traced_values(wrap: Any) -> None:
    def program(x: Any, c: Any) -> Any:
        scale = cnp.sin(c)

        @ct.custom_batching.custom_vmap
        def f(v: Any) -> Any:
            return v * c

        @f.def_vmap
        def rule(size: int, in_batched: Any, v: Any) -> Any:
            return v * scale + 100 * c, in_batched[0]

        return ct.vmap(f)(x)

    expected = np.asarray(X) * np.sin(2.0) + 200
    np.testing.assert_allclose(wrap(program)(X, 2.0), expected, rtol=1e-6)
    slope = wrap(ct.grad(lambda c: cnp.sum(program(X, c))))(2.0)
    np.testing.assert_allclose(slope, 3.0 * np.cos(2.0) + 300, rtol=1e-6)
    tangent = wrap(lambda c: ct.jvp(lambda c: program(X, c), (c,), (1.0,))[1])(2.0)
    np.testing.assert_allclose(tangent, np.asarray(X) * np.cos(2.0) + 100, rtol=1e-6)
    rows = wrap(ct.vmap(program, (None, 0)))(X, cnp.array([2.0, 0.0]))
    np.testing.assert_allclose(rows, [expected, np.zeros(3)], rtol=1e-6)


def test_a_rule_closes_over_what_is_batched_with_it() -> None:
    def program(y: Any) -> Any:
        f = ct.custom_batching.custom_vmap(lambda x: x)
        f.def_vmap(lambda n, b, x: (x + y, b[0]))
        return f(y)

    with pytest.raises(TypeError, match="closes over a value that is batched"):
        ct.vmap(program)(X)


def test_sequential_vmap() -> None:
    @ct.custom_batching.sequential_vmap
    def f(x: Any, y: Any) -> Any:
        return x * y, y

    result = ct.vmap(f, (0, None))(X, 2.0)
    assert result[0].tolist() == [0.0, 2.0, 4.0] and result[1].tolist() == [2.0] * 3
    graph = ct.make_ir(ct.vmap(f, (0, None)))(X, 2.0)
    assert [e["primitive"] for e in graph.equations()].count("scan") == 1
    assert ct.vmap(f, (None, None), axis_size=2)(1.0, 3.0)[0].tolist() == [3.0, 3.0]


def test_errors() -> None:
    @ct.custom_batching.custom_vmap
    def f(x: Any) -> Any:
        return x

    with pytest.raises(AttributeError, match="without a rule"):
        f(1.0)
    f.def_vmap(lambda n, b, x: x)
    with pytest.raises(TypeError, match=r"must return \(output, out_batched\)"):
        ct.vmap(f)(X)
    f.def_vmap(lambda n, b, x: ((x, x), (True, True)))
    with pytest.raises(TypeError, match="structure"):
        ct.vmap(f)(X)
    f.def_vmap(lambda n, b, x: (x, False))
    with pytest.raises(TypeError, match="batch rule returned"):
        ct.vmap(f)(X)

    def outer(y: Any) -> Any:
        g = ct.custom_batching.custom_vmap(lambda x: x * y)
        g.def_vmap(lambda n, b, x: (x, b[0]))
        return g(y)

    with pytest.raises(TypeError, match="closes over a batched value"):
        ct.vmap(outer)(X)
