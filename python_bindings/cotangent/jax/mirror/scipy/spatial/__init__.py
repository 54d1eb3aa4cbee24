"""``jax.scipy.spatial``."""

__all__: list[str] = []
