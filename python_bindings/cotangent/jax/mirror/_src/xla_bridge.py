"""``jax._src.xla_bridge``: which platforms are in use."""

from __future__ import annotations

from cotangent.jax.internals.processes import ASKED_FOR, devices, get_backend, local_devices

__all__ = ["_backends", "devices", "get_backend", "local_devices"]

_backends = ASKED_FOR
