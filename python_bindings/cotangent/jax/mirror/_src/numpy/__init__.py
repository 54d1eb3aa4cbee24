"""``jax._src.numpy``."""

from __future__ import annotations
