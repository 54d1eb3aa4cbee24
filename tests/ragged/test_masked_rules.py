"""Rules of custom functions inside of masks: captured at the call, and those that rules themselves ask for on demand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

DATA = np.arange(1.0, 6.0)
RAGGED = ct.Ragged(DATA, {0: 3})
VALID = DATA[:3]


def twice(calls: list[None] | None = None) -> Any:
    """exp, of which every derivative has another factor of 3; its rule calls it twice."""
    f = ct.custom_jvp(cnp.exp)

    def rule(primals: Any, tangents: Any) -> Any:
        if calls is not None:
            calls.append(None)
        return f(*primals), 3 * f(*primals) * tangents[0]

    f.defjvp(rule)
    return f


def centred() -> Any:
    """x * mean(x), whose rule asks for sizes and calls it twice."""
    f = ct.custom_jvp(lambda x: x * cnp.mean(x))

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), t * cnp.mean(x) + f(x) / cnp.mean(x) * cnp.sum(t) / x.shape[0]

    f.defjvp(rule)
    return f


def twice_backwards() -> Any:
    """x * mean(x): the forward rule calls it twice, the backward rule makes arrays of a size."""
    f = ct.custom_vjp(lambda x: x * cnp.mean(x))

    def backward(kept: Any, given: Any) -> Any:
        x = kept
        return (given * f(x) / x + cnp.full(x.shape[0], cnp.sum(given * x) / x.shape[0]),)

    f.defvjp(lambda x: (f(x) + 0 * f(x), x), backward)
    return f


def test_a_rule_is_captured_once_a_derivative() -> None:
    calls: list[None] = []
    f = twice(calls)
    np.testing.assert_allclose(ct.jit(ct.mask(f))(RAGGED).unpad(), np.exp(VALID))
    assert len(calls) == 1
    total = lambda a: ct.jit(ct.mask(lambda x: f(x).sum()))(a)  # noqa: E731
    np.testing.assert_allclose(ct.grad(total)(RAGGED).unpad(), 3 * np.exp(VALID))
    assert len(calls) == 2


@pytest.mark.parametrize("make", [twice, centred, twice_backwards])
def test_derivatives_of_rules_that_call_their_function_twice(make: Callable[[], Any]) -> None:
    f = make()
    loss = lambda x: cnp.sum(f(x) * f(2 * x))  # noqa: E731
    second = lambda x: ct.grad(lambda v: cnp.sum(ct.grad(loss)(v) ** 2))(x)  # noqa: E731
    total = lambda program: lambda a: cnp.sum(program(a) ** 2)  # noqa: E731
    for derivative in (ct.grad(loss), second):
        expected = derivative(VALID)
        for program in (ct.mask(derivative), ct.jit(ct.mask(derivative))):
            np.testing.assert_allclose(program(RAGGED).unpad(), expected, rtol=1e-5)
    outside = lambda a: ct.grad(lambda b: total(lambda c: ct.mask(ct.grad(loss))(c).data)(b))(a)  # noqa: E731
    np.testing.assert_allclose(outside(RAGGED).unpad(), second(VALID), rtol=1e-5)
    jitted = ct.jit(ct.mask(loss))
    np.testing.assert_allclose(ct.grad(jitted)(RAGGED).unpad(), ct.grad(loss)(VALID), rtol=1e-5)
    np.testing.assert_allclose(
        ct.grad(lambda a: total(lambda b: ct.grad(jitted)(b).data)(a))(RAGGED).unpad(), second(VALID), rtol=1e-5
    )


def test_rules_on_demand_know_equal_sizes() -> None:
    """Operands of one size and sizes among them, in a derivative that nothing asked for at the call."""

    def loss(x: Any) -> Any:
        n = x.shape[0]
        f = ct.custom_jvp(lambda x, y: x * y * n)

        @f.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            (x, y), (s, t) = primals, tangents
            assert x.shape[0] == y.shape[0]
            return f(x, y), f(s, y) * cnp.ones(n) + f(x, t)

        return cnp.sum(f(x, x[::-1]) ** 2)

    def second(x: Any) -> Any:
        return ct.grad(lambda v: cnp.sum(ct.grad(loss)(v) ** 2))(x)

    plain = lambda x: cnp.sum((x * x[::-1] * 3) ** 2)  # noqa: E731
    expected = ct.grad(lambda v: cnp.sum(ct.grad(plain)(v) ** 2))(VALID)
    np.testing.assert_allclose(ct.jit(ct.mask(second))(RAGGED).unpad(), expected, rtol=1e-5)


def test_an_interrupt_ends_what_captures_rules() -> None:
    """It is no error that a program could do without the derivative of."""
    f = ct.custom_jvp(cnp.exp)

    def rule(primals: Any, tangents: Any) -> Any:
        raise KeyboardInterrupt

    f.defjvp(rule)
    with pytest.raises(KeyboardInterrupt):
        ct.jit(f).lower(1.0).as_text()


def test_rules_in_loops_and_batches_inside_of_masks() -> None:
    f = twice()
    step = lambda x: ct.lax.scan(lambda c, v: (c + f(v * c), c), 0.1, x)[0]  # noqa: E731
    each = lambda x: cnp.sum(ct.vmap(lambda v: f(v * x).sum())(cnp.ones(2)) ** 2)  # noqa: E731
    for loss in (step, each):
        loss_scaled = functools.partial(lambda loss, x: loss(x / 10), loss)
        for derivative in (ct.grad(loss_scaled), ct.hessian(loss_scaled)):
            expected = derivative(VALID)
            np.testing.assert_allclose(ct.jit(ct.mask(derivative))(RAGGED).unpad(), expected, rtol=1e-5)
    rows = ct.Ragged(np.stack([DATA, DATA]), {1: np.array([3, 2])})
    slopes = ct.jit(ct.vmap(ct.mask(ct.grad(lambda x: f(x).sum()))))(rows).tolist()
    np.testing.assert_allclose(slopes[0], 3 * np.exp(VALID))
    np.testing.assert_allclose(slopes[1], 3 * np.exp(VALID[:2]))
