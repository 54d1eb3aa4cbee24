"""Functions that capture functions, inside of a mask: their bodies know the sizes of what is handed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

EXACT = np.array([1.0, 2.0, 6.0])
BOUND = 5


def custom_mean() -> Any:
    f = ct.custom_jvp(cnp.mean)
    f.defjvp(lambda primals, tangents: (f(*primals), cnp.mean(tangents[0])))
    return f


def custom_pair() -> Any:
    """The mean square and x twice; the backward rule asks for the sizes of residuals and cotangents."""

    def value(v: Any) -> Any:
        return cnp.mean(v * v), cnp.concatenate([v, v])

    def backward(kept: Any, given: Any) -> Any:
        x, squares = kept
        return (2 * x / x.shape[0] * given[0] + cnp.mean(given[1]) + cnp.mean(squares) * given[0],)

    f = ct.custom_vjp(value)
    f.defvjp(lambda v: (value(v), (v, cnp.concatenate([v, v * v]))), backward)
    return f


MEAN, PAIR = custom_mean(), custom_pair()
CACHED = ct.jit(cnp.mean)
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "jit": lambda v: ct.jit(lambda a: a - cnp.mean(a))(v),
    "jit called before": lambda v: CACHED(v),
    "jit in jit": lambda v: ct.jit(lambda a: ct.jit(cnp.var)(a) + cnp.mean(a))(v),
    "jit, size": lambda v: ct.jit(lambda a: a.shape[0] * cnp.sum(a))(v),
    "jit, last": lambda v: ct.jit(lambda a: a[-1])(v),
    "cond": lambda v: ct.lax.cond(True, cnp.mean, lambda a: 0.0 * cnp.sum(a), v),
    "cond, closure": lambda v: ct.lax.cond(True, lambda: cnp.mean(v), lambda: 0.0 * cnp.sum(v)),
    "scan, carry": lambda v: ct.lax.scan(lambda c, _: (c - cnp.mean(c) * c, cnp.mean(c)), v, None, length=2),
    "scan, rows": lambda v: ct.lax.scan(lambda c, r: (c + cnp.mean(r), r - cnp.mean(r)), 0.0, cnp.stack([v, v * 2])),
    "scan, ragged steps": lambda v: ct.lax.scan(lambda c, r: (c + r, cnp.mean(v) * r * c), 0.0, v),
    "scan, closure": lambda v: ct.lax.scan(lambda c, _: (c, cnp.mean(v)), 0.0, None, length=2),
    "fori_loop": lambda v: ct.lax.fori_loop(0, 3, lambda i, c: c - cnp.mean(c) * i, v),
    "map": lambda v: ct.lax.map(lambda s: s * cnp.mean(v), v),
    "vmap": lambda v: ct.vmap(cnp.mean)(cnp.stack([v, v])),
    "vmap, axis 1": lambda v: ct.vmap(cnp.mean, in_axes=1)(cnp.stack([v, v], 1)),
    "vmap over the ragged axis": lambda v: ct.vmap(lambda s: s * v - cnp.mean(v * s))(v),
    "vmap of jit of scan": lambda v: ct.vmap(
        ct.jit(lambda q: ct.lax.scan(lambda c, _: (c - cnp.mean(c) * q, cnp.mean(c)), v, None, length=2))
    )(cnp.array([1.0, 2.0])),
    "scan of cond": lambda v: ct.lax.scan(
        lambda c, r: ct.lax.cond(c > 1, lambda a, b: (a + cnp.mean(v), b), lambda a, b: (a + b * cnp.mean(v), a), c, r),
        np.float64(0.5),
        v,
    ),
    "grad": lambda v: ct.grad(cnp.mean)(v),
    "grad of nothing": lambda v: ct.grad(lambda a: cnp.sum(a) * 0.0 + 3.0)(v),
    "jvp": lambda v: ct.jvp(cnp.mean, (v,), (v,)),
    "linearize": lambda v: ct.linearize(cnp.mean, v)[1](v),
    "vjp": lambda v: ct.vjp(lambda a: a - cnp.mean(a), v)[1](v)[0],
    "jacrev": lambda v: ct.jacrev(lambda a: a * cnp.sum(a))(v),
    "jacfwd": lambda v: ct.jacfwd(lambda a: (cnp.concatenate([a, a]), a[0]))(v)[0],
    "hessian": lambda v: ct.hessian(lambda a: cnp.mean(a) * cnp.mean(a * a))(v),
    "hessian of a product": lambda v: ct.hessian(cnp.prod)(v),
    "custom_jvp": lambda v: MEAN(v),
    "custom_vjp": lambda v: PAIR(v)[0],
    "custom_vjp, ragged result": lambda v: PAIR(v)[1],
    "jit of custom_vjp": lambda v: ct.jit(lambda a: PAIR(a)[1] * PAIR(a)[0])(v),
    "first": lambda v: v[0] * v,
}
FORWARD: dict[str, Callable[[Any], Any]] = {
    "while, closure": lambda v: ct.lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + cnp.mean(v)), (0, 0.0)
    ),
    "while, carry": lambda v: ct.lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] - cnp.mean(c[1])), (0, v)
    ),
    "while, condition": lambda v: ct.lax.while_loop(lambda c: cnp.mean(c) < 20, lambda c: c * 2, v),
}
total = lambda f: lambda v: sum(cnp.sum(leaf * leaf) for leaf in ct.tree.leaves(f(v)))  # noqa: E731
HOW: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda f, x: ct.mask(f)(x),
    "jit": lambda f, x: ct.jit(ct.mask(f))(x),
    "grad of mask": lambda f, x: ct.grad(ct.mask(total(f)))(x),
    "mask of grad": lambda f, x: ct.mask(ct.grad(total(f)))(x),
    "vmap of grad of mask": lambda f, x: ct.vmap(ct.grad(ct.mask(total(f))))(
        ct.tree.map(lambda leaf: cnp.stack([leaf, leaf]), x)
    )[1],
}


def unpadded(tree: Any) -> list[np.ndarray[Any, Any]]:
    leaves = ct.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, ct.Ragged))
    return [np.asarray(leaf.unpad() if isinstance(leaf, ct.Ragged) else leaf) for leaf in leaves]


CASES = [(n, h) for n in SMOOTH for h in HOW] + [(n, h) for n in FORWARD for h in ("value", "jit")]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_mask_is_the_exact_program(name: str, how: str) -> None:
    f = {**SMOOTH, **FORWARD}[name]
    CACHED(cnp.zeros(BOUND, "float64"))  # captured for the bound: not what a ragged array of that bound wants
    data = np.concatenate([EXACT, np.full(BOUND - len(EXACT), np.nan)])
    exact = cnp.array(EXACT)
    found = unpadded(HOW[how](f, ct.Ragged(data, {0: len(EXACT)})))
    wanted = unpadded(ct.grad(total(f))(exact) if "grad" in how else f(exact))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_jit_keeps_no_program_that_was_captured_on_ragged_arrays() -> None:
    f = ct.jit(lambda x: cnp.sum(x) / x.shape[0])
    x = ct.Ragged(np.array([1.0, 2.0, 9.0]), {0: 2})
    assert float(ct.mask(f)(x)) == 1.5
    assert float(f(cnp.array([1.0, 2.0, 9.0]))) == 4.0
    assert float(ct.mask(f)(x)) == 1.5


def test_a_rule_that_is_not_linear_is_a_clear_error() -> None:
    @ct.custom_jvp
    def f(x: Any) -> Any:
        return x * 2

    for rule, message in [
        (lambda x, t: t * t, "mul: operand 1, .* depends on what the program should be linear in"),
        (lambda x, t: x / t, "div: operand 1"),
        (lambda x, t: cnp.where(t > 0, t, 0.0), "select: operand 0, bool"),
        (lambda x, t: x * t[cnp.array([0, 1]) + t.astype("int32")], "gather: operand 1, int32"),
    ]:
        f.defjvp(lambda primals, tangents, rule=rule: (f(*primals), rule(primals[0], tangents[0])))
        with pytest.raises(ct.errors.NotDifferentiableError, match=message):
            ct.grad(lambda x: cnp.sum(f(x)))(np.array([1.0, 2.0]))
