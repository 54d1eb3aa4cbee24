"""``jax._src.tpu.linalg.qdwh``."""

from cotangent.jax.internals.polar import qdwh

__all__ = ["qdwh"]
