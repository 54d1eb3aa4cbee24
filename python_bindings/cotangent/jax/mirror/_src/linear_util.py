"""``jax._src.linear_util``."""

from cotangent.jax.mirror.extend.linear_util import *  # noqa: F403
from cotangent.jax.mirror.extend.linear_util import __all__ as __all__
