"""``jax.scipy``: what `cotangent.scipy` has otherwise."""

from __future__ import annotations

__all__: list[str] = []
