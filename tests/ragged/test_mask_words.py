"""What only masks need is in no program that is captured outside of one; what is captured there and masked later has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

WORDS = ("dimension_size", "set_length", "fill_padding", "ragged_", "clamp_length", "counted")
X = cnp.array([0.4, 1.1, 2.3, 0.7])


def custom_square() -> Any:
    f = ct.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, given: (2 * x * given,))
    return f


def custom_total() -> Any:
    f = ct.custom_jvp(lambda x: cnp.sum(x * x))
    f.defjvp(lambda primals, tangents: (f(*primals), ct.jvp(lambda x: cnp.sum(x * x), primals, tangents)[1]))
    return f


SQUARE, TOTAL = custom_square(), custom_total()
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: cnp.sum(cnp.tanh(x)) / x.shape[0],
    "products": lambda x: cnp.dot(x, cnp.outer(x, x) @ x),
    "a product of all": cnp.prod,
    "running sums and products": lambda x: cnp.cumsum(cnp.cumprod(x)),
    "slices": lambda x: x[1:] - x[:-1],
    "a slice that a value chooses": lambda x: lax.dynamic_slice(x, (cnp.argmax(x),), (2,)),
    "an update that a value chooses": lambda x: lax.dynamic_update_slice(x, x[:2] * 2, (cnp.argmin(x),)),
    "pads": lambda x: cnp.pad(x, (1, 2), constant_values=3.0),
    "joined": lambda x: cnp.concatenate([x, x * x]),
    "reversed and sorted": lambda x: cnp.sort(x[::-1]),
    "chosen elements": lambda x: x[cnp.array([0, 2, 2])],
    "updates": lambda x: x.at[cnp.array([1, 3])].multiply(x[:2]).at[0].add(x[1]),
    "windows": lambda x: cnp.convolve(x, cnp.array([1.0, -2.0, 0.5])),
    "a loop": lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), 1.0, x)[1],
    "a loop of a fixed number of steps": lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, x),
    "branches": lambda x: lax.cond(x[0] > 0, lambda v: cnp.cumsum(v), lambda v: v[::-1], x),
    "factors": lambda x: cnp.linalg.qr(cnp.outer(x, x) + cnp.eye(x.shape[0]))[1],
    "singular values": lambda x: cnp.linalg.svd(cnp.outer(x, x * x) + cnp.diag(x), full_matrices=False)[0],
    "a forward rule": lambda x: x * TOTAL(x),
    "a backward rule": lambda x: SQUARE(x) * x,
}
DERIVATIVES: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "grad": ct.grad,
    "value_and_grad": ct.value_and_grad,
    "grad of grad": lambda f: ct.grad(lambda x: cnp.sum(ct.grad(f)(x) ** 2)),
    "vmap of grad": lambda f: lambda x: ct.vmap(ct.grad(f))(cnp.stack([x, 2 * x])),
    "jvp of jit": lambda f: lambda x: ct.jvp(ct.jit(f), (x,), (x,)),
    "linearize": lambda f: lambda x: ct.linearize(f, x)[1](x),
    "checkpoint": lambda f: ct.grad(ct.checkpoint(f)),
}
# What has no such derivative.
WITHOUT = {("a backward rule", "grad of grad"), ("a backward rule", "jvp of jit"), ("a backward rule", "linearize")}


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A sum of the elements of what f gives, each with a weight of its own."""

    def total(x: Any) -> Any:
        found = f(x).reshape(-1)
        return cnp.sum(found * cnp.cos(cnp.arange(found.shape[0]) * 1.3))

    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_are_not_masked_have_no_mask_equations(name: str) -> None:
    for how, derivative in DERIVATIVES.items():
        if (name, how) in WITHOUT:
            continue
        text = ct.make_ir(derivative(weighted(PROGRAMS[name])))(X).text()
        assert not [word for word in WORDS if word in text], f"{how}\n{text}"


def ragged(values: Any = (1.0, 2.0, 9.0, np.nan), length: int = 2) -> ct.Ragged:
    return ct.Ragged(np.array(values, "float32"), {0: length})


def cubes(x: Any) -> Any:
    return cnp.sum(x * x * x)


CAPTURED: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "a graph": lambda: run(ct.make_ir(ct.grad(cubes))(X)),
    "a stage": lambda: run(ct.jit(ct.grad(cubes)).trace(X).ir),
    "a rewritten graph": lambda: run(ct.ir.rewrite(ct.make_ir(ct.grad(cubes))(X), lambda eqn, *values: None)),
    "equations": lambda: equation_by_equation(ct.make_ir(ct.grad(cubes))(X)),
    "a compiled function": lambda: called_on_exact(ct.jit(ct.grad(cubes))),
    "a batched one": lambda: called_on_exact(ct.jit(lambda x: ct.vmap(ct.grad(cubes))(x[None])[0])),
}


def run(graph: Any) -> Callable[[Any], Any]:
    return lambda x: ct.Interpreter().run(graph, x)[0]


def equation_by_equation(graph: Any) -> Callable[[Any], Any]:
    def walk(x: Any) -> Any:
        values = {0: x}
        equations = ct.ir.equations(graph)
        for eqn in equations:
            values.update(zip(eqn.outputs, eqn.bind(*[values[var] for var in eqn.operands]), strict=True))
        return values[equations[-1].outputs[0]]

    return walk


def called_on_exact(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    f(X)
    return f


@pytest.mark.parametrize("name", CAPTURED)
def test_what_was_captured_before_is_masked_like_the_function(name: str) -> None:
    f = CAPTURED[name]()
    found = ct.mask(f)(ragged())
    np.testing.assert_allclose(found.data, [3, 12, 0, 0])
    np.testing.assert_allclose(ct.grad(lambda x: ct.mask(lambda y: cnp.sum(f(y)))(x))(ragged()).data, [6, 12, 0, 0])


def test_a_program_that_changed_since_it_was_captured_is_as_it_was() -> None:
    factor = [2.0]
    sizes = [X]

    def f(x: Any) -> Any:
        return cnp.sum(x * x) * factor[0] + cnp.sum(sizes[0])

    graph = ct.make_ir(ct.value_and_grad(f))(X)
    sizes[0] = cnp.ones(7)
    with pytest.raises(TypeError):
        ct.mask(lambda x: ct.Interpreter().run(graph, x)[0])(ragged())


def test_programs_inside_of_a_mask_region_are_interpreted_as_such() -> None:
    class Derivatives(ct.Interpreter):
        def process(self, eqn: Any, *values: Any) -> Any:
            if eqn.primitive == "sin":
                return ct.grad(lambda x: cnp.sum(cnp.sin(x)))(values[0])
            return super().process(eqn, *values)

    found = Derivatives()(ct.mask(lambda x: cnp.sum(cnp.sin(x) * x)))(ragged())
    np.testing.assert_allclose(found, np.cos(1.0) + 2 * np.cos(2.0), rtol=1e-6)


def test_a_masked_program_has_its_lengths() -> None:
    text = ct.make_ir(lambda x: ct.mask(ct.grad(cubes))(x))(ragged()).text()
    assert "set_length" in text
    exact = ct.make_ir(lambda x: ct.grad(cubes)(x.data))(ragged()).text()
    assert "set_length" not in exact
