"""``jax.extend.source_info_util``."""

from __future__ import annotations

from cotangent.jax.mirror._src.traceback_util import (
    register_exclusion,
)


__all__ = [
    "register_exclusion",
]
