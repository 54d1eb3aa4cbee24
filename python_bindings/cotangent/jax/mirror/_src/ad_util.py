"""``jax._src.ad_util``."""

from cotangent.jax.mirror.extend.core.primitives import stop_gradient_p as stop_gradient_p
from cotangent.jax.mirror.interpreters.ad import *  # noqa: F403
from cotangent.jax.mirror.interpreters.ad import __all__ as _names

__all__ = [*_names, "stop_gradient_p"]
