"""grad, vjp, jvp, linearize, vmap, jacobians and jit as users call them: values, structures, options, nesting."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def allclose(a: Any, b: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


X = np.array([0.3, -1.2, 2.0])


def f(x: Any) -> Any:
    return cnp.sum(cnp.sin(x) * x)


def df(x: np.ndarray) -> np.ndarray:
    return np.cos(x) * x + np.sin(x)


def test_grad_value() -> None:
    allclose(ct.grad(f)(X), df(X))
    value, gradient = ct.value_and_grad(f)(X)
    allclose(value, np.sum(np.sin(X) * X))
    allclose(gradient, df(X))


def test_grad_keeps_the_dtype_of_its_argument() -> None:
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        x = cnp.array([1.0, 2.0]).astype(dtype)
        assert ct.grad(lambda v: cnp.sum(v * v))(x).dtype == x.dtype


def test_argnums_and_pytrees() -> None:
    def loss(params: Any, x: Any) -> Any:
        return cnp.sum(params["w"] * x + params["b"][0])

    params = {"w": cnp.ones(3), "b": [cnp.array(2.0)]}
    gradient = ct.grad(loss)(params, X)
    allclose(gradient["w"], X)
    allclose(gradient["b"][0], 3.0)
    both = ct.grad(loss, argnums=(0, 1))(params, X)
    allclose(both[1], np.ones(3))
    allclose(ct.grad(loss, argnums=-1)(params, X), np.ones(3))


class Point(NamedTuple):
    x: Any
    y: Any


def test_namedtuple_and_none_leaves() -> None:
    gradient = ct.grad(lambda p: p[0].x * p[0].y)((Point(2.0, 3.0), None))
    assert isinstance(gradient[0], Point) and gradient[1] is None
    allclose(gradient[0].x, 3.0)


def test_has_aux() -> None:
    gradient, aux = ct.grad(lambda x: (f(x), {"double": x * 2}), has_aux=True)(X)
    allclose(gradient, df(X))
    allclose(aux["double"], X * 2)
    (value, aux), _ = ct.value_and_grad(lambda x: (f(x), x), has_aux=True)(X)
    allclose(value, f(X))
    allclose(aux, X)


def test_allow_int_gives_float0() -> None:
    gradient = ct.grad(lambda x, n: x * x * n, argnums=(0, 1), allow_int=True)(3.0, 2)
    allclose(gradient[0], 12.0)
    assert gradient[1].dtype == [("float0", "V")]


def test_holomorphic_gradient() -> None:
    allclose(ct.grad(lambda z: z * z, holomorphic=True)(np.complex64(1 + 2j)), 2 + 4j)


def test_complex_argument_follows_jax() -> None:
    # JAX: the gradient of a real function of a complex number is the conjugate of the direction of steepest ascent.
    allclose(ct.grad(lambda z: cnp.real(z) ** 2 + cnp.imag(z) ** 2)(np.complex64(1 + 2j)), 2 - 4j)


@pytest.mark.parametrize("order", list(itertools.product(["grad", "vmap", "jit", "jvp"], repeat=3)))
def test_every_nesting_to_depth_three(order: tuple[str, ...]) -> None:
    """Each transform turns a function of a (batch of) scalar(s) into another; the result is compared with NumPy on sin's derivatives."""
    depth = 0

    def apply(name: str, g: Any) -> Any:
        if name == "jit":
            return ct.jit(g)
        if name == "vmap":
            return lambda x: cnp.sum(ct.vmap(g)(cnp.stack([x, x, x]))) / 3.0
        if name == "grad":
            return ct.grad(g)
        return lambda x: ct.jvp(g, (x,), (cnp.ones_like(x),))[1]

    g: Any = cnp.sin
    for name in order:
        g = apply(name, g)
        depth += name in ("grad", "jvp")
    expected = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)][depth](0.7)
    allclose(g(cnp.array(np.float64(0.7))), expected, 1e-9)


def test_vjp_and_linearize() -> None:
    y, pull = ct.vjp(lambda x, y: (x * y, x + y), 2.0, 3.0)
    allclose(y[0], 6.0)
    a, b = pull((1.0, 10.0))
    allclose([a, b], [13.0, 12.0])
    _, linear = ct.linearize(f, X)
    direction = np.array([1.0, 2.0, -1.0])
    allclose(linear(direction), df(X) @ direction)
    allclose(linear(2 * direction), 2 * (df(X) @ direction))


def test_linear_transpose() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    (pulled,) = ct.linear_transpose(lambda x: cnp.array(matrix) @ x, ct.ShapeDtypeStruct((3,), "float64"))(
        np.array([1.0, 2.0])
    )
    allclose(pulled, matrix.T @ np.array([1.0, 2.0]))


@pytest.mark.parametrize("jacobian", [ct.jacfwd, ct.jacrev, ct.hessian])
def test_a_jacobian_of_nothing_is_warned_of(jacobian: Any) -> None:
    def f(x: Any) -> None:
        x * 2.0

    with pytest.warns(
        UserWarning, match="f returned None, which has no derivatives\n  is a `return` missing"
    ) as warned:
        assert jacobian(f)(1.0) is None
    assert warned[0].filename == __file__


def test_jacobians_and_hessian() -> None:
    def g(x: Any) -> Any:
        return cnp.stack([x[0] * x[1], cnp.sin(x[2]), x[0] ** 2, x[1] * x[2]])

    expected = np.array([[X[1], X[0], 0], [0, 0, np.cos(X[2])], [2 * X[0], 0, 0], [0, X[2], X[1]]])
    allclose(ct.jacfwd(g)(X), expected)
    allclose(ct.jacrev(g)(X), expected)
    allclose(ct.hessian(f)(X), np.diag(2 * np.cos(X) - np.sin(X) * X))
    tree = ct.jacrev(lambda p: p["a"] * cnp.sum(p["b"]))({"a": np.float64(2.0), "b": X})
    allclose(tree["b"], np.full(3, 2.0))
    allclose(ct.hvp(f, (X,), (np.ones(3),)), 2 * np.cos(X) - np.sin(X) * X)


@pytest.mark.parametrize("jacobian", [ct.jacfwd, ct.jacrev])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_programs_of_jacobians_hold_no_array_as_large_as_these(jacobian: Any, dtype: str) -> None:
    def f(p: Any) -> Any:
        return {"a": p[0] * cnp.sum(p[1]), "b": [2 * p[1][::-1]]}

    p = (cnp.array([1, 2], dtype), cnp.arange(6).reshape(3, 2).astype(dtype))
    options = {"holomorphic": True} if dtype == "complex64" else {}
    captured = ct.make_ir(jacobian(f, **options))(p)
    assert captured.num_inputs == 2  # and no constants
    found = jacobian(f, **options)(p)
    for compiled in (
        ct.jit(jacobian(f, **options))(p),
        ct.jit(ct.vmap(jacobian(f, **options), axis_size=1, in_axes=None))(p),
    ):
        ct.tree.map(
            lambda x, y: allclose(x.astype("complex64"), y.astype("complex64").reshape(x.shape)), found, compiled
        )
    allclose(found["a"][0].astype("complex64"), 15 * np.eye(2))
    allclose(found["a"][1].astype("complex64"), np.array([1, 2])[:, None, None] * np.ones((3, 2)))
    allclose(found["b"][0][0].astype("complex64"), np.zeros((3, 2, 2)))
    allclose(found["b"][0][1].astype("complex64").reshape(6, 6), 2 * np.eye(6).reshape(3, 2, 6)[::-1].reshape(6, 6))


def test_vmap_axes() -> None:
    a = np.arange(12.0).reshape(3, 4)
    allclose(ct.vmap(cnp.sum, in_axes=1)(a), a.sum(0))
    allclose(ct.vmap(cnp.sum, in_axes=-1)(a), a.sum(0))
    allclose(ct.vmap(lambda x: x * 2, out_axes=1)(a), (a * 2).T)
    allclose(ct.vmap(lambda x: x * 2, out_axes=-1)(a), (a * 2).T)
    allclose(
        ct.vmap(lambda p, x: p["w"] @ x, in_axes=({"w": None}, 0))({"w": np.ones((2, 4))}, a),
        a.sum(1)[:, None] * np.ones(2),
    )
    allclose(ct.vmap(lambda x: 1.0, out_axes=None)(a), 1.0)
    allclose(ct.vmap(lambda x: 1.0)(a), np.ones(3))
    assert ct.vmap(cnp.sin)(np.zeros((0, 4))).shape == (0, 4)
    allclose(ct.vmap(ct.vmap(lambda x, y: x * y, (0, None)), (None, 0))(a[0], a[1]), np.outer(a[1], a[0]))


def test_python_control_flow_on_values_when_eager() -> None:
    def branchy(x: Any) -> Any:
        while x < 100:
            x = x * x
        return x if int(x) > 0 else -x

    assert float(ct.grad(lambda x: x * x if x > 0 else -x)(3.0)) == 6.0
    assert float(ct.grad(lambda x: x * x if x > 0 else -x)(-3.0)) == -1.0
    # 3 -> 9 -> 81 -> 6561: the derivative of x**8.
    allclose(ct.grad(branchy)(3.0), 8 * 3.0**7, 1e-5)


def test_jit_compiles_once_per_signature() -> None:
    traces = []

    @ct.jit
    def g(x: Any, scale: Any = 2.0) -> Any:
        traces.append(1)
        return x * scale

    for _ in range(3):
        allclose(g(X), X * 2)
    allclose(g(X, scale=3.0), X * 3)
    g(X.astype(np.float32))
    g(np.ones((2, 2)))
    assert len(traces) == 4
    allclose(ct.grad(lambda x: cnp.sum(g(x)))(X), np.full(3, 2.0))
    ct.vmap(ct.grad(lambda x: cnp.sum(g(x))))(np.ones((5, 3)))
    ct.jit(ct.grad(lambda x: cnp.sum(g(x))))(X)
    assert len(traces) == 4, "transforms of a jitted function must not trace it again"


def test_jit_static_arguments() -> None:
    @ct.jit(static_argnums=1, static_argnames="mode")
    def g(x: Any, n: int, mode: str = "plain") -> Any:
        return x * n if mode == "plain" else x + n

    allclose(g(X, 2), X * 2)
    allclose(g(X, 3), X * 3)
    allclose(g(X, n=3), X * 3)
    allclose(g(X, 3, mode="add"), X + 3)
    assert g._cache_size() == 4


def test_jit_of_methods_and_containers() -> None:
    class Model:
        @ct.jit
        def scaled(self_weight: Any, x: Any) -> Any:
            return {"out": (x, [self_weight * x]), "none": None}

    out = Model.scaled(2.0, X)
    allclose(out["out"][1][0], X * 2)
    assert out["none"] is None


def test_jit_traces_again_where_a_leaf_becomes_a_container() -> None:
    double = ct.jit(lambda t: ct.tree.map(lambda x: x * 2, t))
    for value in (1.0, None, (), [], (1.0, [2.0]), {"b": 1.0}, 3.0):
        assert double({"a": value, "b": 1.0}) == ct.tree.map(lambda x: x * 2, {"a": value, "b": 1.0})
    with pytest.raises(TypeError, match=r"unsupported type str at .*'a'"):
        double({"a": "text", "b": 1.0})


def test_jit_closes_over_arrays() -> None:
    table = cnp.array(X)
    g = ct.jit(lambda i: table[i])
    allclose(g(1), X[1])
    allclose(ct.grad(lambda s: cnp.sum(ct.jit(lambda v: v * s)(X)))(2.0), X.sum(), 1e-5)


def test_sixty_four_bit_data_is_honoured() -> None:
    assert (cnp.array(X) + 1).dtype == np.float64
    assert cnp.array([1.0]).dtype == np.float32
    with ct.config.enable_x64():
        assert cnp.array([1.0]).dtype == np.float64
        assert ct.jit(lambda: cnp.zeros(2))().dtype == np.float64
    assert ct.jit(lambda: cnp.zeros(2))().dtype == np.float32


def test_make_ir_and_eval_shape() -> None:
    graph = ct.make_ir(lambda x: cnp.sum(x * 2.0))(ct.ShapeDtypeStruct((4,), "float32"))
    text = graph.text()
    assert "float32[4]" in text and "reduce_sum" in text
    assert "test_transforms.py" in str(graph)
    shape = ct.eval_shape(lambda x: {"a": x[None]}, ct.ShapeDtypeStruct((4,), "int32"))
    assert shape["a"].shape == (1, 4) and shape["a"].dtype == np.int32


def test_eager_gradients_run_compiled_from_the_second_call() -> None:
    first = ct.grad(f)(X)
    for _ in range(3):
        allclose(ct.grad(f)(X), first, 1e-12)


def test_threads_share_a_jitted_function() -> None:
    from concurrent.futures import ThreadPoolExecutor

    g = ct.jit(ct.grad(f))
    xs = [np.random.default_rng(i).standard_normal(3) for i in range(64)]
    with ThreadPoolExecutor(4) as pool:
        for x, result in zip(xs, pool.map(g, xs), strict=True):
            allclose(result, df(x))


def powers(x, n, how, options=None):
    assert type(n) is int and (options is None or options["scale"] == 1.0)
    return how(sum(x**i for i in range(n)))


@pytest.mark.parametrize("outer", [lambda f: f, ct.jit, lambda f: ct.vmap(f, axis_size=1, out_axes=None, in_axes=None)])
def test_what_is_not_differentiated_may_be_any_object(outer):
    x = np.array([0.5, 2.0])
    total = lambda y: cnp.sum(cnp.sin(y))  # noqa: E731
    slope = np.cos(1 + x + x**2) * (1 + 2 * x)
    for gradient in (ct.grad, ct.jacrev, ct.jacfwd):
        got = outer(lambda x, g=gradient: g(powers)(x, 3, total, options={"scale": 1.0, "name": "a"}))(x)
        np.testing.assert_allclose(got, slope)
    _, got = outer(lambda x: ct.value_and_grad(powers)(x, 3, total))(x)
    np.testing.assert_allclose(got, slope)
    assert outer(lambda x: ct.hessian(powers)(x, 3, total))(x).shape == (2, 2)
    got = outer(lambda x: ct.vmap(powers, (0, None, None))(x, 3, cnp.sin))(x)
    np.testing.assert_allclose(got, np.sin(1 + x + x**2))
    tree = {"x": x, "f": cnp.cos, "n": 2}
    got = outer(
        lambda x: ct.vmap(lambda t: t["f"](t["x"]) * [0, 1, 5][t["n"]], ({"x": 0, "f": None, "n": None},))(tree)
    )(x)
    np.testing.assert_allclose(got, 5 * np.cos(x))


def test_what_is_differentiated_or_mapped_must_be_arrays():
    for call in (
        lambda: ct.grad(lambda x: x)("a"),
        lambda: ct.grad(lambda x, f: f(x), 1)(1.0, cnp.sin),
        lambda: ct.vmap(lambda x, f: f(x))(np.ones(2), cnp.sin),
        lambda: ct.vmap(lambda x, f: f(x), in_axes=(0, None))(np.ones(2), f=cnp.sin),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


@pytest.mark.parametrize(
    "aux_of",
    [
        lambda f: ct.value_and_grad(f, has_aux=True)(2.0)[0][1],
        lambda f: ct.grad(f, has_aux=True)(2.0)[1],
        lambda f: ct.vjp(f, 2.0, has_aux=True)[2],
        lambda f: ct.jvp(f, (2.0,), (1.0,), has_aux=True)[2],
    ],
)
def test_aux_values_that_are_no_arrays_are_handed_through(aux_of):
    given = (1, 2.0, True, 3j, "text", np.float64(3), np.ones(2))
    assert all(value is before for value, before in zip(aux_of(lambda x: (x * x, given)), given, strict=True))


def test_linear_functions_leave_jit() -> None:
    value, pushforward = ct.jit(lambda x: ct.linearize(f, x))(X)
    allclose(value, f(X))
    allclose(pushforward(X), df(X) @ X)
    allclose(ct.jit(lambda g, t: g(t))(pushforward, X), df(X) @ X)
    transposed = ct.jit(lambda y: ct.linear_transpose(lambda x: x * y, X))(2 * X)
    allclose(transposed(X)[0], 2 * X * X)
    allclose(ct.vmap(lambda x: ct.linearize(cnp.sin, x)[1](1.0))(X), np.cos(X))


def test_anything_with_a_shape_and_a_dtype_describes_an_argument() -> None:
    class Described:
        def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
            self.shape, self.dtype = shape, dtype

    x = Described((3,), np.dtype("float64"))
    assert ct.eval_shape(lambda tree: tree["x"] @ tree["x"], {"x": x}) == ct.ShapeDtypeStruct((), "float64")
    assert ct.jit(f).eval_shape(x) == ct.ShapeDtypeStruct((), "float64")
    assert ct.make_ir(f)(x).in_avals[0][0] == (3,)
    allclose(ct.linear_transpose(lambda y: 3 * y, x)(X)[0], 3 * X)
    with pytest.raises(TypeError, match="unsupported type"):
        ct.jit(f)(x)
    assert ct.ShapeDtypeStruct.like(X) == ct.ShapeDtypeStruct((3,), "float64")


def test_float0_arrays_are_arguments_of_transforms() -> None:
    zero, zeros = np.zeros((), ct.float0), np.zeros(3, ct.float0)
    _, pull = ct.vjp(lambda x, y: x + y, 2, 1)
    assert all(x.dtype == "bool" and not x for x in ct.jit(pull)(zero))
    assert float(ct.jit(lambda _, y: y * 2)(zeros, 1.5)) == 3.0
    assert ct.vmap(lambda _, y: y * 2)(zeros, np.arange(3)).tolist() == [0, 2, 4]
    value, tangent = ct.jit(lambda x, t: ct.jvp(lambda x: x + 1.5, (x,), (t,)))(2, zero)
    assert float(value) == 3.5 and float(tangent) == 0.0
    assert float(ct.grad(lambda x, _: x * 2)(2.0, zeros)) == 2.0
    assert float(ct.lax.scan(lambda c, _: (c + 1.0, None), 0.0, zeros)[0]) == 3.0
    # In operations they are none.
    with pytest.raises(TypeError, match="void"):
        cnp.add(zero, 1.0)
