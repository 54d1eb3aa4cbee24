"""``jax._src.interpreters.partial_eval``."""

from cotangent.jax.mirror.interpreters.partial_eval import *  # noqa: F403
from cotangent.jax.mirror.interpreters.partial_eval import __all__ as __all__
