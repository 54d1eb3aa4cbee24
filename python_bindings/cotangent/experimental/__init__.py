"""Functions and modules whose interface may still change, under their names in ``jax.experimental``."""

from cotangent import checkify
from cotangent._base.callbacks import io_callback
from cotangent._base.names import suggest_names

__all__ = ["checkify", "io_callback"]

suggest_names(globals())
