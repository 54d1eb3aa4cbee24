"""``jax._src.util``."""

from __future__ import annotations

from cotangent.jax.internals import lists
from cotangent.jax.internals.functions import safe_map, safe_zip, unzip2
from cotangent.jax.internals.lists import *  # noqa: F403

__all__ = [
    *lists.__all__,
    "safe_map",
    "safe_zip",
    "unzip2",
]
