"""Functions and modules whose interface may still change, under their names in ``jax.experimental``."""

from cotangent import checkify
from cotangent._base.callbacks import io_callback

__all__ = ["checkify", "io_callback"]
