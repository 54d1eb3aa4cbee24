"""``jax._src.random.prng``: the generators of random keys, of which there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from cotangent import random
from cotangent._base.keys import KeyDType
from cotangent._core import Array
from cotangent.jax.mirror._src.random import threefry2x32
from cotangent.jax.missing import MissingNameError
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


@dataclasses.dataclass(frozen=True)
class PRNGImpl:
    """A generator: the shape of a key's words, and what is computed of them."""

    key_shape: tuple[int, ...]
    seed: Callable[..., Any]
    split: Callable[..., Any]
    random_bits: Callable[..., Any]
    fold_in: Callable[..., Any]
    name: str = "<unnamed>"
    tag: str = "?"

    def __str__(self) -> str:
        return self.tag


_threefry = PRNGImpl(
    (2,),
    threefry2x32.threefry_seed,
    threefry2x32.threefry_split,
    threefry2x32.threefry_random_bits,
    threefry2x32.threefry_fold_in,
    "threefry2x32",
    "fry",
)
prngs: dict[str, PRNGImpl] = {_threefry.name: _threefry}


def register_prng(impl: PRNGImpl) -> None:
    """Takes note of a generator.

    Raises:
        ValueError: there is one of its name.
    """
    if impl.name in prngs:
        raise ValueError(f"PRNG with name {impl.name} already registered: {impl}")
    prngs[impl.name] = impl


def _check(impl: Any) -> None:
    if impl is not None and getattr(impl, "name", impl) != _threefry.name:
        raise MissingNameError(
            f"random keys of the generator {impl} are asked for; those of threefry2x32 are all that there are\n"
            "  leave impl out, or run this part of the program with JAX itself (cotangent.jax.uninstall)"
        )


class _Kind(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Array) and isinstance(instance.dtype, KeyDType)


class PRNGKeyArray(metaclass=_Kind):
    """The class of arrays of random keys, for `isinstance`."""


def random_seed(seeds: Any, impl: Any = None) -> Any:
    """The keys of ints."""
    _check(impl)
    return random.key(narrow(seeds))


seed_with_impl: Any = lambda impl, seed: random_seed(seed, impl)  # noqa: E731


def random_wrap(base_arr: Any, *, impl: Any = None) -> Any:
    """The keys of words."""
    _check(impl)
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
