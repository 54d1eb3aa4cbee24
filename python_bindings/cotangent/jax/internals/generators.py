"""Random keys' generators, of which there is one, and what it computes of keys as words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent import random
from cotangent.jax.missing import MissingNameError
from cotangent.jax.narrowing import narrow

__all__ = [
    "PRNGImpl",
    "check_generator",
    "prngs",
    "random_seed",
    "register_prng",
    "seed_with_impl",
    "threefry_fold_in",
    "threefry_random_bits",
    "threefry_seed",
    "threefry_split",
]


def threefry_seed(seed: Any) -> Any:
    """The words of the key of an int."""
    return random.key_data(random.key(narrow(seed)))


def threefry_split(key: Any, shape: Sequence[int]) -> Any:
    """The words of new keys, as many as a shape says."""
    return random.key_data(random.split(random.wrap_key_data(key), tuple(shape)))


def threefry_fold_in(key: Any, data: Any) -> Any:
    """The words of the key of a key and an int."""
    return random.key_data(random.fold_in(random.wrap_key_data(key), narrow(data)))


def threefry_random_bits(key: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Random ints of 8, 16, 32 or 64 bits."""
    return random.bits(random.wrap_key_data(key), tuple(shape), ct.numpy.dtype(f"uint{bit_width}"))


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
    threefry_seed,
    threefry_split,
    threefry_random_bits,
    threefry_fold_in,
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


def check_generator(impl: Any) -> None:
    """MissingNameError for another generator than the one that there is."""
    if impl is not None and getattr(impl, "name", impl) != _threefry.name:
        raise MissingNameError(
            f"random keys of the generator {impl} are asked for; those of threefry2x32 are all that there are\n"
            "  leave impl out, or run this part of the program with JAX itself (cotangent.jax.uninstall)"
        )


def random_seed(seeds: Any, impl: Any = None) -> Any:
    """The keys of ints."""
    check_generator(impl)
    return random.key(narrow(seeds))


seed_with_impl: Any = lambda impl, seed: random_seed(seed, impl)  # noqa: E731
