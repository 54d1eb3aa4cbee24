"""checkpoint: the same derivatives, with fewer residuals and a recomputation that the compiler keeps."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core
from cotangent.ad_checkpoint import checkpoint_name

X = np.array([0.3, -0.7, 1.1])
W = np.arange(9.0).reshape(3, 3) / 9
policies = ct.checkpoint_policies


def layers(w: Any, x: Any) -> Any:
    """Two products and two elementwise functions."""
    hidden = checkpoint_name(cnp.tanh(w @ x), "hidden")
    return checkpoint_name(cnp.sin(w @ hidden), "out")


def loss(f: Any) -> Any:
    return lambda w, x: cnp.sum(f(w, x) ** 2)


def residuals(f: Any, *args: Any) -> list[tuple[int, ...]]:
    """The shapes of what the forward pass hands to the backward pass, its own inputs left out."""
    graph = ct.make_ir(f)(*args)
    wrt = [True] * len(args) + [False] * (len(graph.in_avals) - len(args))
    primal, _, count = _core.graph_linearize(graph, wrt)
    kept = primal.outputs[len(primal.outputs) - count :]
    return [primal.aval(var)[0] for var in kept if var >= primal.num_inputs]


def count(graph: Any, primitive: str) -> int:
    total = 0
    for equation in graph.equations():
        total += equation["primitive"] == primitive
        for value in equation["attributes"].values():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ct.ir.Graph):
                    total += count(inner, primitive)
    return total


def compiled(f: Any, *args: Any) -> Any:
    """The graph after the compiler's passes."""
    graph = ct.make_ir(f)(*args)
    for name in ("expand", "inline", "simplify", "cse", "dce"):
        graph = _core.passes[name](graph)
    return graph


TRANSFORMS = {
    "value": lambda f: f(W, X),
    "jit": lambda f: ct.jit(f)(W, X),
    "grad": lambda f: ct.grad(f, argnums=(0, 1))(W, X),
    "jit grad": lambda f: ct.jit(ct.grad(f, argnums=(0, 1)))(W, X),
    "grad jit": lambda f: ct.grad(ct.jit(f), argnums=(0, 1))(W, X),
    "jvp": lambda f: ct.jvp(f, (W, X), (W, X)),
    "hessian": lambda f: ct.hessian(f, argnums=1)(W, X),
    "grad grad": lambda f: ct.grad(lambda x: cnp.sum(ct.grad(f, argnums=1)(W, x) ** 2))(X),
    "jacrev jacrev": lambda f: ct.jit(ct.jacrev(ct.jacrev(f, 1), 1))(W, X),
    "vmap grad": lambda f: ct.vmap(ct.grad(f), (None, 0))(W, np.stack([X, 2 * X])),
    "grad vmap": lambda f: ct.grad(lambda w: cnp.sum(ct.vmap(f, (None, 0))(w, np.stack([X, 2 * X]))))(W),
    "linearize": lambda f: ct.linearize(f, W, X)[1](W, X),
}
POLICIES = {
    "none": None,
    "nothing": policies.nothing_saveable,
    "everything": policies.everything_saveable,
    "dots": policies.dots_saveable,
    "names": policies.save_only_these_names("hidden"),
    "both": policies.save_from_both_policies(policies.dots_saveable, policies.save_any_names_but_these("out")),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_are_those_of_the_function(name: str, policy: str) -> None:
    got = TRANSFORMS[name](loss(ct.checkpoint(layers, policy=POLICIES[policy])))
    expected = TRANSFORMS[name](loss(layers))
    for a, b in zip(ct.tree.leaves(got), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-12)


def chain(x: Any) -> Any:
    return cnp.sin(checkpoint_name(cnp.exp(cnp.sin(checkpoint_name(cnp.sin(x), "a"))), "b"))


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        (None, 0),
        (policies.nothing_saveable, 0),
        (policies.save_only_these_names("a"), 1),
        (policies.save_only_these_names("a", "b"), 2),
        (policies.save_only_these_names("c"), 0),
        (policies.save_any_names_but_these("a"), 1),
        (policies.save_from_both_policies(policies.save_only_these_names("a"), policies.save_only_these_names("b")), 2),
        (policies.save_anything_except_these_names("b"), 4),
        (policies.everything_saveable, 4),
        (lambda *_, **__: True, 4),
        (lambda *_, **__: False, 0),
        (lambda primitive, *_, **__: primitive.name == "tag", 2),
        (lambda primitive, *_, **__: str(primitive) in ("cos", "exp"), 4),
    ],
)
def test_policies_say_what_is_kept(policy: Any, kept: int) -> None:
    assert len(residuals(ct.checkpoint(chain, policy=policy), X)) == kept


def test_dot_policies() -> None:
    def f(x: Any) -> Any:
        y = cnp.tanh(cnp.dot(W, x))
        return cnp.sum(cnp.tanh(cnp.einsum("ij,ij->i", W * y, W * cnp.sin(y))))

    nothing = residuals(ct.checkpoint(f, policy=policies.nothing_saveable), X)
    assert nothing == []
    dots = residuals(ct.checkpoint(f, policy=policies.dots_saveable), X)
    plain = residuals(ct.checkpoint(f, policy=policies.dots_with_no_batch_dims_saveable), X)
    assert len(dots) == len(nothing) + 2 and len(plain) == len(nothing) + 1
    assert policies.checkpoint_dots is policies.dots_saveable


def test_the_compiler_keeps_the_recomputation() -> None:
    f = lambda x: cnp.sum(chain(x))  # noqa: E731
    plain = count(compiled(ct.grad(f), X), "sin")
    again = count(compiled(ct.grad(ct.checkpoint(f)), X), "sin")
    allowed = count(compiled(ct.grad(ct.checkpoint(f, prevent_cse=False)), X), "sin")
    assert plain == allowed == 2  # the last sine is the value, which grad does not return
    assert count(compiled(ct.value_and_grad(f), X), "sin") == 3
    assert count(compiled(ct.value_and_grad(ct.checkpoint(f)), X), "sin") == 5
    assert again == 2


def test_nested() -> None:
    inner = ct.checkpoint(lambda x: cnp.sin(cnp.sin(x)))
    outer = ct.checkpoint(lambda x: cnp.exp(inner(inner(x))))
    ct.test_util.check_grads(lambda x: cnp.sum(outer(x)), (X,), order=2)
    assert residuals(outer, X) == []
    assert residuals(lambda x: inner(inner(x)), X) == [(3,)]


def test_in_and_around_loops() -> None:
    def body(c: Any, x: Any) -> Any:
        return cnp.sin(c * x) + cnp.exp(-c), c

    def scanned(x: Any, body: Any) -> Any:
        return ct.lax.scan(body, np.float64(0.5), x)[0]

    reference = ct.grad(lambda x: scanned(x, body))(X)
    inside = lambda x: scanned(x, ct.checkpoint(body, prevent_cse=False))  # noqa: E731
    around = ct.checkpoint(lambda x: scanned(x, body))
    for f in (inside, around, ct.checkpoint(inside)):
        np.testing.assert_allclose(ct.grad(f)(X), reference, rtol=1e-12)
        np.testing.assert_allclose(ct.jit(ct.grad(f))(X), reference, rtol=1e-12)
        ct.test_util.check_grads(f, (X,), order=2)
    assert residuals(inside, X) == [(3,)]  # the carry of each step; the plain loop keeps two more
    assert len(residuals(lambda x: scanned(x, body), X)) == 3
    assert residuals(around, X) == []

    def branching(x: Any) -> Any:
        return ct.lax.cond(x[0] > 0, ct.checkpoint(lambda v: cnp.sum(cnp.sin(v))), lambda v: v[0], x)

    np.testing.assert_allclose(ct.grad(ct.checkpoint(branching))(X), np.cos(X))


def test_arguments() -> None:
    f = ct.checkpoint(lambda x, n, *, scale: cnp.sum(x**n) * scale["s"], static_argnums=(1,))
    np.testing.assert_allclose(ct.grad(lambda x: f(x, 3, scale={"s": 2.0}))(X), 6 * X**2, rtol=1e-12)
    g = ct.remat(static_argnums=-1)(lambda x, flag: cnp.sin(x) if flag else x)
    assert float(ct.grad(g)(0.0, True)) == 1.0
    y = np.float64(2.0)
    closed = lambda y: ct.checkpoint(lambda x: x * y * y)(np.float64(3.0))  # noqa: E731
    assert float(ct.grad(closed)(y)) == 12.0
    assert float(ct.checkpoint(lambda x: x + 1)(1.0)) == 2.0
    # Values may be looked at wherever the transform outside allows it.
    assert float(ct.grad(ct.checkpoint(lambda x: x * x if x > 0 else -x))(-3.0)) == -1.0


def test_custom_rules_survive() -> None:
    @ct.custom_vjp
    def clipped(x: Any) -> Any:
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (cnp.clip(g, -1.0, 1.0),))
    assert float(ct.grad(ct.checkpoint(lambda x: clipped(5.0 * cnp.sin(x)) * 3.0))(0.0)) == 5.0


def test_ragged() -> None:
    f = lambda x: cnp.sum(cnp.sin(cnp.sin(x)) / cnp.sum(x))  # noqa: E731
    padded = ct.Ragged(np.array([*X, np.nan]), {0: 3})
    gradient = ct.grad(lambda x: ct.mask(ct.checkpoint(f))(x))(padded)
    np.testing.assert_allclose(gradient.unpad(), ct.grad(f)(X), rtol=1e-9)


def test_errors() -> None:
    with pytest.raises(TypeError, match="checkpoint_policies"):
        ct.checkpoint(chain, policy="dots")
    with pytest.raises(ValueError, match="name is a non-empty str"):
        policies.save_only_these_names("a,b")
    with pytest.raises(ValueError, match="static_argnums"):
        ct.grad(ct.checkpoint(chain, static_argnums=3))(X)
    with pytest.raises(TypeError, match="expects a function"):
        ct.checkpoint(3)
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(ct.grad(ct.checkpoint(lambda x: x if x > 0 else -x)))(1.0)
