"""``jax._src.core``."""

from cotangent.jax.mirror.core import *  # noqa: F403
from cotangent.jax.mirror.core import __all__ as __all__
