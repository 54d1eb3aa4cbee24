"""``jax._src.random.prng``: the generators of random keys, of which there is one."""

from __future__ import annotations

from typing import Any

from cotangent import random
from cotangent._base.keys import KeyDType
from cotangent._core import Array
from cotangent.jax.internals.generators import (
    PRNGImpl,
    check_generator,
    prngs,
    random_seed,
    register_prng,
    seed_with_impl,
)
from cotangent.jax.narrowing import narrow

__all__ = [
    "UINT_DTYPES",
    "KeyTy",
    "PRNGImpl",
    "PRNGKeyArray",
    "prngs",
    "random_bits",
    "random_fold_in",
    "random_seed",
    "random_split",
    "random_unwrap",
    "random_wrap",
    "register_prng",
    "seed_with_impl",
]

KeyTy = KeyDType
UINT_DTYPES = {bits: f"uint{bits}" for bits in (8, 16, 32, 64)}


class _Kind(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Array) and isinstance(instance.dtype, KeyDType)


class PRNGKeyArray(metaclass=_Kind):
    """The class of arrays of random keys, for `isinstance`."""


def random_wrap(base_arr: Any, *, impl: Any = None) -> Any:
    """The keys of words."""
    check_generator(impl)
    return random.wrap_key_data(narrow(base_arr))


def random_unwrap(keys: Any) -> Any:
    """The words of keys.

    Raises:
        TypeError: of something else.
    """
    if not isinstance(getattr(keys, "dtype", None), KeyDType):
        given = getattr(keys, "dtype", type(keys).__name__)
        raise TypeError(f"random_unwrap takes key array operand, got {given}\n  make one with jax.random.key")
    return random.key_data(keys)


def random_split(keys: Any, shape: Any) -> Any:
    """New keys of a key."""
    return random.split(keys, tuple(shape))


def random_fold_in(keys: Any, msgs: Any) -> Any:
    """The key of a key and an int."""
    return random.fold_in(keys, narrow(msgs))


def random_bits(keys: Any, bit_width: int, shape: Any) -> Any:
    """Random ints of some bits."""
    return random.bits(keys, tuple(shape), UINT_DTYPES[bit_width])
