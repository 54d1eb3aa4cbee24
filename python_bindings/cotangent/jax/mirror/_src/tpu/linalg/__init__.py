"""``jax._src.tpu.linalg``."""
