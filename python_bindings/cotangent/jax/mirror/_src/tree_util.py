"""``jax._src.tree_util``."""

from __future__ import annotations

from typing import Any

from cotangent import _core

__all__ = ["_registry"]


class _Registry:
    """The types that are registered as pytree nodes: what can be asked is whether one is."""

    def __contains__(self, kind: Any) -> bool:
        return kind in (tuple, list, dict, type(None)) or _core.is_registered(kind)


_registry = _Registry()
