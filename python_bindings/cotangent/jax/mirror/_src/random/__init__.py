"""``jax._src.random``."""

__all__: list[str] = []
