"""``jax.experimental.colocated_python.api``."""

from cotangent.jax.mirror.experimental.colocated_python import *  # noqa: F403
from cotangent.jax.mirror.experimental.colocated_python import __all__ as __all__
