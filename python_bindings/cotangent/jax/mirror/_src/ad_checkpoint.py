"""``jax._src.ad_checkpoint``: what the public module lacks of it."""

from __future__ import annotations

from cotangent.ad_checkpoint import saved_residuals

__all__ = ["saved_residuals"]
