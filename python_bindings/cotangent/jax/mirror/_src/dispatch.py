"""``jax._src.dispatch``."""

from cotangent import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
