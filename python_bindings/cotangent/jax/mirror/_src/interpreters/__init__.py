"""``jax._src.interpreters``."""

__all__: list[str] = []
