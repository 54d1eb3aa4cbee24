"""``jax._src.internal_test_util``."""

__all__: list[str] = []
