"""``jax.lib``: the version alone."""

from cotangent.jax.names import JAX_VERSION

__all__ = ["__version__"]

__version__ = JAX_VERSION
