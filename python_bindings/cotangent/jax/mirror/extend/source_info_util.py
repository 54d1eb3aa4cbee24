"""``jax.extend.source_info_util``."""

from __future__ import annotations

from cotangent.jax.tracebacks import (
    register_exclusion,
)

__all__ = [
    "register_exclusion",
]
