"""``jax._src.traceback_util``."""

from cotangent.jax.internals.tracebacks import *  # noqa: F403
from cotangent.jax.internals.tracebacks import __all__ as __all__
