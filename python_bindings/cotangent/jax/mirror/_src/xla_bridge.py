"""``jax._src.xla_bridge``: which platforms are in use."""

from __future__ import annotations

from typing import Any

from cotangent._base.device import CPU
from cotangent.jax.internals.processes import devices, local_devices

__all__ = ["_backends", "devices", "get_backend", "local_devices"]

_backends = {"cpu": CPU}


def get_backend(platform: Any = None) -> Any:
    """The first device of a platform, which knows its name."""
    return devices(platform)[0]
