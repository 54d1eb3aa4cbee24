"""``jax._src.traceback_util``."""

from cotangent.jax.tracebacks import *  # noqa: F403
from cotangent.jax.tracebacks import __all__ as __all__
