"""``jax._src.indexing``."""

from cotangent.jax.internals.windows import Slice, ds, dslice

__all__ = ["Slice", "ds", "dslice"]
