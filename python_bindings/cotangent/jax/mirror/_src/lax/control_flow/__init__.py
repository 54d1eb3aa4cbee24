"""``jax._src.lax.control_flow``."""

from __future__ import annotations
