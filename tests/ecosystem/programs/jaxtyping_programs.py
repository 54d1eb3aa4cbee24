"""Annotations of jaxtyping."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree, Shaped, jaxtyped


def isinstance_checks():
    x = jnp.ones((2, 3))
    kinds = [
        Float[Array, "2 3"],
        Float[Array, "2 4"],
        Int[Array, "..."],
        Shaped[Array, "a b"],
        Bool[Array, "..."],
        Float[Array, "a a"],
    ]
    return [isinstance(x, kind) for kind in kinds] + [isinstance(jnp.arange(3), Int[Array, "3"])]


def keys():
    return [isinstance(jax.random.key(0), Key[Array, ""]), isinstance(jax.random.PRNGKey(0), PRNGKeyArray)]


def traced():
    seen = []
    jax.jit(lambda x: seen.append(isinstance(x, Float[Array, "2"])) or x)(jnp.ones(2))
    jax.vmap(lambda x: seen.append(isinstance(x, Float[Array, ""])) or x)(jnp.ones(2))
    return seen


def trees():
    return [isinstance({"a": jnp.ones(2)}, PyTree[Float[Array, "_"]]), isinstance([1, "x"], PyTree[int])]


def scopes():
    with jaxtyped("context"):
        first = isinstance(jnp.ones((2, 3)), Float[Array, "a b"])
        return [first, isinstance(jnp.ones(2), Float[Array, "a"]), isinstance(jnp.ones(3), Float[Array, "a"])]
