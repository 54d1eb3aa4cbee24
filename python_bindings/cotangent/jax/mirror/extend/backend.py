"""``jax.extend.backend``: the clients of platforms."""

from __future__ import annotations

from typing import Any

import cotangent as ct
from cotangent.jax.internals.processes import Backend, get_backend
from cotangent.jax.mirror import clear_caches as clear_backends

__all__ = ["backends", "clear_backends", "get_backend", "get_default_device"]


def backends() -> dict[str, Backend]:
    """The clients by platform."""
    return {"cpu": get_backend("cpu")}


def get_default_device() -> Any:
    """Where arrays are made."""
    return ct.config.read("default_device") or ct.devices()[0]
