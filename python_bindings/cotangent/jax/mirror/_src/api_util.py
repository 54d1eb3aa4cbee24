"""``jax._src.api_util``."""

from cotangent.jax.mirror.api_util import *  # noqa: F403
from cotangent.jax.mirror.api_util import __all__ as __all__
