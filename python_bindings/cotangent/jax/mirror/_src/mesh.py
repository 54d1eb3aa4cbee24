"""``jax._src.mesh``."""

from cotangent.jax.internals.meshes import *  # noqa: F403
from cotangent.jax.internals.meshes import __all__ as __all__
