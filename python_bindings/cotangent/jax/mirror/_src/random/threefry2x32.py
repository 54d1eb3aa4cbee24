"""``jax._src.random.threefry2x32``: the default generator on keys as pairs of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cotangent as ct
from cotangent import random
from cotangent.jax.narrowing import narrow

__all__ = ["threefry_fold_in", "threefry_random_bits", "threefry_seed", "threefry_split"]


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
