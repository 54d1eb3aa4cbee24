"""``jax._src.test_loader``."""

from cotangent.jax.mirror._src.testing.loader import *  # noqa: F403
from cotangent.jax.mirror._src.testing.loader import __all__ as __all__
