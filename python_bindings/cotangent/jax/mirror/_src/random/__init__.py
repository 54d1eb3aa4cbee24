"""``jax._src.random``."""

from cotangent.jax.mirror._src.random.core import default_prng_impl

__all__ = ["default_prng_impl"]
