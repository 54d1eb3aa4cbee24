"""A floating value that depends on what is differentiated does not become a plain one: its derivative would silently be zero."""

from __future__ import annotations

import array
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.errors import ConcretizationError
from needs import needed

X = np.array([1.5, 2.5], np.float32)


def filled(x: Any) -> Any:
    array = np.zeros(3)
    array[0] = x
    return array


# Each makes a plain value of an array of one or two elements.
EXITS: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x.sum()),
    "complex": lambda x: complex(x.sum()).real,
    "math": lambda x: math.exp(x.sum()),
    "item": lambda x: x.item(0),
    "tolist": lambda x: x.tolist()[0],
    "tobytes": lambda x: np.frombuffer(x.tobytes(), np.float32)[0],
    "asarray": lambda x: np.asarray(x)[0],
    "array": lambda x: np.array(x)[0],
    "array of scalars": lambda x: np.array([x[0], x[1]])[0],
    "array with a dtype": lambda x: np.asarray(x, np.float64)[0],
    "whole numbers of NumPy": lambda x: np.asarray(x).astype(int)[0],
    "number of NumPy": lambda x: np.float64(x[0]),
    "put into an array": lambda x: filled(x[0])[0],
    "np.full": lambda x: np.full(3, x[0])[0],
    "memoryview": lambda x: memoryview(x)[0],
    "bytes": lambda x: np.frombuffer(bytes(memoryview(x)), np.float32)[0],
    "array module": lambda x: array.array("f", x.tolist())[0],
    "dlpack": lambda x: np.from_dlpack(x)[0],
    "pickle": lambda x: np.asarray(pickle.loads(pickle.dumps(x)))[0],
    "sum of Python": lambda x: math.fsum(x),
    "format of float": lambda x: float(f"{float(x[0])}"),
    "save": lambda x: cnp.save("/nonexistent/file", x),
    "arange": lambda x: cnp.arange(x[0]).sum(),
    "histogram_bin_edges": lambda x: cnp.histogram_bin_edges(x, "auto")[0],
}
# Each differentiates a function of an array at X.
DIFFERENTIATING: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda f: ct.grad(f)(X),
    "value_and_grad": lambda f: ct.value_and_grad(f)(X),
    "argnums": lambda f: ct.grad(lambda _, x: f(x), argnums=1)(X, X),
    "in a pytree": lambda f: ct.grad(lambda tree: f(tree["x"][0]))({"x": [X]}),
    "jvp": lambda f: ct.jvp(f, (X,), (X,)),
    "vjp": lambda f: ct.vjp(f, X),
    "linearize": lambda f: ct.linearize(f, X),
    "jacfwd": lambda f: ct.jacfwd(f)(X),
    "jacrev": lambda f: ct.jacrev(f)(X),
    "hessian": lambda f: ct.hessian(f)(X),
    "checkpoint": lambda f: ct.grad(ct.checkpoint(f))(X),
    "closed over": lambda f: ct.grad(lambda x: ct.checkpoint(lambda y: y * f(x))(2.0))(X),
    "outer derivative only": lambda f: ct.grad(lambda x: ct.grad(lambda y: y * y * f(x))(2.0))(X),
    "inner derivative only": lambda f: ct.grad(lambda y: ct.grad(lambda x: y * f(x))(X).sum())(2.0),
    "through what is computed": lambda f: ct.grad(lambda x: f(cnp.sin(x) * 2))(X),
    "through a scan": lambda f: ct.grad(lambda x: f(ct.lax.scan(lambda c, _: (c * x, None), x, None, length=2)[0]))(X),
    "through a while": lambda f: ct.jvp(
        lambda x: f(ct.lax.while_loop(lambda c: c[0] < 9, lambda c: c * x, x)), (X,), (X,)
    ),
    "through cond": lambda f: ct.grad(lambda x: f(ct.lax.cond(True, lambda y: y * 2, lambda y: y, x)))(X),
    "through another derivative": lambda f: ct.grad(lambda x: f(ct.grad(lambda y: (y**3).sum())(x)))(X),
    "through jit": lambda f: ct.grad(lambda x: f(ct.jit(lambda y: y * 2)(x)))(X),
    "through vmap": lambda f: ct.grad(lambda x: f(ct.vmap(lambda y: y * 2)(x)))(X),
    "complex": lambda f: ct.grad(lambda x: f(cnp.real(x * 1j)))(X),
}


@pytest.mark.parametrize("way", EXITS)
@pytest.mark.parametrize("derivative", ["grad", "jvp", "linearize"])
def test_every_way_out_is_an_error(way: str, derivative: str) -> None:
    with pytest.raises(TypeError, match="depends on what is differentiated"):
        DIFFERENTIATING[derivative](lambda x: (x * EXITS[way](x)).sum())


@pytest.mark.parametrize("derivative", DIFFERENTIATING)
def test_under_every_derivative(derivative: str) -> None:
    with pytest.raises(ConcretizationError, match="depends on what is differentiated"):
        DIFFERENTIATING[derivative](lambda x: x.sum() * float(x.sum()))
    # Decisions and printing go on.
    lines: list[str] = []

    def decided(x: Any) -> Any:
        lines.append(f"{x.sum():.3f} {x} {x!r}")
        if x.sum() > 0 and bool(x[0] != 0) and int(x[0]) >= 0 and len(np.asarray(x > 0)) == 2:
            return x.sum() * float(ct.lax.stop_gradient(x).sum())
        return x.sum()

    DIFFERENTIATING[derivative](decided)
    assert lines


@pytest.mark.parametrize("way", EXITS)
def test_constants_go_on_leaving(way: str) -> None:
    if way == "save":
        return
    exit_ = EXITS[way]
    expected = float(exit_(cnp.asarray(X)))
    gradient = ct.grad(lambda x, y: (x * float(exit_(y))).sum())
    np.testing.assert_allclose(gradient(X, X), [expected] * 2, rtol=1e-6)
    np.testing.assert_allclose(
        ct.grad(lambda x: (x * float(exit_(ct.lax.stop_gradient(x)))).sum())(X), [expected] * 2, rtol=1e-6
    )
    closed = cnp.asarray(X)
    np.testing.assert_allclose(ct.grad(lambda x: (x * float(exit_(closed))).sum())(X), [expected] * 2, rtol=1e-6)


def test_what_has_no_derivative_goes_on_leaving() -> None:
    assert float(ct.grad(lambda x: x * float(cnp.floor(x)))(2.5)) == 2.0
    assert float(ct.grad(lambda x: x * float(cnp.sign(x)))(2.5)) == 1.0
    assert float(ct.grad(lambda x: x * math.floor(x) * math.ceil(x) * math.trunc(x) * int(x))(2.5)) == 24.0
    assert float(ct.grad(lambda x: x * np.asarray(x.astype(np.int32)))(2.5)) == 2.0
    assert float(ct.grad(lambda x: x * float(cnp.ones_like(x)))(2.5)) == 1.0
    assert ct.grad(lambda x: (x * np.asarray(cnp.argsort(x))).sum())(X).tolist() == [0.0, 1.0]
    # The step of a loop that counts, beside one that does not.
    step = lambda c, _: ((c[0] * 2, c[1] + 1.0), None)  # noqa: E731
    count = lambda x: float(ct.lax.scan(step, (x, 0.0), None, length=3)[0][1])  # noqa: E731
    assert float(ct.grad(lambda x: x * count(x))(2.5)) == 3.0


def test_an_inner_constant_is_one() -> None:
    # y depends on what the inner derivative is taken by, and x, constant there, on nothing.
    inner = ct.grad(lambda x: x * ct.grad(lambda y: y * y * float(ct.lax.stop_gradient(x)))(3.0))
    assert float(inner(2.0)) == 12.0
    assert float(ct.grad(lambda y: y * ct.grad(lambda x, c: x * float(c))(2.0, 5.0))(1.0)) == 5.0


def test_whole_numbers_and_truth_values_stay() -> None:
    n = cnp.asarray(3)
    assert float(ct.grad(lambda x, n: x ** int(n) * n.item() * [1, 2, 3, 4][n], allow_int=True)(1.0, n)) == 36.0
    assert float(ct.grad(lambda x: x * float(x > 0))(2.0)) == 1.0


def test_custom_rules_see_values_of_the_derivative_that_applies_them() -> None:
    @ct.custom_vjp
    def square(x: Any) -> Any:
        return cnp.asarray(float(x) ** 2)

    square.defvjp(lambda x: (cnp.asarray(float(x) ** 2), x), lambda x, g: (2 * float(x) * g,))
    assert float(ct.grad(square)(3.0)) == 6.0
    with pytest.raises(TypeError, match="depends on what is differentiated"):
        ct.grad(ct.grad(square))(3.0)

    @ct.custom_jvp
    def cube(x: Any) -> Any:
        return x**3

    cube.defjvp(lambda primals, tangents: (cube(*primals), 3 * float(primals[0]) ** 2 * tangents[0]))
    assert float(ct.grad(cube)(2.0)) == 12.0
    with pytest.raises(TypeError, match="depends on what is differentiated"):
        ct.grad(ct.grad(cube))(2.0)

    @ct.custom_vjp
    def backward_only(x: Any) -> Any:
        return x**2

    backward_only.defvjp(lambda x: (x**2, x), lambda x, g: (2 * float(x) * g,))
    assert float(ct.grad(backward_only)(3.0)) == 6.0
    with pytest.raises(TypeError, match="depends on what is differentiated"):
        ct.grad(ct.grad(backward_only))(3.0)


@pytest.mark.parametrize("way", ["float", "complex", "item", "asarray", "memoryview", "dlpack", "tolist"])
def test_where_there_are_no_values_the_errors_stay(way: str) -> None:
    f = lambda x: (x * EXITS[way](x)).sum()  # noqa: E731
    for transformed in (ct.jit(f), ct.jit(ct.grad(f)), ct.grad(ct.jit(f)), lambda x: ct.vmap(ct.jacfwd(f))(x[None])):
        with pytest.raises(ConcretizationError, match="is being captured by"):
            transformed(X)


def test_the_message_names_the_line_and_the_two_ways_out() -> None:
    def loss(x: Any) -> Any:
        y = cnp.exp(x)
        return x * float(y)

    with pytest.raises(TypeError) as caught:
        ct.grad(loss)(1.0)
    message = str(caught.value)
    line = loss.__code__.co_firstlineno
    assert f"{__file__}:{line + 2} (loss)" in message
    assert f"made by 'exp' at {__file__}:{line + 1} (loss)" in message
    assert "float() of" in message
    assert "ct.numpy" in message
    assert "ct.lax.stop_gradient(x)" in message


def test_the_line_is_the_users_when_a_library_asks() -> None:
    stats = needed("scipy.stats")
    with pytest.raises(TypeError) as caught:
        ct.grad(lambda x: stats.norm.pdf(x))(0.5)
    assert __file__ in str(caught.value)


def test_torch_gets_no_plain_value() -> None:
    script = """
import sys, warnings
warnings.simplefilter("ignore")
try:
    import torch
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import torch
    except ImportError:
        print("none")
        sys.exit()
import cotangent as ct, numpy as np
for make in (torch.tensor, torch.as_tensor, torch.from_dlpack, torch.asarray):
    for x in (1.5, np.ones(2)):
        try:
            ct.grad(lambda x: (x * make(x).sum().item()).sum())(x)
        except (TypeError, RuntimeError, ValueError):
            continue
        print("plain", make)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "none":
        pytest.skip("no torch")
    assert "plain" not in done.stdout


@pytest.mark.parametrize("transform", [ct.grad, lambda f: ct.vmap(f, axis_size=2, in_axes=None)], ids=["grad", "vmap"])
def test_what_does_not_depend_on_the_argument_outlives_the_function(transform: Any) -> None:
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        kept.setdefault("weights", cnp.arange(2.0) * 2 + cnp.ones(2))
        kept["argument"] = x * 2
        return (x * kept["weights"]).sum()

    for _ in range(2):
        transform(f)(X)
        np.testing.assert_array_equal(kept["weights"], [1, 3])
        np.testing.assert_array_equal(kept["weights"] + 1, [2, 4])
        np.testing.assert_array_equal(ct.jit(lambda x: x * kept["weights"])(X), X * [1, 3])
    with pytest.raises(ct.errors.TracerLeakError):
        kept["argument"] + 1


def test_values_of_an_enclosing_derivative_outlive_vmap() -> None:
    def loss(w: Any) -> Any:
        kept: list[Any] = []

        def one(x: Any) -> Any:
            if not kept:
                kept.append(w * w)
            return x * kept[0]

        total = ct.vmap(one)(cnp.arange(3.0)).sum()
        with pytest.raises(ConcretizationError):
            float(kept[0])
        return total + kept[0]

    assert float(ct.grad(loss)(3.0)) == 24.0
    assert ct.vmap(ct.grad(loss))(cnp.arange(3.0)).tolist() == [0.0, 8.0, 16.0]


def test_constants_have_values_under_vmap_and_what_differs_between_examples_has_none() -> None:
    def f(x: Any) -> Any:
        return x * int(cnp.sum(cnp.array([1, 2]))) if cnp.all(cnp.ones(2) > 0) else x

    assert ct.vmap(f)(cnp.arange(3.0)).tolist() == [0.0, 3.0, 6.0]
    leaked = []
    with pytest.raises(ConcretizationError, match="differs from example to example"):
        ct.vmap(lambda x: int(ct.lax.axis_index("i") + 1) * x, axis_name="i")(X)
    ct.vmap(lambda x: leaked.append(ct.lax.axis_index("i") + 1) or x, axis_name="i")(X)
    with pytest.raises(ct.errors.TracerLeakError):
        leaked[0] + 1
