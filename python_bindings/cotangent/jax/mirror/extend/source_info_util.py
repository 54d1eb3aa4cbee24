"""``jax.extend.source_info_util``."""

from __future__ import annotations

from cotangent.jax.internals import source_info
from cotangent.jax.internals.source_info import *  # noqa: F403
from cotangent.jax.tracebacks import register_exclusion

__all__ = [*source_info.__all__, "register_exclusion"]
