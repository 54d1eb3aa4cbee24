"""``jax.extend``."""

__all__: list[str] = []
