"""``jax.experimental.layout``."""

from cotangent.jax.internals.formats import Format, Layout

__all__ = ["Format", "Layout"]
