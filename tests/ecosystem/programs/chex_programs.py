"""Assertions, dataclasses and variants of chex."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp


@chex.dataclass(frozen=True)
class _State:
    a: chex.Array
    b: chex.Array


def dataclass_through_transforms():
    state = _State(a=jnp.arange(3.0), b=jnp.ones(2))
    return jax.jit(jax.grad(lambda s: (s.a**2).sum() + s.b.prod()))(state)


def assertions():
    x = jnp.ones((2, 3))
    chex.assert_shape(x, (2, None))
    chex.assert_rank([x, x], 2)
    chex.assert_type(x, jnp.float32)
    chex.assert_trees_all_close({"a": x}, {"a": x + 1e-9})
    chex.assert_tree_all_finite({"a": x})
    failed = 0
    for check in (
        lambda: chex.assert_shape(x, (3, 3)),
        lambda: chex.assert_equal_shape([x, x[0]]),
        lambda: chex.assert_trees_all_equal(x, x + 1),
    ):
        try:
            check()
        except AssertionError:
            failed += 1
    return failed


def traces():
    @jax.jit
    @chex.assert_max_traces(n=1)
    def f(x):
        return x + 1

    f(jnp.ones(2))
    return f(jnp.zeros(2))


def value_assertion_in_jit():
    @chex.chexify
    @jax.jit
    def f(x):
        chex.assert_tree_all_finite(x)
        return jnp.log(x)

    return f(jnp.array(2.0))


def fake_jit():
    with chex.fake_jit():
        return jax.jit(lambda x: x * 2)(jnp.ones(2))


def numerical_gradients():
    chex.assert_numerical_grads(lambda x: jnp.sum(jnp.sin(x)), (jnp.arange(3.0),), order=1)
    return 1.0
