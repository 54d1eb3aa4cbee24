"""``jax.numpy``: what `cotangent.numpy` has otherwise."""

__all__: list[str] = []
