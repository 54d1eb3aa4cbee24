"""``jax._src.core``."""

from cotangent.jax.mirror import core
from cotangent.jax.mirror.core import *  # noqa: F403
from cotangent.jax.mirror.extend.core.primitives import call_p, closed_call_p

__all__ = [*core.__all__, "call_p", "closed_call_p"]
