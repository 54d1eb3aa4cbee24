"""``jax.experimental``: what `cotangent.experimental` has otherwise."""

from cotangent.jax.settings import enable_x64

__all__ = ["enable_x64"]
