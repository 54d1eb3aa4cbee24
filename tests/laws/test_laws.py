"""Random programs: composition laws of the transforms.

Each program is a random straight-line composition of smooth operations on a vector and a matrix, ending in a scalar. The number of programs
can be raised with CT_LAWS_PROGRAMS; the seed is printed, and CT_LAWS_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

PROGRAMS = int(os.environ.get("CT_LAWS_PROGRAMS", "2000"))
CHUNKS = 40
SEED = int(os.environ.get("CT_LAWS_SEED", "20240607"))
SIZE = 3

UNARY: list[tuple[str, Callable[[Any], Any]]] = [
    ("sin", cnp.sin),
    ("cos", cnp.cos),
    ("tanh", cnp.tanh),
    ("exp", lambda x: cnp.exp(-x * x)),
    ("log", lambda x: cnp.log(1.5 + x * x)),
    ("sqrt", lambda x: cnp.sqrt(1.0 + x * x)),
    ("square", lambda x: x * x * 0.3),
    ("reverse", lambda x: cnp.flip(x, -1)),
    ("cumsum", lambda x: cnp.cumsum(x, axis=-1) * 0.5),
    ("roll", lambda x: cnp.concatenate([x[..., 1:], x[..., :1]], axis=-1)),
    ("center", lambda x: x - cnp.mean(x, axis=-1, keepdims=True)),
    ("pad", lambda x: cnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 0)])[..., :-1]),
    ("max", lambda x: x - cnp.max(x, axis=-1, keepdims=True)),
    ("jit", lambda x: ct.jit(lambda y: cnp.sin(y) * y)(x)),
    ("scan", lambda x: ct.lax.scan(lambda c, v: (cnp.tanh(c + v), c), 0.1, cnp.reshape(x, (-1,)))[1].reshape(x.shape)),
    ("while", lambda x: ct.lax.fori_loop(0, cnp.asarray(3), lambda i, c: cnp.tanh(c + 0.1 * x * i), x)),
    ("cond", lambda x: ct.lax.cond(cnp.sum(x) > 0.3, cnp.sin, lambda y: y * 0.7, x)),
    ("inner_grad", lambda x: ct.grad(lambda y: cnp.sum(cnp.sin(y) * y))(x)),
    ("inner_vmap", lambda x: ct.vmap(lambda y: cnp.tanh(y) * cnp.sum(x))(x)),
]
BINARY: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("add", lambda a, b: a + b),
    ("mul", lambda a, b: a * b * 0.5),
    ("div", lambda a, b: a / (1.0 + b * b)),
    ("where", lambda a, b: cnp.where(a > b, a, b * 0.5)),
    ("maximum", cnp.maximum),
    ("outer", lambda a, b: cnp.matmul(cnp.outer(a, b), b) * 0.2),
    ("atan2", lambda a, b: cnp.arctan2(a, 1.0 + b * b)),
]


def random_program(rng: random.Random) -> Callable[[Any, Any], Any]:
    """A function of a vector and a matrix to a scalar."""
    steps = []
    count = 2  # values so far: x, and w @ x
    for _ in range(rng.randint(2, 6)):
        if rng.random() < 0.65:
            steps.append((rng.choice(UNARY)[1], (rng.randrange(count),)))
        else:
            steps.append((rng.choice(BINARY)[1], (rng.randrange(count), rng.randrange(count))))
        count += 1
    weights = [rng.uniform(-1, 1) for _ in range(count)]

    def program(x: Any, w: Any) -> Any:
        values = [x, w @ x]
        for function, operands in steps:
            values.append(function(*(values[i] for i in operands)))
        return cnp.sum(sum(weight * value for weight, value in zip(weights, values, strict=True)))

    return program


def close(a: Any, b: Any, what: str) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-6, atol=2e-8, err_msg=what)


def check(program: Callable[[Any, Any], Any], data: np.random.Generator, law: int) -> None:
    x, w = cnp.array(data.standard_normal(SIZE)), cnp.array(data.standard_normal((SIZE, SIZE)))
    dx = cnp.array(data.standard_normal(SIZE))
    value = program(x, w)
    laws = (
        lambda: close(ct.jit(program)(x, w), value, "jit(f) = f"),
        lambda: reverse_is_forward(program, x, w, dx),
        lambda: close(ct.jit(ct.grad(program))(x, w), ct.grad(ct.jit(program))(x, w), "jit(grad f) = grad(jit f)"),
        lambda: batch_is_loop(program, w, data),
        lambda: linearize_is_jvp(program, x, w, dx),
        lambda: differences(program, x, w, dx),
        lambda: hessian_symmetric(program, x, w),
        lambda: text_round_trip(program, x, w, value),
        lambda: grad_of_vmap(program, x, w, data),
        lambda: vmap_commutes_with_grad(program, w, data),
    )
    laws[law % len(laws)]()


def reverse_is_forward(program: Any, x: Any, w: Any, dx: Any) -> None:
    _, forward = ct.jvp(lambda v: program(v, w), (x,), (dx,))
    close(cnp.sum(ct.grad(program)(x, w) * dx), forward, "<grad f, dx> = jvp f dx")


def batch_is_loop(program: Any, w: Any, data: np.random.Generator) -> None:
    xs = cnp.array(data.standard_normal((4, SIZE)))
    loop = np.stack([np.asarray(program(row, w)) for row in xs])
    close(ct.vmap(program, in_axes=(0, None))(xs, w), loop, "vmap(f) = loop")
    close(ct.jit(ct.vmap(program, in_axes=(1, None)))(xs.T, w), loop, "jit(vmap(f, in_axes=1)) = loop")


def linearize_is_jvp(program: Any, x: Any, w: Any, dx: Any) -> None:
    value, linear = ct.linearize(lambda v: program(v, w), x)
    expected, tangent = ct.jvp(lambda v: program(v, w), (x,), (dx,))
    close(value, expected, "linearize: value")
    close(linear(dx), tangent, "linearize = jvp")


def differences(program: Any, x: Any, w: Any, dx: Any) -> None:
    step = 1e-6
    slope = (float(program(x + step * dx, w)) - float(program(x - step * dx, w))) / (2 * step)
    _, tangent = ct.jvp(lambda v: program(v, w), (x,), (dx,))
    # A kink between the two points spoils the difference, not the derivative: compare against half steps too.
    half = (float(program(x + step / 7 * dx, w)) - float(program(x - step / 7 * dx, w))) / (2 * step / 7)
    best = min(abs(slope - float(tangent)), abs(half - float(tangent)))
    assert best <= 1e-4 * (1 + abs(float(tangent))), (slope, half, float(tangent))


def hessian_symmetric(program: Any, x: Any, w: Any) -> None:
    forward_reverse = np.asarray(ct.hessian(program)(x, w))
    close(forward_reverse, forward_reverse.T, "hessian is symmetric")
    close(ct.jacrev(ct.jacfwd(program))(x, w), forward_reverse, "jacrev(jacfwd) = jacfwd(jacrev)")


def text_round_trip(program: Any, x: Any, w: Any, value: Any) -> None:
    graph = ct.make_ir(program)(x, w)
    again = ct.ir.parse(graph.text())
    assert again.text() == graph.text()
    assert ct.ir.deserialize(graph.serialize()).text() == graph.text()
    close(again.evaluate([x, w])[0], value, "parse(print(graph)) computes the same")
    close(graph.evaluate_reference([x, w])[0], value, "reference = kernels")


def grad_of_vmap(program: Any, x: Any, w: Any, data: np.random.Generator) -> None:
    xs = cnp.array(data.standard_normal((3, SIZE)))
    total = ct.grad(lambda m: cnp.sum(ct.vmap(program, in_axes=(0, None))(xs, m)))(w)
    loop = sum(np.asarray(ct.grad(program, argnums=1)(row, w)) for row in xs)
    close(total, loop, "grad(sum vmap f) = sum of grads")


def vmap_commutes_with_grad(program: Any, w: Any, data: np.random.Generator) -> None:
    xs = cnp.array(data.standard_normal((3, SIZE)))
    per_example = ct.vmap(ct.grad(program), in_axes=(0, None))(xs, w)
    together = ct.grad(lambda v: cnp.sum(ct.vmap(program, in_axes=(0, None))(v, w)))(xs)
    close(per_example, together, "vmap(grad f) = grad(sum vmap f)")
    close(ct.jit(ct.vmap(ct.grad(program), in_axes=(0, None)))(xs, w), per_example, "jit(vmap(grad f)) = vmap(grad f)")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_laws(chunk: int) -> None:
    print(f"seed {SEED}, chunk {chunk} of {CHUNKS}, {PROGRAMS} programs in all")
    per_chunk = -(-PROGRAMS // CHUNKS)
    for index in range(per_chunk):
        number = chunk * per_chunk + index
        rng = random.Random(SEED * 1_000_003 + number)
        program = random_program(rng)
        try:
            check(program, np.random.default_rng(SEED + number), number)
        except Exception as error:
            raise AssertionError(f"program {number} of seed {SEED}: {error}") from error
