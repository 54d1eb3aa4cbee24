"""``jax._src.util``."""

from __future__ import annotations

from cotangent.jax.internals.functions import (
    safe_map,
    safe_zip,
    unzip2,
)

__all__ = [
    "safe_map",
    "safe_zip",
    "unzip2",
]
