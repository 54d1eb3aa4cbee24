"""``jax._src.random.threefry2x32``: the default generator on keys as pairs of words."""

from __future__ import annotations

from cotangent.jax.internals.generators import (
    prngs,
    threefry_fold_in,
    threefry_random_bits,
    threefry_seed,
    threefry_split,
)

__all__ = ["threefry_fold_in", "threefry_prng_impl", "threefry_random_bits", "threefry_seed", "threefry_split"]

threefry_prng_impl = prngs["threefry2x32"]
