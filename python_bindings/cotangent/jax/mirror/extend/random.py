"""``jax.extend.random``: the generator of random keys, by the names of JAX's several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base import primitives
from cotangent.jax.internals.generators import PRNGImpl, prngs, random_seed, seed_with_impl
from cotangent.jax.narrowing import narrow

__all__ = ["define_prng_impl", "random_seed", "seed_with_impl", "threefry_2x32", "threefry_prng_impl"]

threefry_prng_impl = prngs["threefry2x32"]


def define_prng_impl(*, key_shape: Sequence[int], seed: Any, split: Any, random_bits: Any, fold_in: Any, name: str = "<unnamed>",
                     tag: str = "?") -> PRNGImpl:  # fmt: skip
    """A generator of a program's own. It can be named, and not be used."""
    return PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """The hashed words of a key and of words, of which each in the first half is hashed with one in the second.

    Raises:
        TypeError: there are words of another dtype.
    """
    key, words = (_core.array(narrow(x)) for x in (keypair if len(keypair) == 1 else cnp.asarray(keypair), count))
    if not str(key.dtype) == str(words.dtype) == "uint32":
        raise TypeError(
            f"threefry_2x32 requires uint32 arguments, got {key.dtype} and {words.dtype}\n  convert them: .astype('uint32')"
        )
    size = math.prod(words.shape)
    flat = cnp.ravel(words)
    if size % 2:
        flat = cnp.concatenate([flat, cnp.zeros(1, "uint32")])
    halves = cnp.split(flat, 2)
    parts = [cnp.broadcast_to(part, halves[0].shape) for part in (key[0], key[1])]
    hashed = cnp.concatenate(list(primitives.threefry2x32(*parts, *halves))) if size else flat
    return hashed[:size].reshape(words.shape)
