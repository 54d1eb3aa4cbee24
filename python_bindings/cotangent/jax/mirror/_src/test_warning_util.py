"""``jax._src.test_warning_util``."""

from cotangent.jax.mirror._src.testing.warned import *  # noqa: F403
from cotangent.jax.mirror._src.testing.warned import __all__ as __all__
