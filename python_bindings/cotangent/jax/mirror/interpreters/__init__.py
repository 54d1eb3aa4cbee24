"""``jax.interpreters``."""

__all__: list[str] = []
