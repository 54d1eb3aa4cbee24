"""``jax._src.lax``."""

__all__: list[str] = []
