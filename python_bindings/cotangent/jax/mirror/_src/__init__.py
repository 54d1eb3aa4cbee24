"""``jax._src``: its modules have the names that are public elsewhere, and what is here."""

__all__: list[str] = []
