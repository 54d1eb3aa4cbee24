"""``jax.dtypes``: what `cotangent.dtypes` has otherwise."""

from __future__ import annotations

__all__ = ["TypePromotionError"]


class TypePromotionError(ValueError):
    """Dtypes have no common dtype."""
