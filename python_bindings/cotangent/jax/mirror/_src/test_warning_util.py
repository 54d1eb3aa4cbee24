"""``jax._src.test_warning_util``."""

from cotangent.jax.internals.testing.warned import *  # noqa: F403
from cotangent.jax.internals.testing.warned import __all__ as __all__
