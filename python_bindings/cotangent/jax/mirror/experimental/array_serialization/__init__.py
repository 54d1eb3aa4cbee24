"""``jax.experimental.array_serialization``."""

__all__: list[str] = []
