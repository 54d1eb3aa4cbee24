"""``jax._src.pjit``."""

from cotangent.jax.mirror.extend.core.primitives import jit_p

__all__ = ["jit_p"]
