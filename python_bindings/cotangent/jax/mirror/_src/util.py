"""``jax._src.util``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cotangent.jax.internals import lists
from cotangent.jax.internals.functions import safe_map, safe_zip, unzip2
from cotangent.jax.internals.lists import *  # noqa: F403

__all__ = [
    *lists.__all__,
    "cache",
    "safe_map",
    "safe_zip",
    "unzip2",
]


def cache(
    max_size: int | None = 4096, trace_context_in_key: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of a function whose results are kept by its arguments."""
    return functools.lru_cache(maxsize=max_size)
